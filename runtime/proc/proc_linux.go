package proc

import (
	"errors"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// join also asks the kernel to kill the child when the engine dies, which needs no guard to be alive.
func (g *guard) join(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: g.group(), Pdeathsig: syscall.SIGKILL}
}

// reap waits for the process, and calls exited when it has ended and before its pipes are waited for: what is left of its group
// may hold them. How it ended is in cmd.ProcessState; what a lost pipe adds does not matter.
func reap(cmd *exec.Cmd, exited func()) {
	for unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	exited()
	_ = cmd.Wait()
}

func applyLimits(pid int, l Limits) error {
	var errs []error
	set := func(resource int, value uint64) {
		if value > 0 {
			errs = append(errs, unix.Prlimit(pid, resource, &unix.Rlimit{Cur: value, Max: value}, nil))
		}
	}
	set(unix.RLIMIT_AS, l.MemoryBytes)
	set(unix.RLIMIT_CPU, uint64((l.CPU+time.Second-1)/time.Second))
	set(unix.RLIMIT_NOFILE, l.OpenFiles)
	set(unix.RLIMIT_FSIZE, l.FileBytes)
	err := errors.Join(errs...)
	if errors.Is(err, unix.ESRCH) {
		return nil // it has ended already
	}
	return err
}
