package edge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fasthttp/websocket"
	"github.com/oklog/ulid/v2"
	"github.com/valyala/fasthttp"
)

const (
	headerLimit = 8 << 10 // bytes of a request's line and headers
	idleFor     = 2 * time.Minute
	readFor     = 30 * time.Second // for the headers and, unless a route takes longer, the body
)

// Server is the gateway. Make it with New, run it with Serve.
type Server struct {
	o     Options
	log   *slog.Logger
	guard *guard
	table []Route
	route *router
	http  *fasthttp.Server

	upgrader *websocket.Upgrader
	admit    *admission
	presence presence
	sockets  *registry[*socket]
	open     *registry[*inFlight] // requests and streams that are being answered

	base     context.Context // every command's; ends when a stop is out of time
	abort    context.CancelFunc
	draining chan struct{} // closed when a stop begins
	stopping atomic.Bool
	stopOnce sync.Once
}

// inFlight names something that is being answered, for the report of what did not stop.
type inFlight struct{ name string }

// New makes a gateway. It starts nothing.
func New(o Options) (*Server, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s := &Server{o: o, log: o.Logger, guard: newGuard(&o), admit: newAdmission(o.PerOwner, o.InAll), draining: make(chan struct{}),
		sockets: newRegistry[*socket](), open: newRegistry[*inFlight]()}
	s.presence.server = s
	s.base, s.abort = context.WithCancel(context.Background())
	s.table = table(&s.o)
	s.route = newRouter(s.table)
	s.upgrader = newUpgrader()
	s.http = &fasthttp.Server{
		Handler:                      s.handle,
		ErrorHandler:                 s.unreadable,
		Logger:                       quiet{s.log},
		ReadBufferSize:               headerLimit,
		WriteBufferSize:              4 << 10,
		ReadTimeout:                  readFor,
		WriteTimeout:                 o.WriteFor,
		IdleTimeout:                  idleFor,
		MaxRequestBodySize:           o.UploadLimit,
		StreamRequestBody:            true, // the checks come before the body
		DisablePreParseMultipartForm: true,
		ReduceMemoryUsage:            true,
		KeepHijackedConns:            true, // a socket keeps its connection only, not the request's memory
		NoDefaultServerHeader:        true,
		NoDefaultDate:                true,
		NoDefaultContentType:         true,
		CloseOnShutdown:              true,
		SecureErrorLogMessage:        true,
	}
	return s, nil
}

// Routes is what the gateway serves, in the table's order.
func (s *Server) Routes() []Route { return append([]Route(nil), s.table...) }

// Listen opens the gateway's port. Without a host it listens on loopback only; port 0 takes a free one.
func Listen(host string, port int) (net.Listener, error) {
	if host == "" {
		host = "127.0.0.1"
	}
	ln, err := net.Listen("tcp", net.JoinHostPort(host, fmt.Sprint(port)))
	if err != nil {
		return nil, fmt.Errorf("the gateway cannot listen on %s, port %d: %w. Choose another port, or stop what uses it", host, port, err)
	}
	return ln, nil
}

// Serve answers on ln until ctx ends, then stops within Options.StopWithin. The error says why it could not serve, or
// names what did not stop in time. A Server serves once.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	done := make(chan error, 1)
	go func() { done <- s.http.Serve(&patient{ln, s.log, s.draining}) }()
	select {
	case err := <-done:
		return errors.Join(err, s.stop(ln))
	case <-ctx.Done():
		err := s.stop(ln)
		return errors.Join(<-done, err)
	}
}

func (s *Server) stop(ln net.Listener) error {
	ctx, cancel := context.WithTimeout(context.Background(), s.o.StopWithin)
	defer cancel()
	s.stopOnce.Do(func() {
		s.stopping.Store(true)
		close(s.draining)
	})
	_ = ln.Close() // the server closes it too, unless it had not begun
	for _, k := range s.sockets.close() {
		k.shut(closeGoingAway, stoppingText)
	}
	httpErr := s.http.ShutdownWithContext(ctx)
	s.open.close()
	s.sockets.wait(ctx)
	s.open.wait(ctx)
	s.abort()
	if httpErr == nil && s.sockets.len() == 0 && s.open.len() == 0 {
		return nil
	}
	return s.unstopped()
}

// unstopped gives what was just aborted a last second, then names what is left.
func (s *Server) unstopped() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for _, k := range s.sockets.all() {
		k.kill()
	}
	s.sockets.wait(ctx)
	s.open.wait(ctx)
	var names []string
	for _, r := range s.open.all() {
		names = append(names, r.name)
	}
	if n := s.sockets.len(); n > 0 {
		names = append(names, fmt.Sprintf("%d sockets", n))
	}
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("the gateway stopped without waiting for: %s", strings.Join(names, ", "))
}

// unreadable answers what was not even a request.
func (s *Server) unreadable(ctx *fasthttp.RequestCtx, err error) {
	securityHeaders(&ctx.Response.Header)
	var small *fasthttp.ErrSmallBuffer
	var timeout net.Error
	switch {
	case errors.As(err, &small):
		// Closing on unread bytes would reset the connection before the client sees the answer.
		_ = ctx.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		_, _ = io.CopyN(io.Discard, ctx.Conn(), 1<<20)
		fail(ctx, refuse(431, "The request's headers are too large."))
	case errors.As(err, &timeout) && timeout.Timeout():
		fail(ctx, refuse(408, "The request came too slowly."))
	default:
		fail(ctx, refuse(400, "The request is not readable HTTP."))
	}
	ctx.SetConnectionClose()
}

// quiet keeps the HTTP library's own lines (which may quote a request) out of the log, but says that there was one.
type quiet struct{ log *slog.Logger }

func (q quiet) Printf(format string, _ ...any) { q.log.Debug("http", "about", format) }

func newID() string { return ulid.Make().String() }
