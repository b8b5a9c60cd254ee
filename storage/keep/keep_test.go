package keep

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var roomy = Limits{FileBytes: 5 << 20, TotalBytes: 25 << 20, Files: 500}

func fresh(t *testing.T) (k *Keep, root string) {
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
	k, root := fresh(t)
	for _, n := range []string{"a.txt", "b.txt", "sub/c.txt"} {
		put(t, filepath.Join(root, n), "was "+n)
	}
	_ = os.Chmod(filepath.Join(root, "a.txt"), 0o600)
	s, err := k.Before("s1", nil, nil, []string{root}, roomy)
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(root, "a.txt"), "is other")
	_ = os.RemoveAll(filepath.Join(root, "sub"))
	put(t, filepath.Join(root, "new.txt"), "new")
	r := k.After(s)
	if len(r.Files) != 2 || len(r.Created) != 1 || r.Files[0].Change != "changed" || r.Files[1].Change != "deleted" {
		t.Fatalf("%+v", r)
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
	k, root := fresh(t)
	put(t, filepath.Join(root, "big.txt"), strings.Repeat("x", 100))
	put(t, filepath.Join(root, "picture.PNG"), "x")
	put(t, filepath.Join(root, "binary.dat"), "a\x00b")
	put(t, filepath.Join(root, ".git/config"), "x")
	put(t, filepath.Join(root, "node_modules/x.js"), "x")
	put(t, filepath.Join(root, "ok.txt"), "x")
	_ = os.Symlink("/etc/passwd", filepath.Join(root, "link"))
	s, err := k.Before("s1", nil, nil, []string{root}, Limits{FileBytes: 50, TotalBytes: 1000, Files: 10})
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
		s, err := k.Before(name, nil, nil, []string{root}, l)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range s.Entries {
			if e.Copy != "" || e.Note != TooMany {
				t.Errorf("%s: a part was copied: %+v", name, e)
			}
		}
		put(t, filepath.Join(root, "ok.txt"), name)
		if r := k.After(s); len(r.Files) != 1 || r.Files[0].Note != TooMany {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// One file that is not there yet is one that the call makes.
func TestAFileThatWasNotThere(t *testing.T) {
	k, root := fresh(t)
	path := filepath.Join(root, "a.txt")
	s, err := k.Before("s1", nil, []string{path}, nil, roomy)
	if err != nil {
		t.Fatal(err)
	}
	put(t, path, "x")
	if r := k.After(s); len(r.Files) != 0 || len(r.Created) != 1 {
		t.Fatalf("%+v", r)
	}
	for _, id := range []string{"", "../x", "a/b", ".x", "s1"} { // no id, or one that is taken
		if _, err := k.Before(id, nil, []string{path}, nil, roomy); err == nil {
			t.Errorf("%q was taken", id)
		}
	}
}

// A set that a kill left is read again: one without its manifest had no call.
func TestLoad(t *testing.T) {
	k, root := fresh(t)
	put(t, filepath.Join(root, "a.txt"), "x")
	if _, err := k.Before("whole", nil, []string{filepath.Join(root, "a.txt")}, nil, roomy); err != nil {
		t.Fatal(err)
	}
	_ = os.Mkdir(k.folder("cut"), 0o700)
	_ = os.Mkdir(k.folder("torn"), 0o700)
	put(t, filepath.Join(k.folder("torn"), manifest), `{"id":"torn","entries":[`)
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
		s, err := k.Before("1", nil, nil, []string{root}, roomy)
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
		r := k.After(s)
		var paths []string
		for _, e := range r.Files {
			paths = append(paths, e.Path)
		}
		back, err := k.Before("2", nil, paths, nil, Limits{All: true})
		if err != nil {
			rt.Fatal(err)
		}
		if _, err := k.Restore("1", r.Files); err != nil {
			rt.Fatal(err)
		}
		if got := tree(root); got != before {
			rt.Fatalf("was %s, put back %s", before, got)
		}
		r2 := k.After(back)
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

// A link that was put in the way never leads a file elsewhere, and nothing is written when one of the places is not what it was.
func TestLinksAreNotFollowed(t *testing.T) {
	k, root := fresh(t)
	first, second := filepath.Join(root, "a.txt"), filepath.Join(root, "sub", "b.txt")
	put(t, first, "was a")
	put(t, second, "was b")
	s, err := k.Before("s1", nil, []string{first, second}, nil, roomy)
	if err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	put(t, filepath.Join(outside, "b.txt"), "not yours")
	_ = os.RemoveAll(filepath.Dir(second))
	if err := os.Symlink(outside, filepath.Dir(second)); err != nil {
		t.Fatal(err)
	}
	put(t, first, "is a")
	r := k.After(s)
	if len(r.Files) != 2 {
		t.Fatalf("%+v", r)
	}
	if n, err := k.Restore("s1", r.Files); n != 0 || err == nil {
		t.Fatal(n, err)
	}
	for path, want := range map[string]string{filepath.Join(outside, "b.txt"): "not yours", first: "is a"} {
		if got, _ := os.ReadFile(path); string(got) != want {
			t.Errorf("%s holds %q", path, got)
		}
	}
	_ = os.Remove(filepath.Dir(second))
	if n, err := k.Restore("s1", r.Files); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	// A link in place of the file itself, and a folder there.
	for _, make := range []func() error{func() error { return os.Symlink(filepath.Join(outside, "b.txt"), first) }, func() error { return os.Mkdir(first, 0o700) }} {
		_ = os.Remove(first)
		if err := make(); err != nil {
			t.Fatal(err)
		}
		if n, err := k.Restore("s1", r.Files); n != 0 || err == nil {
			t.Fatal(n, err)
		}
	}
	// A folder given by a link is the folder it leads to.
	_ = os.Remove(first)
	put(t, first, "x")
	link := filepath.Join(t.TempDir(), "link")
	_ = os.Symlink(root, link)
	s2, err := k.Before("s2", nil, []string{filepath.Join(link, "a.txt")}, []string{link}, roomy)
	if err != nil || len(s2.Entries) != 2 || s2.Entries[0].Path != mustReal(t, first) {
		t.Fatalf("%+v %v", s2, err)
	}
}

func mustReal(t *testing.T, path string) string {
	t.Helper()
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return real
}

// A copy that is damaged is not written over anything.
func TestDamagedCopies(t *testing.T) {
	k, root := fresh(t)
	var paths []string
	for _, n := range []string{"a.txt", "b.txt"} {
		paths = append(paths, filepath.Join(root, n))
		put(t, paths[len(paths)-1], "was")
	}
	s, _ := k.Before("s1", nil, paths, nil, roomy)
	for _, p := range paths {
		put(t, p, "is")
	}
	r := k.After(s)
	put(t, filepath.Join(k.folder("s1"), r.Files[1].Copy), "wa")
	if n, err := k.Restore("s1", r.Files); n != 0 || !errors.Is(err, ErrGone) {
		t.Fatal(n, err)
	}
	if got := tree(root); strings.Contains(got, "was") {
		t.Error(got)
	}
}

// A file that cannot be read costs its own copy, not the others'; where everything must be copied it is an error.
func TestAFileThatCannotBeRead(t *testing.T) {
	k, root := fresh(t)
	put(t, filepath.Join(root, "a.txt"), "a")
	put(t, filepath.Join(root, "b.txt"), "b")
	k.Step = func(what string) {
		if what == "copy" {
			_ = os.Remove(filepath.Join(root, "a.txt"))
		}
	}
	s, err := k.Before("s1", nil, nil, []string{root}, roomy)
	if err != nil || s.Entries[0].Note != unreadable || s.Entries[0].Copy != "" || s.Entries[1].Copy == "" {
		t.Fatalf("%+v %v", s, err)
	}
	put(t, filepath.Join(root, "a.txt"), "a")
	if _, err := k.Before("s2", nil, nil, []string{root}, Limits{All: true}); err == nil {
		t.Fatal("not everything was copied, and nobody was told")
	}
	if ids, _ := k.IDs(); len(ids) != 1 {
		t.Error("a part of a set stayed", ids)
	}
}

// never a part of a file that grew while it was copied; A-941: more than 10,000 files are too many, and what they make is not guessed.
func TestGrownAndFull(t *testing.T) {
	k, root := fresh(t)
	put(t, filepath.Join(root, "a.txt"), "a")
	k.Step = func(what string) {
		if what == "copy" {
			put(t, filepath.Join(root, "a.txt"), strings.Repeat("a", 20_000))
		}
	}
	s, err := k.Before("s1", nil, nil, []string{root}, Limits{FileBytes: 10_000, TotalBytes: 1 << 20, Files: 10})
	if err != nil || s.Entries[0].Note != tooBig || s.Entries[0].Copy != "" {
		t.Fatalf("%+v %v", s, err)
	}
	k.Step = nil
	for i := range walked + 1 {
		f, err := os.Create(filepath.Join(root, fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
	}
	s, err = k.Before("s2", nil, nil, []string{root}, Limits{FileBytes: 1 << 20, TotalBytes: 1 << 30, Files: 1 << 20})
	if err != nil || !s.Cut || len(s.Notes) != 1 || s.Notes[0] != TooMany || s.Entries[0].Copy != "" {
		t.Fatalf("%v %v %v", s.Cut, s.Notes, err)
	}
	put(t, filepath.Join(root, "new"), "x")
	if r := k.After(s); len(r.Created) != 0 {
		t.Error(r.Created)
	}
}

// Sentient's own folder is never looked at, but the files folder inside it is.
func TestOwnFolder(t *testing.T) {
	person := t.TempDir()
	home := filepath.Join(person, ".sentient")
	k, err := Open(filepath.Join(home, "snapshots"))
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(home, "gateway.token"), "secret")
	put(t, filepath.Join(home, "files", "a.txt"), "a")
	put(t, filepath.Join(person, "b.txt"), "b")
	for root, want := range map[string]string{person: "b.txt", filepath.Join(home, "files"): "a.txt", home: ""} {
		s, err := k.Before("s"+fmt.Sprint(len(root)), nil, nil, []string{root}, roomy)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range s.Entries {
			got = append(got, filepath.Base(e.Path))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v", root, got)
		}
	}
}
