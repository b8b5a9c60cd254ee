package pebblestore_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sentient/storage/journal"
)

// holds says in which files of dir one of the needles is.
func holds(t *testing.T, dir string, needles []string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // a file that just went
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return nil
		}
		for _, x := range needles {
			if bytes.Contains(b, []byte(x)) {
				files = append(files, filepath.Base(path))
				break
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// needle is random, so that compression leaves it readable.
func needle(r *rand.Rand) string {
	b := make([]byte, 24)
	for i := range b {
		b[i] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"[r.IntN(62)]
	}
	return string(b)
}

// TestDeletedMeansGone: after a deletion and its erasure no file of the store holds the chat's text, whether it was in
// events, snapshots, checkpoints, rows or notes, in tables or in logs, and whether it was replaced before.
func TestDeletedMeansGone(t *testing.T) {
	dir := t.TempDir()
	c := mustOpen(t, nil, filepath.Join(dir, "store"))
	defer func() { mustClose(t, c) }()
	r := rand.New(rand.NewPCG(1, 7))
	versions := map[journal.Stream]uint64{}
	var text, others []string
	ctx := context.Background()
	write := func(s journal.Stream, n int, into *[]string) {
		var x [5]string
		for i := range x {
			x[i] = needle(r)
		}
		*into = append(*into, x[:]...)
		if into == &text {
			c.Checkpoint(s, []byte(needle(r)))
		}
		got, err := c.Append(ctx, journal.Append{Stream: s, Expected: versions[s], Events: [][]byte{[]byte(x[0])}, Snapshot: []byte(x[1]), DropCheckpoints: n%2 == 0,
			Rows: []journal.Row{
				{Table: "messages", Key: fmt.Appendf(nil, "%s/%04d", s, n), Value: append(bytes.Repeat([]byte("filler "), 60), x[2]...), Index: []journal.IndexEntry{{Index: "at", Key: fmt.Append(nil, n)}}},
				{Table: "chats", Key: []byte(s), Value: []byte(x[3])},
			},
			Publish: []journal.Note{{Type: "n", Topic: string(s[len("session/"):]), Data: []byte(x[4])}}})
		if err != nil {
			t.Fatal(err)
		}
		versions[s] = got.Version
	}
	for n := range 60 {
		for chat := range 20 {
			into := &others
			if chat == 7 {
				into = &text
			}
			write(journal.Stream(fmt.Sprintf("session/%02d", chat)), n, into)
		}
	}
	if err := c.Close(ctx); err != nil { // part of it in tables
		t.Fatal(err)
	}
	c = mustOpen(t, nil, filepath.Join(dir, "store"))
	write("session/07", 60, &text) // and part in the log
	if len(holds(t, dir, text)) < 2 {
		t.Fatal("the test does not find the text where it must be")
	}
	kept := others[len(others)-100:]
	_, err := c.Append(ctx, journal.Append{Stream: "session/07", Expected: versions["session/07"], Delete: true,
		Prefixes: []journal.Prefix{{Table: "messages", Key: []byte("session/07/")}}, Rows: []journal.Row{{Table: "chats", Key: []byte("session/07")}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Erase(ctx); err != nil {
		t.Fatal(err)
	}
	var left []string
	for range 200 { // files go in the background, soon after
		if left = holds(t, dir, text); len(left) == 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if len(left) > 0 {
		t.Errorf("still in %q", left)
	}
	if len(holds(t, dir, kept)) == 0 {
		t.Error("the others' text is gone too")
	}
}
