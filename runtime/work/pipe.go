package work

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrPipeClosed is what Send gets after Close.
var ErrPipeClosed = errors.New("nobody takes this output any more")

// Pipe hands a run's output to its actor: bulk in a bounded buffer, and one message in the mailbox, the doorbell, that
// says "drain". A slow actor so slows the run, and the run whatever feeds it.
//
// Invariant: rung is true exactly while a doorbell is outstanding, that is between a call of ring and the Drain that
// answers it; and it is true whenever there is something to drain. So a doorbell is never lost and never doubled.
type Pipe[T any] struct {
	ring func()
	size int

	mu     sync.Mutex
	slots  []T // ring buffer, made at the first Send
	head   int
	count  int
	rung   bool
	closed bool
	err    error
	room   chan struct{} // closed when a full buffer gets room; nil while nobody waits
	batch  []T           // what the last Drain gave out, reused by the next
}

// NewPipe makes a pipe that holds size items (at least 1). ring posts the doorbell; it is called without locks, by
// whoever sends or drains, and must not block.
func NewPipe[T any](size int, ring func()) *Pipe[T] {
	return &Pipe[T]{ring: ring, size: max(size, 1)}
}

// Send adds an item and waits while the buffer is full. Errors: the cause of ctx, ErrPipeClosed.
func (p *Pipe[T]) Send(ctx context.Context, item T) error {
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		done, room, err := p.offer(item)
		if done || err != nil {
			return err
		}
		select {
		case <-room:
		case <-ctx.Done():
		}
	}
}

func (p *Pipe[T]) offer(item T) (done bool, room chan struct{}, err error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return false, nil, ErrPipeClosed
	}
	if p.count == p.size {
		if p.room == nil {
			p.room = make(chan struct{})
		}
		room = p.room
		p.mu.Unlock()
		return false, room, nil
	}
	if p.slots == nil {
		p.slots = make([]T, p.size)
	}
	p.slots[(p.head+p.count)%p.size] = item
	p.count++
	p.bell() // unlocks
	return true, nil, nil
}

// bell unlocks, and rings if no doorbell is outstanding.
func (p *Pipe[T]) bell() {
	need := !p.rung
	p.rung = true
	p.mu.Unlock()
	if need && p.ring != nil {
		p.ring()
	}
}

// Close ends the pipe with the run's outcome, nil for success. The first call counts. What was sent is still drained,
// waiting and later Sends get ErrPipeClosed.
func (p *Pipe[T]) Close(err error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.closed, p.err = true, err
	p.release()
	p.bell()
}

// Drain answers one doorbell: it takes at most max items (0: all), and stops taking when budget (0: none) is used up.
// When something is left it has rung again and more is true. closed is true, with the outcome of Close, once the last
// item has been given out. items is valid until the next Drain. One goroutine drains, once for each doorbell.
func (p *Pipe[T]) Drain(max int, budget time.Duration) (items []T, more, closed bool, err error) {
	p.mu.Lock()
	clear(p.batch)
	p.batch = p.batch[:0]
	p.take(max, budget)
	items = p.batch
	if p.count < p.size {
		p.release()
	}
	if p.count > 0 {
		p.rung = false
		p.bell()
		return items, true, false, nil
	}
	p.rung = false
	closed, err = p.closed, p.err
	if closed {
		p.slots, p.batch = nil, nil // the last batch belongs to the caller
	}
	p.mu.Unlock()
	return items, false, closed, err
}

// take moves items to the batch. The clock is read once in 64 items: reading it costs more than moving one.
func (p *Pipe[T]) take(max int, budget time.Duration) {
	if max <= 0 || max > p.count {
		max = p.count
	}
	var end time.Time
	if budget > 0 && max > 64 {
		end = time.Now().Add(budget)
	}
	var zero T
	for n := range max {
		if n%64 == 63 && !end.IsZero() && time.Now().After(end) {
			return
		}
		p.batch = append(p.batch, p.slots[p.head])
		p.slots[p.head] = zero
		p.head = (p.head + 1) % p.size
		p.count--
	}
}

func (p *Pipe[T]) release() {
	if p.room != nil {
		close(p.room)
		p.room = nil
	}
}
