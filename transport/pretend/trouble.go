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

// Trouble are tools that behave as badly as a tool can: they do not listen, leave children that ignore signals, or break.
func Trouble(table *work.Table) msg.Plugin {
	internal := func(t msg.Tool) msg.Tool { t.Internal = true; return t }
	return app("trouble", "Trouble", "Tools that misbehave, for trying what the engine does about them", "testing",
		internal(msg.Tool{Name: "trouble_deaf", Description: "Sleep and do not listen to anything", Parameters: object("seconds"), Risk: msg.RiskWrite, Run: deaf}),
		internal(msg.Tool{Name: "trouble_children", Description: "Start programs that ignore signals, and wait", Parameters: object("count"), Risk: msg.RiskWrite,
			Run: func(ctx context.Context, c *msg.Call) (any, error) { return children(ctx, table, c) }}),
		internal(msg.Tool{Name: "trouble_panic", Description: "Break down", Parameters: object(), Risk: msg.RiskWrite, Run: func(context.Context, *msg.Call) (any, error) {
			panic("the tool broke down")
		}}))
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

// children are shells that ignore being asked to end and have a child each that does, too.
func children(ctx context.Context, table *work.Table, c *msg.Call) (any, error) {
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
			_, errs[i] = proc.Run(ctx, table, proc.Spec{Run: s, Path: "/bin/sh", Args: []string{"-c", `trap "" TERM INT HUP; sleep 86399 & wait`}, Timeout: 24 * time.Hour})
		})
	}
	all.Wait()
	return map[string]any{"ended": n}, errors.Join(errs...)
}
