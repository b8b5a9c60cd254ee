package session

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oklog/ulid/v2"

	"sentient/actors/msg"
)

// a message starts a chat; the turn's events come in order and end with one done.
func TestAFirstMessage(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		s := h.send(msg.Send{Text: "Hi!", ClientID: "c-1"})
		h.wait(time.Second)
		if got := h.kinds(); got != "session text_delta usage done" {
			t.Fatal(got)
		}
		for _, e := range h.events {
			if e["session_id"] != s.Session || e["turn_id"] != s.Turn {
				t.Fatalf("%v", e)
			}
		}
		d := h.last("done")
		if d["content"] != "Hello there." || d["message_id"] == nil || h.events[0]["client_id"] != "c-1" {
			t.Fatalf("%v", d)
		}
		for _, list := range []string{"memory_sources", "sources", "checks"} {
			if l, ok := d[list].([]any); !ok || len(l) != 0 {
				t.Fatalf("%s: %v", list, d[list])
			}
		}
		if got := h.transcript(s.Session); got != "user: Hi!\nassistant: Hello there.\n" {
			t.Fatal(got)
		}
		rows := h.rows(s.Session)
		if rows[1].ID != d["message_id"] || rows[0].Interjection {
			t.Fatalf("%+v", rows)
		}
	})
}

// a chat that does not exist has no messages; ids that are none are refused.
func TestUnknownChats(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		for _, id := range []string{"", "nope", "../../etc", strings.Repeat("0", 26), ulid.Make().String()} {
			if _, err := h.chats.Messages(id, 10); !errors.Is(err, msg.ErrNoChat) {
				t.Error(id, err)
			}
			if _, err := h.chats.Send(t.Context(), msg.Send{Session: id, Text: "x"}); !errors.Is(err, msg.ErrNoChat) {
				t.Error(id, err)
			}
			if _, err := h.chats.Cancel(t.Context(), id); !errors.Is(err, msg.ErrNoChat) {
				t.Error(id, err)
			}
			if err := h.chats.Delete(t.Context(), id); !errors.Is(err, msg.ErrNoChat) {
				t.Error(id, err)
			}
		}
	})
}

func TestBadSends(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		for _, m := range []msg.Send{{Text: "  \n"}, {Text: "a\x00b"}, {Text: "\xff"}, {Text: "x", Model: "qwen"}, {Text: "x", Attachments: []string{"\x00"}}} {
			m.Session, m.New = ulid.Make().String(), true
			_, err := h.chats.Send(t.Context(), m)
			if f, ok := msg.AsFault(err); !ok || f.Kind != msg.Invalid {
				t.Errorf("%+v: %v", m, err)
			}
		}
		if l, _ := h.chats.List(10); len(l) != 0 {
			t.Fatalf("a refused message made a chat: %+v", l)
		}
	})
}

// three messages during one tool call: all on disk at once, in order, seen before the model goes on.
func TestMessagesDuringATool(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.models.next(calls(toolCall("c1", "look", "{}")), say("All done."))
		s := h.send(msg.Send{Text: "Look."})
		h.wait(500 * time.Millisecond)
		for _, text := range []string{"one", "two", "three"} {
			if r := h.send(msg.Send{Session: s.Session, Text: text}); !r.Steered {
				t.Fatalf("%+v", r)
			}
		}
		h.wait(3 * time.Second)
		want := "user: Look.\nassistant:  [look]\ntool: {\"seen\":true}\nuser: one\nuser: two\nuser: three\nassistant: All done.\n"
		if got := h.transcript(s.Session); got != want {
			t.Fatal(got)
		}
		if h.count("done") != 1 || h.count("user_interjection") != 3 {
			t.Fatal(h.kinds())
		}
		for _, r := range h.rows(s.Session) {
			if steer := r.Content == "one" || r.Content == "two" || r.Content == "three"; r.Interjection != steer {
				t.Fatalf("%+v", r)
			}
		}
	})
}

// stop keeps what was said with its mark; steers that no model saw are named as dropped.
func TestStop(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.models.next(say("one two three four five six seven eight nine ten"))
		s := h.send(msg.Send{Text: "Count."})
		h.wait(70 * time.Millisecond)
		h.send(msg.Send{Session: s.Session, Text: "faster"})
		if ok, err := h.chats.Cancel(t.Context(), s.Session); !ok || err != nil {
			t.Fatal(ok, err)
		}
		synctest.Wait()
		d := h.last("done")
		if d["cancelled"] != true || d["content"] != "one two three\n\n(stopped)" || d["message_id"] == nil {
			t.Fatalf("%v", d)
		}
		if dropped := d["dropped"].([]any); len(dropped) != 1 || dropped[0] != "faster" {
			t.Fatalf("%v", d)
		}
		h.wait(time.Second)
		if got := h.transcript(s.Session); got != "user: Count.\nassistant: one two three\n\n(stopped)\n" || h.count("done") != 1 {
			t.Fatal(got)
		}
		if ok, _ := h.chats.Cancel(t.Context(), s.Session); ok {
			t.Fatal("there was nothing to stop")
		}
		h.models.next(say("fine"))
		h.send(msg.Send{Session: s.Session, Text: "Again."})
		h.wait(time.Second)
		if !strings.HasSuffix(h.transcript(s.Session), "user: Again.\nassistant: fine\n") {
			t.Fatal(h.transcript(s.Session))
		}
	})
}

// stopped before it started: nothing is kept.
func TestStopBeforeAnything(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		s := h.send(msg.Send{Text: "Hi"})
		h.chats.Cancel(t.Context(), s.Session)
		synctest.Wait()
		if d := h.last("done"); d["cancelled"] != true || d["message_id"] != nil || d["content"] != "" {
			t.Fatalf("%v", d)
		}
		if got := h.transcript(s.Session); got != "user: Hi\n" {
			t.Fatal(got)
		}
	})
}

// a message with attachments never steers: it waits and starts its own turn, and nothing overtakes it.
func TestAttachmentsWaitTheirTurn(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.files.attach["a.txt"] = Attachment{Text: "inside"}
		h.models.next(say("first"), say("second"), say("third"))
		s := h.send(msg.Send{Text: "1"})
		r := h.send(msg.Send{Session: s.Session, Text: "2", Attachments: []string{"a.txt"}})
		if !r.Queued || r.Steered || r.Turn == "" || r.Turn == s.Turn {
			t.Fatalf("%+v", r)
		}
		h.send(msg.Send{Session: s.Session, Text: "3"})
		h.wait(3 * time.Second)
		if got := h.transcript(s.Session); got != "user: 1\nassistant: first\nuser: 2\nuser: 3\nassistant: second\n" {
			t.Fatal(got)
		}
		if h.count("done") != 2 || h.last("done")["turn_id"] != r.Turn {
			t.Fatal(h.kinds())
		}
		last := h.models.asked()[1].Messages
		if p := last[len(last)-2].Parts; len(p) < 2 || !strings.Contains(p[1].Text, "inside") {
			t.Fatalf("%+v", last)
		}
	})
}

// a turn that fails says so once, saves nothing of its reply, and the chat goes on.
func TestFailure(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.models.next(calls(toolCall("c1", "look", "{}")), fails(msg.FaultRate, "The provider is busy. Try again later."), say("Better."))
		s := h.send(msg.Send{Text: "Look."})
		h.wait(3 * time.Second)
		e, d := h.last("error"), h.last("done")
		if e["message"] != "The provider is busy. Try again later." || e["recoverable"] != false {
			t.Fatalf("%v", e)
		}
		if d["error"] != e["message"] || d["content"] != "" || d["message_id"] != nil || h.count("done") != 1 {
			t.Fatalf("%v", d)
		}
		if got := h.transcript(s.Session); got != "user: Look.\n" {
			t.Fatal(got)
		}
		h.send(msg.Send{Session: s.Session, Text: "Again."})
		h.wait(time.Second)
		if got := h.transcript(s.Session); got != "user: Look.\nuser: Again.\nassistant: Better.\n" {
			t.Fatal(got)
		}
	})
}

// A failed turn that had already changed something keeps its rounds, so that the model knows.
func TestFailureAfterAnEffect(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.models.next(calls(toolCall("c1", "note_write", "{}")), fails(msg.FaultUnavailable, "Down."))
		s := h.send(msg.Send{Text: "Write."})
		h.wait(3 * time.Second)
		if got := h.transcript(s.Session); got != "user: Write.\nassistant:  [note_write]\ntool: {\"ok\":true}\n" {
			t.Fatal(got)
		}
	})
}

// DECISIONS 22: a repeated client_id is the same message.
func TestTheSameClientID(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		s := h.send(msg.Send{Text: "Hi", ClientID: "x"})
		again := h.send(msg.Send{Session: s.Session, Text: "Hi", ClientID: "x"})
		if !again.Repeated || again.Turn != s.Turn || again.MessageID != s.MessageID {
			t.Fatalf("%+v", again)
		}
		h.wait(time.Second)
		h.restart()
		if again = h.send(msg.Send{Session: s.Session, Text: "Hi", ClientID: "x"}); !again.Repeated {
			t.Fatalf("%+v", again)
		}
		if got := h.transcript(s.Session); got != "user: Hi\nassistant: Hello there.\n" {
			t.Fatal(got)
		}
	})
}

// what a patch changes, and what it tells.
func TestPatch(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		s := h.send(msg.Send{Text: "Plan   my\ntrip to " + strings.Repeat("very ", 20)})
		h.wait(time.Second)
		l, _ := h.chats.List(10)
		if len([]rune(l[0].Title)) != 60 || !strings.HasPrefix(l[0].Title, "Plan my trip to very") || *l[0].Untrusted != "" || l[0].Model != nil || l[0].MemoryScope != "personal" {
			t.Fatalf("%+v", l[0])
		}
		str := func(s string) *string { return &s }
		row, err := h.chats.Patch(t.Context(), s.Session, msg.ChatPatch{Title: str("Trip"), Model: str("x/y")})
		if err != nil || row.Title != "Trip" || *row.Model != "x/y" {
			t.Fatal(row, err)
		}
		u := h.last("session.updated")["data"].(map[string]any)
		if len(u) != 3 || u["title"] != "Trip" || u["model"] != "x/y" {
			t.Fatalf("%v", u)
		}
		row, _ = h.chats.Patch(t.Context(), s.Session, msg.ChatPatch{Model: str("")})
		if u = h.last("session.updated")["data"].(map[string]any); row.Model != nil || len(u) != 2 || u["model"] != nil {
			t.Fatalf("%+v %v", row, u)
		}
		for _, p := range []msg.ChatPatch{{Model: str("nope")}, {MemoryScope: str("always")}, {Title: str("")}, {Title: str("a\x00")}} {
			if _, err := h.chats.Patch(t.Context(), s.Session, p); err == nil {
				t.Errorf("%+v was taken", p)
			}
		}
	})
}

// Deleting a chat ends its turn, tells it, and leaves nothing to find.
func TestDelete(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.files.attach["screens/s.png"] = Attachment{Text: "t"}
		h.models.next(say("one two three four five six seven eight nine ten"))
		s := h.send(msg.Send{Text: "secret words", Attachments: []string{"screens/s.png"}})
		other := h.send(msg.Send{Text: "other"})
		h.wait(50 * time.Millisecond)
		if err := h.chats.Delete(t.Context(), s.Session); err != nil {
			t.Fatal(err)
		}
		h.wait(time.Second)
		if d := h.last("session.deleted")["data"].(map[string]any); d["session_id"] != s.Session || len(d) != 1 {
			t.Fatalf("%v", d)
		}
		done := 0
		for _, e := range h.events {
			if e["type"] == "done" && e["turn_id"] == s.Turn {
				done++
			}
		}
		if done != 1 {
			t.Fatal("dones of the deleted chat:", done)
		}
		if len(h.files.deleted) != 1 || h.files.deleted[0] != "screens/s.png" {
			t.Fatal(h.files.deleted)
		}
		if _, err := h.chats.Messages(s.Session, 0); !errors.Is(err, msg.ErrNoChat) {
			t.Fatal(err)
		}
		if _, err := h.chats.Send(t.Context(), msg.Send{Session: s.Session, Text: "x"}); !errors.Is(err, msg.ErrNoChat) {
			t.Fatal(err)
		}
		if l, _ := h.chats.List(0); len(l) != 1 || l[0].ID != other.Session {
			t.Fatalf("%+v", l)
		}
		r, _ := h.j.Read()
		defer r.Close()
		for e, err := range r.Log(0) {
			if err != nil || e.Topic == s.Session {
				t.Fatalf("a note of the deleted chat is left: %s %v", e.Type, err)
			}
		}
	})
}

// whose model answers.
func TestWhoseModel(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.cfg.Models.Roles.Primary = "p/default"
		h.models.missing = map[string]string{"x/gone": "It is not downloaded."}
		s := h.send(msg.Send{Text: "1"})
		h.wait(time.Second)
		own := "x/own"
		h.chats.Patch(t.Context(), s.Session, msg.ChatPatch{Model: &own})
		h.send(msg.Send{Session: s.Session, Text: "2"})
		h.wait(time.Second)
		h.send(msg.Send{Session: s.Session, Text: "3", Model: "m/strict"})
		h.wait(time.Second)
		gone := "x/gone"
		h.chats.Patch(t.Context(), s.Session, msg.ChatPatch{Model: &gone})
		h.send(msg.Send{Session: s.Session, Text: "4"})
		h.wait(time.Second)
		var used []string
		for _, r := range h.models.asked() {
			used = append(used, r.Model)
		}
		if got := strings.Join(used, " "); got != "p/default x/own m/strict p/default" {
			t.Fatal(got)
		}
		n := h.last("notice")
		if h.count("notice") != 1 || n["code"] != "model_fallback" || n["model"] != "x/gone" || n["used"] != "p/default" {
			t.Fatalf("%v", n)
		}
	})
}

// the context meter.
func TestContextMeter(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.models.window = 1000
		h.models.next(func(context.Context, msg.ModelRequest, func(msg.ModelChunk) error) (msg.ModelResult, error) {
			return msg.ModelResult{Text: "ok", Usage: msg.ModelUsage{Known: true, PromptTokens: 860, CompletionTokens: 10}}, nil
		})
		s := h.send(msg.Send{Text: "1"})
		h.wait(time.Second)
		u := h.last("usage")
		if u["context_used"] != 870.0 || u["context_length"] != 1000.0 || u["context_percent"] != 87.0 {
			t.Fatalf("%v", u)
		}
		if u["context_warning"] != "This chat is getting long for qwen3:8b (87% of what it reads at once). Older messages may be left out: start a new chat, or set a longer context length in Settings > Models." {
			t.Fatal(u["context_warning"])
		}
		h.models.window = 0
		h.send(msg.Send{Session: s.Session, Text: "2"})
		h.wait(time.Second)
		if u = h.last("usage"); u["context_used"] != nil || u["context_length"] != nil || u["context_percent"] != nil || u["context_warning"] != nil {
			t.Fatalf("%v", u)
		}
	})
}
