package policy

import "slices"

// strictness lists the levels of a rule, loosest first; "" is no rule.
var strictness = []string{RuleAllow, "", RuleIfAsked, RuleAsk, RuleHandOff, RuleNever}

// Strictness orders rules: the higher, the stricter. A level that is not known counts as the loosest.
func Strictness(rule string) int { return max(0, slices.Index(strictness, rule)) }

// Tighter says whether rule is stricter than the other.
func Tighter(rule, than string) bool { return Strictness(rule) > Strictness(than) }

// RuleFor finds the rule that applies to a tool: its own, else its plugin's (section 2).
func RuleFor(rules map[string]string, tool, plugin string) (rule string, ofApp bool) {
	if r := rules[tool]; r != "" {
		return r, false
	}
	r := rules[plugin]
	return r, r != ""
}

// Tighten gives the rules that an accepted proposal adds: each of keys where that tightens what applies to it now, and, under
// an app's key, the tools whose own looser rule would beat the app's. app names a tool's app, tools an app's tools; a
// key that is neither is taken as a tool of no app.
func Tighten(rules map[string]string, keys []string, rule string, app func(tool string) string, tools func(app string) []string) map[string]string {
	added := map[string]string{}
	for _, k := range keys {
		inside := tools(k)
		if inside == nil {
			if now, _ := RuleFor(rules, k, app(k)); Tighter(rule, now) {
				added[k] = rule
			}
			continue
		}
		if Tighter(rule, rules[k]) {
			added[k] = rule
		}
		for _, t := range inside {
			if own := rules[t]; own != "" && Tighter(rule, own) {
				added[t] = rule
			}
		}
	}
	return added
}
