package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"sentient/bench/process"
)

// The faults here are inside the engine: it looks for a file of the fault's name beside its home (pretend.Switches).

func (b *bed) switchOn(name, how string) error {
	at := filepath.Join(b.dir, name)
	if err := os.WriteFile(at+".new", []byte(how), 0o600); err != nil { // renamed, so that it is never seen half written
		return err
	}
	return os.Rename(at+".new", at)
}

// switchOff says whether the switch was still on.
func (b *bed) switchOff(name string) bool { return os.Remove(filepath.Join(b.dir, name)) == nil }

// owners are kinds of actors, each with a request that it gets a message from, where chats alone send it none; "" is
// whichever gets the next message.
var owners = []struct {
	name, method, path string
	body               any
}{
	{name: ""}, {name: ""}, {name: "session"}, {name: "session"}, {name: "session"},
	{"usage", "POST", "/api/usage/budget/keep-going", nil},
	{"stop", "POST", "/api/resume", nil},
	{"config", "PATCH", "/api/config", map[string]any{"chat": map[string]any{"auto_title": false}}},
	{"notify", "POST", "/api/notifications", map[string]any{"message": "A fault comes now."}},
	{"presets", "POST", "/api/models/presets", map[string]any{"name": "faulty"}},
}

// panicked orders a few panics one after the other. One that no message came for in a second is taken back.
func panicked(ctx context.Context, b *bed, p plan) (n int, err error) {
	r := rand.New(rand.NewPCG(p.dice, 3))
	for range 1 + r.IntN(3) {
		b.aim(ctx, plan{aim: []string{"ack", "effect", "any"}[r.IntN(3)], after: time.Duration(r.IntN(300)) * time.Millisecond, dice: r.Uint64()})
		o := owners[r.IntN(len(owners))]
		if err := b.switchOn("panic", o.name); err != nil {
			return n, err
		}
		if e := b.running(); e != nil && o.path != "" {
			_, _ = e.call(ctx, o.method, o.path, o.body, nil) // its sender is told of the crash, or it came before
		}
		for began := time.Now(); b.on("panic") && time.Since(began) < time.Second && ctx.Err() == nil; {
			_ = process.Pause(ctx, 5*time.Millisecond) // the loop looks itself
		}
		if !b.switchOff("panic") {
			n++
		}
	}
	return n, ctx.Err()
}

func (b *bed) on(name string) bool {
	_, err := os.Stat(filepath.Join(b.dir, name))
	return err == nil
}

func slowDisk(ctx context.Context, b *bed, p plan) (int, error) {
	if err := b.switchOn("slow", "50ms"); err != nil {
		return 0, err
	}
	defer b.switchOff("slow")
	b.aim(ctx, p)
	if p.dice%2 == 0 {
		b.kill()
		return 1, b.ensure(ctx) // on the slow disk, too
	}
	return 1, process.Pause(ctx, hardship)
}

// brokenDisk: an engine that cannot write ends with a sentence, and has all that it acknowledged when the disk is well again.
func brokenDisk(ctx context.Context, b *bed, p plan) (int, error) {
	b.aim(ctx, p)
	if err := b.switchOn("broken", ""); err != nil {
		return 0, err
	}
	err := process.Pause(ctx, hardship)
	b.switchOff("broken")
	return 1, err
}

// killedAtAWrite lets the engine die at a write that is chosen by count, not by time.
func killedAtAWrite(ctx context.Context, b *bed, p plan) (int, error) {
	if err := process.Pause(ctx, p.after/2); err != nil {
		return 0, err
	}
	e := b.running()
	if e == nil {
		return 0, nil
	}
	kin := family(e.PID())
	b.end()
	if err := b.switchOn("die", fmt.Sprint(1+p.dice%12)); err != nil {
		return 0, err
	}
	within, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	select {
	case <-e.Exited:
	case <-within.Done(): // too few writes: it is killed between two
		b.switchOff("die")
		b.kill()
	}
	b.orphans(kin)
	return 1, ctx.Err()
}

// stoppedAll stops everything, looks that it stays so, also over a kill, and resumes.
func stoppedAll(ctx context.Context, b *bed, p plan) (int, error) {
	b.aim(ctx, p)
	e := b.running()
	if e == nil {
		return 0, ctx.Err()
	}
	had := marked(b.dir) // one that a person starts after the stop may run
	var s struct {
		Stopped  bool     `json:"stopped"`
		NotEnded []string `json:"not_ended"`
	}
	if _, err := e.call(ctx, "POST", "/api/stop-all", map[string]string{"source": "desktop"}, &s); err != nil || !s.Stopped || len(s.NotEnded) > 0 {
		b.book.breach(fmt.Sprintf("Stop everything: stopped %v, not ended %q, %v", s.Stopped, s.NotEnded, err))
		return 1, ctx.Err()
	}
	left := marked(b.dir)
	if left = slices.DeleteFunc(left, func(id string) bool { return !slices.Contains(had, id) }); len(left) > 0 {
		b.book.breach(fmt.Sprintf("processes outlived Stop everything: %q", left))
	}
	if p.dice%3 == 0 {
		b.kill()
		if err := b.ensure(ctx); err != nil {
			return 2, nil // it is in the book
		}
		e = b.running()
	}
	if err := process.Pause(ctx, time.Duration(p.dice%400)*time.Millisecond); err != nil {
		return 1, err
	}
	if _, err := e.call(ctx, "GET", "/api/stop", nil, &s); err != nil || !s.Stopped {
		b.book.breach(fmt.Sprintf("what was stopped went on by itself: %v", err))
	}
	if _, err := e.call(ctx, "POST", "/api/resume", map[string]string{"source": "desktop"}, &s); err != nil || s.Stopped {
		b.book.breach(fmt.Sprintf("Resume: stopped %v, %v", s.Stopped, err))
	}
	return 1, process.Pause(ctx, 200*time.Millisecond)
}
