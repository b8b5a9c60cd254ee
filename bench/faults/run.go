package faults

import (
	"context"
	"errors"
	"fmt"
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
	Kills           int // starts of an engine that a kill -9, a stop or the fault itself had ended
	Messages, Acked int
	Turns, Effects  int
	Starts          []time.Duration // exec to ready, behind a fault
	Violations      []Violation
}

// Violation is a promise that was broken, and what shows it.
type Violation struct {
	Scenario string
	Seed     uint64
	Round    int
	What     string
}

// String names what plays the script again. The machine's timing is not part of it, so it may take a few rounds more.
func (v Violation) String() string {
	return fmt.Sprintf("%s, seed %d, round %d: %s (make faults ARGS=\"--scenarios %s --seed %d --from %d --rounds 1\")", v.Scenario, v.Seed, v.Round, v.What, v.Scenario, v.Seed, v.Round)
}

// Violations are all of them.
func (r Result) Violations() (list []Violation) {
	for _, o := range r.Scenarios {
		list = append(list, o.Violations...)
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
	for round := o.From; round < o.From+o.Rounds && (round == o.From || until.IsZero() || time.Now().Before(until)); round++ {
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
			out.violated(o.Seed, round, bad)
			break
		}
	}
	if len(out.Violations) == 0 && out.Skipped == "" {
		out.violated(o.Seed, o.From+out.Rounds-1, b.reopen(ctx))
	}
	b.kept = len(out.Violations) > 0
	out.Kills, out.Turns = len(b.ready), b.turns
	out.Messages, out.Acked, out.Starts = len(b.book.list), b.book.acked(), b.ready
	effects, err := b.effects()
	out.Effects = len(effects)
	return out, err
}

func (o *Outcome) violated(seed uint64, round int, bad []string) {
	for _, v := range bad {
		o.Violations = append(o.Violations, Violation{o.Name, seed, round, v})
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
