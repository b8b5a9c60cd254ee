package words

import (
	"slices"
	"strings"
	"unicode"
)

// ruled are what a rule can be about, as stems: what people say, and what tools are called. A word may stand in several.
var ruled = [][]string{
	words("delet remov eras trash bin discard destroy purg throw clear wip recycl"),
	words("send sent email mail messag message text forward reply answer respond dm ping post publish tweet shar comment announc"),
	words("pay paid buy bought purchas order spend spent checkout subscrib transfer"), words("archiv"), words("unlock open"), words("lock"), words("clos"), words("creat add mak schedul book draft"), words("updat chang edit modify mov renam"),
	words("run ran execut"), words("upload"), words("download"), words("read open look search check brows"), words("invit"), words("accept"), words("declin cancel"), words("writ wrot sav"), words("turn switch"), words("call"),
}

// Narrow keeps the keys that the words mean: an app as a whole only where they name no deed, else its tools that do that
// deed; tools that are named exactly, alone. Each app is judged by the instruction that mentions it.
func Narrow(said string, keys []string, c []RuleTool) (out []string) {
	if len(keys) == 0 {
		return nil
	}
	add := func(k string) {
		if !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	parts := instructions(said)
	exact := exactly(said, c, add)
	named := map[string][][]string{} // the deeds that an app's instruction names
	for _, k := range keys {
		for _, t := range c {
			if exact[t.Plugin] || t.Name != k && t.Plugin != k {
				continue
			}
			id := t.Plugin + "\x00" + t.App
			deeds, ok := named[id]
			if !ok {
				deeds = deedsIn(instructionsFor(parts, t.App, t.Plugin))
				named[id] = deeds
			}
			switch {
			case len(deeds) == 0:
				add(k)
			case does(t, deeds):
				add(t.Name)
			}
		}
	}
	return out
}

// exactly adds the tools that are named as nothing but a tool is, and gives their apps.
func exactly(said string, c []RuleTool, add func(string)) map[string]bool {
	apps := map[string]bool{}
	spoken := set{}
	for _, w := range strings.FieldsFunc(said, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",.;:!?\"'()`’‘“”", r) }) {
		spoken[strings.ToLower(w)] = true
	}
	for _, t := range c {
		if name := strings.ToLower(t.Name); spoken[name] && (strings.ContainsAny(name, "_-") || name != t.Name) {
			add(t.Name)
			apps[t.Plugin] = true
		}
	}
	return apps
}

// instructions part what was said where a new one begins: "never delete my emails and never use Slack" are two.
func instructions(said string) (list [][]clause) {
	for _, s := range sentences(said) {
		var now []clause
		for _, c := range s.clauses {
			if len(now) > 0 && is(c.words[0], "never", "don't", "dont", "do", "always", "ask", "only", "stop", "avoid", "but") {
				list = append(list, now)
				now = nil
			}
			now = append(now, c)
		}
		if len(now) > 0 {
			list = append(list, now)
		}
	}
	return list
}

func joined(part []clause) (list []string) {
	for _, c := range part {
		list = append(list, c.all()...)
	}
	return list
}

// instructionsFor are those that mention the app by its name; else those that mention it by what its name means: "my emails" are
// Gmail's; all of them when none does.
func instructionsFor(parts [][]clause, app, plugin string) [][]clause {
	name, id := nameWords(app), nameWords(plugin)
	list := slices.DeleteFunc(slices.Clone(parts), func(p []clause) bool {
		f := joined(p)
		return !contains(f, name) && !contains(f, id)
	})
	if len(list) > 0 {
		return list
	}
	mean := slices.Concat(name, id)
	list = slices.DeleteFunc(slices.Clone(parts), func(p []clause) bool {
		return !slices.ContainsFunc(joined(p), func(w string) bool { return sharesStem(w, mean) })
	})
	if len(list) > 0 {
		return list
	}
	return parts
}

func sharesStem(w string, of []string) bool {
	mine := stems(w)
	return slices.ContainsFunc(of, func(o string) bool {
		return slices.ContainsFunc(stems(o), func(s string) bool { return slices.Contains(mine, s) })
	})
}

// beforeDeed are words that a deed which is also a thing can follow in an instruction.
var beforeDeed = setOf(`never not don't dont to before ever you and or should must can may please automatically just when without stop avoid always me ask first ok permission approval unless i i'll will only draft prepare for let press be
	get gets being been no or anyone anybody cannot can't`)

// owners are words behind which a word is a thing: "my order", "a post".
var owners = setOf("my the a an our your his her their this that these those any some all every")

// asking are phrases about asking first; their verbs are no deeds.
var asking = strings.NewReplacer(" check with me ", " ", " checking with me ", " ", " without checking ", " without ", " always check ", " always ", " double check ", " ", " run it by me ", " ", " call me ", " ", " let me check ", " ", " let me read ", " ", " let me look ", " ")

// deedsIn are the groups of deeds that instructions name.
func deedsIn(parts [][]clause) (named [][]string) {
	for _, p := range parts {
		for _, c := range p {
			w := strings.Fields(asking.Replace(flat(c.words)))
			for i := range w {
				for _, g := range groupsOf(w, i) {
					if !slices.ContainsFunc(named, func(x []string) bool { return &x[0] == &g[0] }) {
						named = append(named, g)
					}
				}
			}
		}
	}
	return named
}

// groupsOf are the groups of the deed that a word names in its place, none when it is a thing there.
func groupsOf(w []string, i int) (list [][]string) {
	x := w[i]
	if strings.HasSuffix(x, "s") && !strings.HasSuffix(x, "ss") { // emails, messages, posts are things
		return nil
	}
	formed := strings.HasSuffix(x, "ing") || strings.HasSuffix(x, "ed") || is(x, "sent", "paid", "bought", "spent")
	switch {
	case i > 0 && owners[w[i-1]]:
		return nil
	case i == 0 && either[x] && len(w) == 1: // in a list: "emails, post"
		return nil
	case i > 0 && either[x] && !formed && !beforeDeed[w[i-1]] && !strings.HasSuffix(w[i-1], "ly"):
		return nil
	}
	s := stem(x)
	for _, g := range ruled {
		if slices.Contains(g, s) {
			list = append(list, g)
		}
	}
	return list
}

// does: the tool's name says one of the deeds. Behind a verb like create or move, the thing may be the deed: create_post.
func does(t RuleTool, named [][]string) bool {
	name := nameWords(t.Name)
	for _, w := range nameWords(t.Plugin) {
		if len(name) > 1 && name[0] == w {
			name = name[1:]
		}
	}
	verb, _ := deedOfTool(name)
	for _, w := range name {
		if w != verb && !is(verb, "create", "add", "make", "new", "write", "move", "put") {
			continue
		}
		s := stem(w)
		if slices.ContainsFunc(named, func(g []string) bool { return slices.Contains(g, s) }) {
			return true
		}
	}
	return false
}
