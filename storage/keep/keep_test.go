package keep

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var roomy = Limits{FileBytes: 5 << 20, TotalBytes: 25 << 20, Files: 500}

func place(t *testing.T) (k *Keep, root string) {
	t.Helper()
	root = t.TempDir()
	k, err := Open(filepath.Join(t.TempDir(), "snapshots"))
	if err != nil {
		t.Fatal(err)
	}
	return k, root
}

func put(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func tree(root string) string {
	var b strings.Builder
	_ = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			text, _ := os.ReadFile(p)
			st, _ := d.Info()
			rel, _ := filepath.Rel(root, p)
			fmt.Fprintf(&b, "%s %o %q\n", rel, st.Mode().Perm(), text)
		}
		return nil
	})
	return b.String()
}

// a changed and a deleted file come back as they were; copies of unchanged ones go; what was made stays.
func TestPutBack(t *testing.T) {
	k, root := place(t)
	for _, n := range []string{"a.txt", "b.txt", "sub/c.txt"} {
		put(t, filepath.Join(root, n), "was "+n)
	}
	_ = os.Chmod(filepath.Join(root, "a.txt"), 0o600)
	s, err := k.Before("s1", nil, []string{root}, roomy)
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(root, "a.txt"), "is other")
	_ = os.RemoveAll(filepath.Join(root, "sub"))
	put(t, filepath.Join(root, "new.txt"), "new")
	r, err := k.After(s)
	if err != nil || len(r.Files) != 2 || len(r.Created) != 1 || r.Files[0].Change != "changed" || r.Files[1].Change != "deleted" {
		t.Fatalf("%+v %v", r, err)
	}
	if list, _ := os.ReadDir(k.folder("s1")); len(list) != 3 { // the manifest and two copies
		t.Fatal(list)
	}
	if n, err := k.Restore("s1", r.Files); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	if got := tree(root); got != "a.txt 600 \"was a.txt\"\nb.txt 644 \"was b.txt\"\nnew.txt 644 \"new\"\nsub/c.txt 644 \"was sub/c.txt\"\n" {
		t.Fatal(got)
	}
	if err := k.Remove("s1"); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Restore("s1", r.Files); err != ErrGone {
		t.Fatal(err)
	}
}

// what gets no copy, and why; too much means nothing at all.
func TestLimits(t *testing.T) {
	k, root := place(t)
	put(t, filepath.Join(root, "big.txt"), strings.Repeat("x", 100))
	put(t, filepath.Join(root, "picture.PNG"), "x")
	put(t, filepath.Join(root, "binary.dat"), "a\x00b")
	put(t, filepath.Join(root, ".git/config"), "x")
	put(t, filepath.Join(root, "node_modules/x.js"), "x")
	put(t, filepath.Join(root, "ok.txt"), "x")
	_ = os.Symlink("/etc/passwd", filepath.Join(root, "link"))
	s, err := k.Before("s1", nil, []string{root}, Limits{FileBytes: 50, TotalBytes: 1000, Files: 10})
	if err != nil {
		t.Fatal(err)
	}
	notes := map[string]string{}
	for _, e := range s.Entries {
		rel, _ := filepath.Rel(root, e.Path)
		notes[rel] = e.Note
	}
	if len(notes) != 4 || notes["ok.txt"] != "" || notes["big.txt"] != "Too big to keep a copy" || notes["picture.PNG"] == "" || notes["binary.dat"] == "" {
		t.Fatalf("%v", notes)
	}
	for name, l := range map[string]Limits{"files": {FileBytes: 50, TotalBytes: 1000, Files: 1}, "bytes": {FileBytes: 50, TotalBytes: 3, Files: 10}} {
		s, err := k.Before(name, nil, []string{root}, l)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range s.Entries {
			if e.Copy != "" || e.Note != TooMany {
				t.Errorf("%s: a part was copied: %+v", name, e)
			}
		}
		put(t, filepath.Join(root, "ok.txt"), name)
		if r, _ := k.After(s); len(r.Files) != 1 || r.Files[0].Note != TooMany {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// One file that is not there yet is one that the call makes.
func TestAFileThatWasNotThere(t *testing.T) {
	k, root := place(t)
	path := filepath.Join(root, "a.txt")
	s, err := k.Before("s1", []string{path}, nil, roomy)
	if err != nil {
		t.Fatal(err)
	}
	put(t, path, "x")
	if r, _ := k.After(s); len(r.Files) != 0 || len(r.Created) != 1 {
		t.Fatalf("%+v", r)
	}
	for _, id := range []string{"", "../x", "a/b", ".x", "s1"} { // no id, or one that is taken
		if _, err := k.Before(id, []string{path}, nil, roomy); err == nil {
			t.Errorf("%q was taken", id)
		}
	}
}

// A set that a kill left is read again: one without its manifest had no call.
func TestLoad(t *testing.T) {
	k, root := place(t)
	put(t, filepath.Join(root, "a.txt"), "x")
	if _, err := k.Before("whole", []string{filepath.Join(root, "a.txt")}, nil, roomy); err != nil {
		t.Fatal(err)
	}
	_ = os.Mkdir(k.folder("cut"), 0o700)
	_ = os.Mkdir(k.folder("torn"), 0o700)
	put(t, filepath.Join(k.folder("torn"), manifest), `{"id":"torn","made":tr`)
	for id, want := range map[string]bool{"whole": true, "cut": false, "torn": false, "none": false} {
		s, ok, err := k.Load(id)
		if ok != want || err != nil || ok && len(s.Entries) != 1 {
			t.Errorf("%s: %v %v", id, ok, err)
		}
	}
	if ids, err := k.IDs(); len(ids) != 3 || err != nil {
		t.Error(ids, err)
	}
}

// Whatever a call does to text files, putting back makes them what they were, and putting that back makes them what they became.
func TestThereAndBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		root, dir := t.TempDir(), t.TempDir()
		k, _ := Open(dir)
		names := []string{"a", "b", "d/c"}
		for _, n := range names {
			if rapid.Bool().Draw(rt, "has "+n) {
				put(t, filepath.Join(root, n), rapid.StringMatching("[a-z]{0,5}").Draw(rt, n))
			}
		}
		before := tree(root)
		s, err := k.Before("1", nil, []string{root}, roomy)
		if err != nil {
			rt.Fatal(err)
		}
		for _, n := range names {
			p := filepath.Join(root, n)
			if _, err := os.Stat(p); err != nil {
				continue
			}
			switch rapid.IntRange(0, 2).Draw(rt, "do "+n) {
			case 0:
				_ = os.Remove(p)
			case 1:
				put(t, p, rapid.StringMatching("[a-z]{0,5}").Draw(rt, "new "+n))
			}
		}
		after := tree(root)
		r, err := k.After(s)
		if err != nil {
			rt.Fatal(err)
		}
		var paths []string
		for _, e := range r.Files {
			paths = append(paths, e.Path)
		}
		back, err := k.Before("2", paths, nil, roomy)
		if err != nil {
			rt.Fatal(err)
		}
		if _, err := k.Restore("1", r.Files); err != nil {
			rt.Fatal(err)
		}
		if got := tree(root); got != before {
			rt.Fatalf("was %s, put back %s", before, got)
		}
		r2, err := k.After(back)
		if err != nil {
			rt.Fatal(err)
		}
		if _, err := k.Restore("2", r2.Files); err != nil {
			rt.Fatal(err)
		}
		for _, made := range r2.Created {
			_ = os.Remove(made)
		}
		if got := tree(root); got != after {
			rt.Fatalf("was %s, put back twice %s", after, got)
		}
	})
}
