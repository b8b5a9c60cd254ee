//go:build unix

package blob

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
)

func TestAPipeIsNoFile(t *testing.T) {
	f, _ := open(t)
	if err := syscall.Mkfifo(filepath.Join(f.Dir(), "pipe"), 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := f.Open("pipe"); !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
	if got := names(t, f, ""); len(got) != 0 {
		t.Fatal(got)
	}
}
