package modelqueue

import (
	"context"
	"errors"
	"fmt"
	"sentient/actors/msg"
	"sentient/runtime/act"
	"sentient/runtime/work"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// quick changes are published once, after 0.2 s, and only when something other than since changed.
func TestBusyIsPublishedOnce(t *testing.T) {
	inRoom(t, Power{Percent: -1}, func(t *testing.T, r *room) {
		time.Sleep(time.Second)
		if e := r.events(); len(e) != 0 {
			t.Fatalf("%v", e)
		}
		for range 5 {
			r.call(local("interactive")).end() // over before anybody could hear of it
		}
		time.Sleep(tellAfter)
		if e := r.events(); len(e) != 0 {
			t.Fatalf("%v", e)
		}
		began := time.Now()
		a := r.call(local("interactive"))
		b := r.call(local("titles"))
		time.Sleep(tellAfter - time.Millisecond)
		if e := r.events(); len(e) != 0 {
			t.Fatalf("too early: %v", e)
		}
		time.Sleep(time.Millisecond)
		e := r.events()
		if len(e) != 1 || !e[0].Busy || *e[0].Job != "interactive" || *e[0].Model != "ollama_chat/qwen3:8b" || e[0].Waiting != 1 || !e[0].Since.Equal(began.Truncate(time.Microsecond)) {
			t.Fatalf("%+v", e)
		}
		time.Sleep(time.Second)
		c := r.call(local("interactive"))
		a.end() // c runs in its place: only since is new
		time.Sleep(time.Second)
		if e := r.events(); len(e) != 0 {
			t.Fatalf("only since changed: %+v", e)
		}
		c.end()
		time.Sleep(tellAfter)
		if e = r.events(); len(e) != 1 || *e[0].Job != "titles" || e[0].Waiting != 0 {
			t.Fatalf("%+v", e)
		}
		b.end()
		time.Sleep(tellAfter)
		if e = r.events(); len(e) != 1 || e[0].Busy || e[0].Job != nil || e[0].Since != nil {
			t.Fatalf("%+v", e)
		}
	})
}

// at most so many, who waits for a reply first, and the counts Settings shows. It is no local model.
func TestClaudeCode(t *testing.T) {
	inRoom(t, Power{OnBattery: true, Percent: 1}, func(t *testing.T, r *room) {
		var order []string
		take := func(job string) func() {
			release, err := r.AcquireClaudeCode(t.Context(), Call{Model: "claude-code/sonnet", Role: "primary", Job: job})
			if err != nil {
				t.Error(err)
			}
			order = append(order, job)
			return release
		}
		releases := make(chan func(), 4)
		a, b := take("task"), take("titles") // upkeep, on a low battery, while a chat runs
		for _, job := range []string{"memory", "task", "chat"} {
			go func() { releases <- take(job) }()
			synctest.Wait()
		}
		if running, waiting, err := r.ClaudeCode(t.Context()); running != 2 || waiting != 3 || err != nil {
			t.Fatal(running, waiting, err)
		}
		if r.busy().Busy {
			t.Fatal("a local model is said to be busy")
		}
		time.Sleep(1500 * time.Millisecond)
		a()
		a() // a second time frees nothing
		next := <-releases
		synctest.Wait()
		if running, waiting, _ := r.ClaudeCode(t.Context()); running != 2 || waiting != 2 {
			t.Fatal(running, waiting)
		}
		next()
		(<-releases)()
		(<-releases)()
		b()
		if got := strings.Join(order, " "); got != "task titles chat task memory" {
			t.Fatal(got)
		}
		for _, line := range []string{"Claude Code queued: primary on claude-code/sonnet (memory) waits; 2 running, at most 2 at once", "Claude Code start: primary on claude-code/sonnet (chat) after waiting 1.5s"} {
			if !strings.Contains(r.env.Logs(), line) {
				t.Errorf("the log does not say %q:\n%s", line, r.env.Logs())
			}
		}
	})
}

// Stop everything drops the calls that wait for Claude Code, with the contract's sentence.
func TestStopDropsWhatWaitsForClaudeCode(t *testing.T) {
	inRoom(t, Power{Percent: -1}, func(t *testing.T, r *room) {
		one := *r.cfg
		one.Models.ClaudeCodeMaxConcurrent = 1
		r.cfg = &one
		release, err := r.AcquireClaudeCode(t.Context(), Call{Job: "chat"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancelCause(t.Context())
		got := make(chan error)
		go func() {
			_, err := r.AcquireClaudeCode(ctx, Call{Job: "task"})
			got <- err
		}()
		synctest.Wait()
		stop(work.ErrStopped)
		if me, ok := msg.AsModelError(<-got); !ok || me.Message != "Stop everything ended this before Claude Code started." || me.Fault != msg.FaultCancelled {
			t.Fatal(me)
		}
		release()
		if running, waiting, _ := r.ClaudeCode(t.Context()); running+waiting != 0 {
			t.Fatal(running, waiting)
		}
	})
}

// A crash of the actors loses nothing: the running call keeps its place, those that wait keep their order.
func TestACrashKeepsTheQueue(t *testing.T) {
	inRoom(t, Power{Percent: -1}, func(t *testing.T, r *room) {
		a := r.call(local("interactive"))
		waiting := []*job{r.call(local("interactive")), r.call(local("interactive")), r.call(local("chat"))}
		// A message that is not there crashes an actor as a defect would.
		r.queues.Tell(ollama, (*arrive)(nil))
		r.front.Tell((*arrive)(nil))
		time.Sleep(10 * time.Second)
		if b := r.busy(); !b.Busy || b.Waiting != 3 {
			t.Fatalf("%+v", b)
		}
		for i, at := range []int{2, 0, 1} {
			if i == 0 {
				a.end()
			} else {
				waiting[[]int{2, 0}[i-1]].end()
			}
			r.began(waiting[at], true, fmt.Sprint("call ", at))
		}
		waiting[1].end()
	})
}

// When the engine ends, whoever waits hears of it.
func TestTheEndIsHeard(t *testing.T) {
	inRoom(t, Power{Percent: -1}, func(t *testing.T, r *room) {
		a, b := r.call(local("interactive")), r.call(local("interactive"))
		if err := r.env.System.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-b.over
		if !errors.Is(b.err, act.ErrStopping) {
			t.Fatal(b.err)
		}
		a.end()
		if _, err := r.Acquire(t.Context(), local("chat")); !errors.Is(err, act.ErrStopping) {
			t.Fatal(err)
		}
	})
}

// 1,000 calls that each take a second are over after 1,000 seconds: the model is never idle between two, and the order is kept.
func TestAThousandWithoutAGap(t *testing.T) {
	inRoom(t, Power{Percent: -1}, func(t *testing.T, r *room) {
		first := r.call(local("interactive"))
		const n = 1000
		begun := make(chan int, n)
		for i := range n {
			go func() {
				release, err := r.Acquire(t.Context(), local("interactive"))
				if err != nil {
					t.Error(err)
					return
				}
				begun <- i
				time.Sleep(time.Second)
				release()
			}()
			synctest.Wait()
		}
		from := time.Now()
		first.finish()
		for i := range n {
			if got := <-begun; got != i || time.Since(from) != time.Duration(i)*time.Second {
				t.Fatalf("call %d began after %v, want %d", got, time.Since(from), i)
			}
		}
	})
}
