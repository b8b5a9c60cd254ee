package words

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sentient/actors/msg"
)

var others = []string{"Slack", "Notion", "Google Calendar"}

func acting(name, app string) Tool {
	return Tool{Name: name, App: app, Plugin: strings.Split(name, "_")[0], Risk: msg.RiskSend, OtherApps: others}
}

// what people say, for a tool that sends email.
func TestAskedForAnEmail(t *testing.T) {
	tool := acting("gmail_send", "Gmail")
	for text, want := range map[string]bool{
		"email Priya": true, "Email Priya that I'm late": true, "please email Priya": true, "can you email Priya the agenda?": true, "send an email to Priya": true, "Send Priya an email about lunch.": true,
		"send it": true, "yes, send it": true, "Yes send it please": true, "ok, send it now": true, "send them": true, "go ahead and send it": true, "send it to sam@example.com": true, "send this to sam@example.com": true,
		"I want you to email Priya": true, "I'd like you to send the email": true, "I need to send an email to Sam": true, "write an email to Sam and send it": true, "reply to Priya, and email Sam": true,
		"Could you mail Ravi?": true, "let's email the landlord": true, "use Gmail to send the note": true, "Draft it, then send it": true, "tomorrow email Sam": true, "make sure to email Sam": true, "don't forget to email Sam": true,
		"send the mail": true, "just send the email already": true, "send a gmail to Ravi": true, "would you send Priya an e-mail": true, "please send the two emails": true,
		"summarize my emails": false, "summarize my Slack messages": false, "what's in my email?": false, "did you send the email?": false, "have you emailed Priya": false, "don't send it": false, "do not send the email": false, "never email Priya": false,
		"ask me before you send it": false, "ask me first, then send the email": false, "email Priya, but ask me first": false, "send the email but check with me first": false, "let me see it before you send the email": false,
		"I will send the email myself": false, "I'll email Priya": false, "he will email Priya": false, "Priya should email me": false, "why did you email Priya": false, "who sends the email": false, "if Priya answers, email her": false,
		"when she replies, send the email": false, "unless I say so, send no email": false, "how do I send an email?": false, "should I email Priya?": false, "the email is long": false, "my email address is sam@example.com": false, "read the email": false, "an email from Priya came": false,
		"email Priya the Slack thread": false, "send the Notion page by email": false, "email Sam my Google Calendar": false, "delete the email": false, "post it": false, "send it to Slack": false,
		"yes": false, "thanks": false, "": false, "send Priya the file": false, "send flowers to Priya": false, "forward it": false, "open the email": false, "the send button is broken": false, "reply to email from Sam": false,
		"Don't email Priya and send it": false, "without sending an email": false, "no email please": false, "no, don't send it": false, "stop sending emails": false,
	} {
		if got := AskedFor([]string{text}, tool); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestAskedForOthers(t *testing.T) {
	for _, c := range []struct {
		tool Tool
		text string
		want bool
	}{
		{acting("slack_post_message", "Slack"), "post to Slack that we're done", true},
		{acting("slack_post_message", "Slack"), "post a message", true},
		{acting("slack_post_message", "Slack"), "message the team on Slack", false}, // not its verb: it asks
		{acting("slack_post_message", "Slack"), "summarize my Slack messages", false},
		{acting("slack_post_message", "Slack"), "read the post on Slack", false},
		{acting("notes_delete", "Notes"), "delete the note about milk", true},
		{acting("notes_delete", "Notes"), "remove that note", true},
		{acting("notes_delete", "Notes"), "delete it", true},
		{acting("notes_delete", "Notes"), "delete my reminders", false},
		{acting("notes_delete", "Notes"), "don't delete the note", false},
		{acting("notes_delete", "Notes"), "what notes did I delete?", false},
		{acting("social_post", "Social"), "post it", true},
		{acting("social_post", "Social"), "publish the post", true},
		{acting("social_post", "Social"), "the post is too long", false},
		{acting("gcal_create_event", "Calendar"), "create an event on Friday", true},
		{acting("gcal_create_event", "Calendar"), "schedule an event", true},
		{acting("gcal_create_event", "Calendar"), "what is on my schedule", false},
		{acting("home_unlock", "Home"), "unlock it", true},
		{acting("mcp_x_frobnicate", "X"), "frobnicate it", true},
		{acting("mcp_x_frobnicate", "X"), "do something", false},
		{Tool{Name: "gmail_search", App: "Gmail", Plugin: "gmail", OtherApps: others}, "look in my Gmail", true},
		{Tool{Name: "gmail_search", App: "Gmail", Plugin: "gmail", OtherApps: others}, "any new email?", true},
		{Tool{Name: "gmail_search", App: "Gmail", Plugin: "gmail", OtherApps: others}, "don't read my email", false},
		{Tool{Name: "gmail_search", App: "Gmail", Plugin: "gmail", OtherApps: others}, "what's the weather", false},
		{Tool{Name: "gmail_search", App: "Gmail", Plugin: "gmail", OtherApps: others}, "the Slack email", false},
	} {
		if got := AskedFor([]string{c.text}, c.tool); got != c.want {
			t.Errorf("%s, %q: %v", c.tool.Name, c.text, got)
		}
	}
}

// the messages of a turn count together, and a later no takes back what came before it.
func TestLaterWords(t *testing.T) {
	tool := acting("gmail_send", "Gmail")
	for _, c := range []struct {
		said string
		want bool
	}{
		{"write to Priya|send it", true}, {"email Priya|no, don't send it", false}, {"email Priya|wait, do not email her|ok, send it", true}, {"email Priya|ask me first", true}, {"don't email Sam|email Priya", true},
	} {
		if got := AskedFor(strings.Split(c.said, "|"), tool); got != c.want {
			t.Errorf("%q: %v", c.said, got)
		}
	}
}

// what asks for a delete without a way back.
func TestPermanentDelete(t *testing.T) {
	for text, want := range map[string]bool{
		"delete it permanently": true, "delete it for good": true, "get rid of it forever": true, "hard delete the note": true, "delete it, skip the trash": true, "Delete it. And I mean for good.": true,
		"delete it": false, "don't delete it permanently": false, "never delete anything for good": false, "move it to the trash": false, "": false,
	} {
		if got := PermanentDelete([]string{text}); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

//
func TestReplyAll(t *testing.T) {
	for text, want := range map[string]bool{
		"reply all that I'm coming": true, "reply to everyone": true, "tell everyone yes": true, "answer all": true, "reply to Arjun": false, "don't reply to everyone": false, "": false,
	} {
		if got := ReplyAll([]string{text}); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

var lexicon = words("send email priya it the a don't never please and but if you can slack message delete note yes , . ? ask me first before to my gmail reply all sam@example.com i will")

func sentenceOf(t *rapid.T, name string) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(lexicon), 0, 12).Draw(t, name), " ")
}

// A negation in front never makes something asked for, and a later no always takes it back.
func TestNegationsNeverAsk(t *testing.T) {
	tools := []Tool{acting("gmail_send", "Gmail"), acting("notes_delete", "Notes"), {Name: "gmail_search", App: "Gmail", Plugin: "gmail"}}
	rapid.Check(t, func(t *rapid.T) {
		tool := rapid.SampledFrom(tools).Draw(t, "tool")
		text := sentenceOf(t, "text")
		if tool.Risk > msg.RiskRead && AskedFor([]string{"don't send or delete it or email anything: " + text}, tool) && !strings.ContainsAny(text, ".?") && !strings.Contains(text, "but") {
			t.Fatalf("a negated sentence asks: %q", text)
		}
		if AskedFor([]string{text, "no, don't send it, don't email it and don't delete it"}, tool) && tool.Risk > msg.RiskRead {
			t.Fatalf("asked after a no: %q", text)
		}
	})
}

func FuzzAskedFor(f *testing.F) {
	for _, s := range []string{"email Priya", "don’t send it", "ask me first", "\x00\xff", strings.Repeat("send it. ", 100)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		AskedFor([]string{text}, acting("gmail_send", "Gmail"))
		PermanentDelete([]string{text})
		ReplyAll([]string{text})
		if said, ok := StandingRule(text); ok && (said == "" || len([]rune(said)) > maxSaid) {
			t.Fatalf("%q", said)
		}
	})
}

func BenchmarkAskedFor(b *testing.B) {
	text := strings.Repeat("please have a look at the long story that I wrote about my summer, and then ", 20) + "email Priya"
	tool := acting("gmail_send", "Gmail")
	for b.Loop() {
		AskedFor([]string{text}, tool)
	}
}
