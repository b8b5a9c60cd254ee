package pretend

import (
	"context"
	"time"

	"sentient/actors/msg"
	"sentient/runtime/proc"
	"sentient/runtime/work"
)

// faultHold is how long fault_write takes after its effect is in the world: the moment in which a kill hurts most.
const faultHold = 300 * time.Millisecond

// Faults is an app whose tools fail in the ways that real ones do: slow after their effect, a panic, a child process that does
// not listen. It is for fault runs. mark is an argument of the child, by which it is found from outside.
func (w *World) Faults(mark string, children *work.Table) msg.Plugin {
	return app("faults", "Faults", "Things that go wrong", "utilities",
		msg.Tool{Name: "fault_write", Description: "Write an entry, then take a while", Risk: msg.RiskWrite, Parameters: object("id"), Run: w.slowly},
		msg.Tool{Name: "fault_panic", Description: "Write an entry, then panic", Risk: msg.RiskWrite, Parameters: object("id"),
			Run: func(_ context.Context, c *msg.Call) (any, error) {
				if err := w.once("entry", c.Args); err != nil {
					return nil, err
				}
				panic("a fault")
			}},
		msg.Tool{Name: "fault_child", Description: "Run a program that ignores every polite signal", Parameters: object("id"),
			Run: func(ctx context.Context, c *msg.Call) (any, error) {
				res, err := proc.Run(ctx, children, proc.Spec{Run: childOf(ctx, c), Path: "/bin/sh",
					Args: []string{"-c", `trap "" TERM INT HUP; while :; do sleep 0.2; done`, mark}, Grace: 500 * time.Millisecond, Timeout: time.Minute})
				return map[string]any{"exit": res.ExitCode}, err
			}})
}

// slowly has its effect at once and its outcome later.
func (w *World) slowly(ctx context.Context, c *msg.Call) (any, error) {
	if err := w.once("entry", c.Args); err != nil {
		return nil, err
	}
	t := time.NewTimer(faultHold)
	defer t.Stop()
	select {
	case <-t.C:
		return map[string]bool{"ok": true}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (w *World) once(kind string, args map[string]any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.did(kind, args)
}

// childOf names a child's run after the call it belongs to.
func childOf(ctx context.Context, c *msg.Call) work.Spec {
	s, _ := work.SpecOf(ctx)
	if s.Unit == "" {
		s.Unit = s.ID
	}
	s.ID, s.OnPanic = c.ID+"-child", nil
	return s
}
