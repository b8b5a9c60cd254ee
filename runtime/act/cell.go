package act

import (
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

type state uint8

const (
	live     state = iota // its messages go to its mailbox, which the library suspends between a crash and the restart
	draining              // a drain marker is behind its last message; new ones wait in the buffer
	ending                // will stop for good: new messages are refused
	parked                // has stopped and stays on record: messages are refused
)

// cell is what an owner knows about one key. It exists while the actor runs or is parked; a key that sleeps costs
// nothing. Fields are the loop's own unless they are atomic. A cell that was let go is never live or suspended, so what
// the loop is told too late about one does nothing.
type cell struct {
	key, id   string
	pid       *actor.PID
	state     state
	suspended bool // crashed and waiting for its restart
	again     bool // woken while draining
	buffer    []*mail
	trouble   *trouble // nil for an actor that did not crash lately

	older, newer *cell // the idle list, oldest use first
	used         time.Time

	busy    atomic.Bool
	current atomic.Pointer[Ctx]  // the running incarnation, for interrupt
	fate    atomic.Pointer[fate] // when set, the shell refuses what is left in the mailbox
}

type trouble struct {
	crashes int
	last    time.Time
	restart *time.Timer // pending while the actor is suspended
	calm    *time.Timer // pending while the trouble keeps the actor out of the idle list
}

func (t *trouble) end() {
	if t == nil {
		return
	}
	for _, timer := range []*time.Timer{t.restart, t.calm} {
		if timer != nil {
			timer.Stop()
		}
	}
}

// fate is why an actor's remaining messages are refused.
type fate struct {
	err    error
	parked *ParkedError // nil when it merely stops
}

// idleList orders the live cells by their last use. The zero value is empty.
type idleList struct{ oldest, newest *cell }

func (l *idleList) push(c *cell) {
	c.older, c.newer = l.newest, nil
	if l.newest != nil {
		l.newest.newer = c
	} else {
		l.oldest = c
	}
	l.newest = c
}

func (l *idleList) remove(c *cell) {
	if c.older == nil && c.newer == nil && l.oldest != c {
		return // not in the list
	}
	if c.older != nil {
		c.older.newer = c.newer
	} else {
		l.oldest = c.newer
	}
	if c.newer != nil {
		c.newer.older = c.older
	} else {
		l.newest = c.older
	}
	c.older, c.newer = nil, nil
}
