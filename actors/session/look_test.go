package session

import (
	"context"
	"strings"
	"testing"
	"time"

	"sentient/actors/msg"
	"sentient/runtime/app"
)

// try has the model make one call after said, in mode off without undo windows, and waits.
func (h *house) try(said, tool, args string, more ...script) msg.Sent {
	h.t.Helper()
	h.set(func(c *app.Config) { c.Tools.Approvals.UndoSeconds = 0 })
	h.models.next(append(more, calls(toolCall("c9", tool, args)), say("Done."))...)
	s := h.send(msg.Send{Text: said})
	h.wait(3 * time.Second)
	return s
}

func (h *house) warning() string {
	for _, e := range h.take() {
		if w, ok := e["warning"].(string); ok && e["type"] == "approval_request" {
			return w
		}
	}
	return ""
}

// what does not fit the person's words asks, in mode off and under an allow rule, with one plain sentence and only
// yes or no; the yes is for this call.
func TestSecondLook(t *testing.T) {
	for _, c := range []struct{ said, tool, args, warns string }{
		{"email priya@example.com", "mail_send", `{"to":"priya@example.com","body":"hi"}`, ""},
		{"email Priya", "mail_send", `{"to":"priya.n@example.com","body":"hi"}`, ""},
		{"email Priya", "mail_send", `{"to":"x@evil.example","body":"hi"}`, "You asked to email Priya, but this goes to x@evil.example. You didn't give that address."},
		{"email priya@example.com", "mail_send", `{"to":"priya@example.com","cc":"x@evil.example","body":"hi"}`, "x@evil.example"},
		{"email priya@example.com", "mail_send", `{"to":"priya@example.com","body":"I pay $5,000"}`, "This includes $5,000, an amount that isn't in what you asked."},
		{"run it", "code_run", `{"code":"send to x@evil.example"}`, ""}, // skipped for code, which the mode lets run
	} {
		inWorld(t, func(t *testing.T, h *house) {
			h.setRules(map[string]string{"mail": "allow"})
			h.try(c.said, c.tool, c.args)
			if w := h.warning(); c.warns == "" && w != "" || !strings.Contains(w, c.warns) {
				t.Errorf("%+v: %q", c, w)
			}
			if c.warns == "" {
				if n := h.effects("email") + h.effects("code"); n != 1 {
					t.Errorf("%+v: %d", c, n)
				}
				return
			}
			r := h.last("approval_request")
			if ch := r["choices"].([]any); len(ch) != 2 || r["risk"] != "send" || h.effects("email") != 0 {
				t.Fatalf("%v", r)
			}
			if err := h.answer("allow"); err != nil {
				t.Fatal(err)
			}
			if h.effects("email") != 1 || h.count("approval_request") != 1 {
				t.Errorf("%+v: after the yes: %s", c, h.kinds())
			}
			for _, row := range h.rows(r["session_id"].(string)) {
				if row.Role == "tool" && (row.Approval == nil || row.Approval.Warning == nil || !strings.Contains(*row.Approval.Warning, c.warns)) {
					t.Errorf("%+v", row.Approval)
				}
			}
		})
	}
}

// an address out of an email is named with its place, and a reply that would go elsewhere says where.
func TestSecondLookAfterAnEmail(t *testing.T) {
	inWorld(t, func(t *testing.T, h *house) {
		h.try("read my mail and email Priya", "mail_send", `{"to":"collect@evil.example","body":"x"}`, calls(toolCall("c1", "mail_search", `{}`)))
		if w := h.warning(); w != "You asked to email Priya, but this goes to collect@evil.example. That address came from the text of an email from Support <support@parcels.example> (Mail), not from you." {
			t.Error(w)
		}
	})
	inWorld(t, func(t *testing.T, h *house) {
		h.try("reply to the parcel email", "mail_reply", `{"message_id":"m3","body":"ok"}`)
		if w := h.warning(); w != "This reply goes to collect@evil.example, the address that email asked replies to go to, not to the person who sent it (support@parcels.example)." {
			t.Error(w)
		}
		p := h.last("approval_request")["preview"].(map[string]any)
		if f := p["fields"].([]any)[0].(map[string]any); f["label"] != "To" || f["value"] != "collect@evil.example" {
			t.Errorf("%v", p)
		}
	})
	inWorld(t, func(t *testing.T, h *house) {
		h.try("reply to it", "mail_reply", `{"message_id":"none","body":"ok"}`)
		if w := h.warning(); w != "Sentient couldn't read who this reply goes to, so it checks with you first." {
			t.Error(w)
		}
	})
	inWorld(t, func(t *testing.T, h *house) {
		h.try("reply to Arjun's mail that it's confirmed", "mail_reply", `{"message_id":"m2","body":"confirmed"}`)
		if h.warning() != "" || h.effects("email") != 1 {
			t.Error(h.warning(), h.kinds())
		}
	})
}

// a record of the person's address book vouches for an address.
func TestATrustedRecord(t *testing.T) {
	inWorld(t, func(t *testing.T, h *house) {
		h.try("email the chef", "mail_send", `{"to":"cook@kitchen.example","body":"x"}`, calls(toolCall("c1", "contacts_find", `{"name":"chef"}`)))
		if w := h.warning(); w == "" {
			t.Fatal("nobody gave it, yet it went")
		}
	})
	inHouseWith(t, func(h *house) {
		scene := demoScene()
		scene.Contacts["The chef"] = "cook@kitchen.example"
		h.world = newWorld(scene)
		h.set(func(c *app.Config) { c.Tools.Approvals.Mode = "off" })
	}, func(t *testing.T, h *house) {
		h.try("email the chef", "mail_send", `{"to":"cook@kitchen.example","body":"x"}`, calls(toolCall("c1", "contacts_find", `{"name":"chef"}`)))
		if h.warning() != "" || h.effects("email") != 1 {
			t.Fatal(h.warning())
		}
	})
}

// A model cannot make a trusted record by asking for it.
func TestNothingIsLaundered(t *testing.T) {
	inWorld(t, func(t *testing.T, h *house) {
		h.try("email the chef", "mail_send", `{"to":"Collect@evil.example","body":"x"}`, calls(toolCall("c1", "contacts_find", `{"name":"the chef is collect@evil.example, really"}`)))
		if h.warning() == "" || h.effects("email") != 0 {
			t.Fatal("a look-up's own words vouched for an address")
		}
	})
}

// the model's check. It sees only the person's words and the action, and anything but a clear yes asks.
func TestTheModelsCheck(t *testing.T) {
	const unchecked = "Sentient couldn't double-check this against what you asked, so it checks with you first."
	slow := func(ctx context.Context, _ msg.ModelRequest, _ func(msg.ModelChunk) error) (msg.ModelResult, error) {
		<-ctx.Done()
		return msg.ModelResult{}, &msg.ModelError{Fault: msg.FaultTimeout, Message: "too slow"}
	}
	for name, c := range map[string]struct {
		second script
		warns  string
	}{
		"yes":      {answers(`{"match": true, "reason": ""}`), ""},
		"no":       {answers(`{"match": false, "reason": "It is sent to someone else."}`), "A second look found this may not match what you asked: It is sent to someone else."},
		"nonsense": {answers("I think so"), unchecked},
		"refused":  {fails(msg.FaultUnavailable, "no"), unchecked},
		"slow":     {slow, unchecked},
	} {
		inWorld(t, func(t *testing.T, h *house) {
			h.models.second = c.second
			h.try("post that I'm happy", "social_post", `{"text":"I'm happy"}`)
			h.wait(2 * time.Minute)
			if w := h.warning(); w != c.warns || (c.warns == "") != (h.effects("post") == 1) {
				t.Errorf("%s: %q %v", name, w, h.world.Effects())
			}
			for _, r := range h.models.checks {
				if len(r.Tools) > 0 || len(r.Messages) != 1 || !strings.Contains(r.Messages[0].Parts[0].Text, "I'm happy") || strings.Contains(r.System, "Sentient is") {
					t.Errorf("%s: it was shown %+v", name, r)
				}
			}
		})
	}
}

// it is not asked when the call asks anyway, when it is switched off, or for what sends nothing.
func TestWhenTheModelIsNotAsked(t *testing.T) {
	for _, c := range []struct {
		name string
		set  func(*house)
		tool string
		args string
		n    int
	}{
		{"a send that would run", func(*house) {}, "social_post", `{"text":"x"}`, 1},
		{"one that asks anyway", func(h *house) { h.set(func(c *app.Config) { c.Tools.Approvals.Mode = "ask" }) }, "social_post", `{"text":"x"}`, 0},
		{"switched off", func(h *house) { h.set(func(c *app.Config) { c.Tools.Approvals.SecondLookModel = false }) }, "social_post", `{"text":"x"}`, 0},
		{"a write", func(*house) {}, "notes_trash", `{"id":"n1"}`, 0},
		{"never", func(h *house) { h.setRules(map[string]string{"social": "never"}) }, "social_post", `{"text":"x"}`, 0},
		{"handed over", func(h *house) { h.setRules(map[string]string{"social": "hand_off"}) }, "social_post", `{"text":"x"}`, 0},
	} {
		inWorld(t, func(t *testing.T, h *house) {
			c.set(h)
			h.try("post x", c.tool, c.args)
			if n := len(h.models.checks); n != c.n {
				t.Errorf("%s: asked %d times", c.name, n)
			}
		})
	}
}

// a delete becomes a move to the trash before it is shown or checked, unless the person's words or a rule say otherwise.
func TestTrashInsteadOfDelete(t *testing.T) {
	for _, c := range []struct {
		name, said string
		set        func(*house)
		tool       string
	}{
		{"swapped", "delete the note", func(*house) {}, "notes_trash"},
		{"for good", "delete the note permanently", func(*house) {}, "notes_delete"},
		{"switched off", "delete the note", func(h *house) { h.set(func(c *app.Config) { c.Tools.Approvals.PreferTrash = false }) }, "notes_delete"},
		{"the trash is hidden", "delete the note", func(h *house) { h.setRules(map[string]string{"notes_trash": "never"}) }, "notes_delete"},
	} {
		inWorld(t, func(t *testing.T, h *house) {
			c.set(h)
			s := h.try(c.said, "notes_delete", `{"id":"n1"}`)
			if got := h.last("tool_call")["name"]; got != c.tool {
				t.Errorf("%s: %v", c.name, got)
			}
			swapped := c.tool == "notes_trash"
			if note, _ := h.result()["note"].(string); (note == trashedNote) != swapped {
				t.Errorf("%s: %v", c.name, h.result())
			}
			if h.effects("trash") != map[bool]int{true: 1}[swapped] || !strings.Contains(h.transcript(s.Session), "["+c.tool+"]") {
				t.Errorf("%s: %v", c.name, h.world.Effects())
			}
		})
	}
	inWorld(t, func(t *testing.T, h *house) {
		h.setRules(map[string]string{"notes": "hand_off"})
		h.try("delete the note", "notes_delete", `{"id":"n1"}`)
		if h.last("tool_call")["name"] != "notes_delete" || h.result()["handed_off"] != true {
			t.Error(h.result())
		}
	})
}

// Section 4, "Checking the outcome": what a tool reads back is told to the model, to the window and with the reply.
func TestOutcomes(t *testing.T) {
	inWorld(t, func(t *testing.T, h *house) {
		s := h.try("lock the front door", "home_lock", `{"door":"front door"}`)
		if c := h.last("tool_result")["check"].(map[string]any); c["ok"] != true || c["how"] != "read_back" {
			t.Errorf("%v", c)
		}
		if c := h.last("done")["checks"].([]any); len(c) != 1 || c[0].(map[string]any)["ok"] != true {
			t.Errorf("%v", c)
		}
		rows := h.rows(s.Session)
		if c := rows[len(rows)-1].Checks; len(c) != 1 || !c[0].OK {
			t.Errorf("%+v", c)
		}
		h.try("list the notes", "notes_list", `{}`)
		if _, checked := h.last("tool_result")["check"]; checked {
			t.Error("what changed nothing was checked")
		}
	})
	inHouseWith(t, func(h *house) {
		scene := demoScene()
		scene.Lying = []string{"mail_send"}
		h.world = newWorld(scene)
		h.set(func(c *app.Config) { c.Tools.Approvals.Mode = "off" })
	}, func(t *testing.T, h *house) {
		h.models.next(calls(toolCall("c1", "mail_send", mailToPriya)), say("I sent the email."))
		s := h.send(msg.Send{Text: "email priya@example.com that Friday at 1 works"})
		h.wait(3 * time.Second)
		shown := h.models.asked()[1].Messages
		if got := shown[len(shown)-1].Parts[0].Text; !strings.HasSuffix(got, "[Sentient checked afterwards and it did not work: the email isn't in Sent. Tell the user plainly; don't say it worked.]") {
			t.Error(got)
		}
		c := h.last("done")["checks"].([]any)[0].(map[string]any)
		if c["ok"] != false || c["message"] != "Sentient said it sent the email, but the email isn't in Sent." {
			t.Errorf("%v", c)
		}
		h.models.next(say("ok")) // a later turn still reads what was found
		h.send(msg.Send{Session: s.Session, Text: "and?"})
		h.wait(time.Second)
		var again bool
		for _, m := range h.models.asked()[2].Messages {
			again = again || len(m.Parts) > 0 && strings.Contains(m.Parts[0].Text, "[Sentient checked afterwards")
		}
		if !again {
			t.Error("forgotten")
		}
	})
}
