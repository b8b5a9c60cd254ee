package faults

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// openFiles is how many files a process has open.
func openFiles(pid int) (int, error) {
	list, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "fd"))
	return len(list), err
}

// addressSpace is the size of a process's address space in bytes.
func addressSpace(pid int) (uint64, error) {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "statm"))
	if err != nil {
		return 0, err
	}
	pages, err := strconv.ParseUint(strings.Fields(string(b))[0], 10, 64)
	return pages * uint64(os.Getpagesize()), err
}

// limitFiles lets a running process open up to n files.
func limitFiles(pid, n int) error { return limit(pid, unix.RLIMIT_NOFILE, uint64(n)) }

// limitSpace bounds the address space of a running process.
func limitSpace(pid int, n uint64) error { return limit(pid, unix.RLIMIT_AS, n) }

// limit changes the soft limit only, so that it can be lifted again.
func limit(pid, what int, n uint64) error {
	var l unix.Rlimit
	if err := unix.Prlimit(pid, what, nil, &l); err != nil {
		return err
	}
	l.Cur = min(n, l.Max)
	return unix.Prlimit(pid, what, &l, nil)
}

// noLimit lifts what limitFiles or limitSpace set.
const noLimit = 1 << 62

// mount puts a small file system at dir. It needs the right to.
func mount(dir string) error { return unix.Mount("tmpfs", dir, "tmpfs", 0, "size=160m,mode=700") }

func unmount(dir string) { _ = unix.Unmount(dir, unix.MNT_DETACH) } // the folder is thrown away with its parent

func freeze(pid int) error { return unix.Kill(pid, unix.SIGSTOP) }

func thaw(pid int) error { return unix.Kill(pid, unix.SIGCONT) }

// family are the process and everything it started, and theirs, by id and start time.
func family(pid int) map[int]string {
	parents, starts := map[int]int{}, map[int]string{}
	dirs, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is good
	for _, d := range dirs {
		b, err := os.ReadFile(d)
		if err != nil {
			continue // it has ended meanwhile
		}
		f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
		id, err := strconv.Atoi(filepath.Base(filepath.Dir(d)))
		if err != nil || len(f) < 20 {
			continue
		}
		parents[id], _ = strconv.Atoi(string(f[1]))
		starts[id] = string(f[19])
		if string(f[0]) == "Z" {
			delete(starts, id) // dead, and not yet reaped by whoever has it now
		}
	}
	list := map[int]string{}
	for id, start := range starts {
		for p := id; p > 1; p = parents[p] {
			if p == pid {
				list[id] = start
				break
			}
		}
	}
	return list
}

// alive are those of a family that still live.
func alive(was map[int]string) (names []string) {
	for id, start := range was {
		if now := family(id); now[id] == start {
			b, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(id), "cmdline")) // only for the sentence
			names = append(names, string(bytes.ReplaceAll(bytes.TrimRight(b, "\x00"), []byte{0}, []byte(" "))))
		}
	}
	return names
}

// marked are the processes that have mark as an argument, however far from their parents.
func marked(mark string) (list []string) {
	dirs, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is good
	for _, d := range dirs {
		if b, err := os.ReadFile(d); err == nil && bytes.Contains(b, []byte("\x00"+mark+"\x00")) {
			list = append(list, filepath.Base(filepath.Dir(d)))
		}
	}
	return list
}

// machine describes the computer for the report.
func machine() string {
	b, _ := os.ReadFile("/proc/cpuinfo") // a missing name is no reason to fail
	cpu := "unknown CPU"
	for line := range strings.Lines(string(b)) {
		if name, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			cpu = strings.TrimSpace(v)
			break
		}
	}
	k, _ := exec.Command("uname", "-sr").Output() // as above
	return strings.TrimSpace(string(k)) + ", " + cpu
}
