package snapshots

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	pb "sentient/proto/snapshots"
	"sentient/storage/journal"
	"sentient/storage/table"
)

// PruneEvery is how often copies that are too old or too many are looked for.
const PruneEvery = 6 * time.Hour

func (s *Service) all() (list []*pb.SnapshotRow, err error) {
	r, err := s.o.Journal.Read()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for row, err := range s.rows.Scan(r, table.Query{Whole: true}) {
		if err != nil {
			return nil, err
		}
		list = append(list, row)
	}
	return list, nil
}

// Repair ends what a crash cut, at start and before any call is guarded: a restore that had begun can be done again; copies whose
// call never ended are held against the files as they are now; what no row needs goes. Errors are those of the journal: copies
// that cannot be read or removed are left where they are, and the log says so.
func (s *Service) Repair(ctx context.Context) error {
	rows, err := s.all()
	var damage *journal.CorruptError
	if errors.As(err, &damage) { // a copy whose row cannot be read must not go
		s.o.Logger.Error("some copies of files could not be looked after", "reason", "the store is damaged there")
		return nil
	}
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, row := range rows {
		known[row.Id] = true
		if row.RestoringAt != 0 {
			s.o.Store.Sweep(row.Id, filesOf(row))
			if err := s.end(ctx, row.Id, false); err != nil {
				return err
			}
		}
	}
	ids, err := s.o.Store.IDs()
	for _, id := range ids {
		err = errors.Join(err, s.repairSet(id, known[id]))
	}
	if err != nil {
		s.o.Logger.Error("some copies of files could not be looked after", "reason", plain(err))
	}
	return nil
}

// repairSet: a set with a row is settled; one without, whose call was cut, is ended now; any other is rubbish.
func (s *Service) repairSet(id string, known bool) error {
	set, open, err := s.o.Store.Load(id)
	switch {
	case err != nil:
		return err
	case known && open:
		return s.o.Store.Settle(id)
	case known:
		return nil
	case !open:
		return s.o.Store.Remove(id)
	}
	c := Call{Source: Files}
	_ = json.Unmarshal(set.Meta, &c)
	s.ended(c, set)
	return nil
}

// Prune removes copies that are older than keep_days, and the oldest while all take more than max_kept_mb.
func (s *Service) Prune(ctx context.Context) error {
	rows, err := s.all()
	if err != nil {
		return err
	}
	slices.SortFunc(rows, func(a, b *pb.SnapshotRow) int { return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(b.Id, a.Id)) }) // newest first
	cfg := s.o.Config()
	oldest := s.o.Now().Add(-time.Duration(cfg.KeepDays) * 24 * time.Hour).UnixMicro()
	left := int64(cfg.MaxKeptMB) << 20
	for _, row := range rows {
		left -= row.Bytes
		if row.At >= oldest && left >= 0 {
			continue
		}
		if err := s.remove(ctx, row.Id); err != nil {
			return err
		}
	}
	return nil
}

// remove forgets a snapshot, unless it is being put back: its row first, so that nothing offers what is not there.
func (s *Service) remove(ctx context.Context, id string) error {
	row, err := s.ask(ctx, func(r journal.Reader) (*pb.SnapshotRow, []journal.Row, error) {
		row, ok, err := s.rows.Get(r, []byte(id))
		if err != nil || !ok || row.RestoringAt != 0 {
			return nil, nil, err
		}
		return row, []journal.Row{s.rows.Delete([]byte(id))}, nil
	})
	if err != nil || row == nil {
		return err
	}
	return s.o.Store.Remove(id)
}

// Serve prunes now and then until ctx ends.
func (s *Service) Serve(ctx context.Context) {
	for {
		if err := s.Prune(ctx); err != nil && ctx.Err() == nil {
			s.o.Logger.Error("old copies of files could not be removed", "reason", plain(err))
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(PruneEvery):
		}
	}
}
