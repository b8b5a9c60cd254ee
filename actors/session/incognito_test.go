package session

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"sentient/actors/msg"
	"sentient/runtime/bus"
	"sentient/storage/journal"
)

// an incognito chat lives in memory, is shown only where it was opened, and goes when idle.
func TestIncognito(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		ctx, cancel := context.WithCancel(t.Context())
		go h.chats.SweepIncognito(ctx)
		defer cancel()
		mine := h.bus.Subscribe(bus.SubOptions{ID: "mine"})
		defer mine.Close()
		s := h.send(msg.Send{Text: "private words", Incognito: true, Via: "mine"})
		h.wait(time.Second)
		if len(h.events) != 0 {
			t.Fatalf("another window saw it: %s", h.kinds())
		}
		if got := mine.Take(nil, 0); len(got) < 3 {
			t.Fatalf("%d events where it was opened", len(got))
		}
		if err := h.chats.Watch(t.Context(), s.Session, h.sub); err == nil {
			t.Fatal("another window may watch it")
		}
		l, _ := h.chats.List(10)
		if len(l) != 1 || !l[0].Incognito {
			t.Fatalf("%+v", l)
		}
		// Nothing of it is in the disk's engine: not its rows, not its events.
		view := h.disk.View()
		defer view.Close()
		if n := countKeys(t, view, s.Session); n != 0 {
			t.Fatalf("%d records of it are on disk", n)
		}
		h.wait(29 * time.Minute)
		if l, _ = h.chats.List(10); len(l) != 1 {
			t.Fatal("deleted too early")
		}
		h.send(msg.Send{Session: s.Session, Text: "still here", Incognito: false, Via: "mine"})
		h.wait(29 * time.Minute)
		if l, _ = h.chats.List(10); len(l) != 1 || !l[0].Incognito {
			t.Fatal("a new message must keep it")
		}
		h.wait(2 * time.Minute)
		if l, _ = h.chats.List(10); len(l) != 0 {
			t.Fatal("not deleted")
		}
		d := h.last("session.deleted")["data"].(map[string]any)
		if d["session_id"] != s.Session || d["reason"] != "incognito" {
			t.Fatalf("%v", d)
		}
		if len(h.files.deleted) != 1 || h.files.deleted[0] != "incognito-"+s.Session {
			t.Fatal(h.files.deleted)
		}
	})
}

func countKeys(t *testing.T, v journal.View, id string) (n int) {
	t.Helper()
	c := v.Scan(journal.Span{Hi: []byte{0xff, 0xff}}, false)
	defer c.Close()
	for c.Next() {
		if strings.Contains(string(c.Key()), id) || strings.Contains(string(c.Value()), "private words") {
			n++
		}
	}
	if err := c.Err(); err != nil {
		t.Fatal(err)
	}
	return n
}

// without memory an incognito chat's prompt has no name and no profile.
func TestIncognitoWithoutMemory(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.cfg.Assistant.UserName, h.cfg.Assistant.Location = "Maya", "Pune"
		h.send(msg.Send{Text: "1", Incognito: true})
		h.wait(time.Second)
		h.cfg.Chat.IncognitoUsesMemory = false
		h.send(msg.Send{Text: "2", Incognito: true})
		h.wait(time.Second)
		r := h.models.asked()
		if !strings.Contains(r[0].System, "Maya") || !strings.Contains(r[0].System, "incognito") {
			t.Fatal(r[0].System)
		}
		if strings.Contains(r[1].System, "Maya") || strings.Contains(r[1].System, "Pune") {
			t.Fatal(r[1].System)
		}
	})
}

// A window that comes back in the middle of a reply gets what was said so far, then the rest, with nothing twice.
func TestWatch(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.models.next(say("one two three four five six seven eight nine ten "))
		s := h.send(msg.Send{Text: "Count."})
		h.wait(90 * time.Millisecond)
		late := h.bus.Subscribe(bus.SubOptions{ID: "late", Gated: true})
		defer late.Close()
		h.wait(30 * time.Millisecond)
		if err := h.chats.Watch(t.Context(), s.Session, late); err != nil {
			t.Fatal(err)
		}
		h.wait(time.Second)
		other := &house{t: t, sub: late}
		var text strings.Builder
		for _, e := range other.take() {
			if e["type"] == "text_delta" {
				text.WriteString(e["text"].(string))
			}
		}
		if text.String() != "one two three four five six seven eight nine ten " || other.events[0]["replay"] != true || other.events[1]["replay"] != true {
			t.Fatal(text.String(), other.events[:2])
		}
		if other.last("done")["content"] == "" {
			t.Fatal(other.kinds())
		}
		if err := h.chats.Watch(t.Context(), ulid.Make().String(), late); err != nil {
			t.Fatal(err) // nothing to show is no error
		}
	})
}

// Rendered again from the rows, the durable events are what was sent live.
func TestReplayIsWhatWasSent(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.models.next(calls(toolCall("c1", "look", `{"n":1}`), toolCall("c2", "mail_send", `{"to":"<x>"}`)), say("Done & over."))
		s := h.send(msg.Send{Text: "Go \"now\"."})
		h.wait(1500 * time.Millisecond)
		h.send(msg.Send{Session: s.Session, Text: "and\nmore"})
		h.chats.Answer(t.Context(), h.last("approval_request")["approval_id"].(string), "allow", "")
		h.wait(5 * time.Second)
		r, _ := h.j.Read()
		defer r.Close()
		var replayed []string
		for e, err := range r.Log(0) {
			if err != nil {
				t.Fatal(err)
			}
			if b, ok := h.chats.Render(r, e); ok {
				replayed = append(replayed, string((&bus.Event{Body: b}).Render(nil, e.Seq)))
			}
		}
		var live []string
		for _, e := range h.events {
			if t := e["type"].(string); t != "text_delta" && t != "tool_progress" {
				live = append(live, t)
			}
		}
		if len(live) != len(replayed) || len(live) < 9 {
			t.Fatalf("%d live, %d replayed", len(live), len(replayed))
		}
		i := 0
		for _, e := range h.events {
			if typ := e["type"].(string); typ == "text_delta" || typ == "tool_progress" {
				continue
			}
			if got := canonicalJSON(t, replayed[i]); got != canonicalJSON(t, string(mustJSON(e))) {
				t.Errorf("live:\n%s\nreplayed:\n%s", mustJSON(e), replayed[i])
			}
			i++
		}
	})
}

// Titles: written once in the background, never over a person's own; the fast role writes them.
func TestTitles(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.cfg.Chat.AutoTitle = true
		h.cfg.Models.Roles.Fast = "f/fast"
		h.models.next(say("Paris."), say("\"A Capital Question\"\nmore"))
		s := h.send(msg.Send{Text: "What is the capital of France?"})
		h.wait(3 * time.Second)
		l, _ := h.chats.List(1)
		if l[0].Title != "A Capital Question" || h.models.asked()[1].Model != "f/fast" || h.last("session.updated")["data"].(map[string]any)["title"] != l[0].Title {
			t.Fatalf("%+v", l[0])
		}
		h.models.next(say("Madrid."))
		h.send(msg.Send{Session: s.Session, Text: "Spain?"})
		h.wait(3 * time.Second)
		if n := len(h.models.asked()); n != 3 {
			t.Fatal("titled again", n)
		}
		// Renamed while the title is written: the person's name stays.
		h.models.next(say("Rome."), say("Late Title"))
		s = h.send(msg.Send{Text: "Italy?"})
		h.wait(30 * time.Millisecond)
		name := "Mine"
		h.chats.Patch(t.Context(), s.Session, msg.ChatPatch{Title: &name})
		h.wait(3 * time.Second)
		if l, _ = h.chats.List(1); l[0].Title != "Mine" {
			t.Fatalf("%+v", l[0])
		}
		// A failing title never harms the chat.
		h.models.next(say("Lima."), fails(msg.FaultUnavailable, "down"))
		h.send(msg.Send{Text: "Peru?"})
		h.wait(3 * time.Second)
		if l, _ = h.chats.List(1); l[0].Title != "Peru?" {
			t.Fatalf("%+v", l[0])
		}
	})
}

// Old turns are folded into a summary that the model reads in their place.
func TestCompression(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.cfg.Chat.HistoryWindow, h.cfg.Chat.CompressAfterMessages = 4, 10
		h.models.next(say("ok"))
		s := h.send(msg.Send{Text: "message 0"})
		for range 9 {
			h.wait(2 * time.Second)
			h.send(msg.Send{Session: s.Session, Text: "more"})
		}
		h.wait(2 * time.Second)
		var summary *msg.ModelRequest
		for _, r := range h.models.asked() {
			if r.Job == "memory" {
				summary = &r
				break
			}
		}
		if summary == nil || !strings.Contains(summary.Messages[0].Parts[0].Text, "user: message 0") {
			t.Fatalf("%+v", summary)
		}
		h.send(msg.Send{Session: s.Session, Text: "last"})
		h.wait(2 * time.Second)
		r := h.models.asked()
		var last msg.ModelRequest
		for _, x := range r {
			if x.Job == "chat" {
				last = x
			}
		}
		if !strings.Contains(last.System, "Earlier in this chat") || len(last.Messages) > 4 {
			t.Fatal(last.System, len(last.Messages))
		}
		if n := len(h.rows(s.Session)); n != 22 {
			t.Fatal("rows were lost:", n)
		}
	})
}
