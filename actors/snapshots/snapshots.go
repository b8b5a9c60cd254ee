// Package snapshots owns what is known of the copies that are kept before code changes files: which call changed what, whether it
// was put back, and when the copies go (section 10). The copies themselves are files (Store).
package snapshots

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"sentient/actors/msg"
	pb "sentient/proto/snapshots"
	"sentient/runtime/act"
	"sentient/runtime/app"
	"sentient/storage/journal"
	"sentient/storage/keep"
	"sentient/storage/table"
)

const stream journal.Stream = "snapshots/main"

const tableRows = "file_snapshots"

// Store holds the copies (storage/keep).
type Store interface {
	Before(id string, files, roots []string, l keep.Limits) (*keep.Set, error)
	After(s *keep.Set) (keep.Result, error)
	Restore(id string, files []keep.Entry) (int, error)
	Load(id string) (*keep.Set, bool, error)
	IDs() ([]string, error)
	Remove(id string) error
	Bytes(id string) int64
}

// Options of the room.
type Options struct {
	Journal journal.Journal
	Store   Store
	Config  func() app.ToolsSnapshots
	NewID   func() string
	Now     func() time.Time
	Logger  *slog.Logger
}

// Service is the snapshots as other rooms see them.
type Service struct {
	o    Options
	rows *table.Table[*pb.SnapshotRow]
	ref  act.Ref
}

// New starts the actor.
func New(sys *act.System, o Options) (*Service, error) {
	if o.Journal == nil || o.Store == nil || o.Config == nil || o.NewID == nil {
		return nil, errors.New("snapshots: Journal, Store, Config and NewID are needed")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	encode, decode := table.Proto[pb.SnapshotRow, *pb.SnapshotRow]()
	s := &Service{o: o, rows: table.New(table.Options[*pb.SnapshotRow]{Name: tableRows, Encode: encode, Decode: decode, Key: func(r *pb.SnapshotRow) []byte { return []byte(r.Id) }})}
	s.ref = sys.Single("snapshots", func() act.Behavior { return &actor{s: s} })
	return s, nil
}

// Call is the call that may change files.
type Call struct {
	ID, Session, Tool string
	Source            string // files, terminal, code
	What              string // the command, the script or the file's name
	Files             []string
	Roots             []string
}

func (s *Service) limits() keep.Limits {
	c := s.o.Config()
	return keep.Limits{FileBytes: int64(c.MaxFileMB) << 20, TotalBytes: int64(c.MaxTotalMB) << 20, Files: c.MaxFiles}
}

// Guard keeps copies of what a call may change. The function it gives must be called when the call has ended, however it did: what
// did not change is dropped, and what did can be put back. It never stops a call: where no copy can be made, the log says why.
func (s *Service) Guard(c Call) (finish func()) {
	if !s.o.Config().Enabled || len(c.Files)+len(c.Roots) == 0 {
		return func() {}
	}
	set, err := s.o.Store.Before(c.ID, c.Files, c.Roots, s.limits())
	if err != nil {
		s.o.Logger.Warn("no copies of files were kept before a call", "tool", c.Tool, "reason", err.Error())
		return func() {}
	}
	return func() { s.ended(c, set) }
}

// ended records what a call changed. When that cannot be done now, the next start does it (Repair): the copies stay.
func (s *Service) ended(c Call, set *keep.Set) {
	r, err := s.o.Store.After(set)
	if err != nil {
		s.o.Logger.Error("what a call changed could not be read", "tool", c.Tool, "reason", err.Error())
		return
	}
	if !r.Changed() {
		_ = s.o.Store.Remove(set.ID)
		return
	}
	if err := s.put(s.row(c, set.ID, r)); err != nil {
		s.o.Logger.Error("what a call changed could not be recorded", "tool", c.Tool, "reason", err.Error())
	}
}

func (s *Service) row(c Call, id string, r keep.Result) *pb.SnapshotRow {
	files, _ := json.Marshal(r.Files)
	return &pb.SnapshotRow{Id: id, Session: c.Session, Tool: c.Tool, Source: c.Source, What: c.What, At: s.o.Now().UnixMicro(), Files: files, Created: r.Created, Notes: r.Notes,
		Bytes: s.o.Store.Bytes(id)}
}

func filesOf(r *pb.SnapshotRow) (list []keep.Entry) {
	_ = json.Unmarshal(r.Files, &list)
	return list
}

// Refusals of Restore.
var (
	errNothing = msg.NewFault(msg.Conflict, "There is nothing to put back.")
	errDone    = msg.NewFault(msg.Conflict, "This was put back already.")
	errDoing   = msg.NewFault(msg.Conflict, "This is being put back right now.")
	errGone    = msg.NewFault(msg.Conflict, "The copies are gone, so this can't be put back anymore.")
)

// Restore puts the files of a snapshot back and says how many. What they replace is copied first, so it can be undone like any
// other change. Errors: a msg.Conflict fault.
func (s *Service) Restore(ctx context.Context, id string) (n int, err error) {
	row, err := s.begin(ctx, id)
	if err != nil {
		return 0, err
	}
	files := filesOf(row)
	var paths []string
	for _, f := range files {
		if f.Copy != "" {
			paths = append(paths, f.Path)
		}
	}
	finish := s.Guard(Call{ID: s.o.NewID(), Session: row.Session, Tool: row.Tool, Source: "restore", What: row.What, Files: paths})
	n, err = s.o.Store.Restore(id, files)
	finish()
	if err != nil {
		if fail := s.end(ctx, id, false); fail != nil {
			s.o.Logger.Error("a failed restore is still marked as running", "reason", fail.Error())
		}
		if errors.Is(err, keep.ErrGone) {
			return 0, errGone
		}
		s.o.Logger.Error("files could not be put back", "reason", err.Error())
		return n, msg.NewFault(msg.Conflict, "Not everything could be put back. Check that the folder can be written to, then try again.")
	}
	return n, s.end(ctx, id, true)
}

// Message says how many files were put back.
func Message(n int) string {
	if n == 1 {
		return "Put back 1 file."
	}
	return fmt.Sprintf("Put back %d files.", n)
}

// Get is a snapshot's row; nil when there is none.
func (s *Service) Get(id string) (*pb.SnapshotRow, error) {
	r, err := s.o.Journal.Read()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	row, ok, err := s.rows.Get(r, []byte(id))
	if err != nil || !ok {
		return nil, err
	}
	return row, nil
}
