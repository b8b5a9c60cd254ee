// Package work owns what runs beside an actor's mailbox: the table of all runs with their ids, origins and contexts (the
// kill table that stopping everything uses), and the bounded hand-over of a run's output to its actor.
//
// Invariant: everything that Go started is in the table until its function has returned, so what Close or StopAll does
// not name as late is gone.
package work

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Origin says who started a run: a person, or which part of the engine by itself.
type Origin string

// The origins. All but User are the engine's own.
const (
	User       Origin = "user"
	Proactive  Origin = "proactive"
	Heartbeat  Origin = "heartbeat"
	Followups  Origin = "followups"
	Dreaming   Origin = "dreaming"
	Background Origin = "background"
)

// Kind tells work from connections.
type Kind uint8

const (
	Job  Kind = iota // ends with StopAll
	Link             // a bot's poll, a device's socket: stays up, so that a phone can say resume
)

var (
	// ErrStopped refuses a job that the engine would start by itself while everything is stopped; it is also the cause
	// in the context of a job that StopAll cancelled.
	ErrStopped = errors.New("everything is stopped; resume to start work again")
	// ErrStaleEpoch refuses a job whose command was admitted before the last stop.
	ErrStaleEpoch = errors.New("this was asked for before everything was stopped, so it is not started")
	// ErrClosed refuses every run once the table is closed; it is also the cause in the contexts that Close cancels.
	ErrClosed = errors.New("the engine is stopping")
	// ErrCancelled is the cause when Cancel was given none.
	ErrCancelled = errors.New("cancelled")
)

// Spec names one run.
type Spec struct {
	ID     string // unique among the runs that are in the table, and for ever if its owner compares ids
	Owner  string // the stream that owns it
	Origin Origin // "" counts as the engine's own
	Kind   Kind
	Label  string // for people; never logged
	Unit   string // the piece of work it is a part of, for the count of what a stop ended; its own ID when empty
	Epoch  uint64 // the stop epoch at which the command was admitted; 0: not checked

	// OnPanic is told, on the run's goroutine, when its function panicked, so that the owner does not wait for ever. It
	// must not block: the run leaves the table after it.
	OnPanic func(error)
}

// Options of a Table. Stopped and Epoch are what the store remembers from before a restart.
type Options struct {
	Logger  *slog.Logger // nil: slog.Default()
	Stopped bool
	Epoch   uint64 // 0 is FirstEpoch
}

// FirstEpoch is the epoch before any stop.
const FirstEpoch = 1

// Table is the kill table. All methods may be called from anywhere.
type Table struct {
	log *slog.Logger

	mu      sync.Mutex
	runs    map[string]*run
	next    uint64
	stopped bool
	closed  bool
	epoch   atomic.Uint64 // written under mu; every message of every owner reads it
}

type run struct {
	spec   Spec
	number uint64 // order of start
	cancel context.CancelCauseFunc
	done   chan struct{}
}

// Report is what StopAll did.
type Report struct {
	Cancelled int    // jobs that were running
	Late      []Spec // those of them that had not returned when ctx ended
}

// UnendedError names the runs that were still going when the time to close was over.
type UnendedError struct{ Runs []Spec }

func (e *UnendedError) Error() string {
	names := make([]string, len(e.Runs))
	for i, s := range e.Runs {
		names[i] = s.Owner + "#" + s.ID
	}
	return "this work did not end in time: " + strings.Join(names, ", ")
}

// New makes an empty table.
func New(o Options) *Table {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	t := &Table{log: o.Logger, runs: map[string]*run{}, stopped: o.Stopped}
	t.epoch.Store(max(o.Epoch, FirstEpoch))
	return t
}

// Go runs fn on its own goroutine, under a context derived from parent that also ends with Cancel, StopAll and Close
// (context.Cause says which). A panic in fn is logged and told to s.OnPanic. Errors, with fn not started: ErrStopped,
// ErrStaleEpoch, ErrClosed, the cause of a parent that has ended, or that the id is missing or in use.
func (t *Table) Go(parent context.Context, s Spec, fn func(ctx context.Context)) error {
	if parent.Err() != nil {
		return context.Cause(parent)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.refuse(s); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(context.WithValue(parent, specKey{}, s))
	t.next++
	r := &run{spec: s, number: t.next, cancel: cancel, done: make(chan struct{})}
	t.runs[s.ID] = r
	go t.do(ctx, r, fn)
	return nil
}

// Do runs fn like Go and waits for it, however long that takes: it gives fn's error, that it panicked, or Go's. OnPanic of s is
// not used.
func (t *Table) Do(parent context.Context, s Spec, fn func(ctx context.Context) error) error {
	done := make(chan error, 1)
	s.OnPanic = func(err error) { done <- err }
	if err := t.Go(parent, s, func(ctx context.Context) { done <- fn(ctx) }); err != nil {
		return err
	}
	return <-done
}

type specKey struct{}

// SpecOf names the run that ctx belongs to, for what is called deep inside it; false outside of any run.
func SpecOf(ctx context.Context) (Spec, bool) {
	s, ok := ctx.Value(specKey{}).(Spec)
	return s, ok
}

func (t *Table) refuse(s Spec) error {
	switch {
	case t.closed:
		return ErrClosed
	case s.ID == "":
		return errors.New("a run needs an id")
	case t.runs[s.ID] != nil:
		return fmt.Errorf("run %q is already going", s.ID)
	case s.Epoch != 0 && s.Epoch < t.epoch.Load():
		return ErrStaleEpoch
	case t.stopped && s.Kind == Job && s.Origin != User:
		return ErrStopped
	}
	return nil
}

func (t *Table) do(ctx context.Context, r *run, fn func(context.Context)) {
	var failure error
	defer func() { t.leave(r, failure) }()
	defer func() {
		if v := recover(); v != nil {
			failure = panicError(v)
			t.log.Error("a run failed", "run", r.spec.ID, "owner", r.spec.Owner, "origin", string(r.spec.Origin),
				"reason", failure.Error(), "stack", string(debug.Stack()))
		}
	}()
	fn(ctx)
}

// leave is the end of a run however fn ended.
func (t *Table) leave(r *run, failure error) {
	defer func() {
		if v := recover(); v != nil {
			t.log.Error("a run's OnPanic failed too", "run", r.spec.ID, "reason", panicError(v).Error())
		}
		t.mu.Lock()
		delete(t.runs, r.spec.ID)
		t.mu.Unlock()
		close(r.done)
	}()
	r.cancel(nil)
	if failure != nil && r.spec.OnPanic != nil {
		r.spec.OnPanic(failure)
	}
}

// panicError keeps the text of errors and strings; any other value may hold anything, so only its type is told.
func panicError(v any) error {
	switch v := v.(type) {
	case error:
		return fmt.Errorf("the work failed unexpectedly: %w", v)
	case string:
		return fmt.Errorf("the work failed unexpectedly: %s", v)
	}
	return fmt.Errorf("the work failed unexpectedly (%T)", v)
}

// Cancel cancels one run and reports whether it was going. A nil cause stands for ErrCancelled. It does not wait.
func (t *Table) Cancel(id string, cause error) bool {
	return t.cancel(cause, func(s Spec) bool { return s.ID == id }, id) == 1
}

// CancelOwner cancels every run of owner, links included, and returns how many.
func (t *Table) CancelOwner(owner string, cause error) int {
	return t.cancel(cause, func(s Spec) bool { return s.Owner == owner }, "")
}

// cancel looks at one run when id is given, else at all.
func (t *Table) cancel(cause error, match func(Spec) bool, id string) int {
	if cause == nil {
		cause = ErrCancelled
	}
	t.mu.Lock()
	var hit []*run
	if id != "" {
		if r := t.runs[id]; r != nil {
			hit = append(hit, r)
		}
	} else {
		hit = t.match(match)
	}
	t.mu.Unlock()
	for _, r := range hit {
		r.cancel(cause)
	}
	return len(hit)
}

func (t *Table) match(want func(Spec) bool) []*run {
	var hit []*run
	for _, r := range t.runs {
		if want(r.spec) {
			hit = append(hit, r)
		}
	}
	slices.SortFunc(hit, func(a, b *run) int { return cmp.Compare(a.number, b.number) })
	return hit
}

// Remember takes what the store says of the last stop, before anything runs.
func (t *Table) Remember(stopped bool, epoch uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = stopped
	t.epoch.Store(max(t.epoch.Load(), epoch))
}

// Stopping is a stop whose jobs were cancelled and may not have returned yet.
type Stopping struct{ jobs []*run }

// Stop marks the table as stopped at epoch and cancels every job, whoever started it. Links stay. It does not wait. An epoch
// older than the table's does not lower it.
func (t *Table) Stop(epoch uint64) *Stopping {
	t.mu.Lock()
	t.stopped = true
	t.epoch.Store(max(t.epoch.Load(), epoch))
	jobs := t.match(func(s Spec) bool { return s.Kind == Job })
	t.mu.Unlock()
	for _, r := range jobs {
		r.cancel(ErrStopped)
	}
	return &Stopping{jobs}
}

// Units are the pieces of work that were going, each once, in order of start.
func (s *Stopping) Units() []string {
	var units []string
	seen := map[string]bool{}
	for _, r := range s.jobs {
		u := cmp.Or(r.spec.Unit, r.spec.ID)
		if !seen[u] {
			seen[u] = true
			units = append(units, u)
		}
	}
	return units
}

// Wait waits until the jobs returned or ctx ends, and names those that had not. A run must not wait for itself.
func (s *Stopping) Wait(ctx context.Context) []Spec { return wait(ctx, s.jobs) }

// StopAll is Stop and Wait in one.
func (t *Table) StopAll(ctx context.Context, epoch uint64) Report {
	s := t.Stop(epoch)
	return Report{Cancelled: len(s.jobs), Late: s.Wait(ctx)}
}

// Close refuses new runs, cancels all, waits until they returned or ctx ends, and names the late ones in an
// *UnendedError. It may be called again.
func (t *Table) Close(ctx context.Context) error {
	t.mu.Lock()
	t.closed = true
	all := t.match(func(Spec) bool { return true })
	t.mu.Unlock()
	for _, r := range all {
		r.cancel(ErrClosed)
	}
	if late := wait(ctx, all); len(late) > 0 {
		return &UnendedError{Runs: late}
	}
	return nil
}

func wait(ctx context.Context, runs []*run) []Spec {
	var late []Spec
	for _, r := range runs {
		select {
		case <-r.done:
			continue
		default:
		}
		select {
		case <-r.done:
		case <-ctx.Done():
			late = append(late, r.spec)
		}
	}
	return late
}

// Closed reports whether Close was called: the engine ends, and what the cancelled runs still report is no news of theirs.
func (t *Table) Closed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closed
}

// Resume lets the engine start jobs again.
func (t *Table) Resume() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = false
}

// Stopped reports whether everything is stopped.
func (t *Table) Stopped() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stopped
}

// Epoch is the epoch of the last stop, for the commands that are admitted from now on.
func (t *Table) Epoch() uint64 { return t.epoch.Load() }

// Running lists what runs, in order of start.
func (t *Table) Running() []Spec {
	t.mu.Lock()
	defer t.mu.Unlock()
	specs := make([]Spec, 0, len(t.runs))
	for _, r := range t.match(func(Spec) bool { return true }) {
		specs = append(specs, r.spec)
	}
	return specs
}
