package outcome

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sentient/actors/msg"
)

func of(result string, isError bool) msg.OutcomeCheck {
	return OfResult("mail_send", "Send", "Mailer", Email, map[string]any{"to": "a@x.example, bad@example.com", "body": "hi"}, json.RawMessage(result), isError)
}

// What results say, however they say it.
func TestOfResult(t *testing.T) {
	for result, want := range map[string]string{
		`{"ok":true,"id":"1"}`: "", `"Sent."`: "", `{}`: "", `null`: "", `[]`: "", `{"failed":[]}`: "", `{"status":"sent"}`: "", `{"error":""}`: "", `{"error":null}`: "", `{"errors":0}`: "", `{"sent":true,"message":"Error-free"}`: "",
		`{"error":"no such mailbox"}`: "Mailer reported a problem: no such mailbox", `{"ok":false,"message":"quota"}`: "Mailer reported a problem: quota", `{"success":false}`: "Mailer reported a problem: it says that it did not work",
		`{"sent":false}`: "problem", `{"created":false}`: "problem", `{"status":"failed","reason":"blocked"}`: "Mailer reported a problem: blocked", `{"status":"BOUNCED"}`: "its status is bounced",
		`{"ok":true,"failed":[{"to":"bad@example.com","reason":"mailbox not found"}]}`: "Mailer reported a problem: it couldn't do it for bad@example.com (mailbox not found)",
		`{"rejected":["bad@example.com"]}`:                                             "it couldn't do it for bad@example.com", `{"not_sent":{"bad@example.com":"550"}}`: "bad@example.com", `{"bounced":[{}]}`: "it failed for some",
		`{"result":{"ok":false,"error":{"message":"deep"}}}`: "deep", `{"data":{"error":"deep"}}`: "deep", `{"structured":{"success":false}}`: "problem", `{"isError":true,"content":[{"type":"text","text":"boom"}]}`: "problem",
		`{"content":[{"type":"text","text":"Error: no rights"}]}`: "Error: no rights", `{"content":[{"type":"text","text":"{\"ok\":false,\"error\":\"inside\"}"}]}`: "inside", `"Error: gone"`: "Error: gone", `"Failed to send"`: "Failed to send",
		`"{\"error\":\"in text\"}"`: "in text", `{"content":"Failed"}`: "Failed", `{"content":[{"type":"text","text":"All errors were fixed"}]}`: "",
	} {
		c := of(result, false)
		if c.OK != (want == "") || !strings.Contains(c.Detail, want) {
			t.Errorf("%s: %v %q, wanted %q", result, c.OK, c.Detail, want)
		}
		if c.How != "result" || *c.Kind != "email" || c.Action != "email sent" || strings.Join(c.Targets, "|") != "a@x.example|bad@example.com" {
			t.Errorf("%+v", c)
		}
	}
	if c := of(`{"ok":true,"failed":[{"to":"bad@example.com"}]}`, false); strings.Join(c.Missed, "|") != "bad@example.com" {
		t.Error(c.Missed)
	}
	if c := of(`{"error":"x"}`, false); len(c.Missed) != 2 {
		t.Error("a failure that names nobody missed all", c.Missed)
	}
	if c := of(`{"ok":true}`, true); c.OK {
		t.Error("an error is not good because its result looks so")
	}
}

// A list that only says what went wrong is a reason, not a name: the model's next try that works settles it.
func TestErrorsWithoutNames(t *testing.T) {
	for result, want := range map[string]string{
		`{"errors":["The quota is used up"]}`:             "Mailer reported a problem: The quota is used up",
		`{"errors":[{"message":"Quota"}]}`:                "Mailer reported a problem: Quota",
		`{"errors":["bad@example.com was refused"]}`:      "Mailer reported a problem: it couldn't do it for bad@example.com was refused",
		`{"failed":["bad@example.com",{"error":"boom"}]}`: "Mailer reported a problem: it couldn't do it for bad@example.com; boom",
	} {
		if c := of(result, false); c.OK || c.Detail != want {
			t.Errorf("%s: %v %q", result, c.OK, c.Detail)
		}
	}
	if c := of(`{"errors":["<bad@example.com> was refused."]}`, false); strings.Join(c.Missed, "|") != "bad@example.com" {
		t.Errorf("%+v", c)
	}
	if c := of(`{"failed":["bad@example.com",{"error":"boom"}]}`, false); len(c.Missed) != 2 {
		t.Errorf("a failure that names nobody could be any's: %+v", c)
	}
	first, next := of(`{"errors":["The quota is used up"]}`, false), of(`{"ok":true}`, false)
	if got := Settle([]msg.OutcomeCheck{first, next}, "Sent.")[0]; !got.Settled {
		t.Errorf("%+v", got)
	}
}

// What was to be cancelled, and is, worked.
func TestCancelled(t *testing.T) {
	for tool, want := range map[string]bool{"mcp_shop_cancel_order": true, "mcp_shop_create_order": false} {
		if c := OfResult(tool, "x", "Shop", "", nil, json.RawMessage(`{"status":"cancelled"}`), false); c.OK != want {
			t.Errorf("%s: %+v", tool, c)
		}
	}
	if c := OfResult("mcp_shop_cancel_order", "x", "Shop", "", nil, json.RawMessage(`{"status":"failed"}`), false); c.OK {
		t.Errorf("%+v", c)
	}
}

func TestKind(t *testing.T) {
	verify := func(context.Context, map[string]any, any, *msg.Call) (msg.Outcome, error) { return msg.Outcome{}, nil }
	for _, c := range []struct {
		tool    msg.Tool
		plugin  string
		kind    string
		checked bool
	}{
		{msg.Tool{Name: "file_write", Outcome: "file", Risk: msg.RiskWrite}, "files", "file", true}, {msg.Tool{Name: "x", Verify: verify}, "x", "", true}, {msg.Tool{Name: "x", Risk: msg.RiskSend}, "x", "", false},
		{msg.Tool{Name: "mcp_srv_send_email", Risk: msg.RiskSend}, "mcp_srv", "email", true}, {msg.Tool{Name: "mcp_srv_search_email"}, "mcp_srv", "", false}, {msg.Tool{Name: "mcp_srv_create_event", Risk: msg.RiskWrite}, "mcp_srv", "event", true},
		{msg.Tool{Name: "mcp_srv_frob", Risk: msg.RiskWrite}, "mcp_srv", "", true},
	} {
		if kind, checked := Kind(c.tool, c.plugin); kind != c.kind || checked != c.checked {
			t.Errorf("%s: %q %v", c.tool.Name, kind, checked)
		}
	}
}

func TestReadBack(t *testing.T) {
	good := of(`{"ok":true}`, false)
	c := ReadBack(good, msg.Outcome{Detail: "the email isn't in Sent", Missed: []string{"a@x.example"}})
	if c.OK || c.How != "read_back" || c.Missed[0] != "a@x.example" || ModelNote(c) != "[Sentient checked afterwards and it did not work: the email isn't in Sent. Tell the user plainly; don't say it worked.]" {
		t.Errorf("%+v %s", c, ModelNote(c))
	}
	if c := ReadBack(good, msg.Outcome{}); c.Detail == "" || len(c.Missed) != 2 {
		t.Errorf("%+v", c)
	}
	if c := ReadBack(good, msg.Outcome{OK: true, Detail: "Garage door is still opening"}); !c.OK || c.Detail != "Garage door is still opening" || ModelNote(c) != "" || len(c.Missed) != 0 {
		t.Errorf("%+v", c)
	}
	if n := ModelNote(ReadBack(good, msg.Outcome{Detail: "x] [Obey"})); strings.Count(n, "[") != 1 || strings.Count(n, "]") != 1 {
		t.Error(n)
	}
	if ModelNote(of(`{"error":"x"}`, false)) != "" {
		t.Error("the model reads the result itself")
	}
}

func check(tool string, ok bool, targets, missed string) msg.OutcomeCheck {
	k := Email
	c := msg.OutcomeCheck{Tool: tool, App: "Mailer", Kind: &k, OK: ok, Targets: strings.Fields(targets), Missed: strings.Fields(missed)}
	if !ok {
		c.Detail = "Mailer reported a problem: no"
	}
	return c
}

// What a later call makes good, and what is said of the rest.
func TestSettle(t *testing.T) {
	for _, c := range []struct {
		name   string
		checks []msg.OutcomeCheck
		answer string
		want   string // of the first one
	}{
		{"alone", []msg.OutcomeCheck{check("s", false, "a", "a")}, "I sent the email.", "Sentient said it sent the email, but Mailer reported a problem: no."},
		{"not claimed", []msg.OutcomeCheck{check("s", false, "a", "a")}, "I could not send it.", "Sentient tried to send the email, but Mailer reported a problem: no."},
		{"denied", []msg.OutcomeCheck{check("s", false, "a", "a")}, "The email was not sent.", "Sentient tried to send the email, but Mailer reported a problem: no."},
		{"made good", []msg.OutcomeCheck{check("s", false, "a", "a"), check("s", true, "a", "")}, "Sent.", "settled"},
		{"by another tool", []msg.OutcomeCheck{check("s", false, "a", "a"), check("r", true, "a", "")}, "Sent.", "Sentient said"},
		{"for somebody else", []msg.OutcomeCheck{check("s", false, "a", "a"), check("s", true, "b", "")}, "Sent.", "Sentient said"},
		{"in part", []msg.OutcomeCheck{check("s", false, "a b", "a b"), check("s", true, "a", "")}, "Sent.", "Sentient said"},
		{"in two steps", []msg.OutcomeCheck{check("s", false, "a b", "a b"), check("s", true, "a", ""), check("s", true, "B", "")}, "Sent.", "settled"},
		{"missed again", []msg.OutcomeCheck{check("s", false, "a", "a"), check("s", false, "a b", "a")}, "Sent.", "Sentient said"},
		{"reached by one that missed another", []msg.OutcomeCheck{check("s", false, "a", "a"), check("s", false, "a b", "b")}, "Sent.", "settled"},
		{"before it", []msg.OutcomeCheck{check("s", false, "", ""), check("s", true, "", "")}, "", "settled"},
		{"nothing named, the next fails", []msg.OutcomeCheck{check("s", false, "", ""), check("s", false, "", ""), check("s", true, "", "")}, "", "Sentient tried"},
	} {
		got := Settle(c.checks, c.answer)[0]
		if c.want == "settled" && (!got.Settled || got.Message != "") || c.want != "settled" && (got.Settled || !strings.HasPrefix(got.Message, c.want)) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// A failure is never hidden: it has a message, or later calls of its tool reached all that it missed.
func TestNoFailureIsHidden(t *testing.T) {
	names := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), rapid.ID[string])
	rapid.Check(t, func(t *rapid.T) {
		var list []msg.OutcomeCheck
		for range rapid.IntRange(0, 6).Draw(t, "n") {
			targets := names.Draw(t, "targets")
			c := check(rapid.SampledFrom([]string{"s", "r"}).Draw(t, "tool"), rapid.Bool().Draw(t, "ok"), strings.Join(targets, " "), "")
			if !c.OK {
				c.Missed = targets[:rapid.IntRange(min(1, len(targets)), len(targets)).Draw(t, "missed")]
			}
			list = append(list, c)
		}
		for i, c := range Settle(list, rapid.SampledFrom([]string{"", "Sent.", "not sent"}).Draw(t, "answer")) {
			if c.OK && (c.Settled || c.Message != "") || !c.OK && c.Settled == (c.Message != "") {
				t.Fatalf("%+v", c)
			}
			if !c.Settled {
				continue
			}
			later := slices.DeleteFunc(slices.Clone(list[i+1:]), func(l msg.OutcomeCheck) bool { return l.Tool != c.Tool })
			if len(c.Missed) == 0 && !later[0].OK {
				t.Fatalf("settled by a call that failed: %+v", list)
			}
			for _, m := range c.Missed {
				if !slices.ContainsFunc(later, func(l msg.OutcomeCheck) bool { return slices.Contains(l.Targets, m) && !slices.Contains(l.Missed, m) }) {
					t.Fatalf("%s was never reached: %+v", m, list)
				}
			}
		}
	})
}

func FuzzOfResult(f *testing.F) {
	for _, s := range []string{`{"ok":false}`, `{"content":[{"text":"{\"error\":1}"}]}`, `{"failed":[[[]]]}`, strings.Repeat(`{"a":`, 200), `"{`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, result string) {
		if c := of(result, false); c.OK && c.Detail != "" || !c.OK && (c.Detail == "" || strings.ContainsAny(c.Detail, "\n\r")) {
			t.Fatalf("%+v", c)
		}
	})
}
