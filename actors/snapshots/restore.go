package snapshots

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"sentient/actors/msg"
	pb "sentient/proto/snapshots"
	"sentient/storage/journal"
	"sentient/storage/keep"
	"sentient/storage/table"
)

// Refusals of Restore.
var (
	errNothing = msg.NewFault(msg.Conflict, "There is nothing to put back.")
	errDone    = msg.NewFault(msg.Conflict, "This was put back already.")
	errDoing   = msg.NewFault(msg.Conflict, "This is being put back right now.")
	errGone    = msg.NewFault(msg.Conflict, "The copies are gone, so this can't be put back anymore.")
	errWhich   = msg.NewFault(msg.Conflict, "Several changes go by this name, so nothing was put back.")
	errNoRoom  = msg.NewFault(msg.Conflict, "What is there now could not be copied first, so nothing was put back. Check that the disk has room and the file can be read, then try again.")
	errFailed  = msg.NewFault(msg.Conflict, "This can't be put back right now. Try again in a moment.")
	errPart    = msg.NewFault(msg.Conflict, "Not everything could be put back. Check that the folder can be written to, then try again.")
)

// Restore puts the files of a snapshot back and says how many. The name is the snapshot's id, or the id of its call where only one
// snapshot has it, or <chat>:<call>, of which the newest counts. What the files replace is copied first, whatever its size, so it
// can be undone like any other change. Once it has begun it goes on to its end. Errors: a msg.Conflict fault.
func (s *Service) Restore(ctx context.Context, name string) (n int, err error) {
	ctx = context.WithoutCancel(ctx)
	row, err := s.begin(ctx, name)
	if err != nil {
		return 0, s.refusal(err, errFailed)
	}
	n, err = s.putBack(row)
	if fail := s.end(ctx, row.Id, err == nil); fail != nil {
		err = errors.Join(err, fail)
	}
	return n, s.refusal(err, errPart)
}

// refusal is what a person is told: every failure is a conflict (A-1140), in words of its own where there are some.
func (s *Service) refusal(err error, other *msg.Fault) error {
	if err == nil {
		return nil
	}
	f, ok := msg.AsFault(err)
	switch {
	case ok && (f.Kind == msg.Conflict || f.Kind == msg.Stopping):
		return f
	case ok:
		return msg.NewFault(msg.Conflict, f.Text)
	}
	s.o.Logger.Error("files could not be put back", "reason", plain(err))
	return other
}

func (s *Service) putBack(row *pb.SnapshotRow) (int, error) {
	files := filesOf(row)
	c := Call{ID: s.o.NewID(), Session: row.Session, Tool: row.Tool, Source: Restored, What: row.What}
	for _, f := range files {
		if f.Copy != "" {
			c.Files = append(c.Files, f.Path)
		}
	}
	set, err := s.before(&c, keep.Limits{All: true})
	if err != nil {
		s.o.Logger.Error("what a restore replaces could not be copied", "reason", plain(err))
		return 0, errNoRoom
	}
	n, err := s.o.Store.Restore(row.Id, files)
	s.ended(c, set)
	if errors.Is(err, keep.ErrGone) {
		err = errGone
	}
	return n, err
}

// find is the snapshot that a name means.
func (s *Service) find(r journal.Reader, name string) (*pb.SnapshotRow, error) {
	chat, call, inChat := strings.Cut(name, ":")
	var found *pb.SnapshotRow
	for row, err := range s.rows.Scan(r, table.Query{}) {
		switch {
		case err != nil:
			return nil, err
		case inChat && row.Session == chat && row.Call == call && row.Source != Restored && (found == nil || row.At > found.At):
			found = row
		case row.Id == name, row.Call == name && row.Source != Restored:
			if found != nil {
				return nil, errWhich
			}
			found = row
		}
	}
	if found == nil {
		return nil, errNothing
	}
	return found, nil
}

// begin marks a restore as running, before anything is written.
func (s *Service) begin(ctx context.Context, name string) (*pb.SnapshotRow, error) {
	return s.ask(ctx, func(r journal.Reader) (*pb.SnapshotRow, []journal.Row, error) {
		row, err := s.find(r, name)
		switch {
		case err != nil:
			return nil, nil, err
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

// plain is an error without the names of a person's files.
func plain(err error) string {
	var p *fs.PathError
	var l *os.LinkError
	var n syscall.Errno
	switch {
	case errors.As(err, &p):
		return p.Op + ": " + p.Err.Error()
	case errors.As(err, &l):
		return l.Op + ": " + l.Err.Error()
	case errors.As(err, &n):
		return n.Error()
	}
	return err.Error()
}
