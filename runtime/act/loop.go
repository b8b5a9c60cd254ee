package act

import (
	"maps"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// What an owner's loop is told besides mail.
type (
	wake     struct{ key string }
	unpark   struct{ key string }
	sleepNow struct{ cell *cell } // the actor asks to be passivated
	stayed   struct{ cell *cell } // the actor met its drain marker while busy
	restart  struct{ cell *cell } // a backoff is over
	calm     struct{ cell *cell } // no longer busy, or its quiet time is over: idle counts again
	sweep    struct{}             // the oldest live actor may be idle
	closeAll struct{}
)

// loop is the owner as the library sees it: the parent of its actors and its own supervisor strategy, so every decision
// about an actor is made on one goroutine with one state.
type loop struct {
	o       *Owner
	lib     actor.Context
	next    uint64 // numbers the library's ids, which are never reused
	peak    int    // most cells since the maps were made
	closing bool

	idle    idleList
	sweeper *time.Timer
	armed   bool
}

func (l *loop) Receive(a actor.Context) {
	defer l.contain()
	switch m := a.Message().(type) {
	case *mail:
		l.deliver(m)
	case *actor.Started:
		l.lib = a
	case *actor.Terminated:
		l.terminated(m.Who.Id)
	case *actor.Stopped:
		close(l.o.done)
	case wake:
		l.wake(m.key)
	case unpark:
		l.unpark(m.key)
	case sleepNow:
		if m.cell.state == live {
			l.drain(m.cell)
		}
	case stayed:
		l.stay(m.cell)
	case restart:
		l.restart(m.cell)
	case calm:
		l.calm(m.cell)
	case sweep:
		l.sweep(time.Now())
	case closeAll:
		l.closeAll()
	}
}

// contain keeps a defect in here, or in a callback, from taking the owner and all of its actors down.
func (l *loop) contain() {
	if r := recover(); r != nil {
		l.o.log.Error("an owner failed on a message; its actors go on", "reason", reasonText(r), "stack", string(debug.Stack()))
	}
}

func (l *loop) wake(key string) {
	c := l.o.cells[key]
	switch {
	case l.closing:
	case c == nil:
		l.spawn(key)
	case c.state == draining:
		c.again = true
	}
}

// unpark while the parked actor still refuses its last messages lets new ones wait for the next incarnation.
func (l *loop) unpark(key string) {
	c := l.o.cells[key]
	switch {
	case c == nil:
	case c.state == parked:
		l.forget(c)
	case c.state == ending && !l.closing:
		c.state = draining
	}
}

func (l *loop) deliver(m *mail) {
	c := l.o.cells[m.key]
	if m.timer != nil && (c == nil || m.timer.ctx.cell != c) {
		return // the incarnation that set it is gone
	}
	if c == nil {
		if l.closing {
			m.reject(ErrStopping)
			return
		}
		c = l.spawn(m.key)
	}
	switch c.state {
	case live:
		l.touch(c)
		l.send(c, m)
	case draining:
		c.buffer = append(c.buffer, m)
	default:
		m.reject(c.refusal())
	}
}

func (c *cell) refusal() error {
	if f := c.fate.Load(); f != nil {
		return f.err
	}
	return ErrStopping
}

func (l *loop) send(c *cell, v any) { l.lib.Send(c.pid, v) }

func (l *loop) spawn(key string) *cell {
	l.next++
	c := &cell{key: key, id: l.lib.Self().Id + "/" + strconv.FormatUint(l.next, 36)}
	// The first Started runs on another goroutine and looks the cell up, so it is entered before the spawn.
	l.o.mu.Lock()
	l.o.cells[key], l.o.ids[c.id] = c, c
	l.peak = max(l.peak, len(l.o.cells))
	l.o.mu.Unlock()
	// Not l.lib.SpawnNamed: the library's set of children keeps every dead actor of a peak in memory. The owner still is
	// the parent, so failures and ends come to it, and it keeps its own books.
	pid, err := actor.DefaultSpawner(l.o.sys.lib, c.id, l.o.props, l.lib)
	if err != nil {
		panic(err) // the id is new by construction
	}
	c.pid = pid
	l.o.sys.spawned.Add(1)
	l.o.sys.live.Add(1)
	l.touch(c)
	return c
}

// forget drops a cell that has no actor. Go's maps do not shrink, so after a peak they are made anew: a sleeping key
// costs nothing.
func (l *loop) forget(c *cell) {
	o := l.o
	if f := c.fate.Load(); f != nil && f.parked != nil {
		o.sys.parked.Add(-1)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.cells, c.key)
	if n := len(o.cells); l.peak > 1024 && n < l.peak/8 {
		o.cells, o.ids = maps.Collect(maps.All(o.cells)), maps.Collect(maps.All(o.ids))
		l.peak = n
	}
}

func (l *loop) touch(c *cell) {
	d := l.o.opts.IdleAfter
	if d == 0 {
		return
	}
	c.used = time.Now()
	if l.idle.newest != c {
		l.idle.remove(c)
		l.idle.push(c)
	}
	l.arm(d)
}

func (l *loop) arm(d time.Duration) {
	if l.armed || l.closing {
		return
	}
	l.armed = true
	if l.sweeper == nil {
		l.sweeper = time.AfterFunc(d, func() { l.o.post(sweep{}) })
		return
	}
	l.sweeper.Reset(d)
}

// sweep passivates what has been idle long enough. What must not sleep leaves the list until calm, and costs no timer
// meanwhile: a busy actor, and one that crashed lately, whose count must not be forgotten by falling asleep.
func (l *loop) sweep(now time.Time) {
	l.armed = false
	for c := l.idle.oldest; c != nil; c = l.idle.oldest {
		if left := l.o.opts.IdleAfter - now.Sub(c.used); left > 0 {
			l.arm(left)
			return
		}
		if c.busy.Load() || l.troubled(c, now) {
			l.idle.remove(c)
			continue
		}
		l.drain(c)
	}
}

// troubled reports whether c crashed lately. It forgets a trouble that is over and else sees to it that calm comes then.
func (l *loop) troubled(c *cell, now time.Time) bool {
	t := c.trouble
	if t == nil {
		return false
	}
	left := l.o.opts.QuietAfter - now.Sub(t.last)
	if left <= 0 && !c.suspended {
		c.trouble = nil
		return false
	}
	if t.calm == nil {
		t.calm = time.AfterFunc(max(left, time.Second), func() { l.o.post(calm{c}) })
	}
	return true
}

// calm lets an actor be idle again. A calm that comes when it no longer matters only starts its idle time anew.
func (l *loop) calm(c *cell) {
	if c.state != live {
		return
	}
	if c.trouble != nil {
		c.trouble.calm = nil
	}
	l.touch(c)
}

// drain begins the handshake of passivation: marker behind everything routed so far, then buffer. It ends in
// terminated (asleep, or awake again when something waits) or in stay (it was busy after all).
func (l *loop) drain(c *cell) {
	l.idle.remove(c)
	c.state = draining
	l.send(c, &drain{})
}

func (l *loop) stay(c *cell) {
	if c.state != draining {
		return
	}
	c.state, c.again = live, false
	waiting := c.buffer
	c.buffer = nil
	for _, m := range waiting {
		l.send(c, m)
	}
	l.touch(c)
}

func (l *loop) terminated(id string) {
	c := l.o.ids[id]
	if c == nil {
		return
	}
	l.o.mu.Lock()
	delete(l.o.ids, id)
	l.o.mu.Unlock()
	l.o.sys.live.Add(-1)
	l.idle.remove(c)
	waiting, again := c.buffer, c.again
	c.buffer, c.pid = nil, nil
	c.trouble.end()
	if f := c.fate.Load(); f != nil && f.parked != nil && c.state == ending && !l.closing {
		c.state = parked
		return
	}
	l.forget(c)
	if again {
		l.wake(c.key)
	}
	for _, m := range waiting {
		l.deliver(m) // to a new cell: what the old one's timers sent is dropped there
	}
	l.finish()
}

func (l *loop) closeAll() {
	l.closing = true
	if l.sweeper != nil {
		l.sweeper.Stop()
	}
	for _, c := range l.o.cells {
		switch {
		case c.state == parked:
			l.forget(c)
		case c.suspended:
			l.condemn(c, &fate{err: ErrStopping})
		default:
			c.state = ending // its buffer is refused when it has terminated
			l.send(c, &drain{force: true})
		}
	}
	l.finish()
}

func (l *loop) finish() {
	if l.closing && len(l.o.cells) == 0 {
		l.lib.Stop(l.lib.Self())
	}
}

func (l *loop) refuseBuffer(c *cell, err error) {
	for _, m := range c.buffer {
		m.reject(err)
	}
	c.buffer = nil
}
