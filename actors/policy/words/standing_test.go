package words

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sentient/actors/policy"
)

func rt(name, plain, app, about string) RuleTool {
	return RuleTool{Name: name, Plain: plain, App: app, Plugin: strings.Split(name, "_")[0], Description: about}
}

var ruleTools = []RuleTool{
	rt("gmail_send", "Send", "Gmail", "Send an email"), rt("gmail_trash", "Trash", "Gmail", "Move an email to the trash"), rt("gmail_search", "Search", "Gmail", "Search the email inbox"),
	rt("slack_post_message", "Post message", "Slack", "Post a message to a channel"), rt("slack_search", "Search", "Slack", "Search messages"),
	rt("shop_buy", "Buy", "Shop", "Buy a product with your money"), rt("browser_open", "Open", "Browser", "Open a web page"), rt("notion_create_page", "Create page", "Notion", "Create a page"),
	rt("time_now", "Now", "Time", "Say what time it is"),
}

// what passes the pre-filter, and the level its words mean. "" does not pass.
func TestStandingRule(t *testing.T) {
	for text, want := range map[string]string{
		"never delete my emails": "never", "Don't post to Slack without asking me": "ask", "always ask before sending money": "ask", "Please never use Slack.": "never", "do not touch my Notion": "never", "You must not buy anything.": "never",
		"Ask me first before you send anything": "ask", "don't send emails unless I ask": "if_asked", "only send emails when I tell you to, only when I tell you to": "if_asked", "never post to Slack unless I tell you": "if_asked",
		"I'll send them myself": "hand_off", "hand it to me when an email is ready": "hand_off", "let me press send on emails": "hand_off", "just draft emails, I will send them": "hand_off", "don’t delete my emails": "never", "dont use slack": "never",
		"I don't want you to delete emails": "never", "I never want you to post on Slack": "never", "Check with me before buying anything": "ask", "stop posting to Slack": "never", "You should not open the browser": "never",
		"Never delete my emails. Also, how are you?": "never",
		"don't ask me": "", "stop asking": "", "stop asking me before you send": "", "no need to ask me": "", "never mind": "", "don't worry about it": "", "I don't know how to send email": "", "I never use Slack": "", "I don't like Slack": "",
		"don't delete it this time": "", "just this once don't send it": "", "don't send it for now": "", "don't mention Slack in part A": "", "in step 2 do not post": "", "why don't you email Priya?": "", "don't you think so?": "", "email Priya": "",
		"summarize my emails": "", "": "", "they never answer": "", "you never told me": "", "he never sends emails": "", "don't forget to email Priya": "", "tell me about myself": "ask?",
		"don't send it yet": "", "never ask me again": "", "no need to ask before sending": "",
		"Could you always ask me before sending emails?": "ask", "Never send emails until I approve them": "ask", "I don't want my emails deleted": "never", "Under no circumstances delete my emails": "never", "hands off my Notion": "never",
		"I want to approve every email before it goes out": "ask", "leave my calendar alone": "never", "Run it by me before you post": "ask", "get my permission before buying": "ask", "never post without my OK": "ask", "always confirm before you pay": "ask",
		"From now on, don't delete emails": "never", "Please make sure you never ever delete emails": "never", "don't delete any of it": "never", "never delete it": "never", "you may not open my notes": "never", "refrain from posting": "never",
		"Only post when I tell you to... I mean only when I tell you to": "if_asked", "send emails only if I ask": "if_asked", "unless I explicitly say so, don't post": "if_asked", "I'd rather send emails myself": "hand_off", "I'll send the emails myself": "hand_off",
		"just draft it": "hand_off", "let me press send": "hand_off", "I will post them": "hand_off",
		"I'll send you the file tomorrow": "", "I'll send Priya the notes": "", "Translate \"never delete my emails\"": "", "don't send it": "", "do not delete that": "", "don't do that": "", "stop that now": "", "don't delete this email": "", "never use bullets in this reply": "",
		"don't archive it until I am back": "", "Will you never delete my emails?": "", "did you never delete my emails?": "", "do you never ask me first?": "", "don't always ask me first": "", "send it without asking me again": "",
		"she said \"don't ever delete my emails\"": "", "I never said that": "", "we don't use Slack": "", "never forget a friend": "", "delete my emails": "", "ok": "", "I wrote it myself": "", "don't post it in section 3": "",
	} {
		said, ok := StandingRule(text)
		if want == "ask?" { // only looked at further
			continue
		}
		if ok != (want != "") {
			t.Errorf("%q passes: %v", text, ok)
			continue
		}
		if ok {
			model := "never"
			if got := Level(said, model); got != want {
				t.Errorf("%q: %q, wanted %q", text, got, want)
			}
		}
	}
	if said, _ := StandingRule("Hello there. Never delete my emails. And thanks!"); said != "Never delete my emails" {
		t.Error(said)
	}
}

// the model only picks between never and ask, and only where the words do not say.
func TestLevelIsDecidedInCode(t *testing.T) {
	for _, c := range []struct{ said, model, want string }{
		{"never delete my emails", "never", "never"}, {"never delete my emails", "ask", "ask"}, {"never delete my emails", "allow", "ask"}, {"never delete my emails", "", "ask"}, {"never delete my emails", "hand_off", "ask"},
		{"don't post without asking me", "never", "ask"}, {"I'll send them myself", "never", "hand_off"}, {"don't send unless I ask", "allow", "if_asked"},
	} {
		if got := Level(c.said, c.model); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

func names(c []RuleTool) (list []string) {
	for _, t := range c {
		list = append(list, t.Name)
	}
	return list
}

// tools that share a word with the message; without any, no model is asked.
func TestCandidates(t *testing.T) {
	for text, want := range map[string]string{
		"never delete my emails": "gmail_send gmail_trash gmail_search", "never use Slack": "slack_post_message slack_search", "ask before sending money": "gmail_send shop_buy", "don't touch my garden": "",
		"don't call browser_open": "browser_open", "never do anything": "",
	} {
		if got := strings.Join(names(Candidates(text, ruleTools)), " "); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// read tolerantly, and only what was among the candidates.
func TestParse(t *testing.T) {
	for answer, want := range map[string]string{
		`{"keys": ["gmail_trash"], "rule": "never"}`: "gmail_trash never", "Sure!\n```json\n{\"keys\": [\"slack\"], \"rule\": \"Ask\"}\n```": "slack ask", `{'keys': ['gmail_trash'], 'rule': 'never'}`: "gmail_trash never",
		`{"keys": "gmail_trash, slack", "rule": "ask"}`: "gmail_trash slack ask", `{"keys": ["gmail_trash", "evil", 7, "gmail_trash", " slack "], "rule": "ask"}`: "gmail_trash slack ask", `{"keys": [], "rule": "never"}`: "never",
		`I think {this} is {"keys": ["slack"], "rule": "never"}`: "slack never",
		`{"keys": ["slack",], "rule": "never",}`:                 "slack never", `{"keys": ["Gmail_Trash"], "rule": "NEVER"}`: "gmail_trash never", `{"keys": ["slack"], "rule": "allow"}`: "slack ask", `{"keys": ["slack"], "rule": null}`: "slack ask", `{"keys": ["slack"]}`: "slack ask",
		`{"result": {"keys": ["slack"], "rule": "never"}}`: "slack never", `{"keys": {"slack": true}, "rule": "never"}`: "never", `{"keys": [""], "rule": "never"}`: "never",
		"no": "error", "": "error", `{"rule": "never"}`: "error", `{"keys": ["slack"`: "error", `[]`: "error",
	} {
		keys, rule, err := Parse(answer, ruleTools)
		got := strings.TrimSpace(strings.Join(keys, " ") + " " + rule)
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%q: %q, wanted %q", answer, got, want)
		}
	}
}

// what the words name, not more.
func TestNarrow(t *testing.T) {
	for _, c := range []struct{ said, keys, want string }{
		{"never delete my emails", "gmail", "gmail_trash"}, {"never delete my emails", "gmail_trash", "gmail_trash"}, {"never delete my emails", "gmail_send", ""},
		{"never use Slack", "slack", "slack"}, {"don't touch my Notion", "notion", "notion"}, {"never archive my Slack", "slack", ""},
		{"never delete my emails. never use Slack", "gmail slack", "gmail_trash slack"}, {"don't call browser_open", "browser", "browser_open"}, {"don't call browser_open", "browser_open", "browser_open"},
		{"don't post to Slack without asking me", "slack", "slack_post_message"}, {"always ask before sending money", "shop", ""}, {"always ask before buying in the Shop", "shop", "shop_buy"},
		{"don't touch my email messages", "gmail", "gmail"}, {"never delete my emails and never use Slack", "gmail slack", "gmail_trash slack"}, {"check with me before using Slack", "slack", "slack"},
		{"don't call browser_open", "", ""}, {"don't call `browser_open`, ever", "browser", "browser_open"}, {"Slack messages must never be posted", "slack", "slack_post_message"}, {"don't ever let anyone post on Slack", "slack", "slack_post_message"},
		{"never send Slack messages", "slack", "slack_post_message"}, {"never use my order in the Shop", "shop", "shop"}, {"never automatically post to Slack", "slack", "slack_post_message"}, {"I'll send my emails myself", "gmail", "gmail_send"},
		{"never open web pages", "browser", "browser_open"}, {"never create pages in Notion", "notion", "notion_create_page"}, {"never send my emails", "gmail", "gmail_send"}, {"never use Gmail", "gmail_send", "gmail_send"},
	} {
		got := Narrow(c.said, strings.Fields(c.keys), ruleTools)
		if strings.Join(got, " ") != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// what an equal or stricter rule or proposal covers is not proposed again.
func TestPropose(t *testing.T) {
	with := func(name, own, app string) []RuleTool {
		list := slices.Clone(ruleTools)
		for i := range list {
			if list[i].Name == name {
				list[i].OwnRule = own
			}
			if list[i].Plugin == strings.Split(name, "_")[0] {
				list[i].AppRule = app
			}
			if list[i].Rule = list[i].OwnRule; list[i].Rule == "" {
				list[i].Rule = list[i].AppRule
			}
		}
		return list
	}
	const trash, slack = `{"keys":["gmail_trash"],"rule":"never"}`, `{"keys":["slack"],"rule":"never"}`
	for _, c := range []struct {
		name, said, answer string
		tools              []RuleTool
		pending            map[string]string
		want               string
	}{
		{"new", "never delete my emails", trash, ruleTools, nil, "gmail_trash never"},
		{"as strict already", "never delete my emails", trash, with("gmail_trash", "never", ""), nil, ""},
		{"stricter already", "ask me first before you delete my emails", trash, with("gmail_trash", "never", ""), nil, ""},
		{"looser now", "never delete my emails", trash, with("gmail_trash", "allow", ""), nil, "gmail_trash never"},
		{"the app is as strict", "never delete my emails", trash, with("gmail_trash", "", "never"), nil, ""},
		{"proposed already", "never delete my emails", trash, ruleTools, map[string]string{"gmail_trash": "never"}, ""},
		{"a milder proposal waits", "never delete my emails", trash, ruleTools, map[string]string{"gmail_trash": "ask"}, "gmail_trash never"},
		{"proposed for the app already", "never delete my emails", trash, ruleTools, map[string]string{"gmail": "never"}, ""},
		{"an app", "never use Slack", slack, ruleTools, nil, "slack never"},
		{"an app with the rule", "never use Slack", slack, with("slack_search", "", "never"), nil, ""},
		{"an app with the rule, and a looser tool in it", "never use Slack", slack, with("slack_search", "allow", "never"), nil, "slack never"},
		{"an app and a tool in it", "never use Slack", `{"keys":["slack_search","slack"],"rule":"never"}`, ruleTools, nil, "slack never"},
		{"handed over already", "ask me first before you delete my emails", trash, with("gmail_trash", "hand_off", ""), nil, ""},
		{"a stricter app and a looser tool", "ask me first before you delete my emails", trash, with("gmail_trash", "allow", "never"), nil, "gmail_trash ask"},
		{"if asked", "don't delete my emails unless I ask", trash, with("gmail_trash", "allow", ""), nil, "gmail_trash if_asked"},
		{"if asked is looser than ask", "don't delete my emails unless I ask", trash, with("gmail_trash", "ask", ""), nil, ""},
		{"nonsense", "never use Slack", "no idea", ruleTools, nil, ""},
	} {
		keys, rule, ok := Propose(c.said, c.answer, c.tools, c.pending)
		if got := strings.TrimSpace(strings.Join(keys, " ") + " " + rule); ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%s: %q %v", c.name, got, ok)
		}
	}
}

// Whatever a model answers, a proposal is of the candidates, and loosens nothing.
func TestProposalsNeverLoosen(t *testing.T) {
	levels := []string{"", policy.RuleAllow, policy.RuleIfAsked, policy.RuleAsk, policy.RuleHandOff, policy.RuleNever}
	rapid.Check(t, func(t *rapid.T) {
		tools := slices.Clone(ruleTools)
		for i := range tools {
			tools[i].OwnRule, tools[i].AppRule = rapid.SampledFrom(levels).Draw(t, "own"), rapid.SampledFrom(levels).Draw(t, "app")
			if tools[i].Rule = tools[i].OwnRule; tools[i].Rule == "" {
				tools[i].Rule = tools[i].AppRule
			}
		}
		said := rapid.SampledFrom([]string{"never delete my emails", "ask me first", "never use Slack", "I'll send it myself", "don't send unless I ask"}).Draw(t, "said")
		answer := rapid.SampledFrom([]string{`{"keys":["gmail","slack"],"rule":"%"}`, `{"keys":["gmail_trash","gmail_send","x"],"rule":"%"}`}).Draw(t, "answer")
		keys, rule, ok := Propose(said, strings.Replace(answer, "%", rapid.SampledFrom(append(levels, "delete all")).Draw(t, "rule"), 1), tools, nil)
		if !ok {
			return
		}
		if rule == policy.RuleAllow || rule == "" {
			t.Fatalf("%q is proposed", rule)
		}
		for _, k := range keys {
			i := slices.IndexFunc(tools, func(x RuleTool) bool { return x.Name == k })
			if i >= 0 && !policy.Tighter(rule, tools[i].Rule) {
				t.Fatalf("%s: %q in the place of %q", k, rule, tools[i].Rule)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"keys":["slack"],"rule":"never"}`, `{{{{`, `{'keys': "a"}`, strings.Repeat("{", 1000)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		keys, _, _ := Parse(answer, ruleTools)
		for _, k := range keys {
			if !slices.ContainsFunc(ruleTools, func(x RuleTool) bool { return x.Name == k || x.Plugin == k }) {
				t.Fatalf("%q came from nowhere", k)
			}
		}
		Propose("never delete my emails", answer, ruleTools, nil)
	})
}

// loosest first.
func TestStrictness(t *testing.T) {
	order := []string{"allow", "", "if_asked", "ask", "hand_off", "never"}
	for i, a := range order {
		for j, b := range order {
			if Tighter(a, b) != (i > j) || (Strictness(a) > Strictness(b)) != (i > j) {
				t.Errorf("%q and %q", a, b)
			}
		}
	}
}

// A model that is told of a message sees the keys it may answer with, and no more of the message than it needs.
func TestPrompt(t *testing.T) {
	_, user := Prompt("never "+strings.Repeat("x", 5000), ruleTools[:4])
	if strings.Count(user, "x") > 1510 || strings.Count(user, "gmail: everything in Gmail") != 1 || !strings.Contains(user, "gmail_trash: Gmail > Trash. Move an email to the trash") || !strings.Contains(user, "slack: everything in Slack") {
		t.Error(user)
	}
}

// Of many tools that share a word, those that share the most are weighed.
func TestCandidatesOfMany(t *testing.T) {
	var many []RuleTool
	for i := range 200 {
		many = append(many, rt("crowd_tool"+string(rune('a'+i%26)), "Tool", "Crowd", "Something with an email"))
	}
	got := names(Candidates("never delete my emails", append(many, ruleTools...)))
	if len(got) != maxCandidates || !slices.Contains(got, "gmail_trash") {
		t.Error(got)
	}
}
