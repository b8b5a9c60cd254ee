// Package proc owns child processes: each in its own process group, registered as a run of the kill table, with a bounded
// life, bounded output and an environment of its own, always reaped.
//
// Invariant (Linux, macOS): when a run of this package has left the table, no process of the child's group is alive; and
// when the engine dies, however it dies, the groups of all its children are killed by their guards. A process that leaves
// its group (setsid) is out of reach; what is not trusted belongs in a sandbox with its own process namespace.
package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"sentient/runtime/work"
)

var (
	// ErrTimeout is the outcome of a process that was ended because its time was up.
	ErrTimeout = errors.New("the program took too long and was ended")
	// ErrOutputLimit is what reading a started process's output ends with when it wrote more than allowed.
	ErrOutputLimit = errors.New("the program wrote more than it may")
	// ErrStopped is the outcome of a process that was ended by Stop.
	ErrStopped = errors.New("the program was ended")
)

// Limits bound what each process of the group may use. Zero means no limit of ours. Linux only.
type Limits struct {
	MemoryBytes uint64        // address space
	CPU         time.Duration // whole seconds, rounded up
	OpenFiles   uint64
	FileBytes   uint64 // size of a file it writes
}

// Spec describes one process.
type Spec struct {
	Run  work.Spec // how it is registered in the table
	Path string    // the program: a path, or a name to look up in PATH
	Args []string  // without the program's name
	Dir  string    // "" is the engine's own

	// EnvAllow names the variables that are passed on from the engine's environment; nil stands for DefaultEnv. Env adds
	// "NAME=value" entries and wins.
	EnvAllow []string
	Env      []string

	Stdin     []byte        // for Run
	MaxStdout int           // bytes; default 1 MiB for Run, no limit for Start
	MaxStderr int           // bytes; default 64 KiB
	Timeout   time.Duration // default 10 minutes for Run; for Start 0 means as long as its context
	Grace     time.Duration // between asking (SIGTERM) and killing; default 2 s
	Limits    Limits
}

// DefaultEnv is what a program needs to work and what holds no secret.
func DefaultEnv() []string {
	return []string{"PATH", "HOME", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR",
		"SYSTEMROOT", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERPROFILE"}
}

func (s Spec) withDefaults() Spec {
	if s.EnvAllow == nil {
		s.EnvAllow = DefaultEnv()
	}
	if s.MaxStderr == 0 {
		s.MaxStderr = 64 << 10
	}
	if s.Grace == 0 {
		s.Grace = 2 * time.Second
	}
	return s
}

// Validate says in a sentence what is wrong.
func (s Spec) Validate() error {
	switch {
	case s.Path == "":
		return errors.New("a process needs a program")
	case s.MaxStdout < 0 || s.MaxStderr < 0 || s.Timeout < 0 || s.Grace < 0:
		return fmt.Errorf("%s: limits and times must not be negative", filepath.Base(s.Path))
	}
	for _, e := range s.Env {
		if !strings.Contains(e, "=") {
			return fmt.Errorf("%s: an environment entry has no '='", filepath.Base(s.Path))
		}
	}
	return nil
}

// Result is how a process ended and what it wrote, up to the limits.
type Result struct {
	ExitCode             int    // -1 when a signal ended it
	Signal               string // the signal's name, "" for an exit
	Stdout, Stderr       []byte // Stdout is nil for a started process
	StdoutCut, StderrCut bool   // it wrote more than was kept
}

// Run runs a process to its end. A non-zero exit is a Result, not an error. Errors: the table's refusals, that it could
// not be started, ErrTimeout, or the cause of its context; with the last two the Result holds what it wrote until then.
func Run(ctx context.Context, t *work.Table, s Spec) (Result, error) {
	if s.Timeout == 0 {
		s.Timeout = 10 * time.Minute
	}
	if s.MaxStdout == 0 {
		s.MaxStdout = 1 << 20
	}
	out := &capture{limit: s.MaxStdout}
	p, err := launch(ctx, t, s, func(p *Process) error {
		p.cmd.Stdin = strings.NewReader(string(s.Stdin))
		p.cmd.Stdout = out
		return nil
	})
	if err != nil {
		return Result{}, err
	}
	<-p.done
	p.result.Stdout, p.result.StdoutCut = out.bytes()
	return p.result, p.err
}

// Process is a long-lived child. The caller reads Stdout to its end and calls Close.
type Process struct {
	Stdin  io.WriteCloser
	Stdout io.Reader // ends with ErrOutputLimit after MaxStdout bytes, when that is set
	PID    int

	spec   Spec
	cmd    *exec.Cmd
	out    *os.File // our end of the output pipe, nil for Run
	theirs *os.File // the child's end, closed once it has started
	stderr *capture
	stop   context.CancelCauseFunc

	started chan error
	done    chan struct{}
	result  Result // set before done is closed
	err     error
}

// Start starts a process and returns once it runs. It lives until it ends by itself, Stop, its Timeout, or the end of
// ctx or its run.
func Start(ctx context.Context, t *work.Table, s Spec) (*Process, error) {
	return launch(ctx, t, s, func(p *Process) (err error) {
		if p.out, p.theirs, err = os.Pipe(); err != nil {
			return err
		}
		p.cmd.Stdout = p.theirs
		p.Stdout = p.out
		if s.MaxStdout > 0 {
			p.Stdout = &limited{r: p.out, left: s.MaxStdout}
		}
		p.Stdin, err = p.cmd.StdinPipe()
		return err
	})
}

// Done is closed when the process, and all of its group, has ended and was reaped.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits for the end; errors as for Run, ErrStopped after Stop, or the cause of ctx (the process then lives on).
func (p *Process) Wait(ctx context.Context) (Result, error) {
	select {
	case <-p.done:
		return p.result, p.err
	case <-ctx.Done():
		return Result{}, context.Cause(ctx)
	}
}

// Stop asks the process to end, kills it after its grace, and does not wait.
func (p *Process) Stop() { p.stop(ErrStopped) }

// Close stops the process, waits until it was reaped, and closes the pipes.
func (p *Process) Close() error {
	p.Stop()
	<-p.done
	_ = p.Stdin.Close()
	if err := p.out.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

func launch(ctx context.Context, t *work.Table, s Spec, pipes func(*Process) error) (*Process, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	s = s.withDefaults()
	p := &Process{spec: s, stderr: &capture{limit: s.MaxStderr}, started: make(chan error, 1), done: make(chan struct{})}
	p.cmd = exec.Command(s.Path, s.Args...)
	p.cmd.Dir = s.Dir
	p.cmd.Env = environment(s)
	p.cmd.Stderr = p.stderr
	p.cmd.WaitDelay = s.Grace // for a process that left the group and still holds a pipe
	if err := pipes(p); err != nil {
		p.closePipes()
		return nil, fmt.Errorf("cannot make the pipes of %s: %w", filepath.Base(s.Path), err)
	}
	ctx, p.stop = context.WithCancelCause(ctx)
	if err := t.Go(ctx, s.Run, p.live); err != nil {
		p.stop(nil)
		p.closePipes()
		return nil, err
	}
	err := errors.New("its run failed")
	select {
	case err = <-p.started:
	case <-p.done:
	}
	if err != nil {
		<-p.done
		p.closePipes()
		return nil, fmt.Errorf("cannot start %s: %w", filepath.Base(s.Path), err)
	}
	return p, nil
}

func (p *Process) closePipes() {
	for _, f := range []*os.File{p.out, p.theirs} {
		if f != nil {
			_ = f.Close()
		}
	}
	if p.Stdin != nil {
		_ = p.Stdin.Close()
	}
}

// live is the run. It keeps its thread: the kernel ties the child's parent-death signal to the thread that started it.
func (p *Process) live(ctx context.Context) {
	defer close(p.done)
	defer p.stop(nil)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if p.spec.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, p.spec.Timeout, ErrTimeout)
		defer cancel()
	}
	g, err := newGuard()
	if err != nil {
		p.started <- err
		return
	}
	defer g.release()
	g.join(p.cmd)
	if err := p.cmd.Start(); err != nil {
		p.started <- err
		return
	}
	p.PID = p.cmd.Process.Pid
	if p.theirs != nil {
		_ = p.theirs.Close()
	}
	if err := applyLimits(p.PID, p.spec.Limits); err != nil {
		p.stop(err)
	}
	p.started <- nil
	p.err = p.supervise(ctx, g)
	p.result = resultOf(p.cmd)
	p.result.Stderr, p.result.StderrCut = p.stderr.bytes()
}

// supervise waits for the end, bringing it about when ctx ends, and returns the cause if that is why it ended.
func (p *Process) supervise(ctx context.Context, g *guard) error {
	exited := make(chan struct{})
	var cause error
	var killer sync.WaitGroup
	killer.Go(func() {
		select {
		case <-exited:
			return
		case <-ctx.Done():
		}
		cause = context.Cause(ctx)
		g.terminate()
		grace := time.NewTimer(graceFor(cause, p.spec.Grace))
		defer grace.Stop()
		select {
		case <-exited:
		case <-grace.C:
			g.killGroup()
		}
	})
	reap(p.cmd, func() {
		close(exited)
		killer.Wait()
		g.killGroup()
	})
	return cause
}

// stopGrace is all the time a program has when everything is stopped: what is left then is named to the person (section 17).
const stopGrace = 500 * time.Millisecond

func graceFor(cause error, usual time.Duration) time.Duration {
	if errors.Is(cause, work.ErrStopped) {
		return min(usual, stopGrace)
	}
	return usual
}

func environment(s Spec) []string {
	env := make([]string, 0, len(s.EnvAllow)+len(s.Env))
	for _, name := range s.EnvAllow {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return append(env, s.Env...) // os/exec lets the last one win
}
