package words

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sentient/actors/policy"
)

// Prompt asks a model which keys the person's words are about. It only maps words to keys: what it answers is checked by Parse,
// narrowed by Narrow and decided by the person.
func Prompt(text string, c []RuleTool) (system, user string) {
	var b strings.Builder
	b.WriteString("Message:\n" + clip(text, 1500) + "\n\nKeys:\n")
	seen := map[string]bool{}
	for _, t := range c {
		if !seen[t.Plugin] {
			seen[t.Plugin] = true
			fmt.Fprintf(&b, "%s: everything in %s\n", t.Plugin, t.App)
		}
		fmt.Fprintf(&b, "%s: %s > %s. %s\n", t.Name, t.App, t.Plain, clip(strings.Join(strings.Fields(t.Description), " "), 120))
	}
	return `A person told their assistant something that may be a standing rule about what it does. Say which of the listed keys it is about: the fewest that cover it, a tool's key rather than its app's unless they mean everything in the app. rule is "never" when it must not be done at all, "ask" when they want to be asked first. No keys when it is not a standing rule. Answer with JSON alone: {"keys": ["..."], "rule": "never" or "ask"}`, b.String()
}

const (
	maxAnswer = 16 << 10 // bytes of an answer that are read
	maxTries  = 20       // places where its JSON may begin
)

var errAnswer = errors.New("the answer is not the JSON that was asked for")

// Parse reads a model's answer, however it is wrapped. Keys that are not among the candidates' tools and apps are left out.
func Parse(answer string, c []RuleTool) (keys []string, rule string, err error) {
	answer = answer[:min(len(answer), maxAnswer)]
	start := strings.IndexByte(answer, '{')
	for range maxTries {
		if start < 0 {
			break
		}
		var a struct {
			Keys any    `json:"keys"`
			Rule string `json:"rule"`
		}
		end := strings.LastIndexByte(answer, '}')
		if end < start {
			break
		}
		for _, text := range []string{answer[start : end+1], strings.ReplaceAll(answer[start:end+1], "'", `"`)} {
			if json.NewDecoder(strings.NewReader(text)).Decode(&a) == nil && a.Keys != nil {
				return known(a.Keys, c), strings.ToLower(strings.TrimSpace(a.Rule)), nil
			}
		}
		next := strings.IndexByte(answer[start+1:], '{')
		if next < 0 {
			break
		}
		start += 1 + next
	}
	return nil, "", errAnswer
}

func known(v any, c []RuleTool) (keys []string) {
	var list []string
	switch v := v.(type) {
	case string:
		list = strings.FieldsFunc(v, func(r rune) bool { return r == ',' || r == ' ' })
	case []any:
		for _, x := range v {
			if s, ok := x.(string); ok {
				list = append(list, s)
			}
		}
	}
	for _, k := range list {
		k = strings.TrimSpace(k)
		if !slices.Contains(keys, k) && slices.ContainsFunc(c, func(t RuleTool) bool { return t.Name == k || t.Plugin == k }) {
			keys = append(keys, k)
		}
	}
	return keys
}

// deeds are what a rule can be about, as stems: what people say, and what tools are called.
var deeds = [][]string{
	words("delet remov eras trash bin discard destroy purg throw"), words("send sent email mail messag text forward reply answer dm"), words("post publish tweet shar comment"), words("pay buy purchas order spend checkout subscrib"),
	words("archiv"), words("unlock open"), words("lock"), words("creat add mak schedul book"), words("updat chang edit modify mov renam"), words("run execut"), words("upload"), words("download"), words("read open look search check"),
	words("invit"), words("accept"), words("declin cancel"), words("writ sav"), words("turn switch"),
}

// Narrow keeps the keys that the words mean: an app as a whole only where they name no deed, else its tools that do that
// deed; tools that are named exactly, alone. Each app is judged by the instruction that mentions it.
func Narrow(said string, keys []string, c []RuleTool) (out []string) {
	add := func(k string) {
		if !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	exact := map[string]bool{} // apps of tools that are named exactly
	for _, t := range c {
		if strings.Contains(" "+strings.Join(strings.FieldsFunc(strings.ToLower(said), func(r rune) bool { return strings.ContainsRune(" \n\t,.;:!?\"'()`", r) }), " ")+" ", " "+strings.ToLower(t.Name)+" ") {
			add(t.Name)
			exact[t.Plugin] = true
		}
	}
	for _, k := range keys {
		for _, t := range c {
			switch {
			case exact[t.Plugin] || t.Name != k && t.Plugin != k:
			case t.Name == k:
				if named := deedsIn(instructionFor(said, t.App, t.Plugin)); len(named) == 0 || does(t, named) {
					add(k)
				}
			default:
				if named := deedsIn(instructionFor(said, t.App, t.Plugin)); len(named) == 0 {
					add(k)
				} else if does(t, named) {
					add(t.Name)
				}
			}
		}
	}
	return out
}

// instructionFor is the sentence that mentions the app, by its name or a word of it; all of them when none does.
func instructionFor(said, app, plugin string) string {
	var list []string
	for _, s := range sentences(said) {
		f := slices.Concat(s.clauses...)
		if contains(f, nameWords(app)) || mentions(f, nameWords(plugin)) {
			list = append(list, s.text)
		}
	}
	if list == nil {
		for _, s := range sentences(said) { // by what the app's words mean: "my emails" is Gmail's
			f := slices.Concat(s.clauses...)
			if slices.ContainsFunc(f, func(w string) bool { return sharesStem(w, nameWords(app+" "+plugin)) }) {
				list = append(list, s.text)
			}
		}
	}
	if list == nil {
		return said
	}
	return strings.Join(list, ". ")
}

func sharesStem(w string, of []string) bool {
	mine := stems(w)
	return slices.ContainsFunc(of, func(o string) bool {
		return slices.ContainsFunc(stems(o), func(s string) bool { return slices.Contains(mine, s) })
	})
}

// beforeDeed are words that a deed can follow in an instruction; behind "my" or "the" a word is a thing.
var beforeDeed = words(`never not don't dont to before ever you and or should must can may please automatically just when without stop avoid always me ask first ok permission approval unless i i'll will only draft prepare for let`)

// deedsIn are the groups of deeds that an instruction names.
func deedsIn(text string) (named [][]string) {
	for _, s := range sentences(text) {
		for _, c := range s.clauses {
			for i, w := range c {
				g := deedOf(w)
				if g == nil || i > 0 && !slices.Contains(beforeDeed, c[i-1]) && !(strings.HasSuffix(w, "ing") && !slices.Contains(words("my the a an our your his her"), c[i-1])) {
					continue
				}
				if i == 0 && slices.Contains(either, w) && len(c) == 1 {
					continue // a thing in a list: "emails, messages"
				}
				if !slices.ContainsFunc(named, func(x []string) bool { return &x[0] == &g[0] }) {
					named = append(named, g)
				}
			}
		}
	}
	return named
}

func deedOf(w string) []string {
	if strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") { // emails, messages, posts are things
		return nil
	}
	s := stem(w)
	for _, g := range deeds {
		if slices.Contains(g, s) {
			return g
		}
	}
	return nil
}

// does: the tool's name says one of the deeds.
func does(t RuleTool, named [][]string) bool {
	for _, w := range nameWords(strings.TrimPrefix(t.Name, t.Plugin+"_")) {
		s := stem(w)
		if slices.ContainsFunc(named, func(g []string) bool { return slices.Contains(g, s) }) {
			return true
		}
	}
	return false
}

// Propose makes a proposal of a model's answer: the keys it may be about, narrowed, without those that an equal or stricter rule
// or pending proposal (by key) covers. So a proposal never loosens a rule.
func Propose(said, answer string, c []RuleTool, pending map[string]string) (keys []string, rule string, ok bool) {
	found, modelRule, err := Parse(answer, c)
	if err != nil {
		return nil, "", false
	}
	rule = Level(said, modelRule)
	for _, k := range Narrow(said, found, c) {
		if tightens(k, rule, c, pending) {
			keys = append(keys, k)
		}
	}
	return keys, rule, len(keys) > 0
}

func tightens(key, rule string, c []RuleTool, pending map[string]string) bool {
	if p, ok := pending[key]; ok && !policy.Tighter(rule, p) {
		return false
	}
	for _, t := range c {
		switch key {
		case t.Name:
			p, ok := pending[t.Plugin]
			return policy.Tighter(rule, t.Rule) && (!ok || policy.Tighter(rule, p))
		case t.Plugin:
			if policy.Tighter(rule, t.AppRule) || t.OwnRule != "" && policy.Tighter(rule, t.OwnRule) {
				return true
			}
		}
	}
	return false
}
