package edge

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// line reads one NDJSON line.
type lines struct {
	t   *testing.T
	res *http.Response
	r   *bufio.Reader
}

func (g *gateway) stream(t *testing.T, body string) *lines {
	t.Helper()
	req, _ := http.NewRequest("POST", "http://"+g.addr+"/api/chat", strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := g.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "application/x-ndjson" {
		t.Fatalf("%d %v", res.StatusCode, res.Header)
	}
	return &lines{t, res, bufio.NewReader(res.Body)}
}

func (l *lines) next() event {
	l.t.Helper()
	b, err := l.r.ReadBytes('\n')
	if err != nil {
		l.t.Fatalf("line: %v", err)
	}
	var e event
	if err := json.Unmarshal(b, &e); err != nil {
		l.t.Fatalf("%q: %v", b, err)
	}
	return e
}

func (l *lines) over() bool { _, err := l.r.ReadByte(); return err != nil }

// the first line is session, the last is the turn's done; with a running reply it is one steer_ack.
func TestChatStream(t *testing.T) {
	g := serve(t, nil)
	l := g.stream(t, `{"text":"hi","ignored":{"x":1}}`)
	first := l.next()
	if !first.is("session") || first["session_id"] == "" || first["seq"] != nil {
		t.Fatalf("first: %v", first)
	}
	id := first["session_id"].(string)
	text := ""
	for {
		e := l.next()
		if e.is("text_delta") {
			text += e["text"].(string)
		} else if e.is("done") {
			if e["content"] != "Hello." || e["turn_id"] != first["turn_id"] {
				t.Errorf("done: %v", e)
			}
			break
		} else {
			t.Errorf("unexpected: %v", e)
		}
	}
	if text != "Hello." || !l.over() {
		t.Errorf("%q", text)
	}

	hold := g.stream(t, `{"text":"hold","session_id":"`+id+`"}`)
	hold.next()
	steer := g.stream(t, `{"text":"and this","session_id":"`+id+`"}`)
	if e := steer.next(); !e.is("steer_ack") || e["session_id"] != id || e["queued"] != true || !steer.over() {
		t.Errorf("steer: %v", e)
	}
	if e := hold.next(); !e.is("user_interjection") {
		t.Errorf("interjection: %v", e)
	}
	g.chats.delta(id, "x")
	if e := hold.next(); e["text"] != "x" { // shown as it comes, not at the end
		t.Errorf("%v", e)
	}
	//
	g.chats.noteNow(id, "rule_proposal.updated", "data", map[string]any{"id": "r1"})
	if e := hold.next(); !e.is("rule_proposal.updated") {
		t.Errorf("card: %v", e)
	}
	g.chats.finish(id)
	if e := hold.next(); !e.is("done") || !hold.over() {
		t.Errorf("done: %v", e)
	}
}

func TestAHangUpDoesNotEndTheTurn(t *testing.T) {
	g := serve(t, nil)
	l := g.stream(t, `{"text":"hold"}`)
	id := l.next()["session_id"].(string)
	_ = l.res.Body.Close()
	c := g.dial("&after=now")
	c.until("session")
	g.chats.delta(id, "still here")
	g.chats.finish(id)
	if e := c.last("done"); e["content"] != "still here" {
		t.Errorf("%v", e)
	}
}

func TestAStreamEndsWithItsChat(t *testing.T) {
	g := serve(t, nil)
	l := g.stream(t, `{"text":"hold"}`)
	id := l.next()["session_id"].(string)
	g.chats.make("other")
	g.call("DELETE", "/api/sessions/other", "")
	g.call("DELETE", "/api/sessions/"+id, "")
	if e := l.next(); !e.is("done") || e["cancelled"] != true || !l.over() {
		t.Errorf("%v", e)
	}
}

// Also a stop of the engine leaves no stream without its done.
func TestAStopEndsStreamsAndSockets(t *testing.T) {
	g := serve(t, nil)
	l := g.stream(t, `{"text":"hold"}`)
	l.next()
	c := g.dial("")
	c.next()
	closed := make(chan error, 1)
	go func() {
		for {
			if _, _, err := c.conn.ReadMessage(); err != nil {
				closed <- err
				return
			}
		}
	}()
	if err := g.stop(); err != nil {
		t.Fatal(err)
	}
	if e := l.next(); !e.is("error") || e["recoverable"] != false {
		t.Errorf("%v", e)
	}
	if e := l.next(); !e.is("done") || e["error"] == "" || !l.over() {
		t.Errorf("%v", e)
	}
	if err := <-closed; !strings.Contains(err.Error(), "1001") {
		t.Errorf("socket: %v", err)
	}
}
