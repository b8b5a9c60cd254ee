package edge

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/fasthttp/websocket"

	"sentient/actors/msg"
	"sentient/runtime/bus"
)

// the token is in the query, and hello says who speaks.
func TestSocketToken(t *testing.T) {
	g := serve(t, nil)
	hello := g.dial("").next()
	if !hello.is("hello") || hello["version"] != "9.9" || hello["assistant"] != "Ada" {
		t.Errorf("hello: %v", hello)
	}
	d := websocket.Dialer{}
	for _, url := range []string{"/ws", "/ws?token=wrong", "/ws?token="} {
		_, res, err := d.Dial("ws://"+g.addr+url, http.Header{"Authorization": {"Bearer " + token}})
		if err == nil || res == nil || res.StatusCode != 401 || res.Header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%s: %v %v", url, err, res)
		}
	}
	for _, q := range []string{"&sessions=a,,b", "&sessions=" + strings.Repeat("a,", 2000) + "a"} {
		if _, res, err := g.tryDial(q, nil); err == nil || res.StatusCode != 422 {
			t.Errorf("%.20s: %v", q, err)
		}
	}
	for _, h := range [][]string{nil, {"Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: short"},
		{"Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 7", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="}} {
		if got := g.call("GET", "/ws?token="+token, "", h...); got.status/100 != 4 || got.detail() == nil {
			t.Errorf("%v: %d %s", h, got.status, got.body)
		}
	}
}

// A turn over the socket, in order, and its session event echoes the client_id.
func TestSocketTurn(t *testing.T) {
	g := serve(t, nil)
	c := g.dial("")
	c.next()
	c.send(event{"type": "chat.send", "text": "hi", "client_id": "k1"})
	events := c.until("done")
	if s := events[0]; !s.is("session") || s["client_id"] != "k1" || s["session_id"] == "" {
		t.Fatalf("first: %v", s)
	}
	text := ""
	for _, e := range events {
		if e["session_id"] != events[0]["session_id"] || e["turn_id"] != events[0]["turn_id"] {
			t.Errorf("an event of nowhere: %v", e)
		}
		if e.is("text_delta") {
			text += e["text"].(string)
		}
	}
	if done := events[len(events)-1]; text != "Hello." || done["content"] != "Hello." || done["seq"].(float64) <= events[0]["seq"].(float64) {
		t.Errorf("%q, %v", text, done)
	}
	c.send(event{"type": "chat.send", "session_id": events[0]["session_id"], "text": "hi", "client_id": "k1"})
	if again := c.next(); !again.is("session") || again["client_id"] != "k1" {
		t.Errorf("a repeated message was not acknowledged: %v", again)
	}
}

func (g *gateway) openTurn(c *client) (session string) {
	g.t.Helper()
	c.send(event{"type": "chat.send", "text": "hold"})
	return c.last("session")["session_id"].(string)
}

// A-013, A-014 (an undo that is too late): what a window says of approvals and undo is answered.
func TestSteerCancelApproveUndoPing(t *testing.T) {
	g := serve(t, nil)
	c := g.dial("")
	c.next()
	id := g.openTurn(c)
	c.send(event{"type": "chat.steer", "session_id": id, "text": "also", "client_id": "s1"})
	ack := c.last("steer_ack")
	if _, has := ack["turn_id"]; has || ack["queued"] != true || ack["client_id"] != "s1" || ack["session_id"] != id {
		t.Errorf("steer: %v", ack)
	}
	c.send(event{"type": "chat.cancel", "session_id": id})
	if done := c.last("done"); done["cancelled"] != true {
		t.Errorf("cancel: %v", done)
	}
	//
	g.chats.answers["ap1"] = ""
	for _, want := range []bool{true, false} {
		c.send(event{"type": "approval.respond", "approval_id": "ap1", "decision": "allow"})
		if a := c.next(); !a.is("approval.ack") || a["approval_id"] != "ap1" || a["resolved"] != want {
			t.Errorf("approval: %v", a)
		}
	}
	c.send(event{"type": "approval.respond", "approval_id": "ap1", "decision": "perhaps"})
	if a := c.next(); a["resolved"] != false {
		t.Errorf("a decision nobody knows: %v", a)
	}
	c.send(event{"type": "undo.respond", "undo_id": "u1", "action": "undo"})
	if u := c.next(); !u.is("undo.ack") || u["undo_id"] != "u1" || u["action"] != "undo" || u["done"] != false {
		t.Errorf("undo: %v", u)
	}
	c.send(event{"type": "ping"})
	if p := c.next(); !p.is("pong") {
		t.Errorf("ping: %v", p)
	}
}

// A refused message ends with an error that is not recoverable and exactly one done; anything else only gets a note.
func TestBadMessages(t *testing.T) {
	g := serve(t, nil)
	c := g.dial("")
	c.next()
	for _, bad := range []string{`{"type":"chat.send","text":7,"client_id":"k"}`, `{"type":"chat.send","client_id":"k"}`, `{"type":"chat.send","text":" ","client_id":"k"}`,
		`{"type":"chat.send","text":"hi","session_id":"none","client_id":"k"}`, `{"type":"chat.send","text":"a\u0000b","client_id":"k"}`,
		`{"type":"chat.send","text":"hi","session_id":"a\nb","client_id":"k"}`, `{"type":"chat.send","text":"hi","attachments":"x","client_id":"k"}`,
		`{"type":"chat.send","text":"hi","attachments":["a\u0000"],"client_id":"k"}`, `{"type":"chat.send","text":"hi","model":"gpt","client_id":"k"}`,
		`{"type":"chat.send","text":"hi","incognito":"yes","client_id":"k"}`, `{"type":"chat.steer","text":"hi","client_id":"k"}`,
		`{"type":"chat.steer","text":"hi","session_id":"none","client_id":"k"}`} {
		c.send(bad)
		e, d := c.next(), c.next()
		if !e.is("error") || e["recoverable"] != false || e["client_id"] != "k" || e["message"] == "" {
			t.Errorf("%s: %v", bad, e)
		}
		if !d.is("done") || d["error"] != e["message"] || d["client_id"] != "k" || d["message_id"] != nil || d["content"] != "" || d["turn_id"] != e["turn_id"] {
			t.Errorf("%s: %v", bad, d)
		}
	}
	for _, bad := range []string{`not json`, `[]`, `{}`, `{"type":5}`, `{"type":"chat.dance"}`, `null`, `{"type":"ping"}{}`, "{\"type\":\"\xff\"}",
		`{"type":"chat.cancel"}`, `{"type":"chat.cancel","session_id":"none"}`, `{"type":"approval.respond"}`, `{"type":"undo.respond","undo_id":"x"}`,
		`{"type":"presence","active":1}`, ``} {
		c.send(bad)
		if e := c.next(); !e.is("error") || e["recoverable"] != true || e["message"] == "" {
			t.Errorf("%s: %v", bad, e)
		}
	}
	_ = c.conn.WriteMessage(websocket.BinaryMessage, []byte{1, 2, 3})
	if e := c.next(); !e.is("error") || e["recoverable"] != true {
		t.Errorf("binary: %v", e)
	}
	c.send(`{"type":"ping"}`)
	if !c.next().is("pong") {
		t.Error("the socket did not stay open")
	}
	if len(g.chats.sent()) != 2 { // those with a chat that does not exist
		t.Errorf("bad messages reached the chats: %v", g.chats.sent())
	}
}

func TestAHugeMessageClosesTheSocket(t *testing.T) {
	g := serve(t, func(o *Options) { o.JSONLimit = 64 << 10 })
	c := g.dial("")
	c.next()
	c.send(event{"type": "chat.send", "text": strings.Repeat("x", 70<<10)})
	_, _, err := c.conn.ReadMessage()
	if !websocket.IsCloseError(err, websocket.CloseMessageTooBig) {
		t.Errorf("%v", err)
	}
}

func TestASocketsPanicIsOneCommands(t *testing.T) {
	g := serve(t, nil)
	g.chats.panics = true
	c := g.dial("")
	c.next()
	c.send(event{"type": "chat.send", "text": "secret words", "client_id": "k"})
	if e, d := c.next(), c.next(); !e.is("error") || !d.is("done") || d["client_id"] != "k" {
		t.Errorf("%v %v", e, d)
	}
	if strings.Contains(g.logs.String(), "secret") || strings.Contains(g.logs.String(), "private") {
		t.Error("a person's words are in the log")
	}
}

// Commands of one socket to one chat keep their order and a stuck chat does not hold up another; over 64 waiting is busy.
func TestOrderAndAdmission(t *testing.T) {
	g := serve(t, func(o *Options) { o.PerOwner = 5 })
	g.chats.make("c1")
	g.chats.gate = make(chan struct{})
	c := g.dial("")
	c.next()
	for i := range 7 {
		c.send(event{"type": "chat.send", "session_id": "c1", "text": fmt.Sprint(i), "client_id": fmt.Sprint(i)})
	}
	for i := 5; i < 7; i++ {
		if e, d := c.next(), c.next(); e["code"] != "busy" || e["recoverable"] != false || e["client_id"] != fmt.Sprint(i) || !d.is("done") || d["client_id"] != fmt.Sprint(i) {
			t.Errorf("over the bound: %v %v", e, d)
		}
	}
	got := g.call("POST", "/api/chat", `{"session_id":"c1","text":"x"}`)
	if got.status != 503 || got.header.Get("Retry-After") != "1" {
		t.Errorf("REST over the bound: %d %v", got.status, got.header)
	}
	c.send(event{"type": "ping"})
	if !c.next().is("pong") {
		t.Error("a stuck chat holds up the socket")
	}
	close(g.chats.gate)
	for range 5 {
		c.until("done")
	}
	for i, m := range g.chats.sent() {
		if m.Text != fmt.Sprint(i) || m.Via == "" {
			t.Errorf("message %d is %q", i, m.Text)
		}
	}
	if g.srv.admit.waiting() != 0 {
		t.Error("places were not given back")
	}
}

func TestAdmissionInAll(t *testing.T) {
	a := newAdmission(2, 3)
	for i, owner := range []string{"a", "a", "a", "b", "c"} {
		if err := a.enter(owner); (err == nil) != slices.Contains([]int{0, 1, 3}, i) {
			t.Errorf("%d %s: %v", i, owner, err)
		}
	}
	a.leave("a")
	if a.enter("c") != nil || a.enter("d") == nil || len(a.owners) != 3 {
		t.Error("places are counted wrong")
	}
}

// any window in front counts, closing counts as not.
func TestPresence(t *testing.T) {
	var hooked []bool
	g := serve(t, func(o *Options) { o.OnPresence = func(in bool) { hooked = append(hooked, in) } })
	watch, a, b := g.dial(""), g.dial(""), g.dial("")
	watch.next()
	in := func(want bool) {
		t.Helper()
		e := watch.next()
		if !e.is("presence.changed") || e["data"].(map[string]any)["in_app"] != want || e["ts"] == nil {
			t.Errorf("%v, want %v", e, want)
		}
		if g.srv.InApp() != want {
			t.Errorf("InApp is not %v", want)
		}
	}
	a.send(event{"type": "presence", "active": true})
	in(true)
	b.send(event{"type": "presence", "active": true})
	b.pong()
	a.send(event{"type": "presence", "active": false})
	a.pong()
	_ = b.conn.Close()
	in(false)
	if !slices.Equal(hooked, []bool{true, false}) {
		t.Errorf("told: %v", hooked)
	}
}

func TestNarrowedSocketGetsItsChatsOnly(t *testing.T) {
	g := serve(t, nil)
	g.chats.make("c1")
	g.chats.make("c2")
	c := g.dial("&sessions=c1")
	c.next()
	g.chats.noteNow("c2", "notice", "message", "no")
	g.chats.noteNow("c1", "notice", "message", "yes")
	if e := c.next(); e["session_id"] != "c1" {
		t.Errorf("%v", e)
	}
	g.chats.bus.Publish(bus.Event{Kind: "config.updated", Body: body("config.updated", "data", map[string]any{})})
	if e := c.next(); !e.is("config.updated") {
		t.Errorf("what belongs to no chat was left out: %v", e)
	}
	c.send(event{"type": "chat.send", "text": "hi"})
	if e := c.last("done"); e["session_id"] == "c1" {
		t.Errorf("its own new chat: %v", e)
	}
}

func TestAnIncognitoChatIsShownOnlyWhereItWasOpened(t *testing.T) {
	g := serve(t, nil)
	a, b := g.dial(""), g.dial("")
	a.next()
	b.next()
	a.send(event{"type": "chat.send", "text": "hold", "incognito": true})
	id := a.last("session")["session_id"].(string)
	g.chats.make("c1")
	g.chats.noteNow("c1", "notice")
	if e := b.next(); e["session_id"] != "c1" {
		t.Errorf("another window saw %v", e)
	}
	after := g.dial("&after=0")
	for _, e := range append(after.until("notice"), after.pong()...) {
		if e["session_id"] == id {
			t.Errorf("a replay showed %v", e)
		}
	}
}

func (c *client) pong() []event {
	c.t.Helper()
	c.send(event{"type": "ping"})
	return c.until("pong")
}

func TestAFullHouseIsBusy(t *testing.T) {
	g := serve(t, func(o *Options) { o.Sockets = 1 })
	g.dial("").next()
	if _, res, err := g.tryDial("", nil); err == nil || res.StatusCode != 503 {
		t.Errorf("%v", err)
	}
}

func TestFaultsOnTheSocketAreBusyOnlyWhenTheyAre(t *testing.T) {
	g := serve(t, nil)
	g.chats.fail = msg.ErrDiskFull
	c := g.dial("")
	c.next()
	c.send(event{"type": "chat.send", "text": "hi"})
	if e, d := c.next(), c.next(); e["code"] != nil || e["message"] != msg.ErrDiskFull.Text || !d.is("done") {
		t.Errorf("%v %v", e, d)
	}
}

func FuzzCommand(f *testing.F) {
	for _, s := range []string{`{"type":"chat.send","text":"hi","attachments":["a"],"client_id":"k"}`, `{"type":"presence","active":true}`, `{"type":null}`,
		`{"type":"approval.respond","approval_id":"\u0000"}`, `[1]`, `{"type":"chat.steer","session_id":"x","text":"\ud800"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := decodeCommand(b)
		if err != nil {
			if text, surprise := plain(err); text == "" || surprise {
				t.Fatalf("%q: %v is no plain refusal", b, err)
			}
			return
		}
		if !validID(c.send.Session) || !validID(c.reply) || strings.ContainsRune(c.send.Text, 0) {
			t.Fatalf("%q let %+v through", b, c)
		}
		if message(c.typ) && c.send.Session == "" {
			t.Fatalf("%q has no chat", b)
		}
	})
}
