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

// AskedFor says whether the person's own words of a turn, oldest first, ask for a call of the tool ("Only if I asked", A-087 to
// messages are what the person typed or said, and nothing else.
//
// A call that acts is asked for when one clause names its deed with a verb, where a verb goes, and names what it acts on (a word
// of the tool's name, its app; an email address names an email) or is a bare "send it". A look-up is asked for when a clause
// names what it reads, or its app. A clause that names another connected app never counts.
//
// Nothing is asked for by what forbids, by conditions and questions, by what somebody else is to do, by quotations and by text
// that was put in to be read. An ask-first holds for its whole message. A later "don't send it", "no" or "wait" takes back what
// was asked before it; what is asked after it counts again.
func AskedFor(messages []string, t Tool) bool {
	p := profileOf(t)
	asked := false
	for _, m := range messages {
		held := false
		for _, it := range itemsOf(m) {
			switch it.kind {
			case takeBack:
				asked = false
			case forbid, hold:
				switch p.concerned(it) {
				case concernAll:
					asked, held = false, true
				case concernThis:
					asked, held = false, held || it.kind == hold
				}
			default:
				asked = asked || p.askedBy(it)
			}
		}
		asked = asked && !held
	}
	return asked
}

func (p *profile) askedBy(it item) bool {
	if p.tool.Risk == msg.RiskRead {
		return p.names(it.named, it.named) && !p.otherApp(it.whole)
	}
	return it.kind == order && p.asks(it) && !p.otherApp(it.whole)
}

// asks: an order whose verb is the tool's deed and which names what it acts on.
func (p *profile) asks(it item) bool {
	v := it.own[0]
	if !p.verbs[v] || it.known != verbs[v] {
		return false
	}
	if p.need != "" && (!slices.Contains(it.own, p.need) || slices.Contains(it.own, p.bar)) {
		return false
	}
	h := head(it.words)
	switch {
	case capability(it.words):
		return false
	case mails[v] && p.things[v] && len(it.own) > 1, v == p.own && len(it.own) > 1:
		return true
	case p.names(h[1:], it.named):
		return true
	case slices.ContainsFunc(it.named, isAddress):
		return p.email
	}
	return !p.loose[v] && bare(it.own[1:])
}

// names: the words name what the tool acts on, before they say what it is about; or the app, which named speaks of as a place.
func (p *profile) names(list, named []string) bool {
	if p.tool.Risk == msg.RiskRead {
		return p.things.any(trimmed(list)) || contains(list, p.app) || p.alias != "" && slices.Contains(list, p.alias)
	}
	for _, w := range list {
		if about[w] {
			break
		}
		if p.things[strings.TrimSuffix(w, "'s")] || p.alias != "" && w == p.alias {
			return true
		}
	}
	i := find(named, p.app)
	return i == 0 || contains(list, p.app) || i > 0 && is(named[i-1], "in", "on", "via", "with", "using", "use", "to", "from", "through")
}

func trimmed(list []string) []string {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = strings.TrimSuffix(w, "'s")
	}
	return out
}

// bare: nothing but "it" and the like: "send it", "delete them now".
func bare(rest []string) bool {
	said := false
	for _, w := range rest {
		switch {
		case setBare[w]:
			said = true
		case !fillers[w] && !setAside[w]:
			return false
		}
	}
	return said
}

var (
	setBare  = setOf("it that this them those these")
	setAside = setOf("away on off out up down for me all both as is you straight of")
)

// capability: "send emails" alone says what one could do, as in "can you send emails?".
func capability(o []string) bool {
	return len(o) == 2 && strings.HasSuffix(o[1], "s") && thingWords[o[1]]
}

// otherApp: the words name another app, in a place that is not a part of this app's own name.
func (p *profile) otherApp(whole []string) bool {
	flat := nameWords(strings.Join(whole, " "))
	for _, o := range p.tool.OtherApps {
		other := nameWords(o)
		if len(other) == 0 || slices.Equal(other, p.app) {
			continue
		}
		for from := 0; ; {
			i := find(flat[from:], other)
			if i < 0 {
				break
			}
			if i += from; !p.inOwnName(flat, i, len(other)) {
				return true
			}
			from = i + 1
		}
	}
	return false
}

func (p *profile) inOwnName(flat []string, at, n int) bool {
	for j := max(0, at+n-len(p.app)); len(p.app) > n && j <= at; j++ {
		if starts(flat[j:], p.app) {
			return true
		}
	}
	return false
}

type concern int

const (
	concernNone concern = iota
	concernThis         // it speaks of the tool's deed
	concernAll          // it speaks of everything, for as long as its message
)

// concerned: whether a clause that forbids, or wants to be asked first, is about the tool.
func (p *profile) concerned(it item) concern {
	acts := false
	for _, w := range it.whole {
		s := stem(w)
		if p.tool.Risk > msg.RiskRead && (p.stems[s] || s == "sent" && p.verbs["send"]) {
			return generally(it, concernThis)
		}
		acts = acts || actingStems[s] && !negations[w]
	}
	switch {
	case p.things.any(trimmed(it.whole)), contains(it.whole, p.app):
		return concernThis
	case it.kind == hold && !acts, it.kind == forbid && !acts && slices.ContainsFunc(it.whole, func(w string) bool { return is(w, "anything", "any", "nothing", "everything") }):
		return concernAll
	case it.kind == forbid && !acts && bareForbid(it.whole):
		return concernThis
	}
	return concernNone
}

func generally(it item, c concern) concern {
	if it.kind == forbid && slices.ContainsFunc(it.whole, func(w string) bool { return is(w, "anything", "any", "nothing", "everything") }) {
		return concernAll
	}
	return c
}

// bareForbid: "please don't do it", "not that one".
func bareForbid(w []string) bool {
	return !slices.ContainsFunc(w, func(x string) bool {
		return !negations[x] && !fillers[x] && !weightless[x] && !is(x, "do", "you", "i", "to", "want", "like", "go", "through", "with")
	})
}

// actingStems are the stems of what people say for deeds.
var actingStems = func() set {
	m := set{"sent": true}
	for _, d := range deeds {
		for _, w := range d.said {
			m[stem(w)] = true
		}
	}
	for w := range setOf("set put mak add draft") {
		delete(m, w)
	}
	return m
}()
