// Package outcome finds in code, never by a model, what a call that should change something really did: by what its result says,
// and by what its tool reads back (section 4, "Checking the outcome").
package outcome

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"sentient/actors/msg"
)

// Kinds of what a call does.
const (
	Email   = "email"
	Message = "message"
	File    = "file"
	Event   = "event"
	Home    = "home"
)

// How a check was made.
const (
	byResult   = "result"
	byReadBack = "read_back"
)

// Kind says what a tool's calls do, and whether they are checked: tools that declare an outcome or read back, and every MCP tool
// that is not a look-up, its kind guessed from its name.
func Kind(t msg.Tool, plugin string) (kind string, checked bool) {
	switch {
	case t.Outcome != "" || t.Verify != nil:
		return t.Outcome, true
	case !strings.HasPrefix(plugin, "mcp_") || t.Risk == msg.RiskRead:
		return "", false
	}
	return guess(t.Name), true
}

func guess(name string) string {
	ws := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) })
	for _, k := range []struct {
		kind  string
		words []string
	}{
		{Email, []string{"email", "mail", "gmail", "outlook"}}, {Event, []string{"event", "calendar", "meeting"}}, {Message, []string{"message", "slack", "discord", "telegram", "whatsapp", "chat", "dm", "sms"}},
		{File, []string{"file", "document", "upload"}}, {Home, []string{"light", "lock", "door", "thermostat"}},
	} {
		if slices.ContainsFunc(ws, func(w string) bool { return slices.Contains(k.words, w) }) {
			return k.kind
		}
	}
	return ""
}

// done is what a call of a kind did, for people.
var done = map[string]string{Email: "email sent", Message: "message sent", File: "file written", Event: "event saved", Home: "home changed"}

// OfResult checks a call by what its result says.
func OfResult(tool, plain, app, kind string, args map[string]any, result json.RawMessage, isError bool) msg.OutcomeCheck {
	c := msg.OutcomeCheck{Tool: tool, App: app, OK: true, How: byResult, Targets: targets(args), Missed: []string{}, Action: done[kind]}
	if kind != "" {
		c.Kind = &kind
	}
	if c.Action == "" {
		c.Action = strings.ToLower(plain) + " done"
	}
	reason, missed, failed := failure(result)
	if failed && cancels(tool) && (reason == "its status is cancelled" || reason == "its status is canceled") {
		failed = false // as it was asked to
	}
	if !failed && isError {
		reason, failed = "it failed", true
	}
	if failed {
		c.OK = false
		c.Detail = fmt.Sprintf("%s reported a problem: %s", app, msg.OneLine(reason, 300))
		c.Missed = missed
		if len(missed) == 0 {
			c.Missed = c.Targets
		}
	}
	return c
}

// cancels: a tool whose good end is that something is cancelled.
func cancels(tool string) bool { return strings.Contains(strings.ToLower(tool), "cancel") }

// ReadBack takes what the tool read back into a check of a result that looked good.
func ReadBack(c msg.OutcomeCheck, o msg.Outcome) msg.OutcomeCheck {
	c.How, c.OK, c.Detail = byReadBack, o.OK, msg.OneLine(o.Detail, 300)
	if len(o.Targets) > 0 {
		c.Targets = o.Targets
	}
	c.Missed = []string{}
	if !o.OK {
		if c.Detail == "" {
			c.Detail = "it isn't there"
		}
		if c.Missed = o.Missed; len(c.Missed) == 0 {
			c.Missed = c.Targets
		}
	}
	return c
}

// ModelNote is what the model reads behind a result that a read-back found wrong; "" otherwise.
func ModelNote(c msg.OutcomeCheck) string {
	if c.OK || c.How != byReadBack {
		return ""
	}
	return fmt.Sprintf("[Sentient checked afterwards and it did not work: %s. Tell the user plainly; don't say it worked.]", strings.TrimRight(strings.NewReplacer("[", "(", "]", ")").Replace(c.Detail), "."))
}

var targetKeys = strings.Fields("to cc bcc recipient recipients recipient_email recipient_emails email phone channel channel_id chat_id name path file filename title summary subject entity_id door item id")

// targets are what a call acts on, as its arguments name it.
func targets(args map[string]any) []string {
	list := []string{}
	for _, k := range targetKeys {
		for _, s := range texts(args[k]) {
			if s = msg.OneLine(s, 120); s != "" && !slices.Contains(list, s) {
				list = append(list, s)
			}
		}
		if len(list) > 0 && !slices.Contains([]string{"to", "cc", "bcc"}, k) {
			break // the first that names it; copies go with the recipients
		}
	}
	return list
}

func texts(v any) (list []string) {
	switch v := v.(type) {
	case string:
		if strings.Contains(v, "@") {
			return strings.FieldsFunc(v, func(r rune) bool { return r == ',' || r == ';' })
		}
		return []string{v}
	case []any:
		for _, x := range v {
			list = append(list, texts(x)...)
		}
	case map[string]any:
		for _, k := range []string{"email", "address", "name", "to", "id"} {
			if s, ok := v[k].(string); ok {
				return []string{s}
			}
		}
	}
	return list
}

// failure looks for what a result says went wrong, one level down too, and into what an MCP server wraps.
func failure(result json.RawMessage) (reason string, missed []string, failed bool) {
	var v any
	if json.Unmarshal(result, &v) != nil {
		v = string(result)
	}
	return failureIn(v, 0)
}

const levels = 2 // of a result that are looked at

func failureIn(v any, depth int) (string, []string, bool) {
	switch v := v.(type) {
	case string:
		return failureText(v, depth)
	case map[string]any:
		if reason, missed, failed := failureObject(v); failed {
			return reason, missed, true
		}
		if depth >= levels {
			return "", nil, false
		}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			switch x := v[k].(type) {
			case map[string]any:
				if reason, missed, failed := failureIn(x, depth+1); failed {
					return reason, missed, true
				}
			case []any, string:
				if k == "content" || k == "structured" || k == "result" {
					if reason, missed, failed := failureIn(x, depth+1); failed {
						return reason, missed, true
					}
				}
			}
		}
	case []any:
		for _, x := range v {
			m, ok := x.(map[string]any)
			if t, isText := m["text"].(string); ok && isText { // MCP's content parts
				if reason, missed, failed := failureText(t, depth); failed {
					return reason, missed, true
				}
			} else if reason, missed, failed := failureIn(x, depth+1); failed && depth < levels {
				return reason, missed, true
			}
		}
	}
	return "", nil, false
}

func failureText(s string, depth int) (string, []string, bool) {
	t := strings.TrimSpace(s)
	if len(t) > 1 && (t[0] == '{' || t[0] == '[') && depth < levels+1 {
		var v any
		if json.Unmarshal([]byte(t), &v) == nil {
			return failureIn(v, depth+1)
		}
	}
	low := strings.ToLower(msg.Clip(t, 40))
	if strings.HasPrefix(low, "error") || strings.HasPrefix(low, "failed") {
		return t, nil, true
	}
	return "", nil, false
}

// failureObject looks at one object's own members.
func failureObject(v map[string]any) (reason string, missed []string, failed bool) {
	why := func() string {
		for _, k := range []string{"error", "message", "reason", "detail", "error_message"} {
			if s := plain(v[k]); s != "" {
				return s
			}
		}
		return ""
	}
	if e, has := v["error"]; has && truthy(e) {
		return orElse(why(), "it failed"), nil, true
	}
	for _, k := range []string{"failed", "errors", "rejected", "bounced", "not_sent"} {
		if list, ok := v[k].([]any); ok && len(list) > 0 {
			reason, missed = missing(k, list)
			return reason, missed, true
		}
		if m, ok := v[k].(map[string]any); ok && len(m) > 0 {
			missed = append(missed, slices.Sorted(maps.Keys(m))...)
			return "it couldn't do it for " + strings.Join(missed, ", "), missed, true
		}
	}
	for _, k := range []string{"ok", "success", "successful", "sent", "created"} {
		if b, ok := v[k].(bool); ok && !b {
			return orElse(why(), "it says that it did not work"), nil, true
		}
	}
	if v["isError"] == true || v["is_error"] == true {
		return orElse(why(), "it failed"), nil, true
	}
	if s, ok := v["status"].(string); ok && slices.Contains([]string{"failed", "failure", "error", "rejected", "bounced", "not_sent", "denied", "cancelled", "canceled"}, strings.ToLower(s)) {
		return orElse(why(), "its status is "+strings.ToLower(s)), nil, true
	}
	return "", nil, false
}

// missing words a list of what was not reached. Where an item says what went wrong but not for whom, missed
// is empty: it could be any.
func missing(key string, list []any) (reason string, missed []string) {
	var named, other []string
	for _, x := range list {
		who, why := texts(x), whyOf(x)
		s, _ := x.(string)
		address := addressIn(s)
		if address == "" && key == "errors" && strings.Contains(s, " ") {
			who, why = nil, s
		}
		switch {
		case address != "":
			who, named = []string{address}, append(named, oneLine(s))
		case len(who) > 0 && why != "" && why != who[0]:
			named = append(named, fmt.Sprintf("%s (%s)", who[0], why))
		case len(who) > 0:
			named = append(named, who[0])
		default:
			other = append(other, orElse(why, "it failed for some"))
		}
		missed = append(missed, who...)
	}
	if len(other) > 0 {
		missed = nil
	}
	if len(named) > 0 {
		other = append([]string{"it couldn't do it for " + strings.Join(named, ", ")}, other...)
	}
	return strings.Join(slices.Compact(other), "; "), missed
}

// addressIn is the one address in a sentence; "" for a bare address, for several and for none.
func addressIn(s string) (address string) {
	fields := strings.Fields(s)
	for _, f := range fields {
		if !strings.Contains(f, "@") {
			continue
		}
		if len(fields) == 1 || address != "" {
			return ""
		}
		address = strings.Trim(f, `<>()[]"'.,:;`)
	}
	return address
}

func whyOf(v any) string {
	m, _ := v.(map[string]any)
	for _, k := range []string{"reason", "error", "message", "detail"} {
		if s := plain(m[k]); s != "" {
			return s
		}
	}
	return ""
}

func plain(v any) string {
	switch v := v.(type) {
	case string:
		return strings.TrimSpace(v)
	case map[string]any:
		return plain(v["message"])
	}
	return ""
}

func truthy(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return strings.TrimSpace(v) != ""
	case float64:
		return v != 0
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	return true
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func oneLine(s string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))), " ")
}
