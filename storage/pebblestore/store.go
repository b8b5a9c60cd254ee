// Package pebblestore owns the journal's engine on disk: Pebble, and all that must be known to use it safely (opening fast
// after a kill, a full disk, a store that is held, deleting so that the bytes are gone). No Pebble type leaves it but the
// file system that tests inject.
package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"sentient/storage/journal"
)

// Store implements journal.Engine.
type Store struct {
	db      *pebble.DB
	gate    *gate
	lock    *pebble.Lock
	space   *space
	kept    *keeper
	witness *witness
	fs      vfs.FS

	damageMu sync.Mutex
	bad      badBlocks

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

// Open opens or makes the store in o.Dir. Errors: *journal.HeldError, *journal.StoreError, *journal.NewerError,
// journal.ErrFull, and what the disk says. Compactions wait until Release.
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
	s := &Store{fs: o.FS, lock: lock, space: newSpace(o), witness: callWitness(o)}
	s.kept = &keeper{FS: o.FS, witness: s.witness}
	s.space.keepBallast()
	if err := s.open(o); err != nil {
		_ = lock.Close()
		return nil, err
	}
	return s, nil
}

// open opens Pebble between two looks: at the files before, which changes nothing, and at what they came to after.
func (s *Store) open(o Options) (err error) {
	if err = s.examine(o); err != nil {
		return err
	}
	written := hasTables(o)
	s.gate = newGate()
	s.db, err = pebble.Open(o.Dir, s.pebbleOptions(o))
	if err != nil && unborn(o) {
		s.gate = newGate()
		s.db, err = pebble.Open(o.Dir, s.pebbleOptions(o))
	}
	if err != nil {
		return openError(o.Dir, err)
	}
	if err = s.whole(o, written); err != nil {
		return errors.Join(err, s.db.Close())
	}
	s.kept.release()
	return nil
}

// whole says whether nothing that was confirmed is missing.
func (s *Store) whole(o Options, written bool) error {
	if written && s.empty() {
		return &journal.StoreError{Dir: o.Dir, What: "the list of the store's files names none of the tables that are there", Err: errForgotten}
	}
	newest, err := s.newest()
	if err != nil {
		return err
	}
	if newest < s.witness.found.newest {
		return lost(o.Dir, "its log has lost its newest part, so what was confirmed last is missing", errLogShort)
	}
	if err := s.opens(o); err != nil {
		return err
	}
	s.witness.begin(newest)
	return nil
}

// opens says whether the index of every table can be read. Without it nothing of its part of the store can be known, not even
// what is not there, so nothing could be written safely; a damaged block of rows is gone around (skip.go).
func (s *Store) opens(o Options) error {
	levels, err := s.db.SSTables()
	if err != nil {
		return openError(o.Dir, err)
	}
	for _, tables := range levels {
		for _, table := range tables {
			name := fmt.Sprintf("%06d", uint64(table.BackingSSTNum)) + tableSuffix
			if _, err := inspect(o.FS, o.FS.PathJoin(o.Dir, name)); err != nil {
				return &journal.StoreError{Dir: o.Dir, What: "its file " + name + " cannot be read", Err: err}
			}
		}
	}
	return nil
}

// newest is the newest number that Pebble gave out. Only a batch knows it; this one holds nothing.
func (s *Store) newest() (uint64, error) {
	b := s.db.NewBatch()
	err := b.LogData(nil, nil)
	if err == nil {
		err = b.Commit(pebble.NoSync)
	}
	n := uint64(b.SeqNum())
	return n - min(n, 1), errors.Join(err, b.Close())
}

func (s *Store) pebbleOptions(o Options) *pebble.Options {
	log := newLog(o)
	po := &pebble.Options{
		FS:           vfs.OnDiskFull(s.kept, s.space.diskFull),
		Lock:         s.lock,
		Logger:       log,
		Cleaner:      removeNow{},
		CacheSize:    o.Cache,
		MemTableSize: memTable,
		// What cannot be compacted piles up in level 0. Reading gets slower then; Pebble's default would stop writing for ever.
		L0StopWritesThreshold: 1000,
		FormatMajorVersion:    pebble.FormatNewest,
		EventListener: &pebble.EventListener{
			BackgroundError: log.background,
			DataCorruption: func(info pebble.DataCorruptionInfo) {
				s.damaged(info)
				log.background(info.Details)
			},
			ManifestCreated: s.witness.inUse,
			CompactionEnd:   s.compacted,
		},
	}
	po.Experimental.CompactionScheduler = s.gate
	po.BlockPropertyCollectors = []func() pebble.BlockPropertyCollector{func() pebble.BlockPropertyCollector { return &marks{} }}
	for i := range po.Levels {
		po.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	return po
}

func (s *Store) compacted(info pebble.CompactionInfo) {
	switch {
	case info.Err == nil:
		s.gate.worked()
	case !errors.Is(info.Err, pebble.ErrCancelledCompaction):
		s.gate.failed()
	}
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
	if err == nil && sync && pb.Count() > 0 {
		s.witness.synced(uint64(pb.SeqNum()) + uint64(pb.Count()) - 1)
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
		s.closeErr = errors.Join(s.db.Flush(), s.db.Close())
		s.witness.close()
		s.closeErr = errors.Join(s.closeErr, s.lock.Close())
	})
	return s.closeErr
}
