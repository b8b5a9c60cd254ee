package session

import (
	"strings"
	"testing"
	"time"

	"sentient/actors/msg"
	"sentient/runtime/app"
	"sentient/storage/table"
	"sentient/transport/pretend"
)

// inWorld is a house with the pretend world, in approvals mode off and with undo windows.
func inWorld(t *testing.T, fn func(*testing.T, *house)) {
	t.Helper()
	inHouseWith(t, func(h *house) {
		h.world = pretend.New(pretend.Demo(), "")
		h.set(func(c *app.Config) { c.Tools.Approvals.Mode = "off" })
		h.set(func(c *app.Config) { c.Tools.Approvals.UndoSeconds = 10 })
	}, fn)
}

const mailToPriya = `{"to":"priya@example.com","subject":"Lunch","body":"Friday at 1 works."}`

func (h *house) effects(kind string) (n int) {
	for _, e := range h.world.Effects() {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

func (h *house) result() map[string]any {
	h.t.Helper()
	return h.last("tool_result")["result"].(map[string]any)
}

// sendMail has the model send an email, and waits until its window is open.
func (h *house) sendMail() (session, undo string) {
	h.t.Helper()
	h.models.next(calls(toolCall("c1", "mail_send", mailToPriya)), say("Done."))
	s := h.send(msg.Send{Text: "Email priya@example.com that Friday at 1 works"})
	h.wait(time.Second)
	w := h.last("undo_window")
	if w["call_id"] != "c1" || w["name"] != "mail_send" || w["seconds"] != 10.0 {
		h.t.Fatalf("%v", w)
	}
	// until lies the seconds after it opened, which was within the second waited above.
	until, err := time.Parse(time.RFC3339, w["until"].(string))
	if left := time.Until(until); err != nil || left > 10*time.Second || left < 9*time.Second {
		h.t.Fatal(w["until"], left, err)
	}
	if h.effects("email") != 0 {
		h.t.Fatal("it was sent at once")
	}
	return s.Session, w["undo_id"].(string)
}

// an email waits, then goes; its result follows when the window ends.
func TestUndoWindowRunsOut(t *testing.T) {
	inWorld(t, func(t *testing.T, h *house) {
		_, undo := h.sendMail()
		h.wait(8 * time.Second)
		if h.effects("email") != 0 || h.count("tool_result") != 0 {
			t.Fatal("too early")
		}
		h.wait(3 * time.Second)
		if h.effects("email") != 1 || h.result()["ok"] != true || h.last("done")["content"] != "Done." {
			t.Fatal(h.world.Effects(), h.kinds())
		}
		if ok, err := h.chats.Undo(t.Context(), undo, "undo"); ok || err != nil {
			t.Fatal("a late undo", ok, err)
		}
	})
}

// Undo means it never runs, and the model reads so.
func TestUndoInTime(t *testing.T) {
	inWorld(t, func(t *testing.T, h *house) {
		session, undo := h.sendMail()
		if _, err := h.chats.Undo(t.Context(), undo, "redo"); err == nil {
			t.Fatal("an unknown action was taken")
		}
		if ok, err := h.chats.Undo(t.Context(), undo, "undo"); !ok || err != nil {
			t.Fatal(ok, err)
		}
		h.wait(time.Minute)
		//
		if r := h.result(); r["undone"] != true || !strings.HasPrefix(r["error"].(string), "NOT SENT. The user pressed Undo") || h.effects("email") != 0 {
			t.Fatal(r, h.world.Effects())
		}
		if got := h.transcript(session); !strings.Contains(got, "NOT SENT") || !strings.HasSuffix(got, "assistant: Done.\n") {
			t.Fatal(got)
		}
		if ok, _ := h.chats.Undo(t.Context(), undo, "send_now"); ok {
			t.Fatal("it was sent after it was undone")
		}
	})
}

// Send now ends the window early.
func TestSendNow(t *testing.T) {
	inWorld(t, func(t *testing.T, h *house) {
		_, undo := h.sendMail()
		if ok, _ := h.chats.Undo(t.Context(), undo, "send_now"); !ok {
			t.Fatal("not taken")
		}
		h.wait(time.Second)
		if h.effects("email") != 1 {
			t.Fatal(h.kinds())
		}
		h.wait(time.Minute)
		if h.effects("email") != 1 {
			t.Fatal("it went twice")
		}
	})
}

// stopping the reply during the window means it is not sent; deleting the chat too.
func TestStopAndDeleteInTheWindow(t *testing.T) {
	inWorld(t, func(t *testing.T, h *house) {
		session, undo := h.sendMail()
		if _, err := h.chats.Cancel(t.Context(), session); err != nil {
			t.Fatal(err)
		}
		h.wait(time.Minute)
		if ok, _ := h.chats.Undo(t.Context(), undo, "send_now"); ok || h.effects("email") != 0 || h.last("done")["cancelled"] != true {
			t.Fatal(h.kinds())
		}
		session, undo = h.sendMail()
		if err := h.chats.Delete(t.Context(), session); err != nil {
			t.Fatal(err)
		}
		h.wait(time.Minute)
		if ok, _ := h.chats.Undo(t.Context(), undo, "send_now"); ok || h.effects("email") != 0 {
			t.Fatal("it was sent from a deleted chat")
		}
		r, _ := h.j.Read()
		defer r.Close()
		for row, err := range h.chats.Tables().Undos.Scan(r, table.Query{}) {
			t.Fatal(row, err)
		}
	})
}

// The engine's end in the window: nothing was sent, nothing is sent later, and the transcript says so.
func TestKillInTheWindow(t *testing.T) {
	inWorld(t, func(t *testing.T, h *house) {
		session, undo := h.sendMail()
		h.restart()
		h.wait(time.Minute)
		if ok, _ := h.chats.Undo(t.Context(), undo, "send_now"); ok || h.effects("email") != 0 {
			t.Fatal("it was sent after the end")
		}
		if got := h.transcript(session); !strings.Contains(got, "Not done: Sentient stopped before this finished.") || strings.Contains(got, "not known") {
			t.Fatal(got)
		}
	})
}

// the rules are read again when the window ends, also after Send now.
func TestRulesAtTheEndOfTheWindow(t *testing.T) {
	for _, c := range []struct{ rule, want string }{
		{"never", "You've set Sentient to never use"}, {"hand_off", "handed over"}, {"ask", "asks"}, {"if_asked", "goes"}, {"allow", "goes"}} {
		for _, now := range []bool{false, true} {
			inWorld(t, func(t *testing.T, h *house) {
				_, undo := h.sendMail()
				h.setRules(map[string]string{"mail": c.rule})
				if now {
					h.chats.Undo(t.Context(), undo, "send_now")
				}
				h.wait(15 * time.Second)
				switch c.want {
				case "goes":
					if h.effects("email") != 1 {
						t.Errorf("%v: %s", c, h.kinds())
					}
					return
				case "asks":
					if h.count("approval_request") != 1 || h.effects("email") != 0 {
						t.Errorf("%v: %s", c, h.kinds())
					}
					h.chats.Answer(t.Context(), h.last("approval_request")["approval_id"].(string), "allow", "")
					h.wait(time.Second)
					if h.effects("email") != 1 || h.count("undo_window") != 1 {
						t.Errorf("%v: a yes waited again: %s", c, h.kinds())
					}
					return
				case "handed over":
					if h.result()["handed_off"] != true {
						t.Errorf("%v: %v", c, h.result())
					}
				default:
					if e, _ := h.result()["error"].(string); !strings.HasPrefix(e, c.want) {
						t.Errorf("%v: %v", c, h.result())
					}
				}
				if h.effects("email") != 0 {
					t.Errorf("%v was sent", c)
				}
			})
		}
	}
}

// a yes already given to the call is not asked again, whatever became of the rule.
func TestAYesBeforeTheWindow(t *testing.T) {
	inWorld(t, func(t *testing.T, h *house) {
		h.set(func(c *app.Config) { c.Tools.Approvals.Mode = "ask" })
		h.models.next(calls(toolCall("c1", "mail_send", mailToPriya)), say("Done."))
		h.send(msg.Send{Text: "Email priya@example.com that Friday at 1 works"})
		h.wait(time.Second)
		h.chats.Answer(t.Context(), h.last("approval_request")["approval_id"].(string), "allow", "")
		h.wait(time.Second)
		h.setRules(map[string]string{"mail": "ask"})
		h.wait(15 * time.Second)
		if h.count("approval_request") != 1 || h.count("undo_window") != 1 || h.effects("email") != 1 {
			t.Fatal(h.kinds())
		}
	})
}

// purchases and doors never wait, nor a chat that nobody can press Undo in; 0 turns it off.
func TestWhatNeverWaits(t *testing.T) {
	for _, c := range []struct {
		tool, args, channel string
		seconds             int
		waits               bool
	}{
		{"mail_send", mailToPriya, "desktop", 10, true}, {"mail_send", mailToPriya, "telegram", 10, true}, {"social_post", `{"text":"hi"}`, "whatsapp", 10, true},
		{"mail_send", mailToPriya, "desktop", 0, false}, {"mail_send", mailToPriya, "voice", 10, false}, {"mail_send", mailToPriya, "phone", 10, false},
		{"shop_buy", `{"item":"bread","amount":"$20"}`, "desktop", 10, false}, {"home_unlock", `{"door":"front door"}`, "desktop", 10, false},
		{"code_run", `{"code":"1"}`, "desktop", 10, false}, {"mail_trash", `{"id":"m1"}`, "desktop", 10, false},
	} {
		inWorld(t, func(t *testing.T, h *house) {
			h.set(func(cfg *app.Config) { cfg.Tools.Approvals.UndoSeconds = c.seconds })
			h.models.next(calls(toolCall("c1", c.tool, c.args)), say("Done."))
			h.send(msg.Send{Text: "Do it: email priya@example.com, buy bread for $20, unlock the front door", Channel: c.channel})
			h.wait(time.Second)
			if h.count("approval_request") == 1 {
				h.chats.Answer(t.Context(), h.last("approval_request")["approval_id"].(string), "allow", "")
				h.wait(time.Second)
			}
			if waits := h.count("undo_window") == 1; waits != c.waits {
				t.Errorf("%+v: %s", c, h.kinds())
			}
		})
	}
}

// A window that is seen again after a reconnect has the same id and end.
func TestAWindowIsShownAgain(t *testing.T) {
	inWorld(t, func(t *testing.T, h *house) {
		session, undo := h.sendMail()
		if err := h.chats.Watch(t.Context(), session, h.sub); err != nil {
			t.Fatal(err)
		}
		h.wait(0)
		if w := h.last("undo_window"); w["replay"] != true || w["undo_id"] != undo {
			t.Fatalf("%v", w)
		}
	})
}

func demoScene() pretend.Scene { return pretend.Demo() }

func newWorld(s pretend.Scene) *pretend.World { return pretend.New(s, "") }
