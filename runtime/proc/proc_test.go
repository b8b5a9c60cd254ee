//go:build linux

package proc

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sentient/runtime/work"
)

// TestMain lets the test binary stand in for an engine that is killed.
func TestMain(m *testing.M) {
	if fifo := os.Getenv("PROC_TEST_ENGINE"); fifo != "" {
		standInEngine(fifo)
		return
	}
	goleak.VerifyTestMain(m)
}

func newTable(t *testing.T) *work.Table {
	tab := work.New(work.Options{Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() {
		if err := tab.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return tab
}

func shell(script string, args ...string) Spec {
	return Spec{Run: work.Spec{ID: "r", Origin: work.User}, Path: "/bin/sh", Args: append([]string{"-c", script, "sh"}, args...)}
}

func TestRun(t *testing.T) {
	t.Setenv("PROC_TEST_SECRET", "leaked")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		spec Spec
		want Result
	}{
		{"output and exit code", shell(`echo out; echo err >&2; exit 3`), Result{ExitCode: 3, Stdout: []byte("out\n"), Stderr: []byte("err\n")}},
		{"input", func() Spec { s := shell(`cat`); s.Stdin = []byte("in"); return s }(), Result{Stdout: []byte("in")}},
		{"no input is the end of input", shell(`cat`), Result{}},
		{"arguments", shell(`echo "$1"`, "a b"), Result{Stdout: []byte("a b\n")}},
		{"folder", func() Spec { s := shell(`pwd`); s.Dir = dir; return s }(), Result{Stdout: []byte(dir + "\n")}},
		{"environment", func() Spec {
			s := shell(`echo "$X-$PROC_TEST_SECRET-$PATH"`)
			s.Env = []string{"X=1", "PATH=p"}
			return s
		}(),
			Result{Stdout: []byte("1--p\n")}},
		{"allowed environment", func() Spec {
			s := shell(`echo "$PROC_TEST_SECRET-$HOME"`)
			s.EnvAllow = []string{"PROC_TEST_SECRET"}
			return s
		}(), Result{Stdout: []byte("leaked-\n")}},
		{"signal", shell(`kill -9 $$`), Result{ExitCode: -1, Signal: "killed"}},
		{"limits on output", func() Spec {
			s := shell(`yes out | head -c 3000000; yes err | head -c 300000 >&2`)
			s.MaxStdout, s.MaxStderr = 4, 2
			return s
		}(), Result{Stdout: []byte("out\n"), Stderr: []byte("er"), StdoutCut: true, StderrCut: true}},
		{"limit on files", func() Spec {
			// The limit comes right after the start, so the shell waits for it.
			s := shell(`while [ "$(ulimit -n)" != 20 ]; do :; done; ulimit -n`)
			s.Limits.OpenFiles = 20
			return s
		}(), Result{Stdout: []byte("20\n")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Run(t.Context(), newTable(t), c.spec)
			if err != nil {
				t.Fatal(err)
			}
			if got.ExitCode != c.want.ExitCode || got.Signal != c.want.Signal || !bytes.Equal(got.Stdout, c.want.Stdout) ||
				!bytes.Equal(got.Stderr, c.want.Stderr) || got.StdoutCut != c.want.StdoutCut || got.StderrCut != c.want.StderrCut {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	tab := newTable(t)
	for name, s := range map[string]Spec{
		"no program":       {},
		"missing program":  {Run: work.Spec{ID: "r"}, Path: "/no/such/program"},
		"bad environment":  func() Spec { s := shell(``); s.Env = []string{"X"}; return s }(),
		"negative timeout": func() Spec { s := shell(``); s.Timeout = -1; return s }(),
		"no run id":        {Path: "/bin/true"},
		"missing folder":   func() Spec { s := shell(``); s.Dir = "/no/such/folder"; return s }(),
	} {
		if _, err := Run(t.Context(), tab, s); err == nil {
			t.Errorf("Run, %s: taken", name)
		}
		if _, err := Start(t.Context(), tab, s); err == nil {
			t.Errorf("Start, %s: taken", name)
		}
	}
	tab.StopAll(t.Context(), 1)
	s := shell(`exit 0`)
	s.Run.Origin = work.Background
	if _, err := Run(t.Context(), tab, s); err != work.ErrStopped {
		t.Errorf("while stopped: %v", err)
	}
}

// heir starts a child in the group that keeps the output open, says so, and waits: the end of the output means that both
// are dead.
const heir = `sleep 1000 & echo up; wait`

func startHeir(t *testing.T, ctx context.Context, tab *work.Table, s Spec) (*Process, *bufio.Reader) {
	t.Helper()
	p, err := Start(ctx, tab, s)
	if err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(p.Stdout)
	if line, err := out.ReadString('\n'); line != "up\n" {
		t.Fatalf("%q %v", line, err)
	}
	return p, out
}

func TestEveryWayToEndIt(t *testing.T) {
	boom := errors.New("boom")
	for _, c := range []struct {
		name   string
		script string
		change func(*Spec)
		end    func(p *Process, tab *work.Table, cancel context.CancelCauseFunc)
		want   error
		signal string
	}{
		{"context", heir, nil, func(_ *Process, _ *work.Table, cancel context.CancelCauseFunc) { cancel(boom) }, boom, "terminated"},
		{"table", heir, nil, func(_ *Process, tab *work.Table, _ context.CancelCauseFunc) { tab.Cancel("r", boom) }, boom, "terminated"},
		{"stop everything", heir, nil, func(_ *Process, tab *work.Table, _ context.CancelCauseFunc) {
			if r := tab.StopAll(context.Background(), 1); len(r.Late) != 0 {
				t.Errorf("%+v", r)
			}
		}, work.ErrStopped, "terminated"},
		{"stop", heir, nil, func(p *Process, _ *work.Table, _ context.CancelCauseFunc) { p.Stop() }, ErrStopped, "terminated"},
		{"deaf", `trap "" TERM; ` + heir, func(s *Spec) { s.Grace = time.Millisecond },
			func(p *Process, _ *work.Table, _ context.CancelCauseFunc) { p.Stop() }, ErrStopped, "killed"},
		{"timeout", heir, func(s *Spec) { s.Timeout = 100 * time.Millisecond },
			func(*Process, *work.Table, context.CancelCauseFunc) {}, ErrTimeout, "terminated"},
		{"it ends and leaves a child", `sleep 1000 & echo up`, nil,
			func(*Process, *work.Table, context.CancelCauseFunc) {}, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			tab := newTable(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			s := shell(c.script)
			if c.change != nil {
				c.change(&s)
			}
			p, out := startHeir(t, ctx, tab, s)
			c.end(p, tab, cancel)
			if rest, err := io.ReadAll(out); err != nil || len(rest) != 0 {
				t.Errorf("%q %v", rest, err)
			}
			r, err := p.Wait(t.Context())
			if err != c.want || r.Signal != c.signal {
				t.Errorf("%v, signal %q", err, r.Signal)
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			if err := syscall.Kill(p.PID, 0); err != syscall.ESRCH {
				t.Errorf("not reaped: %v", err)
			}
			if err := p.Close(); err != nil {
				t.Errorf("second close: %v", err)
			}
		})
	}
}

// The whole group is asked, so that a program's own children can end well too.
func TestTheWholeGroupIsAsked(t *testing.T) {
	s := shell(`trap : TERM; sh -c 'trap "echo bye; exit 0" TERM; echo up; while :; do sleep 0.01; done' & wait; wait`)
	s.Grace = time.Hour
	p, out := startHeir(t, t.Context(), newTable(t), s)
	p.Stop()
	if rest, err := io.ReadAll(out); string(rest) != "bye\n" || err != nil {
		t.Errorf("%q %v", rest, err)
	}
	if r, err := p.Wait(t.Context()); err != ErrStopped || r.Signal != "" {
		t.Errorf("%+v %v", r, err)
	}
	_ = p.Close()
}

func TestTalkingToAProcess(t *testing.T) {
	tab := newTable(t)
	s := shell(`while read -r line; do echo "got $line"; done`)
	s.MaxStdout = 14
	p, err := Start(t.Context(), tab, s)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	out := bufio.NewReader(p.Stdout)
	for _, word := range []string{"a", "b"} {
		fmt.Fprintln(p.Stdin, word)
		if line, err := out.ReadString('\n'); line != "got "+word+"\n" {
			t.Fatalf("%q %v", line, err)
		}
	}
	fmt.Fprintln(p.Stdin, "too much")
	if rest, err := io.ReadAll(out); string(rest) != "go" || err != ErrOutputLimit {
		t.Errorf("%q %v", rest, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Wait(ended); err != context.Canceled {
		t.Errorf("wait: %v", err)
	}
	_ = p.Stdin.Close()
	if r, err := p.Wait(t.Context()); err != nil || r.ExitCode != 0 {
		t.Errorf("%+v %v", r, err)
	}
}

// standInEngine starts a child whose own child holds the fifo open, and then hangs.
func standInEngine(fifo string) {
	tab := work.New(work.Options{})
	s := shell(`exec 9>"$1"; sleep 1000 & echo up >&9; wait`, fifo)
	if _, err := Start(context.Background(), tab, s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	select {}
}

// After kill -9 of the engine nothing of its children is left, grandchildren included (they outlive the parent-death
// signal, so this is the guard's doing).
func TestChildrenEndWithAKilledEngine(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	engine := exec.Command(os.Args[0])
	engine.Env = append(os.Environ(), "PROC_TEST_ENGINE="+fifo)
	var said strings.Builder
	engine.Stderr = &said
	if err := engine.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = engine.Process.Kill() }()
	f, err := os.Open(fifo) // waits for the child to open it for writing
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	held := bufio.NewReader(f)
	if line, err := held.ReadString('\n'); line != "up\n" {
		t.Fatalf("%q %v: %s", line, err, said.String())
	}
	if err := engine.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = engine.Wait()
	if rest, err := io.ReadAll(held); err != nil || len(rest) != 0 { // ends when the last holder is dead
		t.Errorf("%q %v", rest, err)
	}
}
