package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// Part is one thing with a lifetime. All of its functions may be nil.
type Part struct {
	Name string
	// Start makes it ready; the next part starts when it returns. It must heed ctx, which ends after StartWithin.
	Start func(ctx context.Context) error
	// Serve runs until ctx ends and returns only when everything it started has ended. Returning earlier ends the engine.
	Serve func(ctx context.Context) error
	// Stop runs when Serve has ended, or did not end in time. ctx ends after what is left of StopWithin.
	Stop func(ctx context.Context) error
	// StartWithin and StopWithin bound both; 0 means 30 s and 10 s.
	StartWithin, StopWithin time.Duration
}

// Lifecycle starts parts in order and stops them in reverse.
type Lifecycle struct {
	Parts  []Part
	Logger *slog.Logger // nil is silent
	// Ready is called once, when every part has started.
	Ready func()
}

// UnstoppedError names the parts that did not stop in time. They may still run.
type UnstoppedError struct{ Parts []string }

func (e *UnstoppedError) Error() string {
	return "did not stop in time: " + strings.Join(e.Parts, ", ")
}

type running struct {
	part   Part
	cancel context.CancelFunc
	done   chan struct{} // closed when Serve has returned
}

type ended struct {
	name string
	err  error
}

// Run starts every part, waits until ctx ends or a part ends by itself, and stops what it started, last first. The error says what
// failed to start, what ended by itself, what failed to stop, and, as an *UnstoppedError, what did not stop in time; nil means that ctx
// ended and all went well.
func (l *Lifecycle) Run(ctx context.Context) error {
	ends := make(chan ended, len(l.Parts))
	var up []running
	var cause error
	for _, p := range l.Parts {
		if cause = l.start(ctx, p); cause != nil {
			break
		}
		up = append(up, l.serve(ctx, p, ends))
	}
	if cause == nil {
		if l.Ready != nil && ctx.Err() == nil {
			l.Ready()
		}
		select {
		case <-ctx.Done():
		case e := <-ends:
			cause = fmt.Errorf("%s ended by itself", e.name)
			if e.err != nil {
				cause = fmt.Errorf("%s failed: %w", e.name, e.err)
			}
		}
	} else if ctx.Err() != nil && errors.Is(cause, context.Canceled) {
		cause = nil // asked to stop while starting
	}
	return errors.Join(cause, l.stop(up))
}

func (l *Lifecycle) start(ctx context.Context, p Part) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if p.Start == nil {
		return nil
	}
	within := orElse(p.StartWithin, 30*time.Second)
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	begun := time.Now()
	done := make(chan error, 1)
	go func() { done <- guarded(ctx, p.Start) }()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("%s did not start: %w", p.Name, err)
		}
	case <-ctx.Done():
		select { // it may heed ctx
		case err := <-done:
			if err == nil {
				break
			}
			return fmt.Errorf("%s did not start: %w", p.Name, err)
		case <-time.After(time.Second):
			return fmt.Errorf("%s did not start within %v: %w", p.Name, within, ctx.Err())
		}
	}
	l.log(slog.LevelDebug, "started", "part", p.Name, "took", time.Since(begun))
	return nil
}

// serve runs a part on a context of its own, so that the parts it needs outlive it when everything stops.
func (l *Lifecycle) serve(ctx context.Context, p Part, ends chan<- ended) running {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r := running{part: p, cancel: cancel, done: make(chan struct{})}
	if p.Serve == nil {
		close(r.done)
		return r
	}
	go func() {
		defer close(r.done)
		err := guarded(ctx, p.Serve)
		if ctx.Err() == nil {
			ends <- ended{p.Name, err} // room for one of each
		} else if err != nil && !errors.Is(err, context.Canceled) {
			l.log(slog.LevelWarn, "ended with an error", "part", p.Name, "reason", err.Error())
		}
	}()
	return r
}

func (l *Lifecycle) stop(up []running) error {
	var errs []error
	var late []string
	for _, r := range slices.Backward(up) {
		ctx, cancel := context.WithTimeout(context.Background(), orElse(r.part.StopWithin, 10*time.Second))
		r.cancel()
		inTime := true
		select {
		case <-r.done:
		case <-ctx.Done():
			inTime = false
		}
		if stopped, err := stopPart(ctx, r.part); err != nil {
			errs = append(errs, fmt.Errorf("%s did not stop cleanly: %w", r.part.Name, err))
		} else if !stopped {
			inTime = false
		}
		cancel()
		if !inTime {
			late = append(late, r.part.Name)
			l.log(slog.LevelError, "did not stop in time", "part", r.part.Name)
		}
	}
	if len(late) > 0 {
		errs = append(errs, &UnstoppedError{Parts: late})
	}
	return errors.Join(errs...)
}

// stopPart gives Stop at least a second even when Serve used up the time, since it may free what others need.
func stopPart(ctx context.Context, p Part) (inTime bool, err error) {
	if p.Stop == nil {
		return true, nil
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < time.Second {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
	}
	done := make(chan error, 1)
	go func() { done <- guarded(ctx, p.Stop) }()
	select {
	case err = <-done:
	case <-ctx.Done():
		select { // it may heed ctx
		case err = <-done:
		case <-time.After(100 * time.Millisecond):
			return false, nil
		}
	}
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return false, nil
	}
	return true, err
}

// guarded turns a panic into an error with its stack.
func guarded(ctx context.Context, fn func(context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return fn(ctx)
}

func (l *Lifecycle) log(level slog.Level, msg string, args ...any) {
	if l.Logger != nil {
		l.Logger.Log(context.Background(), level, msg, args...)
	}
}

func orElse(d, fallback time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return fallback
}
