package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The tests run the real worker, built once, and scripts that misbehave in its place.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "worker")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, Binary)
	build := exec.Command("go", "build", "-o", binary, "sentient/cmd/sentient-worker")
	if out, err := build.CombinedOutput(); err != nil {
		panic(fmt.Sprintf("the worker cannot be built: %v\n%s", err, out))
	}
	code := m.Run()
	os.RemoveAll(dir)
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

var binary string

func client(t *testing.T, o Options) *Client {
	t.Helper()
	if o.Path == "" {
		o.Path = binary
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// script is a worker that does what the shell text says.
func script(t *testing.T, text string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	path := filepath.Join(t.TempDir(), "worker.sh")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func document(t *testing.T, text string) *os.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "d")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestTheRealWorker(t *testing.T) {
	c := client(t, Options{})
	title, text, err := c.Page(t.Context(), []byte("<title>T</title><ul><li>one</li></ul>"), "https://example.com")
	if err != nil || title != "T" || text != "- one" {
		t.Fatal(title, text, err)
	}
	if _, _, _, err = c.Document(t.Context(), KindPDF, document(t, "no pdf"), 0, 10); err == nil || !strings.Contains(err.Error(), "not a PDF that can be read") {
		t.Fatal(err)
	}
	if _, _, _, err = c.Document(t.Context(), "exe", document(t, ""), 0, 10); err == nil {
		t.Fatal("any kind is read")
	}
	if f := document(t, "x"); true {
		if _, _, _, err = c.Document(t.Context(), KindDocx, f, 0, 10); err == nil || !strings.Contains(err.Error(), "not a Word document") {
			t.Fatal(err)
		}
		if _, err := f.Stat(); err != nil {
			t.Error("the caller's file was closed")
		}
	}
}

func TestMissing(t *testing.T) {
	c := client(t, Options{Path: filepath.Join(t.TempDir(), "nothing")})
	if _, _, err := c.Page(t.Context(), nil, ""); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "make build") {
		t.Fatal(err)
	}
	t.Setenv("PATH", t.TempDir())
	c, _ = New(Options{})
	if _, _, err := c.Page(t.Context(), nil, ""); !errors.Is(err, ErrMissing) {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Dir(binary))
	if _, _, err := c.Page(t.Context(), []byte("x"), "https://example.com"); err != nil {
		t.Fatal(err)
	}
	if _, err := New(Options{Parallel: -1}); err == nil {
		t.Error("negative limits are taken")
	}
}

func TestWorkersThatMisbehave(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		want   error
	}{
		"crash":     {"cat >/dev/null; kill -9 $$", ErrBroken},
		"nonsense":  {"cat >/dev/null; echo not json", ErrBroken},
		"silent":    {"cat >/dev/null", ErrBroken},
		"no memory": {"cat >/dev/null; echo 'fatal error: runtime: out of memory' >&2; exit 2", ErrMemory},
		"own limit": {"cat >/dev/null; exit 75", ErrSlow},
		"endless":   {"cat >/dev/null; exec yes '{\"text\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'", ErrBroken},
		"ends now":  {"exit 0", ErrBroken},
	} {
		t.Run(name, func(t *testing.T) {
			c2 := client(t, Options{Path: script(t, c.script)})
			_, _, err := c2.Page(t.Context(), make([]byte, 1<<20), "https://example.com")
			if !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
		})
	}
}

// A stopped request takes the child and what the child started with it.
func TestCancelKillsTheGroup(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("process groups")
	}
	pids := filepath.Join(t.TempDir(), "pids")
	c := client(t, Options{Path: script(t, "sleep 1000 & echo $! > "+pids+".new; echo $$ >> "+pids+".new; mv "+pids+".new "+pids+"; wait")})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, _, err := c.Page(ctx, nil, "https://example.com")
		done <- err
	}()
	for {
		if _, err := os.Stat(pids); err == nil {
			break
		}
		runtime.Gosched()
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	list, _ := os.ReadFile(pids)
	for pid := range strings.FieldsSeq(string(list)) {
		for alive(pid) {
			runtime.Gosched()
		}
	}
}

// alive says whether the process still runs; one that only waits to be reaped does not.
func alive(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func TestTimeLimit(t *testing.T) {
	c := client(t, Options{Path: script(t, "exec sleep 1000"), Timeout: 50 * time.Millisecond, Parallel: 1})
	if _, _, err := c.Page(t.Context(), nil, "https://example.com"); !errors.Is(err, ErrSlow) {
		t.Fatal(err)
	}
	c.slots <- struct{}{} // all places are taken: waiting is bounded too
	if _, _, err := c.Page(t.Context(), nil, "https://example.com"); !errors.Is(err, ErrSlow) {
		t.Fatal(err)
	}
}

// The child knows nothing of the engine's environment.
func TestEnvironment(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "secret")
	c := client(t, Options{Path: script(t, `cat >/dev/null; printf '{"text":"%s","total":0}' "${OPENAI_API_KEY:-none} $GOMEMLIMIT"`)})
	if _, text, err := c.Page(t.Context(), nil, "https://example.com"); err != nil || text != "none 268435456" {
		t.Fatal(text, err)
	}
}
