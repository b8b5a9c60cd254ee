package pebblestore_test

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"sentient/storage/journal"
	"sentient/storage/memstore"
	"sentient/storage/pebblestore"
	"sentient/storage/storagetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func memory() journal.Engine { return memstore.New() }

func TestConformance(t *testing.T) {
	storagetest.Run(t, storagetest.Factory{
		Place: func(testing.TB) storagetest.Place {
			fs := vfs.NewMem()
			return func() (journal.Engine, error) {
				return pebblestore.Open(pebblestore.Options{Dir: "store", FS: fs})
			}
		},
		Memory: memory,
	})
}

func TestConformanceOnDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("the same suite runs in memory")
	}
	storagetest.Run(t, storagetest.Factory{
		Place: func(t testing.TB) storagetest.Place {
			dir := t.TempDir()
			return func() (journal.Engine, error) {
				return pebblestore.Open(pebblestore.Options{Dir: dir, Reserve: 1})
			}
		},
		Memory: memory,
	})
}
