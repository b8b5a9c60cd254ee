package edge

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// full is a listener that fails some times before it works.
type full struct {
	*pipes
	errs []error
}

func (f *full) Accept() (net.Conn, error) {
	if len(f.errs) == 0 {
		return f.pipes.Accept()
	}
	err := f.errs[0]
	f.errs = f.errs[1:]
	return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", err)}
}

// A moment without files or memory does not end the gateway: it accepts again when there are some, and can be stopped meanwhile.
func TestAcceptOutlivesAFullSystem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, stop := slog.New(slog.DiscardHandler), make(chan struct{})
		f := &full{pipes: newPipes()}
		for range 50 {
			f.errs = append(f.errs, syscall.EMFILE, syscall.ENFILE, syscall.ECONNABORTED, syscall.ENOBUFS, syscall.ENOMEM)
		}
		p := &patient{f, log, stop}
		go func() { _ = f.dial().Close() }()
		if c, err := p.Accept(); err != nil || c == nil || len(f.errs) != 0 {
			t.Fatal(c, err)
		}
		f.errs = []error{syscall.EBADF}
		if _, err := p.Accept(); !errors.Is(err, syscall.EBADF) {
			t.Fatal("an error that stays was tried again:", err)
		}
		f.errs = make([]error, 100)
		for i := range f.errs {
			f.errs[i] = syscall.EMFILE
		}
		time.AfterFunc(3*time.Second, func() { close(stop) })
		began := time.Now()
		if _, err := p.Accept(); !errors.Is(err, net.ErrClosed) || time.Since(began) > 4*time.Second {
			t.Fatal("it cannot be stopped meanwhile:", err)
		}
	})
}
