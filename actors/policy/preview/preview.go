// Package preview shows a call the way a person reads it, from its tool's name and arguments alone (section 10, "Previews, undo
// windows and the trash"). Code builds it, never a model, so what is shown is what will run.
package preview

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"sentient/actors/msg"
)

// Kinds of a preview.
const (
	Email    = "email"
	Message  = "message"
	Post     = "post"
	Delete   = "delete"
	Trash    = "trash"
	Purchase = "purchase"
	Action   = "action"
)

const (
	maxBody  = 4000 // characters
	maxValue = 500  // characters of a field's line
)

// titles are the plain words for a kind.
var titles = map[string]string{Email: "Email", Message: "Message", Post: "Post", Delete: "Delete", Trash: "Move to trash", Purchase: "Purchase"}

// Of shows a call; nil when there is nothing a person would read (a plain look-up). A tool that runs others by slug is shown by
// the first call it runs. Destinations are where a reply really goes.
func Of(name, plain, app string, risk msg.Risk, label string, args map[string]any, destinations []msg.Destination) *msg.ActionPreview {
	if slug, inner, ok := firstSlug(args); ok {
		name, args = slug, inner
	}
	kind := Kind(name, risk)
	if label == "Purchase" && risk >= msg.RiskSend {
		kind = Purchase
	}
	if kind == "" {
		return nil
	}
	p := &msg.ActionPreview{Kind: kind, Title: titles[kind], Fields: fields(kind, args, destinations)}
	if p.Title == "" {
		p.Title = line(plain, maxValue)
	}
	p.Body = body(args)
	if len(p.Fields) == 0 && p.Body == "" {
		return nil
	}
	return p
}

// firstSlug finds the first call of a tool that runs other tools by slug (Composio's multi-execute).
func firstSlug(args map[string]any) (slug string, inner map[string]any, ok bool) {
	at := args
	if list, isList := args["tools"].([]any); isList && len(list) > 0 {
		at, _ = list[0].(map[string]any)
	}
	for _, k := range []string{"tool_slug", "action_slug", "slug"} {
		if s, _ := at[k].(string); s != "" {
			inner, isObject := at["arguments"].(map[string]any)
			return strings.ToLower(s), inner, isObject
		}
	}
	return "", nil, false
}

// labels are the arguments that a person reads as a line, in the order in which they are shown.
var labels = []struct {
	label string
	keys  []string
}{
	{"To", []string{"to", "recipient", "recipients", "recipient_email", "to_email", "to_emails", "to_addresses", "email", "emails", "phone", "phone_number", "attendees", "guests", "invitees"}},
	{"Cc", []string{"cc", "cc_emails"}},
	{"Bcc", []string{"bcc", "bcc_emails"}},
	{"Where", []string{"channel", "channel_id", "chat", "chat_id", "room", "thread", "thread_ts", "repo", "repository", "subreddit", "server", "guild", "conversation"}},
	{"Subject", []string{"subject", "title", "summary"}},
	{"Files", []string{"files", "attachments", "file", "attachment"}},
	{"Amount", []string{"amount", "price", "total", "cost", "sum"}},
	{"Item", []string{"item", "product", "id", "message_id", "email_id", "note_id", "file_id", "event_id", "page_id", "name", "path", "door"}},
}

// onlyFor says for which kinds a line is read; a line that is not listed is read for all.
var onlyFor = map[string][]string{"Item": {Delete, Trash, Purchase, Action}}

func fields(kind string, args map[string]any, destinations []msg.Destination) []msg.PreviewField {
	list := []msg.PreviewField{}
	if to := addresses(destinations); to != "" {
		list = append(list, msg.PreviewField{Label: "To", Value: to})
	}
	for _, l := range labels {
		if kinds, limited := onlyFor[l.label]; limited && !slices.Contains(kinds, kind) || l.label == "To" && len(list) > 0 {
			continue
		}
		for _, k := range l.keys {
			v := line(plainValue(value(args, k)), maxValue)
			if v == "" {
				continue
			}
			label := l.label
			if label == "Subject" && kind == Post {
				label = "Title"
			}
			list = append(list, msg.PreviewField{Label: label, Value: v})
			break
		}
	}
	return list
}

func addresses(ds []msg.Destination) string {
	var all []string
	for _, d := range ds {
		if !slices.Contains(all, d.Address) {
			all = append(all, d.Address)
		}
	}
	return line(strings.Join(all, ", "), maxValue)
}

// value finds an argument whatever the case of its name.
func value(args map[string]any, key string) any {
	if v, ok := args[key]; ok {
		return v
	}
	for k, v := range args {
		if strings.EqualFold(strings.ReplaceAll(k, "-", "_"), key) {
			return v
		}
	}
	return nil
}

// plainValue is a value as people write it: lists by commas, addresses out of objects that hold one.
func plainValue(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case []any:
		var parts []string
		for _, x := range v {
			if s := plainValue(x); s != "" {
				parts = append(parts, s)
			}
		}
		return strings.Join(parts, ", ")
	case map[string]any:
		for _, k := range []string{"email", "address", "name", "id"} {
			if s, _ := v[k].(string); s != "" {
				return s
			}
		}
	case float64:
		return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.4f", v), "0"), ".")
	}
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}

var bodies = []string{"body", "message", "text", "content", "message_body", "markdown_text", "caption", "comment", "note", "html", "description"}

// body is the text that is sent, with its line breaks and without marks that hide or turn anything.
func body(args map[string]any) string {
	for _, k := range bodies {
		s, ok := value(args, k).(string)
		if !ok || strings.TrimSpace(s) == "" {
			continue
		}
		s = strings.Map(func(r rune) rune {
			if r == '\n' || r == '\t' {
				return r
			}
			return shown(r)
		}, strings.ToValidUTF8(s, "\uFFFD"))
		return clip(strings.TrimSpace(s), maxBody)
	}
	return ""
}

// shown leaves out controls and marks that hide text or turn its direction.
func shown(r rune) rune {
	if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
		return -1
	}
	return r
}

func line(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		return shown(r)
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return clip(strings.Join(strings.Fields(s), " "), n)
}

func clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// HandOff is the result of a call that is handed to the person: what the model reads, and what the person finishes.
func HandOff(name, plain, app string, p *msg.ActionPreview, args map[string]any) msg.HandOff {
	plain = line(plain, 120)
	h := msg.HandOff{HandedOff: true, Label: plain, Title: plain, Preview: p,
		Message: fmt.Sprintf("NOT DONE by Sentient: %q in %s is set to \"Hand it to me\", so Sentient did not do it. What you prepared is shown to the user in Sentient, with a copy button, for them to finish themselves. Tell them so in one sentence, and don't say it was done.", plain, line(app, 120))}
	if p != nil {
		h.Title = p.Title
		return h
	}
	keys := make([]string, 0, len(args))
	for k := range args {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		if v := clip(strings.TrimSpace(plainValue(args[k])), maxBody); v != "" {
			h.Details = append(h.Details, msg.PreviewField{Label: k, Value: v})
		}
	}
	return h
}
