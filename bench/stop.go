package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"sentient/bench/process"
)

// Stop measures Stop everything while many chats stream and programs run that ignore signals: when the flag is on disk, when
// each client has read the end of its reply, when the stop says that everything ended, and Resume.
type Stop struct {
	Env                // Engine must be the demo's, which has tools that misbehave
	Chats      int     // default 2,000
	Children   int     // default 100
	PerSecond  float64 // tokens of each chat; default 5
	Spread     time.Duration
	FlagGoal   time.Duration // default 10 ms
	CutGoal    time.Duration // p99; default 250 ms
	EndGoal    time.Duration // default 2 s
	ResumeGoal time.Duration // default 1 s
}

// Validate fills the defaults and says what is wrong.
func (s *Stop) Validate() error {
	fill(&s.Chats, 2000)
	fill(&s.Children, 100)
	fill(&s.PerSecond, 5)
	fill(&s.Spread, 5*time.Second)
	fill(&s.FlagGoal, 10*time.Millisecond)
	fill(&s.CutGoal, 250*time.Millisecond)
	fill(&s.EndGoal, 2*time.Second)
	fill(&s.ResumeGoal, time.Second)
	if s.Chats < 1 || s.Children < 1 || s.PerSecond <= 0 || s.Spread < 0 {
		return errors.New("bench: Stop needs chats, children and a pace that are positive")
	}
	return errors.Join(s.model().Validate(), s.Env.Validate())
}

// model never ends by itself while the scenario lasts.
func (s *Stop) model() ModelOptions {
	return ModelOptions{Tokens: int(s.PerSecond * 600), Every: time.Duration(float64(time.Second) / s.PerSecond), Children: s.Children}
}

// Run measures.
func (s Stop) Run(ctx context.Context) (Report, error) {
	if err := s.Validate(); err != nil {
		return Report{}, err
	}
	var m measured
	s.Env.Model = nil // in this process: it tells when its calls were cut
	o := s.model()
	o.Gone = m.gone
	b, err := s.open(ctx, o)
	if err != nil {
		return Report{}, err
	}
	defer b.close()
	r := Report{Scenario: "stop", Setting: fmt.Sprintf("POST /api/stop-all while %d chats stream %g tokens a second each over sockets of their own and %d programs run that ignore signals.", s.Chats, s.PerSecond, s.Children)}
	children, err := s.troubled(ctx, b)
	if err != nil {
		return Report{}, err
	}
	defer children.close()
	crowd := Crowd{Env: s.Env, Name: "stop", Chats: s.Chats}
	talkers, err := crowd.connect(ctx, b, viaSocket)
	for _, t := range talkers {
		if t != nil {
			defer t.close()
		}
	}
	if err != nil {
		return Report{}, err
	}
	return r, s.measure(ctx, b, &r, &m, children, talkers)
}

// troubled starts the chat whose tool starts the programs, which is the model's first request, and waits until they run.
func (s *Stop) troubled(ctx context.Context, b *bed) (*socket, error) {
	t, err := b.talk(ctx, viaSocket, turnLimit)
	if err != nil {
		return nil, err
	}
	k := t.(*socket)
	if err := k.begin(&reply{}); err != nil {
		return nil, err
	}
	for {
		e, err := k.read()
		if err != nil {
			return nil, err
		}
		if bytes.HasPrefix(e, []byte(`{"type":"tool_call"`)) {
			return k, process.Pause(ctx, time.Second+20*time.Millisecond*time.Duration(s.Children))
		}
		if bytes.HasPrefix(e, eventDone) {
			return nil, errors.New("the tool that starts programs was not called: is the engine the demo's, with SENTIENT_TROUBLE?")
		}
	}
}

// measured is what the clients saw.
type measured struct {
	mu     sync.Mutex
	began  time.Time // of the stop
	cuts   Samples   // from the request to the model seeing its client leave
	ends   Samples   // from the request to the end of a reply read
	failed int
	first  string
}

func (m *measured) gone() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.began.IsZero() {
		m.cuts = append(m.cuts, time.Since(m.began))
	}
}

func (m *measured) ended() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ends = append(m.ends, time.Since(m.began))
}

func (m *measured) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failed++; m.failed == 1 {
		m.first = err.Error()
	}
}

func (m *measured) begin() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.began = time.Now()
	return m.began
}

func (s *Stop) measure(ctx context.Context, b *bed, r *Report, m *measured, children *socket, talkers []talker) error {
	var streaming, all sync.WaitGroup
	for i, t := range talkers {
		streaming.Add(1)
		all.Go(func() {
			s.stream(ctx, m, t.(*socket), s.Spread*time.Duration(i)/time.Duration(len(talkers)), streaming.Done)
		})
	}
	s.Progress("stop: %d chats begin", len(talkers))
	streaming.Wait()
	if err := process.Pause(ctx, 3*time.Second); err != nil {
		return err
	}
	others := b.meter()
	began := m.begin()
	flag := make(chan time.Duration, 1)
	go func() { flag <- flagged(children, began) }()
	report, took, err := s.post(ctx, b, "/api/stop-all")
	if err != nil {
		return err
	}
	all.Wait()
	resumed, back, err := s.post(ctx, b, "/api/resume")
	if err != nil {
		return err
	}
	r.goal("request to stop.updated read, which is sent when the flag is on disk", <-flag, s.FlagGoal)
	r.goal("request to the model's call cut, as the model sees it, p99", m.cuts.Percentile(99), s.CutGoal)
	r.add("the same, median / slowest (of how many)", "%s / %s (%d)", show(m.cuts.Median()), show(m.cuts.Percentile(100)), len(m.cuts))
	r.spread("request to the end of a reply read", m.ends)
	r.goal("request to its answer: everything ended or is named", took, s.EndGoal)
	r.goalNone("clients that saw no end", m.failed, m.first)
	r.add("jobs cancelled; not ended in time", "%d; %d %v", report.Cancelled, len(report.NotEnded), report.NotEnded)
	r.goal("Resume", back, s.ResumeGoal)
	others.report(r)
	if !report.Stopped || resumed.Stopped || report.Cancelled != len(talkers)+1 {
		return fmt.Errorf("the stop said %+v, and Resume %+v, with %d chats", report, resumed, len(talkers)+1)
	}
	return nil
}

// stream is one client from its message to the end of its reply. Begins once tells that it streams.
func (s *Stop) stream(ctx context.Context, m *measured, k *socket, after time.Duration, begins func()) {
	once := sync.OnceFunc(begins)
	defer once()
	err := process.Pause(ctx, after)
	k.limit = 10 * time.Minute
	if err == nil {
		err = k.begin(&reply{})
	}
	for err == nil {
		var b []byte
		if b, err = k.read(); err != nil {
			break
		}
		switch {
		case bytes.HasPrefix(b, eventText):
			once()
		case bytes.HasPrefix(b, eventDone):
			m.ended()
			return
		}
	}
	m.fail(err)
}

// flagged waits for the news that everything is stopped.
func flagged(k *socket, began time.Time) time.Duration {
	_ = k.conn.SetReadDeadline(time.Now().Add(time.Minute))
	for {
		_, b, err := k.conn.ReadMessage()
		if err != nil {
			return time.Hour
		}
		if bytes.HasPrefix(b, []byte(`{"type":"stop.updated"`)) {
			return time.Since(began)
		}
	}
}

type stopAnswer struct {
	Stopped   bool     `json:"stopped"`
	Cancelled int      `json:"cancelled"`
	NotEnded  []string `json:"not_ended"`
}

func (s *Stop) post(ctx context.Context, b *bed, path string) (a stopAnswer, took time.Duration, err error) {
	c, err := b.engine.dial(ctx, turnLimit)
	if err != nil {
		return a, 0, err
	}
	defer c.close()
	body, _ := json.Marshal(map[string]string{"source": "api"}) // strings always can
	began := time.Now()
	err = c.fetch("POST", path, body, &a)
	return a, time.Since(began), err
}
