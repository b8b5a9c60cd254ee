package modelqueue

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"sentient/actors/msg"
	"sentient/runtime/act"
	"sentient/runtime/app"
	"sentient/runtime/bus"
	"sentient/runtime/work"
)

// Options of the room.
type Options struct {
	Bus    *bus.Bus
	Config func() *app.Config // the configuration in force; models.* is read at every decision
	// Power reads what the computer runs on; nil: it is always plugged in. It may take a while: it is never called on a mailbox.
	Power  func() Power
	Now    func() time.Time
	Logger *slog.Logger
}

// Validate fills the defaults and says what is missing.
func (o *Options) Validate() error {
	if o.Bus == nil || o.Config == nil {
		return errors.New("modelqueue: Bus and Config are needed")
	}
	if o.Power == nil {
		o.Power = func() Power { return Power{Percent: -1} }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

const (
	claudeCode = "claude-code" // the key of Claude Code's pool; runtimes have addresses
	// powerEvery is how old a reading of the battery may get.
	powerEvery = 30 * time.Second
	// tellAfter gathers quick changes into one event.
	tellAfter = 200 * time.Millisecond
)

// Service is the queues as other rooms see them. All methods may be called from anywhere.
type Service struct {
	o       Options
	front   act.Ref
	queues  *act.Owner
	tickets atomic.Uint64
	// world is what all queues share. The front actor alone writes it; a queue is told after it changed.
	world atomic.Pointer[world]
	// kept holds each key's queue over a crash of its actor, which alone uses it.
	kept sync.Map
}

type world struct {
	chat  chatState
	power Power
}

// New starts the actors. The first reading of the power is taken here, so that no upkeep slips through before it; Serve takes
// the later ones.
func New(sys *act.System, o Options) (*Service, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s := &Service{o: o}
	s.world.Store(&world{power: o.Power()})
	s.queues = sys.Owner(act.OwnerOptions{Name: "modelqueue", Make: func(key string) act.Behavior {
		q, _ := s.kept.LoadOrStore(key, newQueue(key == claudeCode))
		return &actor{s: s, key: key, q: q.(*queue)}
	}})
	f := &front{s: s, replies: newReplies(), parts: map[string]state{}}
	s.front = sys.Single("models", func() act.Behavior { return f })
	return s, nil
}

// Acquire waits until the call may use its model; release frees the place again and may be called more than once. A stream
// holds its model until its last chunk, so release after that. The error is the cause of ctx, or that the engine is stopping
// or failed on this call; the place is freed then.
func (s *Service) Acquire(ctx context.Context, c Call) (release func(), err error) {
	if c.Runtime == "" {
		return func() {}, nil
	}
	return s.acquire(ctx, c.Runtime, c)
}

// AcquireClaudeCode waits until one more process of Claude Code may run (models.claude_code_max_concurrent, A-323); else it is
// Acquire. The caller releases when its process tree has ended. A call that Stop everything dropped gets a *msg.ModelError with
// the contract's sentence; no other model should be tried for it.
func (s *Service) AcquireClaudeCode(ctx context.Context, c Call) (release func(), err error) {
	release, err = s.acquire(ctx, claudeCode, c)
	if errors.Is(err, work.ErrStopped) {
		err = &msg.ModelError{Fault: msg.FaultCancelled, Model: c.Model, Message: "Stop everything ended this before Claude Code started."}
	}
	return release, err
}

// errAgain goes to calls that waited in an actor that crashed: they queue again, with the number they had.
var errAgain = errors.New("the queue was restarted")

func (s *Service) acquire(ctx context.Context, key string, c Call) (func(), error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	id := s.tickets.Add(1)
	for {
		_, err := act.Ask(ctx, s.front, func(r *act.Reply[struct{}]) any { return &arrive{Reply: r, key: key, id: id, call: c} })
		if err == nil {
			return sync.OnceFunc(func() { s.front.Tell(leave{key, id, c}) }), nil
		}
		s.front.Tell(leave{key, id, c})
		var parked *act.ParkedError
		switch {
		case errors.Is(err, errAgain):
		case errors.As(err, &parked):
			// Answering without a queue is better than not answering at all.
			s.o.Logger.Error("the queue of a model keeps failing, so a call goes without waiting", "reason", parked.Reason)
			return func() {}, nil
		default:
			return nil, err
		}
	}
}

// ReplyBegan says that a chat reply runs, whatever its model; reply is its name in Call.Reply.
func (s *Service) ReplyBegan(reply string) { s.front.Tell(replyBegan{reply}) }

// ReplyEnded says that it has ended.
func (s *Service) ReplyEnded(reply string) { s.front.Tell(replyEnded{reply}) }

// Changed says that the configuration did.
func (s *Service) Changed() { s.front.Tell(changed{}) }

// Serve keeps an eye on the battery until ctx ends.
func (s *Service) Serve(ctx context.Context) {
	tick := time.NewTicker(powerEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.front.Tell(s.o.Power())
		}
	}
}

// Busy is GET /api/models/busy. It sees everything that Acquire and release did before it.
func (s *Service) Busy(ctx context.Context) (Busy, error) {
	var keys []string
	s.queues.Each(func(key string, _ act.Ref) {
		if key != claudeCode {
			keys = append(keys, key)
		}
	})
	var sum state
	for _, key := range keys {
		one, err := s.look(ctx, key)
		if err != nil {
			return Busy{}, err
		}
		sum = sum.add(one)
	}
	return sum.busy(), nil
}

// ClaudeCode counts the processes that run and the calls that wait for one.
func (s *Service) ClaudeCode(ctx context.Context) (running, waiting int, err error) {
	one, err := s.look(ctx, claudeCode)
	return one.running, one.waiting, err
}

// look goes through the front, so it comes after what this caller did before.
func (s *Service) look(ctx context.Context, key string) (state, error) {
	return act.Ask(ctx, s.front, func(r *act.Reply[state]) any { return &count{Reply: r, key: key} })
}

// facts are what a queue decides by, now.
func (s *Service) facts(key string) facts {
	w, m := s.world.Load(), s.o.Config().Models
	f := facts{now: s.o.Now(), chat: w.chat, power: w.power, rules: rulesOf(m)}
	switch {
	case key == claudeCode:
		f.slots = max(1, m.ClaudeCodeMaxConcurrent)
	case m.LocalQueue:
		f.slots, f.holds = 1, true
	}
	return f
}
