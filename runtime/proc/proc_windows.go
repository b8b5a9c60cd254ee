package proc

import (
	"os"
	"os/exec"
	"syscall"
)

func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// terminate has no gentle form that reaches a program without a console.
func terminate(p *os.Process) { _ = p.Kill() }

func killGroup(p *os.Process) { _ = p.Kill() }

func reap(cmd *exec.Cmd, exited func()) {
	_ = cmd.Wait()
	exited()
}

func applyLimits(int, Limits) error { return nil }

func resultOf(cmd *exec.Cmd) Result { return Result{ExitCode: cmd.ProcessState.ExitCode()} }

// guard does nothing here: a job object that ends with the engine is still to be built.
type guard struct{}

func newGuard() (*guard, error) { return &guard{}, nil }
func (*guard) watch(int) error  { return nil }
func (*guard) release()         {}
