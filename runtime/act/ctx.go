package act

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Ctx is what one incarnation of an actor knows about itself. Its methods may be called from any goroutine.
//
// Invariant: after end nothing of this incarnation is delivered any more: the context is cancelled, every timer is
// dead, and a timer's message that is already on its way is dropped at the door.
type Ctx struct {
	cell  *cell
	owner *Owner

	mu     sync.Mutex
	ended  bool
	ctx    context.Context // made at first use: most actors never need one
	cancel context.CancelCauseFunc
	timers map[*Timer]struct{}
}

// Context is cancelled when this incarnation ends: stop, restart (at the crash, before the backoff) or passivation.
// Work that runs beside the mailbox derives its context from it.
func (x *Ctx) Context() context.Context {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ctx == nil {
		x.ctx, x.cancel = context.WithCancelCause(context.Background())
		if x.ended {
			x.cancel(errEnded)
		}
	}
	return x.ctx
}

// Key is the key under which the owner knows this actor.
func (x *Ctx) Key() string { return x.cell.key }

// Self is this actor's handle. It outlives the incarnation.
func (x *Ctx) Self() Ref { return Ref{owner: x.owner, key: x.cell.key} }

// Logger names the owner and the key in every line.
func (x *Ctx) Logger() *slog.Logger { return x.owner.log.With("key", x.cell.key) }

// Busy(true) keeps the actor from being passivated, for example while it has a run in flight. Every incarnation starts
// not busy.
func (x *Ctx) Busy(busy bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.ended {
		x.setBusy(busy)
	}
}

// setBusy needs x.mu. The owner does not look at a busy actor again until it hears that it is calm.
func (x *Ctx) setBusy(busy bool) {
	if was := x.cell.busy.Swap(busy); was && !busy && x.owner.opts.IdleAfter > 0 {
		x.owner.post(calm{x.cell})
	}
}

// Passivate asks the owner to put this actor to sleep now rather than after IdleAfter. Messages that wait are handled
// first; a busy actor stays.
func (x *Ctx) Passivate() {
	x.mu.Lock()
	ended := x.ended
	x.mu.Unlock()
	if !ended {
		x.owner.post(sleepNow{x.cell})
	}
}

// After posts message to this incarnation once d has passed. It counts as activity like any other message.
func (x *Ctx) After(d time.Duration, message any) *Timer {
	t := &Timer{ctx: x}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended || message == nil {
		t.dead = true
		return t
	}
	if x.timers == nil {
		x.timers = make(map[*Timer]struct{})
	}
	x.timers[t] = struct{}{}
	t.clock = time.AfterFunc(d, func() {
		m := newMail(x.cell.key, message)
		m.timer = t
		x.owner.post(m)
	})
	return t
}

// interrupt cancels the context without ending the incarnation: the last resort for one that does not stop in time.
func (x *Ctx) interrupt() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.cancel != nil {
		x.cancel(ErrStopping)
	}
}

func (x *Ctx) end() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ended = true
	x.setBusy(false)
	for t := range x.timers {
		t.dead = true
		t.clock.Stop()
	}
	x.timers = nil
	if x.cancel != nil {
		x.cancel(errEnded)
	}
}

// Timer is one pending message of After.
type Timer struct {
	ctx   *Ctx
	clock *time.Timer
	dead  bool // delivered, stopped, or its incarnation has ended; under ctx.mu
}

// Stop keeps the message from being delivered and reports whether it still was pending. After Stop returned inside
// Receive the message is never received, even if it was already on its way. A nil Timer is fine.
func (t *Timer) Stop() bool {
	if t == nil {
		return false
	}
	t.ctx.mu.Lock()
	defer t.ctx.mu.Unlock()
	if t.dead {
		return false
	}
	t.dead = true
	t.clock.Stop()
	delete(t.ctx.timers, t)
	return true
}

// take claims the timer's one delivery. It is dead when its incarnation has ended, so a later one never gets it.
func (t *Timer) take() bool {
	t.ctx.mu.Lock()
	defer t.ctx.mu.Unlock()
	if t.dead {
		return false
	}
	t.dead = true
	delete(t.ctx.timers, t)
	return true
}
