package memstore_test

import (
	"testing"

	"sentient/storage/journal"
	"sentient/storage/memstore"
	"sentient/storage/storagetest"
)

func TestConformance(t *testing.T) {
	storagetest.Run(t, storagetest.Factory{
		Place: func(testing.TB) storagetest.Place {
			kept := memstore.New()
			return func() (journal.Engine, error) {
				kept = kept.Reopen()
				return kept, nil
			}
		},
		Memory: func() journal.Engine { return memstore.New() },
	})
}
