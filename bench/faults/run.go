package faults

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Result is what a run found.
type Result struct {
	Seed      uint64
	Began     time.Time
	Took      time.Duration
	Scenarios []Outcome
}

// Outcome is what one scenario found.
type Outcome struct {
	Name, What      string
	Skipped         string // why it could not be run here; "" when it was
	Rounds          int
	Faults          int // injected
	Messages, Acked int
	Effects         int
	Starts          []time.Duration // exec to ready, behind a fault
	Known           map[string]int  // deviations that are known, and how often they were seen
	Violations      []string        // each begins with the round that shows it
}

// Violations are all of them, each with its scenario.
func (r Result) Violations() (list []string) {
	for _, o := range r.Scenarios {
		for _, v := range o.Violations {
			list = append(list, o.Name+", "+v)
		}
	}
	return list
}

// Run plays every scenario. The error says that the run itself failed; what the engine did wrong is in the result. When time
// is short every scenario still has its first round.
func Run(ctx context.Context, o Options) (Result, error) {
	if err := o.Validate(); err != nil {
		return Result{}, err
	}
	r := Result{Seed: o.Seed, Began: time.Now()}
	var list []scenario
	for _, s := range scenarios {
		if len(o.Scenarios) == 0 || slices.Contains(o.Scenarios, s.name) {
			list = append(list, s)
		}
	}
	for i, s := range list {
		var until time.Time
		if o.For > 0 { // each has an equal share
			until = r.Began.Add(o.For * time.Duration(i+1) / time.Duration(len(list)))
		}
		out, err := o.scenario(ctx, s, until)
		r.Scenarios = append(r.Scenarios, out)
		if err != nil {
			return r, err
		}
	}
	r.Took = time.Since(r.Began)
	return r, nil
}

func (o *Options) scenario(ctx context.Context, s scenario, until time.Time) (out Outcome, err error) {
	out = Outcome{Name: s.name, What: s.what}
	b, err := o.newBed(ctx, s)
	var skip skipped
	if errors.As(err, &skip) {
		out.Skipped = string(skip)
		o.Progress("%s: left out: %s", s.name, skip)
		return out, nil
	}
	if err != nil {
		return out, err
	}
	defer b.close()
	for round := 0; round < o.Rounds && (round == 0 || until.IsZero() || time.Now().Before(until)); round++ {
		began := time.Now()
		bad, n, err := b.round(ctx, draw(o.Seed, s, round))
		if errors.As(err, &skip) {
			out.Skipped = string(skip)
			break
		}
		if err != nil {
			return out, err
		}
		out.Rounds++
		out.Faults += n
		o.Progress("%s, seed %d, round %d: %d faults, %d violations, %.1f s", s.name, o.Seed, round, n, len(bad), time.Since(began).Seconds())
		if len(bad) > 0 { // later rounds would only repeat them
			out.violated(round, bad)
			break
		}
	}
	if len(out.Violations) == 0 && out.Skipped == "" {
		out.violated(out.Rounds, b.reopen(ctx))
	}
	b.kept = len(out.Violations) > 0
	out.Known = b.book.known
	out.Messages, out.Acked, out.Starts = len(b.book.list), b.book.acked(), b.ready
	effects, err := b.effects()
	out.Effects = len(effects)
	return out, err
}

func (o *Outcome) violated(round int, bad []string) {
	for _, v := range bad {
		o.Violations = append(o.Violations, "round "+itoa(round)+": "+v)
	}
}

// reopen stops the engine in order, starts it once more and looks a last time.
func (b *bed) reopen(ctx context.Context) []string {
	b.stop()
	if err := b.ensure(ctx); err != nil {
		return b.book.breaches
	}
	f, err := b.look(ctx)
	if err != nil {
		return []string{"after an orderly stop: " + err.Error()}
	}
	bad, known := check(b.book, f), len(b.book.breaches)
	b.stop()
	return append(bad, b.book.breaches[known:]...)
}
