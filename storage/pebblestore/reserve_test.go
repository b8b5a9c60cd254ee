package pebblestore

import (
	"context"
	"errors"
	"testing"

	"sentient/storage/journal"
	"sentient/storage/memstore"
)

// Below the reserve nothing is taken but a delete: it is how a person makes room.
func TestBelowTheReserveOnlyDeletesAreTaken(t *testing.T) {
	dir := t.TempDir()
	open := func(reserve uint64) *journal.Committer {
		t.Helper()
		disk, err := Open(Options{Dir: dir, Reserve: reserve})
		if err != nil {
			t.Fatal(err)
		}
		j, err := journal.Open(t.Context(), journal.Options{Disk: disk, Memory: memstore.New()})
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	j := open(1)
	if _, err := j.Append(t.Context(), journal.Append{Stream: "chat/a", Events: [][]byte{[]byte("x")}}); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	j = open(1 << 62)
	defer j.Close(context.Background())
	if _, err := j.Append(t.Context(), journal.Append{Stream: "chat/a", Expected: 1, Events: [][]byte{[]byte("y")}}); !errors.Is(err, journal.ErrFull) {
		t.Fatal(err)
	}
	if _, err := j.Append(t.Context(), journal.Append{Stream: "chat/a", Expected: 1, Delete: true}); err != nil {
		t.Fatal(err)
	}
	if l, err := j.Load(t.Context(), "chat/a"); err != nil || !l.Deleted {
		t.Fatal(l, err)
	}
}
