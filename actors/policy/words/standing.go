package words

import (
	"slices"
	"strings"

	"sentient/actors/msg"
	"sentient/actors/policy"
)

// maxSaid is how much of the person's words a proposal shows, in characters.
const maxSaid = 300

// Phrases of a standing instruction, by the level they mean. A sentence with one of them is looked at further.
var (
	// strong phrases are standing whatever they are about; weak ones may be about the thing at hand.
	strong = []string{"never", "must not", "mustn't", "not allowed to", "no more", "under no circumstances", "in no case", "may not", "hands off", "off limits"}
	weak   = []string{"don't", "dont", "do not", "should not", "shouldn't", "stop", "avoid", "refrain from", "you can't", "you cannot"}
	asksMe = []string{"without asking", "always ask", "ask me first", "ask me before", "ask first", "ask before", "check with me", "checking with me", "confirm with me", "without my ok", "without my okay", "without my permission", "without my approval",
		"without checking", "unless i say", "unless i approve", "unless i confirm", "unless i ok", "unless i agree", "until i approve", "until i confirm", "until i ok", "until i agree", "until i say", "run it by me", "get my approval", "get my permission",
		"get my ok", "my approval first", "my permission first", "ask for my", "ask my permission", "always confirm", "want to approve", "need to approve", "want to be asked", "needs my ok", "needs my approval", "let me approve", "let me confirm"}
	ifAsked = []string{"unless i ask", "unless i tell", "unless i asked", "only when i tell", "only when i ask", "only if i ask", "only if i tell", "unless i explicitly", "only when i say", "only if i say", "only when asked", "only on request"}
	handMe  = []string{"hand it to me", "hand them to me", "hand that to me", "let me press send", "let me send", "let me post", "just draft", "only draft", "just prepare", "only prepare", "leave the sending to me", "leave it to me",
		"i'll send them", "i will send them", "i'll send everything", "i'll post them", "i will post them", "i'll do it myself", "i'll do that myself"}
	mine = []string{"i'll", "i will", "i want to", "i'd rather", "i prefer", "let me", "i like to", "i'd like to", "i always"}
)

// Sentences that are about this request, or about something else than the assistant's doing.
var (
	onlyNow = []string{"this time", "just this once", "this once", "for now", "right now", "in part", "in step", "in section", "for today", "today", "tonight", "yet", "at the moment", "for this", "in this", "in your reply", "in your answer",
		"this one", "this email", "this message", "this reply", "this document", "this report", "this text", "for the moment", "until i", "until further notice", "the rest of this chat"}
	noRule = []string{"don't ask me", "do not ask me", "dont ask me", "stop asking", "don't ask again", "never ask me", "no need to ask", "don't need to ask", "don't have to ask", "without asking me again", "never mind", "nevermind",
		"don't worry", "dont worry", "do not worry", "don't bother", "don't know", "dont know", "do not know", "don't think", "don't want to", "don't understand", "don't remember", "don't have", "don't see", "don't like", "don't get",
		"don't care", "don't need", "don't forget", "do not forget", "never forget", "never heard", "never seen", "never been", "never used", "stop it", "i don't", "i dont", "i do not", "i never", "we never", "we don't", "he never", "she never", "they never",
		"you never", "it never", "they don't", "it doesn't", "why don't", "why not", "bus stop", "next stop"}
	keepsAsking = []string{"don't ask me", "do not ask me", "dont ask me", "stop asking", "never ask me", "no need to ask", "don't need to ask", "don't have to ask", "without asking me again", "don't always ask", "do not always ask"}
	sweeping    = []string{"never", "always", "any", "anything", "ever", "every", "everything", "all"}
)

// StandingRule is the pre-filter: whether a message reads like a standing "never", "ask me first", "only if I ask" or "hand it to
// me" about something the assistant does. said is the sentences that do, at most 300 characters. It is cheap and errs on the
// side of looking: what it lets through is weighed by a model, and decided by the person (section 2, "Rules from chat").
func StandingRule(text string) (said string, ok bool) {
	var list []string
	for _, s := range sentences(ends(text, stated)) {
		if standingSentence(s) {
			list = append(list, s.text)
		}
	}
	said = msg.Clip(strings.Join(list, " "), maxSaid)
	return said, said != ""
}

// stated is how far from the ends of a text a rule is looked for, in bytes.
const stated = 4000

// ends are the beginning and the end of a text that is longer than a person writes; what is pasted stands between.
func ends(text string, reach int) string {
	if len(text) <= 2*reach {
		return text
	}
	return strings.ToValidUTF8(text[:reach], "") + "\n" + strings.ToValidUTF8(text[len(text)-reach:], "")
}

// flat is words with single spaces and one at each end.
func flat(w []string) string { return " " + strings.Join(w, " ") + " " }

// flatten is a text in small letters without its punctuation and what it quotes.
func flatten(text string) string {
	var list []string
	for _, s := range sentences(text) {
		list = append(list, s.flat()...)
	}
	return flat(list)
}

var wishes = strings.NewReplacer(" i don't want you to ", " don't ", " i dont want you to ", " don't ", " i do not want you to ", " don't ", " i never want you to ", " never ", " you don't ", " don't ",
	" i don't want my ", " don't my ", " i never want my ", " never my ", " i don't want any ", " don't any ", " i don't ever want ", " never ")

func standingSentence(s sentence) bool {
	f := flat(s.flat())
	general := hasPhrase(f, sweeping)
	if hasPhrase(f, onlyNow) && !(general && !hasPhrase(f, without(onlyNow, "until i")) && hasPhrase(f, asksMe)) {
		return false
	}
	if s.asks && !(politely(s) && (general || hasPhrase(f, asksMe))) {
		return false
	}
	if hasPhrase(f, asksMe) || hasPhrase(f, ifAsked) {
		return !hasPhrase(f, keepsAsking)
	}
	if handsOver(f) {
		return !hasPhrase(f, []string{"for myself", "about myself", "by myself", "introduce myself"})
	}
	wanted := wishes.Replace(f)
	if strings.Contains(f, " you never ") && (strings.Contains(f, " ever ") || strings.Contains(f, " make sure ") || strings.Contains(f, " want ")) {
		wanted = strings.ReplaceAll(wanted, " you never ", " never ")
	}
	if hasPhrase(wanted, noRule) {
		return false
	}
	return hasPhrase(wanted, strong) || leftAlone(wanted) || hasPhrase(wanted, weak) && (general || !atHand(wanted))
}

func handsOver(f string) bool {
	return hasPhrase(f, handMe) || strings.Contains(f, " myself ") && hasPhrase(f, mine)
}

// politely: "could you always ask me first?"
func politely(s sentence) bool {
	return slices.ContainsFunc(s.clauses, func(c clause) bool { _, asked := strip(c.words); return asked })
}

// leftAlone: "leave my calendar alone".
func leftAlone(f string) bool {
	return strings.Contains(f, " leave my ") && strings.Contains(f, " alone ") || strings.Contains(f, " keep out of my ") || strings.Contains(f, " stay out of my ")
}

// atHand: what it forbids is the thing just spoken of: "don't send it".
func atHand(f string) bool {
	w := strings.Fields(f)
	for i := range w {
		n := 0
		switch {
		case is(w[i], "don't", "dont", "stop", "shouldn't", "avoid"):
			n = 1
		case is(w[i], "do", "should") && i+1 < len(w) && w[i+1] == "not":
			n = 2
		}
		for at := i + n; n > 0 && at <= i+n+1 && at < len(w); at++ {
			if is(w[at], "it", "that", "this") && (at+1 == len(w) || !thingWords[w[at+1]]) {
				return true
			}
		}
	}
	return false
}

func without(list []string, w string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(x string) bool { return x == w })
}

func hasPhrase(flat string, phrases []string) bool {
	return slices.ContainsFunc(phrases, func(p string) bool {
		i := strings.Index(flat, p)
		for i >= 0 {
			if end := i + len(p); i > 0 && flat[i-1] == ' ' && end < len(flat) && flat[end] == ' ' {
				return true
			}
			next := strings.Index(flat[i+1:], p)
			if next < 0 {
				return false
			}
			i += 1 + next
		}
		return false
	})
}

// Level is the level of a rule, decided from the words: what hands over, what waits to be asked, what names a condition;
// else the model's choice between never and ask. Where the model chose neither, it is ask.
func Level(said, modelRule string) string {
	f := flatten(said)
	switch {
	case handsOver(f):
		return policy.RuleHandOff
	case hasPhrase(f, ifAsked):
		return policy.RuleIfAsked
	case hasPhrase(f, asksMe), modelRule != policy.RuleNever:
		return policy.RuleAsk
	}
	return policy.RuleNever
}

// Strictness orders the levels of a rule, loosest first: allow, no rule, if_asked, ask, hand_off, never.
func Strictness(rule string) int { return policy.Strictness(rule) }

// Tighter says whether rule is stricter than the other.
func Tighter(rule, than string) bool { return policy.Tighter(rule, than) }
