package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"sentient/bench/process"
)

// Crowd measures many chats at once, each with a client of its own that sends its next message when its reply has ended.
type Crowd struct {
	Env
	Name   string // of the report; default "concurrent"
	Chats  int    // default 200
	Rounds int    // turns of each; default 6
	Tokens int    // default 50
	Every  time.Duration
	Spread time.Duration // over which the clients begin; 0: all at once
	Post   bool          // over POST /api/chat, not /ws
	Alone  bool          // measure the clients talking to the model directly as well, before

	FirstGoal       time.Duration // p99 of the first token; 0: none
	RelayMedianGoal time.Duration // 0: none
	RelayGoal       time.Duration // p99; 0: none
	CPUGoal         time.Duration // of the engine for each turn; 0: none
}

// Validate fills the defaults and says what is wrong.
func (c *Crowd) Validate() error {
	fill(&c.Name, "concurrent")
	fill(&c.Chats, 200)
	fill(&c.Rounds, 6)
	fill(&c.Tokens, 50)
	fill(&c.Every, 20*time.Millisecond)
	if c.Chats < 1 || c.Rounds < 1 || c.Spread < 0 {
		return errors.New("bench: Crowd.Chats and Rounds must be at least 1 and Spread not negative")
	}
	// The engine has a socket and a model connection for each chat.
	if n, err := openFiles(); err == nil && n < 2*c.Chats+200 {
		return fmt.Errorf("bench: %d chats need %d open files and only %d are allowed: raise \"ulimit -n\"", c.Chats, 2*c.Chats+200, n)
	}
	return errors.Join(c.model().Validate(), c.Env.Validate())
}

func (c *Crowd) model() ModelOptions { return ModelOptions{Tokens: c.Tokens, Every: c.Every} }

// Run measures.
func (c Crowd) Run(ctx context.Context) (Report, error) {
	if err := c.Validate(); err != nil {
		return Report{}, err
	}
	b, err := c.open(ctx, c.model())
	if err != nil {
		return Report{}, err
	}
	defer b.close()
	r := Report{Scenario: fmt.Sprintf("%s: %d chats", c.Name, c.Chats), Setting: c.setting()}
	var alone *tally
	if c.Alone {
		if alone, err = c.measure(ctx, b, viaDirect); err != nil {
			return Report{}, err
		}
	}
	via := viaSocket
	if c.Post {
		via = viaPost
	}
	t, err := c.measure(ctx, b, via)
	if err != nil {
		return Report{}, err
	}
	c.fill(&r, t, alone)
	return r, nil
}

func (c *Crowd) setting() string {
	begin := "all at once"
	if c.Spread > 0 {
		begin = "spread over " + c.Spread.String()
	}
	via := "/ws, a narrowed socket for each chat"
	if c.Post {
		via = viaPost
	}
	return fmt.Sprintf("%s; begun %s; %d turns each, the next when the reply has ended; the model writes %d tokens %s apart.", via, begin, c.Rounds, c.Tokens, c.Every)
}

// tally is what a crowd's clients measured together.
type tally struct {
	mu               sync.Mutex
	first, up, relay Samples
	steady           Samples // of relay, what was written while everybody streamed; only with one round
	began            time.Time
	turns, failed    int
	firstError       string
	took             time.Duration
	cpu              time.Duration // of the engine
	memory           memory        // of the engine, in the middle
	others           string        // what other programs used
}

func (c *Crowd) add(t *tally, r *reply) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.turns++
	for i, d := range r.relay {
		at := r.sent.Add(time.Duration(i) * c.Every).Sub(t.began)
		if c.Rounds == 1 && at > c.Spread && at < c.model().time() {
			t.steady = append(t.steady, d)
		}
	}
	t.first, t.up, t.relay = append(t.first, r.first), append(t.up, r.up), append(t.relay, r.relay...)
}

func (t *tally) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed++; t.failed == 1 {
		t.firstError = err.Error()
	}
}

func (c *Crowd) measure(ctx context.Context, b *bed, via string) (*tally, error) {
	c.Progress("%s: connecting %d clients (%s)", c.Name, c.Chats, via)
	talkers, err := c.connect(ctx, b, via)
	for _, k := range talkers {
		if k != nil {
			defer k.close()
		}
	}
	if err != nil {
		return nil, err
	}
	c.Progress("%s: %d chats, about %s", c.Name, c.Chats, show(c.about()))
	tokens := c.Chats * c.Rounds * c.Tokens
	t := &tally{relay: make(Samples, 0, tokens)}
	before, err := b.engine.cpu()
	if err != nil {
		return nil, err
	}
	others := b.meter()
	look := time.AfterFunc(c.about()/2, func() {
		m, err := b.engine.memory()
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.memory = m; err != nil {
			t.memory = memory{}
		}
	})
	defer look.Stop()
	t.began = time.Now()
	var all sync.WaitGroup
	for i, k := range talkers {
		all.Go(func() { c.talk(ctx, t, k, c.Spread*time.Duration(i)/time.Duration(c.Chats)) })
	}
	all.Wait()
	t.took = time.Since(t.began)
	after, err := b.engine.cpu()
	t.cpu, t.others = after-before, others.String()
	return t, errors.Join(err, ctx.Err())
}

func (c *Crowd) about() time.Duration {
	return c.Spread + time.Duration(c.Rounds)*c.model().time()
}

// talk is one client's life. After a failure it gives up: the stream it was in is not to be trusted.
func (c *Crowd) talk(ctx context.Context, t *tally, k talker, after time.Duration) {
	r := reply{relay: make(Samples, 0, c.Tokens)}
	if process.Pause(ctx, after) != nil {
		return
	}
	for range c.Rounds {
		if err := k.turn(&r); err != nil {
			t.fail(err)
			return
		}
		if len(r.relay) != c.Tokens {
			t.fail(fmt.Errorf("a reply of %d tokens arrived with %d", c.Tokens, len(r.relay)))
			return
		}
		c.add(t, &r)
	}
}

// connect makes the clients, some at a time.
func (c *Crowd) connect(ctx context.Context, b *bed, via string) ([]talker, error) {
	talkers := make([]talker, c.Chats)
	errs := make([]error, c.Chats)
	limit := turnLimit + c.model().time()
	places := make(chan struct{}, 16)
	var all sync.WaitGroup
	for i := range talkers {
		places <- struct{}{}
		all.Go(func() {
			k, err := b.talk(ctx, via, limit)
			if err == nil {
				talkers[i] = k
			}
			errs[i] = err
			<-places
		})
	}
	all.Wait()
	return talkers, errors.Join(errs...)
}

func (c *Crowd) fill(r *Report, t, alone *tally) {
	r.goalNone("failed turns", t.failed, t.firstError)
	r.add("turns a second", "%.1f (%d turns in %s)", float64(t.turns)/t.took.Seconds(), t.turns, show(t.took))
	bound := func(what string, v, goal time.Duration) {
		if goal > 0 {
			r.goal(what, v, goal)
		} else {
			r.add(what, "%s", show(v))
		}
	}
	r.add("first token, median", "%s", show(t.first.Median()))
	bound("first token, p99", t.first.Percentile(99), c.FirstGoal)
	r.spread("message sent to the model's first token written", t.up)
	bound("token written to token read, median", t.relay.Median(), c.RelayMedianGoal)
	bound("token written to token read, p99", t.relay.Percentile(99), c.RelayGoal)
	r.add("token written to token read, slowest", "%s", show(t.relay.Percentile(100)))
	if len(t.steady) > 0 {
		r.spread("the same while all stream and nobody begins or ends", t.steady)
	}
	if t.turns > 0 {
		bound("CPU of the engine for a turn", t.cpu/time.Duration(t.turns), c.CPUGoal)
	}
	r.add("CPU of the engine", "%.0f%% of one core", 100*t.cpu.Seconds()/t.took.Seconds())
	r.add("RSS in the middle (of it not mapped from files)", "%.1f MB (%.1f MB)", t.memory.RSS, t.memory.Own)
	r.add("CPU of programs that are not part of this", "%s", t.others)
	if alone != nil {
		r.add("the same clients with the model alone: failed turns", "%d", alone.failed)
		r.spread("the same clients with the model alone: first token", alone.first)
		r.spread("the same clients with the model alone: token written to token read", alone.relay)
	}
}
