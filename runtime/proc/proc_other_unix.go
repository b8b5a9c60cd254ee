//go:build unix && !linux

package proc

import (
	"os/exec"
	"syscall"
)

func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// reap has no portable way to see an exit without reaping, so the id could in theory be given out again before the rest
// of the group is killed.
func reap(cmd *exec.Cmd, exited func()) {
	_ = cmd.Wait()
	exited()
}

func applyLimits(int, Limits) error { return nil }
