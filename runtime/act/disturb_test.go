package act_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"sentient/runtime/act"
)

// A disturbance before or after a message is a crash like any other: whoever asked is told unless it had its answer, and the
// next message is handled after the backoff.
func TestDisturbed(t *testing.T) {
	for at, want := range map[int]error{1: act.ErrCrashed, 2: nil} {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			sys := act.New(act.Options{Logger: slog.New(slog.DiscardHandler), Disturb: func(owner string) {
				if owner != "o" {
					t.Errorf("the owner is called %q", owner)
				}
				if calls++; calls == at {
					panic("a fault was ordered")
				}
			}})
			p := &probe{OnReceive: answer}
			o := sys.Owner(act.OwnerOptions{Name: "o", Make: p.Make})
			ask := func() error {
				_, err := act.Ask(t.Context(), o.Ref("k"), func(r *act.Reply[string]) any { return bare{reply: r} })
				return err
			}
			if err := ask(); !errors.Is(err, want) {
				t.Errorf("disturbed at %d: %v", at, err)
			}
			time.Sleep(2 * time.Second)
			if err := ask(); err != nil || sys.Stats().Crashes != 1 {
				t.Errorf("after it: %v, %+v", err, sys.Stats())
			}
			if err := sys.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}
