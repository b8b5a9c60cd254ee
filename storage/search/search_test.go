package search_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sentient/storage/search"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreCurrent()) // bleve starts its workers with the process
}

// source is a list of changes; what All yields is made from it.
type source struct {
	mu      sync.Mutex
	changes []search.Change
	seq     uint64
	oldest  uint64 // changes before it are not known any more
	asked   []uint64
	alls    int
	fail    error
	block   chan struct{}
	begun   chan struct{} // gets one for each All
}

func (s *source) do(c search.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	c.Seq = s.seq
	s.changes = append(s.changes, c)
}

func (s *source) add(docs ...search.Doc) { s.do(search.Change{Add: docs}) }

func (s *source) Newest() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seq
}

func (s *source) Changes(_ context.Context, after uint64) iter.Seq2[search.Change, error] {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, after)
	changes, old := slices.Clone(s.changes), after+1 < s.oldest
	return func(yield func(search.Change, error) bool) {
		if old {
			yield(search.Change{}, search.ErrTooOld)
			return
		}
		for _, c := range changes {
			if c.Seq > after && !yield(c, nil) {
				return
			}
		}
	}
}

func (s *source) All(ctx context.Context) iter.Seq2[search.Doc, error] {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alls++
	if s.begun != nil {
		s.begun <- struct{}{}
	}
	docs := map[string]search.Doc{}
	for _, c := range s.changes {
		for _, d := range c.Add {
			docs[d.ID] = d
		}
		for _, id := range c.Delete {
			delete(docs, id)
		}
		for id, d := range docs {
			if c.DeleteSession != "" && d.Session == c.DeleteSession {
				delete(docs, id)
			}
		}
	}
	fail, block := s.fail, s.block
	return func(yield func(search.Doc, error) bool) {
		if block != nil {
			select {
			case <-block:
			case <-ctx.Done():
			}
		}
		if fail != nil {
			yield(search.Doc{}, fail)
			return
		}
		for _, d := range docs {
			if !yield(d, nil) {
				return
			}
		}
	}
}

func doc(id, session, text string) search.Doc {
	return search.Doc{ID: id, Session: session, Role: "user", Text: text, At: time.UnixMilli(1000 + int64(len(id))).UTC()}
}

func index(t *testing.T, dir string, s search.Source) *search.Index {
	t.Helper()
	x, err := search.New(search.Options{Dir: dir, Source: s})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeIndex(t, x) })
	return x
}

func closeIndex(t *testing.T, x *search.Index) {
	t.Helper()
	if err := x.Close(); err != nil {
		t.Error(err)
	}
}

func found(t *testing.T, x *search.Index, q string) (ids []string) {
	t.Helper()
	hits, err := x.Search(context.Background(), q, 50)
	if err != nil {
		t.Fatalf("search %q: %v", q, err)
	}
	for _, h := range hits {
		ids = append(ids, h.ID)
	}
	return ids
}

func expect(t *testing.T, x *search.Index, q string, want ...string) {
	t.Helper()
	if got := found(t, x, q); !slices.Equal(got, want) {
		t.Errorf("search %q: %q, want %q", q, got, want)
	}
}

func TestSearch(t *testing.T) {
	s := &source{}
	x := index(t, filepath.Join(t.TempDir(), "search"), s)
	s.add(doc("m1", "a", "The quick brown fox jumps over the lazy dog"), doc("m22", "a", "A brown bear, and a fox"), doc("m333", "b", "Größe der Übung: 東京 café"))
	expect(t, x, "fox quick", "m1", "m22") // all words first, then any
	expect(t, x, "THE lazy", "m1")
	expect(t, x, "brown", "m22", "m1") // the shorter text is nearer
	expect(t, x, "übung", "m333")
	expect(t, x, "東京", "m333")
	expect(t, x, "nothing of this")
	hits, err := x.Search(context.Background(), "lazy", 10)
	if err != nil || len(hits) != 1 {
		t.Fatal(hits, err)
	}
	want := search.Hit{ID: "m1", Session: "a", Role: "user", Snippet: "The quick brown fox jumps over the lazy dog", At: time.UnixMilli(1002).UTC()}
	if hits[0] != want {
		t.Errorf("%+v", hits[0])
	}
	if hits, err := x.Search(context.Background(), "fox", 1); err != nil || len(hits) != 1 {
		t.Errorf("limit: %v %v", hits, err)
	}
}

// Whatever a person types is a query.
func TestAnyQuery(t *testing.T) {
	s := &source{}
	x := index(t, t.TempDir(), s)
	s.add(doc("m1", "a", "plain text AND more"))
	for _, q := range []string{"", " ", `"`, "(", "text:", "+-!*?~^:\\/", "AND OR NOT", "\x00", "\xff\xfe", "*", strings.Repeat("word ", 100_000), strings.Repeat("x", 1<<20), "a\nb", "'; DROP"} {
		if _, err := x.Search(context.Background(), q, -1); err != nil {
			t.Errorf("%.20q: %v", q, err)
		}
	}
	expect(t, x, `"text" (and)`, "m1")
}

// The index follows the source by number: it takes in what is new, goes on where it was after a reopen, and reads nothing
// twice.
func TestFollows(t *testing.T) {
	dir := t.TempDir()
	s := &source{}
	s.add(doc("m1", "a", "one"))
	x := index(t, dir, s)
	expect(t, x, "one", "m1")
	s.add(doc("m2", "a", "one two"))
	expect(t, x, "two", "m2")
	s.add(doc("m1", "a", "changed"))
	expect(t, x, "one", "m2")
	s.do(search.Change{Delete: []string{"m2"}})
	expect(t, x, "two")
	s.do(search.Change{}) // about something else
	expect(t, x, "changed", "m1")
	closeIndex(t, x)
	s.add(doc("m3", "b", "while closed"), doc("m4", "b", "closed too"))
	x = index(t, dir, s)
	expect(t, x, "while closed", "m3", "m4")
	s.do(search.Change{DeleteSession: "b", Add: []search.Doc{doc("m5", "b", "closed, added and deleted at once")}})
	expect(t, x, "closed")
	expect(t, x, "changed", "m1")
	if want := []uint64{1, 2, 3, 4, 4, 6}; !slices.Equal(s.asked, want) || s.alls != 1 {
		t.Errorf("asked for changes after %d, want %d; read all %d times", s.asked, want, s.alls)
	}
}

// Nothing is on disk before the first search, and a purge makes nothing.
func TestLazy(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "search")
	s := &source{}
	x := index(t, dir, s)
	if err := x.Purge(context.Background()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the folder was made:", err)
	}
	expect(t, x, "word")
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
}

// An index that is damaged, of another form, cut off in the making, too far behind or gone is made again, and only it stays.
func TestRebuilds(t *testing.T) {
	segments := func(t *testing.T, dir string) []string {
		files, err := filepath.Glob(filepath.Join(dir, "v*", "store", "*.zap"))
		if err != nil || len(files) == 0 {
			t.Fatal("no segment files", err)
		}
		return files
	}
	spoil := map[string]func(t *testing.T, dir string, s *source){
		"flipped bit": func(t *testing.T, dir string, _ *source) {
			for _, path := range segments(t, dir) {
				b, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				b[len(b)/3] ^= 8
				if err := os.WriteFile(path, b, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		},
		"cut file": func(t *testing.T, dir string, _ *source) {
			if err := os.Truncate(segments(t, dir)[0], 20); err != nil {
				t.Fatal(err)
			}
		},
		"lost file": func(t *testing.T, dir string, _ *source) {
			if err := os.Remove(segments(t, dir)[0]); err != nil {
				t.Fatal(err)
			}
		},
		"garbled root": func(t *testing.T, dir string, _ *source) {
			roots, _ := filepath.Glob(filepath.Join(dir, "v*", "store", "root.bolt"))
			if err := os.WriteFile(roots[0], bytes.Repeat([]byte("x"), 9000), 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"another form": func(t *testing.T, dir string, _ *source) {
			old, _ := filepath.Glob(filepath.Join(dir, "v1-*"))
			if err := os.Rename(old[0], filepath.Join(dir, "v0-000009")); err != nil {
				t.Fatal(err)
			}
		},
		"cut off": func(t *testing.T, dir string, _ *source) {
			if err := os.MkdirAll(filepath.Join(dir, "v1-000007", "store"), 0o700); err != nil {
				t.Fatal(err)
			}
		},
		"too old": func(_ *testing.T, _ string, s *source) {
			s.do(search.Change{})
			s.do(search.Change{})
			s.oldest = s.seq
		},
		"gone": func(t *testing.T, dir string, _ *source) {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, spoil := range spoil {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "search")
			s := &source{}
			s.add(doc("m1", "a", "findable"), doc("m2", "a", "other"))
			x := index(t, dir, s)
			expect(t, x, "findable", "m1")
			closeIndex(t, x)
			spoil(t, dir, s)
			x = index(t, dir, s)
			expect(t, x, "findable", "m1")
			if s.alls != 2 {
				t.Errorf("all was read %d times", s.alls)
			}
			closeIndex(t, x)
			if left, _ := os.ReadDir(dir); len(left) != 1 {
				t.Errorf("%d folders are left", len(left))
			}
		})
	}
}

// A search does not wait longer than its context for an index that is being made, nor a close; a failed making is said and
// tried again at the next use.
func TestBuildTroubles(t *testing.T) {
	s := &source{block: make(chan struct{}), begun: make(chan struct{}, 10)}
	s.add(doc("m1", "a", "word"))
	x := index(t, t.TempDir(), s)
	ctx, cancel := context.WithCancel(context.Background())
	answer := make(chan error)
	go func() {
		_, err := x.Search(ctx, "word", 1)
		answer <- err
	}()
	<-s.begun
	cancel()
	if err := <-answer; !errors.Is(err, search.ErrPreparing) {
		t.Error(err)
	}
	s.mu.Lock()
	block := s.block
	s.block, s.fail = nil, errors.New("the tables are busy")
	s.mu.Unlock()
	close(block)
	expect(t, x, "word", "m1") // the first making was not cancelled with its search
	if err := x.Rebuild(context.Background()); err == nil || err.Error() != "the tables are busy" {
		t.Error(err)
	}
	s.mu.Lock()
	s.fail, s.block = nil, make(chan struct{})
	s.mu.Unlock()
	<-s.begun // the one that failed
	go func() { answer <- x.Rebuild(context.Background()) }()
	<-s.begun
	closeIndex(t, x)
	if err := <-answer; !errors.Is(err, search.ErrClosed) && !errors.Is(err, context.Canceled) {
		t.Error("a rebuild at close:", err)
	}
	if _, err := x.Search(context.Background(), "word", 1); !errors.Is(err, search.ErrClosed) {
		t.Error("after close:", err)
	}
}

// Searches, changes and a rebuild at the same time.
func TestConcurrent(t *testing.T) {
	s := &source{}
	x := index(t, t.TempDir(), s)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 20 {
				s.add(doc(fmt.Sprint("m", w, "-", i), "a", "word"))
				if _, err := x.Search(context.Background(), "word", 5); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Go(func() {
		if err := x.Rebuild(context.Background()); err != nil {
			t.Error(err)
		}
	})
	wg.Wait()
	if err := x.Update(context.Background()); err != nil {
		t.Error(err)
	}
	hits, err := x.Search(context.Background(), "word", 100)
	if err != nil || len(hits) != 80 {
		t.Errorf("%d hits, %v", len(hits), err)
	}
}
