package pebblestore_test

import (
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"sentient/storage/journal"
	"sentient/storage/pebblestore"
	"sentient/storage/storagetest"
)

// mustRefuse opens a store that must be refused with a sentence that has word in it, and keeps all its tables.
func mustRefuse(t *testing.T, dir, word string) {
	t.Helper()
	for range 2 { // the second try is refused like the first
		before, _ := filepath.Glob(filepath.Join(dir, "*.sst"))
		_, err := openOn(vfs.Default, dir)
		var damage *journal.StoreError
		if !errors.As(err, &damage) {
			t.Fatalf("opened with %v", err)
		}
		if s := err.Error(); !strings.Contains(s, word) || !strings.Contains(s, dir) || !strings.Contains(s, "backup") || strings.Contains(s, "<") {
			t.Errorf("it is refused with %q", s)
		}
		for _, f := range before {
			if _, err := os.Stat(f); err != nil {
				t.Error(err)
			}
		}
	}
}

// flushed makes a store as a kill leaves it: rows in tables, rows in the log behind them, and a list of files with several
// entries.
func flushed(t *testing.T) string {
	t.Helper()
	src, dir := filepath.Join(t.TempDir(), "store"), filepath.Join(t.TempDir(), "store")
	c := mustOpen(t, nil, src)
	defer func() { mustClose(t, c) }()
	var p storagetest.Progress
	for _, last := range []uint64{10, 20, 30} {
		if err := storagetest.Work(c, last, &p); err != nil {
			t.Fatal(err)
		}
		s := journal.Stream("gone/" + string(rune('a'+last)))
		for version, a := range []journal.Append{{Events: [][]byte{[]byte("x")}}, {Delete: true}} {
			a.Stream, a.Expected = s, uint64(version)
			if _, err := c.Append(context.Background(), a); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Erase(context.Background()); err != nil { // flushes
			t.Fatal(err)
		}
	}
	if err := storagetest.Work(c, 35, &p); err != nil {
		t.Fatal(err)
	}
	copyDir(t, src, dir)
	return dir
}

// manifest is the list of files that the store in dir uses.
func manifest(t *testing.T, dir string) string {
	t.Helper()
	markers, _ := filepath.Glob(filepath.Join(dir, "marker.manifest.*"))
	if len(markers) == 0 {
		t.Fatal("no marker")
	}
	name := filepath.Base(markers[len(markers)-1])
	return filepath.Join(dir, name[strings.Index(name, "MANIFEST-"):])
}

// entries are the places where the records of a manifest end (its blocks are 32 KiB, and these stay below one).
func entries(b []byte) (ends []int) {
	for at := 0; at+7 <= len(b); {
		n := int(binary.LittleEndian.Uint16(b[at+4:]))
		if b[at+6] >= 5 { // recyclable: four bytes of log number more
			at += 4
		}
		at += 7 + n
		ends = append(ends, at)
	}
	return ends
}

// TestLostListIsNoticed: a store whose list of files lost its newest entries, cut at any entry or damaged at any place, is
// never opened as the older store that is left, whether newer rows lie in its log or it was closed in order.
func TestLostListIsNoticed(t *testing.T) {
	killed := flushed(t)
	closed := filepath.Join(t.TempDir(), "store")
	copyDir(t, killed, closed)
	mustClose(t, mustOpen(t, nil, closed))
	for name, src := range map[string]string{"killed": killed, "closed": closed} {
		t.Run(name, func(t *testing.T) {
			b, err := os.ReadFile(manifest(t, src))
			if err != nil {
				t.Fatal(err)
			}
			ends := entries(b)
			if len(ends) < 2 || ends[len(ends)-1] != len(b) {
				t.Fatalf("the entries end at %v of %d", ends, len(b))
			}
			harmed := map[string][]byte{"empty": {}, "zeroed": append(slices.Clone(b[:len(b)-20]), make([]byte, 20)...)}
			for _, end := range ends[:len(ends)-1] {
				harmed["cut after an entry "+string(rune('a'+len(harmed)))] = b[:end]
			}
			for at := 0; at < len(b); at += 41 {
				bad := slices.Clone(b)
				bad[at] ^= 1
				harmed["flipped "+string(rune('a'+len(harmed)))] = bad
			}
			for _, what := range slices.Sorted(maps.Keys(harmed)) {
				dir := filepath.Join(t.TempDir(), "store")
				copyDir(t, src, dir)
				if err := os.WriteFile(manifest(t, dir), harmed[what], 0o600); err != nil {
					t.Fatal(err)
				}
				t.Run(what, func(t *testing.T) { mustRefuse(t, dir, "MANIFEST-") })
			}
			c := mustOpen(t, nil, src) // the unharmed one is whole
			defer mustClose(t, c)
			v, err := c.Read()
			if err != nil {
				t.Fatal(err)
			}
			defer v.Close()
			n := 0
			for _, err := range v.Scan(journal.Scan{Table: "steps"}) {
				if err != nil {
					t.Fatal(err)
				}
				n++
			}
			if n != 35 {
				t.Errorf("%d rows, not 35", n)
			}
		})
	}
}

// TestLostFilesAreNoticed: so are a log or the marker of the list that went missing.
func TestLostFilesAreNoticed(t *testing.T) {
	src := flushed(t)
	for name, what := range map[string]string{"*.log": "log", "marker.manifest.*": "MANIFEST-"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "store")
			copyDir(t, src, dir)
			files, _ := filepath.Glob(filepath.Join(dir, name))
			if len(files) == 0 {
				t.Fatal("none there")
			}
			for _, f := range files {
				if err := os.Remove(f); err != nil {
					t.Fatal(err)
				}
			}
			mustRefuse(t, dir, what)
		})
	}
}

// TestAForgottenTableIsDamage: without a witness too a store never comes up empty beside its tables, and refusing it removes
// nothing.
func TestAForgottenTableIsDamage(t *testing.T) {
	for name, harm := range map[string]func([]byte) []byte{
		"flipped": func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
		"cut":     func(b []byte) []byte { return b[:len(b)-1] },
		"zeroed":  func(b []byte) []byte { clear(b[len(b)-20:]); return b },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "store")
			c := mustOpen(t, nil, dir)
			var p storagetest.Progress
			if err := storagetest.Work(c, 1, &p); err != nil {
				t.Fatal(err)
			}
			mustClose(t, c)
			b, err := os.ReadFile(manifest(t, dir))
			if err == nil {
				err = errors.Join(os.WriteFile(manifest(t, dir), harm(b), 0o600), os.Remove(filepath.Join(dir, "witness")))
			}
			if err != nil {
				t.Fatal(err)
			}
			mustRefuse(t, dir, "list")
		})
	}
}

// TestDamagedWitness: a witness that cannot be read says nothing; the store opens and has a good one afterwards.
func TestDamagedWitness(t *testing.T) {
	src := flushed(t)
	good, err := os.ReadFile(filepath.Join(src, "witness"))
	if err != nil {
		t.Fatal(err)
	}
	for at := range len(good) + 1 {
		dir := filepath.Join(t.TempDir(), "store")
		copyDir(t, src, dir)
		bad := slices.Clone(good[:at])
		if at%2 == 0 && at < len(good) {
			bad = slices.Clone(good)
			bad[at] ^= 1
		}
		if err := os.WriteFile(filepath.Join(dir, "witness"), bad, 0o600); err != nil {
			t.Fatal(err)
		}
		mustClose(t, mustOpen(t, nil, dir))
		if at%9 == 0 {
			if err := os.Truncate(manifest(t, dir), 100); err != nil {
				t.Fatal(err)
			}
			mustRefuse(t, dir, "MANIFEST-")
		}
	}
}

// TestBackupInPlace: what a refusal tells to do works: a copy made while the store was running, put in its place.
func TestBackupInPlace(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "store")
	disk, err := pebblestore.Open(pebblestore.Options{Dir: dir, Reserve: 1})
	if err != nil {
		t.Fatal(err)
	}
	c, err := journal.Open(context.Background(), journal.Options{Disk: disk, Memory: memory()})
	if err != nil {
		t.Fatal(err)
	}
	var p storagetest.Progress
	if err := storagetest.Work(c, 25, &p); err != nil {
		t.Fatal(err)
	}
	if err := disk.Checkpoint(filepath.Join(root, "backup")); err != nil {
		t.Fatal(err)
	}
	if err := storagetest.Work(c, 35, &p); err != nil {
		t.Fatal(err)
	}
	mustClose(t, c)
	if err := os.Truncate(manifest(t, dir), 100); err != nil {
		t.Fatal(err)
	}
	mustRefuse(t, dir, "MANIFEST-")
	if err := errors.Join(os.Rename(dir, dir+"-damaged"), os.Rename(filepath.Join(root, "backup"), dir)); err != nil {
		t.Fatal(err)
	}
	c = mustOpen(t, nil, dir)
	defer mustClose(t, c)
	if _, err := storagetest.Verify(c, 25, 25); err != nil {
		t.Error(err)
	}
}
