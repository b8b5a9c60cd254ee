// Package pebblestore owns the journal's engine on disk: Pebble, and all that must be known to use it safely (opening fast
// after a kill, a full disk, a store that is held, deleting so that the bytes are gone). No Pebble type leaves it but the
// file system that tests inject.
package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"sentient/storage/journal"
)

// Store implements journal.Engine.
type Store struct {
	db    *pebble.DB
	gate  *gate
	lock  *pebble.Lock
	space *space
	kept  *keeper

	closeOnce sync.Once
	closeErr  error
}

var _ journal.Engine = (*Store)(nil)

// removeNow turns the recycling of log files off (a reused log keeps the old bytes behind its new end): Pebble recycles
// none when its Cleaner "needs file contents", a mark that only ArchiveCleaner carries and that embedding passes on.
type removeNow struct {
	pebble.DeleteCleaner // Clean and String, being less deep, win
	keepsMark
}
type keepsMark struct{ pebble.ArchiveCleaner }

// Open opens or makes the store in o.Dir. Errors: *journal.HeldError, journal.ErrFull, and what the disk says.
// Compactions wait until Release.
func Open(o Options) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o.fill()
	if err := o.FS.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("the store's folder could not be made: %w", err)
	}
	lock, err := pebble.LockDirectory(o.Dir, o.FS)
	if err != nil {
		return nil, heldError(o.Dir, err)
	}
	s := &Store{gate: newGate(), lock: lock, space: newSpace(o), kept: &keeper{FS: o.FS}}
	s.space.keepBallast()
	written := hasTables(o)
	s.db, err = pebble.Open(o.Dir, s.pebbleOptions(o))
	if err != nil && unborn(o) {
		s.gate = newGate()
		s.db, err = pebble.Open(o.Dir, s.pebbleOptions(o))
	}
	if err != nil {
		_ = lock.Close()
		return nil, openError(err)
	}
	if written && s.empty() {
		_ = errors.Join(s.db.Close(), lock.Close())
		return nil, &journal.CorruptError{Key: "(the list of the store's files)", Err: errForgotten}
	}
	s.kept.release()
	return s, nil
}

func (s *Store) pebbleOptions(o Options) *pebble.Options {
	log := newLog(o)
	po := &pebble.Options{
		FS:                 vfs.OnDiskFull(s.kept, s.space.diskFull),
		Lock:               s.lock,
		Logger:             log,
		Cleaner:            removeNow{},
		CacheSize:          o.Cache,
		MemTableSize:       memTable,
		FormatMajorVersion: pebble.FormatNewest,
		EventListener: &pebble.EventListener{
			BackgroundError: log.background,
			DataCorruption:  func(info pebble.DataCorruptionInfo) { log.background(info.Details) },
		},
	}
	po.Experimental.CompactionScheduler = s.gate
	for i := range po.Levels {
		po.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	return po
}

// unborn clears away a store whose making was cut off by a crash: Pebble refuses such a folder for ever. Nothing was ever
// acknowledged by a store that has neither a table nor a byte of log. It says whether opening is worth another try.
func unborn(o Options) bool {
	names, err := o.FS.List(o.Dir)
	if err != nil {
		return false
	}
	var left []string
	for _, name := range names {
		path := o.FS.PathJoin(o.Dir, name)
		switch {
		case strings.HasSuffix(name, ".sst"), strings.HasSuffix(name, ".blob"):
			return false
		case strings.HasSuffix(name, ".log"):
			if info, err := o.FS.Stat(path); err != nil || info.Size() > 0 {
				return false
			}
		case !strings.HasPrefix(name, "MANIFEST-") && !strings.HasPrefix(name, "OPTIONS-") && !strings.HasPrefix(name, "marker."):
			continue // the lock, the ballast, somebody's file
		}
		left = append(left, path)
	}
	for _, path := range left {
		if o.FS.Remove(path) != nil {
			return false
		}
	}
	return true
}

func openError(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return journal.ErrFull
	case pebble.IsCorruptionError(err):
		return &journal.CorruptError{Key: "(the store's own files)", Err: err}
	}
	return fmt.Errorf("the store could not be opened: %w", err)
}

// Apply implements journal.Engine. A failed write of the log does not return: see Options.Fatal.
func (s *Store) Apply(b *journal.Batch, sync bool) error {
	pb := s.db.NewBatchWithSize(b.Bytes() + 16*b.Len() + 32)
	var err error
	b.Each(func(kind journal.OpKind, key, value []byte) {
		if err != nil {
			return
		}
		switch kind {
		case journal.OpSet:
			err = pb.Set(key, value, nil)
		case journal.OpDelete:
			err = pb.Delete(key, nil)
		case journal.OpDeleteRange:
			err = pb.DeleteRange(key, value, nil)
		}
	})
	if err == nil {
		err = pb.Commit(&pebble.WriteOptions{Sync: sync})
	}
	if closeErr := pb.Close(); err == nil {
		err = closeErr
	}
	if errors.Is(err, syscall.ENOSPC) {
		return journal.ErrFull
	}
	return err
}

// Room implements journal.Engine.
func (s *Store) Room() error { return s.space.room() }

// Release implements journal.Engine: compactions may run.
func (s *Store) Release() { s.gate.release() }

// Erase implements journal.Engine: the memtable's log is replaced by a table, and the tables of each span are rewritten
// without what was deleted. Files that are no longer needed go shortly after it returns.
func (s *Store) Erase(ctx context.Context, spans []journal.Span) error {
	s.Release()
	if err := s.db.Flush(); err != nil {
		return fmt.Errorf("the store could not be flushed: %w", err)
	}
	for _, span := range spans {
		if err := s.db.Compact(ctx, span.Lo, span.Hi, false); err != nil {
			return fmt.Errorf("the store could not be compacted: %w", err)
		}
	}
	return nil
}

// Checkpoint makes a consistent copy of the store in dir, which must not exist; it may share files with the store by hard
// links. The copy keeps what is deleted later.
func (s *Store) Checkpoint(dir string) error {
	if err := s.db.Checkpoint(dir, pebble.WithFlushedWAL()); err != nil {
		return fmt.Errorf("the store could not be copied: %w", err)
	}
	return nil
}

// Close implements journal.Engine. It flushes first, because Pebble does not and the next start would replay the log.
func (s *Store) Close() error {
	s.closeOnce.Do(func() {
		s.closeErr = errors.Join(s.db.Flush(), s.db.Close(), s.lock.Close())
	})
	return s.closeErr
}
