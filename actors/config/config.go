// Package config owns the configuration: its actor alone writes config.yaml. A change is verified by everyone it concerns,
// written, put in force, and only then told.
package config

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"sentient/actors/msg"
	"sentient/actors/wire"
	"sentient/runtime/act"
	"sentient/runtime/app"
	"sentient/runtime/bus"
	"sentient/storage/journal"
)

const stream journal.Stream = "config/main"

// Table of what the first run learned for rooms that come later (memory, the daily brief). Keys are kind/id.
const tablePending = "pending"

// Options of the room.
type Options struct {
	Live    *app.Live
	File    *app.ConfigFile
	Journal journal.Journal
	NewID   func() string
	Now     func() time.Time
	Logger  *slog.Logger
	// Introduce writes what a person said about themselves and how the assistant should be (USER.md, SOUL.md).
	Introduce func(Introduction) error
	// Adjust may answer another configuration than next, to be saved instead in the same step; it is next itself when nothing has to
	// follow. After runs once that is in force and told. Neither may block. nil: nothing is adjusted.
	Adjust func(now, next *app.Config) (out *app.Config, after func())
}

// Introduction is what the first run tells (POST /api/onboarding).
type Introduction struct {
	UserName, AssistantName, Timezone, Location, Professional, Personal, Persona string
	DailyBrief                                                                   bool
}

// Invalid refuses values; each problem names its place.
type Invalid struct{ Problems []app.FieldError }

func (e *Invalid) Error() string { return "The settings have values that cannot be used." }

// Service is the configuration as other rooms see it.
type Service struct {
	o   Options
	ref act.Ref
}

// New starts the actor.
func New(sys *act.System, o Options) (*Service, error) {
	if o.Live == nil || o.File == nil || o.Journal == nil || o.NewID == nil {
		return nil, errors.New("config: Live, File, Journal and NewID are needed")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Service{o: o}
	s.ref = sys.Single("config", func() act.Behavior { return &actor{o: &s.o} })
	return s, nil
}

// Get is the configuration in force.
func (s *Service) Get() *app.Config { return s.o.Live.Get() }

// Patch merges a partial object and answers the configuration then in force. Errors: *Invalid, a *msg.Fault.
func (s *Service) Patch(ctx context.Context, partial json.RawMessage) (*app.Config, error) {
	return s.change(ctx, func(now *app.Config) (*app.Config, []app.FieldError) { return app.Merge(now, partial) }, nil)
}

// Put replaces the whole configuration.
func (s *Service) Put(ctx context.Context, full json.RawMessage) (*app.Config, error) {
	return s.change(ctx, func(*app.Config) (*app.Config, []app.FieldError) { return app.Replace(full) }, nil)
}

// FromFile applies a person's own edit of the file.
func (s *Service) FromFile(ctx context.Context, next *app.Config) error {
	_, err := act.Ask(ctx, s.ref, func(r *act.Reply[*app.Config]) any {
		return &command{reply: r, file: true, next: func(*app.Config) (*app.Config, []app.FieldError) { return next, nil }}
	})
	return err
}

// Onboard saves the first run's answers: configuration, workspace files, and what later rooms will take up.
func (s *Service) Onboard(ctx context.Context, in Introduction) error {
	patch := map[string]any{"assistant": onboarded(in)}
	if s.o.Introduce != nil {
		if err := s.o.Introduce(in); err != nil {
			s.o.Logger.Error("the workspace files could not be written", "reason", err.Error())
			return msg.NewFault(msg.Full, "What you said could not be saved in the workspace folder. Check the disk's space and the folder's permissions, then try again.")
		}
	}
	_, err := s.change(ctx, func(now *app.Config) (*app.Config, []app.FieldError) {
		b, _ := json.Marshal(patch)
		return app.Merge(now, b)
	}, s.pending(in))
	return err
}

func onboarded(in Introduction) map[string]any {
	m := map[string]any{"onboarding_complete": true, "user_name": in.UserName, "location": in.Location}
	if in.AssistantName != "" {
		m["name"] = in.AssistantName
	}
	if in.Timezone != "" {
		m["timezone"] = in.Timezone
	}
	return m
}

// pending keeps what memory and the daily brief will need.
func (s *Service) pending(in Introduction) (rows []journal.Row) {
	keep := func(kind string, v any) {
		rows = append(rows, journal.Row{Table: tablePending, Key: []byte(kind + "/" + s.o.NewID()), Value: wire.Marshal(v)})
	}
	facts := map[string]string{"user_name": in.UserName, "location": in.Location, "professional_context": in.Professional, "personal_context": in.Personal}
	keep("memory.onboarding", map[string]any{"source": "onboarding", "facts": facts})
	if in.DailyBrief {
		keep("brief.daily", map[string]any{"defaults": true})
	}
	return rows
}

func (s *Service) change(ctx context.Context, next func(*app.Config) (*app.Config, []app.FieldError), rows []journal.Row) (*app.Config, error) {
	return act.Ask(ctx, s.ref, func(r *act.Reply[*app.Config]) any { return &command{reply: r, next: next, rows: rows} })
}

type command struct {
	reply *act.Reply[*app.Config]
	next  func(now *app.Config) (*app.Config, []app.FieldError)
	rows  []journal.Row
	file  bool // it came from the file: nothing is written

	refused error // set by next when it wants no change
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
	c, ok := m.(*command)
	if !ok {
		return
	}
	now := a.o.Live.Get()
	next, problems := c.next(now)
	if c.refused != nil {
		c.reply.Fail(c.refused)
		return
	}
	if len(problems) > 0 {
		c.reply.Fail(&Invalid{problems})
		return
	}
	next, after := a.adjusted(c, now, next)
	if err := a.apply(c, next); err != nil {
		c.reply.Fail(err)
		return
	}
	if err := a.tell(app.Changed(now, next), c.rows); err != nil {
		a.o.Logger.Error("a change of the settings was not told", "reason", err.Error())
	}
	after()
	c.reply.OK(next)
}

// adjusted is what to save instead of next. What came from the file and is adjusted must be written there too.
func (a *actor) adjusted(c *command, now, next *app.Config) (*app.Config, func()) {
	if a.o.Adjust == nil {
		return next, func() {}
	}
	out, after := a.o.Adjust(now, next)
	if after == nil {
		after = func() {}
	}
	c.file = c.file && out == next
	return out, after
}

func (a *actor) apply(c *command, next *app.Config) error {
	persist := a.o.File.Save
	if c.file {
		persist = nil
	}
	err := a.o.Live.Apply(next, persist)
	var broken *app.BrokenError
	var refused *app.Refusal
	switch {
	case err == nil:
		return nil
	case errors.As(err, &broken), errors.As(err, &refused):
		return msg.NewFault(msg.Conflict, err.Error())
	}
	a.o.Logger.Error("the settings were not saved", "reason", err.Error())
	return msg.NewFault(msg.Full, "The settings could not be saved. Check the disk's space and the permissions of config.yaml, then try again.")
}

// tell publishes what changed.
func (a *actor) tell(sections []string, rows []journal.Row) error {
	if len(sections) == 0 && len(rows) == 0 {
		return nil
	}
	in := journal.Append{Stream: stream, Expected: a.version, Rows: rows}
	if len(sections) > 0 {
		kept, shown := wire.DomainNote("config.updated", map[string]any{"sections": sections}, a.o.Now())
		in.Publish = []journal.Note{{Type: "config.updated", Data: kept, Live: bus.Event{Kind: "config.updated", Body: shown}}}
	}
	r, err := a.o.Journal.Append(context.Background(), in)
	if err == nil {
		a.version = r.Version
	}
	return err
}
