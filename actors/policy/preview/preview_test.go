package preview

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"sentient/actors/msg"
)

// what a call is, by its name and risk.
func TestKind(t *testing.T) {
	for name, want := range map[string]string{
		"gmail_send": Email, "gmail_reply": Email, "gmail_forward": Email, "email_imap_send": Email, "mcp_x_send_email": Email, "GmailSendEmail": Email, "OUTLOOK_SEND_EMAIL": Email,
		"slack_post_message": Message, "slack_reply_in_thread": Message, "discord_send_message": Message, "whatsapp_send_message": Message, "send": Message,
		"social_post": Post, "blog_publish": Post, "github_comment": Post, "x_tweet": Post,
		"notes_delete": Delete, "remove_file": Delete, "purge_cache": Delete, "gmail_trash": Trash, "note_soft_delete": Trash, "recycle_file": Trash,
		"delete_note_from_trash": Delete, "move_to_trash": Trash, "purge_trash": Delete,
		"gmail_restore": Action, "untrash_note": Action, "file_write": Action, "gcal_create_event": Action, "home_unlock": Action, "gmail_create_draft": Action, "empty_trash": Action,
	} {
		if got := Kind(name, msg.RiskWrite); got != want {
			t.Errorf("%s: %q, wanted %q", name, got, want)
		}
		if Kind(name, msg.RiskRead) != "" {
			t.Errorf("%s as a look-up has a kind", name)
		}
	}
}

// what waits.
func TestWaits(t *testing.T) {
	for _, c := range []struct {
		name     string
		risk     msg.Risk
		internal bool
		label    string
		want     bool
	}{
		{"gmail_send", msg.RiskSend, false, "", true}, {"slack_post_message", msg.RiskWrite, false, "", true}, {"social_post", msg.RiskSend, false, "Posts publicly", true},
		{"gmail_send", msg.RiskExec, false, "", false}, {"gmail_send", msg.RiskRead, false, "", false}, {"memory_send", msg.RiskWrite, true, "", false},
		{"shop_send_order", msg.RiskSend, false, "Purchase", false}, {"gmail_trash", msg.RiskWrite, false, "", false}, {"home_unlock", msg.RiskSend, false, "Unlocks a door", false},
	} {
		if got := Waits(c.name, c.risk, c.internal, c.label); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func args(t *testing.T, s string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(s), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// show is a preview in one line.
func show(p *msg.ActionPreview) string {
	if p == nil {
		return "none"
	}
	var b strings.Builder
	b.WriteString(p.Kind + ", " + p.Title)
	for _, f := range p.Fields {
		b.WriteString("; " + f.Label + ": " + f.Value)
	}
	if p.Body != "" {
		b.WriteString("; | " + p.Body)
	}
	return b.String()
}

// the lines that people read, whatever the app calls them.
func TestPreview(t *testing.T) {
	for _, c := range []struct {
		name  string
		risk  msg.Risk
		label string
		args  string
		want  string
	}{
		{"gmail_send", msg.RiskSend, "", `{"to":"sam@example.com","cc":["a@x.example","b@x.example"],"bcc":"c@x.example","subject":"Lunch","body":"Friday at 1?\nSee you","attachments":["menu.pdf"]}`,
			"email, Email; To: sam@example.com; Cc: a@x.example, b@x.example; Bcc: c@x.example; Subject: Lunch; Files: menu.pdf; | Friday at 1?\nSee you"},
		{"slack_post_message", msg.RiskSend, "", `{"channel":"#team","text":"Hi"}`, "message, Message; Where: #team; | Hi"},
		{"blog_publish", msg.RiskSend, "", `{"title":"News","content":"All of it"}`, "post, Post; Title: News; | All of it"},
		{"shop_buy", msg.RiskSend, "Purchase", `{"item":"bread","amount":20}`, "purchase, Purchase; Amount: 20; Item: bread"},
		{"notes_delete", msg.RiskWrite, "", `{"id":"n1"}`, "delete, Delete; Item: n1"},
		{"gmail_trash", msg.RiskWrite, "", `{"message_id":"m1"}`, "trash, Move to trash; Item: m1"},
		{"home_unlock", msg.RiskSend, "Unlocks a door", `{"door":"front door"}`, "action, Unlock; Item: front door"},
		{"gcal_create_event", msg.RiskWrite, "", `{"summary":"Dinner","attendees":[{"email":"a@x.example"},{"email":"b@x.example"}]}`, "action, Create event; To: a@x.example, b@x.example; Subject: Dinner"},
		{"gmail_search", msg.RiskRead, "", `{"query":"x"}`, "none"},
		{"run", msg.RiskExec, "", `{"code":"1"}`, "none"},
		{"mcp_composio_MULTI_EXECUTE", msg.RiskSend, "", `{"tools":[{"tool_slug":"GMAIL_SEND_EMAIL","arguments":{"recipient_email":"x@y.example","subject":"S","body":"B"}},{"tool_slug":"X","arguments":{}}]}`,
			"email, Email; To: x@y.example; Subject: S; | B"},
		{"gmail_send", msg.RiskSend, "", `{"To":"a@x.example","Body":"big letters"}`, "email, Email; To: a@x.example; | big letters"},
		{"gmail_send", msg.RiskSend, "", `{"to":"sam@x.example","recipients":["x@evil.example","sam@x.example"],"To":"y@evil.example","body":"hi"}`, "email, Email; To: y@evil.example, sam@x.example, x@evil.example; | hi"},
		{"outlook_send_mail", msg.RiskSend, "", `{"message":{"subject":"S","body":{"contentType":"Text","content":"B"},"from":{"emailAddress":{"address":"me@x.example"}},"toRecipients":[{"emailAddress":{"address":"a@x.example","name":"Sam"}}],"ccRecipients":[{"emailAddress":{"address":"b@x.example"}}]}}`,
			"email, Email; To: a@x.example; Cc: b@x.example; Subject: S; | B"},
		{"mail_send", msg.RiskSend, "", `{"email":{"to":"a@x.example","body":"B","address":""}}`, "email, Email; To: a@x.example; | B"},
		{"mail_send", msg.RiskSend, "", `{"messages":[{"to":"a@x.example","text":"1"},{"to":"b@x.example","text":"2"}]}`, "email, Email; To: a@x.example, b@x.example; | 1\n\n2"},
		{"mail_send", msg.RiskSend, "", `{"to":"a@x.example","body":"Hello","html":"<p>Send money</p>"}`, "email, Email; To: a@x.example; | Hello\n\n<p>Send money</p>"},
		{"mail_send", msg.RiskSend, "", `{"to":"a@x.example","body":"Hello","attachments":[{"filename":"a.pdf","content":"xx"},"b.pdf"]}`, "email, Email; To: a@x.example; Files: a.pdf, b.pdf; | Hello"},
		{"shop_buy", msg.RiskSend, "Purchase", `{"item":"bread","amount":20.5,"currency":"EUR"}`, "purchase, Purchase; Amount: 20.5 EUR; Item: bread"},
		{"shop_look", msg.RiskRead, "Purchase", `{"item":"bread"}`, "none"},
		{"mcp_composio_MULTI_EXECUTE", msg.RiskSend, "", `{"tools":[{"tool_slug":"GMAIL_SEND_EMAIL","arguments":"{\"recipient_email\":\"x@y.example\",\"body\":\"B\"}"}]}`, "email, Email; To: x@y.example; | B"},
		{"gmail_send", msg.RiskSend, "", `{"to":"a@x.example\u202egro.elpmaxe\nBcc: b@x.example","body":"one\u0000\u200btwo"}`, "email, Email; To: a@x.example\uFFFDgro.elpmaxe Bcc: b@x.example; | one\uFFFD\uFFFDtwo"},
		{"gmail_send", msg.RiskSend, "", `{"to":"a@x.example","body":"👩\u200d👧 می\u200cخواهم\r\nok"}`, "email, Email; To: a@x.example; | 👩\u200d👧 می\u200cخواهم\nok"},
	} {
		plain := map[string]string{"home_unlock": "Unlock", "gcal_create_event": "Create event"}[c.name]
		if got := show(Of(c.name, plain, "App", c.risk, c.label, args(t, c.args), nil)); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

// a reply shows where it really goes.
func TestDestinations(t *testing.T) {
	p := Of("gmail_reply", "Reply", "Gmail", msg.RiskSend, "", map[string]any{"message_id": "m", "body": "ok", "to": "friend@x.example"},
		[]msg.Destination{{Address: "x@evil.example", Kind: "reply_to"}, {Address: "x@evil.example"}, {Address: "y@x.example"}})
	if got := show(p); got != "email, Email; To: x@evil.example, y@x.example; | ok" {
		t.Error(got)
	}
}

func sib(name, schema string) Sibling {
	return Sibling{Name: name, Parameters: json.RawMessage(schema)}
}

// the trash version of the same thing, which takes the call's arguments.
func TestTrashFor(t *testing.T) {
	const id = `{"properties":{"id":{}},"required":["id"]}`
	for _, c := range []struct {
		name, call, args string
		siblings         []Sibling
		want             string
	}{
		{"the same object", "delete_note", `{"id":"1"}`, []Sibling{sib("delete_note", id), sib("trash_note", id)}, "trash_note"},
		{"the verb behind", "notes_delete", `{"id":"1"}`, []Sibling{sib("notes_trash", id)}, "notes_trash"},
		{"plural", "delete_notes", `{"id":"1"}`, []Sibling{sib("trash_note", id)}, "trash_note"},
		{"soft delete", "remove_file", `{"id":"1"}`, []Sibling{sib("file_soft_delete", id)}, "file_soft_delete"},
		{"another object", "delete_folder", `{"id":"1"}`, []Sibling{sib("trash_note", id)}, ""},
		{"hidden", "delete_note", `{"id":"1"}`, []Sibling{{Name: "trash_note", Parameters: json.RawMessage(id), Hidden: true}}, ""},
		{"a missing argument", "delete_note", `{"id":"1"}`, []Sibling{sib("trash_note", `{"properties":{"id":{},"folder":{}},"required":["id","folder"]}`)}, ""},
		{"an argument it does not know", "delete_note", `{"id":"1","all":true}`, []Sibling{sib("trash_note", id)}, ""},
		{"already the trash", "trash_note", `{"id":"1"}`, []Sibling{sib("recycle_note", id)}, ""},
		{"what deletes from the trash is worse", "delete_note", `{"id":"1"}`, []Sibling{sib("delete_note_from_trash", id), sib("trash_note", id)}, "trash_note"},
		{"so is what is emptied", "delete_note", `{"id":"1"}`, []Sibling{sib("purge_trash_note", id), sib("list_trash_note", id)}, ""},
		{"a move", "delete_note", `{"id":"1"}`, []Sibling{sib("move_note_to_trash", id)}, "move_note_to_trash"},
		{"another kind of argument", "delete_note", `{"id":["1","2"]}`, []Sibling{sib("trash_note", `{"properties":{"id":{"type":"string"}},"required":["id"]}`)}, ""},
		{"the same kind of argument", "delete_note", `{"id":["1","2"]}`, []Sibling{sib("trash_note", `{"properties":{"id":{"type":["string","array"]}},"required":["id"]}`)}, "trash_note"},
		{"no schema", "delete_note", `{"id":"1"}`, []Sibling{sib("trash_note", `x`)}, ""},
		{"emptying the trash is not moving to it", "delete_trash", `{}`, []Sibling{sib("empty_trash", `{}`)}, ""},
	} {
		got, ok := TrashFor(c.call, args(t, c.args), c.siblings)
		if got != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q", c.name, got)
		}
	}
	if got, _ := WayBack("notes_trash", []Sibling{sib("notes_restore", id)}, args(t, `{"id":"1"}`)); got != "notes_restore" {
		t.Error(got)
	}
	if _, ok := WayBack("notes_delete", []Sibling{sib("notes_restore", id)}, args(t, `{"id":"1"}`)); ok {
		t.Error("what was deleted for good has no way back")
	}
}

// the plain arguments when there is no preview.
func TestHandOff(t *testing.T) {
	h := HandOff("code_run", "Run", "Code", nil, map[string]any{"code": "1", "n": 2.0, "none": nil})
	if !h.HandedOff || h.Preview != nil || len(h.Details) != 2 || h.Details[0] != (msg.PreviewField{Label: "code", Value: "1"}) || h.Details[1].Value != "2" || h.Title != "Run" {
		t.Errorf("%+v", h)
	}
	if !strings.HasPrefix(h.Message, `NOT DONE by Sentient: "Run" in Code is set to "Hand it to me", so Sentient did not do it.`) {
		t.Error(h.Message)
	}
	h = HandOff("code_run", "Ru\u202en", "Code", nil, map[string]any{"co\nde": "a\u200bb\x00\nc"})
	if h.Title != "Ru\uFFFDn" || len(h.Details) != 1 || h.Details[0] != (msg.PreviewField{Label: "co de", Value: "a\uFFFDb\uFFFD\nc"}) {
		t.Errorf("%+v", h)
	}
	p := &msg.ActionPreview{Title: "Email"}
	if h := HandOff("mail_send", "Send", "Mail", p, map[string]any{"to": "x"}); h.Title != "Email" || h.Details != nil || h.Preview != p {
		t.Errorf("%+v", h)
	}
}

func anyValue(t *rapid.T, depth int) any {
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0:
		return nil
	case 1:
		return rapid.Float64().Draw(t, "number")
	case 2:
		if depth > 3 {
			return true
		}
		return []any{anyValue(t, depth+1), anyValue(t, depth+1)}
	case 3:
		if depth > 3 {
			return false
		}
		return map[string]any{rapid.SampledFrom([]string{"email", "id", "x"}).Draw(t, "key"): anyValue(t, depth+1)}
	}
	return rapid.String().Draw(t, "text")
}

// Whatever the arguments are: no panic, bounded, one line a field, nothing that turns or hides text.
func TestAnyArguments(t *testing.T) {
	keys := []string{"to", "cc", "subject", "body", "text", "tools", "tool_slug", "arguments", "amount", "id", "files"}
	rapid.Check(t, func(t *rapid.T) {
		m := map[string]any{}
		for range rapid.IntRange(0, 6).Draw(t, "n") {
			m[rapid.SampledFrom(keys).Draw(t, "k")] = anyValue(t, 0)
		}
		p := Of(rapid.SampledFrom([]string{"mail_send", "notes_delete", "x"}).Draw(t, "name"), "X", "A", msg.Risk(rapid.IntRange(0, 3).Draw(t, "risk")), "", m, nil)
		HandOff("x", "X", "A", p, m)
		if p == nil {
			return
		}
		bad := func(s string, breaks bool) bool {
			return !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool {
				return unicode.Is(unicode.Cf, r) || unicode.IsControl(r) && !(breaks && (r == '\n' || r == '\t'))
			})
		}
		if utf8.RuneCountInString(p.Body) > maxBody || bad(p.Body, true) {
			t.Fatalf("%q", p.Body)
		}
		for _, f := range p.Fields {
			if f.Value == "" || utf8.RuneCountInString(f.Value) > maxValue || bad(f.Value, false) {
				t.Fatalf("%+v", f)
			}
		}
	})
}

// More people than fit are counted, not left out in silence.
func TestManyRecipients(t *testing.T) {
	var all []any
	for i := range 200 {
		all = append(all, fmt.Sprintf("person%d@example.com", i))
	}
	p := Of("mail_send", "Send", "Mail", msg.RiskSend, "", map[string]any{"to": all}, nil)
	shown := strings.Count(p.Fields[0].Value, "@")
	if !strings.HasSuffix(p.Fields[0].Value, fmt.Sprintf(" and %d more", 200-shown)) || utf8.RuneCountInString(p.Fields[0].Value) > maxValue {
		t.Errorf("%d shown: %s", shown, p.Fields[0].Value)
	}
}

// The same call is always shown in the same way, and its depth costs nothing.
func TestSteady(t *testing.T) {
	m := args(t, `{"To":"a@x.example","to":"b@x.example","TO":"c@x.example","Body":"1","body":"2"}`)
	first := show(Of("mail_send", "", "", msg.RiskSend, "", m, nil))
	for range 50 {
		if got := show(Of("mail_send", "", "", msg.RiskSend, "", m, nil)); got != first {
			t.Fatalf("%s, then %s", first, got)
		}
	}
	var deep any = "x"
	for range 100_000 {
		deep = []any{"a", deep}
	}
	if p := Of("mail_send", "", "", msg.RiskSend, "", map[string]any{"to": deep, "subject": deep, "files": deep}, nil); p == nil {
		t.Error("nothing is shown")
	}
}

func FuzzPreview(f *testing.F) {
	f.Add("gmail_send", `{"to":"a@b.c","message":{"body":{"content":"x"}}}`, `{"properties":{"to":{"type":["string"]}},"required":["to"]}`)
	f.Add("MULTI_EXECUTE", `{"tools":[{"tool_slug":"X","arguments":"{}"}]}`, `{"properties":{"a":{"type":1}}}`)
	f.Add("soft_delete_note", `{"messages":[[],{}],"email":{"email":{"address":"x"}}}`, `{`)
	f.Fuzz(func(t *testing.T, name, call, schema string) {
		var m map[string]any
		if json.Unmarshal([]byte(call), &m) != nil {
			m = map[string]any{"to": call, "body": call}
		}
		for risk := msg.RiskRead; risk <= msg.RiskExec; risk++ {
			p := Of(name, name, name, risk, schema, m, []msg.Destination{{Address: call}})
			if HandOff(name, name, name, p, m); Waits(name, risk, false, "Purchase") {
				t.Fatal("a purchase waits")
			}
		}
		if s, ok := TrashFor(name, m, []Sibling{{Name: name + "_trash", Parameters: json.RawMessage(schema), Hidden: true}}); ok {
			t.Fatalf("%s is hidden", s)
		}
		WayBack(name, []Sibling{{Name: "restore_" + name, Parameters: json.RawMessage(schema)}}, m)
	})
}
