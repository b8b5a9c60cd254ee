package words

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"sentient/actors/policy"
)

const (
	maxAnswer = 16 << 10 // bytes of an answer that are read
	maxTries  = 20       // places where its JSON may begin
)

var errAnswer = errors.New("the answer is not the JSON that was asked for")

// Parse reads a model's answer, however it is wrapped. Keys that are not among the candidates' tools and apps are left out; rule
// is never or ask, and what is neither is ask.
func Parse(answer string, c []RuleTool) (keys []string, rule string, err error) {
	answer = answer[:min(len(answer), maxAnswer)]
	end := strings.LastIndexByte(answer, '}')
	for start, n := 0, 0; n < maxTries; n++ {
		next := strings.IndexByte(answer[start:], '{')
		if next < 0 || start+next > end {
			break
		}
		start += next
		for _, text := range spellings(answer[start : end+1]) {
			var a struct{ Keys, Rule any }
			if json.NewDecoder(strings.NewReader(text)).Decode(&a) == nil && a.Keys != nil {
				if said, _ := a.Rule.(string); strings.EqualFold(strings.TrimSpace(said), policy.RuleNever) {
					return known(a.Keys, c), policy.RuleNever, nil
				}
				return known(a.Keys, c), policy.RuleAsk, nil
			}
		}
		start++
	}
	return nil, "", errAnswer
}

var trailing = strings.NewReplacer(",]", "]", ", ]", "]", ",}", "}", ", }", "}", ",\n}", "}", ",\n]", "]")

// spellings are the ways to read what small models write for JSON.
func spellings(text string) []string {
	double := strings.ReplaceAll(text, "'", `"`)
	return []string{text, trailing.Replace(text), double, trailing.Replace(double)}
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
		for _, t := range c {
			name := t.Name
			if !strings.EqualFold(k, name) {
				if name = t.Plugin; name == "" || !strings.EqualFold(k, name) {
					continue
				}
			}
			if !slices.Contains(keys, name) {
				keys = append(keys, name)
			}
			break
		}
	}
	return keys
}

// Propose makes a proposal of a model's answer: the keys it may be about, narrowed, without those that an equal or stricter rule
// or pending proposal (by key) covers. So a proposal never loosens a rule.
func Propose(said, answer string, c []RuleTool, pending map[string]string) (keys []string, rule string, ok bool) {
	found, modelRule, err := Parse(answer, c)
	if err != nil {
		return nil, "", false
	}
	rule = Level(said, modelRule)
	narrowed := Narrow(said, found, c)
	for _, k := range narrowed {
		if tightens(k, rule, c, pending) && !within(k, narrowed, c) {
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

// within: the key is a tool whose app is proposed as a whole.
func within(key string, keys []string, c []RuleTool) bool {
	return slices.ContainsFunc(c, func(t RuleTool) bool { return t.Name == key && t.Plugin != key && slices.Contains(keys, t.Plugin) })
}
