package act

import (
	"context"
	"sync/atomic"
)

// Reply is the place in a message where its receiver puts the one answer. The first OK or Fail wins, later ones are
// ignored; a nil or zero Reply swallows both, so a receiver never has to ask whether anybody waits. Embed a *Reply in a
// message and the message is a Failer.
type Reply[R any] struct {
	slot chan outcome[R] // capacity 1: the answer is stored even when nobody waits any more
	used atomic.Bool
}

type outcome[R any] struct {
	value R
	err   error
}

// NewReply makes a Reply to put into a message that is told rather than asked.
func NewReply[R any]() *Reply[R] { return &Reply[R]{slot: make(chan outcome[R], 1)} }

// OK answers with v.
func (r *Reply[R]) OK(v R) { r.put(outcome[R]{value: v}) }

// Fail answers with an error.
func (r *Reply[R]) Fail(err error) { r.put(outcome[R]{err: err}) }

func (r *Reply[R]) put(o outcome[R]) {
	if r == nil || r.slot == nil || !r.used.CompareAndSwap(false, true) {
		return
	}
	r.slot <- o
}

// Wait returns the answer or, when ctx ends first, its cause. One goroutine may wait, once.
func (r *Reply[R]) Wait(ctx context.Context) (R, error) {
	var zero R
	if r == nil || r.slot == nil {
		return zero, ErrNoTarget
	}
	select {
	case o := <-r.slot:
		return o.value, o.err
	default:
	}
	select {
	case o := <-r.slot:
		return o.value, o.err
	case <-ctx.Done():
		return zero, context.Cause(ctx)
	}
}

// Ask sends the message that build makes around the reply and waits for the answer, or for the end of ctx. Errors:
// ErrCrashed, *ParkedError, ErrStopping, ErrNoTarget, the cause of ctx, or what the receiver answered. The message need
// not be a Failer. An actor must not Ask from inside Receive: it would wait with its mailbox closed.
func Ask[R any](ctx context.Context, to Ref, build func(*Reply[R]) any) (R, error) {
	reply := NewReply[R]()
	message := build(reply)
	if to.owner == nil || message == nil {
		var zero R
		return zero, ErrNoTarget
	}
	m := newMail(to.key, message)
	m.reply = reply
	to.owner.route(m)
	return reply.Wait(ctx)
}
