package edge

import (
	"bytes"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"sentient/actors/msg"
	"sentient/runtime/bus"
)

// chatBody is what POST /api/chat takes.
func chatBody(q *request) (msg.Send, error) {
	o, err := q.object()
	if err != nil {
		return msg.Send{}, err
	}
	m := msg.Send{Session: o.id("session_id"), Text: o.text("text"), Attachments: o.names("attachments"), Model: o.text("model"),
		Incognito: o.flag("incognito")}
	app := o.text("app")
	if o.err == nil && q.rights == MCP {
		// Another app chooses neither model, files nor privacy (section 5), and is named as what wrote.
		m.Attachments, m.Model, m.Incognito, m.Channel, m.From = nil, "", false, "mcp", "another app"
		if app != "" {
			m.From = "another app (" + app + ")"
		}
	}
	if o.err == nil {
		o.err = checkSend(&m)
	}
	return m, o.err
}

// checkSend checks what a message needs wherever it came in, and gives a new chat its id.
func checkSend(m *msg.Send) error {
	if strings.TrimSpace(m.Text) == "" && len(m.Attachments) == 0 {
		return refuse(422, "text is empty: write something, or attach a file.")
	}
	if m.Model != "" && !validModel(m.Model) {
		return refuse(422, `model must be provider/model, for example "anthropic/claude-sonnet-5".`)
	}
	if m.Session == "" {
		m.Session, m.New = newID(), true
	} else {
		m.Incognito = false // a chat cannot be switched later
	}
	return nil
}

// chat sends a message and streams its turn as NDJSON. A message that is not accepted has a status; from then on
// everything is in the stream. The client may hang up: the turn goes on.
func (s *Server) chat(q *request) (any, error) {
	epoch := s.epoch()
	m, err := chatBody(q)
	if err != nil {
		return nil, err
	}
	m.Epoch = epoch
	st := &chatStream{server: s, conn: q.Conn(), session: m.Session, wake: make(chan struct{}, 1), flight: &inFlight{q.name() + " (stream)"}}
	m.Via = newID()
	// Subscribed before the message is sent, so that nothing of the turn is missed. "" is for the end of the chat itself.
	st.sub = s.o.Bus.Subscribe(bus.SubOptions{ID: m.Via, Topics: []string{m.Session, ""}, Limit: s.o.Outbox, Wake: st.ring})
	var sent msg.Sent
	err = s.command(m.Session, func() (err error) {
		sent, err = s.o.Chats.Send(q.ctx, m)
		return err
	})
	if err == nil && !s.open.add(st.flight) {
		err = msg.ErrStopping
	}
	if err != nil {
		st.sub.Close()
		return nil, err
	}
	st.begin(sent)
	q.SetContentType("application/x-ndjson")
	_ = q.SetWriteDeadline(time.Now().Add(s.o.WriteFor))
	q.SetBodyStream(st, -1)
	return written, nil
}

// chatStream is the body of a streamed reply: the HTTP server reads from it until the turn's done. It has no goroutine.
type chatStream struct {
	server  *Server
	conn    net.Conn
	sub     *bus.Sub
	session string
	turn    string
	wake    chan struct{}
	flight  *inFlight

	buf    []byte // lines that are not yet read
	events []bus.Event
	ended  bool
	close  sync.Once
}

func (c *chatStream) ring() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *chatStream) begin(sent msg.Sent) {
	if sent.Steered {
		c.line(body("steer_ack", "session_id", c.session, "queued", true))
		c.ended = true
		return
	}
	c.turn = sent.Turn
	first := []any{"session_id", c.session}
	if c.turn != "" {
		first = append(first, "turn_id", c.turn)
	}
	c.line(body("session", first...))
	if c.turn == "" { // nothing will answer
		c.cut(errInternal.Error())
	}
}

func (c *chatStream) line(b []byte) { c.buf = append(append(c.buf, b...), '}', '\n') }

// Read waits for the turn. A client that reads too slowly to be kept up with gets an error, and so a cut stream.
func (c *chatStream) Read(p []byte) (int, error) {
	for len(c.buf) == 0 {
		if c.ended {
			return 0, io.EOF
		}
		if err := c.fill(); err != nil {
			return 0, err
		}
	}
	_ = c.conn.SetWriteDeadline(time.Now().Add(c.server.o.WriteFor))
	n := copy(p, c.buf)
	if c.buf = c.buf[n:]; len(c.buf) == 0 {
		c.buf = nil
	}
	return n, nil
}

func (c *chatStream) fill() error {
	if err := c.sub.Err(); err != nil {
		return err
	}
	c.events = c.sub.Take(c.events[:0], 64<<10)
	if len(c.events) == 0 {
		select {
		case <-c.wake:
		case <-c.server.draining:
			c.cut(msg.ErrStopping.Text)
		}
		return nil
	}
	for i := range c.events {
		if c.take(&c.events[i]); c.ended {
			break
		}
	}
	clear(c.events)
	return nil
}

// take writes the line of an event that belongs here.
func (c *chatStream) take(e *bus.Event) {
	switch {
	case e.Kind == "session.deleted" && bytes.Contains(e.Body, []byte(`"`+c.session+`"`)):
		c.line(c.done("cancelled", true))
		c.ended = true
	case e.Topic != c.session, e.Kind == "session":
	case e.Turn == c.turn && c.turn != "", e.Kind == "rule_proposal.updated":
		c.buf = e.Render(c.buf, 0)
		c.buf = append(dropSeq(c.buf), '\n')
		c.ended = e.Kind == "done"
	}
}

// dropSeq takes the socket's own member off a rendered event: lines have no number to come back with.
func dropSeq(b []byte) []byte { return append(bytes.TrimSuffix(b, []byte(`,"seq":0}`)), '}') }

// cut ends a stream whose turn will not be told to its end.
func (c *chatStream) cut(why string) {
	c.line(body("error", "session_id", c.session, "turn_id", c.turn, "message", why, "recoverable", false))
	c.line(c.done("error", why))
	c.ended = true
}

func (c *chatStream) done(name string, value any) []byte {
	return doneBody(c.session, c.turn, "", name, value)
}

// doneBody is the end of a turn of which nothing is kept.
func doneBody(session, turn, clientID, name string, value any) []byte {
	return body("done", doneKV(session, turn, clientID, name, value)...)
}

func doneKV(session, turn, clientID, name string, value any) []any {
	kv := []any{"session_id", session, "turn_id", turn, "content", "", "message_id", nil, name, value,
		"memory_sources", []any{}, "sources", []any{}, "checks", []any{}}
	if clientID != "" {
		kv = append(kv, "client_id", clientID)
	}
	return kv
}

// Close ends the subscription. The HTTP server calls it when the answer is written or the client is gone.
func (c *chatStream) Close() error {
	c.close.Do(func() {
		c.sub.Close()
		c.server.open.remove(c.flight)
	})
	return nil
}
