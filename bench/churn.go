package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"sentient/bench/process"
)

// Churn measures what chats leave in memory once they are used and idle: it uses new chats once each, in steps, and after each
// step waits until they have gone to sleep. The first step is long enough to fill the store's caches, which are bounded; what is
// added behind it would be for ever.
type Churn struct {
	Env
	Steps   []int         // chats in all at the end of each step; default 10,000, 20,000, 30,000
	Workers int           // clients at once; default 8
	Settle  time.Duration // from the end of a step to the next; default 5 min (chats sleep after 2, and the garbage they were is collected within 2 more)

	SlopeGoal float64 // MB for each 1,000 chats, not counting what is mapped from files; default 0.5
}

// Validate fills the defaults and says what is wrong.
func (c *Churn) Validate() error {
	if len(c.Steps) == 0 {
		c.Steps = []int{10_000, 20_000, 30_000}
	}
	fill(&c.Workers, 8)
	fill(&c.Settle, 5*time.Minute)
	fill(&c.SlopeGoal, 0.5)
	if len(c.Steps) < 2 || c.Workers < 1 {
		return errors.New("bench: Churn needs two steps and a worker")
	}
	last := 0
	for _, n := range c.Steps {
		if n <= last {
			return errors.New("bench: Churn.Steps must grow")
		}
		last = n
	}
	return c.Env.Validate()
}

// Run measures.
func (c Churn) Run(ctx context.Context) (Report, error) {
	if err := c.Validate(); err != nil {
		return Report{}, err
	}
	b, err := c.open(ctx, ModelOptions{Tokens: 5})
	if err != nil {
		return Report{}, err
	}
	defer b.close()
	r := Report{Scenario: "churn", Setting: fmt.Sprintf("New chats used once over POST /api/chat (the model answers 5 tokens at once), %d clients; the least memory in the second half of the %s after each step, when all chats sleep.", c.Workers, show(c.Settle))}
	empty, err := b.engine.memory()
	if err != nil {
		return Report{}, err
	}
	r.add("before", "RSS %.1f MB, of it not mapped from files %.1f MB", empty.RSS, empty.Own)
	var chats, rss, own []float64
	done := 0
	for _, n := range c.Steps {
		began := time.Now()
		if err := c.use(ctx, b, done, n); err != nil {
			return Report{}, err
		}
		took := time.Since(began)
		awake, err := b.engine.memory()
		if err != nil {
			return Report{}, err
		}
		c.Progress("%d chats used; waiting %s for them to sleep", n, show(c.Settle))
		m, err := c.asleep(ctx, b)
		if err != nil {
			return Report{}, err
		}
		chats, rss, own = append(chats, float64(n)/1000), append(rss, m.RSS), append(own, m.Own)
		r.add(fmt.Sprintf("after %d chats (%.0f a second)", n, float64(n-done)/took.Seconds()), "RSS %.1f MB at the end, %.1f MB asleep; not mapped from files %.1f MB, %.1f MB asleep", awake.RSS, m.RSS, awake.Own, m.Own)
		done = n
	}
	r.add("RSS for each 1,000 chats", "%.2f MB", Slope(chats, rss))
	r.goalMB("not mapped from files for each 1,000 chats", Slope(chats, own), c.SlopeGoal)
	return r, nil
}

// asleep waits until all chats sleep and gives the least that was held from then on: garbage that waits for its collection comes
// and goes, what chats leave behind would stay.
func (c *Churn) asleep(ctx context.Context, b *bed) (least memory, err error) {
	const look = time.Second
	began := time.Now()
	if err := process.Pause(ctx, c.Settle/2); err != nil {
		return least, err
	}
	for least, err = b.engine.memory(); err == nil && time.Since(began) < c.Settle; {
		if err = process.Pause(ctx, look); err != nil {
			break
		}
		var m memory
		if m, err = b.engine.memory(); m.Own < least.Own {
			least = m
		}
	}
	return least, err
}

// use opens chats from+1 to upto and sends one message in each.
func (c *Churn) use(ctx context.Context, b *bed, from, upto int) error {
	next := make(chan int)
	errs := make([]error, c.Workers)
	var all sync.WaitGroup
	for w := range c.Workers {
		all.Go(func() { errs[w] = c.worker(ctx, b, next) })
	}
	for i := from; i < upto; i++ {
		if i%1000 == 0 {
			c.logMemory(b, i)
		}
		next <- i
	}
	close(next)
	all.Wait()
	return errors.Join(errs...)
}

func (c *Churn) logMemory(b *bed, chats int) {
	if m, err := b.engine.memory(); err == nil {
		c.Progress("%d chats: RSS %.1f MB, of it not mapped from files %.1f MB", chats, m.RSS, m.Own)
	}
}

// worker takes chats until there are no more. After a failure it only empties the queue.
func (c *Churn) worker(ctx context.Context, b *bed, next <-chan int) error {
	conn, err := b.engine.dial(ctx, turnLimit)
	if err == nil {
		defer conn.close()
	}
	var k talker
	if err == nil {
		k = post(conn, "")
	}
	var r reply
	for range next {
		if err == nil {
			err = k.turn(&r)
		}
	}
	return err
}
