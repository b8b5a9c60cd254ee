package journal

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// Options says what a Committer works with. Zero values get the defaults named here.
type Options struct {
	Disk   Engine // what lasts; the Committer closes it
	Memory Engine // volatile streams; the Committer closes it

	// Deliver gets the notes of each batch in commit order, before the appends of that batch return. It runs on the
	// committer's goroutine: it must not wait for an append.
	Deliver func([]Entry)

	Schema  uint64   // the number records are written with; default 1. It grows when the meaning of stored data changes.
	Upgrade Upgrader // reads what smaller numbers wrote; nil: unchanged

	Batch           int           // most appends in one batch; default 512
	BatchBytes      int           // no further append joins a batch of this size; default 384 KiB
	CheckpointEvery time.Duration // the longest a checkpoint waits for its sync; default 1 s
	CheckpointBytes int           // most bytes of waiting checkpoints, the rest is dropped; default 8 MiB
	EraseAfter      time.Duration // how long the eraser gathers deletions; default 30 s, at most a minute

	// OnErase are called by the eraser after the store's own files are clean (the search index purges itself). An error
	// keeps the job queued.
	OnErase []func(context.Context) error

	Logger *slog.Logger // default: discards
}

func (o *Options) fill() {
	def := func(n *int, d int) {
		if *n <= 0 {
			*n = d
		}
	}
	wait := func(n *time.Duration, d time.Duration) {
		if *n <= 0 {
			*n = d
		}
	}
	def(&o.Batch, 512)
	def(&o.BatchBytes, 384<<10)
	def(&o.CheckpointBytes, 8<<20)
	wait(&o.CheckpointEvery, time.Second)
	wait(&o.EraseAfter, 30*time.Second)
	if o.Schema == 0 {
		o.Schema = 1
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

// Validate says what is wrong with o, nil when it can be used.
func (o Options) Validate() error {
	switch {
	case o.Disk == nil:
		return errors.New("journal: Options.Disk is missing")
	case o.Memory == nil:
		return errors.New("journal: Options.Memory is missing")
	case o.EraseAfter > time.Minute:
		return errors.New("journal: Options.EraseAfter is over a minute")
	}
	return nil
}
