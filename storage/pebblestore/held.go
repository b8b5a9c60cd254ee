package pebblestore

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"sentient/storage/journal"
)

// heldError says who has the store open when its lock was refused.
func heldError(dir string, err error) error {
	switch {
	case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) && exists(lockPath(dir)):
		return &journal.HeldError{Path: dir, PID: holder(lockPath(dir))}
	case strings.Contains(err.Error(), "held by current process") || errors.Is(err, os.ErrExist):
		// Opening the lock file here would drop this process's own lock when it is closed again (POSIX).
		return &journal.HeldError{Path: dir, PID: os.Getpid()}
	}
	return fmt.Errorf("the store's folder could not be locked: %w", err)
}

func lockPath(dir string) string { return filepath.Join(dir, "LOCK") }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// holder asks the system which process holds the lock, 0 when it does not say.
func holder(path string) int {
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
	if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &lock); err != nil || lock.Type == unix.F_UNLCK {
		return 0
	}
	return int(lock.Pid)
}
