package act

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// HandleFailure is the library's call, on the loop's goroutine, when an actor crashed. Its mailbox is suspended.
func (l *loop) HandleFailure(_ *actor.ActorSystem, _ actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, reason, _ any) {
	defer l.contain()
	c := l.o.ids[child.Id]
	if c == nil {
		return
	}
	l.o.sys.crashes.Add(1)
	now := time.Now()
	t := c.trouble
	if t == nil || now.Sub(t.last) >= l.o.opts.QuietAfter {
		t.end()
		t = &trouble{}
		c.trouble = t
	}
	t.crashes++
	t.last = now
	c.suspended = true
	switch {
	case l.closing:
		l.condemn(c, &fate{err: ErrStopping})
	case t.crashes > l.o.opts.MaxRestarts:
		l.park(c, reasonText(reason), now)
	default:
		// A draining actor is restarted too: what is in front of its marker must not be lost.
		t.restart = time.AfterFunc(backoff(t.crashes), func() { l.o.post(restart{c}) })
	}
}

// backoff before the n-th restart: 1, 2, 4, 8, 8, ... seconds.
func backoff(n int) time.Duration {
	if n > 4 {
		return maxBackoff
	}
	return time.Second << (n - 1)
}

func (l *loop) restart(c *cell) {
	if !c.suspended {
		return
	}
	c.suspended = false
	l.lib.(actor.Supervisor).RestartChildren(c.pid)
}

// park takes an actor out of service. What waits for it is told why, and so is everybody who comes later.
func (l *loop) park(c *cell, reason string, at time.Time) {
	p := &ParkedError{Owner: l.o.opts.Name, Key: c.key, Reason: reason, At: at}
	l.o.sys.parked.Add(1)
	l.o.log.Error("an actor kept failing and is parked", "key", c.key, "reason", reason)
	l.condemn(c, &fate{err: p, parked: p})
	if l.o.opts.OnPark != nil {
		l.o.opts.OnPark(c.key, reason)
	}
}

// condemn ends a suspended actor without a restart: its mailbox runs on with no incarnation, so that each waiting
// message is refused, up to a marker behind the last of them.
func (l *loop) condemn(c *cell, f *fate) {
	c.trouble.end()
	l.idle.remove(c)
	c.fate.Store(f)
	c.state, c.suspended = ending, false
	l.refuseBuffer(c, f.err)
	l.lib.(actor.Supervisor).ResumeChildren(c.pid)
	l.send(c, &drain{force: true})
}
