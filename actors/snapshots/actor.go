package snapshots

import (
	"context"
	"errors"

	"sentient/actors/msg"
	pb "sentient/proto/snapshots"
	"sentient/runtime/act"
	"sentient/storage/journal"
)

// actor is the one writer of the rows; all state is in them.
type actor struct {
	s       *Service
	version uint64
}

type command struct {
	reply *act.Reply[*pb.SnapshotRow]
	fn    func(journal.Reader) (*pb.SnapshotRow, []journal.Row, error)
}

func (a *actor) Start(*act.Ctx) error {
	l, err := a.s.o.Journal.Load(context.Background(), stream)
	a.version = l.Version
	return err
}

func (a *actor) Stop(*act.Ctx) {}

func (a *actor) Receive(_ *act.Ctx, m any) {
	c, ok := m.(*command)
	if !ok {
		return
	}
	row, err := a.do(c)
	if err != nil {
		c.reply.Fail(err)
		return
	}
	c.reply.OK(row)
}

func (a *actor) do(c *command) (*pb.SnapshotRow, error) {
	r, err := a.s.o.Journal.Read()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	row, rows, err := c.fn(r)
	if err != nil || len(rows) == 0 {
		return row, err
	}
	got, err := a.s.o.Journal.Append(context.Background(), journal.Append{Stream: stream, Expected: a.version, Rows: rows})
	var conflict *journal.ConflictError
	if errors.As(err, &conflict) {
		panic(err) // another writer: start again from what is on disk
	}
	if err == nil {
		a.version = got.Version
	}
	return row, err
}

func (s *Service) ask(ctx context.Context, fn func(journal.Reader) (*pb.SnapshotRow, []journal.Row, error)) (*pb.SnapshotRow, error) {
	row, err := act.Ask(ctx, s.ref, func(r *act.Reply[*pb.SnapshotRow]) any { return &command{r, fn} })
	switch {
	case errors.Is(err, journal.ErrFull):
		err = msg.ErrDiskFull
	case errors.Is(err, journal.ErrClosed), errors.Is(err, act.ErrStopping):
		err = msg.ErrStopping
	}
	return row, err
}

func (s *Service) put(row *pb.SnapshotRow) error {
	_, err := s.ask(context.Background(), func(journal.Reader) (*pb.SnapshotRow, []journal.Row, error) {
		return row, []journal.Row{s.rows.Put(row)}, nil
	})
	return err
}
