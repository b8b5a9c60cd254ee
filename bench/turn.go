package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Turn measures one turn at a time, over /ws and over POST /api/chat, against the same client talking to the model itself. The
// three take turns, so that whatever else the computer does reaches all of them.
type Turn struct {
	Env
	N      int           // turns of each; default 30
	Warmup int           // turns of each before them, not counted; default 3, -1 for none
	Tokens int           // default 50
	Every  time.Duration // default 20 ms

	FirstGoal time.Duration // what the first token may take over the model's own; default 2 ms
	WholeGoal time.Duration // what the whole turn may; default 3 ms
}

// Validate fills the defaults and says what is wrong.
func (t *Turn) Validate() error {
	fill(&t.N, 30)
	fill(&t.Warmup, 3)
	fill(&t.Tokens, 50)
	fill(&t.Every, 20*time.Millisecond)
	fill(&t.FirstGoal, 2*time.Millisecond)
	fill(&t.WholeGoal, 3*time.Millisecond)
	if t.N < 1 {
		return errors.New("bench: Turn.N must be at least 1")
	}
	return errors.Join(t.model().Validate(), t.Env.Validate())
}

func (t *Turn) model() ModelOptions { return ModelOptions{Tokens: t.Tokens, Every: t.Every} }

// way is one way to talk, with what was measured on it.
type way struct {
	name string
	talker
	first, whole, up, relay Samples
}

func (w *way) turn(count bool) error {
	var r reply
	if err := w.talker.turn(&r); err != nil {
		return fmt.Errorf("%s: %w", w.name, err)
	}
	if count {
		w.first, w.whole, w.up, w.relay = append(w.first, r.first), append(w.whole, r.whole), append(w.up, r.up), append(w.relay, r.relay...)
	}
	return nil
}

// Run measures.
func (t Turn) Run(ctx context.Context) (Report, error) {
	if err := t.Validate(); err != nil {
		return Report{}, err
	}
	b, err := t.open(ctx, t.model())
	if err != nil {
		return Report{}, err
	}
	defer b.close()
	var ways []*way
	for _, name := range []string{viaDirect, viaSocket, viaPost} {
		k, err := b.talk(ctx, name, turnLimit+t.model().time())
		if err != nil {
			return Report{}, err
		}
		defer k.close()
		ways = append(ways, &way{name: name, talker: k})
	}
	others := b.meter()
	for i := range t.N + max(t.Warmup, 0) {
		t.Progress("turn %d of %d, each in %d ways", i+1, t.N+max(t.Warmup, 0), len(ways))
		for _, w := range ways {
			if err := w.turn(i >= t.Warmup); err != nil {
				return Report{}, err
			}
		}
	}
	r := t.report(ways[0], ways[1:])
	others.report(&r)
	return r, nil
}

func (t *Turn) report(alone *way, ways []*way) Report {
	r := Report{Scenario: "turn", Setting: fmt.Sprintf("One turn at a time, %d of each; the model writes %d tokens %s apart (%s). \"Over the model's own\" is the difference to the same client talking to the model directly, between the turns.", t.N, t.Tokens, t.Every, show(t.model().time()))}
	r.spread("model alone: first token", alone.first)
	r.spread("model alone: whole turn", alone.whole)
	r.spread("model alone: token written to token read", alone.relay)
	for _, w := range ways {
		r.goal(w.name+": first token over the model's own, median", w.first.Median()-alone.first.Median(), t.FirstGoal)
		r.add(w.name+": first token over the model's own, p99", "%s", show(w.first.Percentile(99)-alone.first.Percentile(99)))
		r.goal(w.name+": whole turn over the model's own, median", w.whole.Median()-alone.whole.Median(), t.WholeGoal)
		r.add(w.name+": whole turn over the model's own, p99", "%s", show(w.whole.Percentile(99)-alone.whole.Percentile(99)))
		r.spread(w.name+": message sent to the model's first token written", w.up)
		r.spread(w.name+": token written to token read", w.relay)
	}
	return r
}

// The ways to talk.
const (
	viaDirect = "direct"
	viaSocket = "/ws"
	viaPost   = "POST /api/chat"
)

// bed is an engine on a fresh home with its model.
type bed struct {
	home   *home
	model  *model
	engine *engine
}

// open starts a model and an engine that uses it.
func (e *Env) open(ctx context.Context, o ModelOptions) (b *bed, err error) {
	b = &bed{}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	if b.model, err = e.startModel(ctx, o); err != nil {
		return b, err
	}
	if b.home, err = e.newHome(); err != nil {
		return b, err
	}
	if err = b.home.configure(b.model.url); err != nil {
		return b, err
	}
	b.engine, err = b.home.start(ctx)
	return b, err
}

func (b *bed) close() {
	if b.engine != nil {
		_ = b.engine.Stop() // what was measured is measured
	}
	if b.model != nil {
		b.model.close()
	}
	if b.home != nil {
		b.home.close()
	}
}

// talk makes a talker in a new chat (direct: with the model alone).
func (b *bed) talk(ctx context.Context, via string, limit time.Duration) (talker, error) {
	if via == viaDirect {
		c, err := dial(ctx, b.model.url, "", limit)
		if err != nil {
			return nil, err
		}
		return direct(c), nil
	}
	c, err := b.engine.dial(ctx, limit)
	if err != nil {
		return nil, err
	}
	session, err := c.newChat()
	if err != nil {
		c.close()
		return nil, err
	}
	if via == viaPost {
		return post(c, session), nil
	}
	c.close()
	return newSocket(ctx, b.engine.Address, benchToken, session, limit)
}
