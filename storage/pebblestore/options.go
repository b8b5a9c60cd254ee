package pebblestore

import (
	"errors"
	"log/slog"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Options says where a store lives and what it may take. Zero values get the defaults named here.
type Options struct {
	Dir     string       // the store's folder; made with mode 700 when it is not there
	Reserve uint64       // bytes that must be free on the disk, or batches are refused; default 64 MiB
	Ballast int64        // bytes of the file that is given up when a write finds the disk full; default 8 MiB, negative: none
	Cache   int64        // bytes of block cache; default 8 MiB
	Logger  *slog.Logger // default: discards. It never gets a key or a value.

	// Fatal ends the process: a write of the log failed and Pebble cannot go on. What was acknowledged is there after a
	// restart. It must not return; when it is nil or returns, the goroutine panics, which ends the process less nicely.
	Fatal func(error)

	FS vfs.FS // for tests; default: the real one
}

const (
	mib = 1 << 20
	// memTable is small because the gate holds compactions while opening: what is to be replayed stays short.
	memTable = 1 * mib
)

func (o *Options) fill() {
	if o.Reserve == 0 {
		o.Reserve = 64 * mib
	}
	if o.Ballast == 0 {
		o.Ballast = 8 * mib
	}
	if o.Cache <= 0 {
		o.Cache = 8 * mib
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.FS == nil {
		o.FS = vfs.Default
	}
}

// Validate says what is wrong with o, nil when it can be used.
func (o Options) Validate() error {
	if o.Dir == "" {
		return errors.New("pebblestore: Options.Dir is empty")
	}
	return nil
}
