package app

import (
	"reflect"
	"slices"
	"strings"
)

// normalise tidies what people type before it is checked: rules, notes on rules, app ids, addresses of senders,
// DevTools addresses. It also keeps maps and lists from being null in JSON. Doing it twice changes nothing.
func normalise(c *Config) {
	fillEmpty(reflect.ValueOf(c).Elem())
	a := &c.Tools.Approvals
	a.Rules = tidyRules(a.Rules)
	dropStaleOrigins(a)
	c.Integrations.ReadOnly = unique(c.Integrations.ReadOnly, strings.TrimSpace)
	c.Tasks.Email.AllowedSenders = senders(c.Tasks.Email.AllowedSenders)
	c.Tasks.Email.Address = strings.TrimSpace(c.Tasks.Email.Address)
	c.Proactivity.QuietHours = strings.ReplaceAll(c.Proactivity.QuietHours, " ", "")
	c.Terminal.AllowedCommands = unique(c.Terminal.AllowedCommands, strings.TrimSpace)
	for _, app := range []*ChannelApp{&c.Channels.Telegram.ChannelApp, &c.Channels.Discord.ChannelApp, &c.Channels.WhatsApp.ChannelApp} {
		app.MemoryScope = scopeName(app.MemoryScope)
	}
	if _, ok := c.Browser.Profiles["default"]; !ok { // it always exists (section 12)
		c.Browser.Profiles["default"] = BrowserProfile{Kind: "launch"}
	}
	for name, p := range c.Browser.Profiles {
		p.Endpoint = endpoint(p.Endpoint)
		c.Browser.Profiles[name] = p
	}
}

// tidyRules trims names and lower-cases levels. When two names become one, the stricter level is kept.
func tidyRules(rules map[string]string) map[string]string {
	order := []string{"allow", "if_asked", "ask", "hand_off", "never"}
	tidy := make(map[string]string, len(rules))
	for _, key := range sortedKeys(rules) {
		k, level := strings.TrimSpace(key), strings.ToLower(strings.TrimSpace(rules[key]))
		if old, ok := tidy[k]; ok && slices.Index(order, old) > slices.Index(order, level) {
			level = old
		}
		tidy[k] = level
	}
	return tidy
}

// dropStaleOrigins: a note goes when its rule changes or is removed, which is the same as not matching the rule in force. One
// whose level is not a level at all stays for validation to name.
func dropStaleOrigins(a *ToolsApprovals) {
	tidy := make(map[string]RuleOrigin, len(a.RuleOrigins))
	for _, key := range sortedKeys(a.RuleOrigins) {
		origin, k := a.RuleOrigins[key], strings.TrimSpace(key)
		origin.Rule = strings.ToLower(strings.TrimSpace(origin.Rule))
		level := slices.Contains([]string{"allow", "if_asked", "ask", "hand_off", "never"}, origin.Rule)
		if rule, ok := a.Rules[k]; !level || ok && rule == origin.Rule {
			tidy[k] = origin
		}
	}
	a.RuleOrigins = tidy
}

// senders splits at commas and semicolons and lower-cases (section 4, tasks by email).
func senders(list []string) []string {
	var split []string
	for _, s := range list {
		split = append(split, strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ';' })...)
	}
	return unique(split, func(s string) string { return strings.ToLower(strings.TrimSpace(s)) })
}

// scopeName reads Work and PERSONAL as the built-in names (section 7).
func scopeName(s string) string {
	s = strings.TrimSpace(s)
	if l := strings.ToLower(s); l == "personal" || l == "work" || l == "always" {
		return l
	}
	return s
}

func unique(list []string, tidy func(string) string) []string {
	out := make([]string, 0, len(list))
	for _, s := range list {
		if s = tidy(s); s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// fillEmpty makes maps and lists that may not be null empty instead.
func fillEmpty(v reflect.Value) {
	for _, f := range fieldsOf(v.Type()) {
		fv := v.FieldByIndex(f.Index)
		switch fv.Kind() {
		case reflect.Struct:
			fillEmpty(fv)
		case reflect.Slice:
			if fv.IsNil() {
				fv.Set(reflect.MakeSlice(f.Type, 0, 0))
			}
		case reflect.Map:
			if fv.IsNil() && !f.Nullable {
				fv.Set(reflect.MakeMap(f.Type))
			}
			fillEntries(fv)
		}
	}
}

func fillEntries(m reflect.Value) {
	if m.Type().Elem().Kind() != reflect.Struct {
		return
	}
	for _, key := range m.MapKeys() {
		entry := reflect.New(m.Type().Elem()).Elem()
		entry.Set(m.MapIndex(key))
		fillEmpty(entry)
		m.SetMapIndex(key, entry)
	}
}
