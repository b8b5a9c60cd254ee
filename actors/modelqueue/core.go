// Package modelqueue owns the order in which calls reach what can only do so much at once: a local model runtime, which does
// one job at a time, and the person's own Claude Code, of which a few may run. Calls go by who waits for them,
// then first come first served; background work is held back while a person chats, upkeep also while the
// computer runs on its battery. A running call is never cut off.
//
// Nothing here is journalled: a queue of live calls dies with the process that made them. It outlives a crash of its actor:
// calls that run keep their place, calls that wait queue again where they were.
//
// The core (core.go, hold.go, chats.go, busy.go) is pure: time, the battery and the settings are inputs. One actor per runtime
// owns its queue; the actor in front of them owns what they share (which replies run, the power) and publishes model.busy.
package modelqueue

import (
	"cmp"
	"slices"
	"time"
)

// Call is one call that wants its turn.
type Call struct {
	Runtime string // the address of the local runtime that answers; "" never waits (cloud models, the guide)
	Model   string // "provider/model"
	Role    string
	Job     string // msg.ModelRequest.Job; an unknown one counts as interactive
	Reply   string // of a chat job: the reply it belongs to; "" makes the call a reply of its own
	Asked   bool   // upkeep that a person started from the window (Dream now, A-291)
}

// jobs in the order in which they go.
var jobs = [...]string{"chat", "interactive", "task", "suggestions", "memory", "skills", "titles", "background"}

const (
	laneChat        = 0
	laneInteractive = 1
	laneTask        = 2 // from here on: background work, held back by a chat
	laneUpkeep      = 3 // from here on: upkeep, held back by the battery too
)

func laneOf(job string) int {
	if i := slices.Index(jobs[:], job); i >= 0 {
		return i
	}
	return laneInteractive
}

// poolLane: who waits for a reply, then tasks, then upkeep.
func poolLane(job string) int {
	switch l := laneOf(job); {
	case l < laneTask:
		return 0
	case l < laneUpkeep:
		return 1
	}
	return 2
}

// entry is a call in the queue.
type entry struct {
	Call
	id      uint64 // grows in the order of arrival
	lane    int
	arrived time.Time
	began   time.Time // when it got the model
	held    time.Time // when the battery first held it back; zero: never
	burst   *burst    // the burst it runs in, nil for none
}

// queue is the state of one runtime or pool.
//
// Invariants: a call is in exactly one of lanes and running; it leaves running by leave alone; every lane is sorted by id.
type queue struct {
	pool      bool // Claude Code: three lanes and no holds
	lanes     [len(jobs)][]*entry
	running   map[uint64]*entry
	scheduled *burst // of upkeep that the engine starts
	asked     *burst // of upkeep that a person started
}

func newQueue(pool bool) *queue {
	return &queue{pool: pool, running: map[uint64]*entry{}, scheduled: &burst{}, asked: &burst{}}
}

// facts are what a decision depends on besides the queue.
type facts struct {
	now   time.Time
	slots int  // calls that may run at once; 0: any number
	holds bool // whether background work may be held back
	chat  chatState
	power Power
	rules rules
}

// arrive puts a call behind those of its lane that came before it.
func (q *queue) arrive(id uint64, c Call, now time.Time) {
	e := &entry{Call: c, id: id, lane: laneOf(c.Job), arrived: now}
	if q.pool {
		e.lane = poolLane(c.Job)
	}
	i, there := find(q.lanes[e.lane], id)
	if !there {
		q.lanes[e.lane] = slices.Insert(q.lanes[e.lane], i, e)
	}
}

func find(lane []*entry, id uint64) (int, bool) {
	if n := len(lane); n > 0 && lane[n-1].id < id { // the usual end of the queue
		return n, false
	}
	return slices.BinarySearchFunc(lane, id, func(e *entry, id uint64) int { return cmp.Compare(e.id, id) })
}

// leave takes a call out, wherever it is: it has ended, or was cancelled. An unknown id changes nothing.
func (q *queue) leave(id uint64, now time.Time) {
	if e := q.running[id]; e != nil {
		delete(q.running, id)
		e.burst.ended(now)
		return
	}
	for l := range q.lanes {
		if i, there := find(q.lanes[l], id); there {
			q.lanes[l] = slices.Delete(q.lanes[l], i, i+1)
			return
		}
	}
}

// dispatch starts every call that may go now and returns them in order.
func (q *queue) dispatch(f facts) []*entry {
	q.mark(f)
	var started []*entry
	for f.slots == 0 || len(q.running) < f.slots {
		e := q.next(f)
		if e == nil {
			break
		}
		q.begin(e, f)
		started = append(started, e)
	}
	return started
}

// next takes the first call that nothing holds back out of its lane.
func (q *queue) next(f facts) *entry {
	for l, lane := range q.lanes {
		for i, e := range lane {
			if q.hold(e, f) != free {
				continue
			}
			if i == 0 { // the usual case costs nothing, however long the queue is
				lane[0] = nil
				q.lanes[l] = lane[1:]
			} else {
				q.lanes[l] = slices.Delete(lane, i, i+1)
			}
			return e
		}
	}
	return nil
}

func (q *queue) begin(e *entry, f facts) {
	e.began = f.now
	q.joinBurst(e, f)
	q.running[e.id] = e
}

// waiting is the calls that have not begun.
func (q *queue) waiting(yield func(*entry) bool) {
	for _, lane := range q.lanes {
		for _, e := range lane {
			if !yield(e) {
				return
			}
		}
	}
}

// forgetWaiting drops the calls that wait; their callers queue again.
func (q *queue) forgetWaiting() { q.lanes = [len(jobs)][]*entry{} }
