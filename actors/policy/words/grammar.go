package words

import (
	"slices"
	"strings"
)

// fillers come before what is asked and mean nothing for it.
var fillers = setOf(`please kindly ok okay yes yeah yep yup sure hey hi hello dear so well now just go ahead quickly today tomorrow tonight later asap immediately
	first next finally lastly maybe perhaps thanks thank great good fine alright right hmm actually really btw also again still simply cool perfect awesome nice lgtm too already and then`)

// openings are phrases that an order can begin with, by their first word. polite ones make an order of a question.
var openings, polite = func() (map[string][][]string, map[string]bool) {
	m, asks := map[string][][]string{}, map[string]bool{}
	for i, group := range []string{
		"can you/could you/would you/will you/can u/could u/can we/could we/would you mind/do you think you can/do you think you could/is it possible to/could i get you to/can i get you to/may i ask you to",
		`let's/lets/let us/i want you to/i need you to/i'd like you to/i would like you to/i want to/i need to/i'd like to/i would like to/i'd love you to/you can/you may/you should/you must/you need to/you have to/
		make sure to/make sure you/make sure that you/be sure to/remember to/try to/help me to/help me/go on/feel free to/want you to/need you to/i'd appreciate it if you could/it would be great if you could/be so kind as to`,
	} {
		for _, p := range strings.Split(group, "/") {
			w := words(p)
			m[w[0]] = append(m[w[0]], w)
			if i == 0 {
				asks[strings.Join(w, " ")] = true
			}
		}
	}
	for _, list := range m {
		slices.SortFunc(list, func(a, b []string) int { return len(b) - len(a) })
	}
	return m, asks
}()

// strip takes what comes before an order away: the rest begins with its verb when the clause is one.
func strip(w []string) (rest []string, asked bool) {
	rest = w
	for {
		n := len(rest)
		for len(rest) > 0 && fillers[rest[0]] {
			asked = asked || rest[0] == "please"
			rest = rest[1:]
		}
		if len(rest) > 0 {
			for _, p := range openings[rest[0]] {
				if len(rest) > len(p) && starts(rest, p) {
					asked = asked || polite[strings.Join(p, " ")]
					rest = rest[len(p):]
					break
				}
			}
		}
		if len(rest) == n {
			break
		}
	}
	if len(rest) > 1 && rest[0] == "do" && verbs[rest[1]] {
		rest = rest[1:]
	}
	return afterPlace(rest), asked
}

// afterPlace drops what says where or with what: "in Gmail delete ...", "use Gmail to send ...". Only a verb that is never a thing
// counts behind a place.
func afterPlace(w []string) []string {
	if len(w) < 3 {
		return w
	}
	use := w[0] == "use"
	if !use && !is(w[0], "in", "on", "at", "from", "with", "via", "using", "by") {
		return w
	}
	for j := 2; j < min(len(w), 6); j++ {
		if use && w[j-1] == "to" && verbs[w[j]] || !use && w[j-1] != "to" && verbs[w[j]] && !either[w[j]] {
			return w[j:]
		}
		if statement[w[j]] && !determiners[w[j]] {
			break
		}
	}
	return w
}

var negations = setOf(`don't dont not never no nor neither nothing nobody none no-one noone nowhere cannot can't cant won't wont shouldn't shouldnt mustn't mustnt needn't neednt doesn't didn't
	isn't aren't wouldn't couldn't stop avoid without except quit cease refrain`)

// negated: the clause begins by saying that something shall not be done.
func negated(o []string) bool {
	for len(o) > 1 && is(o[0], "you", "we", "do", "must", "should", "can", "ever", "to", "i'd", "i", "would", "rather") {
		o = o[1:]
	}
	return negations[o[0]]
}

// affirmed is a clause without the negation it begins with.
func affirmed(o []string) []string {
	n := len(o)
	for len(o) > 0 && (negations[o[0]] || o[0] == "do") {
		o = o[1:]
	}
	if len(o) < n {
		o, _ = strip(o)
	}
	return o
}

// released: "don't worry, send it".
func released(w []string) bool {
	f := strings.Join(w, " ")
	return slices.Contains([]string{"don't worry", "dont worry", "do not worry", "don't worry about it", "don't worry about that", "don't wait", "no problem", "no worries", "no rush", "no hurry", "don't panic"}, f)
}

// backs are words that, with nothing of weight beside them, take back what was asked.
var backs = [][]string{words("no"), words("nope"), words("nah"), words("stop"), words("wait"), words("abort"), words("cancel"), words("undo"), words("nevermind"), words("never mind"), words("hold on"), words("hold off"), words("hold it"),
	words("hang on"), words("forget it"), words("forget that"), words("forget about it"), words("scratch that"), words("not yet"), words("not now"), words("not today"), words("not anymore"), words("not so fast"), words("don't"), words("dont"), words("do not"),
	words("don't do it"), words("don't do that"), words("don't do this"), words("do not do it"), words("do not do that"), words("leave it"), words("i changed my mind"), words("changed my mind")}

var weightless = setOf("it that this them one a sec second minute moment min please thanks thank you yet now right today again just all everything wait no stop")

// takesBack: "no", "wait a minute", "not yet".
func takesBack(w []string) bool {
	for len(w) > 1 && (fillers[w[0]] || w[0] == "oh") && !starts(w, words("now")) {
		w = w[1:]
	}
	return slices.ContainsFunc(backs, func(b []string) bool { return starts(w, b) && weightless.all(w[len(b):]) })
}

var askPhrases = phrases("ask me/ask first/check with me/checking with me/confirm with me/confirm first/let me see/show me first/show me before/show it to me/show me a preview/wait for my/run it by me/let me check/let me review/let me look/let me read/let me think",
	"my ok/my okay/my approval/my permission/my go-ahead/my confirmation/my yes/i'll send/i will send/i'll do/i will do/i'll handle/let me send/let me press/let me do/hand it to me/until i/after i/once i/before you/when i say/when i tell/if i say/unless i/double-check with me",
	"need to approve/want to approve/want to see it/want to review/want to check/want to read it")

// phrases are parted by strokes; they are found by their first word.
func phrases(groups ...string) map[string][][]string {
	m := map[string][][]string{}
	for _, g := range groups {
		for _, p := range strings.Split(g, "/") {
			w := words(p)
			m[w[0]] = append(m[w[0]], w)
		}
	}
	return m
}

func asksFirst(f []string) bool {
	if i := find(f, words("show me")); i >= 0 && slices.Contains(f[i:], "first") {
		return true
	}
	for i, w := range f {
		for _, p := range askPhrases[w] {
			if starts(f[i:], p) {
				return true
			}
		}
	}
	return false
}

var (
	determiners = setOf("the a an my our your his her their its this that these those some any all both each every")
	// statement words begin a clause that tells or asks something, and orders nothing.
	statement = func() set {
		m := setOf(`did have has had was were is are am does why who whom whose what which where when how should shall might may would could will can i i'm i've i'd i'll we we're we've we'll
			he he's he'll she she's she'll they they're they'll it it's you you're there there's here nobody everybody everyone someone suppose imagine if unless once whenever while until because since after before as whether do`)
		for w := range determiners {
			m[w] = true
		}
		return m
	}()
	// finite words make a clause a statement about its first word.
	finite = setOf("is are was were has had have will would should could isn't aren't wasn't doesn't don't didn't looks seems works needs wants said says told asked wrote came went got arrived keeps bounced failed contains shows i'm we're she's he's they're it's")
	// openers begin what an order's clause says or writes; it asks for nothing.
	openers = setOf("saying say asking telling whether because since why how what which who whose i i'm i'll i've i'd we we're we'll we've he's she's they're it's he'll she'll they'll he she they")
	about   = setOf("about regarding re concerning titled called named for")
)

// head is what an order says before its content: "email Priya | that I can't come".
func head(o []string) []string {
	for i, w := range o {
		if i > 0 && (openers[w] || w == quoted) || i > 1 && w == "that" && (i+1 == len(o) || !thingWords[o[i+1]]) {
			return o[:i]
		}
	}
	return o
}

// leads: the clause begins with a verb, and the verb is one there: "email is down" is none, nor is "email from Priya".
func leads(o []string) bool {
	v := o[0]
	if !verbs[v] {
		return false
	}
	if finite.any(head(o)[1:]) || either[v] && len(o) == 1 {
		return false
	}
	if !either[v] {
		return true
	}
	switch next := o[1]; {
	case is(o[1], "from", "by", "of", "address", "addresses", "inbox", "list", "thread", "client", "app", "account", "notification", "notifications", "draft", "drafts", "filter", "signature", "folder", "button", "page"):
		return false
	case next == "to":
		return !mails[v] && !is(o[0], "comment", "order", "copy", "plan", "note", "change") || len(o) > 2 && isAddress(o[2])
	case is(o[1], "in", "on", "at", "about", "for"):
		return is(o[0], "post", "share", "open", "close", "turn", "switch", "comment", "play", "run", "start", "join", "lock", "log", "look", "search", "check", "call", "pay", "note")
	}
	return true
}

// delegates: what follows with "and" is what somebody else does: "remind me to call Sam and email Priya".
func delegates(o []string) bool {
	if is(o[0], "let", "have", "remind", "teach") && !starts(o, words("let me know")) {
		return true
	}
	for i, w := range o {
		if i > 0 && (w == "to" && i+1 < len(o) && verbs[o[i+1]] || is(o[i], "will", "i'll", "we'll", "he'll", "she'll", "they'll", "can", "could", "should", "must", "would", "going")) {
			return true
		}
	}
	return false
}

var conditions = setOf("if unless until once when whenever while after before assuming provided suppose imagine")

// conditional: it holds only when something else does. "If you can" and "when you're done" are no conditions.
func conditional(o []string) bool {
	h := o
	for i, w := range h {
		switch {
		case i > 0 && (openers[w] && !conditions[h[i-1]] || w == quoted):
			return false // content begins
		case w == "soon":
			if i+2 < len(h) && !is(h[i+2], "possible", "you") {
				return true
			}
		case w == "case" && i > 0 && h[i-1] == "in":
			return true
		case !conditions[w] || i+1 == len(h):
		case w == "after" || w == "before":
			if is(h[i+1], "i", "he", "she", "they", "we", "you", "someone", "everyone", "it") {
				return true
			}
		case i+2 < len(h) && h[i+1] == "you" && is(h[i+2], "can", "could", "have", "get", "like", "want", "are", "don't"):
		case is(h[i+1], "possible", "needed", "necessary", "done", "ready", "finished", "you're", "you've"):
		default:
			return true
		}
	}
	return false
}

func isAddress(w string) bool {
	at := strings.IndexByte(w, '@')
	return at > 0 && strings.Contains(w[at:], ".")
}
