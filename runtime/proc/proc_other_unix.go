//go:build unix && !linux

package proc

import (
	"os/exec"
	"syscall"
)

func (g *guard) join(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: g.group()}
}

// reap has no portable way to see an exit before the pipes are waited for, which takes the grace at most.
func reap(cmd *exec.Cmd, exited func()) {
	_ = cmd.Wait()
	exited()
}

func applyLimits(int, Limits) error { return nil }
