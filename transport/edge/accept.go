package edge

import (
	"errors"
	"log/slog"
	"net"
	"syscall"
	"time"
)

// longestAcceptWait bounds the wait between two tries while the system has no room for another connection.
const longestAcceptWait = time.Second

// patient is a listener that outlives a moment in which the system has no file or memory for another connection. The HTTP
// server takes every error of Accept for the end, and the engine would then be there and unreachable.
type patient struct {
	net.Listener
	log  *slog.Logger
	stop <-chan struct{}
}

// Accept implements net.Listener.
func (p *patient) Accept() (net.Conn, error) {
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, longestAcceptWait) {
		c, err := p.Listener.Accept()
		if err == nil || !passing(err) {
			return c, err
		}
		if wait == longestAcceptWait {
			p.log.Warn("no connection can be accepted now", "reason", err.Error())
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-p.stop:
			t.Stop()
			return nil, net.ErrClosed
		}
	}
}

// passing says whether an error of Accept is about this moment, or this one connection.
func passing(err error) bool {
	var n syscall.Errno
	return errors.As(err, &n) && (n.Temporary() || n == syscall.ECONNABORTED || n == syscall.ENOBUFS || n == syscall.ENOMEM)
}
