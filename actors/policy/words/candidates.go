package words

import (
	"fmt"
	"slices"
	"strings"

	"sentient/actors/msg"
)

// RuleTool is a tool that a standing rule can be about.
type RuleTool struct {
	Name, Plain, Description, App, Plugin string
	Rule                                  string // that applies now: the tool's own, else its app's
	OwnRule, AppRule                      string
}

const maxCandidates = 60

// Candidates are the tools whose names or descriptions share a word with the message, in the order of tools; of more than 60,
// those that share the most, names counting double.
func Candidates(text string, tools []RuleTool) []RuleTool {
	said := map[string]bool{}
	for _, w := range nameWords(ends(text, stated)) {
		for _, s := range stems(w) {
			said[s] = true
		}
	}
	type scored struct{ at, score int }
	var list []scored
	for i, t := range tools {
		n := 2*shared(said, t.Name+" "+t.Plain+" "+t.App+" "+t.Plugin) + shared(said, t.Description)
		if n > 0 {
			list = append(list, scored{i, n})
		}
	}
	if len(list) > maxCandidates {
		slices.SortStableFunc(list, func(a, b scored) int { return b.score - a.score })
		list = list[:maxCandidates]
		slices.SortFunc(list, func(a, b scored) int { return a.at - b.at })
	}
	var out []RuleTool
	for _, s := range list {
		out = append(out, tools[s.at])
	}
	return out
}

// shared counts the different words of a text that were said.
func shared(said map[string]bool, text string) int {
	seen := map[string]bool{}
	for _, w := range nameWords(text) {
		if list := stems(w); slices.ContainsFunc(list, func(s string) bool { return said[s] }) {
			seen[list[0]] = true
		}
	}
	return len(seen)
}

// common words say nothing about a tool.
var common = setOf(`the and for with from this that you your our are was not don dont never always ask asking before after first without when unless only any all one new its into onto out off who what
	which use using used will would can could should have has had been being please just make sure want need tell say let them they then than there here where how why get got put set way thing things something
	anything person people user users them about also more most some such via per app apps tool tools other others everything myself alone leave hand stop avoid`)

// stems are the forms under which a word is found: itself and what its endings are on, with the words that mean the same.
func stems(w string) []string {
	if len(w) < 3 || common[w] {
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

var meaning = [][]string{words("delet remov eras trash bin discard"), words("email mail gmail inbox"), words("send sent"), words("post publish tweet"), words("pay payment money buy purchas order checkout spend"), words("messag message dm text chat"),
	words("unlock open door lock"), words("calendar event meet appointment schedul")}

// Prompt asks a model which keys the person's words are about. It only maps words to keys: what it answers is checked by Parse,
// narrowed by Narrow and decided by the person.
func Prompt(text string, c []RuleTool) (system, user string) {
	var b strings.Builder
	b.WriteString("Message:\n" + msg.Clip(text, 1500) + "\n\nKeys:\n")
	seen := map[string]bool{}
	for _, t := range c {
		if !seen[t.Plugin] {
			seen[t.Plugin] = true
			fmt.Fprintf(&b, "%s: everything in %s\n", t.Plugin, t.App)
		}
		fmt.Fprintf(&b, "%s: %s > %s. %s\n", t.Name, t.App, t.Plain, msg.Clip(strings.Join(strings.Fields(t.Description), " "), 120))
	}
	return `A person told their assistant something that may be a standing rule about what it does. Say which of the listed keys it is about: the fewest that cover it, a tool's key rather than its app's unless they mean everything in the app. rule is "never" when it must not be done at all, "ask" when they want to be asked first. No keys when it is not a standing rule. Answer with JSON alone: {"keys": ["..."], "rule": "never" or "ask"}`, b.String()
}
