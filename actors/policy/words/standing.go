package words

import (
	"slices"
	"strings"

	"sentient/actors/policy"
)

// maxSaid is how much of the person's words a proposal shows.
const maxSaid = 300

// Phrases of a standing instruction, by the level they mean. A sentence with one of them is looked at further.
var (
	standing = []string{"never", "don't", "dont", "do not", "must not", "mustn't", "should not", "shouldn't", "not allowed to", "stop", "no more", "avoid"}
	asksMe   = []string{"without asking", "always ask", "ask me first", "ask me before", "ask first", "ask before", "check with me", "confirm with me", "without my ok", "without my permission", "without my approval",
		"without checking", "unless i say", "unless i approve", "unless i confirm", "unless i ok", "unless i agree"}
	ifAsked = []string{"unless i ask", "unless i tell", "unless i asked", "only when i tell", "only when i ask", "only if i ask", "only if i tell", "unless i explicitly", "only when i say", "only if i say", "only when asked", "only on request"}
	handMe  = []string{"i'll send", "i will send", "i'll post", "i will post", "i'll do it myself", "i'll do that myself", "myself", "hand it to me", "hand them to me", "hand that to me", "let me press send", "let me send",
		"let me post", "just draft", "only draft", "just prepare", "only prepare", "leave the sending to me", "leave it to me"}
)

// notStanding are words of a sentence that is about this request, or about something else than the assistant's doing.
var (
	onlyNow = []string{"this time", "just this once", "this once", "for now", "right now", "in part", "in step", "for today", "today", "tonight", "yet", "at the moment", "for this one", "in this case", "in this reply", "in your reply",
		"in your answer", "in this summary", "this one", "for the moment", "until i"}
	noRule = []string{"don't ask me", "do not ask me", "dont ask me", "stop asking", "don't ask again", "never ask me", "no need to ask", "don't need to ask", "don't have to ask", "without asking me again", "never mind", "nevermind",
		"don't worry", "dont worry", "do not worry", "don't bother", "don't know", "dont know", "do not know", "don't think", "don't want to", "don't understand", "don't remember", "don't have", "don't see", "don't like", "don't get",
		"don't care", "don't need", "don't forget", "do not forget", "never heard", "never seen", "never been", "never used", "stop it", "i don't", "i dont", "i do not", "i never", "we never", "we don't", "he never", "she never", "they never",
		"you never", "it never", "they don't", "it doesn't", "why don't", "why not", "bus stop", "next stop"}
)

// StandingRule is the pre-filter: whether a message reads like a standing "never", "ask me first", "only if I ask" or "hand it to
// me" about something the assistant does. said is the sentences that do, at most 300 characters. It is cheap and errs on the
// side of looking: what it lets through is weighed by a model, and decided by the person (section 2, "Rules from chat").
func StandingRule(text string) (said string, ok bool) {
	var list []string
	for _, s := range sentences(ends(text)) {
		if !s.asks && standingSentence(flat(s.text)) {
			list = append(list, s.text)
		}
	}
	said = clip(strings.Join(list, " "), maxSaid)
	return said, said != ""
}

// ends are the beginning and the end of a text that is longer than a person writes: rules stand there, what is pasted between.
func ends(text string) string {
	const reach = 4000 // bytes
	if len(text) <= 2*reach {
		return text
	}
	return strings.ToValidUTF8(text[:reach], "") + "\n" + strings.ToValidUTF8(text[len(text)-reach:], "")
}

// flat is a sentence in small letters with single spaces and one at each end, without its punctuation.
func flat(s string) string {
	return " " + strings.Join(slices.Concat(clauses(s)...), " ") + " "
}

var wishes = strings.NewReplacer(" i don't want you to ", " don't ", " i dont want you to ", " don't ", " i do not want you to ", " don't ", " i never want you to ", " never ", " you never ", " never ", " you don't ", " don't ")

// standingSentence judges one sentence, as flat gives it.
func standingSentence(f string) bool {
	if hasPhrase(f, onlyNow) {
		return false
	}
	if hasPhrase(f, asksMe) || hasPhrase(f, ifAsked) {
		return !hasPhrase(f, []string{"don't ask me", "stop asking", "never ask me", "no need to ask", "don't need to ask", "without asking me again"})
	}
	if hasPhrase(f, handMe) {
		return !hasPhrase(f, []string{"for myself", "about myself", "by myself", "introduce myself"})
	}
	wanted := wishes.Replace(f)
	if strings.Contains(f, " you never ") && !strings.Contains(f, " ever ") && !strings.Contains(f, " make sure ") && !strings.Contains(f, " want ") {
		wanted = f
	}
	return hasPhrase(wanted, standing) && !hasPhrase(wanted, noRule)
}

func hasPhrase(flat string, phrases []string) bool {
	return slices.ContainsFunc(phrases, func(p string) bool { return strings.Contains(flat, " "+p+" ") })
}

// Level is the level of a rule, decided from the words: what hands over, what waits to be asked, what names a condition;
// else the model's choice between never and ask.
func Level(said, modelRule string) string {
	f := flat(said)
	switch {
	case hasPhrase(f, handMe):
		return policy.RuleHandOff
	case hasPhrase(f, ifAsked):
		return policy.RuleIfAsked
	case hasPhrase(f, asksMe), modelRule != policy.RuleNever:
		return policy.RuleAsk
	}
	return policy.RuleNever
}

// RuleTool is a tool that a standing rule can be about.
type RuleTool struct {
	Name, Plain, Description, App, Plugin string
	Rule                                  string // that applies now: the tool's own, else its app's
	OwnRule, AppRule                      string
}

const maxCandidates = 60

// Candidates are the tools whose names or descriptions share a word with the message.
func Candidates(text string, tools []RuleTool) []RuleTool {
	said := map[string]bool{}
	for _, w := range nameWords(text) {
		for _, s := range stems(w) {
			said[s] = true
		}
	}
	var list []RuleTool
	for _, t := range tools {
		if slices.ContainsFunc(nameWords(t.Name+" "+t.Plain+" "+t.App+" "+t.Plugin+" "+t.Description), func(w string) bool {
			return slices.ContainsFunc(stems(w), func(s string) bool { return said[s] })
		}) {
			list = append(list, t)
		}
		if len(list) == maxCandidates {
			break
		}
	}
	return list
}

// common words say nothing about a tool.
var common = words(`the and for with from this that you your our are was not don dont never always ask asking before after first without when unless only any all one new its into onto out off who what
	which use using used will would can could should have has had been being please just make sure want need tell say let them they then than there here where how why get got put set way thing things something
	anything person people user users them about also more most some such via per app apps tool tools other others`)

// stems are the forms under which a word is found: itself and what its endings are on, with the words that mean the same.
func stems(w string) []string {
	if len(w) < 3 || slices.Contains(common, w) {
		return nil
	}
	s := stem(w)
	for _, g := range meaning {
		if slices.Contains(g, s) {
			return g
		}
	}
	return []string{s}
}

var meaning = [][]string{words("delet remov eras trash bin discard"), words("email mail gmail inbox"), words("send sent"), words("post publish tweet"), words("pay payment money buy purchas order checkout spend"), words("message dm text chat"),
	words("unlock open door lock"), words("calendar event meet appointment")}

func stem(w string) string {
	for _, end := range []string{"ing", "ed", "es", "s", "e"} {
		if len(w) > len(end)+2 && strings.HasSuffix(w, end) {
			w = strings.TrimSuffix(w, end)
			break
		}
	}
	if len(w) > 3 && w[len(w)-1] == w[len(w)-2] { // emailled, shopping
		w = w[:len(w)-1]
	}
	return w
}

func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
