package edge

import (
	"context"
	"sync"
)

// registry knows what is open, so that a stop can end it, wait for it and name what is left.
type registry[T comparable] struct {
	mu     sync.Mutex
	items  map[T]struct{}
	closed bool
	idle   chan struct{} // closed when the registry is closed and empty
	ended  bool
}

func newRegistry[T comparable]() *registry[T] {
	return &registry[T]{items: map[T]struct{}{}, idle: make(chan struct{})}
}

// add is false once the registry is closed.
func (r *registry[T]) add(v T) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	r.items[v] = struct{}{}
	return true
}

func (r *registry[T]) remove(v T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.items, v)
	r.settle()
}

func (r *registry[T]) settle() {
	if r.closed && len(r.items) == 0 && !r.ended {
		r.ended = true
		close(r.idle)
	}
}

// close refuses new items and gives those that are open.
func (r *registry[T]) close() []T {
	r.mu.Lock()
	r.closed = true
	r.settle()
	r.mu.Unlock()
	return r.all()
}

func (r *registry[T]) all() []T {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]T, 0, len(r.items))
	for v := range r.items {
		list = append(list, v)
	}
	return list
}

func (r *registry[T]) len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.items)
}

// wait ends when a closed registry is empty, or with ctx.
func (r *registry[T]) wait(ctx context.Context) {
	select {
	case <-r.idle:
	case <-ctx.Done():
	}
}
