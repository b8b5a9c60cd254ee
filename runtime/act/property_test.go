package act_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"sentient/runtime/act"
	"sentient/runtime/acttest"
)

// ledger holds what became of every message.
type ledger struct {
	mu     sync.Mutex
	got    map[item]int
	failed map[item][]error
	order  map[string]int // last number by key and sender
	alive  map[string]int // incarnations by key
	wrong  []string
}

type item struct {
	key       string
	sender, n int
	what      byte // c crashes, b becomes busy, i becomes idle, p passivates, t sets a timer, else nothing
}

type letter struct {
	item
	l *ledger
}

func (m letter) Fail(err error) {
	m.l.mu.Lock()
	defer m.l.mu.Unlock()
	m.l.failed[m.item] = append(m.l.failed[m.item], err)
}

type worker struct{ l *ledger }

func (w worker) Start(c *act.Ctx) error { w.count(c, 1); return nil }
func (w worker) Stop(c *act.Ctx)        { w.count(c, -1) }

func (w worker) count(c *act.Ctx, by int) {
	w.l.mu.Lock()
	defer w.l.mu.Unlock()
	if w.l.alive[c.Key()] += by; w.l.alive[c.Key()] > 1 {
		w.l.wrong = append(w.l.wrong, "two incarnations of "+c.Key())
	}
}

func (w worker) Receive(c *act.Ctx, message any) {
	m, ok := message.(letter)
	if !ok {
		return
	}
	w.note(c, m)
	switch m.what {
	case 'c':
		panic("asked to")
	case 'b', 'i':
		c.Busy(m.what == 'b')
	case 'p':
		c.Passivate()
	case 't':
		c.After(700*time.Microsecond, "tick")
	}
}

func (w worker) note(c *act.Ctx, m letter) {
	w.l.mu.Lock()
	defer w.l.mu.Unlock()
	w.l.got[m.item]++
	from := fmt.Sprint(m.key, m.sender)
	if m.n <= w.l.order[from] || m.key != c.Key() {
		w.l.wrong = append(w.l.wrong, fmt.Sprintf("%+v after %d at %s", m.item, w.l.order[from], c.Key()))
	}
	w.l.order[from] = m.n
}

type plan struct {
	idle     time.Duration
	restarts int
	senders  [][]step
	closeAt  time.Duration // 0: after everything
}

type step struct {
	wait time.Duration
	key  string
	what byte
}

func drawPlan(t *rapid.T) plan {
	p := plan{
		idle:     rapid.SampledFrom([]time.Duration{0, time.Millisecond, time.Second, time.Minute}).Draw(t, "idle"),
		restarts: rapid.SampledFrom([]int{1, 3, 1000}).Draw(t, "restarts"),
		closeAt:  rapid.SampledFrom([]time.Duration{0, 0, 0, time.Millisecond, 3 * time.Second}).Draw(t, "close"),
	}
	waits := []time.Duration{0, 0, 0, 0, 0, 0, time.Millisecond, time.Millisecond + 1, 999 * time.Microsecond, time.Second, 70 * time.Second}
	for range rapid.IntRange(1, 4).Draw(t, "senders") {
		p.senders = append(p.senders, rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
			return step{
				wait: rapid.SampledFrom(waits).Draw(t, "wait"),
				key:  rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key"),
				what: rapid.SampledFrom([]byte("......cbiiptu")).Draw(t, "what"),
			}
		}), 0, 60).Draw(t, "steps"))
	}
	return p
}

// With any mix of senders, crashes, passivations, parking and closing: every message is received once or refused once, a
// crash costs its own message only, each sender's order stays, and no key ever has two incarnations.
func TestNothingIsLost(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := drawPlan(rt)
		l := &ledger{got: map[item]int{}, failed: map[item][]error{}, order: map[string]int{}, alive: map[string]int{}}
		var sent []item
		acttest.Run(t, func(t *testing.T, env *env) { sent = p.run(t, env, l) })
		for _, it := range sent {
			if why := l.verdict(it, p); why != "" {
				rt.Errorf("%+v: %s (received %d, refused %v)", it, why, l.got[it], l.failed[it])
			}
		}
		for key, n := range l.alive {
			if n != 0 {
				rt.Errorf("key %s: %d incarnations were not stopped", key, n)
			}
		}
		for _, w := range l.wrong {
			rt.Error(w)
		}
		if rt.Failed() {
			rt.Fatalf("plan %+v", p)
		}
	})
}

func (p plan) run(t *testing.T, env *env, l *ledger) (sent []item) {
	o := env.System.Owner(act.OwnerOptions{Name: "o", IdleAfter: p.idle, MaxRestarts: p.restarts,
		Make: func(string) act.Behavior { return worker{l} }})
	var wg sync.WaitGroup
	var mu sync.Mutex
	for s, steps := range p.senders {
		wg.Go(func() {
			for n, st := range steps {
				time.Sleep(st.wait)
				it := item{st.key, s, n + 1, st.what}
				mu.Lock()
				sent = append(sent, it)
				mu.Unlock()
				if st.what == 'u' {
					o.Unpark(st.key)
				}
				o.Tell(st.key, letter{it, l})
			}
		})
	}
	if p.closeAt > 0 {
		time.Sleep(p.closeAt)
		if err := env.System.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
	time.Sleep(10 * time.Minute)
	synctest.Wait()
	return sent
}

// verdict says what is wrong with a message's fate, or "".
func (l *ledger) verdict(it item, p plan) string {
	got, failed := l.got[it], l.failed[it]
	if len(failed) > 1 || got > 1 {
		return "more than once"
	}
	if len(failed) == 0 {
		if got != 1 || it.what == 'c' {
			return "lost, or a crash that nobody was told of"
		}
		return ""
	}
	var parked *act.ParkedError
	switch err := failed[0]; {
	case err == act.ErrCrashed && it.what == 'c' && got == 1:
	case err == act.ErrStopping && p.closeAt > 0 && got == 0:
	case errors.As(err, &parked) && p.restarts < 1000 && got == 0:
	default:
		return "refused without a reason"
	}
	return ""
}

// Answers that come at about the time when the asker gives up are fine for the race detector.
func TestAskAtItsDeadline(t *testing.T) {
	acttest.Run(t, func(t *testing.T, env *env) {
		p := &probe{OnReceive: func(c *act.Ctx, m any) {
			time.Sleep(time.Millisecond)
			answer(c, m)
		}}
		o := env.System.Owner(act.OwnerOptions{Name: "o", Make: p.Make})
		var wg sync.WaitGroup
		for i := range 300 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
				defer cancel()
				v, err := act.Ask(ctx, o.Ref(fmt.Sprint(i)), func(r *act.Reply[string]) any { return load{"x", r} })
				if err == nil && v != "loaded x" || err != nil && err != context.DeadlineExceeded {
					t.Errorf("%q %v", v, err)
				}
			})
		}
		wg.Wait()
	})
}

// Systems may be made at the same time (tests in parallel): the library's shared variable is written once.
func TestSystemsInParallel(t *testing.T) {
	for i := range 4 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			acttest.Run(t, func(t *testing.T, env *env) {
				p := &probe{OnReceive: answer}
				if _, err := ask(t, env.System.Single("one", p.Single), "x"); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
