package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"sentient/bench/process"

	"github.com/fasthttp/websocket"
)

// event is what a client reads from a socket.
type event struct {
	Type     string          `json:"type"`
	Seq      uint64          `json:"seq"`
	Session  string          `json:"session_id"`
	Turn     string          `json:"turn_id"`
	ClientID string          `json:"client_id"`
	Content  string          `json:"content"`
	Error    json.RawMessage `json:"error"`
	Dropped  texts           `json:"dropped"`
	Replay   bool            `json:"replay"`

	Cancelled bool `json:"cancelled"`

	Approval  string            `json:"approval_id"`
	Undo      string            `json:"undo_id"`
	Call      string            `json:"call_id"`
	Arguments map[string]string `json:"arguments"`
	Action    string            `json:"action"`
	Done      bool              `json:"done"`
}

// texts are what a done names as dropped; an error only says that something was, which is not needed here.
type texts []string

// UnmarshalJSON implements json.Unmarshaler.
func (t *texts) UnmarshalJSON(b []byte) error {
	if string(b) == "true" || string(b) == "false" {
		return nil
	}
	return json.Unmarshal(b, (*[]string)(t))
}

// link is a window: one socket that comes back with ?after= whenever it breaks, and answers what is asked.
type link struct {
	bed  *bed
	book *book

	mu    sync.Mutex
	conn  *websocket.Conn // nil while it is down
	n     int             // which connection it is
	last  uint64
	calls map[string]string // call id and undo id to the script's id of the call
	done  chan struct{}
}

func (b *bed) openLink(ctx context.Context) *link {
	l := &link{bed: b, book: b.book, calls: map[string]string{}, done: make(chan struct{})}
	go func() {
		defer close(l.done)
		for ctx.Err() == nil {
			l.live(ctx)
			_ = process.Pause(ctx, 10*time.Millisecond) // the loop looks itself
		}
	}()
	return l
}

func dial(ctx context.Context, e *engine, query string) (*websocket.Conn, error) {
	d := websocket.Dialer{HandshakeTimeout: 2 * time.Second}
	conn, resp, err := d.DialContext(ctx, "ws"+strings.TrimPrefix(e.Address, "http")+"/ws?token="+token+query, nil)
	if err != nil && resp != nil {
		err = fmt.Errorf("%w (status %d)", err, resp.StatusCode)
	}
	return conn, err
}

// live is one connection, from dialing to its end.
func (l *link) live(ctx context.Context) {
	e := l.bed.running()
	if e == nil {
		return
	}
	query := ""
	if l.last > 0 {
		query = fmt.Sprintf("&after=%d", l.last)
	}
	conn, err := dial(ctx, e, query)
	if err != nil {
		return
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // its reader then fails
	defer stop()
	defer conn.Close()
	l.mu.Lock()
	l.conn, l.n = conn, l.n+1
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.conn = nil
		l.mu.Unlock()
	}()
	for {
		var ev event
		_, b, err := conn.ReadMessage()
		if err != nil {
			return
		}
		if json.Unmarshal(b, &ev) != nil {
			// Arguments that are not all text: only the script's own calls matter here.
			continue
		}
		l.last = max(l.last, ev.Seq)
		l.take(ev)
	}
}

func (l *link) take(ev event) {
	switch ev.Type {
	case "session", "steer_ack":
		l.book.ack(ev.ClientID, ev.Turn)
	case "approval_request":
		l.decide(ev)
	case "tool_call":
		l.calls[ev.Call] = callOf(ev.Arguments)
	case "undo_window":
		l.window(ev)
	case "undo.ack":
		if ev.Action == "undo" && ev.Done {
			l.book.locked(func() { l.book.undone[l.calls[ev.Undo]] = true })
		}
	case "done":
		l.ended(ev)
	}
}

func (l *link) ended(ev event) {
	l.mu.Lock()
	n := l.n
	l.mu.Unlock()
	l.book.locked(func() {
		for _, text := range ev.Dropped {
			l.book.dropped[text] = true
		}
		if !ev.Replay && ev.Turn != "" {
			l.book.ended[ev.Turn] = append(l.book.ended[ev.Turn], end{n, ev.Seq, fmt.Sprintf("%.60q %s %v", ev.Content, ev.Error, ev.Cancelled)})
		}
	})
	if ev.ClientID != "" && len(ev.Error) > 0 && string(ev.Error) != "null" {
		l.book.refuse(ev.ClientID) // only what was never acknowledged
	}
}

// decide answers a question about a call, the same call always the same way.
func (l *link) decide(ev event) {
	id, decision := callOf(ev.Arguments), "allow"
	if !allowed(id) {
		decision = "deny"
		l.book.locked(func() { l.book.denied[id] = true })
	}
	_ = l.write(map[string]any{"type": "approval.respond", "approval_id": ev.Approval, "decision": decision}) // a lost answer is a question that comes again
}

// window lets half of what waits go by itself, undoes a quarter and sends a quarter at once.
func (l *link) window(ev event) {
	id := l.calls[ev.Call]
	l.calls[ev.Undo] = id
	action := ""
	switch dice(id+"/undo") % 4 {
	case 0:
		action = "undo"
	case 1:
		action = "send_now"
	default:
		return
	}
	_ = l.write(map[string]any{"type": "undo.respond", "undo_id": ev.Undo, "action": action}) // if it is lost the window ends by itself
}

var errDown = errors.New("the link is down")

// current is the number of the connection, 0 when it is down.
func (l *link) current() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == nil {
		return 0
	}
	return l.n
}

func (l *link) write(v any) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == nil {
		return errDown
	}
	_ = l.conn.SetWriteDeadline(time.Now().Add(2 * time.Second)) // a connection that is closed fails below
	return l.conn.WriteJSON(v)
}

// send writes a message and notes it under the number of the connection it went through.
func (l *link) send(m map[string]any, note func(n int)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == nil {
		return errDown
	}
	note(l.n)
	_ = l.conn.SetWriteDeadline(time.Now().Add(2 * time.Second)) // as above
	return l.conn.WriteJSON(m)
}

// up waits until there is a connection.
func (l *link) up(ctx context.Context, within time.Duration) bool {
	for began := time.Now(); time.Since(began) < within && ctx.Err() == nil; {
		if l.current() > 0 {
			return true
		}
		_ = process.Pause(ctx, 5*time.Millisecond) // the loop looks itself
	}
	return false
}
