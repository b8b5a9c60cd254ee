package llmtest

import (
	"context"
	"net"
	"sync"
)

// PipeURL is the address of a server on a Pipe: this computer's, so that what must stay here may use it.
const PipeURL = "http://127.0.0.1:9"

// Pipe is a listener in memory. Its connections are net.Pipe ends, which fake time (testing/synctest) can follow.
type Pipe struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

// NewPipe makes a listener for Options.Listener; set Options.URL to PipeURL and give clients its Dial.
func NewPipe() *Pipe { return &Pipe{conns: make(chan net.Conn), done: make(chan struct{})} }

// Dial connects to the listener, whatever the address.
func (p *Pipe) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-p.done:
	case <-ctx.Done():
	}
	_, _ = client.Close(), server.Close()
	return nil, &net.OpError{Op: "dial", Net: "pipe", Err: net.ErrClosed}
}

// Accept waits for a Dial.
func (p *Pipe) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

// Close refuses further connections.
func (p *Pipe) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

// Addr is a name only.
func (p *Pipe) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "127.0.0.1:9" }
