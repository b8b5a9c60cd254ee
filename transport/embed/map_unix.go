//go:build unix

package embed

import (
	"os"

	"golang.org/x/sys/unix"
)

// mapped gives a file's bytes without reading them, and what lets them go.
func mapped(f *os.File, size int) ([]byte, func() error, error) {
	b, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, err
	}
	return b, func() error { return unix.Munmap(b) }, nil
}
