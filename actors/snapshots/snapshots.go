// Package snapshots owns what is known of the copies that are kept before code changes files: which call changed what, whether it
// was put back, and when the copies go (section 10). The copies themselves are files (Store).
package snapshots

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

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
	// Before copies what a call may change. Errors: keep.ErrID, those of the disk.
	Before(id string, meta json.RawMessage, files, roots []string, l keep.Limits) (*keep.Set, error)
	After(s *keep.Set) keep.Result
	// Settle says that what a set's call changed is recorded, or that nothing did.
	Settle(id string) error
	// Restore puts copies back. Errors: keep.ErrGone, those of the disk.
	Restore(id string, files []keep.Entry) (int, error)
	// Sweep removes what a restore that was cut left beside the files.
	Sweep(id string, files []keep.Entry)
	// Load reads a set that is not settled.
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

// Sources of a snapshot.
const (
	Files    = "files"
	Terminal = "terminal"
	Code     = "code"
	Restored = "restore" // what a restore replaced
)

// Call is the call that may change files.
type Call struct {
	ID      string   `json:"id"` // as its model gave it: two calls may have the same
	Session string   `json:"session"`
	Tool    string   `json:"tool"`
	Source  string   `json:"source"`
	What    string   `json:"what"` // the command, the script or the file's name
	Files   []string `json:"-"`    // absolute paths
	Roots   []string `json:"-"`    // folders, absolute

	At int64 `json:"at"` // unix microseconds; set by Guard
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
	set, err := s.before(&c, s.limits())
	if err != nil {
		s.o.Logger.Warn("no copies of files were kept before a call", "tool", c.Tool, "reason", plain(err))
		return func() {}
	}
	return sync.OnceFunc(func() { s.ended(c, set) })
}

// before makes the set of a call, under the call's own id when that is free and fit for it, else under a fresh one.
func (s *Service) before(c *Call, l keep.Limits) (*keep.Set, error) {
	c.At = s.o.Now().UnixMicro()
	meta, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	row, err := s.Get(c.ID)
	if err != nil {
		return nil, err
	}
	if row == nil && c.ID != "" {
		set, err := s.o.Store.Before(c.ID, meta, c.Files, c.Roots, l)
		if !errors.Is(err, keep.ErrID) {
			return set, err
		}
	}
	return s.o.Store.Before(s.o.NewID(), meta, c.Files, c.Roots, l)
}

// ended records what a call changed. When that cannot be done now, the next start does it (Repair): the copies stay.
func (s *Service) ended(c Call, set *keep.Set) {
	r := s.o.Store.After(set)
	if !r.Changed() {
		if err := s.o.Store.Remove(set.ID); err != nil {
			s.o.Logger.Error("copies that nobody needs could not be removed", "tool", c.Tool, "reason", plain(err))
		}
		return
	}
	err := s.put(s.row(c, set.ID, r))
	if err == nil {
		err = s.o.Store.Settle(set.ID)
	}
	if err != nil {
		s.o.Logger.Error("what a call changed could not be recorded", "tool", c.Tool, "reason", plain(err))
	}
}

func (s *Service) row(c Call, id string, r keep.Result) *pb.SnapshotRow {
	files, _ := json.Marshal(r.Files)
	return &pb.SnapshotRow{Id: id, Call: c.ID, Session: c.Session, Tool: c.Tool, Source: c.Source, What: c.What, At: c.At, Files: files, Created: r.Created, Notes: r.Notes,
		Bytes: s.o.Store.Bytes(id)}
}

func filesOf(r *pb.SnapshotRow) (list []keep.Entry) {
	_ = json.Unmarshal(r.Files, &list)
	return list
}

// Message says how many files were put back.
func Message(n int) string {
	if n == 1 {
		return "Put back 1 file."
	}
	return fmt.Sprintf("Put back %d files.", n)
}

// Get is a snapshot's row by its own id; nil when there is none.
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
