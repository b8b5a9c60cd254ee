package stop

import (
	"context"
	"errors"

	"sentient/actors/msg"
	"sentient/actors/wire"
	pb "sentient/proto/stop"
	"sentient/runtime/act"
	"sentient/runtime/bus"
	"sentient/runtime/work"
	"sentient/storage/journal"
)

// actor owns the flag. That it decides in its mailbox also what the kill table is told keeps the two from ever disagreeing.
type actor struct {
	s       *Service
	version uint64
	row     *pb.StateRow
}

type command struct {
	reply *act.Reply[done]
	fn    func(*actor) (done, error)
}

// done is what became of a stop (with its cancelled jobs) or a resume.
type done struct {
	row  *pb.StateRow
	jobs *work.Stopping
	save error // the state counts, but only until the next start
}

func (a *actor) Start(*act.Ctx) error {
	l, err := a.s.o.Journal.Load(context.Background(), stream)
	if err != nil {
		return err
	}
	r, err := a.s.o.Journal.Read()
	if err != nil {
		return err
	}
	defer r.Close()
	row, ok, err := a.s.rows.Get(r, []byte(stateKey))
	if err != nil {
		return err
	}
	if !ok {
		row = first()
	}
	a.version, a.row = l.Version, row
	if w := a.s.o.Work; w.Epoch() > row.Epoch { // a stop that could not be saved still counts
		a.row = &pb.StateRow{Stopped: w.Stopped(), StoppedAt: row.StoppedAt, Source: row.Source, Epoch: w.Epoch()}
	}
	a.take(a.row)
	a.s.o.Work.Remember(a.row.Stopped, a.row.Epoch)
	return nil
}

func (a *actor) Stop(*act.Ctx) {}

func (a *actor) Receive(_ *act.Ctx, m any) {
	c, ok := m.(*command)
	if !ok {
		return
	}
	d, err := c.fn(a)
	if err != nil {
		c.reply.Fail(err)
		return
	}
	c.reply.OK(d)
}

// stop is the flag on disk, then every job cancelled. Only here the order of law 2 gives way: a stop that cannot be saved still
// stops, because it makes nothing wider.
func (a *actor) stop(source string) (done, error) {
	next := stopped(a.row, source, a.s.o.Now())
	err := a.keep(next, !a.row.Stopped)
	if err != nil {
		a.s.o.Bus.Publish(live(next, a.s))
	}
	a.take(next)
	return done{row: next, jobs: a.s.o.Work.Stop(next.Epoch), save: err}, nil
}

func (a *actor) resume(source string) (done, error) {
	next := resumed(a.row, source)
	if next != a.row {
		if err := a.keep(next, true); err != nil {
			return done{}, err
		}
		a.take(next)
	}
	a.s.o.Work.Resume()
	return done{row: next}, nil
}

func (a *actor) take(row *pb.StateRow) {
	a.row = row
	a.s.state.Store(row)
}

// keep writes the state, and says so to everybody when it changed for them.
func (a *actor) keep(row *pb.StateRow, told bool) error {
	in := journal.Append{Stream: stream, Expected: a.version, Rows: []journal.Row{a.s.rows.Put(row)}, Essential: true}
	if told {
		kept, shown := wire.DomainNote(eventUpdated, wireOf(row), a.s.o.Now())
		in.Publish = []journal.Note{{Type: eventUpdated, Data: kept, Live: bus.Event{Kind: eventUpdated, Body: shown}}}
	}
	got, err := a.s.o.Journal.Append(context.Background(), in)
	var conflict *journal.ConflictError
	if errors.As(err, &conflict) {
		panic(err) // another writer: start again from what is on disk
	}
	if err == nil {
		a.version = got.Version
	}
	return err
}

// live is the news of a state that could not be saved.
func live(row *pb.StateRow, s *Service) bus.Event {
	_, shown := wire.DomainNote(eventUpdated, wireOf(row), s.o.Now())
	return bus.Event{Kind: eventUpdated, Body: shown}
}

var errUnsaved = msg.NewFault(msg.Full, "Everything is stopped now, but that could not be saved: after a restart Sentient would start work again. Free some space on the disk, then press Stop everything once more.")
