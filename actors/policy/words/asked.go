package words

import (
	"slices"
	"strings"

	"sentient/actors/msg"
)

// Tool is a tool as the person's words are held against it.
type Tool struct {
	Name, App, Plugin string
	Risk              msg.Risk
	OtherApps         []string // display names of the other connected apps
}

// actions are groups of words that mean the same deed. The first of each are those that tools are named by; all are what people say.
var actions = [][]string{
	words("send email mail e-mail message text dm ping write drop shoot"),
	words("reply answer respond"),
	words("forward"),
	words("post publish tweet share announce"),
	words("comment"),
	words("delete remove erase destroy purge clear discard trash recycle bin"),
	words("archive"),
	words("restore untrash recover undelete unarchive"),
	words("create add make schedule book set put plan draft new insert"),
	words("update change edit modify rename adjust move reschedule set"),
	words("buy order purchase pay checkout"),
	words("unlock open"),
	words("lock close secure"),
	words("turn switch set dim activate"),
	words("run execute start launch"),
	words("upload save write store export"),
	words("download save"),
	words("invite add"),
	words("accept approve"),
	words("decline reject cancel"),
	words("mark label star pin flag tag"),
	words("copy duplicate"),
	words("follow subscribe"), words("unfollow unsubscribe"), words("like react"), words("join"), words("leave"), words("play"), words("pause stop"),
}

// either are words that are as often a thing as a deed.
var either = words(`email mail e-mail message text dm post share comment order book schedule plan change set lock close open move copy mark label star pin flag
	tag like play run start trash bin forward answer reply update clear draft new make ping drop download upload export store save cancel tweet archive write leave join`)

// mails, messages and posts: what a verb alone already names, by the kind of a tool.
var kinds = []struct{ tool, things []string }{
	{words("email gmail mail imap outlook smtp"), words("email emails mail mails e-mail e-mails")},
	{words("message messages slack discord telegram whatsapp dm sms chat"), words("message messages dm text texts")},
	{words("post posts tweet social blog"), words("post posts tweet tweets")},
}

// AskedFor says whether the person's own words of a turn, oldest first, ask for a call of the tool ("Only if I asked", A-087 to
// A call that acts is asked for when one clause names its deed with a verb, where a verb goes, and names what it acts on
// (a word of the tool's name, its app; an email address names an email) or is a bare "send it". A look-up is asked for when a
// clause names what it reads, or its app. A clause that names another connected app never counts, and a later "don't send it"
// takes back what was asked before it.
func AskedFor(messages []string, t Tool) bool {
	p := profileOf(t)
	asked := false
	for _, m := range messages {
		for _, s := range ordersOf(m) {
			switch {
			case s.forbid:
				if p.names(s.whole) || mentions(s.whole, p.verbs) {
					asked = false
				}
			case p.otherApp(s.whole):
			case t.Risk == msg.RiskRead:
				asked = asked || p.names(s.whole)
			case len(s.words) > 0:
				asked = asked || p.asks(s.words)
			}
		}
	}
	return asked
}

type profile struct {
	verbs  []string // what people say for its deed
	things []string // what it acts on
	app    []string // the words of its app's name
	email  bool
	others [][]string
}

func profileOf(t Tool) profile {
	p := profile{app: nameWords(t.App)}
	name := nameWords(t.Name)
	verb := ""
	for _, g := range actions {
		for _, w := range name {
			if slices.Contains(g, w) && (verb == "" || slices.Index(name, w) < slices.Index(name, verb) || isThing(verb) && !isThing(w)) {
				verb = w
			}
		}
	}
	for _, g := range actions {
		if slices.Contains(g, verb) {
			p.verbs = append(p.verbs, g...)
		}
	}
	if verb == "" && len(name) > 0 {
		verb = name[len(name)-1]
		p.verbs = []string{verb}
	}
	for _, w := range name {
		if w != verb && len(w) > 1 {
			p.things = append(p.things, w, strings.TrimSuffix(w, "s"), w+"s")
		}
	}
	for _, k := range kinds {
		if slices.ContainsFunc(append(name, p.app...), func(w string) bool { return slices.Contains(k.tool, w) }) {
			p.things = append(p.things, k.things...)
			p.email = p.email || k.tool[0] == "email"
		}
	}
	for _, o := range t.OtherApps {
		if ws := nameWords(o); len(ws) > 0 && !slices.Equal(ws, p.app) {
			p.others = append(p.others, ws)
		}
	}
	return p
}

// isThing: a word that names what is acted on as well as a deed.
func isThing(w string) bool {
	return slices.ContainsFunc(kinds, func(k struct{ tool, things []string }) bool { return slices.Contains(k.things, w) })
}

// nameWords parts a tool's or an app's name.
func nameWords(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r > 127) })
}

// asks: an order whose verb is the tool's deed and which names what it acts on.
func (p profile) asks(order []string) bool {
	for i, w := range order {
		if !slices.Contains(p.verbs, w) || !verbAt(order, i) {
			continue
		}
		rest := append(slices.Clone(order[:i]), order[i+1:]...)
		switch {
		case p.names(rest), isThing(w) && slices.Contains(p.things, w):
			return true
		case p.email && slices.ContainsFunc(rest, address):
			return true
		case bare(rest):
			return true
		}
	}
	return false
}

// verbAt: a verb goes first in an order, or behind a word that calls for one. What is never a thing is a verb there too, unless an
// article makes it one.
func verbAt(order []string, i int) bool {
	if i == 0 {
		return true
	}
	before := order[i-1]
	if slices.Contains(words("please you just now to"), before) {
		return before != "to" || i < 2 || !slices.Contains(words("reply respond answer add forward listen go next according regard regards relating up back access"), order[i-2])
	}
	return false
}

// bare: nothing but "it" and the like: "send it", "delete them now".
func bare(rest []string) bool {
	said := false
	for _, w := range rest {
		switch {
		case slices.Contains(words("it that this them those these"), w):
			said = true
		case slices.Contains(fillers, w) || slices.Contains(words("away off out for me all both as is"), w):
		default:
			return false
		}
	}
	return said
}

func address(w string) bool {
	at := strings.IndexByte(w, '@')
	return at > 0 && strings.Contains(w[at:], ".")
}

func (p profile) names(clause []string) bool {
	return mentions(clause, p.things) || len(p.app) > 0 && contains(clause, p.app)
}

func (p profile) otherApp(clause []string) bool {
	return slices.ContainsFunc(p.others, func(o []string) bool { return contains(clause, o) })
}

func mentions(clause, any []string) bool {
	return slices.ContainsFunc(clause, func(w string) bool { return slices.Contains(any, strings.TrimSuffix(w, "'s")) })
}

// contains: the words of part, one after the other.
func contains(clause, part []string) bool {
	for i := 0; i+len(part) <= len(clause); i++ {
		if slices.EqualFunc(clause[i:i+len(part)], part, func(a, b string) bool { return strings.TrimSuffix(a, "'s") == b }) {
			return true
		}
	}
	return false
}

// PermanentDelete says whether the person's words ask for a delete that has no way back.
func PermanentDelete(messages []string) bool {
	return phrased(messages, "permanently", "permanent", "for good", "forever", "hard delete", "skip the trash", "not the trash", "not to the trash", "bypass the trash", "irreversibly", "completely delete", "delete completely", "no trash", "without the trash")
}

// ReplyAll says whether the person's words ask to answer everybody.
func ReplyAll(messages []string) bool {
	return phrased(messages, "reply all", "reply-all", "reply to all", "reply to everyone", "reply everyone", "respond to all", "respond to everyone", "answer everyone", "answer all", "everyone", "everybody", "all of them", "the whole thread", "the whole group")
}

// phrased: one of the phrases stands in a sentence that is not negated before it.
func phrased(messages []string, phrases ...string) bool {
	for _, m := range messages {
		for _, s := range sentences(m) {
			flat := " " + strings.Join(slices.Concat(s.clauses...), " ") + " "
			for _, p := range phrases {
				i := strings.Index(flat, " "+p+" ")
				if i < 0 {
					continue
				}
				before := strings.Fields(flat[:i])
				if !mentions(before, words("don't dont not never no won't shouldn't cannot can't")) || strings.HasPrefix(p, "not ") {
					return true
				}
			}
		}
	}
	return false
}
