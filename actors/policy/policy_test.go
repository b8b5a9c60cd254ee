package policy

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sentient/actors/msg"
)

func base() Facts {
	return Facts{Tool: "slack_post_message", ToolName: "Post message", App: "Slack", Risk: msg.RiskSend, Mode: ModeAsk, CanAsk: true, Remember: true}
}

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(*Facts)
		do      Deed
		choices string
		says    string
	}{
		{"a send asks", func(*Facts) {}, Ask, "allow allow_session deny", ""},
		{"off asks nothing", func(f *Facts) { f.Mode = ModeOff }, Run, "", ""},
		{"a read runs", func(f *Facts) { f.Risk = msg.RiskRead }, Run, "", ""},
		{"always still lets look-ups run", func(f *Facts) { f.Risk, f.Mode = msg.RiskRead, ModeAlways }, Run, "", ""},
		{"an internal write runs in ask", func(f *Facts) { f.Risk, f.Internal = msg.RiskWrite, true }, Run, "", ""},
		{"an internal send asks", func(f *Facts) { f.Internal = true }, Ask, "allow allow_session deny", ""},
		{"an internal write asks in always", func(f *Facts) { f.Risk, f.Internal, f.Mode = msg.RiskWrite, true, ModeAlways }, Ask, "allow allow_session deny", ""}, // DECISIONS 3
		{"an outside write asks", func(f *Facts) { f.Risk = msg.RiskWrite }, Ask, "allow allow_session deny", ""},
		{"code asks each time", func(f *Facts) { f.Risk = msg.RiskExec }, Ask, "allow deny", ""},
		{"a raised risk asks each time", func(f *Facts) { f.Raised = true }, Ask, "allow deny", ""},
		{"a tool that asks every time", func(f *Facts) { f.NoSessionAllow = true }, Ask, "allow deny", ""},
		{"remember off", func(f *Facts) { f.Remember = false }, Ask, "allow deny", ""},
		{"allowed in this chat", func(f *Facts) { f.HasAllowed, f.Allowed = true, msg.RiskSend }, Run, "", ""},
		{"allowed below", func(f *Facts) { f.HasAllowed, f.Allowed = true, msg.RiskWrite }, Ask, "allow allow_session deny", ""},
		{"allowed, but remember is off", func(f *Facts) { f.HasAllowed, f.Allowed, f.Remember = true, msg.RiskSend, false }, Ask, "allow deny", ""},
		{"allow rule", func(f *Facts) { f.Rule = RuleAllow }, Run, "", ""},
		{"allow rule in always", func(f *Facts) { f.Rule, f.Mode = RuleAllow, ModeAlways }, Run, "", ""},
		{"a purchase asks under an allow rule", func(f *Facts) { f.Rule, f.Label = RuleAllow, "Purchase" }, Ask, "allow deny", ""},
		{"a purchase asks when allowed here", func(f *Facts) { f.Label, f.HasAllowed, f.Allowed = "Purchase", true, msg.RiskSend }, Ask, "allow deny", ""},
		{"a purchase asks in off", func(f *Facts) { f.Label, f.Mode = "Purchase", ModeOff }, Ask, "allow deny", ""},
		{"ask rule in off", func(f *Facts) { f.Rule, f.Mode = RuleAsk, ModeOff }, Ask, "allow allow_session deny", ""},
		{"ask rule for a look-up", func(f *Facts) { f.Rule, f.Risk = RuleAsk, msg.RiskRead }, Ask, "allow allow_session deny", ""},
		{"ask rule after allow for this chat", func(f *Facts) { f.Rule, f.HasAllowed, f.Allowed = RuleAsk, true, msg.RiskExec }, Ask, "allow allow_session deny", ""},
		{"never, for the app", func(f *Facts) { f.Rule, f.RuleOfApp = RuleNever, true }, Refuse, "", "You've set Sentient to never use Slack. Change this in Settings > Approvals & safety."},
		{"never, for the tool", func(f *Facts) { f.Rule = RuleNever }, Refuse, "", `You've set Sentient to never use "Post message" in Slack. Change this in Settings > Approvals & safety.`},
		{"never beats a yes", func(f *Facts) { f.Rule, f.Approved = RuleNever, true }, Refuse, "", "never use"},
		{"hand-off beats a yes", func(f *Facts) { f.Rule, f.Approved = RuleHandOff, true }, HandOff, "", ""},
		{"hand-off beats off and allowed", func(f *Facts) { f.Rule, f.Mode, f.HasAllowed, f.Allowed = RuleHandOff, ModeOff, true, msg.RiskExec }, HandOff, "", ""},
		{"hand-off lets look-ups run", func(f *Facts) { f.Rule, f.Risk = RuleHandOff, msg.RiskRead }, Run, "", ""},
		{"a yes runs", func(f *Facts) { f.Approved = true }, Run, "", ""},
		{"after outside content a send asks in off", func(f *Facts) { f.Mode, f.Untrusted, f.SendsOut = ModeOff, "Gmail", true }, Ask, "allow deny", "Sentient read content from Gmail in this chat, so it checks with you before sending anything."}, // A-883
		{"... under an allow rule too", func(f *Facts) { f.Rule, f.Untrusted, f.SendsOut = RuleAllow, "Gmail", true }, Ask, "allow deny", "before sending anything"},                                                                                  // A-883
		{"an address that carries data", func(f *Facts) { f.Risk, f.Untrusted, f.CarriesData, f.Host = msg.RiskRead, "Web", true, "evil.example" }, Ask, "allow deny", "Sentient read content from Web in this chat, and this address could carry your data to evil.example, so it checks with you first."}, // A-884
		{"a clean chat loads any address", func(f *Facts) { f.Risk, f.CarriesData = msg.RiskRead, true }, Run, "", ""},                                                                                                                                               // A-884
		{"unprompted work only looks", func(f *Facts) { f.Unprompted, f.Rule = true, RuleAllow }, Refuse, "", "Nobody asked for this work, so Sentient can only look things up. slack_post_message was not done. If it would help, suggest it to the user instead."}, // A-879
		{"unprompted internal writes run", func(f *Facts) { f.Unprompted, f.Internal, f.Risk = true, true, msg.RiskWrite }, Run, "", ""},                                                                                                                             // A-879
		{"never comes before unprompted", func(f *Facts) { f.Unprompted, f.Rule = true, RuleNever }, Refuse, "", "never use"},
		{"nobody to ask, ask rule", func(f *Facts) { f.CanAsk, f.Rule, f.RuleOfApp = false, RuleAsk, true }, Refuse, "", "Slack is set to Ask, and this work can't stop to ask. Change it in Settings > Approvals & safety."},            // A-082
		{"nobody to ask after outside content", func(f *Facts) { f.CanAsk, f.Untrusted, f.SendsOut = false, "Gmail", true }, Refuse, "", "Not done: this run read content from Gmail, so slack_post_message needs the user's OK first."}, // A-885
	} {
		f := base()
		c.change(&f)
		r := Judge(f)
		if r.Do != c.do || strings.Join(r.Choices, " ") != c.choices && c.do == Ask || !strings.Contains(r.Refusal+r.Untrusted, c.says) {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
}

func anyFacts(t *rapid.T) Facts {
	b := func(n string) bool { return rapid.Bool().Draw(t, n) }
	risk := func(n string) msg.Risk { return msg.Risk(rapid.IntRange(0, 3).Draw(t, n)) }
	return Facts{Tool: "t", App: "A", Risk: risk("risk"), Raised: b("raised"), Internal: b("internal"), Label: rapid.SampledFrom([]string{"", "Purchase"}).Draw(t, "label"),
		Mode: rapid.SampledFrom([]string{ModeOff, ModeAsk, ModeAlways}).Draw(t, "mode"), Rule: rapid.SampledFrom([]string{"", RuleAllow, RuleIfAsked, RuleAsk, RuleHandOff, RuleNever}).Draw(t, "rule"),
		Unprompted: b("unprompted"), CanAsk: b("can ask"), Approved: b("approved"), Remember: b("remember"), NoSessionAllow: b("no session"), Allowed: risk("allowed"), HasAllowed: b("has"),
		Untrusted: rapid.SampledFrom([]string{"", "Web"}).Draw(t, "untrusted"), SendsOut: b("sends"), CarriesData: b("carries")}
}

// looser orders rulings: a run is looser than a question, a question looser than no.
func looser(d Deed) int { return map[Deed]int{Run: 0, Ask: 1, HandOff: 2, Refuse: 2}[d] }

// TestNothingWidens: whatever the rest says, more caution (outside content, a stricter rule, a higher risk, no yes) never
// makes a call run that would not have run before.
func TestNothingWidens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := anyFacts(t)
		before := Judge(f)
		g := f
		switch rapid.IntRange(0, 5).Draw(t, "caution") {
		case 0:
			g.Untrusted = "Web"
		case 1:
			g.Rule = RuleNever
		case 2:
			g.Risk = min(g.Risk+1, msg.RiskExec)
		case 3:
			g.HasAllowed = false
		case 4:
			g.Approved = false
		case 5:
			g.SendsOut = true
		}
		if after := Judge(g); looser(after.Do) < looser(before.Do) {
			t.Fatalf("%+v: %v, more careful %+v: %v", f, before.Do, g, after.Do)
		}
	})
}

// TestAlways: never refuses whatever else; a purchase never runs unasked; outside content never sends unasked.
func TestAlways(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := anyFacts(t)
		d := Judge(f).Do
		if f.Rule == RuleNever && d != Refuse {
			t.Fatalf("%+v: %v", f, d)
		}
		if !f.Approved && d == Run && (f.purchase() || f.Untrusted != "" && f.SendsOut || f.Rule == RuleAsk) {
			t.Fatalf("%+v runs unasked", f)
		}
		if f.Rule == RuleHandOff && f.Risk > msg.RiskRead && (d == Run || d == Ask) {
			t.Fatalf("%+v: %v", f, d)
		}
		if d == Ask && !f.CanAsk {
			t.Fatalf("%+v asks nobody", f)
		}
	})
}
