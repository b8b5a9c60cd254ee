package snapshots

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sentient/actors/msg"
	"sentient/runtime/act"
	"sentient/runtime/app"
	"sentient/storage/journal"
	"sentient/storage/keep"
	"sentient/storage/memstore"
)

type rig struct {
	*Service
	t    *testing.T
	sys  *act.System
	j    *journal.Committer
	keep *keep.Keep
	dir  string // of the copies
	root string // of the files
	cfg  app.ToolsSnapshots
	now  time.Time
	n    int
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := rigIn(t, t.TempDir(), t.TempDir())
	t.Cleanup(r.close)
	return r
}

func rigIn(t *testing.T, dir, root string) *rig {
	t.Helper()
	dir = filepath.Join(dir, "snapshots")
	k, err := keep.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(context.Background(), journal.Options{Disk: memstore.New(), Memory: memstore.New()})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, j: j, keep: k, dir: dir, root: root, cfg: app.Default().Tools.Snapshots, now: time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)}
	r.open()
	return r
}

func (r *rig) close() {
	_ = r.sys.Close(context.Background())
	_ = r.j.Close(context.Background())
}

// open starts the room, as after a kill when it was open before.
func (r *rig) open() {
	if r.sys != nil {
		_ = r.sys.Close(context.Background())
	}
	r.sys = act.New(act.Options{})
	s, err := New(r.sys, Options{Journal: r.j, Store: r.keep, Config: func() app.ToolsSnapshots { return r.cfg }, Now: func() time.Time { return r.now },
		NewID: func() string { r.n++; return fmt.Sprintf("fresh%03d", r.n) }})
	if err != nil {
		r.t.Fatal(err)
	}
	r.Service = s
}

func (r *rig) write(text string) {
	r.t.Helper()
	if err := os.WriteFile(r.file(), []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) file() string { return filepath.Join(r.root, "a.txt") }

func (r *rig) read() string { b, _ := os.ReadFile(r.file()); return string(b) }

// change is a guarded call that writes text.
func (r *rig) change(id, text string) {
	finish := r.Guard(Call{ID: id, Session: "s", Tool: "file_write", Source: "files", What: "a.txt", Files: []string{r.file()}})
	r.write(text)
	finish()
}

func refusal(err error) string {
	var f *msg.Fault
	if errors.As(err, &f) && f.Kind == msg.Conflict {
		return f.Text
	}
	return ""
}

// A-1140: put back, once; what it replaced can be put back too.
func TestRestore(t *testing.T) {
	r := newRig(t)
	r.write("one")
	r.change("c1", "two")
	if n, err := r.Restore(t.Context(), "c1"); n != 1 || err != nil || r.read() != "one" {
		t.Fatal(n, err, r.read())
	}
	if _, err := r.Restore(t.Context(), "c1"); refusal(err) != "This was put back already." {
		t.Fatal(err)
	}
	if n, err := r.Restore(t.Context(), "fresh001"); n != 1 || err != nil || r.read() != "two" {
		t.Fatal(n, err, r.read())
	}
	if _, err := r.Restore(t.Context(), "none"); refusal(err) != "There is nothing to put back." {
		t.Fatal(err)
	}
}

// a call that changed nothing leaves nothing; switched off, nothing is kept.
func TestNothingToKeep(t *testing.T) {
	r := newRig(t)
	r.write("one")
	r.change("c1", "one")
	r.cfg.Enabled = false
	r.change("c2", "two")
	if ids, _ := r.keep.IDs(); len(ids) != 0 {
		t.Fatal(ids)
	}
	if row, _ := r.Get("c1"); row != nil {
		t.Fatal(row)
	}
}

// what has no copy says why.
func TestNoCopy(t *testing.T) {
	r := newRig(t)
	r.cfg.MaxFileMB = 0
	r.write("one")
	r.change("c1", "two")
	if _, err := r.Restore(t.Context(), "c1"); refusal(err) != "Too big to keep a copy" {
		t.Fatal(err)
	}
	r = newRig(t)
	r.cfg.MaxFiles = 0
	r.write("one")
	r.change("c1", "two")
	if _, err := r.Restore(t.Context(), "c1"); refusal(err) != "Too many files to keep a copy" {
		t.Fatal(err)
	}
	r = newRig(t)
	r.change("c1", "made")
	if _, err := r.Restore(t.Context(), "c1"); refusal(err) != "There is nothing to put back." {
		t.Fatal(err)
	}
}

// A kill between every step: copies whose call never ended are held against the files; a restore that had begun can be done again.
func TestRepair(t *testing.T) {
	r := newRig(t)
	r.write("one")
	_ = r.Guard(Call{ID: "c1", Files: []string{r.file()}})
	r.write("two") // killed here
	_ = r.Guard(Call{ID: "c2", Files: []string{filepath.Join(r.root, "other")}})
	r.open()
	if err := r.Repair(t.Context()); err != nil {
		t.Fatal(err)
	}
	if ids, _ := r.keep.IDs(); len(ids) != 1 || ids[0] != "c1" {
		t.Fatal(ids)
	}
	if _, err := r.begin(t.Context(), "c1"); err != nil { // killed in a restore
		t.Fatal(err)
	}
	if _, err := r.Restore(t.Context(), "c1"); refusal(err) != "This is being put back right now." {
		t.Fatal(err)
	}
	r.open()
	if err := r.Repair(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := r.Restore(t.Context(), "c1"); n != 1 || err != nil || r.read() != "one" {
		t.Fatal(n, err, r.read())
	}
}

// copies go when they are old, and the oldest when they are too many.
func TestPrune(t *testing.T) {
	r := newRig(t)
	for i, id := range []string{"c1", "c2", "c3"} {
		r.write("before " + id)
		r.now = r.now.Add(time.Duration(i) * 24 * time.Hour)
		r.change(id, "after "+id)
	}
	r.now = r.now.Add(5 * 24 * time.Hour) // c1 is 8 days old
	if err := r.Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	if ids, _ := r.keep.IDs(); len(ids) != 2 {
		t.Fatal(ids)
	}
	if _, err := r.Restore(t.Context(), "c1"); refusal(err) != "There is nothing to put back." {
		t.Fatal(err)
	}
	r.cfg.MaxKeptMB = 0
	if err := r.Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	if ids, _ := r.keep.IDs(); len(ids) != 0 {
		t.Fatal(ids)
	}
}
