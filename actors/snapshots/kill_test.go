package snapshots

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	pb "sentient/proto/snapshots"
)

type killed struct{}

// killAt does something and ends the world right before the n-th change on disk. Nothing of what the code would still do to
// clean up runs. It says whether the world ended.
func (r *rig) killAt(n int, do func()) (dead bool) {
	r.keep.Step = func(string) {
		if n--; n == 0 {
			panic(killed{})
		}
	}
	defer func() {
		r.keep.Step = nil
		if p := recover(); p != nil {
			if p != (killed{}) {
				panic(p)
			}
			dead = true
		}
	}()
	do()
	return false
}

// again starts the room after a kill.
func (r *rig) again() {
	r.t.Helper()
	r.open()
	if err := r.Repair(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	r.whole()
}

// whole: each set of copies has its row and each row its set, no call is open, and nothing lies about beside the files.
func (r *rig) whole() {
	r.t.Helper()
	rows, err := r.all()
	if err != nil {
		r.t.Fatal(err)
	}
	var named []string
	for _, row := range rows {
		named = append(named, row.Id)
		if row.RestoringAt != 0 {
			r.t.Errorf("%s is still being put back", row.Id)
		}
		if _, open, _ := r.keep.Load(row.Id); open {
			r.t.Errorf("the call of %s is still open", row.Id)
		}
	}
	ids, _ := r.keep.IDs()
	slices.Sort(ids)
	slices.Sort(named)
	if !slices.Equal(ids, named) {
		r.t.Errorf("copies of %v, rows of %v", ids, named)
	}
	list, _ := os.ReadDir(r.root)
	for _, f := range list {
		if strings.HasPrefix(f.Name(), ".put-back") {
			r.t.Errorf("%s was left", f.Name())
		}
	}
}

func (r *rig) put(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.root, name), []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// tree is what the folder holds, "a=one b=two".
func (r *rig) tree() string {
	list, _ := os.ReadDir(r.root)
	var all []string
	for _, f := range list {
		b, _ := os.ReadFile(filepath.Join(r.root, f.Name()))
		all = append(all, f.Name()+"="+string(b))
	}
	return strings.Join(all, " ")
}

// command is a guarded call that changes a and b, leaves c, and makes d.
func (r *rig) command(id string) {
	finish := r.Guard(Call{ID: id, Session: "s", Tool: "terminal_run", Source: Terminal, What: "x", Roots: []string{r.root}})
	r.put("a", "two")
	_ = os.Remove(filepath.Join(r.root, "b"))
	r.put("d", "new")
	finish()
}

func (r *rig) before() {
	for _, n := range []string{"a", "b", "c"} {
		r.put(n, "one")
	}
}

const (
	was     = "a=one b=one c=one"
	changed = "a=two c=one d=new"
	back    = "a=one b=one c=one d=new"
)

// A kill at every step of a guarded call: what it changed can be put back, or it had not begun.
func TestKilledInACall(t *testing.T) {
	for n := 1; ; n++ {
		r := newRig(t)
		r.before()
		dead := r.killAt(n, func() { r.command("c1") })
		if !dead {
			if n < 8 {
				t.Fatalf("only %d steps", n-1)
			}
			return
		}
		now := r.tree()
		r.again()
		row, err := r.Get("c1")
		if err != nil {
			t.Fatal(err)
		}
		switch now {
		case was:
			if row != nil {
				t.Errorf("step %d: a call that did not begin left %v", n, row)
			}
		case changed:
			if row == nil || row.Session != "s" || row.Source != Terminal || row.At != r.now.UnixMicro() {
				t.Fatalf("step %d: %v", n, row)
			}
			if k, err := r.Restore(t.Context(), "c1"); k != 2 || err != nil || r.tree() != back {
				t.Errorf("step %d: %d %v %s", n, k, err, r.tree())
			}
			r.whole()
		default:
			t.Fatalf("step %d: %s", n, now)
		}
	}
}

// What a person changes after the kill, in a file that the call had left alone, is not the call's.
func TestChangedAfterTheKill(t *testing.T) {
	r := newRig(t)
	r.before()
	_ = r.Guard(Call{ID: "c1", Session: "s", Source: Terminal, Roots: []string{r.root}})
	r.put("a", "two")
	set, _, err := r.keep.Load("c1")
	if err != nil {
		t.Fatal(err)
	}
	r.keep.After(set) // killed right after it
	r.put("c", "by hand")
	r.again()
	if n, err := r.Restore(t.Context(), "c1"); n != 1 || err != nil || r.tree() != "a=one b=one c=by hand" {
		t.Fatal(n, err, r.tree())
	}
}

// a kill at every step of a restore: it can be done again, each file is always whole, and what it replaced can be put back.
func TestKilledInARestore(t *testing.T) {
	for n := 1; ; n++ {
		r := newRig(t)
		r.before()
		r.command("c1")
		r.put("b", "three") // made again since
		dead := r.killAt(n, func() {
			if _, err := r.Restore(t.Context(), "c1"); err != nil {
				t.Error(err)
			}
		})
		for part := range strings.FieldsSeq(r.tree()) {
			name, text, _ := strings.Cut(part, "=")
			if !strings.HasPrefix(name, ".") && !slices.Contains([]string{"one", "two", "three", "new"}, text) {
				t.Errorf("step %d: half a file: %s", n, part)
			}
		}
		r.again()
		if row, _ := r.Get("c1"); dead == (row.RestoredAt != 0) {
			t.Fatalf("step %d: %v", n, row)
		}
		if dead {
			if k, err := r.Restore(t.Context(), "c1"); k != 2 || err != nil {
				t.Fatalf("step %d: %d %v", n, k, err)
			}
		}
		if r.tree() != back {
			t.Errorf("step %d: %s", n, r.tree())
		}
		r.undoAll()
		if got := r.tree(); got != "a=two b=three c=one d=new" {
			t.Errorf("step %d: put back, then undone: %s", n, got)
		}
		r.whole()
		if !dead {
			if n < 12 {
				t.Fatalf("only %d steps", n-1)
			}
			return
		}
	}
}

// undoAll undoes the restores, the newest first.
func (r *rig) undoAll() {
	r.t.Helper()
	rows, _ := r.all()
	rows = slices.DeleteFunc(rows, func(row *pb.SnapshotRow) bool { return row.Source != Restored || len(filesOf(row)) == 0 })
	slices.SortFunc(rows, func(a, b *pb.SnapshotRow) int { return strings.Compare(b.Id, a.Id) })
	for _, row := range rows {
		if _, err := r.Restore(r.t.Context(), row.Id); err != nil {
			r.t.Fatal(err)
		}
	}
}

// A kill at every step of the clean-up: what was forgotten never comes back as something else.
func TestKilledInPrune(t *testing.T) {
	for n := 1; ; n++ {
		r := newRig(t)
		r.before()
		r.command("c1")
		r.write("one")
		r.change("c2", "x")
		r.cfg.MaxKeptMB = 0
		dead := r.killAt(n, func() {
			if err := r.Prune(t.Context()); err != nil {
				t.Error(err)
			}
		})
		known, _ := r.all()
		r.again()
		if rows, _ := r.all(); len(rows) != len(known) {
			t.Errorf("step %d: %d rows, then %d", n, len(known), len(rows))
		}
		if err := r.Prune(t.Context()); err != nil {
			t.Fatal(err)
		}
		if ids, _ := r.keep.IDs(); len(ids) != 0 {
			t.Errorf("step %d: %v", n, ids)
		}
		if !dead {
			if n < 2 {
				t.Fatalf("only %d steps", n-1)
			}
			return
		}
	}
}
