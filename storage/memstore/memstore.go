// Package memstore owns the journal's engine in memory: it holds volatile streams, and stands in for the disk in tests. Its
// tree is never changed in place, so a view is one pointer and costs nothing to take or to hold.
package memstore

import (
	"context"
	"sync"

	"sentient/storage/journal"
)

// Store implements journal.Engine. What it holds ends with the process.
type Store struct {
	mu     sync.RWMutex
	root   *node
	closed bool
	full   bool
}

var _ journal.Engine = (*Store)(nil)

// New makes an empty store.
func New() *Store { return &Store{} }

// Reopen makes a store with what s holds, as a restart would find a disk.
func (s *Store) Reopen() *Store {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return &Store{root: s.root}
}

// Apply implements journal.Engine; sync means nothing here.
func (s *Store) Apply(b *journal.Batch, _ bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return journal.ErrClosed
	}
	if s.full {
		return journal.ErrFull
	}
	root := s.root
	b.Each(func(kind journal.OpKind, key, value []byte) {
		switch kind {
		case journal.OpSet:
			root = insert(root, key, value)
		case journal.OpDelete:
			root = remove(root, key)
		case journal.OpDeleteRange:
			root = removeRange(root, key, value)
		}
	})
	s.root = root
	return nil
}

// View implements journal.Engine.
func (s *Store) View() journal.View {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return view{s.root}
}

// SetFull makes Room and Apply refuse, as a full disk would, until it is called with false.
func (s *Store) SetFull(full bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.full = full
}

// Room implements journal.Engine.
func (s *Store) Room() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.full {
		return journal.ErrFull
	}
	return nil
}

// Release implements journal.Engine.
func (s *Store) Release() {}

// Erase implements journal.Engine: what was deleted is held by nothing once the views of it are gone.
func (s *Store) Erase(ctx context.Context, _ []journal.Span) error { return ctx.Err() }

// Close implements journal.Engine.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

type view struct{ root *node }

func (v view) Get(key []byte) ([]byte, bool, error) {
	if n := find(v.root, key); n != nil {
		return append([]byte{}, n.value...), true, nil
	}
	return nil, false, nil
}

func (v view) Scan(span journal.Span, reverse bool) journal.Cursor {
	return newCursor(v.root, span, reverse)
}

func (v view) Close() error { return nil }
