package act_test

import (
	"context"
	"log/slog"
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"sentient/runtime/act"
	"sentient/runtime/acttest"
)

type quiet struct{}

func (quiet) Start(*act.Ctx) error { return nil }
func (quiet) Stop(*act.Ctx)        {}
func (quiet) Receive(_ *act.Ctx, message any) {
	if m, ok := message.(*act.Reply[int]); ok {
		m.OK(1)
	}
}

func makeQuiet(string) act.Behavior { return quiet{} }

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A live actor costs about a kilobyte, and a key that sleeps nothing: only the size of the largest crowd that was ever
// awake at once stays, as room in the library's maps and the runtime's goroutine pool.
func TestMemory(t *testing.T) {
	if raceOn {
		t.Skip("the race detector changes what memory costs")
	}
	const n = 10000
	acttest.Run(t, func(t *testing.T, env *env) {
		o := env.System.Owner(act.OwnerOptions{Name: "o", Make: makeQuiet, IdleAfter: time.Hour})
		key := 0
		round := func() (awake, asleep int64) {
			for range n {
				o.Wake(strconv.Itoa(key)) // never the same key twice
				key++
			}
			synctest.Wait()
			awake = heap()
			time.Sleep(2 * time.Hour)
			synctest.Wait()
			if o.Len() != 0 {
				t.Fatalf("%d live", o.Len())
			}
			return awake, heap()
		}
		round() // the crowd's room in the maps and the pool
		_, before := round()
		awake, after := round()
		for range 2 {
			_, after = round()
		}
		each, left := (awake-before)/n, float64(after-before)/(3*n)
		t.Logf("%d bytes a live actor, %.1f a sleeping key", each, left)
		// What a leak would keep of a key, a cell, a PID or an entry of a map, is above 48 bytes; the rest is the crowd's noise.
		if each < 500 || each > 1500 || left > 40 {
			t.Errorf("%d bytes a live actor, %.1f a sleeping key", each, left)
		}
	})
}

func newSystem(b *testing.B) *act.System {
	s := act.New(act.Options{Logger: slog.New(slog.DiscardHandler)})
	b.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			b.Log(err)
		}
	})
	return s
}

func BenchmarkTell(b *testing.B) {
	o := newSystem(b).Owner(act.OwnerOptions{Name: "o", Make: makeQuiet, IdleAfter: time.Hour})
	ref := o.Ref("k")
	b.ReportAllocs()
	for b.Loop() {
		ref.Tell("x")
	}
	_, _ = act.Ask(b.Context(), ref, func(r *act.Reply[int]) any { return r })
}

func BenchmarkAsk(b *testing.B) {
	ref := newSystem(b).Owner(act.OwnerOptions{Name: "o", Make: makeQuiet}).Ref("k")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := act.Ask(b.Context(), ref, func(r *act.Reply[int]) any { return r }); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWake(b *testing.B) {
	o := newSystem(b).Owner(act.OwnerOptions{Name: "o", Make: makeQuiet})
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		o.Wake(strconv.Itoa(i))
		i++
	}
}
