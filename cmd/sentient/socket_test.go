package main

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fasthttp/websocket"

	"sentient/transport/llm/llmtest"
)

// A message that is sent again after its turn ended is acknowledged again, and its end is told again, also after a restart.
func TestAMessageSentAgain(t *testing.T) {
	model := scripted(t, llmtest.Options{Script: func(llmtest.Request) llmtest.Reply { return llmtest.Text("Once.") }})
	home := newHome(t, model, "")
	p := start(t, home)
	w := p.dial("")
	w.send(map[string]any{"type": "chat.send", "text": "hi", "client_id": "k1"})
	first := w.next("done")
	message := map[string]any{"type": "chat.send", "session_id": first["session_id"], "text": "hi", "client_id": "k1"}
	for range 2 {
		w.send(message)
		if s := w.next("session"); s["client_id"] != "k1" || s["turn_id"] != first["turn_id"] {
			t.Fatalf("%v", s)
		}
		if d := w.next("done"); d["replay"] != true || d["turn_id"] != first["turn_id"] || d["content"] != "Once." || d["message_id"] != first["message_id"] {
			t.Fatalf("%v", d)
		}
		p.kill()
		p = start(t, home)
		w = p.dial("")
	}
	if got := p.transcript(first["session_id"].(string)); strings.Count(got, "user: ") != 1 {
		t.Fatal(got)
	}
}

// A window that names itself is the same to its incognito chat over a new connection: it gets the rest of the reply. No other
// window does, also not with another name.
func TestAnIncognitoWindowComesBack(t *testing.T) {
	slow := llmtest.Reply{Steps: []llmtest.Step{{Text: "One "}, {Wait: 400 * time.Millisecond}, {Text: "two."}}}
	model := scripted(t, llmtest.Options{Script: func(llmtest.Request) llmtest.Reply { return slow }})
	p := start(t, newHome(t, model, ""))
	const name = "&window=0123456789abcdef0123456789abcdef"
	w := p.dial(name)
	other, stranger := p.dial(""), p.dial("&window=f123456789abcdef0123456789abcdef")
	w.send(map[string]any{"type": "chat.send", "text": "secret", "incognito": true})
	delta := w.next("text_delta")
	w.c.Close()
	w = p.dial(name + "&after=0")
	if d := w.next("done"); d["session_id"] != delta["session_id"] || d["content"] != "One two." {
		t.Fatalf("%v", d)
	}
	for _, s := range []*socket{other, stranger} {
		s.send(map[string]any{"type": "ping"})
		for _, e := range s.until("pong") {
			if e["session_id"] == delta["session_id"] {
				t.Errorf("another window got %v", e)
			}
		}
	}
	for _, bad := range []string{"short", "0123456789abcdef01234%20", strings.Repeat("a", 129)} {
		_, res, err := websocket.DefaultDialer.DialContext(t.Context(), strings.Replace(p.url, "http", "ws", 1)+"/ws?token="+testToken+"&window="+bad, nil)
		if err == nil || res == nil || res.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%s: %v %v", bad, res, err)
		}
	}
}

// The end of a reply comes before the end of its chat.
func TestDeletedInAReply(t *testing.T) {
	model := scripted(t, llmtest.Options{Script: func(llmtest.Request) llmtest.Reply {
		return llmtest.Reply{Steps: []llmtest.Step{{Text: "One "}, {Wait: time.Minute}}}
	}})
	p := start(t, newHome(t, model, ""))
	w := p.dial("")
	w.send(map[string]any{"type": "chat.send", "text": "hi"})
	id := w.next("text_delta")["session_id"].(string)
	call[map[string]any](p, "DELETE", "/api/sessions/"+id, nil)
	dones := 0
	for _, e := range w.until("session.deleted") {
		if e["type"] == "done" && e["cancelled"] == true && e["session_id"] == id {
			dones++
		}
	}
	if dones != 1 {
		t.Fatal(dones)
	}
}

// A window that is closed in the middle of a reply ends nothing: the reply is finished and saved, and told to the next window.
func TestAClosedWindowDoesNotEndTheReply(t *testing.T) {
	model := scripted(t, llmtest.Options{Script: func(llmtest.Request) llmtest.Reply {
		return llmtest.Reply{Steps: []llmtest.Step{{Text: "One "}, {Wait: 300 * time.Millisecond}, {Text: "two."}}}
	}})
	p := start(t, newHome(t, model, ""))
	w := p.dial("")
	w.send(map[string]any{"type": "chat.send", "text": "hi"})
	id := w.next("text_delta")["session_id"].(string)
	w.c.Close()
	w = p.dial("&after=0")
	if d := w.next("done"); d["content"] != "One two." || d["cancelled"] == true {
		t.Fatalf("%v", d)
	}
	if got := p.transcript(id); got != "user: hi\nassistant: One two.\n" {
		t.Fatal(got)
	}
}

// What a window orders is never a person's words: it is in no transcript and reaches no model, whatever the chat does.
func TestOrdersNeverReachAModel(t *testing.T) {
	model := scripted(t, llmtest.Options{Script: func(r llmtest.Request) llmtest.Reply {
		if strings.Contains(r.Last().Text, "story") {
			return llmtest.Reply{Steps: []llmtest.Step{{Text: "Once "}, {Stall: true}}}
		}
		return llmtest.Text("Yes.")
	}})
	p := start(t, newHome(t, model, ""))
	w := p.dial("")
	order := func(id any) {
		for _, kind := range []string{"approval.respond", "undo.respond", "chat.cancel"} {
			w.send(map[string]any{"type": kind, "session_id": id, "text": "/stop"})
			w.send(map[string]any{"type": kind, "session_id": id})
		}
	}
	w.send(map[string]any{"type": "chat.send", "text": "hi"})
	id := w.next("done")["session_id"]
	order(id) // at rest
	w.send(map[string]any{"type": "chat.send", "session_id": id, "text": "a story"})
	w.next("text_delta")
	order(id)
	w.next("done")
	w.send(map[string]any{"type": "chat.send", "session_id": id, "text": "Are you there?"})
	for w.next("done")["content"] != "Yes." {
	}
	if got := p.transcript(id.(string)); got != "user: hi\nassistant: Yes.\nuser: a story\nassistant: Once\n\n(stopped)\nuser: Are you there?\nassistant: Yes.\n" {
		t.Fatal(got)
	}
	for _, r := range model.Requests() {
		for _, m := range r.Messages {
			if strings.Contains(m.Text, "/stop") {
				t.Fatalf("a model read an order: %q", m.Text)
			}
		}
	}
}
