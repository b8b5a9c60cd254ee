package pebblestore

import (
	"errors"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// errForgotten: Pebble reads a damaged end of its manifest as the end, so a store could come up empty and its tables would be
// removed as left over. Every store that was ever used holds records, so an empty one beside tables is damage.
var errForgotten = errors.New("the list of the store's files is empty")

// keeper is the file system on which nothing that holds data is removed before the store was found to be whole.
type keeper struct {
	vfs.FS
	witness *witness

	mu    sync.Mutex
	whole bool
	held  []string
}

// Unwrap implements vfs.FS.
func (k *keeper) Unwrap() vfs.FS { return k.FS }

// Create implements vfs.FS. The witness follows what is written to the list of files.
func (k *keeper) Create(path string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := k.FS.Create(path, category)
	if err != nil {
		return nil, err
	}
	return k.witness.watch(path, f), nil
}

// Remove implements vfs.FS.
func (k *keeper) Remove(path string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	name := k.FS.PathBase(path)
	if !k.whole && (strings.HasSuffix(name, tableSuffix) || strings.HasSuffix(name, ".log") || strings.HasPrefix(name, "MANIFEST-")) {
		k.held = append(k.held, path)
		return nil
	}
	return k.FS.Remove(path)
}

// release removes what was held. What cannot be removed now goes at the next start.
func (k *keeper) release() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.whole = true
	for _, path := range k.held {
		_ = k.FS.Remove(path)
	}
	k.held = nil
}

const tableSuffix = ".sst"

// hasTables says whether the folder holds a table, so whether the store was used before.
func hasTables(o Options) bool {
	names, err := o.FS.List(o.Dir)
	if err != nil {
		return false
	}
	for _, n := range names {
		if strings.HasSuffix(n, tableSuffix) {
			return true
		}
	}
	return false
}

// empty says whether the store holds no record at all. An error is told where the records are read.
func (s *Store) empty() bool {
	it, err := s.db.NewIter(nil)
	if err != nil {
		return false
	}
	found := it.First()
	err = errors.Join(it.Error(), it.Close())
	return !found && err == nil
}
