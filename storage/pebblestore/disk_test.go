package pebblestore_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"sentient/storage/journal"
	"sentient/storage/pebblestore"
	"sentient/storage/storagetest"
)

// measured is a file system whose free space the test sets.
type measured struct {
	vfs.FS
	free *atomic.Uint64
}

func (m measured) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: m.free.Load()}, nil
}

// TestReserve refuses appends below the reserve, before the store sees them, and goes on when there is room.
func TestReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var free atomic.Uint64
		free.Store(100 << 20)
		disk, err := pebblestore.Open(pebblestore.Options{Dir: "store", FS: measured{vfs.NewMem(), &free}})
		if err != nil {
			t.Fatal(err)
		}
		c, err := journal.Open(context.Background(), journal.Options{Disk: disk, Memory: memory()})
		if err != nil {
			t.Fatal(err)
		}
		defer mustClose(t, c)
		var p storagetest.Progress
		for _, step := range []struct {
			free uint64
			full bool
		}{{64 << 20, false}, {64<<20 - 1, true}, {10, true}, {65 << 20, false}} {
			free.Store(step.free)
			time.Sleep(time.Second)
			if err := storagetest.Work(c, p.Acked.Load()+1, &p); errors.Is(err, journal.ErrFull) != step.full || !step.full && err != nil {
				t.Errorf("%d bytes free: %v", step.free, err)
			}
		}
		if _, err := storagetest.Verify(c, 2, 2); err != nil {
			t.Error(err)
		}
	})
}

// TestBallast: a write that finds the disk full lives on the ballast; from then on appends are refused until the ballast is
// back, and nothing is lost.
func TestBallast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := vfs.NewMem()
		var on atomic.Bool
		var free atomic.Uint64
		free.Store(1 << 30)
		full := errorfs.InjectorFunc(func(op errorfs.Op) error {
			if !on.Load() {
				return nil
			}
			if _, err := mem.Stat("store/ballast"); err != nil && !strings.HasSuffix(op.Path, "ballast") {
				return nil // it made room
			}
			if op.Kind == errorfs.OpFileWrite || op.Kind == errorfs.OpCreate {
				return syscall.ENOSPC
			}
			return nil
		})
		c := mustOpen(t, measured{errorfs.Wrap(mem, full), &free}, "store")
		defer func() { mustClose(t, c) }()
		var p storagetest.Progress
		if err := storagetest.Work(c, 10, &p); err != nil {
			t.Fatal(err)
		}
		on.Store(true)
		if err := storagetest.Work(c, 11, &p); err != nil {
			t.Fatal("the write that found the disk full:", err)
		}
		for range 3 {
			if err := storagetest.Work(c, 12, &p); !errors.Is(err, journal.ErrFull) {
				t.Fatal("without a ballast:", err)
			}
			time.Sleep(2 * time.Second)
		}
		on.Store(false)
		time.Sleep(2 * time.Second)
		if err := storagetest.Work(c, 30, &p); err != nil {
			t.Fatal("with room again:", err)
		}
		if _, err := mem.Stat("store/ballast"); err != nil {
			t.Error("the ballast is not back:", err)
		}
		mustClose(t, c)
		c = mustOpen(t, mem, "store")
		if _, err := storagetest.Verify(c, 30, 30); err != nil {
			t.Error(err)
		}
	})
}

// TestFullDiskForReal fills a small file system. It needs the right to mount one.
func TestFullDiskForReal(t *testing.T) {
	root := filepath.Join(t.TempDir(), "tiny")
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", root).CombinedOutput(); err != nil {
		t.Skipf("no right to mount: %v %s", err, out)
	}
	defer func() { _ = exec.Command("umount", "-l", root).Run() }()
	dir, other := filepath.Join(root, "store"), filepath.Join(root, "other")
	c := mustOpen(t, nil, dir) // a reserve of one byte: the ballast has to do it
	if err := os.WriteFile(other, make([]byte, 8<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	var p storagetest.Progress
	err := storagetest.Work(c, 100_000, &p)
	if !errors.Is(err, journal.ErrFull) {
		t.Fatal("the disk did not fill:", err)
	}
	n := p.Acked.Load()
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	for tries := 0; ; tries++ { // the free space is asked for once a second
		if err = storagetest.Work(c, n+200, &p); err == nil || tries > 100 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err != nil {
		t.Fatal("with room again:", err)
	}
	mustClose(t, c)
	c = mustOpen(t, nil, dir)
	defer mustClose(t, c)
	v, err := c.Read()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	k := uint64(0)
	for _, err := range v.Scan(journal.Scan{Table: "steps"}) {
		if err != nil {
			t.Fatal(err)
		}
		k++
	}
	if k != n+200 {
		t.Errorf("%d steps are there, %d were acknowledged", k, n+200)
	}
	t.Logf("%d steps until the disk was full", n)
}

// child runs this test binary again for one test, with a mode; it reads lines from it.
func child(t *testing.T, mode, dir string) (*exec.Cmd, *bufio.Scanner, *bytes.Buffer) {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run", "^TestChild$")
	c.Env = append(os.Environ(), "STORE_CHILD="+mode, "STORE_DIR="+dir)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	c.Stderr = &errs
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c, bufio.NewScanner(out), &errs
}

// TestChild is the other process of the tests below.
func TestChild(t *testing.T) {
	mode, dir := os.Getenv("STORE_CHILD"), os.Getenv("STORE_DIR")
	if mode == "" {
		t.Skip("only as a child")
	}
	fs := vfs.FS(vfs.Default)
	var broken atomic.Bool
	if mode == "fatal" {
		fs = errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
			sync := op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSyncTo
			if broken.Load() && sync && strings.HasSuffix(op.Path, ".log") {
				return syscall.EIO
			}
			return nil
		}))
	}
	disk, err := pebblestore.Open(pebblestore.Options{Dir: dir, FS: fs, Reserve: 1, Fatal: func(err error) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := journal.Open(context.Background(), journal.Options{Disk: disk, Memory: memory()})
	if err != nil {
		t.Fatal(err)
	}
	var p storagetest.Progress
	for i := uint64(1); ; i++ {
		broken.Store(i > 50)
		if err := storagetest.Work(c, i, &p); err != nil {
			t.Fatal(err)
		}
		fmt.Println("acked", i)
	}
}

// await reads lines until n steps are acknowledged and returns the newest number.
func await(t *testing.T, lines *bufio.Scanner, n uint64) (acked uint64) {
	t.Helper()
	for acked < n && lines.Scan() {
		if s, ok := strings.CutPrefix(lines.Text(), "acked "); ok {
			acked, _ = strconv.ParseUint(s, 10, 64)
		}
	}
	return acked
}

// TestKill: a killed process loses nothing that it acknowledged; meanwhile its store is held, by its process id.
func TestKill(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	cmd, lines, _ := child(t, "work", dir)
	acked := await(t, lines, 100)
	_, err := pebblestore.Open(pebblestore.Options{Dir: dir})
	var held *journal.HeldError
	if !errors.As(err, &held) || held.PID != cmd.Process.Pid || held.Path != dir {
		t.Errorf("opened twice: %v, the other process is %d", err, cmd.Process.Pid)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	acked = max(acked, await(t, lines, 1<<62))
	_ = cmd.Wait()
	c := mustOpen(t, nil, dir)
	defer mustClose(t, c)
	if k, err := storagetest.Verify(c, acked, acked+1); err != nil || k < 100 {
		t.Errorf("%d steps: %v", k, err)
	}
}

// TestHeldHere: a second open in the same process is refused too, and does not free the first one's lock.
func TestHeldHere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	c := mustOpen(t, nil, dir)
	for range 2 {
		_, err := pebblestore.Open(pebblestore.Options{Dir: dir})
		var held *journal.HeldError
		if !errors.As(err, &held) || held.PID != os.Getpid() {
			t.Error("opened twice:", err)
		}
	}
	mustClose(t, c)
	c = mustOpen(t, nil, dir)
	mustClose(t, c)
}

// TestFatal: a failed sync of the log ends the process with one sentence; a restart has all that was acknowledged.
func TestFatal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	cmd, lines, errs := child(t, "fatal", dir)
	acked := await(t, lines, 1<<62)
	err := cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Fatalf("the process ended with %v: %s", err, errs)
	}
	if got := errs.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "input/output error") {
		t.Errorf("it said %q", got)
	}
	c := mustOpen(t, nil, dir)
	defer mustClose(t, c)
	if _, err := storagetest.Verify(c, acked, acked+1); err != nil || acked != 50 {
		t.Errorf("%d acknowledged: %v", acked, err)
	}
}

// TestCopy: a backup is a store of its own.
func TestCopy(t *testing.T) {
	dir := t.TempDir()
	disk, err := pebblestore.Open(pebblestore.Options{Dir: filepath.Join(dir, "store"), Reserve: 1})
	if err != nil {
		t.Fatal(err)
	}
	c, err := journal.Open(context.Background(), journal.Options{Disk: disk, Memory: memory()})
	if err != nil {
		t.Fatal(err)
	}
	var p storagetest.Progress
	if err := storagetest.Work(c, 25, &p); err != nil {
		t.Fatal(err)
	}
	if err := disk.Checkpoint(filepath.Join(dir, "backup")); err != nil {
		t.Fatal(err)
	}
	if err := storagetest.Work(c, 35, &p); err != nil {
		t.Fatal(err)
	}
	mustClose(t, c)
	c = mustOpen(t, nil, filepath.Join(dir, "backup"))
	defer mustClose(t, c)
	if _, err := storagetest.Verify(c, 25, 25); err != nil {
		t.Error(err)
	}
}

// TestQuietLog: background errors come thousands a second and are logged once a minute; neither keys nor values get into
// the log. The store recovers when the disk does.
func TestQuietLog(t *testing.T) {
	var on atomic.Bool
	failures := make(chan struct{}, 50)
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if !on.Load() || op.Kind != errorfs.OpFileWrite || !strings.HasSuffix(op.Path, ".sst") {
			return nil
		}
		select {
		case failures <- struct{}{}:
		default:
		}
		return syscall.EIO
	}))
	var out bytes.Buffer
	disk, err := pebblestore.Open(pebblestore.Options{Dir: "store", FS: fs, Logger: slog.New(slog.NewTextHandler(&out, nil))})
	if err != nil {
		t.Fatal(err)
	}
	c, err := journal.Open(context.Background(), journal.Options{Disk: disk, Memory: memory()})
	if err != nil {
		t.Fatal(err)
	}
	secret := bytes.Repeat([]byte("secret text "), 50_000) // forces a flush
	on.Store(true)
	if _, err := c.Append(context.Background(), journal.Append{Stream: "s/secretid", Events: [][]byte{secret, secret}}); err != nil {
		t.Fatal(err)
	}
	for range cap(failures) {
		<-failures
	}
	on.Store(false)
	mustClose(t, c)
	if n := strings.Count(out.String(), "\n"); n != 1 || strings.Contains(out.String(), "secret") {
		t.Errorf("%d lines: %.500s", n, out.String())
	}
}
