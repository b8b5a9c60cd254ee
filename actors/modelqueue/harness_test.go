package modelqueue

import (
	"context"
	"encoding/json"
	"sentient/runtime/acttest"
	"sentient/runtime/app"
	"sentient/runtime/bus"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
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
