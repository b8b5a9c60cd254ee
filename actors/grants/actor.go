package grants

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"sentient/actors/msg"
	pb "sentient/proto/grants"
	"sentient/runtime/act"
	"sentient/storage/journal"
	"sentient/storage/table"
)

// actor is the shell: it appends, then lets the gate see what is on disk.
type actor struct {
	s       *Service
	c       *act.Ctx
	version uint64
	rows    map[string]*pb.GrantRow
	next    *act.Timer // the next grant whose time is up
}

type command struct {
	reply *act.Reply[bool]
	fn    func(*actor) (bool, error)
}

type timeIsUp struct{}

func (a *actor) Start(c *act.Ctx) error {
	a.c = c
	var err error
	if a.version, a.rows, err = a.s.load(); err != nil {
		return err
	}
	a.publish()
	return nil
}

// load reads the grants, all of them or none: with some missing, one that was revoked could be in force again.
func (s *Service) load() (version uint64, rows map[string]*pb.GrantRow, err error) {
	l, err := s.o.Journal.Load(context.Background(), stream)
	if err != nil {
		return 0, nil, err
	}
	r, err := s.o.Journal.Read()
	if err != nil {
		return 0, nil, err
	}
	defer r.Close()
	rows = map[string]*pb.GrantRow{}
	for row, err := range s.rows.Scan(r, table.Query{Whole: true}) {
		if err != nil {
			return 0, nil, err
		}
		rows[row.Id] = row
	}
	return l.Version, rows, nil
}

func (a *actor) Stop(*act.Ctx) {}

func (a *actor) Receive(_ *act.Ctx, m any) {
	switch m := m.(type) {
	case *command:
		v, err := m.fn(a)
		if err != nil {
			m.reply.Fail(err)
			return
		}
		m.reply.OK(v)
	case timeIsUp:
		_ = a.expire()
	}
}

func (a *actor) add(g msg.Grant) error {
	now := a.s.o.Now()
	if a.rows[g.ID] != nil || over(g, now) {
		return nil
	}
	if len(a.s.Grants()) >= maxGrants {
		return msg.NewFault(msg.Conflict, "There are too many permissions for now. Revoke some in Settings > Approvals & safety.")
	}
	return a.commit(rowOf(g))
}

// revoke ends the grants that which names; found says whether one was in force.
func (a *actor) revoke(which func(*pb.GrantRow) bool) (found bool, err error) {
	var ended []*pb.GrantRow
	for _, r := range a.rows {
		if !r.Revoked && which(r) && !over(wireOf(r), a.s.o.Now()) {
			ended = append(ended, &pb.GrantRow{Id: r.Id, Tool: r.Tool, Scope: r.Scope, TaskId: r.TaskId, ExpiresAt: r.ExpiresAt, Revoked: true})
		}
	}
	if len(ended) == 0 {
		return false, nil
	}
	return true, a.commit(ended...)
}

// expire forgets rows whose time is up, and says so.
func (a *actor) expire() error {
	var gone []*pb.GrantRow
	now := a.s.o.Now()
	for _, r := range a.rows {
		if r.ExpiresAt != 0 && over(wireOf(r), now) {
			gone = append(gone, r)
		}
	}
	if len(gone) == 0 {
		a.publish()
		return nil
	}
	rows := make([]journal.Row, len(gone))
	for i, r := range gone {
		rows[i] = a.s.rows.Delete([]byte(r.Id))
	}
	told := slices.ContainsFunc(gone, func(r *pb.GrantRow) bool { return !r.Revoked })
	return a.append(rows, told, func() {
		for _, r := range gone {
			delete(a.rows, r.Id)
		}
	})
}

func (a *actor) commit(changed ...*pb.GrantRow) error {
	rows := make([]journal.Row, len(changed))
	for i, r := range changed {
		rows[i] = a.s.rows.Put(r)
	}
	return a.append(rows, true, func() {
		for _, r := range changed {
			a.rows[r.Id] = r
		}
	})
}

// append makes a change real. The event's count is what is in force after it.
func (a *actor) append(rows []journal.Row, told bool, take func()) error {
	before := a.rows
	a.rows = make(map[string]*pb.GrantRow, len(before)+len(rows))
	for k, v := range before {
		a.rows[k] = v
	}
	take()
	now := a.s.o.Now()
	in := journal.Append{Stream: stream, Expected: a.version, Rows: rows}
	if told {
		in.Publish = []journal.Note{updated(len(a.inForce(now)), now)}
	}
	got, err := a.s.o.Journal.Append(context.Background(), in)
	var conflict *journal.ConflictError
	if errors.As(err, &conflict) {
		panic(err) // another writer: start again from what is on disk
	}
	if err != nil {
		a.rows = before
		a.publish()
		return err
	}
	a.version = got.Version
	a.publish()
	return nil
}

func (a *actor) inForce(now time.Time) []msg.Grant {
	list := []msg.Grant{}
	for _, r := range a.rows {
		if g := wireOf(r); !r.Revoked && !over(g, now) {
			list = append(list, g)
		}
	}
	slices.SortFunc(list, func(x, y msg.Grant) int {
		if c := y.CreatedAt.Compare(x.CreatedAt.Time); c != 0 {
			return c
		}
		return strings.Compare(y.ID, x.ID)
	})
	return list
}

// publish lets the gate see the grants in force, and waits for the next one's end.
func (a *actor) publish() {
	now := a.s.o.Now()
	list := a.inForce(now)
	a.s.force.Store(&list)
	a.next.Stop()
	a.next = nil
	var soonest time.Time
	for _, r := range a.rows {
		if r.ExpiresAt == 0 {
			continue
		}
		if t := time.UnixMicro(r.ExpiresAt); soonest.IsZero() || t.Before(soonest) {
			soonest = t
		}
	}
	if !soonest.IsZero() {
		a.next = a.c.After(max(soonest.Sub(now), time.Second/10), timeIsUp{})
	}
}
