package journal

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Committer implements Journal over two engines. One goroutine takes all that waits, makes one batch of it, syncs it once,
// delivers its notes and releases the waiting callers, in that order.
type Committer struct {
	opt     Options
	dec     decoder
	views   *views
	newest  atomic.Uint64
	eraser  *eraser
	damages damages
	wake    chan struct{} // capacity 1: the queue changed
	ended   chan struct{} // the committer's goroutine is over
	pool    sync.Pool

	mu        sync.Mutex
	queue     []*request
	waiting   []checkpoint // queued checkpoints, oldest first; an entry leaves when a reader can see it stored
	waitBytes int
	nextCheck uint64
	closing   bool
	abandon   bool // Close's context ended: what waits is refused

	closeMu  sync.Mutex
	closed   bool
	closeErr error
}

// request is one caller's append (or, with do, a change of the store's own records).
type request struct {
	a       Append
	do      func(*writer)
	size    int
	state   atomic.Int32
	done    chan struct{}
	receipt Receipt
	err     error
}

// A request is decided once: either its caller gives up or the committer takes it.
const (
	reqQueued int32 = iota
	reqTaken
	reqGivenUp
)

var _ Journal = (*Committer)(nil)

// Open starts a committer on the engines, which it owns from here on: they are closed when it is, or when Open fails.
// Errors: *NewerError, *CorruptError, the context's.
func Open(ctx context.Context, opt Options) (*Committer, error) {
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	opt.fill()
	c := &Committer{
		opt:   opt,
		dec:   decoder{opt.Schema, opt.Upgrade},
		wake:  make(chan struct{}, 1),
		ended: make(chan struct{}),
	}
	c.damages.log = opt.Logger
	c.pool.New = func() any { return &request{done: make(chan struct{}, 1)} }
	w, err := recoverWriter(ctx, c)
	if err != nil {
		_ = opt.Disk.Close()
		_ = opt.Memory.Close()
		return nil, err
	}
	c.newest.Store(w.num.seq)
	c.nextCheck = w.nextCheck
	c.views = newViews(opt.Disk, opt.Memory)
	c.eraser = startEraser(c, w.hasErasures)
	go c.run(w)
	return c, nil
}

// Release says that the start is over: the engines may begin their background work.
func (c *Committer) Release() {
	c.opt.Disk.Release()
	c.opt.Memory.Release()
}

// Newest is the number of the newest note.
func (c *Committer) Newest() uint64 { return c.newest.Load() }

// Append implements Journal.
func (c *Committer) Append(ctx context.Context, a Append) (Receipt, error) {
	r := c.pool.Get().(*request)
	r.a = a
	r.size = sizeOf(&a)
	return c.submit(ctx, r)
}

// change runs do on the committer's goroutine, within a batch.
func (c *Committer) change(ctx context.Context, do func(*writer)) error {
	r := c.pool.Get().(*request)
	r.do = do
	_, err := c.submit(ctx, r)
	return err
}

func (c *Committer) submit(ctx context.Context, r *request) (Receipt, error) {
	if err := ctx.Err(); err != nil {
		c.recycle(r)
		return Receipt{}, err
	}
	r.state.Store(reqQueued)
	c.mu.Lock()
	if c.closing {
		c.mu.Unlock()
		c.recycle(r)
		return Receipt{}, ErrClosed
	}
	c.queue = append(c.queue, r)
	c.mu.Unlock()
	c.nudge()
	select {
	case <-r.done:
	case <-ctx.Done():
		if r.state.CompareAndSwap(reqQueued, reqGivenUp) {
			return Receipt{}, ctx.Err() // the committer recycles it
		}
		<-r.done // it is in a batch: only its outcome tells whether it was written
	}
	receipt, err := r.receipt, r.err
	c.recycle(r)
	return receipt, err
}

func (c *Committer) recycle(r *request) {
	r.a, r.do, r.size, r.receipt, r.err = Append{}, nil, 0, Receipt{}, nil
	c.pool.Put(r)
}

func (c *Committer) nudge() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func sizeOf(a *Append) int {
	n := len(a.Snapshot)
	for _, e := range a.Events {
		n += len(e) + 64
	}
	for i := range a.Rows {
		n += len(a.Rows[i].Key) + len(a.Rows[i].Value) + 64
	}
	for i := range a.Publish {
		n += len(a.Publish[i].Data) + 64
	}
	return n
}

// run is the committer's goroutine. A timer runs only while a checkpoint waits.
func (c *Committer) run(w *writer) {
	defer close(c.ended)
	var timer *time.Timer
	var fire <-chan time.Time
	due := false
	for {
		if urgent := c.takeEssential(w.reqs[:0]); len(urgent) > 0 {
			w.reqs = urgent
			c.commit(w, urgent, nil)
			continue
		}
		reqs, checks, closing := c.take(w.reqs[:0], due)
		w.reqs = reqs
		if len(reqs) > 0 || len(checks) > 0 {
			c.commit(w, reqs, checks)
			due = false
			if timer != nil {
				timer.Stop()
				timer, fire = nil, nil
			}
			runtime.Gosched() // let the released writers queue again, so that they share the next sync
			continue
		}
		if closing {
			w.finish()
			return
		}
		if fire == nil && c.checksWait() {
			timer = time.NewTimer(c.opt.CheckpointEvery)
			fire = timer.C
		}
		select {
		case <-c.wake:
		case <-fire:
			due, timer, fire = true, nil, nil
		}
	}
}

// takeEssential takes an essential append out of the queue, so that it waits for nothing but the batch under way. What its own
// stream has in the queues goes before it: then it waits its turn.
func (c *Committer) takeEssential(into []*request) []*request {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, r := range c.queue {
		if r.a.Essential && !c.abandon && !c.waits(r.a.Stream, c.queue[:i]) && r.state.CompareAndSwap(reqQueued, reqTaken) {
			c.queue = slices.Delete(c.queue, i, i+1)
			return append(into, r)
		}
	}
	return into
}

// waits says whether a stream has something among the first of the queue, or a checkpoint.
func (c *Committer) waits(s Stream, first []*request) bool {
	return slices.ContainsFunc(first, func(r *request) bool { return r.a.Stream == s }) ||
		slices.ContainsFunc(c.waiting, func(k checkpoint) bool { return k.stream == s })
}

// take moves what the next batch gets out of the queue. Checkpoints ride with appends, and go alone when due or closing.
// They are taken in the same step as the appends: a checkpoint queued before an append of its stream is never written
// after it.
func (c *Committer) take(into []*request, due bool) ([]*request, []checkpoint, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, size := 0, 0
	for ; n < len(c.queue) && len(into) < c.opt.Batch; n++ {
		if size > 0 && size+c.queue[n].size > c.opt.BatchBytes {
			break
		}
		r := c.queue[n]
		if !r.state.CompareAndSwap(reqQueued, reqTaken) {
			c.recycle(r)
			continue
		}
		if c.abandon {
			r.err = ErrClosed
			r.done <- struct{}{}
			continue
		}
		size += r.size
		into = append(into, r)
	}
	left := copy(c.queue, c.queue[n:])
	clear(c.queue[left:])
	c.queue = c.queue[:left]
	if c.abandon {
		return into, nil, c.closing && left == 0
	}
	var checks []checkpoint
	if len(into) > 0 || due || c.closing {
		checks = c.waiting[:len(c.waiting):len(c.waiting)]
	}
	return into, checks, c.closing && left == 0
}

// commit writes one batch and tells everybody who waits for it.
func (c *Committer) commit(w *writer, reqs []*request, checks []checkpoint) {
	w.begin()
	kept := w.stageCheckpoints(checks)
	for _, r := range reqs {
		if r.do != nil {
			r.do(w)
			continue
		}
		r.receipt, r.err = w.stage(&r.a)
	}
	err := w.apply()
	if err != nil {
		kept = checks
		for _, r := range reqs {
			if r.err == nil {
				r.receipt, r.err = Receipt{}, err
			}
		}
	}
	c.settleChecks(checks, kept)
	if err == nil {
		c.newest.Store(w.num.seq)
		if len(w.entries) > 0 && c.opt.Deliver != nil {
			c.opt.Deliver(w.entries)
		}
		if w.erasures {
			c.eraser.nudge()
		}
	}
	for i, r := range reqs {
		reqs[i] = nil
		r.done <- struct{}{}
	}
}

// Close refuses new appends, writes what waits, flushes and closes both engines. When ctx ends first, what still waits is
// refused; what was acknowledged is safe in any case. A second Close returns what the first did.
func (c *Committer) Close(ctx context.Context) error {
	c.closeMu.Lock()
	defer c.closeMu.Unlock()
	if c.closed {
		return c.closeErr
	}
	c.closed = true
	c.closeErr = c.shut(ctx)
	return c.closeErr
}

func (c *Committer) shut(ctx context.Context) error {
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	c.eraser.stop()
	c.nudge()
	select {
	case <-c.ended:
	case <-ctx.Done():
		c.mu.Lock()
		c.abandon = true
		c.mu.Unlock()
		c.nudge()
		<-c.ended
	}
	<-c.eraser.ended
	if err := c.views.close(ctx); err != nil {
		return err // closing an engine under a reader would crash it
	}
	memErr := c.opt.Memory.Close()
	if err := c.opt.Disk.Close(); err != nil {
		return fmt.Errorf("the store did not close cleanly: %w", err)
	}
	return memErr
}
