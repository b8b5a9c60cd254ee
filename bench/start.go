package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sentient/bench/process"
)

// Start measures how soon an engine on an empty home answers, and what it holds when nobody uses it.
type Start struct {
	Env
	N    int           // starts; default 10
	Rest time.Duration // from ready to the look at its memory; default 10 s

	ReadyGoal  time.Duration // default 50 ms
	MemoryGoal float64       // MB of RSS; default 45
}

// Validate fills the defaults and says what is wrong.
func (s *Start) Validate() error {
	fill(&s.N, 10)
	fill(&s.Rest, 10*time.Second)
	fill(&s.ReadyGoal, 50*time.Millisecond)
	fill(&s.MemoryGoal, 45)
	if s.N < 1 || s.Rest < 0 {
		return errors.New("bench: Start.N must be at least 1 and Rest not negative")
	}
	return s.Env.Validate()
}

func fill[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}

// Run measures.
func (s Start) Run(ctx context.Context) (Report, error) {
	if err := s.Validate(); err != nil {
		return Report{}, err
	}
	var took Samples
	var rss, own []float64
	for i := range s.N {
		s.Progress("start %d of %d", i+1, s.N)
		t, m, err := s.once(ctx)
		if err != nil {
			return Report{}, err
		}
		took, rss, own = append(took, t), append(rss, m.RSS), append(own, m.Own)
	}
	r := Report{Scenario: "start", Setting: fmt.Sprintf("%d starts on an empty home, from exec to the first 200 of GET /api/bootstrap (asked every millisecond); memory %s after ready, no client.", s.N, show(s.Rest))}
	r.goal("ready, median", took.Median(), s.ReadyGoal)
	r.add("ready, slowest", "%s", show(took.Percentile(100)))
	r.goalMB("RSS (smaps_rollup), median", medianOf(rss), s.MemoryGoal)
	r.add("of it not mapped from files, median", "%.1f MB", medianOf(own))
	return r, nil
}

func (s *Start) once(ctx context.Context) (time.Duration, memory, error) {
	h, err := s.newHome()
	if err != nil {
		return 0, memory{}, err
	}
	defer h.close()
	e, err := h.start(ctx)
	if err != nil {
		return 0, memory{}, err
	}
	err = process.Pause(ctx, s.Rest)
	m, memErr := e.memory()
	return e.Took, m, errors.Join(err, memErr, e.Stop())
}
