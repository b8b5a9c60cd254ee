//go:build linux

package secret

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/godbus/dbus/v5"
)

// TestRealKeyring runs TestInsideRealKeyring in a session bus of its own with an unlocked GNOME keyring.
func TestRealKeyring(t *testing.T) {
	for _, need := range []string{"dbus-run-session", "gnome-keyring-daemon"} {
		if _, err := exec.LookPath(need); err != nil {
			t.Skipf("%s is not installed; on Debian: apt install dbus gnome-keyring", need)
		}
	}
	self, err := os.Executable()
	must(t, err)
	home := t.TempDir()
	script := `printf pw | gnome-keyring-daemon --unlock --components=secrets >/dev/null 2>&1 && exec "$0" -test.run '^TestInsideRealKeyring$' -test.v -test.count 1`
	cmd := exec.CommandContext(t.Context(), "dbus-run-session", "--", "sh", "-c", script, self)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_RUNTIME_DIR=" + home, "XDG_DATA_HOME=" + home, "XDG_CONFIG_HOME=" + home, inside + "=1"}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestInsideRealKeyring") {
		t.Fatalf("%v\n%s", err, out)
	}
}

func TestInsideRealKeyring(t *testing.T) {
	if os.Getenv(inside) == "" {
		t.Skip("TestRealKeyring runs it in a session of its own")
	}
	endDaemon(t)
	home := t.TempDir()
	s, err := Open(Options{Home: home})
	must(t, err)
	long := strings.Repeat("grüße ", 600)
	for _, v := range []string{"sk-1", long, "sk-2"} {
		must(t, s.Set(t.Context(), "openai", v))
		want(t, s, "openai", v, Keychain)
	}
	again, err := Open(Options{Home: home})
	must(t, err)
	want(t, again, "openai", "sk-2", Keychain)
	other, err := Open(Options{Home: t.TempDir()})
	must(t, err)
	want(t, other, "openai", "", None)
	must(t, s.Delete(t.Context(), "openai"))
	want(t, s, "openai", "", None)
	if files, _ := os.ReadDir(home); len(files) != 0 {
		t.Error(files)
	}
}

// endDaemon waits until the keyring daemon of this session answers, and ends it with the test rather than some seconds after its bus.
func endDaemon(t *testing.T) {
	conn, err := dbus.SessionBus()
	must(t, err)
	owners := make(chan *dbus.Signal, 64)
	conn.Signal(owners)
	must(t, conn.AddMatchSignal(dbus.WithMatchInterface("org.freedesktop.DBus"), dbus.WithMatchMember("NameOwnerChanged")))
	var pid uint32
	for conn.BusObject().Call("org.freedesktop.DBus.GetConnectionUnixProcessID", 0, "org.freedesktop.secrets").Store(&pid) != nil {
		<-owners
	}
	conn.RemoveSignal(owners)
	t.Cleanup(func() {
		if err := syscall.Kill(int(pid), syscall.SIGTERM); err != nil {
			t.Error(err)
		}
	})
}
