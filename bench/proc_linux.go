package bench

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// tick is the unit of CPU times in /proc (USER_HZ, which is 100 on Linux everywhere).
const tick = 10 * time.Millisecond

// cpuTime is what a process has used of the CPUs, in steps of 10 ms.
func cpuTime(pid int) (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	return parseStat(b)
}

// parseStat adds utime and stime (fields 14 and 15). The program's name, field 2, may hold anything but ends with the last ")".
func parseStat(b []byte) (time.Duration, error) {
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/<pid>/stat has %d fields after the name, not the 13 that are needed", len(fields))
	}
	var sum time.Duration
	for _, f := range fields[11:13] {
		n, err := strconv.ParseInt(string(f), 10, 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(n) * tick
	}
	return sum, nil
}

// busyTime is what all processes together have used of the CPUs, without interrupts (which belong to nobody), and what another
// virtual machine took away.
func busyTime() (time.Duration, error) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	return parseBusy(string(b))
}

// parseBusy adds user, nice, system and steal of all CPUs.
func parseBusy(s string) (time.Duration, error) {
	first, _, _ := strings.Cut(s, "\n")
	fields := strings.Fields(first)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, fmt.Errorf("/proc/stat begins with %q", first)
	}
	var sum time.Duration
	for _, i := range []int{1, 2, 3, 8} {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(n) * tick
	}
	return sum, nil
}

// memoryOf is a process's memory now, from /proc/<pid>/smaps_rollup.
func memoryOf(pid int) (memory, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return memory{}, err
	}
	return parseRollup(string(b)), nil
}

func parseRollup(s string) (m memory) {
	for line := range strings.Lines(s) {
		name, rest, _ := strings.Cut(line, ":")
		kb, _ := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64) // the first line is no number
		switch name {
		case "Rss":
			m.RSS = kb / 1024
		case "Anonymous":
			m.Own = kb / 1024
		}
	}
	return m
}

// openFiles is how many files a process may have open; this one's own limit is raised as far as it goes.
func openFiles() (int, error) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0, err
	}
	l.Cur = l.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0, err
	}
	return int(min(l.Cur, 1<<30)), nil
}
