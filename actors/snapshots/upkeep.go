package snapshots

import (
	"context"
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
	for row, err := range s.rows.Scan(r, table.Query{}) {
		if err != nil {
			return nil, err
		}
		list = append(list, row)
	}
	return list, nil
}

// Repair ends what a crash cut, at start and before any call is guarded: a restore that had begun can be done again; copies whose
// call never ended are held against the files as they are now; what no row needs goes.
func (s *Service) Repair(ctx context.Context) error {
	rows, err := s.all()
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, row := range rows {
		known[row.Id] = true
		if row.RestoringAt != 0 {
			if err := s.end(ctx, row.Id, false); err != nil {
				return err
			}
		}
	}
	ids, err := s.o.Store.IDs()
	if err != nil {
		return err
	}
	for _, id := range ids {
		if known[id] {
			continue
		}
		set, ok, err := s.o.Store.Load(id)
		if err != nil {
			return err
		}
		if !ok { // its call had not begun
			_ = s.o.Store.Remove(id)
			continue
		}
		s.ended(Call{ID: id, Source: "files"}, set)
	}
	return nil
}

// Prune removes copies that are older than keep_days, and the oldest while all take more than max_kept_mb.
func (s *Service) Prune(ctx context.Context) error {
	rows, err := s.all()
	if err != nil {
		return err
	}
	slices.SortFunc(rows, func(a, b *pb.SnapshotRow) int { return int(max(-1, min(1, b.At-a.At))) }) // newest first
	cfg := s.o.Config()
	oldest := s.o.Now().Add(-time.Duration(cfg.KeepDays) * 24 * time.Hour).UnixMicro()
	left := int64(cfg.MaxKeptMB) << 20
	for _, row := range rows {
		left -= row.Bytes
		if row.At >= oldest && left >= 0 || row.RestoringAt != 0 {
			continue
		}
		if err := s.remove(ctx, row.Id); err != nil {
			return err
		}
	}
	return nil
}

// remove forgets a snapshot: its row first, so that nothing offers what is not there.
func (s *Service) remove(ctx context.Context, id string) error {
	_, err := s.ask(ctx, func(journal.Reader) (*pb.SnapshotRow, []journal.Row, error) {
		return nil, []journal.Row{s.rows.Delete([]byte(id))}, nil
	})
	if err == nil {
		err = s.o.Store.Remove(id)
	}
	return err
}

// Serve prunes now and then until ctx ends.
func (s *Service) Serve(ctx context.Context) {
	for {
		if err := s.Prune(ctx); err != nil && ctx.Err() == nil {
			s.o.Logger.Error("old copies of files could not be removed", "reason", err.Error())
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(PruneEvery):
		}
	}
}
