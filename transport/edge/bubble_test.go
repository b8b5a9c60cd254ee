package edge

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fasthttp/websocket"

	"sentient/actors/msg"
)

// pipes is an in-memory listener: fake time works with it.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, io.EOF
	}
}
func (p *pipes) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7777} }

func (p *pipes) dial() net.Conn {
	client, server := net.Pipe()
	p.conns <- server
	return client
}

// bubble runs f with a gateway in fake time.
func bubble(t *testing.T, change func(*Options), f func(t *testing.T, g *gateway, p *pipes)) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		g := serveOn(t, p, change)
		f(t, g, p)
		_ = g.stop()
		time.Sleep(11 * time.Second) // the HTTP library's own clean-up
	})
}

func (p *pipes) socket(t *testing.T, query string) *websocket.Conn {
	t.Helper()
	d := websocket.Dialer{NetDial: func(string, string) (net.Conn, error) { return p.dial(), nil }}
	conn, _, err := d.Dial("ws://localhost/ws?token="+token+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func TestAHalfOpenSocketIsFound(t *testing.T) {
	bubble(t, nil, func(t *testing.T, g *gateway, p *pipes) {
		conn := p.socket(t, "")
		pings := 0
		conn.SetPingHandler(func(string) error { pings++; return nil }) // hears, never answers
		begun := time.Now()
		for {
			if _, _, err := conn.ReadMessage(); err != nil {
				break
			}
		}
		if took := time.Since(begun); took != 75*time.Second || pings != 2 {
			t.Errorf("closed after %v and %d pings", took, pings)
		}
		synctest.Wait()
		if g.srv.sockets.len() != 0 {
			t.Error("the socket is still known")
		}
	})
}

func TestALivingSocketStays(t *testing.T) {
	bubble(t, nil, func(t *testing.T, g *gateway, p *pipes) {
		conn := p.socket(t, "")
		read := make(chan struct{})
		go func() { // answers pings while it reads
			defer close(read)
			for {
				if _, _, err := conn.ReadMessage(); err != nil {
					return
				}
			}
		}()
		time.Sleep(24 * time.Hour)
		if g.srv.sockets.len() != 1 {
			t.Error("a socket that answers was closed")
		}
		_ = conn.Close()
		<-read
	})
}

func TestAnIdleSocketHasNoWriter(t *testing.T) {
	bubble(t, nil, func(t *testing.T, g *gateway, p *pipes) {
		conn := p.socket(t, "")
		if _, _, err := conn.ReadMessage(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		k := g.srv.sockets.all()[0]
		if k.out.writing || k.out.pending {
			t.Error("a writer waits for nothing")
		}
		_ = conn.Close()
	})
}

// A client that never reads is ended, and neither publishing nor another client waits for it.
func TestAClientThatNeverReads(t *testing.T) {
	bubble(t, func(o *Options) { o.Outbox = 64 << 10 }, func(t *testing.T, g *gateway, p *pipes) {
		g.chats.make("c1")
		stuck, good := p.socket(t, ""), p.socket(t, "")
		synctest.Wait() // both have subscribed
		_ = good.SetReadDeadline(time.Now().Add(time.Hour))
		got := make(chan int)
		go func() {
			n := 0
			for n < 300 {
				if _, b, err := good.ReadMessage(); err != nil {
					break
				} else if strings.Contains(string(b), `"notice"`) {
					n++
				}
			}
			got <- n
		}()
		begun := time.Now()
		for range 300 {
			g.chats.noteNow("c1", "notice", "message", strings.Repeat("x", 1000))
			synctest.Wait()
		}
		if n := <-got; n != 300 || time.Since(begun) != 0 {
			t.Errorf("the other client got %d, after %v", n, time.Since(begun))
		}
		time.Sleep(time.Minute)
		if n := g.srv.sockets.len(); n != 1 {
			t.Errorf("%d sockets are left", n)
		}
		_ = stuck.Close()
		_ = good.Close()
	})
}

// A stop is bounded and names what did not stop; what was waiting for its context gets it.
func TestStopIsBounded(t *testing.T) {
	bubble(t, nil, func(t *testing.T, g *gateway, p *pipes) {
		g.chats.make("c1")
		g.chats.gate = make(chan struct{}) // Send waits until its context ends
		conn := p.dial()
		go func() {
			body := `{"text":"hi","session_id":"c1"}`
			_, _ = fmt.Fprintf(conn, "POST /api/chat HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", token, len(body), body)
			_, _ = io.Copy(io.Discard, conn)
		}()
		synctest.Wait()
		begun := time.Now()
		if err := g.stop(); err != nil {
			t.Errorf("what gets its context's end is not late: %v", err)
		}
		if took := time.Since(begun); took < 10*time.Second || took > 11*time.Second {
			t.Errorf("took %v", took)
		}
		_ = conn.Close()
	})
}

type stubborn struct {
	*fakeChats
	until chan struct{}
}

func (s *stubborn) Delete(context.Context, string) error { <-s.until; return msg.ErrNoChat }

func TestStopNamesWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		until := make(chan struct{})
		p := newPipes()
		g := serveOn(t, p, func(o *Options) { o.Chats = &stubborn{o.Chats.(*fakeChats), until} })
		conn := p.dial()
		go func() {
			_, _ = fmt.Fprintf(conn, "DELETE /api/sessions/secret-id HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", token)
			_, _ = io.Copy(io.Discard, conn)
		}()
		synctest.Wait()
		go func() { time.Sleep(12 * time.Second); close(until) }()
		err := g.stop()
		if err == nil || !strings.Contains(err.Error(), "DELETE /api/sessions/{id}") || strings.Contains(err.Error(), "secret-id") {
			t.Errorf("the report: %v", err)
		}
		g.stop = func() error { return nil }
		_ = conn.Close()
		time.Sleep(20 * time.Second)
	})
}

func TestSlowHeadersAndBodies(t *testing.T) {
	bubble(t, nil, func(t *testing.T, g *gateway, p *pipes) {
		for _, raw := range []string{"GET /api/health HTTP/1.1\r\nHost:", "POST /api/chat HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token + "\r\nContent-Length: 90000\r\n\r\n{\"te"} {
			conn := p.dial()
			begun := time.Now()
			go func() { _, _ = conn.Write([]byte(raw)) }()
			b, _ := io.ReadAll(conn)
			if !strings.Contains(string(b), " 408 ") || !strings.Contains(string(b), `{"detail":`) || time.Since(begun) > time.Minute {
				t.Errorf("%q after %v", b, time.Since(begun))
			}
			_ = conn.Close()
		}
	})
}

func TestFramesBeforeTheHandshakeAreRefused(t *testing.T) {
	bubble(t, nil, func(t *testing.T, g *gateway, p *pipes) {
		conn := p.dial()
		go func() {
			_, _ = fmt.Fprintf(conn, "GET /ws?token=%s HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
				"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n\x81\x80abcd", token)
		}()
		if b, _ := io.ReadAll(conn); len(b) != 0 {
			t.Errorf("answered %q", b)
		}
		_ = conn.Close()
	})
}
