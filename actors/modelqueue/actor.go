package modelqueue

import (
	"fmt"
	"time"

	"sentient/runtime/act"
)

type (
	look struct{} // the world, the configuration or the time changed
	tell struct{} // quick changes have been gathered
)

// actor is the thin shell around one queue.
type actor struct {
	s   *Service
	key string
	q   *queue
	c   *act.Ctx

	callers map[uint64]*arrive // of the calls that wait
	timer   *act.Timer         // of the next look
	lookAt  time.Time
	telling bool
	told    state
}

// Start takes the queue up where the last incarnation left it.
func (a *actor) Start(c *act.Ctx) error {
	a.c, a.callers = c, map[uint64]*arrive{}
	a.step()
	return nil
}

// Stop sends whoever waits to queue again: after a crash at their old place, at the end of the engine to hear of that.
func (a *actor) Stop(*act.Ctx) {
	a.q.forgetWaiting()
	for _, m := range a.callers {
		m.Fail(errAgain)
	}
}

func (a *actor) Receive(_ *act.Ctx, m any) {
	switch m := m.(type) {
	case *arrive:
		a.callers[m.id] = m
		a.q.arrive(m.id, m.call, a.s.o.Now())
		a.step()
		a.logQueued(m)
	case leave:
		delete(a.callers, m.id)
		a.q.leave(m.id, a.s.o.Now())
		a.step()
	case look:
		a.timer.Stop()
		a.timer = nil
		a.step()
	case *count:
		m.OK(a.q.look(a.s.facts(a.key)))
	case tell:
		a.telling = false
		a.tell()
	}
}

// step lets go what may go, then does everything that can wait.
func (a *actor) step() {
	f := a.s.facts(a.key)
	for _, e := range a.q.dispatch(f) {
		if m := a.callers[e.id]; m != nil {
			delete(a.callers, e.id)
			m.OK(struct{}{})
		}
		a.logStart(e)
	}
	a.lookLater(f)
	if a.key != claudeCode && !a.telling {
		a.telling = true
		a.c.After(tellAfter, tell{})
	}
}

// lookLater sets the timer for the next moment at which something may change by itself.
func (a *actor) lookLater(f facts) {
	at := a.q.lookAgain(f)
	if at.Equal(a.lookAt) && a.timer != nil {
		return
	}
	a.timer.Stop()
	a.timer, a.lookAt = nil, at
	if !at.IsZero() {
		a.timer = a.c.After(at.Sub(f.now), look{})
	}
}

func (a *actor) tell() {
	if now := a.q.look(a.s.facts(a.key)); now != a.told {
		a.told = now
		a.s.front.Tell(part{a.key, now})
	}
}

func (a *actor) logQueued(m *arrive) {
	if a.key == claudeCode && a.callers[m.id] != nil {
		a.s.o.Logger.Info(fmt.Sprintf("Claude Code queued: %s on %s (%s) waits; %d running, at most %d at once",
			m.call.Role, m.call.Model, m.call.Job, len(a.q.running), a.s.facts(a.key).slots))
	}
}

func (a *actor) logStart(e *entry) {
	if a.key == claudeCode {
		a.s.o.Logger.Info(fmt.Sprintf("Claude Code start: %s on %s (%s) after waiting %.1fs", e.Role, e.Model, e.Job, e.began.Sub(e.arrived).Seconds()))
	}
}
