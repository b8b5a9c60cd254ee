package session

import (
	"context"
	"strings"
	"testing"
	"time"

	"sentient/actors/msg"
)

// a steer without a running reply is a message like any other.
func TestSteerWithoutAReply(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		s := h.send(msg.Send{Text: "1"})
		h.wait(time.Second)
		r, err := h.chats.Steer(t.Context(), msg.Steer{Session: s.Session, Text: "2", ClientID: "c"})
		if err != nil || r.Steered || r.Turn == "" {
			t.Fatalf("%+v %v", r, err)
		}
		h.wait(time.Second)
		if got := h.transcript(s.Session); got != "user: 1\nassistant: Hello there.\nuser: 2\nassistant: Hello there.\n" || h.rows(s.Session)[2].Interjection {
			t.Fatal(got)
		}
	})
}

// after every model call the meter says how full the context is; a fuller one than fits blocks nothing.
func TestMeterAfterEveryCall(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.models.window = 100
		h.models.next(calls(toolCall("c1", "look", "{}")), say("Done."))
		h.send(msg.Send{Text: strings.Repeat("long ", 400)}) // a local count above the model's own word
		h.wait(3 * time.Second)
		if h.count("usage") != 2 || h.last("done")["content"] != "Done." {
			t.Fatal(h.kinds())
		}
		u := h.last("usage")
		if used := u["context_used"].(float64); used < 500 || u["context_percent"].(float64) < 500 || u["prompt_tokens"] != 100.0 {
			t.Fatalf("%v", u)
		}
	})
}

// no usage from the provider: the meter goes on with tokens 0 when the length is known, and is silent when it is not.
func TestMeterWithoutUsage(t *testing.T) {
	quietModel := func(context.Context, msg.ModelRequest, func(msg.ModelChunk) error) (msg.ModelResult, error) {
		return msg.ModelResult{Text: "ok"}, nil
	}
	inHouse(t, func(t *testing.T, h *house) {
		h.models.next(quietModel)
		s := h.send(msg.Send{Text: "1"})
		h.wait(time.Second)
		if u := h.last("usage"); u["prompt_tokens"] != 0.0 || u["completion_tokens"] != 0.0 || u["context_length"] == nil {
			t.Fatalf("%v", u)
		}
		h.models.window = 0
		h.send(msg.Send{Session: s.Session, Text: "2"})
		h.wait(time.Second)
		if h.count("usage") != 1 {
			t.Fatal(h.kinds())
		}
	})
}

// what kept a model from being used has its code.
func TestErrorCodes(t *testing.T) {
	for fault, code := range map[msg.ModelFault]any{msg.FaultLocalOnly: "local_only", msg.FaultBudget: "budget_reached", msg.FaultRate: nil} {
		inHouse(t, func(t *testing.T, h *house) {
			h.models.next(fails(fault, "No."))
			h.send(msg.Send{Text: "x"})
			h.wait(time.Second)
			if e := h.last("error"); e["code"] != code {
				t.Errorf("%s: %v", fault, e)
			}
		})
	}
}

// a tool's own rule beats its app's; a change counts at once, also for a call that is being
// asked about; what is never used is not even offered, and mode off does not lift it.
func TestRulesHoldAtOnce(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		rules := func(m map[string]string) {
			next := h.cfg.Clone()
			next.Tools.Approvals.Rules = m
			h.cfg = next
		}
		rules(map[string]string{"mail": "never", "mail_send": "allow"})
		h.models.next(calls(toolCall("c1", "mail_send", "{}"), toolCall("c2", "mail_read", "{}")), say("ok"), calls(toolCall("c3", "mail_send", "{}")), say("ok"))
		s := h.send(msg.Send{Text: "1"})
		h.wait(5 * time.Second)
		if got := strings.Join(*h.ran, ","); got != "mail_send begins,mail_send done" || h.count("approval_request") != 0 {
			t.Fatal(got)
		}
		for _, tool := range h.models.asked()[0].Tools {
			if tool.Name == "mail_read" {
				t.Fatal("a tool that is never used was offered")
			}
		}
		rules(map[string]string{"mail_send": "ask"})
		h.send(msg.Send{Session: s.Session, Text: "2"})
		h.wait(time.Second)
		id := h.last("approval_request")["approval_id"].(string)
		rules(map[string]string{"mail": "never"})
		h.cfg.Tools.Approvals.Mode = "off"
		h.chats.Answer(t.Context(), id, "allow", "")
		h.wait(3 * time.Second)
		if e := h.last("tool_result")["result"].(map[string]any)["error"]; len(*h.ran) != 2 || !strings.HasPrefix(e.(string), "You've set Sentient to never use Mail.") {
			t.Fatal(e, *h.ran)
		}
	})
}

// a call that is handed over does not run; its result says so and shows what was prepared.
func TestHandOff(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.cfg.Tools.Approvals.Mode = "off"
		h.cfg.Tools.Approvals.Rules = map[string]string{"mail": "hand_off"}
		h.models.next(calls(toolCall("c1", "mail_send", `{"to":"sam@example.com"}`)), say("It is ready for you."))
		h.send(msg.Send{Text: "send"})
		h.wait(3 * time.Second)
		r := h.last("tool_result")
		res := r["result"].(map[string]any)
		if r["is_error"] != false || res["handed_off"] != true || len(*h.ran) != 0 || !strings.HasPrefix(res["message"].(string), "NOT DONE by Sentient: ") || res["details"] != nil {
			t.Fatalf("%v", r)
		}
		p := res["preview"].(map[string]any)
		if f := p["fields"].([]any)[0].(map[string]any); p["kind"] != "email" || f["label"] != "To" || f["value"] != "sam@example.com" {
			t.Fatalf("%v", p)
		}
	})
}

// allowed once is once.
func TestAllowOnce(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.models.next(calls(toolCall("c1", "mail_send", "{}"), toolCall("c2", "mail_send", "{}")), say("ok"))
		h.send(msg.Send{Text: "send"})
		h.wait(time.Second)
		h.chats.Answer(t.Context(), h.last("approval_request")["approval_id"].(string), "allow", "")
		h.wait(2 * time.Second)
		if h.count("approval_request") != 2 {
			t.Fatal(h.kinds())
		}
	})
}

// the list of chats, newest first.
func TestList(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		a := h.send(msg.Send{Text: "first"})
		h.wait(time.Second)
		b := h.send(msg.Send{Text: "second"})
		h.wait(time.Second)
		if l, _ := h.chats.List(10); len(l) != 2 || l[0].ID != b.Session || l[0].Channel != "desktop" || l[0].NodeID != nil || l[0].VisitedHosts == nil {
			t.Fatalf("%+v", l)
		}
		h.send(msg.Send{Session: a.Session, Text: "again"})
		h.wait(time.Second)
		if l, _ := h.chats.List(1); len(l) != 1 || l[0].ID != a.Session || l[0].UpdatedAt.Before(l[0].CreatedAt.Time) {
			t.Fatalf("%+v", l)
		}
		if err := h.chats.Create(t.Context(), msg.NewChat{Session: "01ARZ3NDEKTSV4RRFFQ69G5FAV", MemoryScope: "work"}); err != nil {
			t.Fatal(err)
		}
		if l, _ := h.chats.List(1); l[0].Untrusted != nil || l[0].VisitedHosts != nil || l[0].MemoryScope != "work" {
			t.Fatalf("%+v", l[0])
		}
	})
}

// the chat's model is kept in the chat alone; the default's change moves only chats without one.
func TestTheChatsModel(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.cfg.Models.Roles.Primary = "p/one"
		s := h.send(msg.Send{Text: "1", Model: "m/once"})
		h.wait(time.Second)
		if l, _ := h.chats.List(1); l[0].Model != nil {
			t.Fatal("a message's model changed the chat's")
		}
		set := func(m string) { h.chats.Patch(t.Context(), s.Session, msg.ChatPatch{Model: &m}) }
		next := func() string {
			h.send(msg.Send{Session: s.Session, Text: "x"})
			h.wait(time.Second)
			r := h.models.asked()
			return r[len(r)-1].Model
		}
		set("p/one")
		h.models.missing = map[string]string{"p/one": "gone"} // as the chat's own model it would give a notice
		if got := next(); got != "p/one" || h.count("notice") != 0 {
			t.Fatal(got, h.kinds())
		}
		set("x/own")
		h.cfg.Models.Roles.Primary = "p/two"
		if got := next(); got != "x/own" {
			t.Fatal(got)
		}
		set("")
		if got := next(); got != "p/two" {
			t.Fatal(got)
		}
	})
}

// a steer runs with the model of the reply it joins; one that became a turn resolves it anew.
func TestTheModelOfASteer(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.cfg.Models.Roles.Primary = "p/one"
		h.cfg.Models.MaxToolRounds = 1
		h.models.next(calls(toolCall("c1", "look", "{}")), say("x"))
		s := h.send(msg.Send{Text: "1", Model: "m/strict"})
		h.wait(500 * time.Millisecond)
		h.send(msg.Send{Session: s.Session, Text: "late"}) // the one round is used up: it becomes a turn
		h.wait(5 * time.Second)
		var used []string
		for _, r := range h.models.asked() {
			used = append(used, r.Model)
		}
		if got := strings.Join(used, " "); got != "m/strict p/one" || h.count("done") != 2 {
			t.Fatal(got, h.kinds())
		}
	})
}

// a picture goes to the vision role when there is one; what is attached is named as /api/files named it.
func TestPictures(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		vision := "v/eyes"
		h.cfg.Models.Roles.Primary, h.cfg.Models.Roles.Vision = "p/one", &vision
		h.files.attach["cat.png"] = Attachment{Image: []byte{1, 2}, MIME: "image/png"}
		s := h.send(msg.Send{Text: "what is it?", Attachments: []string{"cat.png"}})
		h.wait(time.Second)
		h.send(msg.Send{Session: s.Session, Text: "and now?"})
		h.wait(time.Second)
		r := h.models.asked()
		if r[0].Model != "v/eyes" || r[1].Model != "p/one" || len(r[0].Messages[0].Parts) != 4 || r[0].Messages[0].Parts[2].MIME != "image/png" {
			t.Fatalf("%s %s %+v", r[0].Model, r[1].Model, r[0].Messages[0].Parts)
		}
		if rows := h.rows(s.Session); len(rows[0].Attachments) != 1 || rows[0].Attachments[0] != "cat.png" {
			t.Fatalf("%+v", rows[0])
		}
	})
}

// only screens and selections mark the chat, before the first model call.
func TestWhatAttachmentsMark(t *testing.T) {
	for name, mark := range map[string]string{"screens/s.png": "your screen", "selections/n.txt": "another app", "plan.txt": ""} {
		inHouse(t, func(t *testing.T, h *house) {
			h.files.attach[name] = Attachment{Text: "x"}
			marked := "?"
			h.models.next(func(context.Context, msg.ModelRequest, func(msg.ModelChunk) error) (msg.ModelResult, error) {
				l, _ := h.chats.List(1)
				marked = *l[0].Untrusted
				return msg.ModelResult{Text: "ok"}, nil
			})
			h.send(msg.Send{Text: "see", Attachments: []string{name}})
			h.wait(time.Second)
			if marked != mark {
				t.Errorf("%s: %q", name, marked)
			}
		})
	}
}

// a capture that another chat has too stays until that one goes.
func TestSharedCaptures(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		a := h.send(msg.Send{Text: "1", Attachments: []string{"screens/s.png", "plan.txt"}})
		b := h.send(msg.Send{Text: "2", Attachments: []string{"screens/s.png"}})
		h.wait(time.Second)
		h.chats.Delete(t.Context(), a.Session)
		h.wait(time.Second)
		if len(h.files.deleted) != 0 {
			t.Fatal(h.files.deleted)
		}
		h.chats.Delete(t.Context(), b.Session)
		h.wait(time.Second)
		if len(h.files.deleted) != 1 || h.files.deleted[0] != "screens/s.png" {
			t.Fatal(h.files.deleted)
		}
	})
}

// a chat that the person deleted says no reason. A-246: an event row never reaches a model.
func TestEventRowsStayOut(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.models.next(calls(toolCall("c1", "mail_read", "{}")), say("ok"))
		s := h.send(msg.Send{Text: "read"})
		h.wait(3 * time.Second)
		h.chats.Trust(t.Context(), s.Session, "")
		h.send(msg.Send{Session: s.Session, Text: "go on"})
		h.wait(time.Second)
		r := h.models.asked()
		for _, m := range r[len(r)-1].Messages {
			for _, p := range m.Parts {
				if strings.Contains(p.Text, `"event"`) {
					t.Fatalf("%+v", m)
				}
			}
		}
		roles := map[string]bool{}
		for _, row := range h.rows(s.Session) {
			roles[row.Role] = true
		}
		if !roles["event"] || !roles["user"] || !roles["assistant"] || !roles["tool"] {
			t.Fatal(roles)
		}
		h.chats.Delete(t.Context(), s.Session)
		h.wait(time.Second)
		if d := h.last("session.deleted")["data"].(map[string]any); d["reason"] != nil {
			t.Fatalf("%v", d)
		}
	})
}

// progress of an unknown kind becomes status.
func TestProgressKinds(t *testing.T) {
	for in, want := range map[string]string{"stdout": "stdout", "frame": "frame", "subagent": "subagent", "party": "status", "": "status"} {
		if got := knownKind(msg.ToolProgress{Kind: in}).Kind; got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
	inHouse(t, func(t *testing.T, h *house) {
		h.models.next(calls(toolCall("c1", "look", "{}")), say("ok"))
		h.send(msg.Send{Text: "x"})
		h.wait(3 * time.Second)
		if p := h.last("tool_progress"); p["call_id"] != "c1" || p["name"] != "look" || p["kind"] != "stdout" || p["text"] != "working" {
			t.Fatalf("%v", p)
		}
	})
}

// A chat whose disk is full refuses with a plain sentence, keeps what it had, and goes on when there is room.
func TestFullDisk(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		s := h.send(msg.Send{Text: "1"})
		h.wait(time.Second)
		h.store.SetFull(true)
		_, err := h.chats.Send(t.Context(), msg.Send{Session: s.Session, Text: "2"})
		if f, ok := msg.AsFault(err); !ok || f.Kind != msg.Full {
			t.Fatal(err)
		}
		h.store.SetFull(false)
		h.send(msg.Send{Session: s.Session, Text: "3"})
		h.wait(time.Second)
		if got := h.transcript(s.Session); got != "user: 1\nassistant: Hello there.\nuser: 3\nassistant: Hello there.\n" {
			t.Fatal(got)
		}
		// It fills up in the middle of a reply: who listens hears an end, and the reply is settled when there is room again.
		h.models.next(say("one two three four five six seven eight"))
		h.send(msg.Send{Session: s.Session, Text: "4"})
		h.wait(50 * time.Millisecond)
		h.store.SetFull(true)
		h.wait(time.Second)
		if d := h.last("done"); d["error"] == nil {
			t.Fatalf("%v %s %s", d, h.kinds(), h.transcript(s.Session))
		}
		told := h.kinds()
		h.store.SetFull(false)
		h.wait(time.Minute)
		if got := h.transcript(s.Session); !strings.HasSuffix(got, "(interrupted)\n") {
			t.Fatal(got)
		}
		if got := h.kinds(); strings.Count(got, "done") != strings.Count(told, "done") {
			t.Fatalf("the end was told twice: %s", got)
		}
		h.models.next(say("fine"))
		h.send(msg.Send{Session: s.Session, Text: "5"})
		h.wait(time.Second)
		if got := h.transcript(s.Session); !strings.HasSuffix(got, "user: 5\nassistant: fine\n") {
			t.Fatal(got)
		}
	})
}

// What the engine says itself after results comes after them.
func TestTheEnginesOwnWordsComeLast(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.cfg.Models.MaxToolRounds = 1
		h.models.next(calls(toolCall("c1", "look", "{}")))
		h.send(msg.Send{Text: "go"})
		h.wait(3 * time.Second)
		if got := h.kinds(); got != "session usage tool_call tool_progress tool_result text_delta done" {
			t.Fatal(got)
		}
	})
}
