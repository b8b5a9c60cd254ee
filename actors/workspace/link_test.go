//go:build unix

package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A link out of the folder is neither read nor written through, and what is not a file is said so.
func TestLinksDoNotLeadOut(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "private.txt")
	must(t, os.WriteFile(outside, []byte("private"), 0o600))
	w := New(t.TempDir())
	if err := os.Symlink(outside, filepath.Join(w.dir, "USER.md")); err != nil {
		t.Skip("no links here")
	}
	if f, err := w.Read(noon); err == nil || strings.Contains(f.User, "private") {
		t.Error("read through a link", err)
	}
	if s, err := w.Snapshot(View{Now: noon, Names: maya}); err == nil || s.Soul == "" {
		t.Error("a prompt still has a persona", err)
	}
	must(t, w.Write("user", "mine"))
	if data, _ := os.ReadFile(outside); string(data) != "private" {
		t.Error("written through a link")
	}
	must(t, os.Symlink(filepath.Dir(outside), filepath.Join(w.dir, "notes")))
	if err := w.Note(noon, "x"); err == nil {
		t.Error("notes outside")
	}
	must(t, syscall.Mkfifo(filepath.Join(w.dir, "MEMORY.md"), 0o600))
	if _, err := w.Read(noon); err == nil {
		t.Error("a pipe was read")
	}
}
