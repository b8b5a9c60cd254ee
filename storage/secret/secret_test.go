package secret

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/zalando/go-keyring"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

// inside marks the child of TestRealKeyring.
const inside = "SENTIENT_TEST_INSIDE_KEYRING"

func TestMain(m *testing.M) {
	if os.Getenv(inside) != "" { // the D-Bus library keeps its one connection until the process ends
		os.Exit(m.Run())
	}
	goleak.VerifyTestMain(m)
}

// ring is a keychain in memory. down makes every call fail; hang, when not nil, holds every call until it is closed.
type ring struct {
	mu      sync.Mutex
	entries map[string]string
	down    error
	hang    chan struct{}
	refuse  func(op, name string) error
	calls   int
}

func (r *ring) do(op, service, name string, fn func(key string) error) error {
	if r.hang != nil {
		<-r.hang
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	if r.down != nil {
		return r.down
	}
	if r.refuse != nil {
		if err := r.refuse(op, name); err != nil {
			return err
		}
	}
	return fn(service + "\x00" + name)
}

func (r *ring) Get(service, name string) (value string, err error) {
	err = r.do("get", service, name, func(key string) error {
		var ok bool
		if value, ok = r.entries[key]; !ok {
			return keyring.ErrNotFound
		}
		return nil
	})
	return value, err
}

func (r *ring) Set(service, name, value string) error {
	return r.do("set", service, name, func(key string) error { r.entries[key] = value; return nil })
}

func (r *ring) Delete(service, name string) error {
	return r.do("delete", service, name, func(key string) error {
		if _, ok := r.entries[key]; !ok {
			return keyring.ErrNotFound
		}
		delete(r.entries, key)
		return nil
	})
}

func newRing() *ring { return &ring{entries: map[string]string{}} }

var errNoBus = errors.New("no such bus")

func environ(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func open(t testing.TB, home string, r Keyring, env ...string) *Store {
	t.Helper()
	s, err := Open(Options{Home: home, DefaultHome: "/nowhere/.sentient", Getenv: environ(env...), Keyring: r})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func want(t testing.TB, s *Store, name, value string, from Source) {
	t.Helper()
	got, found, err := s.Get(t.Context(), name)
	if err != nil || got != value || found != (from != None) {
		t.Fatalf("%s: found %v, right value %v, %v", name, found, got == value, err)
	}
	if source, err := s.Source(t.Context(), name); err != nil || source != from {
		t.Fatalf("%s is in %q, want %q (%v)", name, source, from, err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// which keychain service a data folder has.
func TestService(t *testing.T) {
	user := t.TempDir()
	standard := filepath.Join(user, ".sentient")
	must(t, os.Mkdir(standard, 0o700))
	link := filepath.Join(user, "link")
	must(t, os.Symlink(standard, link))
	real, err := filepath.EvalSymlinks(user)
	must(t, err)
	for _, c := range []struct{ home, namespace, service string }{
		{standard, "", "sentient"},
		{standard + "/", "", "sentient"},
		{filepath.Join(user, ".SENTIENT"), "", "sentient"},
		{link, "", "sentient"},
		{"/work/Data", "", "sentient-" + digest("/work/data")},
		{"/work/data", "", "sentient-" + digest("/work/data")},
		{filepath.Join(user, "new", "er"), "", "sentient-" + digest(strings.ToLower(filepath.Join(real, "new", "er")))},
		{"/x", "default", "sentient"},
		{"/x", "DEFAULT", "sentient"},
		{standard, "Work", "sentient-work"},
		{standard, "my team!", "sentient-my-team"},
		{standard, "sentient", "sentient-sentient"},
		{standard, "!!!", "sentient-x" + digest("!!!")},
		{standard, "default!", "sentient-x" + digest("default!")},
		{standard, " default", "sentient-x" + digest(" default")},
		{standard, "日本", "sentient-x" + digest("日本")},
	} {
		if got := Service(c.home, standard, c.namespace); got != c.service {
			t.Errorf("%q %q: %s, want %s", c.home, c.namespace, got, c.service)
		}
	}
	if got := Service("/Work/DATA", standard, ""); got != "sentient-4ba647ee7621" { // printf /work/data | sha256sum | cut -c1-12
		t.Error(got)
	}
}

// Whatever the word: only "default" shares the default folder's entries.
func FuzzNamespace(f *testing.F) {
	for _, s := range []string{"default", "Default", "default-", "x", "", "-", "défault", "ſentient"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, word string) {
		got := Service("/x", "/y", word)
		if word != "" && (got == "sentient") != strings.EqualFold(word, "default") {
			t.Errorf("%q: %s", word, got)
		}
		if strings.ContainsFunc(got, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' }) {
			t.Errorf("%q: %s", word, got)
		}
	})
}

func TestKeychain(t *testing.T) {
	r := newRing()
	s := open(t, t.TempDir(), r)
	want(t, s, "openai", "", None)
	must(t, s.Set(t.Context(), "openai", "sk-1"))
	want(t, s, "openai", "sk-1", Keychain)
	if r.entries[s.Service()+"\x00openai"] != "sk-1" || len(r.entries) != 1 {
		t.Error("a short value is one entry of its own name")
	}
	other := open(t, t.TempDir(), r)
	want(t, other, "openai", "", None)
	must(t, s.Delete(t.Context(), "openai"))
	must(t, s.Delete(t.Context(), "openai"))
	want(t, s, "openai", "", None)
	if files, _ := os.ReadDir(s.opts.Home); len(files) != 0 {
		t.Error("nothing is written to the disk while the keychain works", files)
	}
}

// long values are split into <name>:1, <name>:2; the log has the service and never a value.
func TestLongValuesAreSplit(t *testing.T) {
	var log bytes.Buffer
	r := newRing()
	s, err := Open(Options{Home: t.TempDir(), Getenv: environ(), Keyring: r, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	must(t, err)
	long := strings.Repeat("päss", 1000)
	must(t, s.Set(t.Context(), "chatgpt", long))
	want(t, s, "chatgpt", long, Keychain)
	for i := 1; i <= 5; i++ {
		piece, ok := r.entries[fmt.Sprintf("%s\x00chatgpt:%d", s.Service(), i)]
		if !ok || len(piece) > partBytes {
			t.Errorf("part %d: %v, %d bytes", i, ok, len(piece))
		}
	}
	if len(r.entries) != 6 {
		t.Error(len(r.entries))
	}
	must(t, s.Set(t.Context(), "chatgpt", strings.Repeat("x", partBytes+1)))
	if len(r.entries) != 3 {
		t.Error("parts of the longer value are left", len(r.entries))
	}
	must(t, s.Set(t.Context(), "chatgpt", "short"))
	if want(t, s, "chatgpt", "short", Keychain); len(r.entries) != 1 {
		t.Error("parts are left", len(r.entries))
	}
	must(t, s.Set(t.Context(), "chatgpt", long))
	must(t, s.Delete(t.Context(), "chatgpt"))
	if len(r.entries) != 0 {
		t.Error("a delete leaves parts", len(r.entries))
	}
	must(t, s.Set(t.Context(), "odd", partsHead+"3 x"))
	want(t, s, "odd", partsHead+"3 x", Keychain)
	if !strings.Contains(log.String(), s.Service()) || strings.Contains(log.String(), "päss") {
		t.Error(log.String())
	}
}

func TestAPartThatIsMissingIsSaidSo(t *testing.T) {
	r := newRing()
	s := open(t, t.TempDir(), r)
	must(t, s.Set(t.Context(), "a", strings.Repeat("x", 3000)))
	delete(r.entries, s.Service()+"\x00a:2")
	if _, _, err := s.Get(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), "Save it again") {
		t.Error(err)
	}
	must(t, s.Set(t.Context(), "a", strings.Repeat("y", 3000)))
	r.entries[s.Service()+"\x00a:2"] = "tampered"
	if _, _, err := s.Get(t.Context(), "a"); err == nil || strings.Contains(err.Error(), "tampered") {
		t.Error(err)
	}
	must(t, s.Set(t.Context(), "a", "new"))
	want(t, s, "a", "new", Keychain)
}

// Whatever is done in whatever order, in the keychain, in the file, and across restarts that reach the keychain or do not: what is read
// is what was last set.
func TestStoreProperty(t *testing.T) {
	base := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		home := filepath.Join(base, fmt.Sprint(n))
		r, model := newRing(), map[string]string{}
		s := open(t, home, r)
		values := rapid.OneOf(rapid.StringN(1, 20, -1), rapid.Map(rapid.IntRange(1100, 4000), func(n int) string { return strings.Repeat("é", n) }))
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			name := rapid.SampledFrom([]string{"a", "b", "mcp:x:headers"}).Draw(rt, "name")
			switch rapid.IntRange(0, 3).Draw(rt, "what") {
			case 0:
				v := strings.ReplaceAll(strings.ToValidUTF8(values.Draw(rt, "value"), "?"), "\x00", "?")
				must(t, s.Set(t.Context(), name, v))
				model[name] = v
			case 1:
				must(t, s.Delete(t.Context(), name))
				delete(model, name)
			case 2:
				r.down = nil
				if rapid.Bool().Draw(rt, "down") {
					r.down = errNoBus
				}
				s = open(t, home, r)
			}
			got := map[string]string{}
			for _, n := range []string{"a", "b", "mcp:x:headers"} {
				v, found, err := s.Get(t.Context(), n)
				if err != nil {
					rt.Fatal(err)
				}
				if found {
					got[n] = v
				}
			}
			if !s.onChain || r.down == nil {
				// With the keychain down since an earlier start, what only it holds cannot be seen; set and deleted names can.
				for k, v := range got {
					if model[k] != v {
						rt.Fatalf("%s is stale", k)
					}
				}
			}
			if s.onChain && !maps.Equal(got, model) {
				rt.Fatal("lost or stale")
			}
		}
	})
}

// No error quotes a value, whatever the keychain says.
func TestErrorsHoldNoValues(t *testing.T) {
	const value = "sk-hunter2"
	r := newRing()
	var log bytes.Buffer
	s, err := Open(Options{Home: t.TempDir(), Getenv: environ(), Keyring: r, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	must(t, err)
	must(t, s.Set(t.Context(), "a", value))
	r.refuse = func(op, name string) error { return errors.New(op + " failed for " + value) }
	errs := []error{s.Set(t.Context(), "a", value), s.Delete(t.Context(), "a"), s.Set(t.Context(), "a", strings.Repeat(value, 300))}
	_, _, err = s.Get(t.Context(), "a")
	errs = append(errs, err, s.Set(t.Context(), "a", value+"\x00"), s.Set(t.Context(), "a\n", value), s.Set(t.Context(), "", value), s.Set(t.Context(), "a", strings.Repeat(value, 1<<16)), s.Set(t.Context(), "a", ""))
	for i, err := range errs {
		if err == nil || strings.Contains(err.Error(), value) {
			t.Errorf("%d: %v", i, err)
		}
	}
	if strings.Contains(log.String(), value) {
		t.Error(log.String())
	}
}

func TestManyAtOnce(t *testing.T) {
	for _, down := range []error{nil, errNoBus} {
		r := newRing()
		r.down = down
		s := open(t, t.TempDir(), r)
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				name := fmt.Sprint("n", i)
				for j := range 5 {
					if err := s.Set(t.Context(), name, fmt.Sprint(j)); err != nil {
						t.Error(err)
					}
					if v, _, err := s.Get(t.Context(), name); err != nil || v != fmt.Sprint(j) {
						t.Error("another's write was read", err)
					}
				}
			})
		}
		wg.Wait()
		for i := range 8 {
			want(t, s, fmt.Sprint("n", i), "4", map[bool]Source{true: Keychain, false: File}[down == nil])
		}
	}
}

// The library's own keychain in memory stands in for the system's.
func TestTheSystemsKeychainThroughItsLibrary(t *testing.T) {
	keyring.MockInit()
	s, err := Open(Options{Home: t.TempDir(), Getenv: environ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/somewhere")})
	must(t, err)
	long := strings.Repeat("0123456789", 500)
	must(t, s.Set(t.Context(), "chatgpt", long))
	want(t, s, "chatgpt", long, Keychain)
	if v, err := keyring.Get(s.Service(), "chatgpt:1"); err != nil || v != long[:partBytes] {
		t.Error(err)
	}
	must(t, s.Delete(t.Context(), "chatgpt"))
	keyring.MockInitWithError(errNoBus)
	s, err = Open(Options{Home: t.TempDir(), Getenv: environ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/somewhere")})
	must(t, err)
	must(t, s.Set(t.Context(), "a", "1"))
	want(t, s, "a", "1", File)
}
