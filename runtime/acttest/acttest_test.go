package acttest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"sentient/runtime/act"
	"sentient/runtime/work"
)

func TestProbeRecords(t *testing.T) {
	p := &Probe{}
	Run(t, func(t *testing.T, env *Env) {
		o := env.System.Owner(act.OwnerOptions{Name: "probe", Make: p.Make})
		o.Tell("a", 1)
		o.Tell("a", Crash("test"))
		o.Tell("a", 2)
		Settle()
		if got := fmt.Sprint(p.Got("a")); got != "[1 test 2]" || p.Starts("a") != 2 || p.Stops("a") != 1 {
			t.Errorf("got %s, starts %d, stops %d", got, p.Starts("a"), p.Stops("a"))
		}
		if !strings.Contains(env.Logs(), "asked to crash: test") {
			t.Error("the crash is not in the log")
		}
	})
	if p.Stops("a") != 2 {
		t.Errorf("stops %d after the bubble", p.Stops("a"))
	}
}

// A run that its actor started ends with the actor, before the table is closed.
func TestTheActorsRunsEndWithIt(t *testing.T) {
	var cause error
	Run(t, func(t *testing.T, env *Env) {
		p := &Probe{OnStart: func(c *act.Ctx) error {
			return env.Table.Go(c.Context(), work.Spec{ID: "r", Kind: work.Link}, func(ctx context.Context) {
				<-ctx.Done()
				cause = context.Cause(ctx)
			})
		}}
		env.System.Single("one", p.Single)
		synctest.Wait()
		if len(env.Table.Running()) != 1 {
			t.Error("the run did not start")
		}
	})
	if cause == nil || cause == work.ErrClosed {
		t.Errorf("the run ended with %v", cause)
	}
}
