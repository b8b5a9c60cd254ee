package pebblestore

import (
	"io"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"sentient/storage/journal"
)

// space watches the disk's free space. Two things refuse a batch before Pebble sees it: less free than the reserve, and a
// write that found the disk full and lived on the ballast, until the ballast is back.
type space struct {
	fs      vfs.FS // not wrapped by vfs.OnDiskFull, whose callback must be able to use it
	dir     string
	path    string
	reserve uint64
	size    int64
	log     *slog.Logger
	full    atomic.Bool // the ballast was given up

	mu      sync.Mutex
	checked time.Time
	refuse  bool
}

// checkEvery bounds how often the system is asked.
const checkEvery = time.Second

func newSpace(o Options) *space {
	return &space{fs: o.FS, dir: o.Dir, path: o.FS.PathJoin(o.Dir, "ballast"), reserve: o.Reserve, size: o.Ballast, log: o.Logger}
}

// diskFull is called by the file system while all its writers wait: the write that failed is tried again after it.
func (s *space) diskFull() {
	s.full.Store(true)
	_ = s.fs.Remove(s.path)
}

func (s *space) room() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.checked.IsZero() || now.Sub(s.checked) >= checkEvery {
		s.checked = now
		s.look()
	}
	switch {
	case s.full.Load():
		return journal.ErrFull
	case s.refuse:
		return journal.ErrReserve
	}
	return nil
}

// look asks the system, and gets the ballast back when there is room for it.
func (s *space) look() {
	was := s.refuse
	need := s.reserve
	if s.full.Load() && s.size > 0 {
		need += uint64(s.size)
	}
	usage, err := s.fs.GetDiskUsage(s.dir)
	s.refuse = err == nil && usage.AvailBytes < need // a system that does not say leaves it to the ballast
	if !s.refuse && s.full.Load() {
		s.full.Store(false) // first, so that a write that fails meanwhile is not forgotten
		if !s.keepBallast() {
			s.full.Store(true)
		}
	}
	if s.refuse != was {
		s.log.Warn("the disk's free space crossed the reserve", "free_bytes", usage.AvailBytes, "refusing", s.refuse)
	}
}

// keepBallast makes sure that the file is there.
func (s *space) keepBallast() bool {
	if s.size <= 0 {
		return true
	}
	if _, err := s.fs.Stat(s.path); err == nil {
		return true
	}
	f, err := s.fs.Create(s.path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return false
	}
	if runtime.GOOS != "linux" || f.Preallocate(0, s.size) != nil { // elsewhere Preallocate does nothing
		err = fill(f, s.size)
	}
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		_ = s.fs.Remove(s.path)
	}
	return err == nil
}

func fill(f io.Writer, size int64) error {
	block := make([]byte, mib)
	for ; size > 0; size -= mib {
		if _, err := f.Write(block[:min(size, mib)]); err != nil {
			return err
		}
	}
	return nil
}
