package act_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"sentient/runtime/act"
	"sentient/runtime/acttest"
)

// Parked while it was falling asleep: what waited in the owner is told too.
func TestParkedWhileDraining(t *testing.T) {
	acttest.Run(t, func(t *testing.T, env *env) {
		p := &probe{OnReceive: answer}
		o := env.System.Owner(act.OwnerOptions{Name: "o", Make: p.Make, MaxRestarts: 1})
		waiting := act.NewReply[string]()
		o.Tell("k", func(c *act.Ctx) {
			c.Self().Tell(crash("one"))
			c.Self().Tell(crash("two"))
			c.Passivate()
			c.Self().Tell(load{"x", waiting})
		})
		var parked *act.ParkedError
		if _, err := waiting.Wait(t.Context()); !errors.As(err, &parked) {
			t.Errorf("%v", err)
		}
	})
}

func TestPassivation(t *testing.T) {
	acttest.Run(t, func(t *testing.T, env *env) {
		p := &probe{OnReceive: answer}
		o := env.System.Owner(act.OwnerOptions{Name: "o", Make: p.Make, IdleAfter: 20 * time.Minute})
		o.Tell("a", 1)
		sleep(10 * time.Minute)
		o.Tell("b", 1)
		sleep(10*time.Minute + time.Second)
		if o.Len() != 1 || p.Stops("a") != 1 || p.Stops("b") != 0 {
			t.Errorf("live %d, stops a %d b %d", o.Len(), p.Stops("a"), p.Stops("b"))
		}
		sleep(10 * time.Minute)
		if o.Len() != 0 {
			t.Errorf("live %d", o.Len())
		}
		o.Tell("a", 2)
		synctest.Wait()
		if p.Starts("a") != 2 || fmt.Sprint(p.Got("a")) != "[1 2]" {
			t.Errorf("woken: starts %d, got %v", p.Starts("a"), p.Got("a"))
		}
		var live []string
		o.Each(func(key string, ref act.Ref) { live = append(live, key+ref.Key()) })
		if fmt.Sprint(live) != "[aa]" {
			t.Errorf("live %v", live)
		}
		o.Tell("a", func(c *act.Ctx) { c.Passivate() })
		o.Tell("a", 3)
		synctest.Wait()
		if got := p.Got("a"); got[len(got)-1] != 3 {
			t.Errorf("a message that met a passivation: %v", got)
		}
	})
}

func TestBusyIsNeverPassivated(t *testing.T) {
	acttest.Run(t, func(t *testing.T, env *env) {
		p := &probe{OnReceive: answer}
		o := env.System.Owner(act.OwnerOptions{Name: "o", Make: p.Make, IdleAfter: time.Minute})
		o.Tell("k", func(c *act.Ctx) { c.Busy(true) })
		o.Tell("idle", 1)
		sleep(time.Hour)
		if p.Stops("k") != 0 || p.Stops("idle") != 1 {
			t.Fatalf("stops: busy %d, idle %d", p.Stops("k"), p.Stops("idle"))
		}
		// The marker is already behind this message when it makes the actor busy: what came meanwhile is not lost.
		o.Tell("k", func(c *act.Ctx) {
			c.Busy(false)
			c.Passivate()
			c.Self().Tell("meanwhile")
			c.Busy(true)
		})
		synctest.Wait()
		if p.Stops("k") != 0 || p.Got("k")[2] != "meanwhile" {
			t.Fatalf("stops %d, got %v", p.Stops("k"), p.Got("k"))
		}
		o.Tell("k", func(c *act.Ctx) { c.Busy(false) })
		sleep(time.Minute + time.Second)
		if p.Stops("k") != 1 {
			t.Error("not passivated when no longer busy")
		}
	})
}

func TestTimers(t *testing.T) {
	acttest.Run(t, func(t *testing.T, env *env) {
		p := &probe{OnReceive: answer}
		o := env.System.Owner(act.OwnerOptions{Name: "o", Make: p.Make, IdleAfter: 5 * time.Minute})
		var stopped *act.Timer
		o.Tell("k", func(c *act.Ctx) {
			c.After(time.Second, "one")
			stopped = c.After(time.Second, "never")
			c.After(time.Hour, "of a dead incarnation")
		})
		synctest.Wait()
		if !stopped.Stop() || stopped.Stop() {
			t.Error("Stop does not tell whether the timer was pending")
		}
		sleep(2 * time.Second)
		if got := p.Got("k"); len(got) != 2 || got[1] != "one" {
			t.Errorf("got %v", got)
		}
		o.Tell("k", func(c *act.Ctx) { c.After(10*time.Second, "of a crashed incarnation"); panic("x") })
		sleep(2 * time.Hour)
		o.Tell("k", "awake")
		synctest.Wait()
		if got := p.Got("k"); len(got) != 4 || p.Starts("k") != 3 {
			t.Errorf("got %d messages, starts %d", len(got), p.Starts("k"))
		}
		// A timer that is already on its way when it is stopped is not received.
		o.Tell("k", func(c *act.Ctx) {
			timer := c.After(0, "on its way")
			time.Sleep(time.Millisecond)
			if !timer.Stop() {
				t.Error("the timer was delivered inside Receive")
			}
		})
		acttest.Settle()
		if got := p.Got("k"); got[len(got)-1] == "on its way" {
			t.Error("a stopped timer was received")
		}
	})
}

func TestContextEndsWithTheIncarnation(t *testing.T) {
	acttest.Run(t, func(t *testing.T, env *env) {
		p := &probe{OnReceive: answer}
		o := env.System.Owner(act.OwnerOptions{Name: "o", Make: p.Make, IdleAfter: time.Minute})
		var contexts []context.Context
		keep := func(c *act.Ctx) { contexts = append(contexts, c.Context()) }
		o.Tell("k", func(c *act.Ctx) { keep(c); panic("x") })
		synctest.Wait()
		if contexts[0].Err() == nil {
			t.Error("alive after the crash, before the restart")
		}
		o.Tell("k", keep)
		sleep(2 * time.Second)
		if contexts[1].Err() != nil {
			t.Error("the next incarnation's context has ended")
		}
		sleep(5 * time.Minute)
		if contexts[1].Err() == nil {
			t.Error("alive after passivation")
		}
	})
}
