//go:build unix

package proc

import (
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

func resultOf(cmd *exec.Cmd) Result {
	r := Result{ExitCode: cmd.ProcessState.ExitCode()}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		r.Signal = ws.Signal().String()
	}
	return r
}

// guard is a shell that leads the group which the child joins, and waits on a pipe that only the engine holds. When the pipe
// breaks, the engine is gone, and the guard kills the group. It is there before the child, so there is no moment at which a kill
// of the engine leaves anything behind; and while it is not reaped its id, which is the group's, cannot belong to anybody else.
type guard struct {
	cmd  *exec.Cmd
	pipe io.WriteCloser
}

// guardScript outlives what asks the group to end politely.
const guardScript = `trap "" TERM INT HUP; echo; read -r released; kill -s KILL -- "-$$"`

func newGuard() (*guard, error) {
	cmd := exec.Command("/bin/sh", "-c", guardScript)
	cmd.Env = []string{}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	ready, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		_ = pipe.Close()
		return nil, fmt.Errorf("its guard: %w", err)
	}
	g := &guard{cmd: cmd, pipe: pipe}
	if _, err := ready.Read(make([]byte, 1)); err != nil {
		g.release()
		return nil, fmt.Errorf("its guard did not start: %w", err)
	}
	return g, nil
}

// group is what the child joins.
func (g *guard) group() int { return g.cmd.Process.Pid }

// terminate asks the whole group to end.
func (g *guard) terminate() { _ = syscall.Kill(-g.group(), syscall.SIGTERM) }

func (g *guard) killGroup() { _ = syscall.Kill(-g.group(), syscall.SIGKILL) }

// release ends the guard, and with it whatever of the group is left.
func (g *guard) release() {
	g.killGroup()
	_ = g.cmd.Wait()
	_ = g.pipe.Close()
}
