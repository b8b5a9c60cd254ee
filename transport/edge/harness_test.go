package edge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fasthttp/websocket"
	"go.uber.org/goleak"

	"sentient/storage/blob"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, // the HTTP library ends the one within 10 s of a stop, and has one clock for ever
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"))
}

const token = "the-token-of-the-test"

// gateway is a served Server with its surroundings.
type gateway struct {
	t     testing.TB
	srv   *Server
	chats *fakeChats
	addr  string
	logs  *lockedBuffer
	http  *http.Client
	stop  func() error // idempotent
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func options(t testing.TB, f *fakeChats) Options {
	files, err := blob.Open(blob.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = files.Close() })
	rest := &fakeRest{saved: map[string]string{}}
	return Options{Version: "9.9", Token: token, MCPToken: "the-mcp-token", Bus: f.bus, Log: f.j, Chats: f, Consent: fakeConsent{f}, Config: fakeConfig{}, Onboarding: rest,
		Files: files, Tools: rest, Models: rest, Queue: rest, Secrets: rest, Setup: &fakeSetup{}, Plans: &fakePlans{}, Usage: fakeUsage{}, Notices: &fakeNotices{}, Home: rest, Stop: rest}
}

// serve runs a gateway on a real port.
func serve(t testing.TB, change func(*Options)) *gateway {
	t.Helper()
	ln, err := Listen("", 0)
	if err != nil {
		t.Fatal(err)
	}
	g := serveOn(t, ln, change)
	g.addr = ln.Addr().String()
	return g
}

func serveOn(t testing.TB, ln net.Listener, change func(*Options)) *gateway {
	t.Helper()
	f := newFakeChats(t)
	o := options(t, f)
	logs := &lockedBuffer{}
	o.Logger = slog.New(slog.NewTextHandler(logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if change != nil {
		change(&o)
	}
	srv, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	g := &gateway{t: t, srv: srv, chats: f, logs: logs, http: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ctx, ln) }()
	g.stop = sync.OnceValue(func() error { cancel(); return <-done })
	t.Cleanup(func() {
		if err := g.stop(); err != nil {
			t.Errorf("the gateway did not stop: %v", err)
		}
	})
	return g
}

type reply struct {
	status int
	header http.Header
	body   string
}

func (r reply) detail() any {
	var v struct{ Detail any }
	if json.Unmarshal([]byte(r.body), &v) != nil {
		return nil
	}
	return v.Detail
}

// call makes a request with the token, unless a header says otherwise ("Authorization: -" sends none).
func (g *gateway) call(method, path, body string, headers ...string) reply {
	g.t.Helper()
	req, err := http.NewRequest(method, "http://"+g.addr+path, strings.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		switch {
		case name == "Host":
			req.Host = value
		case value == "-":
			req.Header.Del(name)
		default:
			req.Header.Set(name, value)
		}
	}
	res, err := g.http.Do(req)
	if err != nil {
		g.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		g.t.Fatal(err)
	}
	return reply{res.StatusCode, res.Header, string(b)}
}

// client is a real WebSocket client.
type client struct {
	t    testing.TB
	conn *websocket.Conn
}

func (g *gateway) dial(query string) *client {
	g.t.Helper()
	c, res, err := g.tryDial(query, nil)
	if err != nil {
		status := 0
		if res != nil {
			status = res.StatusCode
		}
		g.t.Fatalf("dial: %v (%d)", err, status)
	}
	return c
}

func (g *gateway) tryDial(query string, h http.Header) (*client, *http.Response, error) {
	d := websocket.Dialer{HandshakeTimeout: 20 * time.Second}
	conn, res, err := d.Dial("ws://"+g.addr+"/ws?token="+token+query, h)
	if err != nil {
		return nil, res, err
	}
	c := &client{g.t, conn}
	g.t.Cleanup(func() { _ = conn.Close() })
	return c, res, nil
}

type event map[string]any

func (e event) is(typ string) bool { return e["type"] == typ }

func (c *client) send(v any) {
	c.t.Helper()
	b, ok := v.(string)
	if !ok {
		raw, _ := json.Marshal(v)
		b = string(raw)
	}
	if err := c.conn.WriteMessage(websocket.TextMessage, []byte(b)); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) next() event {
	c.t.Helper()
	_ = c.conn.SetReadDeadline(time.Now().Add(30 * time.Second)) // only so that a broken test ends
	_, b, err := c.conn.ReadMessage()
	if err != nil {
		c.t.Fatalf("read: %v", err)
	}
	var e event
	if err := json.Unmarshal(b, &e); err != nil {
		c.t.Fatalf("frame %q: %v", b, err)
	}
	if _, ok := e["seq"].(float64); !ok {
		c.t.Fatalf("a frame without seq: %s", b)
	}
	return e
}

// until reads up to the first event of a type and gives all that came.
func (c *client) until(typ string) (list []event) {
	c.t.Helper()
	for {
		e := c.next()
		list = append(list, e)
		if e.is(typ) {
			return list
		}
	}
}

func (c *client) last(typ string) event {
	c.t.Helper()
	list := c.until(typ)
	return list[len(list)-1]
}
