//go:build unix

package proc

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// terminate asks the whole group to end.
func terminate(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGTERM) }

func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }

func resultOf(cmd *exec.Cmd) Result {
	r := Result{ExitCode: cmd.ProcessState.ExitCode()}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		r.Signal = ws.Signal().String()
	}
	return r
}

// guard is a shell in a session of its own that waits on a pipe which only the engine holds. When the pipe breaks before
// it was released, the engine is gone and the guard kills the child's group.
type guard struct {
	cmd   *exec.Cmd
	pipe  io.WriteCloser
	armed bool
}

const guardScript = `read -r group || exit 0; read -r released || kill -s KILL -- "-$group"`

func newGuard() (*guard, error) {
	cmd := exec.Command("/bin/sh", "-c", guardScript)
	cmd.Env = []string{}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		_ = pipe.Close()
		return nil, fmt.Errorf("its guard: %w", err)
	}
	return &guard{cmd: cmd, pipe: pipe}, nil
}

func (g *guard) watch(group int) error {
	g.armed = true
	_, err := fmt.Fprintln(g.pipe, group)
	return err
}

// release lets the guard go. It is called after the group has been killed and reaped.
func (g *guard) release() {
	if g.armed {
		_, _ = io.WriteString(g.pipe, "released\n")
	}
	_ = g.pipe.Close()
	_ = g.cmd.Wait()
}
