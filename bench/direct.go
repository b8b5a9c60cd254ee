package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Direct measures the clients talking to the model without the engine: the floor of every other number.
type Direct struct {
	Env
	Chats  []int         // one row each; default 1, 50, 200
	Rounds int           // default 6
	Tokens int           // default 50
	Every  time.Duration // default 20 ms
	Engine bool          // measure the engine (/ws) beside it
}

// Validate fills the defaults and says what is wrong.
func (d *Direct) Validate() error {
	if len(d.Chats) == 0 {
		d.Chats = []int{1, 50, 200}
	}
	fill(&d.Rounds, 6)
	fill(&d.Tokens, 50)
	fill(&d.Every, 20*time.Millisecond)
	if d.Rounds < 1 {
		return errors.New("bench: Direct.Rounds must be at least 1")
	}
	return errors.Join(ModelOptions{Tokens: d.Tokens, Every: d.Every}.Validate(), d.Env.Validate())
}

// Run measures.
func (d Direct) Run(ctx context.Context) (Report, error) {
	if err := d.Validate(); err != nil {
		return Report{}, err
	}
	r := Report{Scenario: "direct", Setting: fmt.Sprintf("Clients and the model without the engine, %d turns each, begun within one reply's time; %d tokens %s apart.", d.Rounds, d.Tokens, d.Every)}
	ways := []string{viaDirect}
	if d.Engine {
		r.Scenario, r.Setting = "relay", "The way of a token through the engine, beside the same clients with the model alone. "+r.Setting
		ways = append(ways, viaSocket)
	}
	for _, n := range d.Chats {
		c := Crowd{Env: d.Env, Name: r.Scenario, Chats: n, Rounds: d.Rounds, Tokens: d.Tokens, Every: d.Every, Spread: time.Duration(d.Tokens) * d.Every}
		if err := c.Validate(); err != nil {
			return Report{}, err
		}
		if err := d.rows(ctx, &r, &c, ways); err != nil {
			return Report{}, err
		}
	}
	return r, nil
}

func (d *Direct) rows(ctx context.Context, r *Report, c *Crowd, ways []string) error {
	b, err := c.open(ctx, c.model())
	if err != nil {
		return err
	}
	defer b.close()
	for _, via := range ways {
		t, err := c.measure(ctx, b, via)
		if err != nil {
			return err
		}
		r.goalNone(fmt.Sprintf("%d chats, %s: failed turns", c.Chats, via), t.failed, t.firstError)
		r.spread(fmt.Sprintf("%d chats, %s: first token", c.Chats, via), t.first)
		r.spread(fmt.Sprintf("%d chats, %s: token written to token read", c.Chats, via), t.relay)
	}
	return nil
}
