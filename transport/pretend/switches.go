package pretend

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Switches is a folder in which a file of a name turns a fault on, so that it can be done from outside while the engine runs:
//
//	panic   the next message of an actor breaks it, and the file is gone; what the file says is the actors' owner, nothing: any
//	slow    every sync of the disk takes as long as the file says ("50ms")
//	die     the engine kills itself (kill -9) right before that many-th next sync of the disk
//	broken  every write and every sync fails as on a disk that is dying
type Switches string

func (s Switches) read(name string) (string, bool) {
	b, err := os.ReadFile(filepath.Join(string(s), name))
	return strings.TrimSpace(string(b)), err == nil
}

// Disturb panics when the switch is on for this owner's actors. Of two that see it at once, one takes it.
func (s Switches) Disturb(owner string) {
	if whom, on := s.read("panic"); on && (whom == "" || whom == owner) && os.Remove(filepath.Join(string(s), "panic")) == nil {
		panic("a fault was ordered")
	}
}

// SyncTakes is how much longer a sync takes: for ever, when it is the one to die at.
func (s Switches) SyncTakes() time.Duration {
	s.die()
	text, _ := s.read("slow")
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0
	}
	return d
}

// die counts down in the file itself. The log of the store is synced by one goroutine; a sync of another file at the same
// moment may count once for both.
func (s Switches) die() {
	text, on := s.read("die")
	if n, err := strconv.Atoi(text); !on || err != nil {
		return
	} else if n > 1 {
		_ = os.WriteFile(filepath.Join(string(s), "die"), []byte(strconv.Itoa(n-1)), 0o600) // if not, it dies one sync later
		return
	}
	if p, err := os.FindProcess(os.Getpid()); err == nil && os.Remove(filepath.Join(string(s), "die")) == nil {
		_ = p.Kill()
		select {} // nothing more reaches the disk
	}
}

// Writes is what a write fails with.
func (s Switches) Writes() error {
	if _, on := s.read("broken"); on {
		return syscall.EIO
	}
	return nil
}
