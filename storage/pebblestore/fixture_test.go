package pebblestore_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"sentient/storage/journal"
	"sentient/storage/pebblestore"
)

var rewrite = flag.Bool("rewrite", false, "write the fixture of the first version again")

const fixture = "testdata/v1"

// TestFirstVersion reads a store that the first version wrote, as it is and through an upgrade step.
func TestFirstVersion(t *testing.T) {
	if *rewrite {
		writeFixture(t)
	}
	for _, schema := range []uint64{1, 2} {
		t.Run(fmt.Sprint("schema", schema), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "store")
			copyDir(t, fixture, dir)
			opt := journal.Options{Schema: schema, Memory: memory(), Upgrade: func(_ journal.Kind, name string, from uint64, data []byte) ([]byte, error) {
				return fmt.Appendf(nil, "%s (%s of %d)", data, name, from), nil
			}}
			up := func(s, name string) string {
				if schema == 1 {
					return s
				}
				return fmt.Sprintf("%s (%s of 1)", s, name)
			}
			disk, err := pebblestore.Open(pebblestore.Options{Dir: dir, Reserve: 1})
			if err != nil {
				t.Fatal(err)
			}
			opt.Disk = disk
			c, err := journal.Open(context.Background(), opt)
			if err != nil {
				t.Fatal(err)
			}
			defer mustClose(t, c)
			checkFixture(t, c, up)
		})
	}
}

func writeFixture(t *testing.T) {
	if err := os.RemoveAll(fixture); err != nil {
		t.Fatal(err)
	}
	disk, err := pebblestore.Open(pebblestore.Options{Dir: fixture, Reserve: 1, Ballast: -1})
	if err != nil {
		t.Fatal(err)
	}
	c, err := journal.Open(context.Background(), journal.Options{Disk: disk, Memory: memory()})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []journal.Append{
		{Stream: "session/a", Events: [][]byte{[]byte("one"), []byte("two")}, Snapshot: []byte("state"), Publish: []journal.Note{{Type: "done", Topic: "a", Data: []byte("fact")}},
			Rows: []journal.Row{{Table: "chats", Key: []byte("a"), Value: []byte("row"), Index: []journal.IndexEntry{{Index: "newest", Key: []byte{0, 1, 2}}}}}},
		{Stream: "session/a", Expected: 2, Events: [][]byte{[]byte("three")}},
		{Stream: "session/b", Events: [][]byte{[]byte("one")}},
		{Stream: "session/b", Expected: 1, Delete: true},
	} {
		if _, err := c.Append(context.Background(), a); err != nil {
			t.Fatal(err)
		}
	}
	c.Checkpoint("session/a", []byte("so far"))
	mustClose(t, c)
}

func checkFixture(t *testing.T, c *journal.Committer, up func(data, name string) string) {
	l, err := c.Load(context.Background(), "session/a")
	if err != nil {
		t.Fatal(err)
	}
	equal := func(what string, got []byte, want string) {
		t.Helper()
		if string(got) != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	if l.Version != 3 || len(l.Events) != 1 || len(l.Checkpoints) != 1 {
		t.Fatalf("%+v", l)
	}
	equal("snapshot", l.Snapshot, up("state", "session/a"))
	equal("event", l.Events[0], up("three", "session/a"))
	equal("checkpoint", l.Checkpoints[0], up("so far", "session/a"))
	if l, err := c.Load(context.Background(), "session/b"); err != nil || !l.Deleted {
		t.Errorf("%+v %v", l, err)
	}
	v, err := c.Read()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	n := 0
	for item, err := range v.Scan(journal.Scan{Table: "chats", Index: "newest", Prefix: []byte{0}}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		equal("row", item.Value, up("row", "chats"))
	}
	for e, err := range v.Log(0) {
		if err != nil || e.Seq != 1 || e.Topic != "a" {
			t.Fatalf("%+v %v", e, err)
		}
		n++
		equal("note", e.Data, up("fact", "done"))
	}
	if n != 2 {
		t.Errorf("%d rows and notes", n)
	}
	if _, err := c.Append(context.Background(), journal.Append{Stream: "session/a", Expected: 3, Events: [][]byte{[]byte("four")}}); err != nil {
		t.Error(err)
	}
}
