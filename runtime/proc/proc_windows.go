package proc

import (
	"os/exec"
	"syscall"
)

func reap(cmd *exec.Cmd, exited func()) {
	_ = cmd.Wait()
	exited()
}

func applyLimits(int, Limits) error { return nil }

func resultOf(cmd *exec.Cmd) Result { return Result{ExitCode: cmd.ProcessState.ExitCode()} }

// guard reaches the child alone here: a job object that ends with the engine is still to be built.
type guard struct{ cmd *exec.Cmd }

func newGuard() (*guard, error) { return &guard{}, nil }

func (g *guard) join(cmd *exec.Cmd) {
	g.cmd = cmd
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// terminate has no gentle form that reaches a program without a console.
func (g *guard) terminate() { g.killGroup() }

func (g *guard) killGroup() { _ = g.cmd.Process.Kill() }

func (*guard) release() {}
