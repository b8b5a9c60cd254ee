// Package plans owns what is remembered of this computer's AI plans over sign-ins and sign-outs (store meta: the client id that
// OpenAI issued, the name of this computer, whether the welcome was shown), and tells clients when a plan was connected or
// disconnected. No secret is kept here.
package plans

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"sentient/actors/wire"
	"sentient/runtime/act"
	"sentient/runtime/bus"
	"sentient/storage/journal"
)

const stream journal.Stream = "plans/main"

const (
	tableMeta = "meta" // key → text
	maxValue  = 512    // bytes
)

// Options of the room.
type Options struct {
	Journal journal.Journal
	Now     func() time.Time
	Logger  *slog.Logger
}

// Service is the room as others see it.
type Service struct {
	o   Options
	ref act.Ref
}

// New starts the actor.
func New(sys *act.System, o Options) (*Service, error) {
	if o.Journal == nil {
		return nil, errors.New("plans: Journal is needed")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Service{o: o}
	s.ref = sys.Single("plans", func() act.Behavior { return &actor{o: &s.o} })
	return s, nil
}

// Recall reads what is remembered under a key, "" when nothing is.
func (s *Service) Recall(_ context.Context, key string) (string, error) {
	r, err := s.o.Journal.Read()
	if err != nil {
		return "", err
	}
	defer r.Close()
	v, _, err := r.Get(tableMeta, []byte(key))
	return string(v), err
}

// Remember keeps a value; when it returns nil that is on disk.
func (s *Service) Remember(ctx context.Context, key, value string) error {
	if key == "" || len(key) > maxValue || value == "" || len(value) > maxValue {
		return errors.New("plans: a key and a value are short texts")
	}
	return s.do(ctx, &change{key: key, value: value})
}

// Changed tells every client that a plan or a key was connected or disconnected (config.updated, A-342).
func (s *Service) Changed(ctx context.Context) error { return s.do(ctx, &change{}) }

func (s *Service) do(ctx context.Context, c *change) error {
	_, err := act.Ask(ctx, s.ref, func(r *act.Reply[struct{}]) any { c.reply = r; return c })
	return err
}

// change is one row to keep, or, without a key, only news.
type change struct {
	reply      *act.Reply[struct{}]
	key, value string
}

type actor struct {
	o       *Options
	version uint64
}

func (a *actor) Start(*act.Ctx) error {
	l, err := a.o.Journal.Load(context.Background(), stream)
	a.version = l.Version
	return err
}

func (a *actor) Stop(*act.Ctx) {}

func (a *actor) Receive(_ *act.Ctx, m any) {
	c, ok := m.(*change)
	if !ok {
		return
	}
	in := journal.Append{Stream: stream, Expected: a.version}
	if c.key != "" {
		in.Rows = []journal.Row{{Table: tableMeta, Key: []byte(c.key), Value: []byte(c.value)}}
	} else {
		kept, shown := wire.DomainNote("config.updated", map[string]any{"sections": []string{"secrets"}}, a.o.Now())
		in.Publish = []journal.Note{{Type: "config.updated", Data: kept, Live: bus.Event{Kind: "config.updated", Body: shown}}}
	}
	got, err := a.o.Journal.Append(context.Background(), in)
	if err != nil {
		c.reply.Fail(err)
		return
	}
	a.version = got.Version
	c.reply.OK(struct{}{})
}
