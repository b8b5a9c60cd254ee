package edge

import (
	"bufio"
	"encoding/base64"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/fasthttp/websocket"
	"github.com/valyala/fasthttp"

	"sentient/actors/msg"
)

var (
	errNotSocket = refuse(426, "This address is a WebSocket: connect with one.")
	errHandshake = refuse(400, "The WebSocket handshake is not valid (RFC 6455, version 13).")
)

// newUpgrader keeps a socket small: its read buffer is 256 bytes, and a write buffer is only held while writing.
func newUpgrader() *websocket.Upgrader {
	return &websocket.Upgrader{ReadBufferSize: 256, WriteBufferSize: 4 << 10, WriteBufferPool: &sync.Pool{},
		HandshakeTimeout: 10 * time.Second, CheckOrigin: func(*http.Request) bool { return true }} // checked before
}

// socket takes the connection over. The HTTP server's memory of it (buffers, the request) is given back at once, so an
// idle socket costs its connection and one small reader.
func (s *Server) socket(q *request) (any, error) {
	if s.sockets.len() >= s.o.Sockets {
		return nil, msg.ErrBusy
	}
	hr, err := handshake(q)
	if err != nil {
		return nil, err
	}
	k, err := s.newSocket(q)
	if err != nil {
		return nil, err
	}
	q.HijackSetNoResponse(true) // the upgrader answers on the connection itself
	q.Hijack(func(c net.Conn) {
		k.raw = c.(interface{ UnsafeConn() net.Conn }).UnsafeConn()
		if early(c, k.raw) || !s.sockets.add(k) {
			k.kill()
			return
		}
		go k.run(hr)
	})
	return written, nil
}

// handshake checks the opening request (RFC 6455, 4.2.1) and gives it in the form the upgrader takes.
func handshake(q *request) (*http.Request, error) {
	h := &q.Request.Header
	if !websocket.FastHTTPIsWebSocketUpgrade(q.RequestCtx) {
		q.Response.Header.Set(fasthttp.HeaderUpgrade, "websocket")
		return nil, errNotSocket
	}
	key := string(h.Peek("Sec-WebSocket-Key"))
	raw, err := base64.StdEncoding.DecodeString(key)
	version := strings.TrimSpace(string(h.Peek("Sec-WebSocket-Version")))
	if version != "13" {
		q.Response.Header.Set("Sec-WebSocket-Version", "13")
	}
	if err != nil || len(raw) != 16 || version != "13" || h.ContentLength() > 0 {
		return nil, errHandshake
	}
	return &http.Request{Method: http.MethodGet, Header: http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"},
		"Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {key}}}, nil
}

// early says whether the client sent something before the handshake was answered, which it must not (RFC 6455, 4.1) and
// which would be lost with the HTTP server's buffer. The deadline in the past keeps the connection itself from being read.
func early(c, raw net.Conn) bool {
	_ = raw.SetReadDeadline(time.Unix(1, 0))
	var b [1]byte
	n, _ := c.Read(b[:])
	_ = raw.SetDeadline(time.Time{})
	return n > 0
}

// taken is the connection as the upgrader asks for it.
type taken struct{ conn net.Conn }

var errTaken = errors.New("the connection was taken over")

func (t taken) Header() http.Header       { return http.Header{} }
func (t taken) Write([]byte) (int, error) { return 0, errTaken }
func (t taken) WriteHeader(int)           {}
func (t taken) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return t.conn, bufio.NewReadWriter(bufio.NewReaderSize(t.conn, 16), bufio.NewWriterSize(t.conn, 1)), nil
}
