package policy

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sentient/actors/msg"
)

func base() Facts {
	return Facts{Tool: "slack_post_message", ToolName: "Post message", Plugin: "slack", App: "Slack", Risk: msg.RiskSend, Mode: ModeAsk, Remember: true}
}

const (
	all  = "allow allow_session allow_timed allow_always deny"
	once = "allow deny"
)

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(*Facts)
		do      Deed
		choices string
		says    string
	}{
		{"a send asks", func(*Facts) {}, Ask, all, ""},
		{"off asks nothing", func(f *Facts) { f.Mode = ModeOff }, Run, "", ""},
		{"a read runs", func(f *Facts) { f.Risk = msg.RiskRead }, Run, "", ""},
		{"always still lets look-ups run", func(f *Facts) { f.Risk, f.Mode = msg.RiskRead, ModeAlways }, Run, "", ""},
		{"an internal write runs in ask", func(f *Facts) { f.Risk, f.Internal = msg.RiskWrite, true }, Run, "", ""},
		{"an internal send asks", func(f *Facts) { f.Internal = true }, Ask, all, ""},
		{"an internal write asks in always", func(f *Facts) { f.Risk, f.Internal, f.Mode = msg.RiskWrite, true, ModeAlways }, Ask, all, ""}, // DECISIONS 3
		{"an outside write asks", func(f *Facts) { f.Risk = msg.RiskWrite }, Ask, all, ""},
		{"code asks each time", func(f *Facts) { f.Risk = msg.RiskExec }, Ask, once, ""},
		{"a raised risk asks each time", func(f *Facts) { f.Raised = true }, Ask, once, ""},
		{"a tool that asks every time", func(f *Facts) { f.NoSessionAllow = true }, Ask, once, ""},
		{"remember off", func(f *Facts) { f.Remember = false }, Ask, "allow allow_timed allow_always deny", ""},
		{"a task", func(f *Facts) { f.Surface = Task }, Ask, "allow allow_task allow_timed allow_always deny", ""},
		{"an app's turn", func(f *Facts) { f.Surface = API }, Ask, once, ""},                                                                       // section 6
		{"allowed in this chat", func(f *Facts) { f.HasAllowed, f.Allowed = true, msg.RiskSend }, Run, "", ""},
		{"allowed below", func(f *Facts) { f.HasAllowed, f.Allowed = true, msg.RiskWrite }, Ask, all, ""},
		{"a task knows no chat", func(f *Facts) { f.Surface, f.HasAllowed, f.Allowed = Task, true, msg.RiskExec }, Ask, "", ""},
		{"granted", func(f *Facts) { f.Granted = true }, Run, "", ""},
		{"granted, with an ask rule", func(f *Facts) { f.Granted, f.Rule = true, RuleAsk }, Run, "", ""},
		{"granted, with only if I asked", func(f *Facts) { f.Granted, f.Rule = true, RuleIfAsked }, Run, "", ""},
		{"granted, after outside content", func(f *Facts) { f.Granted, f.Untrusted, f.SendsOut = true, "Web", true }, Ask, once, "before sending"},
		{"granted, with an undecided proposal", func(f *Facts) { f.Granted, f.Weighed = true, true }, Ask, all, ""},
		{"granted, never", func(f *Facts) { f.Granted, f.Rule = true, RuleNever }, Refuse, "", "never use"},
		{"granted, Read only", func(f *Facts) { f.Granted, f.ReadOnly = true, true }, Refuse, "", "Read only"},
		{"granted, unprompted", func(f *Facts) { f.Granted, f.Unprompted = true, true }, Refuse, "", "Nobody asked"},
		{"granted, a purchase", func(f *Facts) { f.Granted, f.Label = true, "Purchase" }, Ask, once, ""},
		{"granted, raised", func(f *Facts) { f.Granted, f.Raised = true, true }, Ask, once, ""},
		{"granted, flagged", func(f *Facts) { f.Granted, f.Warning = true, "Look." }, Ask, once, "Look."},
		{"allow rule", func(f *Facts) { f.Rule = RuleAllow }, Run, "", ""},
		{"allow rule in always", func(f *Facts) { f.Rule, f.Mode = RuleAllow, ModeAlways }, Run, "", ""},
		{"a purchase asks under an allow rule", func(f *Facts) { f.Rule, f.Label = RuleAllow, "Purchase" }, Ask, once, ""},
		{"a purchase asks when allowed here", func(f *Facts) { f.Label, f.HasAllowed, f.Allowed = "Purchase", true, msg.RiskSend }, Ask, once, ""},
		{"a purchase asks in off", func(f *Facts) { f.Label, f.Mode = "Purchase", ModeOff }, Ask, once, ""},
		{"purchases set free", func(f *Facts) { f.Label, f.Mode, f.FreePurchases = "Purchase", ModeOff, true }, Run, "", ""},
		{"a script never buys", func(f *Facts) { f.Surface, f.Label, f.Mode = Script, "Purchase", ModeOff }, Refuse, "", "script"},
		{"a door asks in off", func(f *Facts) { f.Label, f.Mode = "Unlocks a door", ModeOff }, Ask, once, ""},
		{"a door asks under allow", func(f *Facts) { f.Label, f.Rule = "Turns off your alarm", RuleAllow }, Ask, once, ""},
		{"a door asks when allowed here", func(f *Facts) { f.Label, f.HasAllowed, f.Allowed = "Opens a garage door or gate", true, msg.RiskExec }, Ask, once, ""},
		{"locking follows the rules", func(f *Facts) { f.Label, f.Rule = "Locks a door", RuleAllow }, Run, "", ""},
		{"a task asks for a door", func(f *Facts) { f.Surface, f.Label, f.Mode = Task, "Unlocks a door", ModeOff }, Ask, once, ""},
		{"a helper opens nothing", func(f *Facts) { f.Surface, f.Label = Helper, "Unlocks a door" }, Refuse, "", "helper"},
		{"a worker stops at a door", func(f *Facts) { f.Surface, f.Label, f.Mode = Worker, "Unlocks a door", ModeOff }, Refuse, "", "can't stop to ask"},
		{"a script opens nothing", func(f *Facts) { f.Surface, f.Label, f.Mode = Script, "Unlocks a door", ModeOff }, Refuse, "", "script"},
		{"ask rule in off", func(f *Facts) { f.Rule, f.Mode = RuleAsk, ModeOff }, Ask, all, ""},
		{"ask rule for a look-up", func(f *Facts) { f.Rule, f.Risk = RuleAsk, msg.RiskRead }, Ask, all, ""},
		{"ask rule after allow for this chat", func(f *Facts) { f.Rule, f.HasAllowed, f.Allowed = RuleAsk, true, msg.RiskExec }, Ask, all, ""},
		{"ask rule in a task", func(f *Facts) { f.Surface, f.Rule, f.Mode = Task, RuleAsk, ModeOff }, Ask, "", ""},
		{"only if I asked, asked", func(f *Facts) { f.Rule, f.AskedFor = RuleIfAsked, true }, Run, "", ""},
		{"only if I asked, not asked", func(f *Facts) { f.Rule = RuleIfAsked }, Ask, all, ""},
		{"only if I asked, not asked, in off", func(f *Facts) { f.Rule, f.Mode = RuleIfAsked, ModeOff }, Ask, all, ""},
		{"only if I asked has no words in a task", func(f *Facts) { f.Surface, f.Rule, f.AskedFor, f.Mode = Task, RuleIfAsked, true, ModeOff }, Ask, "", ""},
		{"only if I asked, asked, a purchase", func(f *Facts) { f.Rule, f.AskedFor, f.Label = RuleIfAsked, true, "Purchase" }, Ask, once, ""},
		{"never, for the app", func(f *Facts) { f.Rule, f.RuleOfApp = RuleNever, true }, Refuse, "", "You've set Sentient to never use Slack. Change this in Settings > Approvals & safety."},
		{"never, for the tool", func(f *Facts) { f.Rule = RuleNever }, Refuse, "", `You've set Sentient to never use "Post message" in Slack. Change this in Settings > Approvals & safety.`},
		{"never beats a yes", func(f *Facts) { f.Rule, f.Approved = RuleNever, &Approval{Risk: msg.RiskExec} }, Refuse, "", "never use"},
		{"Read only in off, with allow", func(f *Facts) { f.ReadOnly, f.Mode, f.Rule = true, ModeOff, RuleAllow }, Refuse, "", `Slack is set to Read only, so Sentient can look things up there but can't change, send or delete anything. "Post message" was not done. Change this in Integrations.`}, // A-112
		{"Read only lets look-ups run", func(f *Facts) { f.ReadOnly, f.Risk = true, msg.RiskRead }, Run, "", ""},
		{"hand-off beats a yes", func(f *Facts) { f.Rule, f.Approved = RuleHandOff, &Approval{Risk: msg.RiskExec} }, HandOff, "", ""},
		{"hand-off beats off and allowed", func(f *Facts) { f.Rule, f.Mode, f.HasAllowed, f.Allowed = RuleHandOff, ModeOff, true, msg.RiskExec }, HandOff, "", ""},
		{"hand-off comes before outside content and the second look", func(f *Facts) { f.Rule, f.Untrusted, f.SendsOut, f.Warning = RuleHandOff, "Web", true, "x" }, HandOff, "", ""},
		{"hand-off lets look-ups run", func(f *Facts) { f.Rule, f.Risk = RuleHandOff, msg.RiskRead }, Run, "", ""},
		{"hand-off, in a script", func(f *Facts) { f.Rule, f.Surface, f.Mode = RuleHandOff, Script, ModeOff }, Refuse, "", "script"},
		{"hand-off, in a helper", func(f *Facts) { f.Rule, f.Surface, f.Risk = RuleHandOff, Helper, msg.RiskWrite }, Refuse, "", "needs the user's approval"},
		{"a yes runs", func(f *Facts) { f.Approved = &Approval{Risk: msg.RiskSend} }, Run, "", ""},
		{"a yes to less", func(f *Facts) { f.Approved = &Approval{Risk: msg.RiskWrite} }, Ask, all, ""},
		{"a yes to something else", func(f *Facts) { f.Approved, f.Label = &Approval{Risk: msg.RiskExec, Label: "Clicks"}, "Purchase" }, Ask, once, ""},
		{"a yes before the second look", func(f *Facts) { f.Approved, f.Warning = &Approval{Risk: msg.RiskExec}, "Look." }, Ask, once, "Look."},
		{"a yes to the warning", func(f *Facts) { f.Approved, f.Warning = &Approval{Risk: msg.RiskExec, Warned: true}, "Look." }, Run, "", ""},
		{"after outside content a send asks in off", func(f *Facts) { f.Mode, f.Untrusted, f.SendsOut = ModeOff, "Gmail", true }, Ask, once, "Sentient read content from Gmail in this chat, so it checks with you before sending anything."},                                                       // A-883
		{"... under an allow rule too", func(f *Facts) { f.Rule, f.Untrusted, f.SendsOut = RuleAllow, "Gmail", true }, Ask, once, "before sending anything"},                                                                                                                                        // A-883
		{"... and after allow for this chat", func(f *Facts) { f.HasAllowed, f.Allowed, f.Untrusted, f.SendsOut = true, msg.RiskExec, "Gmail", true }, Ask, once, "before sending anything"},                                                                                                        // A-883
		{"an address that carries data", func(f *Facts) { f.Risk, f.Untrusted, f.CarriesData, f.Host = msg.RiskRead, "Web", true, "evil.example" }, Ask, once, "Sentient read content from Web in this chat, and this address could carry your data to evil.example, so it checks with you first."}, // A-884
		{"a clean chat loads any address", func(f *Facts) { f.Risk, f.CarriesData = msg.RiskRead, true }, Run, "", ""},                                                                                                                                                                              // A-884
		{"unprompted work only looks", func(f *Facts) { f.Unprompted, f.Rule = true, RuleAllow }, Refuse, "", "Nobody asked for this work, so Sentient can only look things up. slack_post_message was not done. If it would help, suggest it to the user instead."},                                // A-879
		{"unprompted internal writes run", func(f *Facts) { f.Unprompted, f.Internal, f.Risk = true, true, msg.RiskWrite }, Run, "", ""},                                                                                                                                                            // A-879
		{"unprompted work makes no tasks", func(f *Facts) { f.Unprompted, f.Internal, f.Risk, f.Plugin = true, true, msg.RiskWrite, "tasks" }, Refuse, "", "Nobody asked"},                                                                                                                          // A-879
		{"never comes before unprompted", func(f *Facts) { f.Unprompted, f.Rule = true, RuleNever }, Refuse, "", "never use"},                                                                                                                                                                       // A-920
		{"a worker at an ask rule", func(f *Facts) { f.Surface, f.Rule, f.RuleOfApp = Worker, RuleAsk, true }, Refuse, "", "Slack is set to Ask, and this work can't stop to ask. Change it in Settings > Approvals & safety."},                                                                     // A-082
		{"a worker at only if I asked", func(f *Facts) { f.Surface, f.Rule, f.RuleOfApp = Worker, RuleIfAsked, true }, Refuse, "", `Slack is set to "Only if I asked", which only the user's own chat message can ask for, and this work can't stop to ask.`},                                       // A-089
		{"a worker after outside content", func(f *Facts) { f.Surface, f.Untrusted, f.SendsOut, f.Mode = Worker, "Gmail", true, ModeOff }, Refuse, "", "Not done: this run read content from Gmail, so slack_post_message needs the user's OK first."},                                              // A-885
		{"a worker with a flagged call", func(f *Facts) { f.Surface, f.Warning, f.Mode = Worker, "x", ModeOff }, Refuse, "", "Not done: a second look found a problem, so slack_post_message needs the user's OK first."},                                                                           // A-897
		{"a helper never sends", func(f *Facts) { f.Surface, f.Mode = Helper, ModeOff }, Refuse, "", "a helper can't ask for it"},                                                                                                                                                                   // A-910
		{"a helper at an ask rule", func(f *Facts) { f.Surface, f.Rule, f.Risk = Helper, RuleAsk, msg.RiskRead }, Refuse, "", "needs the user's approval"},                                                                                                                                          // A-083
		{"a script only reads", func(f *Facts) { f.Surface, f.Rule = Script, RuleAllow }, Refuse, "", "A script can't use slack_post_message here."},                                                                                                                                                // A-086
		{"a script at an ask rule", func(f *Facts) { f.Surface, f.Rule, f.Risk, f.Mode = Script, RuleAsk, msg.RiskRead, ModeOff }, Refuse, "", "script"},                                                                                                                                            // A-083
		{"a script in off", func(f *Facts) { f.Surface, f.Mode = Script, ModeOff }, Run, "", ""},                                                                                                                                                                                                    // A-946
		{"an undecided proposal asks under allow", func(f *Facts) { f.Weighed, f.Rule = true, RuleAllow }, Ask, all, ""},                                                                                                                                                                            // A-137
		{"an undecided proposal asks in off", func(f *Facts) { f.Weighed, f.Mode = true, ModeOff }, Ask, all, ""},                                                                                                                                                                                   // A-137
		{"... but not for a look-up in off", func(f *Facts) { f.Weighed, f.Mode, f.Risk = true, ModeOff, msg.RiskRead }, Run, "", ""},                                                                                                                                                               // A-137
		{"a helper at an undecided proposal", func(f *Facts) { f.Weighed, f.Surface, f.Risk, f.Internal = true, Helper, msg.RiskWrite, true }, Refuse, "", "needs the user's approval"},                                                                                                             // A-137
		{"an app deletes in off", func(f *Facts) { f.Surface, f.Mode, f.Deletes, f.Risk = API, ModeOff, true, msg.RiskWrite }, Ask, once, ""},                                                                                                                                                       // A-111
	} {
		f := base()
		c.change(&f)
		r := Judge(f)
		if r.Do != c.do || c.choices != "" && strings.Join(r.Choices, " ") != c.choices || !strings.Contains(r.Refusal+r.Untrusted+r.Warning, c.says) {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
}

func TestOnlyWorkersEnd(t *testing.T) {
	f := base()
	f.Surface, f.Rule = Worker, RuleAsk
	if r := Judge(f); !r.EndsRun || !r.Held {
		t.Errorf("%+v", r)
	}
	f.Surface, f.Risk = Brief, msg.RiskRead
	if r := Judge(f); r.EndsRun || r.Do != Refuse {
		t.Errorf("%+v", r)
	}
}

func TestCovered(t *testing.T) {
	now := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	soon, task, other := msg.Time{Time: now.Add(time.Minute)}, "t1", "t2"
	timed := msg.Grant{Tool: "mail_send", Scope: msg.GrantTimed, Risk: "send", ExpiresAt: &soon}
	tasks := msg.Grant{Tool: "mail_send", Scope: msg.GrantTask, TaskID: &task, Risk: "write"}
	for _, c := range []struct {
		name  string
		grant msg.Grant
		tool  string
		task  string
		risk  msg.Risk
		at    time.Time
		want  bool
	}{
		{"in time", timed, "mail_send", "", msg.RiskSend, now, true},
		{"in a task too", timed, "mail_send", "t9", msg.RiskSend, now, true},
		{"at its end", timed, "mail_send", "", msg.RiskSend, soon.Time, false},
		{"another tool", timed, "mail_reply", "", msg.RiskSend, now, false},
		{"more than was shown", timed, "mail_send", "", msg.RiskExec, now, false},
		{"its task", tasks, "mail_send", task, msg.RiskWrite, now, true},
		{"its task, more", tasks, "mail_send", task, msg.RiskSend, now, false},
		{"another task", tasks, "mail_send", other, msg.RiskRead, now, false},
		{"a chat", tasks, "mail_send", "", msg.RiskRead, now, false},
		{"a timed one without an end covers nothing", msg.Grant{Tool: "x", Scope: msg.GrantTimed, Risk: "exec"}, "x", "", msg.RiskRead, now, false},
		{"an unknown scope", msg.Grant{Tool: "x", Scope: "chat", Risk: "exec"}, "x", "", msg.RiskRead, now, false},
	} {
		if got := Covered([]msg.Grant{{Tool: "z"}, c.grant}, c.tool, c.task, c.risk, c.at); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func anyFacts(t *rapid.T) Facts {
	b := func(n string) bool { return rapid.Bool().Draw(t, n) }
	risk := func(n string) msg.Risk { return msg.Risk(rapid.IntRange(0, 3).Draw(t, n)) }
	f := Facts{Surface: Surface(rapid.IntRange(0, int(surfaces)-1).Draw(t, "surface")), Tool: "t", ToolName: "T", Plugin: rapid.SampledFrom([]string{"p", "tasks"}).Draw(t, "plugin"), App: "A",
		Risk: risk("risk"), Raised: b("raised"), Internal: b("internal"), Deletes: b("deletes"), Label: rapid.SampledFrom([]string{"", "Purchase", "Unlocks a door"}).Draw(t, "label"),
		Mode: rapid.SampledFrom([]string{ModeOff, ModeAsk, ModeAlways}).Draw(t, "mode"), Rule: rapid.SampledFrom(levels).Draw(t, "rule"), AskedFor: b("asked"), ReadOnly: b("read only"), Weighed: b("weighed"),
		Unprompted: b("unprompted"), FreePurchases: b("free"), Remember: b("remember"), NoSessionAllow: b("no session"), HasAllowed: b("has"), Allowed: risk("allowed"), Granted: b("granted"),
		Untrusted: rapid.SampledFrom([]string{"", "Web"}).Draw(t, "untrusted"), SendsOut: b("sends"), CarriesData: b("carries"), Warning: rapid.SampledFrom([]string{"", "w"}).Draw(t, "warning")}
	if b("approved") {
		f.Approved = &Approval{Risk: risk("yes risk"), Label: rapid.SampledFrom([]string{"", "Purchase"}).Draw(t, "yes label"), Untrusted: b("yes untrusted"), Warned: b("yes warned")}
	}
	return f
}

var levels = strictness

func TestTighten(t *testing.T) {
	tools := func(app string) []string { return map[string][]string{"gmail": {"gmail_send", "gmail_trash"}}[app] }
	app := func(tool string) string { return strings.Split(tool, "_")[0] }
	for _, c := range []struct {
		name  string
		rules map[string]string
		keys  string
		rule  string
		want  map[string]string
	}{
		{"a tool", nil, "gmail_trash", RuleNever, map[string]string{"gmail_trash": RuleNever}},
		{"a stricter rule stays", map[string]string{"gmail_trash": RuleNever}, "gmail_trash", RuleAsk, nil},
		{"a stricter rule of the app stays", map[string]string{"gmail": RuleNever}, "gmail_trash", RuleAsk, nil},
		{"a looser rule goes", map[string]string{"gmail_trash": RuleAllow}, "gmail_trash", RuleAsk, map[string]string{"gmail_trash": RuleAsk}},
		{"an app", nil, "gmail", RuleAsk, map[string]string{"gmail": RuleAsk}},
		{"an app, with a looser tool in it", map[string]string{"gmail_send": RuleAllow}, "gmail", RuleAsk, map[string]string{"gmail": RuleAsk, "gmail_send": RuleAsk}},
		{"an app, with a stricter tool in it", map[string]string{"gmail_send": RuleNever}, "gmail", RuleAsk, map[string]string{"gmail": RuleAsk}},
		{"an app that is stricter, with a looser tool", map[string]string{"gmail": RuleNever, "gmail_send": RuleAllow}, "gmail", RuleAsk, map[string]string{"gmail_send": RuleAsk}},
	} {
		got := Tighten(c.rules, strings.Fields(c.keys), c.rule, app, tools)
		if len(got) != len(c.want) || !reflect.DeepEqual(got, c.want) && len(got) > 0 {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// Whatever is accepted, no tool ends up with a looser rule than it had.
func TestTightenNeverLoosens(t *testing.T) {
	all := []string{"a", "a_1", "a_2", "b_1"}
	tools := func(app string) []string { return map[string][]string{"a": {"a_1", "a_2"}}[app] }
	app := func(tool string) string { return tool[:1] }
	rapid.Check(t, func(t *rapid.T) {
		rules := map[string]string{}
		for _, k := range all {
			if r := rapid.SampledFrom(levels).Draw(t, k); r != "" {
				rules[k] = r
			}
		}
		keys := rapid.SliceOfDistinct(rapid.SampledFrom(all), func(s string) string { return s }).Draw(t, "keys")
		after := map[string]string{}
		for k, v := range rules {
			after[k] = v
		}
		for k, v := range Tighten(rules, keys, rapid.SampledFrom(levels).Draw(t, "rule"), app, tools) {
			after[k] = v
		}
		for _, tool := range []string{"a_1", "a_2", "b_1"} {
			was, _ := RuleFor(rules, tool, app(tool))
			is, _ := RuleFor(after, tool, app(tool))
			if Tighter(was, is) {
				t.Fatalf("%s: %q became %q", tool, was, is)
			}
		}
	})
}

// looser orders rulings: a run is looser than a question, a question looser than no.
func looser(d Deed) int { return map[Deed]int{Run: 0, Ask: 1, HandOff: 2, Refuse: 2}[d] }

// TestNothingWidens: whatever the rest says, more caution never makes a call run, or ask, that would not have before.
func TestNothingWidens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := anyFacts(t)
		before := Judge(f)
		g := f
		switch rapid.IntRange(0, 11).Draw(t, "caution") {
		case 0:
			g.Untrusted = "Web"
		case 1: // a stricter rule never yields a looser outcome
			i := 0
			for levels[i] != f.Rule {
				i++
			}
			g.Rule = levels[rapid.IntRange(i, len(levels)-1).Draw(t, "stricter")]
			if g.Rule == RuleHandOff && g.Risk == msg.RiskRead { // look-ups run as usual under it
				g.Rule = f.Rule
			}
		case 2:
			g.Risk = min(g.Risk+1, msg.RiskExec)
		case 3:
			g.HasAllowed = false
		case 4:
			g.Approved = nil
		case 5:
			g.SendsOut = true
		case 6:
			g.Granted = false
		case 7:
			g.Warning = "w"
		case 8:
			g.ReadOnly = true
		case 9:
			g.Weighed = true
		case 10:
			g.Mode = ModeAlways
		case 11:
			g.AskedFor = false
		}
		if after := Judge(g); looser(after.Do) < looser(before.Do) {
			t.Fatalf("%+v: %v, more careful %+v: %v", f, before.Do, g, after.Do)
		}
	})
}

// TestAlways: what holds whatever else is true.
func TestAlways(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := anyFacts(t)
		r := Judge(f)
		if (f.Rule == RuleNever || f.ReadOnly && f.Risk > msg.RiskRead) && r.Do != Refuse {
			t.Fatalf("%+v: %v", f, r.Do)
		}
		if f.Approved == nil && r.Do == Run && (f.purchase() || f.OpensHome() || f.Untrusted != "" && f.SendsOut || f.Warning != "" || f.Rule == RuleAsk && !f.Granted) {
			t.Fatalf("%+v runs unasked", f)
		}
		if f.Rule == RuleHandOff && f.Risk > msg.RiskRead && (r.Do == Run || r.Do == Ask) {
			t.Fatalf("%+v: %v", f, r.Do)
		}
		if r.Do == Ask && !f.Surface.asks() || r.Do == Refuse && r.Refusal == "" || r.Do == Ask && len(r.Choices) < 2 {
			t.Fatalf("%+v: %+v", f, r)
		}
		if r.Do == Ask && len(r.Choices) > 2 && (f.onceOnly() || r.Untrusted != "" || r.Warning != "") {
			t.Fatalf("%+v offers %v", f, r.Choices)
		}
	})
}

func BenchmarkJudge(b *testing.B) {
	rules := map[string]string{}
	for i := range 1000 {
		rules["tool_"+strings.Repeat("x", i%40)+string(rune('a'+i%26))] = RuleAsk
	}
	grants := make([]msg.Grant, 200)
	now := time.Now()
	for i := range grants {
		grants[i] = msg.Grant{Tool: "other", Scope: msg.GrantTimed, Risk: "send", ExpiresAt: &msg.Time{Time: now.Add(time.Hour)}}
	}
	f := base()
	for b.Loop() {
		f.Rule, f.RuleOfApp = RuleFor(rules, f.Tool, f.Plugin)
		f.Granted = Covered(grants, f.Tool, "", f.Risk, now)
		if Judge(f).Do != Ask {
			b.Fatal("ran")
		}
	}
}
