package blob

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

type clock struct{ t time.Time }

func (c *clock) now() time.Time { return c.t }

func open(t *testing.T) (*Folder, *clock) {
	t.Helper()
	c := &clock{t: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)}
	f, err := Open(Options{Dir: filepath.Join(t.TempDir(), "files"), Now: c.now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f, c
}

func save(t *testing.T, f *Folder, name, text string) Info {
	t.Helper()
	info, err := f.Save(name, strings.NewReader(text), 0)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func names(t *testing.T, f *Folder, sub string) []string {
	t.Helper()
	list, err := f.List(sub)
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, i := range list {
		out = append(out, i.Name)
	}
	return out
}

func TestCheckName(t *testing.T) {
	good := []string{"a", "a/b.txt", ".env", "Inbox - Mail 3f9a2c.png", "Ünïcode/文.md", "com.txt", "console", "COM10", "a..b", strings.Repeat("x", 255)}
	bad := []string{"", "/a", "../a", "a/../b", "a/./b", ".", "..", "a//b", "a/", "a\x00b", "a\nb", `a\b`, `C:\x`, "a:b", "a?", "NUL", "nul.txt",
		"x/CON", "COM1.log", "LPT¹", "Aux .a.b", "a.", "a ", "\xff", strings.Repeat("x", 256), strings.Repeat("x/", 1500) + "x", ".tmp/a", ".tmp"}
	for _, n := range good {
		if err := CheckName(n); err != nil {
			t.Errorf("%q: %v", n, err)
		}
	}
	for _, n := range bad {
		if err := CheckName(n); !errors.Is(err, ErrName) {
			t.Errorf("%q: %v, want ErrName", n, err)
		}
	}
}

func TestSaveListOpenDelete(t *testing.T) {
	f, c := open(t)
	info := save(t, f, "notes/deep/a.md", "hello")
	if info.Size != 5 || info.MIME != "text/markdown" || !info.ModifiedAt.Equal(c.t) {
		t.Fatalf("%+v", info)
	}
	c.t = c.t.Add(time.Minute)
	if info = save(t, f, "notes/deep/a.md", "again!"); info.Size != 6 || !info.ModifiedAt.Equal(c.t) {
		t.Fatalf("%+v", info)
	}
	save(t, f, "b", "%PDF-1.7 x")
	list, err := f.List("")
	if err != nil || len(list) != 2 || list[0].Name != "b" || list[0].MIME != "application/pdf" || list[1].Name != "notes/deep/a.md" {
		t.Fatalf("%+v %v", list, err)
	}
	if got := names(t, f, "notes/"); !slices.Equal(got, []string{"notes/deep/a.md"}) {
		t.Fatal(got)
	}
	if got := names(t, f, "nowhere"); len(got) != 0 {
		t.Fatal(got)
	}
	file, err := f.Open("notes/deep/a.md")
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(file)
	if err := errors.Join(file.Close(), f.Delete("b")); err != nil || string(text) != "again!" {
		t.Fatal(err, string(text))
	}
	for _, n := range []string{"b", "notes", "notes/deep/a.md/x", "gone/x"} {
		if err := f.Delete(n); !errors.Is(err, ErrNotFound) {
			t.Errorf("delete %s: %v", n, err)
		}
		if _, err := f.Open(n); !errors.Is(err, ErrNotFound) {
			t.Errorf("open %s: %v", n, err)
		}
	}
	if _, err := f.Save("notes/deep/a.md/x", strings.NewReader(""), 0); err == nil {
		t.Error("a file became a folder")
	}
}

type failing struct{ after int }

func (r *failing) Read(p []byte) (int, error) {
	if r.after--; r.after < 0 {
		return 0, io.ErrUnexpectedEOF
	}
	return copy(p, "xxxx"), nil
}

func TestAFailedSaveLeavesWhatWasThere(t *testing.T) {
	f, _ := open(t)
	save(t, f, "a.txt", "old")
	if _, err := f.Save("a.txt", &failing{after: 3}, 0); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatal(err)
	}
	if _, err := f.Save("a.txt", strings.NewReader("12345"), 4); !errors.Is(err, ErrTooLarge) {
		t.Fatal(err)
	}
	if info, err := f.Save("b.txt", strings.NewReader("1234"), 4); err != nil || info.Size != 4 {
		t.Fatal(info, err)
	}
	if b, _ := os.ReadFile(filepath.Join(f.Dir(), "a.txt")); string(b) != "old" {
		t.Fatalf("%q", b)
	}
	if left, _ := os.ReadDir(filepath.Join(f.Dir(), tempDir)); len(left) != 0 {
		t.Fatal("a temporary file stayed")
	}
}

func TestOpenRemovesUnfinishedSaves(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(dir, tempDir), 0o700), os.WriteFile(filepath.Join(dir, tempDir, "x"), []byte("half"), 0o600)); err != nil {
		t.Fatal(err)
	}
	f, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if left, _ := os.ReadDir(filepath.Join(dir, tempDir)); len(left) != 0 {
		t.Fatal("the unfinished save stayed")
	}
}

func TestLinks(t *testing.T) {
	f, _ := open(t)
	outside := t.TempDir()
	save(t, f, "outputs/real.txt", "in")
	link := func(target, name string) {
		if err := os.Symlink(target, filepath.Join(f.Dir(), name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("s"), 0o600); err != nil {
		t.Fatal(err)
	}
	link("outputs/real.txt", "inside")
	link("../../secret", "up")
	link(filepath.Join(outside, "secret"), "abs")
	link(outside, "dir")
	link("loop", "loop")
	if got, err := f.Resolve("inside"); err != nil || got != "outputs/real.txt" {
		t.Fatal(got, err)
	}
	if got := names(t, f, ""); !slices.Equal(got, []string{"inside", "outputs/real.txt"}) {
		t.Fatal(got)
	}
	for _, n := range []string{"up", "abs", "dir/secret", "loop"} {
		if _, err := f.Open(n); err == nil {
			t.Errorf("%s opened", n)
		}
		if _, err := f.Resolve(n); err == nil {
			t.Errorf("%s resolved", n)
		}
	}
	if _, err := f.Save("dir/new", strings.NewReader("x"), 0); !errors.Is(err, ErrName) {
		t.Error("saved outside the folder:", err)
	}
	// Saving over a link replaces the link, never what it points at.
	save(t, f, "abs", "mine")
	if b, _ := os.ReadFile(filepath.Join(outside, "secret")); string(b) != "s" {
		t.Fatalf("%q", b)
	}
}

// screens and selections get a short random part, an upload whose name is taken or was ever attached " (1)", " (2)".
// the rule is the same for whoever saves an upload, a messaging app too.
func TestUploadNames(t *testing.T) {
	f, _ := open(t)
	up := func(u Upload) string {
		t.Helper()
		info, err := f.Upload(strings.NewReader("x"), u)
		if err != nil {
			t.Fatal(err)
		}
		return info.Name
	}
	f.random = bytes.NewReader(slices.Concat(make([]byte, 12), []byte{0x3f, 0x9a, 0x2c}, make([]byte, 12), []byte{0x3f, 0x9a, 0x2c, 0x5b, 0x7c, 0x2e}))
	for _, want := range []string{"screens/Inbox - Mail 3f9a2c.png", "screens/Inbox - Mail 5b7c2e.png"} {
		if got := up(Upload{Source: SourceScreen, Name: "Inbox - Mail.png"}); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	f.random = rand.Reader
	attached := func(n string) bool { return n == "b (1).tar.gz" || n == "gone.pdf" }
	for _, c := range [][2]string{
		{"b.tar.gz", "b.tar.gz"}, {"b.tar.gz", "b.tar (1).gz"}, {"b.tar.gz", "b.tar (2).gz"},
		{"gone.pdf", "gone (1).pdf"}, {"gone.pdf", "gone (2).pdf"},
		{`C:\docs\what?.txt`, "what_.txt"}, {"../../etc/passwd", "passwd"}, {"..", "file"}, {"", "file (1)"},
		{"nul.txt", "_nul.txt"}, {".env", ".env"}, {".env", ".env (1)"},
		{strings.Repeat("é", 300) + ".txt", "" + strings.Repeat("é", 113) + ".txt"},
	} {
		if got := up(Upload{Name: c[0], Taken: attached}); got != c[1] {
			t.Errorf("%q became %q, want %q", c[0], got, c[1])
		}
	}
	if _, err := f.Upload(strings.NewReader(""), Upload{Source: "other", Name: "x"}); err == nil {
		t.Error("an unknown source was taken")
	}
}

func TestUploadsAtOnceNeverShareAName(t *testing.T) {
	f, _ := open(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := f.Upload(strings.NewReader("x"), Upload{Name: "a.txt"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := names(t, f, Uploads); len(got) != 8 {
		t.Fatal(got)
	}
}

func TestEveryClientNameBecomesAGoodOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.String(), rapid.StringMatching(`[./\\ A-Z:*.]{0,300}`)).Draw(t, "name")
		base := cleanBase(name)
		stem, ext := splitExt(base)
		for _, n := range []string{base, stem + " (123456)" + ext} {
			if err := CheckName(n); err != nil {
				t.Fatalf("%q became %q: %v", name, n, err)
			}
		}
	})
}

// screens and selections that no message has go when they are over an hour old; others stay.
func TestSweepUnattached(t *testing.T) {
	f, c := open(t)
	for _, n := range []string{"screens/old.png", "screens/attached.png", "selections/old.txt", "uploads/old.txt"} {
		save(t, f, n, "x")
	}
	c.t = c.t.Add(time.Second)
	save(t, f, "selections/new.txt", "x")
	c.t = c.t.Add(time.Hour)
	gone, err := f.SweepUnattached(func(n string) bool { return n == "screens/attached.png" })
	if err != nil || !slices.Equal(gone, []string{"screens/old.png", "selections/old.txt"}) {
		t.Fatal(gone, err)
	}
	if got := names(t, f, ""); !slices.Equal(got, []string{"screens/attached.png", "selections/new.txt", "old.txt"}) {
		t.Fatal(got)
	}
}

// An incognito chat's results lie in a folder of its own, which goes with the chat and, after a crash, at
// the next start.
func TestIncognitoResults(t *testing.T) {
	f, _ := open(t)
	if gone, err := f.SweepIncognito(func(string) bool { return false }); err != nil || len(gone) != 0 {
		t.Fatal(gone, err)
	}
	for _, s := range []string{"a1", "b2", "c3"} {
		dir, err := IncognitoDir(s)
		if err != nil {
			t.Fatal(err)
		}
		save(t, f, dir+"/tool-x.txt", "x")
	}
	save(t, f, "outputs/tool-y.txt", "y")
	if err := errors.Join(f.DeleteIncognito("a1"), f.DeleteIncognito("a1")); err != nil {
		t.Fatal(err)
	}
	gone, err := f.SweepIncognito(func(s string) bool { return s == "c3" })
	if err != nil || !slices.Equal(gone, []string{"b2"}) {
		t.Fatal(gone, err)
	}
	if got := names(t, f, ""); !slices.Equal(got, []string{"outputs/incognito-c3/tool-x.txt", "outputs/tool-y.txt"}) {
		t.Fatal(got)
	}
	for _, s := range []string{"", "..", "a/b", "a b", strings.Repeat("x", 129)} {
		if _, err := IncognitoDir(s); !errors.Is(err, ErrName) {
			t.Errorf("%q: %v", s, err)
		}
	}
	if s, ok := IncognitoSession("outputs/incognito-c3/tool-x.txt"); !ok || s != "c3" {
		t.Error(s, ok)
	}
	if _, ok := IncognitoSession("outputs/tool-y.txt"); ok {
		t.Error("not incognito")
	}
}

func FuzzNamesStayInside(f *testing.F) {
	for _, s := range []string{"a", "../a", "/etc/passwd", "a/../../b", `..\a`, "uploads/x (1).txt", "\x00", ".tmp/x", "CON"} {
		f.Add(s)
	}
	dir := f.TempDir()
	folder, err := Open(Options{Dir: filepath.Join(dir, "files")})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { folder.Close() })
	f.Fuzz(func(t *testing.T, name string) {
		if _, err := folder.Save(name, strings.NewReader("x"), 0); err == nil {
			if !filepath.IsLocal(name) {
				t.Fatalf("%q was saved", name)
			}
			if err := folder.Delete(name); err != nil {
				t.Fatal(err)
			}
		}
		if above, _ := os.ReadDir(dir); len(above) != 1 {
			t.Fatal("something was written beside the folder")
		}
	})
}
