package work

import (
	"context"
	"log/slog"
	"testing"
)

func TestARunKnowsItsName(t *testing.T) {
	table := New(Options{Logger: slog.New(slog.DiscardHandler)})
	if _, ok := SpecOf(t.Context()); ok {
		t.Error("outside of a run there is a name")
	}
	got := make(chan Spec, 1)
	if err := table.Go(t.Context(), Spec{ID: "1", Owner: "session/x", Origin: User}, func(ctx context.Context) {
		inner, cancel := context.WithCancel(ctx)
		defer cancel()
		s, _ := SpecOf(inner)
		got <- s
	}); err != nil {
		t.Fatal(err)
	}
	if s := <-got; s.ID != "1" || s.Owner != "session/x" || s.Origin != User {
		t.Errorf("%+v", s)
	}
	if err := table.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
