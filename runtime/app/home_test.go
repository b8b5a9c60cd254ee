package app

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestFindHome(t *testing.T) {
	user := t.TempDir()
	standard := filepath.Join(user, ".sentient")
	link := filepath.Join(user, "link")
	if err := os.Mkdir(standard, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(standard, link); err != nil {
		t.Skip("no links here")
	}
	for _, c := range []struct {
		set, dir string
		standard bool
	}{{"", standard, true}, {standard, standard, true}, {"~/.sentient", standard, true}, {link, link, true}, {"~/other", filepath.Join(user, "other"), false}, {"/x/y/../z", "/x/z", false}} {
		h, err := FindHome(env("SENTIENT_HOME", c.set), user)
		if err != nil || h.Dir != c.dir || h.Default != c.standard {
			t.Errorf("%q: %+v %v", c.set, h, err)
		}
	}
	if _, err := FindHome(env(), ""); err == nil {
		t.Error("no home at all")
	}
	h, _ := FindHome(env(), user)
	if err := h.Prepare(); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(standard); info.Mode().Perm() != 0o700 {
		t.Error("others can look in")
	}
}

func TestToken(t *testing.T) {
	h := Home{Dir: t.TempDir()}
	token, err := h.Token(env())
	if err != nil || len(token) != 64 {
		t.Fatal(token, err)
	}
	info, err := os.Stat(h.TokenFile())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatal("the token is readable by others")
	}
	if again, err := h.Token(env()); err != nil || again != token {
		t.Error("it changes from start to start", err)
	}
	if other, _ := (Home{Dir: t.TempDir()}).Token(env()); other == token {
		t.Error("two homes, one token")
	}
	if given, err := h.Token(env("SENTIENT_GATEWAY_TOKEN", " abc ")); err != nil || given != "abc" {
		t.Error(given, err)
	}
	if _, err := h.Token(env("SENTIENT_GATEWAY_TOKEN", "a b")); err == nil || strings.Contains(err.Error(), "a b") {
		t.Error(err)
	}
	if err := os.Chmod(h.TokenFile(), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Token(env()); err != nil {
		t.Error(err)
	}
	if info, _ = os.Stat(h.TokenFile()); info.Mode().Perm() != 0o600 {
		t.Error("an open token file stays open")
	}
	write(t, h.TokenFile(), "two words\n")
	if _, err := h.Token(env()); err == nil || strings.Contains(err.Error(), "two words") {
		t.Error(err)
	}
	write(t, h.TokenFile(), "\n")
	if fresh, err := h.Token(env()); err != nil || len(fresh) != 64 || fresh == token {
		t.Error("an empty file gets a new token", err)
	}
}

// engine-discovery.json holds the loopback address and nothing else.
func TestDiscovery(t *testing.T) {
	h := Home{Dir: t.TempDir()}
	for bound, want := range map[string]string{"127.0.0.1:7777": "http://127.0.0.1:7777", "0.0.0.0:80": "http://127.0.0.1:80", "[::]:9": "http://127.0.0.1:9", "[::1]:9": "http://[::1]:9", "192.168.1.4:80": ""} {
		addr, err := net.ResolveTCPAddr("tcp", bound)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Address(addr); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q %v", bound, got, err)
		}
	}
	if _, err := h.ReadDiscovery(); err == nil {
		t.Error("nobody is running")
	}
	if err := h.WriteDiscovery("http://127.0.0.1:7777"); err != nil {
		t.Fatal(err)
	}
	if got := read(t, h.Discovery()); got != `{"address":"http://127.0.0.1:7777"}`+"\n" {
		t.Error(got)
	}
	if got, err := h.ReadDiscovery(); err != nil || got != "http://127.0.0.1:7777" {
		t.Error(got, err)
	}
	if err := h.RemoveDiscovery("http://127.0.0.1:8888"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(h.Discovery()); err != nil {
		t.Error("another engine's file was removed")
	}
	if err := h.RemoveDiscovery("http://127.0.0.1:7777"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(h.Discovery()); err == nil {
		t.Error("it stays after the stop")
	}
}
