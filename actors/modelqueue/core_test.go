package modelqueue

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var start = time.Date(2026, 10, 10, 9, 0, 0, 0, time.UTC)

func plugged() facts {
	return facts{now: start, slots: 1, holds: true, power: Power{Percent: -1},
		rules: rules{quiet: 30 * time.Second, above: 40, critical: 15, idle: 5 * time.Minute, every: 30 * time.Minute, maxWait: 2 * time.Hour}}
}

func onBattery(percent int) facts {
	f := plugged()
	f.power = Power{OnBattery: true, Percent: percent}
	return f
}

// every order of arrival leaves in the contract's order, first come first served within a job.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, f := newQueue(false), plugged()
		q.arrive(1, Call{Job: "background"}, f.now)
		if got := q.dispatch(f); len(got) != 1 {
			t.Fatal("a free model was not given")
		}
		mix := rapid.SliceOfN(rapid.SampledFrom(append(jobs[:], "", "something else")), 1, 60).Draw(t, "jobs")
		want := make([]string, 0, len(mix))
		for i, j := range mix {
			q.arrive(uint64(i+2), Call{Job: j}, f.now)
			want = append(want, fmt.Sprintf("%d %03d", laneOf(j), i+2))
		}
		slices.Sort(want)
		running := uint64(1)
		for _, w := range want {
			if len(q.dispatch(f)) != 0 {
				t.Fatal("a running call was cut off")
			}
			q.leave(running, f.now)
			got := q.dispatch(f)
			if len(got) != 1 || fmt.Sprintf("%d %03d", got[0].lane, got[0].id) != w {
				t.Fatalf("%v, want %s", got, w)
			}
			running = got[0].id
		}
	})
}

// a reply someone waits for, then tasks, then upkeep, and first come first served among each. A-323: at most so many.
func TestClaudeCodesOrder(t *testing.T) {
	q, f := newQueue(true), onBattery(1)
	f.holds, f.slots, f.chat.calling = false, 2, true
	for i, job := range []string{"titles", "memory", "titles", "interactive", "task", "suggestions", "chat", "task", "interactive"} {
		q.arrive(uint64(i), Call{Job: job}, f.now)
		if n := len(q.dispatch(f)); n != map[bool]int{true: 1}[i < 2] {
			t.Fatalf("%d began at arrival %d", n, i)
		}
	}
	f.slots = 1 // lowered: nothing is cut, the next goes only when there is room
	q.leave(0, f.now)
	if len(q.dispatch(f)) != 0 {
		t.Fatal("too many run")
	}
	running, order := uint64(1), []uint64{}
	for {
		q.leave(running, f.now)
		got := q.dispatch(f)
		if len(got) == 0 {
			break
		}
		running = got[0].id
		order = append(order, running)
	}
	if want := []uint64{3, 6, 8, 4, 7, 2, 5}; !slices.Equal(order, want) {
		t.Fatalf("%v, want %v", order, want)
	}
}

// What each rule of the contract holds back, and as what.
func TestHolds(t *testing.T) {
	chatted := func(f facts, ago time.Duration) facts {
		f.chat = chatState{ended: f.now.Add(-ago), seen: f.now.Add(-ago)}
		return f
	}
	calling := func(f facts) facts { f.chat.calling = true; return f }
	lifted := func(f facts) facts { f.rules.onBattery = true; return f }
	always := map[string]hold{"chat": free, "interactive": free, "": free}
	background := func(task, upkeep, asked hold) map[string]hold {
		return map[string]hold{"task": task, "suggestions": upkeep, "memory": upkeep, "skills": upkeep, "titles": upkeep, "background": upkeep, "asked": asked}
	}
	for name, c := range map[string]struct {
		f    facts
		want map[string]hold
	}{
		"nothing":                                  {plugged(), background(free, free, free)},
		"a reply uses a model (A-287)":             {calling(plugged()), background(byChat, byChat, byChat)},
		"a reply ended just now":                   {chatted(plugged(), 29*time.Second), background(byChat, byChat, byChat)},
		"it has been quiet":                        {chatted(plugged(), 30*time.Second), background(free, free, free)},
		"battery, full (A-289)":                    {onBattery(100), background(free, free, free)},
		"battery, just above the least":            {onBattery(41), background(free, free, free)},
		"battery, at the least (A-288, A-347)":     {onBattery(40), background(free, byBattery, free)},
		"battery, just above critical":             {onBattery(16), background(free, byBattery, free)},
		"battery, critical (A-290, A-291, A-347)":  {onBattery(15), background(free, byLowBattery, byLowBattery)},
		"battery, level unknown":                   {onBattery(-1), background(free, free, free)},
		"battery, chatted lately":                  {chatted(onBattery(90), 299*time.Second), background(free, byBattery, free)},
		"battery, not chatted lately":              {chatted(onBattery(90), 300*time.Second), background(free, free, free)},
		"battery, lifted":                          {lifted(chatted(onBattery(16), 31*time.Second)), background(free, free, free)},
		"battery, lifted but critical (A-290)":     {lifted(onBattery(15)), background(free, byLowBattery, byLowBattery)},
		"battery tells more than a chat (A-286)":   {calling(onBattery(30)), background(byChat, byBattery, byChat)},
		"low battery tells most (A-286)":           {calling(onBattery(3)), background(byChat, byLowBattery, byLowBattery)},
		"plugged in again":                         {plugged(), background(free, free, free)},
		"a chat does not hold what it does itself": {calling(plugged()), always},
	} {
		for job, want := range c.want {
			q := newQueue(false)
			call := Call{Job: job}
			if job == "asked" {
				call = Call{Job: "memory", Asked: true}
			}
			q.arrive(1, call, c.f.now)
			if got := q.hold(q.lanes[laneOf(call.Job)][0], c.f); got != want {
				t.Errorf("%s: %s is held as %q, want %q", name, job, got, want)
			}
		}
	}
}

// run tells which of the waiting calls go now, and ends them at once.
func run(q *queue, f facts) (ids []uint64) {
	for {
		started := q.dispatch(f)
		if len(started) == 0 {
			return ids
		}
		for _, e := range started {
			ids = append(ids, e.id)
			q.leave(e.id, f.now)
		}
	}
}

// on battery upkeep goes in bursts; a burst stays open while upkeep keeps using the model, and lasts five minutes.
func TestBursts(t *testing.T) {
	q, f := newQueue(false), onBattery(90)
	id := uint64(0)
	try := func(after time.Duration, want bool) {
		t.Helper()
		f.now = f.now.Add(after)
		id++
		q.arrive(id, Call{Job: "memory"}, f.now)
		got := run(q, f)
		if want != slices.Contains(got, id) {
			t.Fatalf("after %v: %v went, call %d wanted: %v", f.now.Sub(start), got, id, want)
		}
		if !want {
			q.leave(id, f.now)
		}
	}
	try(0, true)
	for range 31 { // 4 min 57 s
		try(9500*time.Millisecond, true)
	}
	try(6*time.Second, false) // five minutes are over
	try(25*time.Minute-time.Minute, false)
	try(time.Minute, true) // half an hour after the last burst began
	try(11*time.Second, false)
	f.power = Power{Percent: -1} // plugged in: no bursts
	try(0, true)
	f.power = onBattery(90).power
	try(0, false)
	f.rules.every = 0
	try(0, true)
}

// A call that could ride along in an open burst is looked at again when the burst closes for want of use.
func TestABurstClosesByItself(t *testing.T) {
	q, f := newQueue(false), onBattery(90)
	q.arrive(1, Call{Job: "memory"}, f.now)
	run(q, f)
	q.arrive(2, Call{Job: "interactive"}, f.now)
	q.dispatch(f)
	q.arrive(3, Call{Job: "memory"}, f.now)
	if s := q.look(f); s.waiting != 1 || s.deferred != 0 {
		t.Fatalf("%+v", s)
	}
	if at := q.lookAgain(f); !at.Equal(start.Add(burstGap)) {
		t.Fatalf("it would look again at %v", at)
	}
	f.now = start.Add(burstGap)
	if s := q.look(f); s.waiting != 0 || s.deferred != 1 || s.reason != byBattery {
		t.Fatalf("%+v", s)
	}
}

// no call waits longer than the cap because of the battery, and what the cap let go opens a burst: the rest of its pass
// follows, at any level, for at most five minutes. A task and a chat go all the time.
func TestTheCap(t *testing.T) {
	q, f := newQueue(false), onBattery(5)
	q.arrive(1, Call{Job: "memory"}, f.now)
	q.arrive(2, Call{Job: "titles", Asked: true}, f.now)
	if got := run(q, f); got != nil {
		t.Fatal(got)
	}
	f.now = start.Add(time.Minute)
	q.arrive(3, Call{Job: "skills"}, f.now)
	q.arrive(4, Call{Job: "task"}, f.now)
	if got := run(q, f); !slices.Equal(got, []uint64{4}) {
		t.Fatal(got)
	}
	f.now = start.Add(2*time.Hour - time.Millisecond)
	if got := run(q, f); got != nil {
		t.Fatal(got)
	}
	f.now = start.Add(2 * time.Hour)
	if at := q.lookAgain(facts{now: f.now.Add(-time.Second), slots: 1, holds: true, power: f.power, rules: f.rules}); !at.Equal(f.now) {
		t.Fatalf("it would look again at %v", at)
	}
	if got := run(q, f); !slices.Equal(got, []uint64{1, 3, 2}) { // 3 is the rest of its pass, 2 has waited as long itself
		t.Fatal(got)
	}
	f.now = f.now.Add(burstLength)
	q.arrive(5, Call{Job: "memory"}, f.now)
	if got := run(q, f); got != nil {
		t.Fatal("the burst has no end", got)
	}
}

// what a person started and what the engine started each have their own burst.
func TestScheduledUpkeepNeverRidesAlong(t *testing.T) {
	q, f := newQueue(false), onBattery(5)
	q.arrive(1, Call{Job: "memory", Asked: true}, f.now)
	run(q, f)
	f.now = start.Add(time.Hour)
	q.arrive(2, Call{Job: "memory"}, f.now)
	q.arrive(3, Call{Job: "memory", Asked: true}, f.now)
	run(q, f)
	f.now = start.Add(2 * time.Hour)
	if got := run(q, f); !slices.Equal(got, []uint64{1, 3}) {
		t.Fatal(got)
	}
	f.now = start.Add(3 * time.Hour)
	if got := run(q, f); !slices.Equal(got, []uint64{2}) {
		t.Fatal(got)
	}
	q.arrive(4, Call{Job: "memory", Asked: true}, f.now)
	if got := run(q, f); got != nil {
		t.Fatal("it rode along the other way", got)
	}
}

// a reply that leaves the model alone for 60 seconds stops holding background work back, and holds it again once it
// uses the model; a long stream holds it all the time.
func TestReplies(t *testing.T) {
	r, now := newReplies(), start
	after := func(d time.Duration) { now = now.Add(d) }
	holds := func(want bool) {
		t.Helper()
		if got := r.state(now).holds(now, 30*time.Second); got != want {
			t.Fatalf("after %v: holds %v", now.Sub(start), got)
		}
	}
	holds(false)
	r.began("a", now)
	holds(true)
	r.calls("a", now)
	after(time.Hour) // one stream
	holds(true)
	r.returned("a", now)
	after(59 * time.Second) // a tool runs
	holds(true)
	after(time.Second)
	holds(false)
	r.calls("a", now)
	holds(true)
	r.finished("a", now) // stopped: its call has not returned yet
	holds(true)
	after(time.Second)
	r.returned("a", now)
	after(29 * time.Second)
	holds(true)
	after(time.Second)
	holds(false)
	r.calls("", now) // nobody says when it ends
	after(time.Minute)
	r.returned("", now)
	after(30 * time.Second)
	holds(false)
	if len(r.open) != 0 {
		t.Fatalf("%d replies are remembered", len(r.open))
	}
	// The end of one reply is heard after the next one of the chat has called.
	r.began("b", now)
	r.calls("b", now)
	r.finished("b", now)
	r.began("b", now)
	r.returned("b", now)
	after(59 * time.Second)
	holds(true)
}

// what clients see is the same when only since differs.
func TestSameButSince(t *testing.T) {
	a := state{running: 1, job: "chat", model: "m", since: start, waiting: 1}
	b := a
	b.since = start.Add(time.Second)
	if !a.same(b) {
		t.Error("since alone is something new")
	}
	b.waiting = 2
	if a.same(b) {
		t.Error("one more waits, and that is nothing new")
	}
	if s := (state{}).busy(); s.Busy || s.Job != nil || s.Model != nil || s.Since != nil || s.DeferredReason != nil {
		t.Errorf("%+v", s)
	}
	if s := a.add(state{running: 1, job: "task", since: start.Add(-time.Hour), deferred: 2, reason: byChat}); s.job != "task" || s.waiting != 1 || s.deferred != 2 || s.reason != byChat {
		t.Errorf("%+v", s)
	}
}
