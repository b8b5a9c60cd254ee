// Package grants owns the yeses that are wider than one call and one chat: "Allow for this task" and "Allow for 1 hour". A grant
// counts from the moment it is on disk until it is revoked or its time is up; the gate reads them without asking this room.
package grants

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"sentient/actors/msg"
	"sentient/actors/wire"
	pb "sentient/proto/grants"
	"sentient/runtime/act"
	"sentient/runtime/bus"
	"sentient/storage/journal"
	"sentient/storage/table"
)

const stream journal.Stream = "grants/main"

const (
	tableRows    = "approval_grants"
	eventUpdated = "approval_grants.updated"
	maxGrants    = 1000 // in force at once: more are a fault of a client
)

// Options of the room.
type Options struct {
	Journal journal.Journal
	Now     func() time.Time
}

// Service is the grants as other rooms and the edge see them.
type Service struct {
	o     Options
	rows  *table.Table[*pb.GrantRow]
	ref   act.Ref
	force atomic.Pointer[[]msg.Grant] // those in force, newest first; replaced whole after each commit
}

// New reads the grants and starts the actor.
func New(sys *act.System, o Options) (*Service, error) {
	if o.Journal == nil {
		return nil, errors.New("grants: Journal is needed")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	encode, decode := table.Proto[pb.GrantRow, *pb.GrantRow]()
	s := &Service{o: o, rows: table.New(table.Options[*pb.GrantRow]{Name: tableRows, Encode: encode, Decode: decode,
		Key: func(r *pb.GrantRow) []byte { return []byte(r.Id) }})}
	none := []msg.Grant{}
	s.force.Store(&none)
	s.ref = sys.Single("grants", func() act.Behavior { return &actor{s: s} })
	var damage *journal.CorruptError
	if _, _, err := s.load(); errors.As(err, &damage) {
		return s, nil // none is in force, so everything is asked; new ones are refused
	}
	_, err := ask(context.Background(), s, func(*actor) (bool, error) { return true, nil })
	return s, err
}

// Grants are those in force. One whose time is up since may still be listed: who reads it compares the time.
func (s *Service) Grants() []msg.Grant { return *s.force.Load() }

// List is GET /api/approvals/grants: newest first, without those whose time is up.
func (s *Service) List() []msg.Grant {
	list := []msg.Grant{}
	now := s.o.Now()
	for _, g := range s.Grants() {
		if !over(g, now) {
			list = append(list, g)
		}
	}
	return list
}

// Grant keeps a yes. The same id is kept once, also when it was revoked since.
func (s *Service) Grant(ctx context.Context, g msg.Grant) error {
	switch {
	case g.ID == "" || g.Tool == "":
		return msg.NewFault(msg.Invalid, "a grant needs an id and a tool")
	case g.Scope == msg.GrantTimed && g.ExpiresAt == nil, g.Scope == msg.GrantTask && (g.TaskID == nil || *g.TaskID == ""), g.Scope != msg.GrantTimed && g.Scope != msg.GrantTask:
		return msg.NewFault(msg.Invalid, "a grant is for a task, or for a time")
	}
	_, err := ask(ctx, s, func(a *actor) (bool, error) { return true, a.add(g) })
	return err
}

// Revoke ends a grant. Errors: a msg.NotFound fault.
func (s *Service) Revoke(ctx context.Context, id string) error {
	found, err := ask(ctx, s, func(a *actor) (bool, error) { return a.revoke(func(r *pb.GrantRow) bool { return r.Id == id }) })
	if err == nil && !found {
		err = msg.NewFault(msg.NotFound, "This permission doesn't exist (anymore).")
	}
	return err
}

// ForgetTask ends the grants of a task that was deleted.
func (s *Service) ForgetTask(ctx context.Context, task string) error {
	_, err := ask(ctx, s, func(a *actor) (bool, error) { return a.revoke(func(r *pb.GrantRow) bool { return r.TaskId == task }) })
	return err
}

func over(g msg.Grant, now time.Time) bool {
	return g.ExpiresAt != nil && !now.Before(g.ExpiresAt.Time)
}

func ask(ctx context.Context, s *Service, fn func(*actor) (bool, error)) (bool, error) {
	v, err := act.Ask(ctx, s.ref, func(r *act.Reply[bool]) any { return &command{r, fn} })
	switch {
	case errors.Is(err, journal.ErrFull):
		err = msg.ErrDiskFull
	case errors.Is(err, journal.ErrClosed), errors.Is(err, act.ErrStopping):
		err = msg.ErrStopping
	}
	return v, err
}

func updated(count int, now time.Time) journal.Note {
	kept, shown := wire.DomainNote(eventUpdated, map[string]int{"count": count}, now)
	return journal.Note{Type: eventUpdated, Data: kept, Live: bus.Event{Kind: eventUpdated, Body: shown}}
}

func wireOf(r *pb.GrantRow) msg.Grant {
	g := msg.Grant{ID: r.Id, Tool: r.Tool, Label: r.Label, App: r.App, Scope: r.Scope, Risk: r.Risk, Via: r.Via, CreatedAt: msg.Time{Time: time.UnixMicro(r.CreatedAt)}}
	if r.TaskId != "" {
		g.TaskID, g.TaskName = &r.TaskId, &r.TaskName
	}
	if r.ExpiresAt != 0 {
		g.ExpiresAt = &msg.Time{Time: time.UnixMicro(r.ExpiresAt)}
	}
	return g
}

func rowOf(g msg.Grant) *pb.GrantRow {
	r := &pb.GrantRow{Id: g.ID, Tool: g.Tool, Label: g.Label, App: g.App, Scope: g.Scope, Risk: g.Risk, Via: g.Via, CreatedAt: g.CreatedAt.UnixMicro()}
	if g.TaskID != nil {
		r.TaskId = *g.TaskID
	}
	if g.TaskName != nil {
		r.TaskName = *g.TaskName
	}
	if g.ExpiresAt != nil {
		r.ExpiresAt = g.ExpiresAt.UnixMicro()
	}
	return r
}
