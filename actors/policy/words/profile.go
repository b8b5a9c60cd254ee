package words

import (
	"slices"
	"strings"
)

// profile is what is looked for in words about one tool.
type profile struct {
	tool   Tool
	verbs  set
	loose  set      // verbs that count only with what the tool acts on
	stems  set      // of the verbs
	things set      // what it acts on
	app    []string // the words of its app's name
	alias  string   // its last word, where that alone means the app
	own    string   // a verb that names its thing too: "post it" of social_post
	email  bool
	need   string // "on" of turn_on
	bar    string // and "off"
}

// kinds are things that tools speak of in other words than people do.
var kinds = []struct{ tool, not, things set }{
	{setOf("email emails gmail mail mails imap smtp inbox"), setOf("event events calendar contact contacts"), setOf("email emails mail mails e-mail e-mails")},
	{setOf("message messages slack discord telegram whatsapp dm sms chat"), setOf("event"), setOf("message messages dm dms text texts")},
	{setOf("post posts tweet tweets social blog"), setOf("message messages slack discord"), setOf("post posts tweet tweets")},
	{setOf("web browser url page pages website"), set{}, setOf("web page pages website site url link internet online")},
}

// thingWords are what the kinds speak of, and what else is sent and deleted.
var thingWords = func() set {
	m := setOf("note notes file files document doc photo picture link report one event reminder task")
	for _, k := range kinds {
		for w := range k.things {
			m[w] = true
		}
	}
	return m
}()

// empty words of names stand for nothing that is acted on.
var emptyWords = setOf("on off up down in out to from for with by of the a an and or all my me new quick add item items tool mcp api v1 v2 by id get set do is it this that")

func profileOf(t Tool) *profile {
	p := &profile{tool: t, app: nameWords(t.App), things: set{}, verbs: set{}, loose: set{}, stems: set{}}
	name := nameWords(t.Name)
	own := name
	for _, w := range slices.Concat(nameWords(t.Plugin), p.app) {
		if len(own) > 1 && own[0] == w {
			own = own[1:]
		}
	}
	verb, list := deedOfTool(own)
	p.verbs[verb] = true
	for _, d := range list {
		for _, w := range d.said {
			p.verbs[w] = true
		}
	}
	p.actsOn(name, verb)
	if either[verb] && len(own) == 1 {
		p.own = verb
	}
	if n := len(p.app); n > 1 && is(p.app[0], "google", "microsoft", "apple", "outlook", "my") {
		p.alias = p.app[n-1]
	}
	for v := range p.verbs {
		p.stems[stem(v)] = true
	}
	return p
}

// actsOn takes from the tool's name what it acts on, and what people call that.
func (p *profile) actsOn(name []string, verb string) {
	for _, w := range name {
		if w != verb && len(w) > 1 && !emptyWords[w] && !lookups[w] {
			one := strings.TrimSuffix(w, "s")
			p.things[w], p.things[one], p.things[one+"s"] = true, true, true
		}
		if w == "on" || w == "off" {
			p.need, p.bar = w, map[string]string{"on": "off", "off": "on"}[w]
		}
	}
	said := slices.Concat(name, p.app)
	for i, k := range kinds {
		if !k.tool.any(said) || k.not.any(said) {
			continue
		}
		for w := range k.things {
			p.things[w] = true
		}
		p.email = p.email || i == 0
		if i == 1 && (p.verbs["post"] || p.verbs["send"]) {
			for _, w := range words("send message dm text ping") {
				p.loose[w] = !p.verbs[w]
				p.verbs[w] = true
			}
		}
	}
}
