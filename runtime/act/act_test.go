package act_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sentient/runtime/act"
	"sentient/runtime/acttest"
)

type (
	probe = acttest.Probe
	env   = acttest.Env
	crash = acttest.Crash
)

// load is a message in the usual shape: its embedded reply makes it a Failer.
type load struct {
	id string
	*act.Reply[string]
}

// bare carries its reply in a field and is no Failer.
type bare struct {
	crash bool
	reply *act.Reply[string]
}

func answer(c *act.Ctx, message any) {
	switch m := message.(type) {
	case load:
		if strings.HasPrefix(m.id, "crash") {
			panic(m.id)
		}
		m.OK("loaded " + m.id)
	case bare:
		if m.crash {
			panic("bare")
		}
		m.reply.OK("bare")
	case func(c *act.Ctx):
		m(c)
	}
}

// sleep passes fake time and lets everything due in it finish.
func sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func ask(t *testing.T, to act.Ref, id string) (string, error) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	return act.Ask(ctx, to, func(r *act.Reply[string]) any { return load{id, r} })
}

func TestAsk(t *testing.T) {
	acttest.Run(t, func(t *testing.T, env *env) {
		p := &probe{OnReceive: answer}
		ref := env.System.Owner(act.OwnerOptions{Name: "o", Make: p.Make}).Ref("k")
		if v, err := ask(t, ref, "x"); v != "loaded x" || err != nil {
			t.Errorf("%q %v", v, err)
		}
		if _, err := ask(t, ref, "crash"); err != act.ErrCrashed {
			t.Errorf("crashed on it: %v", err)
		}
		for _, m := range []bare{{crash: true}, {}} {
			_, err := act.Ask(t.Context(), ref, func(r *act.Reply[string]) any { m.reply = r; return m })
			if want := map[bool]error{true: act.ErrCrashed}[m.crash]; err != want {
				t.Errorf("not a Failer, %+v: %v", m, err)
			}
		}
		if _, err := ask(t, act.Ref{}, "x"); err != act.ErrNoTarget {
			t.Errorf("zero ref: %v", err)
		}
		if _, err := act.Ask(t.Context(), ref, func(*act.Reply[int]) any { return nil }); err != act.ErrNoTarget {
			t.Errorf("nil message: %v", err)
		}
		boom := errors.New("boom")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(boom) })
		if _, err := act.Ask(ctx, ref, func(*act.Reply[int]) any { return "ignored" }); err != boom {
			t.Errorf("nobody answers: %v", err)
		}
		act.Ref{}.Tell("x")
		ref.Tell(nil)
	})
}

func TestReplyFirstWins(t *testing.T) {
	r := act.NewReply[int]()
	r.OK(1)
	r.OK(2)
	r.Fail(errors.New("late"))
	if v, err := r.Wait(t.Context()); v != 1 || err != nil {
		t.Errorf("%d %v", v, err)
	}
	r.OK(3)
	var none *act.Reply[int]
	none.OK(1)
	none.Fail(nil)
	new(act.Reply[int]).OK(1)
	if _, err := none.Wait(t.Context()); err != act.ErrNoTarget {
		t.Errorf("nil reply: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	r = act.NewReply[int]()
	r.OK(4)
	if v, err := r.Wait(ended); v != 4 || err != nil {
		t.Errorf("an answer that is there: %d %v", v, err)
	}
}

// What waits behind a crash survives it, in order, and the restart comes after its backoff.
func TestCrashLosesOnlyItsMessage(t *testing.T) {
	acttest.Run(t, func(t *testing.T, env *env) {
		p := &probe{}
		o := env.System.Owner(act.OwnerOptions{Name: "o", Make: p.Make})
		begin := time.Now()
		for _, m := range []any{1, crash("a"), 2, crash("b"), 3} {
			o.Tell("k", m)
		}
		o.Tell("other", 1)
		synctest.Wait()
		if len(p.Got("other")) != 1 || len(p.Got("k")) != 2 {
			t.Errorf("right after the crash: %v, other %v", p.Got("k"), p.Got("other"))
		}
		if p.Stops("k") != 1 {
			t.Error("the crashed incarnation is not stopped before the backoff")
		}
		for len(p.Got("k")) < 5 {
			time.Sleep(time.Millisecond)
		}
		if d := time.Since(begin).Truncate(time.Second); d != 3*time.Second {
			t.Errorf("two backoffs took %v, want 1 s and 2 s", d)
		}
		if got := fmt.Sprint(p.Got("k")); got != "[1 a 2 b 3]" {
			t.Error(got)
		}
		if s := env.System.Stats(); s.Crashes != 2 || s.Spawned != 2 || s.Live != 2 || s.Messages != 6 {
			t.Errorf("%+v", s)
		}
	})
}

// A start that fails is a crash too: 1, 2, 4, 8, 8, ... seconds, then parked, and each waiting and later message is told.
func TestBackoffAndParking(t *testing.T) {
	acttest.Run(t, func(t *testing.T, env *env) {
		var at []string
		begin, bad := time.Now(), true
		p := &probe{OnReceive: answer, OnStart: func(*act.Ctx) error {
			at = append(at, time.Since(begin).String())
			if bad {
				return errors.New("stream is corrupt")
			}
			return nil
		}}
		var told []string
		o := env.System.Owner(act.OwnerOptions{Name: "o", Make: p.Make, MaxRestarts: 5,
			OnPark: func(key, reason string) { told = append(told, key, reason); panic("a callback's defect") }})
		var outcomes []error
		var early = make(chan error, 2)
		for range 2 {
			go func() { _, err := ask(t, o.Ref("k"), "x"); early <- err }()
		}
		outcomes = append(outcomes, <-early, <-early)
		_, err := ask(t, o.Ref("k"), "late")
		for _, err := range append(outcomes, err) {
			var parked *act.ParkedError
			if !errors.As(err, &parked) || parked.Key != "k" || !strings.Contains(err.Error(), "stream is corrupt") {
				t.Errorf("error %v", err)
			}
		}
		if got := fmt.Sprint(at); got != "[0s 1s 3s 7s 15s 23s]" {
			t.Errorf("started at %s", got)
		}
		synctest.Wait()
		list := o.Parked()
		if len(list) != 1 || list[0].Key != "k" || len(told) != 2 || !slices.Equal(list, env.System.Parked()) || o.Len() != 0 {
			t.Errorf("parked %v, told %v, live %d", list, told, o.Len())
		}
		bad = false
		o.Unpark("k")
		if v, err := ask(t, o.Ref("k"), "x"); v != "loaded x" || err != nil {
			t.Errorf("unparked: %q %v", v, err)
		}
		if s := env.System.Stats(); s.Parked != 0 || len(o.Parked()) != 0 || s.Live != 1 {
			t.Errorf("%+v", s)
		}
	})
}

func TestCrashesAreForgottenAfterAQuietTime(t *testing.T) {
	acttest.Run(t, func(t *testing.T, env *env) {
		p := &probe{OnReceive: answer}
		o := env.System.Owner(act.OwnerOptions{Name: "o", Make: p.Make, MaxRestarts: 1, IdleAfter: 30 * time.Second})
		for range 5 {
			o.Tell("k", crash("x"))
			sleep(62 * time.Second)
		}
		if len(o.Parked()) != 0 {
			t.Fatalf("parked after quiet times: %v", o.Parked())
		}
		// Falling asleep does not forget: the second crash comes after IdleAfter but within the quiet time.
		o.Tell("k", crash("x"))
		sleep(40 * time.Second)
		o.Tell("k", crash("x"))
		synctest.Wait()
		if len(o.Parked()) != 1 {
			t.Error("passivation forgot a crash")
		}
	})
}

func TestUnparkWhileItStillRefuses(t *testing.T) {
	acttest.Run(t, func(t *testing.T, env *env) {
		p := &probe{OnReceive: answer}
		var o *act.Owner
		o = env.System.Owner(act.OwnerOptions{Name: "o", Make: p.Make, MaxRestarts: 1, OnPark: func(key, _ string) {
			o.Unpark(key) // before the actor has terminated
			o.Tell(key, "after")
		}})
		o.Tell("k", crash("x"))
		o.Tell("k", crash("x"))
		acttest.Settle()
		if got := fmt.Sprint(p.Got("k")); got != "[x x after]" || len(o.Parked()) != 0 || env.System.Stats().Parked != 0 {
			t.Errorf("%s, parked %v", got, o.Parked())
		}
	})
}

func TestPanicInStopIsContained(t *testing.T) {
	acttest.Run(t, func(t *testing.T, env *env) {
		p := &probe{OnReceive: answer, OnStop: func(*act.Ctx) { panic("in stop") }}
		o := env.System.Owner(act.OwnerOptions{Name: "o", Make: p.Make, IdleAfter: time.Minute})
		o.Tell("k", crash("x"))
		o.Tell("k", 1)
		sleep(10 * time.Minute)
		o.Tell("k", 2)
		synctest.Wait()
		if got := fmt.Sprint(p.Got("k")); got != "[x 1 2]" {
			t.Error(got)
		}
	})
}

// The log has the stack; neither it nor an error has the message.
func TestLogsAndPrivacy(t *testing.T) {
	acttest.Run(t, func(t *testing.T, env *env) {
		p := &probe{OnReceive: func(_ *act.Ctx, m any) { panic([]any{m}) }}
		o := env.System.Owner(act.OwnerOptions{Name: "o", Make: p.Make})
		o.Tell("k", "a private sentence")
		synctest.Wait()
		if logs := env.Logs(); !strings.Contains(logs, "act_test.go") || strings.Contains(logs, "private") {
			t.Error(logs)
		}
	})
}

// A nil is dropped and a message with a GetMessages method is one message: the library would spin and explode it.
type batch struct{}

func (batch) GetMessages() []any { return []any{1, 2} }

func TestOddMessages(t *testing.T) {
	acttest.Run(t, func(t *testing.T, env *env) {
		p := &probe{}
		o := env.System.Owner(act.OwnerOptions{Name: "o", Make: p.Make})
		o.Tell("", batch{})
		o.Tell("", nil)
		o.Tell("", 1)
		synctest.Wait()
		if got := p.Got(""); len(got) != 2 {
			t.Errorf("got %v", got)
		}
	})
}

func TestSingle(t *testing.T) {
	acttest.Run(t, func(t *testing.T, env *env) {
		p := &probe{OnReceive: answer}
		ref := env.System.Single("clock", p.Single, act.OwnerOptions{MaxRestarts: 2})
		synctest.Wait()
		if p.Starts("") != 1 || ref.Key() != "clock" || ref.IsZero() {
			t.Error("a single actor starts at once")
		}
		sleep(24 * time.Hour)
		if v, err := ask(t, ref, "x"); v != "loaded x" || err != nil || p.Starts("") != 1 {
			t.Errorf("%q %v, starts %d", v, err, p.Starts(""))
		}
	})
}

func TestOptionsAreChecked(t *testing.T) {
	mk := func(string) act.Behavior { return nil }
	good := act.OwnerOptions{Name: "o", Make: mk, QuietAfter: time.Minute}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for _, change := range []func(*act.OwnerOptions){
		func(o *act.OwnerOptions) { o.Name = "" },
		func(o *act.OwnerOptions) { o.Make = nil },
		func(o *act.OwnerOptions) { o.IdleAfter = -1 },
		func(o *act.OwnerOptions) { o.MaxRestarts = -1 },
		func(o *act.OwnerOptions) { o.QuietAfter = time.Second },
	} {
		o := good
		change(&o)
		if o.Validate() == nil {
			t.Errorf("%+v is taken", o)
		}
	}
	acttest.Run(t, func(t *testing.T, env *env) {
		o := env.System.Owner(act.OwnerOptions{Name: "nothing", Make: mk, MaxRestarts: 1})
		if _, err := ask(t, o.Ref("k"), "x"); err == nil {
			t.Error("an actor without a behavior answered")
		}
		defer func() {
			if recover() == nil {
				t.Error("a second owner of the same name is taken")
			}
		}()
		env.System.Owner(act.OwnerOptions{Name: "nothing", Make: mk})
	})
}
