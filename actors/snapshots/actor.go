package snapshots

import (
	"context"
	"errors"

	"sentient/actors/msg"
	pb "sentient/proto/snapshots"
	"sentient/runtime/act"
	"sentient/storage/journal"
	"sentient/storage/keep"
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

// begin marks a restore as running, before anything is written.
func (s *Service) begin(ctx context.Context, id string) (*pb.SnapshotRow, error) {
	return s.ask(ctx, func(r journal.Reader) (*pb.SnapshotRow, []journal.Row, error) {
		row, ok, err := s.rows.Get(r, []byte(id))
		switch {
		case err != nil:
			return nil, nil, err
		case !ok:
			return nil, nil, errNothing
		case row.RestoredAt != 0:
			return nil, nil, errDone
		case row.RestoringAt != 0:
			return nil, nil, errDoing
		}
		if why := unrestorable(filesOf(row)); why != nil {
			return nil, nil, why
		}
		row.RestoringAt = s.o.Now().UnixMicro()
		return row, []journal.Row{s.rows.Put(row)}, nil
	})
}

// unrestorable says why no file of a snapshot can be put back; nil when one can.
func unrestorable(files []keep.Entry) error {
	note := ""
	for _, f := range files {
		if f.Copy != "" {
			return nil
		}
		note = f.Note
	}
	if note != "" {
		return msg.NewFault(msg.Conflict, note)
	}
	return errNothing
}

// end ends a restore: done only once every file is back.
func (s *Service) end(ctx context.Context, id string, done bool) error {
	_, err := s.ask(ctx, func(r journal.Reader) (*pb.SnapshotRow, []journal.Row, error) {
		row, ok, err := s.rows.Get(r, []byte(id))
		if err != nil || !ok {
			return nil, nil, err
		}
		row.RestoringAt = 0
		if done {
			row.RestoredAt = s.o.Now().UnixMicro()
		}
		return row, []journal.Row{s.rows.Put(row)}, nil
	})
	return err
}
