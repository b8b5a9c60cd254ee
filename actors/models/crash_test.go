package models

import (
	"context"
	"encoding/json"
	"fmt"
	"sentient/actors/msg"
	"sentient/runtime/app"
	"testing"

	"pgregory.net/rapid"
)

// cutConfig loses the answer of an edit, as a crash would: before the change or after it.
type cutConfig struct {
	Config
	after bool
}

func (c *cutConfig) Edit(ctx context.Context, fn func(*app.Config) error) (*app.Config, error) {
	if c.after {
		if _, err := c.Config.Edit(ctx, fn); err != nil {
			return nil, err
		}
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// racedConfig lets somebody else be faster, times times.
type racedConfig struct {
	Config
	race  func()
	times int
}

func (c *racedConfig) Edit(ctx context.Context, fn func(*app.Config) error) (*app.Config, error) {
	if c.times > 0 {
		c.times--
		c.race()
	}
	return c.Config.Edit(ctx, fn)
}

// A crash between the two owners: the next start finds out whether the switch went through.
func TestCrashInTheMiddleOfASwitch(t *testing.T) {
	for _, after := range []bool{false, true} {
		r := newRoom(t, "")
		r.keys["anthropic"] = true
		r.apply("Cloud", false)
		cut := &cutConfig{after: after}
		r.wrap = func(c Config) Config { cut.Config = c; return cut }
		r.restart()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { _, err := r.Apply(ctx, "Mixed", false); done <- err }()
		for r.cfg.Get().Models.ActivePreset == nil || after && *r.cfg.Get().Models.ActivePreset != "Mixed" || len(r.work.Running()) == 0 {
			select {
			case err := <-done:
				t.Fatal(err)
			default:
			}
		}
		r.wrap = nil
		r.close()
		if err := <-done; err == nil {
			t.Error("a switch that nobody finished was acknowledged")
		}
		cancel()
		r.open()
		l := r.list()
		want := map[bool]string{false: "Cloud", true: "Mixed"}[after]
		if text(l.Active) != want || !l.CanUndo || text(l.UndoPreset) != map[bool]string{false: "-", true: "Cloud"}[after] || l.Modified {
			t.Errorf("after %v: %+v", after, l)
		}
		if _, err := r.Undo(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// A change from elsewhere between plan and edit is not lost; only when it never ends is the switch refused, and nothing changed.
func TestAChangeFromElsewhereIsKept(t *testing.T) {
	r := newRoom(t, "")
	raced := &racedConfig{}
	r.wrap = func(c Config) Config { raced.Config = c; return raced }
	r.restart()
	n := 0
	raced.race = func() { n++; r.patch(fmt.Sprintf(`{"models":{"roles":{"vision":"openai/v%d"}}}`, n)) }
	raced.times = 3
	if p, err := r.Save(t.Context(), "Mine", false); err != nil || text(p.Roles["vision"]) != "openai/v3" || n != 3 {
		t.Errorf("%+v %v", p, err)
	}
	raced.times = 1000
	if _, err := r.Save(t.Context(), "Other", false); kindOf(err) != msg.Conflict {
		t.Error(err)
	}
	raced.times = 0
	r.restart()
	if m := r.cfg.Get().Models; len(m.Presets) != 1 || text(m.ActivePreset) != "Mine" {
		t.Errorf("%+v", m.Presets)
	}
}

// Whatever is done in whatever order, one undo after a switch is exactly what was before it, and a restart changes nothing.
func TestSwitchesProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := newRoom(t, "models:\n  presets:\n    A: {roles: {fast: groq/a, planner: groq/p}, fallbacks: {fast: [groq/f]}}\n    B: {roles: {planner: null}, context_length: 4096}\n")
		defer r.close()
		r.keys["anthropic"] = true
		var before *app.Models // before the last switch; nil: nothing to undo
		for range rapid.IntRange(1, 8).Draw(rt, "steps") {
			switch rapid.SampledFrom([]string{"apply", "undo", "hand", "restart"}).Draw(rt, "step") {
			case "apply":
				m := r.cfg.Get().Clone().Models
				if _, err := r.Apply(t.Context(), rapid.SampledFrom([]string{"A", "B", "Cloud", "Mixed", "Local only"}).Draw(rt, "preset"), rapid.Bool().Draw(rt, "local only")); err == nil {
					before = &m
				}
			case "undo":
				_, err := r.Undo(t.Context())
				if (err == nil) != (before != nil) {
					rt.Fatalf("undo: %v", err)
				}
				if before != nil {
					got := r.cfg.Get().Clone().Models
					if digest(&got) != digest(before) {
						rt.Fatalf("not as before the switch:\n%+v\n%+v", got, *before)
					}
					before = nil
				}
			case "hand":
				r.patch(`{"models":{"roles":{"vision":"` + rapid.SampledFrom([]string{"openai/a", "openai/b"}).Draw(rt, "model") + `"}}}`)
			case "restart":
				was, _ := json.Marshal(r.list())
				r.restart()
				if is, _ := json.Marshal(r.list()); string(is) != string(was) {
					rt.Fatalf("a restart changed\n%s\nto\n%s", was, is)
				}
			}
		}
	})
}

// hangs is a model layer whose downloads never end by themselves.
type hangs struct {
	Models
	begun chan struct{}
}

func (h hangs) Pull(ctx context.Context, _ string, _ func(msg.PullProgress) error) error {
	close(h.begun)
	<-ctx.Done()
	return &msg.ModelError{Fault: msg.FaultCancelled, Message: "Stopped."}
}

// Stop everything ends a download, and says so.
func TestStopEverythingEndsADownload(t *testing.T) {
	r := newRoom(t, "")
	h := hangs{begun: make(chan struct{})}
	r.o.Models = h
	done := make(chan error, 1)
	go func() { done <- r.Pull(t.Context(), "m", func(msg.PullProgress) error { return nil }) }()
	<-h.begun
	if report := r.work.StopAll(t.Context(), 1); report.Cancelled != 1 || len(report.Late) != 0 {
		t.Errorf("%+v", report)
	}
	if err := <-done; kindOf(err) != msg.Conflict || err.Error() != "Stopped." {
		t.Error(err)
	}
}
