package journal

import (
	"context"
	"fmt"
	"sync"
)

// side names one of the two engines.
type side int

const (
	onDisk side = iota
	inMemory
	sides
)

// pair is one consistent view of both engines, shared by all readers that came between two batches.
type pair struct {
	of   [sides]View
	gen  uint64
	refs int // guarded by views.mu; the keeper holds one while the pair is the current one
}

func (p *pair) close() {
	for _, v := range p.of {
		_ = v.Close()
	}
}

// views hands out the state after the last batch that was synced. An engine may show a batch before its sync ends; a pair
// is made by the committer between two batches, so a reader never sees what a power cut could still take away.
type views struct {
	mu      sync.Mutex
	cur     *pair
	gen     uint64
	held    map[uint64]int // readers by generation
	readers int
	closed  bool
	idle    chan struct{} // made by close, closed when the last reader is gone
}

func newViews(disk, mem Engine) *views {
	v := &views{held: map[uint64]int{}}
	v.swap(disk, mem)
	return v
}

// swap makes the engines' present state the current one. Only the committer calls it, never during an Apply.
func (v *views) swap(disk, mem Engine) {
	p := &pair{of: [sides]View{disk.View(), mem.View()}, refs: 1}
	v.mu.Lock()
	v.gen++
	p.gen = v.gen
	old := v.cur
	v.cur = p
	last := old != nil && old.unref()
	v.mu.Unlock()
	if last {
		old.close()
	}
}

func (p *pair) unref() bool {
	p.refs--
	return p.refs == 0
}

func (v *views) acquire() (*pair, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return nil, ErrClosed
	}
	v.cur.refs++
	v.held[v.cur.gen]++
	v.readers++
	return v.cur, nil
}

// retain adds a reader to a pair that the caller holds.
func (v *views) retain(p *pair) {
	v.mu.Lock()
	defer v.mu.Unlock()
	p.refs++
	v.held[p.gen]++
	v.readers++
}

func (v *views) release(p *pair) {
	v.mu.Lock()
	last := p.unref()
	v.readers--
	if v.held[p.gen]--; v.held[p.gen] == 0 {
		delete(v.held, p.gen)
	}
	v.mu.Unlock()
	if last {
		p.close()
	}
	v.mu.Lock()
	if v.closed && v.readers == 0 && v.idle != nil {
		close(v.idle)
		v.idle = nil
	}
	v.mu.Unlock()
}

// generation is that of the state a reader gets now.
func (v *views) generation() uint64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.gen
}

// heldBefore says whether a reader still sees a state older than gen.
func (v *views) heldBefore(gen uint64) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	for g := range v.held {
		if g < gen {
			return true
		}
	}
	return false
}

// close refuses new readers and waits for the open ones.
func (v *views) close(ctx context.Context) error {
	v.mu.Lock()
	first := !v.closed
	v.closed = true
	var idle chan struct{}
	if v.readers > 0 {
		if v.idle == nil {
			v.idle = make(chan struct{})
		}
		idle = v.idle
	}
	last := first && v.cur.unref()
	v.mu.Unlock()
	if last {
		v.cur.close()
	}
	if idle == nil {
		return nil
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		v.mu.Lock()
		defer v.mu.Unlock()
		return fmt.Errorf("journal: %d readers were not closed: %w", v.readers, ctx.Err())
	}
}
