//go:build unix

package blob

import (
	"errors"
	"syscall"
)

const nonblock = syscall.O_NONBLOCK

func isNotDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
