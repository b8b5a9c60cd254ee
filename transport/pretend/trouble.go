package pretend

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"sentient/actors/msg"
	"sentient/runtime/proc"
	"sentient/runtime/work"
)

// writeHolds is how long trouble_write takes after its effect is in the world: the moment in which a kill hurts most.
const writeHolds = 300 * time.Millisecond

// Trouble are tools that behave as badly as a tool can: they do not listen, leave children that ignore signals, are slow after
// their effect, or break. mark is an argument of each child, by which it is found from outside.
func (w *World) Trouble(table *work.Table, mark string) msg.Plugin {
	internal := func(t msg.Tool) msg.Tool { t.Internal, t.Risk = true, msg.RiskWrite; return t }
	return app("trouble", "Trouble", "Tools that misbehave, for trying what the engine does about them", "testing",
		internal(msg.Tool{Name: "trouble_deaf", Description: "Sleep and do not listen to anything", Parameters: object("seconds"), Run: deaf}),
		internal(msg.Tool{Name: "trouble_children", Description: "Start programs that ignore signals, and wait", Parameters: object("count", "id?"),
			Run: func(ctx context.Context, c *msg.Call) (any, error) { return children(ctx, table, mark, c) }}),
		msg.Tool{Name: "trouble_write", Description: "Write an entry, then take a while", Risk: msg.RiskWrite, Parameters: object("id"), Run: w.slowly},
		internal(msg.Tool{Name: "trouble_panic", Description: "Write an entry if it has an id, then break down", Parameters: object("id?"), Run: w.breaks}))
}

func number(args map[string]any, key string) (n int, err error) {
	if _, err = fmt.Sscan(text(args, key), &n); err != nil || n < 1 || n > 1000 {
		return 0, errors.New(key + " must be a number from 1 to 1000")
	}
	return n, nil
}

func deaf(_ context.Context, c *msg.Call) (any, error) {
	n, err := number(c.Args, "seconds")
	if err != nil {
		return nil, err
	}
	time.Sleep(time.Duration(n) * time.Second)
	return map[string]any{"slept": n}, nil
}

// slowly has its effect at once and its outcome later.
func (w *World) slowly(ctx context.Context, c *msg.Call) (any, error) {
	if err := w.entry(c.Args); err != nil {
		return nil, err
	}
	t := time.NewTimer(writeHolds)
	defer t.Stop()
	select {
	case <-t.C:
		return map[string]bool{"ok": true}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (w *World) breaks(_ context.Context, c *msg.Call) (any, error) {
	if text(c.Args, "id") != "" {
		if err := w.entry(c.Args); err != nil {
			return nil, err
		}
	}
	panic("the tool broke down")
}

func (w *World) entry(args map[string]any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.did("entry", args)
}

// children are shells that ignore being asked to end and have a child each that does, too.
func children(ctx context.Context, table *work.Table, mark string, c *msg.Call) (any, error) {
	n, err := number(c.Args, "count")
	if err != nil {
		return nil, err
	}
	caller, _ := work.SpecOf(ctx)
	var all sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		all.Go(func() {
			s := caller
			s.ID = fmt.Sprintf("%s-child-%d", c.ID, i)
			s.Unit, s.OnPanic = caller.Unit, nil
			if s.Unit == "" {
				s.Unit = caller.ID
			}
			_, errs[i] = proc.Run(ctx, table, proc.Spec{Run: s, Path: "/bin/sh", Args: []string{"-c", `trap "" TERM INT HUP; sleep 86399 & wait`, mark},
				Grace: 500 * time.Millisecond, Timeout: 24 * time.Hour})
		})
	}
	all.Wait()
	return map[string]any{"ended": n}, errors.Join(errs...)
}
