//go:build unix

package keep

import (
	"os"
	"syscall"
)

// openFile opens a file that is no link, without waiting for a pipe's other end.
func openFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
}
