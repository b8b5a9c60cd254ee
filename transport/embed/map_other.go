//go:build !unix

package embed

import (
	"io"
	"os"
)

// mapped reads a file; letting it go is the garbage collector's work.
func mapped(f *os.File, size int) ([]byte, func() error, error) {
	b := make([]byte, size)
	if _, err := io.ReadFull(f, b); err != nil {
		return nil, nil, err
	}
	return b, func() error { return nil }, nil
}
