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

// Owners stop in reverse order: while one stops, those made before it still answer.
func TestCloseOrder(t *testing.T) {
	var order []string
	p := &probe{OnReceive: answer}
	acttest.Run(t, func(t *testing.T, env *env) {
		behavior := func(name string) func(string) act.Behavior {
			q := &probe{OnStop: func(c *act.Ctx) { order = append(order, name+c.Key()) }}
			return q.Make
		}
		base := env.System.Owner(act.OwnerOptions{Name: "base", Make: p.Make})
		env.System.Owner(act.OwnerOptions{Name: "first", Make: behavior("first")}).Wake("1")
		last := &probe{OnStop: func(*act.Ctx) { base.Tell("k", "from the last one") }}
		env.System.Owner(act.OwnerOptions{Name: "second", Make: behavior("second")}).Wake("2")
		env.System.Owner(act.OwnerOptions{Name: "last", Make: last.Make}).Wake("3")
	})
	if fmt.Sprint(order) != "[second2 first1]" || fmt.Sprint(p.Got("k")) != "[from the last one]" {
		t.Errorf("order %v, base got %v", order, p.Got("k"))
	}
}

// What an actor holds when the system closes is handled; what waits behind a crash, or comes later, gets ErrStopping.
func TestCloseTellsEverybody(t *testing.T) {
	acttest.Run(t, func(t *testing.T, env *env) {
		p := &probe{OnReceive: answer}
		o := env.System.Owner(act.OwnerOptions{Name: "o", Make: p.Make})
		results := make(chan string, 9)
		tell := func(key, id string) {
			go func() { _, err := ask(t, o.Ref(key), id); results <- fmt.Sprint(id, ": ", err) }()
			synctest.Wait()
		}
		block := make(chan struct{})
		o.Tell("slow", func(*act.Ctx) { <-block })
		tell("slow", "held")
		o.Tell("crashed", crash("x"))
		tell("crashed", "behind a crash")
		closed := make(chan error)
		go func() { closed <- env.System.Close(t.Context()) }()
		synctest.Wait()
		tell("slow", "too late")
		close(block)
		if err := <-closed; err != nil {
			t.Error(err)
		}
		want := map[string]bool{"held: <nil>": true, "behind a crash: " + act.ErrStopping.Error(): true, "too late: " + act.ErrStopping.Error(): true}
		for range want {
			if r := <-results; !want[r] {
				t.Error(r)
			}
		}
		if _, err := ask(t, env.System.Owner(act.OwnerOptions{Name: "late", Make: p.Make}).Ref("k"), "x"); err != act.ErrStopping {
			t.Errorf("an owner made after Close: %v", err)
		}
		o.Wake("x")
		o.Unpark("x")
		if env.System.Stats().Live != 0 {
			t.Error("something lives")
		}
	})
}

// A crash on a message that was held when closing began: the rest is told, nothing restarts, Close ends.
func TestCrashWhileClosing(t *testing.T) {
	acttest.Run(t, func(t *testing.T, env *env) {
		p := &probe{OnReceive: answer}
		o := env.System.Owner(act.OwnerOptions{Name: "o", Make: p.Make})
		block := make(chan struct{})
		o.Tell("k", func(*act.Ctx) { <-block })
		outcome := make(chan error, 2)
		for _, id := range []string{"crash", "behind"} {
			go func() { _, err := ask(t, o.Ref("k"), id); outcome <- err }()
			synctest.Wait()
		}
		closed := make(chan error)
		go func() { closed <- env.System.Close(t.Context()) }()
		synctest.Wait()
		close(block)
		if a, b := <-outcome, <-outcome; a != act.ErrCrashed || b != act.ErrStopping {
			t.Errorf("%v, %v", a, b)
		}
		if err := <-closed; err != nil || p.Starts("k") != 1 {
			t.Errorf("%v, starts %d", err, p.Starts("k"))
		}
	})
}

func TestCloseNamesWhatDidNotStop(t *testing.T) {
	acttest.Run(t, func(t *testing.T, env *env) {
		p := &probe{OnReceive: answer}
		healthy := env.System.Owner(act.OwnerOptions{Name: "healthy", Make: p.Make})
		o := env.System.Owner(act.OwnerOptions{Name: "o", Make: p.Make})
		block := make(chan struct{})
		o.Tell("deaf", func(*act.Ctx) { <-block })
		o.Tell("listens", func(c *act.Ctx) { <-c.Context().Done() })
		healthy.Wake("k")
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		err := env.System.Close(ctx)
		var late *act.UnstoppedError
		if !errors.As(err, &late) || fmt.Sprint(late.Names) != "[o/deaf]" {
			t.Errorf("%v", err)
		}
		close(block)
	})
}
