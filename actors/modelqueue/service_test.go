package modelqueue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sentient/actors/msg"
	"sentient/runtime/act"
	"sentient/runtime/acttest"
	"sentient/runtime/app"
	"sentient/runtime/bus"
	"sentient/runtime/work"
)

const ollama = "http://localhost:11434"

// room is the service in the test bubble, with settings and a battery that a test may change.
type room struct {
	*Service
	t     *testing.T
	env   *acttest.Env
	cfg   *app.Config
	power atomic.Pointer[Power]
	sub   *bus.Sub
	order []string // of the calls that began, by name; written while everything else is asleep or waits
	mu    chan struct{}
}

func inRoom(t *testing.T, power Power, fn func(t *testing.T, r *room)) {
	t.Helper()
	acttest.Run(t, func(t *testing.T, env *acttest.Env) {
		b := bus.New(bus.Options{})
		r := &room{t: t, env: env, cfg: app.Default(), sub: b.Subscribe(bus.SubOptions{ID: "w"}), mu: make(chan struct{}, 1)}
		defer r.sub.Close()
		r.power.Store(&power)
		s, err := New(env.System, Options{Bus: b, Config: func() *app.Config { return r.cfg }, Power: func() Power { return *r.power.Load() }, Logger: env.Logger})
		if err != nil {
			t.Fatal(err)
		}
		r.Service = s
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan struct{})
		go func() { defer close(served); s.Serve(ctx) }()
		fn(t, r)
		cancel()
		<-served
	})
}

func local(job string) Call {
	return Call{Runtime: ollama, Model: "ollama_chat/qwen3:8b", Role: "primary", Job: job}
}

// job is one call of a test.
type job struct {
	r      *room
	began  atomic.Bool
	err    error
	over   chan struct{} // closed when the call has ended, or was refused
	cancel context.CancelFunc
	finish context.CancelFunc
}

// call wants its turn beside the test; what it does when it has it lasts until finish.
func (r *room) call(c Call) *job {
	ctx, cancel := context.WithCancel(r.t.Context())
	work, finish := context.WithCancel(r.t.Context())
	j := &job{r: r, over: make(chan struct{}), cancel: cancel, finish: finish}
	go func() {
		defer close(j.over)
		defer cancel()
		defer finish()
		release, err := r.Acquire(ctx, c)
		if err != nil {
			j.err = err
			return
		}
		defer release()
		j.began.Store(true)
		r.mu <- struct{}{}
		r.order = append(r.order, c.Job)
		<-r.mu
		select {
		case <-work.Done():
		case <-ctx.Done():
		}
	}()
	synctest.Wait()
	return j
}

func (j *job) end() {
	j.finish()
	<-j.over
	synctest.Wait()
}

// began fails unless the call has (not) begun by now.
func (r *room) began(j *job, want bool, what string) {
	r.t.Helper()
	synctest.Wait()
	if j.began.Load() != want {
		r.t.Fatalf("%s: it began: %v", what, !want)
	}
}

// goesAfter says exactly when a waiting call begins: not a millisecond earlier.
func (r *room) goesAfter(j *job, d time.Duration, what string) {
	r.t.Helper()
	time.Sleep(d - time.Millisecond)
	r.began(j, false, what+", a millisecond early")
	time.Sleep(time.Millisecond)
	r.began(j, true, what)
}

// powered changes the power and waits until that was noticed.
func (r *room) powered(p Power) {
	r.power.Store(&p)
	time.Sleep(powerEvery)
	synctest.Wait()
}

func (r *room) busy() Busy {
	r.t.Helper()
	b, err := r.Busy(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return b
}

func (r *room) deferred(n int, why string) {
	r.t.Helper()
	if b := r.busy(); b.Deferred != n || b.DeferredReason == nil || *b.DeferredReason != why {
		got, _ := json.Marshal(b)
		r.t.Fatalf("%s, want %d deferred by %s", got, n, why)
	}
}

// one job at a time on a runtime, ollama and ollama_chat together; another runtime has its own; what has no
// runtime (cloud models, the guide) never waits.
func TestOneAtATime(t *testing.T) {
	inRoom(t, Power{Percent: -1}, func(t *testing.T, r *room) {
		first := r.call(local("titles"))
		r.began(first, true, "a free model")
		later := []*job{r.call(local("memory")), r.call(local("task")), r.call(local("interactive")), r.call(local("chat"))}
		cloud := r.call(Call{Model: "openai/gpt", Job: "titles"})
		r.began(cloud, true, "a cloud model")
		cloud.end()
		other := r.call(Call{Runtime: "http://localhost:9", Model: "ollama/x", Job: "interactive"})
		r.began(other, true, "another runtime")
		other.end()
		time.Sleep(time.Hour)
		for _, j := range later {
			r.began(j, false, "while another call runs")
		}
		first.end()
		for i := len(later) - 1; i >= 0; i-- {
			if i == 1 { // the chat's reply has to be over and quiet first
				time.Sleep(30 * time.Second)
			}
			r.began(later[i], true, fmt.Sprint("call ", i))
			later[i].end()
		}
		if got := strings.Join(r.order, " "); got != "titles titles interactive chat interactive task memory" {
			t.Fatal(got)
		}
	})
}

// models.local_queue off: nothing waits, whatever it is for; turned off it lets go what waits, turned on it cuts nothing.
func TestTheQueueCanBeTurnedOff(t *testing.T) {
	inRoom(t, Power{OnBattery: true, Percent: 3}, func(t *testing.T, r *room) {
		a, b, c := r.call(local("chat")), r.call(local("chat")), r.call(local("titles"))
		r.began(a, true, "first")
		r.began(b, false, "second")
		off := *r.cfg
		off.Models.LocalQueue = false
		was := r.cfg
		r.cfg = &off
		r.Changed()
		r.began(b, true, "turned off")
		r.began(c, true, "turned off")
		r.cfg = was
		r.Changed()
		d := r.call(local("chat"))
		for _, j := range []*job{a, b, c} {
			r.began(d, false, "three still run")
			j.end()
		}
		r.began(d, true, "all have ended")
		d.end()
	})
}

// cancelling frees the place, of a call that runs as well as of one that waits.
func TestCancellingFrees(t *testing.T) {
	inRoom(t, Power{Percent: -1}, func(t *testing.T, r *room) {
		running, waiting, last := r.call(local("interactive")), r.call(local("interactive")), r.call(local("interactive"))
		waiting.cancel()
		<-waiting.over
		if !errors.Is(waiting.err, context.Canceled) {
			t.Fatal(waiting.err)
		}
		if b := r.busy(); b.Waiting != 1 {
			t.Fatalf("%+v", b)
		}
		running.cancel()
		r.began(last, true, "the stream was cancelled")
		last.end()
		if b := r.busy(); b.Busy || b.Waiting != 0 {
			t.Fatalf("%+v", b)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := r.Acquire(ctx, local("chat")); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	})
}

// background work waits while a reply runs and for models.background_quiet_s after it; a reply whose tool does
// not use the model holds it back for 60 seconds only; what the reply itself needs goes at once.
func TestBackgroundWaitsForTheChat(t *testing.T) {
	inRoom(t, Power{Percent: -1}, func(t *testing.T, r *room) {
		mine := local("chat")
		mine.Reply = "session/a"
		r.ReplyBegan("session/a")
		title := r.call(local("titles"))
		r.began(title, false, "a reply runs")
		r.deferred(1, "chat")
		say := r.call(mine)
		r.began(say, true, "the reply itself")
		time.Sleep(10 * time.Minute) // one long stream
		r.began(title, false, "the reply streams")
		say.end() // now a tool runs
		r.goesAfter(title, 60*time.Second, "the reply leaves the model alone")
		title.end()

		memory := r.call(local("memory"))
		r.began(memory, true, "the tool still runs")
		again := r.call(mine)
		r.began(again, false, "a running call is never cut")
		memory.end()
		r.began(again, true, "the model is free")
		task := r.call(local("task"))
		again.end()
		r.ReplyEnded("session/a")
		r.deferred(1, "chat")
		r.goesAfter(task, 30*time.Second, "quiet")
		task.end()
		if r.busy().Deferred != 0 {
			t.Fatal("something is still deferred")
		}
	})
}

// A chat with a cloud model is a chat too.
func TestACloudReplyHoldsBackgroundWorkBack(t *testing.T) {
	inRoom(t, Power{Percent: -1}, func(t *testing.T, r *room) {
		r.ReplyBegan("session/a")
		time.Sleep(20 * time.Second)
		r.ReplyEnded("session/a")
		r.goesAfter(r.call(local("titles")), 30*time.Second, "quiet")
	})
}

// on battery scheduled upkeep needs the level, no chat for five minutes, and a burst; a task goes on time.
func TestOnBattery(t *testing.T) {
	inRoom(t, Power{OnBattery: true, Percent: 40}, func(t *testing.T, r *room) {
		upkeep := r.call(local("memory"))
		r.deferred(1, "battery")
		task := r.call(local("task"))
		r.began(task, true, "a task on battery")
		task.end()
		r.powered(Power{OnBattery: true, Percent: 41})
		r.began(upkeep, true, "above the least")
		upkeep.end()

		time.Sleep(20 * time.Second)
		next := r.call(local("skills"))
		r.deferred(1, "battery")
		r.goesAfter(next, 30*time.Minute-20*time.Second, "the next burst")
		rest := r.call(local("memory"))
		next.end()
		r.began(rest, true, "the rest of the pass")
		rest.end()

		say := r.call(local("chat"))
		say.end()
		time.Sleep(40 * time.Minute)
		say = r.call(local("chat"))
		say.end()
		late := r.call(local("memory"))
		r.deferred(1, "battery")
		r.goesAfter(late, 5*time.Minute, "not chatted for so long")
		late.end()

		time.Sleep(burstGap)
		held := r.call(local("titles"))
		r.began(held, false, "no burst is due")
		r.powered(Power{Percent: 80})
		r.began(held, true, "plugged in")
		held.end()
	})
}

// models.background_on_battery lifts the three limits. A-290: but not the critical level, and nothing waits past the cap;
// what the cap let go is followed by the rest of its pass at once.
func TestLiftedAndCapped(t *testing.T) {
	inRoom(t, Power{OnBattery: true, Percent: 20}, func(t *testing.T, r *room) {
		lifted := *r.cfg
		lifted.Models.BackgroundOnBattery = true
		upkeep := r.call(local("memory"))
		r.deferred(1, "battery")
		r.cfg = &lifted
		r.Changed()
		r.began(upkeep, true, "lifted")
		upkeep.end()

		r.powered(Power{OnBattery: true, Percent: 15})
		low := r.call(local("memory"))
		time.Sleep(time.Hour)
		second := r.call(local("skills"))
		r.deferred(2, "battery_low")
		r.goesAfter(low, time.Hour, "the cap")
		r.began(second, false, "one at a time")
		low.end()
		r.began(second, true, "the rest of the pass")
		second.end()
		time.Sleep(burstGap)
		third := r.call(local("memory"))
		r.began(third, false, "the burst is over")
		third.cancel()
		<-third.over
	})
}

// Dream now is held by the critical level only, and by the cap; its burst takes nothing scheduled along.
func TestDreamNow(t *testing.T) {
	inRoom(t, Power{OnBattery: true, Percent: 20}, func(t *testing.T, r *room) {
		dream := local("memory")
		dream.Asked = true
		now := r.call(dream)
		r.began(now, true, "Dream now at 20 %")
		now.end()
		r.powered(Power{OnBattery: true, Percent: 10})
		held := r.call(dream)
		r.deferred(1, "battery_low")
		time.Sleep(time.Hour)
		rest := r.call(dream)
		scheduled := r.call(local("memory"))
		r.goesAfter(held, time.Hour, "the cap")
		held.end()
		r.began(rest, true, "the rest of the dream")
		rest.end()
		r.began(scheduled, false, "scheduled upkeep rode along")
		scheduled.cancel()
		<-scheduled.over
	})
}

// events are the model.busy events so far.
func (r *room) events() (out []Busy) {
	r.t.Helper()
	synctest.Wait()
	frames, err := r.sub.Take(nil, 1<<20), r.sub.Err()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, e := range frames {
		if e.Kind != "model.busy" || e.Seq != 0 {
			r.t.Fatalf("%s with number %d", e.Kind, e.Seq)
		}
		var d struct {
			Data Busy
			TS   string
		}
		if err := json.Unmarshal(e.Render(nil, 0), &d); err != nil || d.TS == "" {
			r.t.Fatal(err)
		}
		out = append(out, d.Data)
	}
	return out
}

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
