package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An archive that is not the one this version was made for is never used, and without npm a person is told what to install.
func TestOnlyTheRightArchiveIsUsed(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	t.Setenv("LocalAppData", cache)
	t.Setenv("PATH", "")
	root, err := os.UserCacheDir()
	if err != nil {
		t.Skip("no cache folder here: " + err.Error())
	}
	folder := filepath.Join(root, "sentient", "models")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, archiveName), []byte("another archive"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "models")
	if err := run(out); err == nil || !strings.Contains(err.Error(), "npm is needed") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("something was installed")
	}
	if _, err := unpack([]byte("no archive")); err == nil {
		t.Error("what is no archive was unpacked")
	}
}
