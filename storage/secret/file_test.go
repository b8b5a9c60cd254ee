package secret

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFileWhenThereIsNoKeychain(t *testing.T) {
	home := t.TempDir()
	r := newRing()
	r.down = errNoBus
	s := open(t, home, r)
	want(t, s, "openai", "", None)
	if files, _ := os.ReadDir(home); len(files) != 0 {
		t.Error("reading made files", files)
	}
	const value = "sk-very-secret-value"
	must(t, s.Set(t.Context(), "openai", value))
	want(t, s, "openai", value, File)
	want(t, open(t, home, r), "openai", value, File)
	for _, name := range []string{"secrets.enc", "secrets.key"} {
		info, err := os.Stat(filepath.Join(home, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s is readable by others", name)
		}
		data, _ := os.ReadFile(filepath.Join(home, name))
		if bytes.Contains(data, []byte(value)) || bytes.Contains(data, []byte("openai")) {
			t.Errorf("%s is in clear", name)
		}
	}
	must(t, s.Delete(t.Context(), "openai"))
	want(t, s, "openai", "", None)
	if left, _ := filepath.Glob(filepath.Join(home, ".tmp*")); len(left) > 0 {
		t.Error(left)
	}
}

func TestFileWithAPhrase(t *testing.T) {
	home, r := t.TempDir(), newRing()
	r.down = errNoBus
	s := open(t, home, r, "SENTIENT_SECRETS_KEY", "any words at all")
	must(t, s.Set(t.Context(), "a", "1"))
	if _, err := os.Stat(filepath.Join(home, "secrets.key")); err == nil {
		t.Error("a key file was made although there is a phrase")
	}
	want(t, open(t, home, r, "SENTIENT_SECRETS_KEY", "any words at all"), "a", "1", File)
	sealed, _ := os.ReadFile(filepath.Join(home, "secrets.enc"))
	for name, env := range map[string][]string{
		"wrong": {"SENTIENT_SECRETS_KEY", "other words"}, "unset": nil,
	} {
		bad := open(t, home, r, env...)
		if name == "unset" {
			must(t, os.WriteFile(filepath.Join(home, "secrets.key"), []byte(strings.Repeat("ab", 32)), 0o600))
		}
		_, _, err := bad.Get(t.Context(), "a")
		if err == nil || !strings.Contains(err.Error(), "SENTIENT_SECRETS_KEY") || !strings.Contains(err.Error(), "kept") || strings.Contains(err.Error(), "words") {
			t.Errorf("%s: %v", name, err)
		}
		if err := bad.Set(t.Context(), "a", "2"); err == nil {
			t.Errorf("%s: a file that cannot be read was written over", name)
		}
	}
	if now, _ := os.ReadFile(filepath.Join(home, "secrets.enc")); !bytes.Equal(now, sealed) {
		t.Error("the file was changed")
	}
}

func TestADamagedFileIsKeptAndExplained(t *testing.T) {
	home, r := t.TempDir(), newRing()
	r.down = errNoBus
	must(t, open(t, home, r).Set(t.Context(), "a", "1"))
	path, key := filepath.Join(home, "secrets.enc"), filepath.Join(home, "secrets.key")
	good, err := os.ReadFile(path)
	must(t, err)
	goodKey, err := os.ReadFile(key)
	must(t, err)
	for name, damage := range map[string]func(){
		"cut":         func() { must(t, os.WriteFile(path, good[:len(good)-5], 0o600)) },
		"empty":       func() { must(t, os.WriteFile(path, nil, 0o600)) },
		"one bit":     func() { bad := bytes.Clone(good); bad[len(bad)-1] ^= 1; must(t, os.WriteFile(path, bad, 0o600)) },
		"not ours":    func() { must(t, os.WriteFile(path, []byte("hello"), 0o600)) },
		"no key":      func() { must(t, os.Remove(key)) },
		"other key":   func() { must(t, os.WriteFile(key, []byte(strings.Repeat("ab", 32)), 0o600)) },
		"damaged key": func() { must(t, os.WriteFile(key, []byte("zz"), 0o600)) },
	} {
		must(t, os.WriteFile(path, good, 0o600))
		must(t, os.WriteFile(key, goodKey, 0o600))
		damage()
		before, _ := os.ReadFile(path)
		s := open(t, home, r)
		if _, _, err := s.Get(t.Context(), "a"); err == nil || len(err.Error()) < 30 {
			t.Errorf("%s: %v", name, err)
		}
		if err := s.Set(t.Context(), "b", "2"); err == nil {
			t.Errorf("%s: written over", name)
		}
		if now, _ := os.ReadFile(path); !bytes.Equal(now, before) {
			t.Errorf("%s: the file was changed", name)
		}
		must(t, os.WriteFile(path, good, 0o600)) // a person puts it right, and the same engine goes on
		must(t, os.WriteFile(key, goodKey, 0o600))
		want(t, s, "a", "1", File)
	}
	r.down = nil
	must(t, os.WriteFile(path, good[:10], 0o600))
	s := open(t, home, r)
	must(t, s.Set(t.Context(), "c", "3"))
	want(t, s, "c", "3", Keychain)
}
