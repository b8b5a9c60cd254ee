package pretend

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Switches is a folder in which a file of a name turns a fault on, so that it can be done from outside while the engine runs:
//
//	panic   the next message of an actor breaks it, and the file is gone; what the file says is the actors' owner, nothing: any
//	slow    every sync of the disk takes as long as the file says ("50ms")
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

// SyncTakes is how much longer a sync takes.
func (s Switches) SyncTakes() time.Duration {
	text, _ := s.read("slow")
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0
	}
	return d
}

// Writes is what a write fails with.
func (s Switches) Writes() error {
	if _, on := s.read("broken"); on {
		return syscall.EIO
	}
	return nil
}
