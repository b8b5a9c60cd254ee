package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/fasthttp/websocket"
)

// talker has one conversation. Each turn is one message and its whole reply; it reads on the caller's goroutine.
type talker interface {
	turn(r *reply) error
	close()
}

// reply is a turn as its client saw it.
type reply struct {
	sent  time.Time
	first time.Duration // from sending to the first token read
	whole time.Duration // from sending to the end read
	up    time.Duration // from sending to the model's writing of the first token
	relay Samples       // of each token, from its writing to its reading
}

func (r *reply) begin() {
	*r = reply{sent: time.Now(), relay: r.relay[:0]}
}

func (r *reply) tokens(b, member []byte) {
	now := time.Now()
	stamps(b, member, func(at int64) {
		if len(r.relay) == 0 {
			r.first = now.Sub(r.sent)
			r.up = time.Duration(at - r.sent.UnixNano())
		}
		r.relay = append(r.relay, time.Duration(now.UnixNano()-at))
	})
}

// event takes one event of the engine; over is true at the end of the turn.
func (r *reply) event(b []byte) (over bool, err error) {
	switch {
	case bytes.HasPrefix(b, eventText):
		r.tokens(b, textMember)
	case bytes.HasPrefix(b, eventDone):
		r.whole = time.Since(r.sent)
		return true, nil
	case bytes.HasPrefix(b, eventError) && bytes.Contains(b, fatal):
		return true, fmt.Errorf("the turn failed: %s", message(b))
	}
	return false, nil
}

// message is the sentence of an error event.
func message(b []byte) string {
	var e struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(b, &e) // what cannot be read has no sentence
	return e.Message
}

const question = "Tell me something about the sea, in a few plain words."

// connection is one HTTP/1.1 keep-alive connection, without any goroutine of its own.
type connection struct {
	net.Conn
	in    *bufio.Reader
	host  string
	token string
	limit time.Duration // of one exchange
	stop  func() bool
}

// dial connects to an address like http://127.0.0.1:7777. When ctx ends the connection is closed.
func dial(ctx context.Context, address, token string, limit time.Duration) (*connection, error) {
	host := strings.TrimPrefix(address, "http://")
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", host)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // its reader then fails
	return &connection{Conn: conn, in: bufio.NewReaderSize(conn, 4<<10), host: host, token: token, limit: limit, stop: stop}, nil
}

func (c *connection) close() {
	c.stop()
	_ = c.Close() // nothing was promised to the other side
}

// request sends one request and reads the answer's head. The body must be read to its end before the next.
func (c *connection) request(method, path string, body []byte) (*http.Response, error) {
	if err := c.SetDeadline(time.Now().Add(c.limit)); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n", method, path, c.host, len(body))
	if c.token != "" {
		fmt.Fprintf(&b, "Authorization: Bearer %s\r\n", c.token)
	}
	if len(body) > 0 {
		b.WriteString("Content-Type: application/json\r\n")
	}
	b.WriteString("\r\n")
	b.Write(body)
	if _, err := c.Write(b.Bytes()); err != nil {
		return nil, err
	}
	return http.ReadResponse(c.in, &http.Request{Method: method})
}

// fetch does one exchange and decodes its JSON into v (nil: it is thrown away).
func (c *connection) fetch(method, path string, body []byte, v any) error {
	resp, err := c.request(method, path, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s answered %d: %s", method, path, resp.StatusCode, bytes.TrimSpace(b))
	}
	if v == nil {
		return nil
	}
	return json.Unmarshal(b, v)
}

// newChat makes an empty chat, as a window does before it connects a socket for it.
func (c *connection) newChat() (string, error) {
	var made struct {
		Session string `json:"session_id"`
	}
	err := c.fetch("POST", "/api/sessions", nil, &made)
	return made.Session, err
}

// lines is a talker over a streamed HTTP answer: POST /api/chat, or the model itself.
type lines struct {
	*connection
	path string
	body []byte
	in   *bufio.Reader
	take func(r *reply, line []byte) (over bool, err error)
}

func newLines(c *connection, path string, body []byte, take func(*reply, []byte) (bool, error)) *lines {
	return &lines{connection: c, path: path, body: body, in: bufio.NewReaderSize(nil, 64<<10), take: take}
}

func (l *lines) turn(r *reply) error {
	r.begin()
	resp, err := l.request("POST", l.path, l.body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(resp.Body) // only for the sentence
		return fmt.Errorf("POST %s answered %d: %s", l.path, resp.StatusCode, bytes.TrimSpace(b))
	}
	l.in.Reset(resp.Body)
	over := false
	for {
		line, err := l.in.ReadSlice('\n')
		if len(line) > 0 && !over {
			var bad error
			if over, bad = l.take(r, line); bad != nil {
				return bad
			}
		}
		switch {
		case errors.Is(err, io.EOF) && over:
			return nil
		case errors.Is(err, io.EOF):
			return errors.New("the stream ended before the reply did")
		case err != nil:
			return err
		}
	}
}

// post is a talker over POST /api/chat; without a session each turn is a new chat.
func post(c *connection, session string) talker {
	said := map[string]string{"text": question}
	if session != "" {
		said["session_id"] = session
	}
	body, _ := json.Marshal(said) // strings always can
	return newLines(c, "/api/chat", body, (*reply).event)
}

// direct is a talker to the model itself, in OpenAI's protocol.
func direct(c *connection) talker {
	body := []byte(`{"model":"test","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"` + question + `"}]}`)
	return newLines(c, "/v1/chat/completions", body, func(r *reply, line []byte) (bool, error) {
		switch {
		case bytes.HasPrefix(line, sseDone):
			r.whole = time.Since(r.sent)
			return true, nil
		case bytes.HasPrefix(line, sseData):
			r.tokens(line, sseContent)
		}
		return false, nil
	})
}

// socket is a talker over a /ws that was narrowed to its own chat.
type socket struct {
	conn  *websocket.Conn
	frame []byte
	send  []byte
	limit time.Duration
	stop  func() bool
}

func newSocket(ctx context.Context, address, token, session string, limit time.Duration) (*socket, error) {
	d := websocket.Dialer{ReadBufferSize: 4 << 10, WriteBufferSize: 1 << 10, HandshakeTimeout: limit}
	url := "ws" + strings.TrimPrefix(address, "http") + "/ws?token=" + token + "&sessions=" + session
	conn, resp, err := d.DialContext(ctx, url, nil)
	if err != nil {
		if resp != nil {
			err = fmt.Errorf("%w (status %d)", err, resp.StatusCode)
		}
		return nil, err
	}
	send, _ := json.Marshal(map[string]string{"type": "chat.send", "session_id": session, "text": question}) // strings always can
	return &socket{conn: conn, frame: make([]byte, 0, 4<<10), send: send, limit: limit, stop: context.AfterFunc(ctx, func() { _ = conn.Close() })}, nil
}

func (s *socket) close() {
	s.stop()
	_ = s.conn.Close() // nothing was promised to the other side
}

func (s *socket) turn(r *reply) error {
	if err := s.begin(r); err != nil {
		return err
	}
	for {
		b, err := s.read()
		if err != nil {
			return err
		}
		if over, err := r.event(b); over {
			return err
		}
	}
}

func (s *socket) begin(r *reply) error {
	deadline := time.Now().Add(s.limit)
	if err := errors.Join(s.conn.SetReadDeadline(deadline), s.conn.SetWriteDeadline(deadline)); err != nil {
		return err
	}
	r.begin()
	return s.conn.WriteMessage(websocket.TextMessage, s.send)
}

// read gives the next message; it is good until the next read.
func (s *socket) read() ([]byte, error) {
	_, in, err := s.conn.NextReader()
	if err != nil {
		return nil, err
	}
	b := s.frame[:0]
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := in.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err != nil {
			s.frame = b
			if errors.Is(err, io.EOF) {
				return b, nil
			}
			return nil, err
		}
	}
}
