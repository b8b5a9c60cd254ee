package pebblestore

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// quiet is Pebble's logger. Pebble's own texts can hold keys and paths, so only fixed sentences and the system's error
// numbers get out, background errors at most one a minute (a full disk makes thousands a second).
type quiet struct {
	log   *slog.Logger
	fatal func(error)

	mu      sync.Mutex
	last    time.Time
	skipped int
}

const backgroundEvery = time.Minute

func newLog(o Options) *quiet { return &quiet{log: o.Logger, fatal: o.Fatal} }

// Infof implements pebble.Logger.
func (q *quiet) Infof(string, ...any) {}

// Errorf implements pebble.Logger.
func (q *quiet) Errorf(_ string, args ...any) { q.background(firstError(args)) }

// Fatalf implements pebble.Logger; it does not return.
func (q *quiet) Fatalf(_ string, args ...any) {
	err := fmt.Errorf("the store could not write its log and had to stop: %s. Start again; nothing that was confirmed is lost", reason(firstError(args)))
	if q.fatal != nil {
		q.fatal(err)
	}
	panic(err)
}

func (q *quiet) background(err error) {
	q.mu.Lock()
	now := time.Now()
	if !q.last.IsZero() && now.Sub(q.last) < backgroundEvery {
		q.skipped++
		q.mu.Unlock()
		return
	}
	skipped := q.skipped
	q.last, q.skipped = now, 0
	q.mu.Unlock()
	q.log.Error("the store has trouble with its disk", "reason", reason(err), "more_since_last", skipped)
}

func firstError(args []any) error {
	for _, a := range args {
		if err, ok := a.(error); ok {
			return err
		}
	}
	return nil
}

// reason is what can be said of an error without naming keys or paths.
func reason(err error) string {
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno):
		return errno.Error()
	case err != nil && pebble.IsCorruptionError(err):
		return "a file is damaged"
	default:
		return "an internal error"
	}
}
