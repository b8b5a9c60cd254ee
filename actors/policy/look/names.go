package look

import (
	"slices"
	"strings"
	"unicode"

	"sentient/actors/msg"
)

// name takes the words of a text that can be a name, in small letters.
func (e *Evidence) name(text string) {
	for _, n := range nameTokens(plain(text)) {
		e.named[n] = true
	}
}

func nameTokens(text string) (list []string) {
	for _, piece := range strings.Fields(strings.ToLower(text)) {
		if strings.ContainsAny(piece, "@/") { // an address is not a name
			continue
		}
		for _, w := range strings.FieldsFunc(piece, notLetter) {
			if len(w) >= 3 && !isCommon(w) {
				list = append(list, w)
			}
		}
	}
	return list
}

// vouched: the address belongs to a name the person gave: a part of what stands before the @ is one ("Arjun" and
// arjun.mehta@...). A host in another alphabet can look like one the person knows, so no name vouches for it.
func (e *Evidence) vouched(address string) bool {
	local, name, _ := strings.Cut(address, "@")
	if !ascii(name) || strings.Contains(name, "xn--") {
		return false
	}
	for _, part := range strings.FieldsFunc(local, notLetter) {
		if e.named[part] {
			return true
		}
	}
	return false
}

// goesTo begins a warning, with whom the person named if they did.
func (e *Evidence) goesTo(verb string) string {
	for i := len(e.Words) - 1; i >= 0; i-- {
		if n := namedRecipient(e.Words[i]); n != "" {
			return "You asked to " + verb + " " + n + ", but this goes to"
		}
	}
	return "This goes to"
}

// namedRecipient is the name behind "email", "to" and the like.
func namedRecipient(said string) string {
	ws := strings.Fields(said)
	for i := 0; i+1 < len(ws); i++ {
		lead := strings.ToLower(strings.Trim(ws[i], ",.:;"))
		if !slices.Contains([]string{"email", "mail", "message", "text", "tell", "to", "ask", "write", "reply", "answer"}, lead) {
			continue
		}
		n := msg.OneLine(strings.Trim(ws[i+1], ",.:;!?\"'()"), 40)
		if r := []rune(n); len(r) > 1 && unicode.IsLetter(r[0]) && !unicode.IsLower(r[0]) && len(nameTokens(n)) > 0 {
			return n
		}
	}
	return ""
}

// repliesAsked: the person asked to answer something, so the one who wrote it is who they mean. A word about replies ("any
// reply?") or about an answer to themselves ("answer my question") is no such thing.
func (e *Evidence) repliesAsked() bool {
	return slices.ContainsFunc(e.Words, func(w string) bool { return asksToReply(w) })
}

func asksToReply(said string) bool {
	ws := strings.FieldsFunc(strings.ToLower(strings.ReplaceAll(plain(said), "’", "'")), func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' })
	for i, w := range ws {
		prev, next := "", ""
		if i > 0 {
			prev = ws[i-1]
		}
		if i+1 < len(ws) {
			next = ws[i+1]
		}
		switch {
		case w != "reply" && w != "respond" && w != "answer" && !(w == "write" && next == "back") && !(w == "get" && next == "back"):
		case slices.Contains(notVerbAfter, prev) || anyOf(ws[max(0, i-3):i], negations):
		case w == "answer" && slices.Contains([]string{"me", "my", "us", "in", "with", "is", "was", "briefly", "question", "questions"}, next):
		case next == "me" || next == "us":
		default:
			return true
		}
	}
	return false
}

var (
	notVerbAfter = strings.Fields(`a an any no the his her their its my your our this that every each first last new did do does they he she who what which without`)
	negations    = strings.Fields(`don't dont not never won't cannot can't shouldn't didn't`)
)

// isCommon: a word of everyday speech, or of addresses that belong to nobody by name. None of them vouches for an address: that
// somebody said "send the support team a mail" gives no address with "support" in it.
func isCommon(w string) bool { return commonWords[w] }

var commonWords = setOf(`the and for with from this that you your our are was not dont never always ask before after first without when unless only any all one new its into onto out off who what which where
		how why can could should would will shall have has had been being please just make sure want need tell say let them they then than there here get got put set way thing things something anything person people
		about also more most some such via per yes okay thanks hello dear hey good morning evening night today tomorrow yesterday monday tuesday wednesday thursday friday saturday sunday week month year time date
		send sent sending email emails mail mails message messages text write reply replies answer respond forward post posts share call phone number address contact contacts team office group company work home
		info admin support service services sales help desk billing account accounts payment payments invoice invoices order orders news newsletter noreply donotreply webmaster postmaster security hr jobs career marketing
		press media legal finance shop store online web site page user users customer customers client clients friend boss mom dad brother sister wife husband
		about lunch dinner meeting event calendar file files report document documents note notes list photo picture link money amount price cost dollars euros rupees pay buy delete remove trash archive read open find
		search look check summarize summary draft attach attached update create add change plan project here below above last latest next recent every each other another both same different his her him she their ours mine`)

func setOf(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}
