package modelqueue

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// machine plays a runtime's life at random and keeps its own books.
type machine struct {
	q       *queue
	f       facts
	replies *replies
	nextID  uint64
	waits   map[uint64]Call
	runs    map[uint64]Call
	heldFor map[uint64]time.Time // since when the battery may be holding it, by our own books
}

func newMachine() *machine {
	return &machine{q: newQueue(false), f: plugged(), replies: newReplies(), waits: map[uint64]Call{}, runs: map[uint64]Call{}, heldFor: map[uint64]time.Time{}}
}

// settle is what the shell does after every message.
func (m *machine) settle(t *rapid.T) {
	m.f.chat = m.replies.state(m.f.now)
	for {
		m.q.mark(m.f)
		best, any := uint64(0), false
		for e := range m.q.waiting { // our own idea of the order
			if m.q.hold(e, m.f) == free && (!any || laneOf(e.Job) < laneOf(m.waits[best].Job) || laneOf(e.Job) == laneOf(m.waits[best].Job) && e.id < best) {
				best, any = e.id, true
			}
		}
		room := m.f.slots == 0 || len(m.runs) < m.f.slots
		one := m.f // start one at a time, to compare each with our idea
		if one.slots == 0 {
			one.slots = len(m.runs) + 1
		} else {
			one.slots = min(one.slots, len(m.runs)+1)
		}
		started := m.q.dispatch(one)
		if !room || !any {
			if len(started) != 0 {
				t.Fatalf("%d began although there is no room, or all are held", started[0].id)
			}
			return
		}
		if len(started) != 1 || started[0].id != best {
			t.Fatalf("%v began, want %d", started, best)
		}
		m.runs[best] = m.waits[best]
		delete(m.waits, best)
		delete(m.heldFor, best)
	}
}

func (m *machine) check(t *rapid.T) {
	if len(m.q.running) != len(m.runs) {
		t.Fatalf("%d run, %d should: a running call was cut or invented", len(m.q.running), len(m.runs))
	}
	for id := range m.runs {
		if m.q.running[id] == nil {
			t.Fatalf("running call %d is gone", id)
		}
	}
	seen := m.q.look(m.f)
	if seen.running != len(m.runs) || seen.waiting+seen.deferred != len(m.waits) {
		t.Fatalf("busy says %+v, real are %d running and %d waiting", seen, len(m.runs), len(m.waits))
	}
	for e := range m.q.waiting {
		h := m.q.hold(e, m.f)
		if h != free && laneOf(e.Job) < laneTask {
			t.Fatalf("%s is held by %v", e.Job, h)
		}
		if h >= byBattery {
			if laneOf(e.Job) < laneUpkeep || !m.f.power.OnBattery {
				t.Fatalf("%s is held by the battery", e.Job)
			}
			if m.heldFor[e.id].IsZero() {
				m.heldFor[e.id] = m.f.now
			}
			if waited := m.f.now.Sub(m.heldFor[e.id]); waited >= m.f.rules.maxWait {
				t.Fatalf("the battery holds %s for %v", e.Job, waited)
			}
		}
	}
}

// advance moves time on, stopping where the shell's timer would.
func (m *machine) advance(t *rapid.T, d time.Duration) {
	for end := m.f.now.Add(d); m.f.now.Before(end); {
		next := end
		if at := m.q.lookAgain(m.f); !at.IsZero() && at.Before(end) {
			next = at
		}
		m.unchangedUntil(t, next)
		m.f.now = next
		m.settle(t)
		m.check(t)
	}
}

// unchangedUntil: the shell may sleep that long, because nothing changes by itself before.
func (m *machine) unchangedUntil(t *rapid.T, next time.Time) {
	f := m.f
	f.now = next.Add(-time.Nanosecond)
	if !f.now.After(m.f.now) {
		return
	}
	for e := range m.q.waiting {
		if was, is := m.q.hold(e, m.f), m.q.hold(e, f); was != is {
			t.Fatalf("%s changed from %q to %q before it would be looked at", e.Job, was, is)
		}
	}
}

func (m *machine) actions() map[string]func(*rapid.T) {
	pick := func(t *rapid.T, from map[uint64]Call) (uint64, bool) {
		ids := make([]uint64, 0, len(from))
		for id := range m.nextID + 1 {
			if _, ok := from[id]; ok {
				ids = append(ids, id)
			}
		}
		if len(ids) == 0 {
			return 0, false
		}
		return rapid.SampledFrom(ids).Draw(t, "call"), true
	}
	reply := rapid.SampledFrom([]string{"a", "b"})
	leave := func(t *rapid.T, from map[uint64]Call) {
		id, ok := pick(t, from)
		if !ok {
			t.Skip("none")
		}
		if c := from[id]; c.Job == "chat" {
			m.replies.returned(c.Reply, m.f.now)
		}
		delete(from, id)
		m.q.leave(id, m.f.now)
	}
	return map[string]func(*rapid.T){
		"arrive": func(t *rapid.T) {
			c := Call{Job: rapid.SampledFrom(jobs[:]).Draw(t, "job"), Asked: rapid.Bool().Draw(t, "asked"), Reply: reply.Draw(t, "reply")}
			m.nextID++
			m.waits[m.nextID] = c
			if c.Job == "chat" {
				m.replies.calls(c.Reply, m.f.now)
			}
			m.q.arrive(m.nextID, c, m.f.now)
		},
		"end":      func(t *rapid.T) { leave(t, m.runs) },
		"cancel":   func(t *rapid.T) { leave(t, m.waits) },
		"began":    func(t *rapid.T) { m.replies.began(reply.Draw(t, "reply"), m.f.now) },
		"finished": func(t *rapid.T) { m.replies.finished(reply.Draw(t, "reply"), m.f.now) },
		"power": func(t *rapid.T) {
			m.f.power = Power{rapid.Bool().Draw(t, "battery"), rapid.IntRange(-1, 100).Draw(t, "percent")}
		},
		"switches": func(t *rapid.T) { m.f.rules.onBattery = rapid.Bool().Draw(t, "lifted") },
		"queue off": func(t *rapid.T) {
			on := rapid.Bool().Draw(t, "on")
			m.f.holds, m.f.slots = on, map[bool]int{true: 1}[on]
		},
		"short time": func(t *rapid.T) {
			m.advance(t, time.Duration(rapid.IntRange(1, 90_000).Draw(t, "ms"))*time.Millisecond)
		},
		"long time": func(t *rapid.T) { m.advance(t, time.Duration(rapid.IntRange(1, 200).Draw(t, "minutes"))*time.Minute) },
		"": func(t *rapid.T) {
			m.settle(t)
			m.check(t)
		},
	}
}

// Whatever happens in whatever order: the order holds, a free model never idles while a call may go, a running call is
// never cut, cancelling frees, nothing waits past the cap, busy counts are the truth, and no change is
// slept through.
func TestALifeAtRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine()
		t.Repeat(m.actions())
	})
}
