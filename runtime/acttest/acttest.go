// Package acttest owns the test bubble: an actor system and a kill table in fake time, closed in the engine's order,
// with checks that nothing was left behind; and probes that record what an actor went through.
package acttest

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sentient/runtime/act"
	"sentient/runtime/work"
)

// CloseWithin is how long, in fake time, the system and the table each may take to close.
const CloseWithin = 30 * time.Second

// Env is what a test in the bubble works with.
type Env struct {
	System *act.System
	Table  *work.Table
	Logger *slog.Logger
	logs   *logs
}

// Run runs fn in a bubble of fake time. Afterwards, also when fn failed, the system is closed, then the table; everything
// gets two fake seconds to settle; and the test fails when a message reached no actor or a part did not stop in time.
// The bubble is the leak check: a goroutine that is left, even one that only sleeps, ends the test binary with its stack.
func Run(t *testing.T, fn func(t *testing.T, env *Env)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		env := newEnv()
		defer env.close(t)
		fn(t, env)
	})
}

func newEnv() *Env {
	l := &logs{}
	env := &Env{logs: l, Logger: slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	env.System = act.New(act.Options{Logger: env.Logger})
	env.Table = work.New(work.Options{Logger: env.Logger})
	return env
}

func (e *Env) close(t *testing.T) {
	within := func(what string, stop func(context.Context) error) {
		ctx, cancel := context.WithTimeout(context.Background(), CloseWithin)
		defer cancel()
		if err := stop(ctx); err != nil {
			t.Errorf("closing the %s: %v", what, err)
		}
	}
	within("system", e.System.Close)
	within("table", e.Table.Close)
	Settle()
	if n := e.System.Stats().DeadLetters; n != 0 {
		t.Errorf("%d messages reached no actor", n)
	}
	if t.Failed() {
		t.Logf("the log:\n%s", e.Logs())
	}
}

// Settle lets everything that can happen within two fake seconds happen.
func Settle() {
	time.Sleep(2 * time.Second)
	synctest.Wait()
}

// Logs is everything that was logged, as text.
func (e *Env) Logs() string { return e.logs.String() }

type logs struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// Crash is a message on which a Probe panics.
type Crash string

// Probe makes behaviors that record what they receive. Hooks are optional and run on the actor's mailbox.
type Probe struct {
	OnStart   func(c *act.Ctx) error
	OnReceive func(c *act.Ctx, message any)
	OnStop    func(c *act.Ctx)

	mu   sync.Mutex
	keys map[string]*record
}

type record struct {
	got           []any
	starts, stops int
}

// Make is for act.OwnerOptions.
func (p *Probe) Make(key string) act.Behavior { return life{p, key} }

// Single is for act.System.Single.
func (p *Probe) Single() act.Behavior { return life{p, ""} }

// Got returns the messages that key received, crashes included, in order.
func (p *Probe) Got(key string) []any {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]any(nil), p.of(key).got...)
}

// Starts and Stops count key's incarnations that began to start, and that were stopped.
func (p *Probe) Starts(key string) int { return p.count(key, func(r *record) int { return r.starts }) }

// Stops counts key's incarnations that were stopped.
func (p *Probe) Stops(key string) int { return p.count(key, func(r *record) int { return r.stops }) }

func (p *Probe) count(key string, of func(*record) int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return of(p.of(key))
}

// of needs p.mu.
func (p *Probe) of(key string) *record {
	if p.keys == nil {
		p.keys = map[string]*record{}
	}
	r := p.keys[key]
	if r == nil {
		r = &record{}
		p.keys[key] = r
	}
	return r
}

func (p *Probe) note(key string, change func(*record)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p.of(key))
}

type life struct {
	p   *Probe
	key string
}

func (l life) Start(c *act.Ctx) error {
	l.p.note(l.key, func(r *record) { r.starts++ })
	if l.p.OnStart != nil {
		return l.p.OnStart(c)
	}
	return nil
}

func (l life) Receive(c *act.Ctx, message any) {
	l.p.note(l.key, func(r *record) { r.got = append(r.got, message) })
	if why, ok := message.(Crash); ok {
		panic(fmt.Sprintf("asked to crash: %s", string(why)))
	}
	if l.p.OnReceive != nil {
		l.p.OnReceive(c, message)
	}
}

func (l life) Stop(c *act.Ctx) {
	l.p.note(l.key, func(r *record) { r.stops++ })
	if l.p.OnStop != nil {
		l.p.OnStop(c)
	}
}
