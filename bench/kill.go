package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sentient/bench/process"
)

// Kill measures a start after kill -9 in the middle of a reply, on a store with many chats, and checks that what was said of
// the reply is kept.
type Kill struct {
	Env
	Chats    int           // default 1,000
	Messages int           // of each; default 100
	N        int           // kills; default 5
	After    time.Duration // from sending to the kill; default 3 s
	Every    time.Duration // of the model's tokens; default 20 ms

	ReadyGoal time.Duration // default 100 ms
}

// Validate fills the defaults and says what is wrong.
func (k *Kill) Validate() error {
	fill(&k.Chats, 1000)
	fill(&k.Messages, 100)
	fill(&k.N, 5)
	fill(&k.After, 3*time.Second)
	fill(&k.Every, 20*time.Millisecond)
	fill(&k.ReadyGoal, 100*time.Millisecond)
	if k.Chats < 1 || k.Messages < 2 || k.N < 1 || k.After < 2*time.Second {
		return errors.New("bench: Kill needs a chat, two messages, one kill, and two seconds before it (text is checkpointed every second)")
	}
	return errors.Join(k.model().Validate(), k.Env.Validate())
}

// model talks twice as long as anybody listens.
func (k *Kill) model() ModelOptions {
	return ModelOptions{Tokens: 2 * int((k.After+time.Duration(k.N)*killShift)/k.Every), Every: k.Every}
}

// Run measures.
func (k Kill) Run(ctx context.Context) (Report, error) {
	if err := k.Validate(); err != nil {
		return Report{}, err
	}
	m, err := k.startModel(ctx, k.model())
	if err != nil {
		return Report{}, err
	}
	defer m.close()
	h, err := k.newHome()
	if err != nil {
		return Report{}, err
	}
	defer h.close()
	if err := h.seed(ctx, k.Chats, k.Messages/2); err != nil {
		return Report{}, fmt.Errorf("the store could not be filled: %w", err)
	}
	if err := h.configure(m.url); err != nil {
		return Report{}, err
	}
	r := Report{Scenario: "kill", Setting: fmt.Sprintf("A store of %d chats of %d messages; kill -9 from %s into a reply (tokens %s apart), each a little later, then a start; %d times. The search index was built before.", k.Chats, k.Messages, show(k.After), k.Every, k.N)}
	return r, k.kills(ctx, h, &r)
}

func (k *Kill) kills(ctx context.Context, h *home, r *Report) error {
	e, err := k.settled(ctx, h)
	if err != nil {
		return err
	}
	first, lost := e.Took, 0
	var took, settled, missing Samples
	for i := range k.N {
		k.Progress("kill %d of %d", i+1, k.N)
		session, heard, err := k.cut(ctx, e, k.After+time.Duration(i)*killShift)
		if err != nil {
			return err
		}
		if e, err = h.start(ctx); err != nil {
			return err
		}
		took = append(took, e.Took)
		began := time.Now()
		kept, err := k.kept(ctx, e, session)
		if err != nil {
			e.Kill()
			return err
		}
		settled = append(settled, time.Since(began))
		if kept == 0 {
			lost++
		}
		missing = append(missing, time.Duration(max(0, heard-kept))*k.Every)
	}
	rows, err := k.count(ctx, e)
	if err := errors.Join(err, e.Stop()); err != nil {
		return err
	}
	r.add("ready after a clean stop, same store", "%s", show(first))
	r.goal("ready after kill -9, median", took.Median(), k.ReadyGoal)
	r.goal("ready after kill -9, slowest", took.Percentile(100), k.ReadyGoal)
	r.goalNone("replies not kept with \"(interrupted)\"", lost, "")
	r.add("from ready to the kept reply in the transcript, slowest", "%s", show(settled.Percentile(100)))
	r.add("end of the reply that was heard and not kept, median / slowest", "%s / %s", show(missing.Median()), show(missing.Percentile(100)))
	r.goalNone("chats missing after the last start", max(0, k.Chats+k.N-rows), "")
	return nil
}

// settled starts the engine once so that it indexes what is there, stops it in order, and starts it again.
func (k *Kill) settled(ctx context.Context, h *home) (*engine, error) {
	e, err := h.start(ctx)
	if err != nil {
		return nil, err
	}
	k.Progress("waiting for the search index")
	if err := e.quiet(ctx, 10*time.Minute); err != nil {
		e.Kill()
		return nil, err
	}
	if err := e.Stop(); err != nil {
		return nil, err
	}
	return h.start(ctx)
}

// quiet waits until the engine has used less than 2% of a core for three seconds.
func (e *engine) quiet(ctx context.Context, within time.Duration) error {
	const look = 3 * time.Second
	for began := time.Now(); time.Since(began) < within; {
		before, err := e.cpu()
		if err != nil {
			return err
		}
		if err := process.Pause(ctx, look); err != nil {
			return err
		}
		after, err := e.cpu()
		if err != nil || after-before < look/50 {
			return err
		}
	}
	return errors.New("the engine did not come to rest within " + within.String())
}

// killShift is how much later each kill comes, so that they meet the checkpoints of every second at different moments.
const killShift = 230 * time.Millisecond

// cut begins a reply and kills the engine in its middle; heard is how many tokens had arrived.
func (k *Kill) cut(ctx context.Context, e *engine, after time.Duration) (session string, heard int, err error) {
	defer e.Kill()
	c, err := e.dial(ctx, turnLimit)
	if err != nil {
		return "", 0, err
	}
	defer c.close()
	if session, err = c.newChat(); err != nil {
		return "", 0, err
	}
	s, err := newSocket(ctx, e.Address, benchToken, session, turnLimit)
	if err != nil {
		return "", 0, err
	}
	defer s.close()
	var r reply
	if err := s.begin(&r); err != nil {
		return "", 0, err
	}
	for time.Since(r.sent) < after {
		b, err := s.read()
		if err != nil {
			return "", 0, err
		}
		if over, err := r.event(b); over {
			return "", 0, errors.Join(errors.New("the reply ended before the kill"), err)
		}
	}
	return session, len(r.relay), nil
}

// interrupted is how a reply ends that a crash cut.
const interrupted = "(interrupted)"

// settleWithin is how long the transcript may take to say that the reply was cut.
const settleWithin = 10 * time.Second

// kept is how many tokens of the cut reply are in the transcript; 0 when it does not say in time that it was cut.
func (k *Kill) kept(ctx context.Context, e *engine, session string) (int, error) {
	c, err := e.dial(ctx, turnLimit)
	if err != nil {
		return 0, err
	}
	defer c.close()
	for began := time.Now(); time.Since(began) < settleWithin; {
		var rows []struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		}
		if err := c.fetch("GET", "/api/sessions/"+session+"/messages", nil, &rows); err != nil {
			return 0, err
		}
		if len(rows) > 0 && rows[len(rows)-1].Role == "assistant" {
			return keptTokens(rows[len(rows)-1].Content), nil
		}
		if err := process.Pause(ctx, 2*time.Millisecond); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

func keptTokens(content string) int {
	text, ok := strings.CutSuffix(strings.TrimSpace(content), interrupted)
	if !ok {
		return 0
	}
	return len(strings.Fields(text))
}

func (k *Kill) count(ctx context.Context, e *engine) (int, error) {
	c, err := e.dial(ctx, turnLimit)
	if err != nil {
		return 0, err
	}
	defer c.close()
	var rows []struct{}
	err = c.fetch("GET", "/api/sessions?limit=10000", nil, &rows)
	return len(rows), err
}
