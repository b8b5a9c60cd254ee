package pebblestore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/objstorage"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"sentient/storage/journal"
	"sentient/storage/pebblestore"
)

// blocksOf are the places of a table's data blocks.
func blocksOf(t *testing.T, path string) (at []int64) {
	t.Helper()
	f, err := vfs.Default.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	var readable objstorage.Readable
	if readable, err = sstable.NewSimpleReadable(f); err != nil {
		t.Fatal(err)
	}
	r, err := sstable.NewReader(context.Background(), readable, sstable.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	l, err := r.Layout()
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range l.Data {
		at = append(at, int64(b.Offset)+int64(b.Length)/2)
	}
	return at
}

// harm flips a bit.
func harm(t *testing.T, path string, at int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 16
	if _, err := f.WriteAt(b[:], at); err != nil {
		t.Fatal(err)
	}
}

const chatsKept = 300

func chatRow(i int, text string) journal.Row {
	return journal.Row{Table: "chats", Key: fmt.Appendf(nil, "%06d", i), Value: fmt.Appendf(nil, "%s %d %x", text, i, bytes.Repeat([]byte{byte(i), byte(i * 7), byte(i * 13)}, 40)),
		Index: []journal.IndexEntry{{Index: "updated", Key: fmt.Appendf(nil, "%06d", i)}}}
}

// writeChats fills a store whose rows are all in tables.
func writeChats(t *testing.T, c *journal.Committer, from, to int, version uint64) {
	t.Helper()
	for i := from; i < to; i += 50 {
		a := journal.Append{Stream: "s/a", Expected: version, Events: [][]byte{[]byte("e")}, Publish: []journal.Note{{Type: "n", Data: bytes.Repeat([]byte("note"), 100)}}}
		for n := i; n < min(i+50, to); n++ {
			a.Rows = append(a.Rows, chatRow(n, "chat"))
		}
		got, err := c.Append(context.Background(), a)
		if err != nil {
			t.Fatal(err)
		}
		version = got.Version
	}
}

// listed are the numbers of the rows that a scan yields, and how many errors.
func listed(t *testing.T, c *journal.Committer, q journal.Scan) (rows []string, errs int) {
	t.Helper()
	v, err := c.Read()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	for item, err := range v.Scan(q) {
		if err != nil {
			errs++
			continue
		}
		rows = append(rows, string(item.Key))
	}
	return rows, errs
}

func openLogged(t *testing.T, dir string) (*journal.Committer, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	disk, err := pebblestore.Open(pebblestore.Options{Dir: dir, Reserve: 1, Ballast: -1, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	c, err := journal.Open(context.Background(), journal.Options{Disk: disk, Memory: memory(), Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	c.Release()
	return c, &out
}

// TestDamagedBlock: whichever block of a table is damaged, the store opens, scans yield all rows but that block's, forwards
// and backwards, by key and by index, they say so once, what is written afterwards is found, and the table stays.
func TestDamagedBlock(t *testing.T) {
	src := filepath.Join(t.TempDir(), "store")
	c, _ := openLogged(t, src)
	writeChats(t, c, 0, chatsKept, 0)
	mustClose(t, c)
	tables, _ := filepath.Glob(filepath.Join(src, "*.sst"))
	if len(tables) != 1 {
		t.Fatal(tables)
	}
	blocks := blocksOf(t, tables[0])
	if len(blocks) < 8 {
		t.Fatalf("only %d blocks", len(blocks))
	}
	missed := 0
	for _, at := range blocks {
		dir := filepath.Join(t.TempDir(), "store")
		copyDir(t, src, dir)
		path := filepath.Join(dir, filepath.Base(tables[0]))
		harm(t, path, at)
		c, log := openLogged(t, dir)
		missed += checkDamaged(t, c, log)
		mustClose(t, c)
		if _, err := os.Stat(path); err != nil {
			t.Error("the damaged table is gone:", err)
		}
	}
	if missed < chatsKept {
		t.Errorf("the damage of all blocks hid only %d of %d rows", missed, chatsKept)
	}
}

// checkDamaged checks one store with one damaged block and returns how many rows are missed.
func checkDamaged(t *testing.T, c *journal.Committer, log *bytes.Buffer) int {
	t.Helper()
	all, errs := listed(t, c, journal.Scan{Table: "chats"})
	missed := chatsKept - len(all)
	if missed > chatsKept/4 || errs > 0 {
		t.Errorf("one block takes %d rows, %d errors", missed, errs)
	}
	back, _ := listed(t, c, journal.Scan{Table: "chats", Reverse: true})
	slices.Reverse(back)
	if !slices.Equal(all, back) {
		t.Errorf("forwards %d rows, backwards %d", len(all), len(back))
	}
	if missed > 0 {
		if _, errs := listed(t, c, journal.Scan{Table: "chats", Whole: true}); errs == 0 {
			t.Error("a scan of the whole does not notice")
		}
		gap := 0 // the missing rows are one block's: neighbours
		for i, j := 0, 0; i < chatsKept; i++ {
			if j < len(all) && all[j] == fmt.Sprintf("%06d", i) {
				j++
			} else if i == 0 || j == 0 || all[j-1] == fmt.Sprintf("%06d", i-1) {
				gap++
			}
		}
		if gap > 1 && all[0] == "000000" {
			t.Errorf("the missing rows are in %d places", gap)
		}
		if d := c.Damage(); len(d) == 0 || d[0].Part != "chats" || d[0].Places == 0 {
			t.Errorf("nothing is said of it: %v", d)
		}
		if n := strings.Count(log.String(), "part=chats"); n != 1 {
			t.Errorf("%d lines in the log", n)
		}
	}
	if s := log.String(); strings.Contains(s, "<") || strings.Contains(s, `\x00`) {
		t.Error(s)
	}
	byIndex, _ := listed(t, c, journal.Scan{Table: "chats", Index: "updated"})
	if !slices.Equal(byIndex, all) { // a damaged index takes nothing: the rows know
		t.Errorf("%d rows by the index, %d by key", len(byIndex), len(all))
	}
	slices.Reverse(byIndex)
	byIndex = byIndex[:50]
	if back, _ := listed(t, c, journal.Scan{Table: "chats", Index: "updated", Reverse: true, Limit: 50}); !slices.Equal(back, byIndex) {
		t.Errorf("the last by the index are %v, not %v", back, byIndex)
	}
	if some, _ := listed(t, c, journal.Scan{Table: "chats", Index: "updated", Prefix: []byte("0001")}); len(some) > 100 || len(some) < 100-missed {
		t.Errorf("%d rows are between 100 and 199", len(some))
	}
	got, err := c.Append(context.Background(), journal.Append{Stream: "s/new", Events: [][]byte{[]byte("e")}, Rows: []journal.Row{chatRow(chatsKept+1, "new")}, Publish: []journal.Note{{Type: "n"}}})
	if err != nil || got.Seq <= chatsKept/50 {
		t.Errorf("number %d, %v", got.Seq, err)
	}
	name := fmt.Sprintf("%06d", chatsKept+1)
	for _, q := range []journal.Scan{{Table: "chats"}, {Table: "chats", Index: "updated"}, {Table: "chats", Reverse: true, Limit: 1}, {Table: "chats", Index: "updated", Reverse: true, Limit: 1}} {
		if rows, _ := listed(t, c, q); !slices.Contains(rows, name) {
			t.Errorf("%+v does not find what was written afterwards", q)
		}
	}
	v, err := c.Read()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	last := uint64(0)
	for e, err := range v.Log(0) {
		if err != nil {
			t.Error(err)
		}
		last = e.Seq
	}
	if last != got.Seq {
		t.Errorf("the log ends at %d, not %d", last, got.Seq)
	}
	return missed
}

// TestDamagedEverywhere: two damaged blocks take no more than their rows, also in tables that an older version wrote, without
// marks, and when a whole table cannot be read.
func TestDamagedEverywhere(t *testing.T) {
	for name, marks := range map[string]bool{"tables of today": true, "tables of an older version": false} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "store")
			c, _ := openLogged(t, dir)
			writeChats(t, c, 0, chatsKept, 0)
			mustClose(t, c)
			if !marks {
				rewriteWithoutMarks(t, dir)
			}
			tables, _ := filepath.Glob(filepath.Join(dir, "*.sst"))
			path := tables[len(tables)-1]
			blocks := blocksOf(t, path)
			n := len(blocks)
			harm(t, path, blocks[n-2])
			harm(t, path, blocks[n-4])
			c, _ = openLogged(t, dir)
			defer func() { mustClose(t, c) }()
			for _, reverse := range []bool{false, true} {
				rows, errs := listed(t, c, journal.Scan{Table: "chats", Reverse: reverse})
				if missed := chatsKept - len(rows); missed == 0 || missed > chatsKept/3 || errs > 0 {
					t.Errorf("reverse %v: %d rows are missed, %d errors", reverse, missed, errs)
				}
			}
			if d := c.Damage(); len(d) == 0 {
				t.Error("nothing is said of it")
			}
		})
	}
}

// TestDamagedIndex: a table whose index is damaged hides what is and is not there: the store is refused, naming the file.
func TestDamagedIndex(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	c, _ := openLogged(t, dir)
	writeChats(t, c, 0, chatsKept, 0)
	mustClose(t, c)
	tables, _ := filepath.Glob(filepath.Join(dir, "*.sst"))
	info, err := os.Stat(tables[0])
	if err != nil {
		t.Fatal(err)
	}
	harm(t, tables[0], info.Size()-20)
	mustRefuse(t, dir, filepath.Base(tables[0]))
}

// silent is a logger for Pebble.
type silent struct{}

func (silent) Infof(string, ...any)             {}
func (silent) Errorf(string, ...any)            {}
func (silent) Fatalf(format string, arg ...any) { panic(fmt.Sprintf(format, arg...)) }

// rewriteWithoutMarks compacts the store as a version did that gave blocks no marks.
func rewriteWithoutMarks(t *testing.T, dir string) {
	t.Helper()
	o := &pebble.Options{FormatMajorVersion: pebble.FormatNewest, Logger: silent{}}
	for i := range o.Levels {
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	db, err := pebble.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	// An overlapping write makes the compaction rewrite the table rather than move it.
	if err := errors.Join(db.Set([]byte("c/\x00"), nil, pebble.Sync), db.Flush(), db.Compact(context.Background(), []byte("a"), []byte("z"), false),
		db.Delete([]byte("c/\x00"), pebble.Sync), db.Flush(), db.Compact(context.Background(), []byte("a"), []byte("z"), false), db.Close()); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "witness")); err != nil {
		t.Fatal(err)
	}
}

// TestWritesGoOnBesideDamage: a damaged table cannot be compacted. Writing goes on past the point where Pebble would wait for
// that for ever, and the tries do not keep the processor busy.
func TestWritesGoOnBesideDamage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	c, _ := openLogged(t, dir)
	writeChats(t, c, 0, chatsKept, 0)
	mustClose(t, c)
	tables, _ := filepath.Glob(filepath.Join(dir, "*.sst"))
	for _, at := range blocksOf(t, tables[0]) {
		harm(t, tables[0], at)
	}
	c, _ = openLogged(t, dir)
	defer func() { mustClose(t, c) }()
	value := make([]byte, 200<<10)
	for i := range uint64(150) { // 30 MiB: 30 tables
		rows := []journal.Row{{Table: "big", Key: fmt.Append(nil, i), Value: value}, {Table: "a", Key: fmt.Append(nil, i), Value: value[:10]}}
		if _, err := c.Append(context.Background(), journal.Append{Stream: "s/b", Expected: i, Events: [][]byte{[]byte("e")}, Rows: rows}); err != nil {
			t.Fatal(err)
		}
	}
	if rows, errs := listed(t, c, journal.Scan{Table: "big"}); len(rows) != 150 || errs > 0 {
		t.Errorf("%d rows, %d errors", len(rows), errs)
	}
	if _, err := os.Stat(tables[0]); err != nil {
		t.Error("the damaged table is gone:", err)
	}
}
