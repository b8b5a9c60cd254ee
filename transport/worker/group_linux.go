package worker

import (
	"os/exec"
	"syscall"
)

// group gives the child a process group of its own, which is killed whole, and lets the kernel end it with the engine.
func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
