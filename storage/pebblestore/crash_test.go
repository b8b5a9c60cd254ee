package pebblestore_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"sentient/storage/journal"
	"sentient/storage/pebblestore"
	"sentient/storage/storagetest"
)

func openOn(fs vfs.FS, dir string) (*journal.Committer, error) {
	disk, err := pebblestore.Open(pebblestore.Options{Dir: dir, FS: fs, Reserve: 1})
	if err != nil {
		return nil, err
	}
	c, err := journal.Open(context.Background(), journal.Options{Disk: disk, Memory: memory()})
	if err == nil {
		c.Release()
	}
	return c, err
}

func mustOpen(t testing.TB, fs vfs.FS, dir string) *journal.Committer {
	t.Helper()
	c, err := openOn(fs, dir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func mustClose(t testing.TB, c *journal.Committer) {
	t.Helper()
	if err := c.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// crashPoint is the file system as a power cut before one write-like call would leave it.
type crashPoint struct {
	fs          *vfs.MemFS
	op          string
	acked, sent uint64
}

// TestCrashAnywhere cuts the power before every write-like call, keeping none, half or all of what was not synced: all that
// was acknowledged is there, nothing is half applied, and the work goes on.
func TestCrashAnywhere(t *testing.T) {
	for _, unsynced := range []int{0, 50, 100, onlyWitness} {
		name := fmt.Sprint(unsynced, "%")
		if unsynced == onlyWitness {
			name = "only the witness"
		}
		t.Run(name, func(t *testing.T) {
			points := crashRun(t, unsynced)
			if len(points) < 100 {
				t.Fatalf("only %d crash points", len(points))
			}
			for _, p := range points {
				if err := checkPoint(p); err != nil {
					t.Errorf("crash before %s, %d acknowledged, %d sent: %v", p.op, p.acked, p.sent, err)
				}
			}
			t.Logf("%d crash points", len(points))
		})
	}
}

// onlyWitness: nothing unsynced is kept but the witness, all of it. If the witness ever ran ahead of what is synced, the store
// would be refused.
const onlyWitness = -1

// keepWitness writes the witness through to the clone.
func keepWitness(from, to *vfs.MemFS) error {
	src, err := from.Open("store/witness")
	if err != nil {
		return nil // not made yet
	}
	defer src.Close()
	b, err := io.ReadAll(src)
	if err != nil {
		return err
	}
	dst, err := to.OpenReadWrite("store/witness", vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	if _, err := dst.WriteAt(b, 0); err != nil {
		return err
	}
	return dst.Close()
}

func crashRun(t *testing.T, unsynced int) (points []crashPoint) {
	mem := vfs.NewCrashableMem()
	rng := rand.New(rand.NewPCG(1, uint64(unsynced)))
	var mu sync.Mutex
	var p storagetest.Progress
	on := true
	cut := errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		if !on {
			return nil
		}
		acked := p.Acked.Load() // before the clone: what is acknowledged by now must be in it
		fs := mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: max(0, unsynced), RNG: rng})
		if _, err := fs.Stat("store"); unsynced == onlyWitness && err == nil {
			if err := keepWitness(mem, fs); err != nil {
				t.Error(err)
			}
		}
		points = append(points, crashPoint{fs, fmt.Sprint(op.Kind, " ", op.Path), acked, p.Sent.Load()})
		return nil
	})
	c := mustOpen(t, errorfs.Wrap(mem, cut), "store")
	ctx := context.Background()
	for _, last := range []uint64{30, 60} { // with a deletion, a flush and a compaction between
		if err := storagetest.Work(c, last, &p); err != nil {
			t.Fatal(err)
		}
		s := journal.Stream(fmt.Sprint("gone/", last))
		if _, err := c.Append(ctx, journal.Append{Stream: s, Events: [][]byte{[]byte("x")}}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Append(ctx, journal.Append{Stream: s, Expected: 1, Delete: true}); err != nil {
			t.Fatal(err)
		}
		if err := c.Erase(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := storagetest.Work(c, 90, &p); err != nil {
		t.Fatal(err)
	}
	mustClose(t, c)
	mu.Lock()
	on = false
	mu.Unlock()
	return points
}

func checkPoint(p crashPoint) error {
	c, err := openOn(p.fs, "store")
	if err != nil {
		return err
	}
	k, err := storagetest.Verify(c, p.acked, p.sent)
	if err == nil {
		var more storagetest.Progress
		more.Acked.Store(k)
		if err = storagetest.Work(c, k+3, &more); err == nil {
			_, err = storagetest.Verify(c, k+3, k+3)
		}
	}
	if closeErr := c.Close(context.Background()); err == nil {
		err = closeErr
	}
	return err
}

// TestTornRecord cuts bytes off the end of the log: a step that was not confirmed goes as a whole or stays as a whole, and
// one that was confirmed is missed.
func TestTornRecord(t *testing.T) {
	src := filepath.Join(t.TempDir(), "store")
	c := mustOpen(t, nil, src)
	var p storagetest.Progress
	if err := storagetest.Work(c, 19, &p); err != nil {
		t.Fatal(err)
	}
	witness := filepath.Join(t.TempDir(), "witness")
	if err := copyFile(filepath.Join(src, "witness"), witness); err != nil { // as it is while step 20 is being synced
		t.Fatal(err)
	}
	if err := storagetest.Work(c, 20, &p); err != nil {
		t.Fatal(err)
	}
	cuts := []int{0, 1, 7, 11, 100, 700}
	dirs := map[int][2]string{}
	for _, cut := range cuts {
		for i := range 2 {
			d := dirs[cut]
			d[i] = filepath.Join(t.TempDir(), "store")
			dirs[cut] = d
			copyDir(t, src, d[i]) // as a kill would leave it
		}
	}
	mustClose(t, c)
	for _, cut := range cuts {
		for _, dir := range dirs[cut] {
			path := newestLog(t, dir)
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(path, info.Size()-int64(cut)); err != nil {
				t.Fatal(err)
			}
		}
		unconfirmed, confirmed := dirs[cut][0], dirs[cut][1]
		if err := copyFile(witness, filepath.Join(unconfirmed, "witness")); err != nil {
			t.Fatal(err)
		}
		want := uint64(20)
		if cut > 0 {
			want = 19
			mustRefuse(t, confirmed, "log")
			if err := os.Remove(filepath.Join(confirmed, "witness")); err != nil { // the way on that the refusal names
				t.Fatal(err)
			}
		}
		for _, dir := range []string{unconfirmed, confirmed} {
			c := mustOpen(t, nil, dir)
			if k, err := storagetest.Verify(c, want, want); err != nil {
				t.Errorf("%d bytes cut: %d steps, %v", cut, k, err)
			}
			mustClose(t, c)
		}
	}
}

func newestLog(t *testing.T, dir string) string {
	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatal("no log in the store", err)
	}
	return logs[len(logs)-1]
}

func copyDir(t testing.TB, from, to string) {
	t.Helper()
	if err := os.MkdirAll(to, 0o700); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "ballast") || e.Name() == "LOCK" { // opening LOCK here would drop our own lock
			continue
		}
		if err := copyFile(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		_ = out.Close()
		return err
	}
	return out.Close()
}

// TestUnborn: a store whose making was cut off opens as a new one; one that holds anything is never cleared away.
func TestUnborn(t *testing.T) {
	fs := vfs.NewMem()
	mustClose(t, mustOpen(t, fs, "full"))
	for _, test := range []struct {
		name   string
		remove string // which of a good store's files a crash kept from the disk
		opens  bool
	}{{"without tables and log", ".sst,.log,MANIFEST-,witness", true}, {"with a table", "MANIFEST-", false}} {
		t.Run(test.name, func(t *testing.T) {
			dir := strings.ReplaceAll(test.name, " ", "-")
			if _, err := vfs.Clone(fs, fs, "full", dir); err != nil {
				t.Fatal(err)
			}
			names, err := fs.List(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				for _, part := range strings.Split(test.remove, ",") {
					if strings.Contains(name, part) && !strings.HasPrefix(name, "marker") {
						if err := fs.Remove(fs.PathJoin(dir, name)); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
			before, _ := fs.List(dir)
			c, err := openOn(fs, dir)
			if (err == nil) != test.opens {
				t.Fatal("open:", err)
			}
			if err == nil {
				mustClose(t, c)
			} else if after, _ := fs.List(dir); len(after) < len(before) {
				t.Errorf("files were removed: %q, %q", before, after)
			}
		})
	}
}
