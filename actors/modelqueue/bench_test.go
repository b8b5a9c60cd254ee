package modelqueue

import (
	"log/slog"
	"testing"

	"sentient/runtime/act"
	"sentient/runtime/app"
	"sentient/runtime/bus"
)

// BenchmarkAThousandQueued measures how long a model stays idle between two of 1,000 waiting calls: from the release of one to
// the moment the next has it ("gap", wall time, both goroutine switches included).
func BenchmarkAThousandQueued(b *testing.B) {
	const n = 1000
	sys := act.New(act.Options{Logger: slog.New(slog.DiscardHandler)})
	cfg := app.Default()
	s, err := New(sys, Options{Bus: bus.New(bus.Options{}), Config: func() *app.Config { return cfg }})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		b.StopTimer()
		release, err := s.Acquire(b.Context(), local("interactive"))
		if err != nil {
			b.Fatal(err)
		}
		over := make(chan struct{}, n)
		for range n {
			go func() {
				release, err := s.Acquire(b.Context(), local("interactive"))
				if err != nil {
					b.Error(err)
				} else {
					release()
				}
				over <- struct{}{}
			}()
		}
		for {
			if busy, err := s.Busy(b.Context()); err != nil || busy.Waiting == n {
				break
			}
		}
		b.StartTimer()
		release()
		for range n {
			<-over
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/gap")
	if err := sys.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
}
