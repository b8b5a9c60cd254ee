//go:build linux || freebsd || netbsd || openbsd || dragonfly

package secret

import (
	"os"
	"path/filepath"
)

// mayExist says whether there is a session bus at all. Without this look the D-Bus library would start a bus of its own.
func (system) mayExist(getenv func(string) string) bool {
	if getenv("DBUS_SESSION_BUS_ADDRESS") != "" {
		return true
	}
	dir := getenv("XDG_RUNTIME_DIR")
	if dir == "" {
		return false
	}
	_, err := os.Stat(filepath.Join(dir, "bus"))
	return err == nil
}
