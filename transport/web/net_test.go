package web

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// internet is a resolver and a dialler in memory: every host that it knows has one server.
type internet struct {
	mu      sync.Mutex
	hosts   map[string][][]netip.Addr // answers, one after the other; the last one stays
	lookups map[string]int
	dialled []string
	conns   chan net.Conn
	done    chan struct{}
	once    sync.Once

	loopback string // where connections really go, when not through conns
}

func ips(list ...string) []netip.Addr {
	var out []netip.Addr
	for _, s := range list {
		out = append(out, netip.MustParseAddr(s))
	}
	return out
}

const public = "93.184.216.34"

// serve makes an internet whose every address leads to h; it ends with the test.
func serve(t *testing.T, h http.Handler) *internet {
	t.Helper()
	n := &internet{hosts: map[string][][]netip.Addr{"example.com": {ips(public)}}, lookups: map[string]int{}, conns: make(chan net.Conn), done: make(chan struct{})}
	if h != nil {
		srv := &httptest.Server{Listener: n, Config: &http.Server{Handler: h}}
		srv.Start()
		t.Cleanup(srv.Close)
	}
	return n
}

func serveTLS(t *testing.T, h http.Handler) *internet {
	t.Helper()
	n := serve(t, nil)
	srv := httptest.NewTLSServer(h) // over loopback: TLS ends slowly over a pipe
	t.Cleanup(srv.Close)
	n.loopback = srv.Listener.Addr().String()
	return n
}

func (n *internet) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	answers := n.hosts[host]
	if len(answers) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	i := min(n.lookups[host], len(answers)-1)
	n.lookups[host]++
	return answers[i], nil
}

func (n *internet) dial(ctx context.Context, _, address string) (net.Conn, error) {
	n.mu.Lock()
	n.dialled = append(n.dialled, address)
	n.mu.Unlock()
	if n.loopback != "" {
		return (&net.Dialer{}).DialContext(ctx, "tcp", n.loopback)
	}
	here, there := net.Pipe()
	select {
	case n.conns <- there:
		return here, nil
	case <-n.done:
	case <-ctx.Done():
	}
	return nil, errors.Join(errors.New("refused"), here.Close(), there.Close())
}

func (n *internet) Accept() (net.Conn, error) {
	select {
	case c := <-n.conns:
		return c, nil
	case <-n.done:
		return nil, net.ErrClosed
	}
}

func (n *internet) Close() error {
	n.once.Do(func() { close(n.done) })
	return nil
}

func (n *internet) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(93, 184, 216, 34), Port: 80} }

func (n *internet) web(t *testing.T, o Options) *Web {
	t.Helper()
	o.Resolver, o.Dial, o.TLS = n, n.dial, &tls.Config{InsecureSkipVerify: true}
	w, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// page serves one body of one type.
func page(kind, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write([]byte(body))
	})
}
