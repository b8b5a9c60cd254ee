package pebblestore_test

import (
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"sentient/storage/pebblestore"
	"sentient/storage/storagetest"
)

// trouble counts what a disk was asked.
type trouble struct {
	syncs  atomic.Int64
	broken atomic.Bool
}

func (t *trouble) SyncTakes() time.Duration { t.syncs.Add(1); return time.Microsecond }

func (t *trouble) Writes() error {
	if t.broken.Load() {
		return syscall.EIO
	}
	return nil
}

// TestTroubledDisk: every step waits for a sync of the troubled disk, and a store there is an ordinary one.
func TestTroubledDisk(t *testing.T) {
	var disk trouble
	dir := filepath.Join(t.TempDir(), "store")
	c := mustOpen(t, pebblestore.Troubled(&disk), dir)
	before := disk.syncs.Load()
	var p storagetest.Progress
	if err := storagetest.Work(c, 20, &p); err != nil {
		t.Fatal(err)
	}
	if n := disk.syncs.Load() - before; n < 20 {
		t.Errorf("20 steps made %d syncs", n)
	}
	mustClose(t, c)
	disk.broken.Store(true)
	if c, err := openOn(pebblestore.Troubled(&disk), dir); err == nil {
		mustClose(t, c)
		t.Error("a store was opened on a disk that takes no write")
	}
	c = mustOpen(t, nil, dir)
	defer mustClose(t, c)
	if _, err := storagetest.Verify(c, 20, 20); err != nil {
		t.Error(err)
	}
}
