package edge

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"sentient/actors/msg"
)

// lineWork does something long and gives each line of its answer to emit, whose error ends it.
type lineWork func(ctx context.Context, emit func(line any) error) error

// lines answers with NDJSON, a line as soon as there is one. A failure before the first line is an ordinary error; one after it is
// a last line, which broke makes. The work ends with the client: when a line cannot be written, its context is cancelled.
func (s *Server) lines(q *request, work lineWork, broke func(text string) any) (any, error) {
	r, w := io.Pipe()
	l := &lineStream{server: s, name: q.name(), conn: q.Conn(), pipe: r, out: w, in: bufio.NewReaderSize(r, 16<<10), flight: &inFlight{q.name() + " (stream)"}}
	if !s.open.add(l.flight) {
		return nil, msg.ErrStopping
	}
	ctx, end := context.WithCancelCause(s.base)
	l.end = end
	go l.run(ctx, work, broke)
	if _, err := l.in.Peek(1); err != nil && !errors.Is(err, io.EOF) {
		_ = l.Close() // always nil
		return nil, err
	}
	q.SetContentType("application/x-ndjson")
	_ = q.SetWriteDeadline(time.Now().Add(s.o.WriteFor))
	q.SetBodyStream(l, -1)
	return written, nil
}

// lineStream is the body of such an answer. One goroutine works; the HTTP server reads what it emits. It is over when the flight
// has left the registry.
type lineStream struct {
	server *Server
	name   string
	conn   net.Conn
	pipe   *io.PipeReader
	out    *io.PipeWriter
	in     *bufio.Reader
	flight *inFlight
	end    context.CancelCauseFunc
	once   sync.Once
}

var errClientGone = errors.New("the client is gone")

func (l *lineStream) run(ctx context.Context, work lineWork, broke func(string) any) {
	defer l.server.open.remove(l.flight)
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-l.server.draining:
			l.end(msg.ErrStopping)
		case <-ctx.Done():
		}
	})
	defer watch.Wait()
	defer l.end(nil)
	said := false
	emit := func(line any) error {
		b, err := marshal(line)
		if err != nil {
			return err
		}
		said = true
		_, err = l.out.Write(append(b, '\n'))
		return err
	}
	err := l.safely(ctx, work, emit)
	if cause, ok := msg.AsFault(context.Cause(ctx)); ok && err != nil {
		err = cause
	}
	if err != nil && said {
		text, surprise := plain(err)
		if surprise && !errors.Is(err, errClientGone) {
			l.server.log.Error("a streamed answer failed", "route", l.name, "error", err)
		}
		_ = emit(broke(text)) // the client may be gone
		err = nil
	}
	_ = l.out.CloseWithError(err) // always nil
}

// safely keeps a panic of the work from ending the engine.
func (l *lineStream) safely(ctx context.Context, work lineWork, emit func(any) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			l.server.logPanic("stream", l.name, p)
			err = errInternal
		}
	}()
	return work(ctx, emit)
}

// Read gives what was emitted. A client that does not take it in time is gone.
func (l *lineStream) Read(p []byte) (int, error) {
	n, err := l.in.Read(p)
	_ = l.conn.SetWriteDeadline(time.Now().Add(l.server.o.WriteFor))
	return n, err
}

// Close ends the work. The HTTP server calls it when the answer is written or the client is gone.
func (l *lineStream) Close() error {
	l.once.Do(func() {
		l.end(errClientGone)
		_ = l.pipe.CloseWithError(errClientGone) // always nil
	})
	return nil
}
