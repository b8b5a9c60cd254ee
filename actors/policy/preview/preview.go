// Package preview shows a call the way a person reads it, from its tool's name and arguments alone (section 10, "Previews, undo
// windows and the trash"). Code builds it, never a model, so what is shown is what will run.
package preview

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
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
	flat := flatten(args)
	p := &msg.ActionPreview{Kind: kind, Title: titles[kind], Fields: fields(kind, flat, destinations), Body: body(flat)}
	if p.Title == "" {
		p.Title = line(plain, maxValue)
	}
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
		s, _ := at[k].(string)
		if s == "" {
			continue
		}
		if text, isText := at["arguments"].(string); isText {
			ok = json.Unmarshal([]byte(text), &inner) == nil && inner != nil
		} else {
			inner, ok = at["arguments"].(map[string]any)
		}
		return strings.ToLower(s), inner, ok
	}
	return "", nil, false
}

// labels are the arguments that a person reads as a line, in the order in which they are shown. Of who it goes to all are shown;
// of the others the first that there is.
var labels = []struct {
	label string
	keys  []string
}{
	{"To", strings.Fields("to recipient recipients recipient_email recipient_emails to_email to_emails to_address to_addresses to_recipients send_to email emails email_address email_addresses phone phones phone_number phone_numbers to_number attendees guests invitees participants")},
	{"Cc", strings.Fields("cc cc_email cc_emails cc_address cc_addresses cc_recipients")},
	{"Bcc", strings.Fields("bcc bcc_email bcc_emails bcc_address bcc_addresses bcc_recipients")},
	{"Where", strings.Fields("channel channel_id chat chat_id room thread thread_ts repo repository subreddit server guild conversation")},
	{"Subject", strings.Fields("subject title summary")},
	{"Files", strings.Fields("files attachments file attachment")},
	{"Amount", strings.Fields("amount price total cost sum")},
	{"Item", strings.Fields("item product id message_id email_id note_id file_id event_id page_id name path door")},
}

// onlyFor says for which kinds a line is read; a line that is not listed is read for all.
var onlyFor = map[string][]string{"Item": {Delete, Trash, Purchase, Action}}

func fields(kind string, args values, destinations []msg.Destination) []msg.PreviewField {
	list := []msg.PreviewField{}
	for _, l := range labels {
		if kinds, limited := onlyFor[l.label]; limited && !slices.Contains(kinds, kind) {
			continue
		}
		v := ""
		switch {
		case l.label == "To" && len(destinations) > 0:
			var all []string
			for _, d := range destinations {
				all = append(all, d.Address)
			}
			v = people(all)
		case l.label == "To" || l.label == "Cc" || l.label == "Bcc":
			v = people(args.all(l.keys))
		default:
			v = line(args.first(l.keys), maxValue)
		}
		if v == "" {
			continue
		}
		if l.label == "Amount" {
			if c := line(args.first([]string{"currency", "currency_code"}), 10); c != "" && !strings.Contains(strings.ToUpper(v), strings.ToUpper(c)) {
				v = line(v+" "+c, maxValue)
			}
		}
		label := l.label
		if label == "Subject" && kind == Post {
			label = "Title"
		}
		list = append(list, msg.PreviewField{Label: label, Value: v})
	}
	return list
}

// people writes who it goes to, each once; of more than fit it says how many.
func people(all []string) string {
	var shown []string
	length, seen := 0, map[string]bool{}
	more := 0
	for _, a := range all {
		a = line(a, maxValue)
		if a == "" || seen[a] {
			continue
		}
		seen[a] = true
		if length += utf8.RuneCountInString(a) + 2; length > maxValue-20 && len(shown) > 0 {
			more++
			continue
		}
		shown = append(shown, a)
	}
	if more > 0 {
		return line(strings.Join(shown, ", "), maxValue-20) + fmt.Sprintf(" and %d more", more)
	}
	return line(strings.Join(shown, ", "), maxValue)
}

// values are a call's arguments by their names in small letters with _ between words, those inside a message or the like too.
type values map[string][]any

// around hold what is sent.
var around = strings.Fields("message messages email mail input params parameters data payload draft body content item options event post arguments request")

func flatten(args map[string]any) values {
	v := values{}
	v.add(args, 0)
	return v
}

func (v values) add(args map[string]any, depth int) {
	keys := slices.Sorted(maps.Keys(args)) // so that the same call is always shown in the same way
	for _, k := range keys {
		name := strings.Join(words(k), "_")
		if depth < 5 && slices.Contains(around, name) && v.inside(name, args[k], depth) {
			continue
		}
		v[name] = append(v[name], args[k])
	}
}

// inside takes what an object, or each of a list of them, holds; false when it is no object, or a person.
func (v values) inside(name string, x any, depth int) bool {
	list, isList := x.([]any)
	if !isList {
		list = []any{x}
	}
	for _, x := range list {
		m, isObject := x.(map[string]any)
		if !isObject || name == "email" && firstOf(m, contacts) != "" {
			return false
		}
	}
	for _, x := range list {
		v.add(x.(map[string]any), depth+1)
	}
	return len(list) > 0
}

// all gives the single values under the names.
func (v values) all(keys []string) (list []string) {
	for _, k := range keys {
		for _, x := range v[k] {
			list = append(list, each(x, 0)...)
		}
	}
	return list
}

func (v values) first(keys []string) string {
	for _, k := range keys {
		for _, x := range v[k] {
			if s := plainValue(x); strings.TrimSpace(s) != "" {
				return s
			}
		}
	}
	return ""
}

func each(v any, depth int) []string {
	list, isList := v.([]any)
	if !isList || depth > 3 {
		return []string{plainValue(v)}
	}
	var all []string
	for _, x := range list {
		all = append(all, each(x, depth+1)...)
	}
	return all
}

var contacts = []string{"email", "address", "email_address", "emailAddress", "phone"}

// firstOf is the first text under one of the keys, also one level deeper.
func firstOf(m map[string]any, keys []string) string {
	for _, k := range keys {
		switch x := m[k].(type) {
		case string:
			if x != "" {
				return x
			}
		case map[string]any:
			if s, _ := x["address"].(string); s != "" {
				return s
			}
		}
	}
	return ""
}

const longest = 4 * maxBody // bytes of a value that are written, so that its depth costs nothing

// plainValue is a value as people write it: lists by commas, addresses and names out of objects that hold one.
func plainValue(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	var b strings.Builder
	writeValue(&b, v)
	return b.String()
}

func writeValue(b *strings.Builder, v any) {
	switch v := v.(type) {
	case nil:
		return
	case string:
		b.WriteString(v)
		return
	case []any:
		for _, x := range v {
			if b.Len() > longest {
				return
			}
			if s, ok := x.(string); x == nil || ok && s == "" {
				continue
			}
			if b.Len() > 0 && !strings.HasSuffix(b.String(), ", ") {
				b.WriteString(", ")
			}
			writeValue(b, x)
		}
		return
	case map[string]any:
		if s := firstOf(v, append(slices.Clone(contacts), "filename", "file_name", "name", "title", "path", "url", "id")); s != "" {
			b.WriteString(s)
			return
		}
	case float64:
		b.WriteString(strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(v, 'f', 4, 64), "0"), "."))
		return
	}
	if j, err := json.Marshal(v); err == nil {
		b.Write(j)
	}
}

var bodies = strings.Fields("body message text content message_body email_body markdown_text caption comment note html html_body body_html description")

// body is the text that is sent, with its line breaks; marks that hide or turn anything are shown as such. A call that brings two (plain
// and HTML) shows both: which one its reader sees is not known.
func body(args values) string {
	var parts []string
	for _, k := range bodies {
		for _, x := range args[k] {
			if s, ok := x.(string); ok {
				if s = text(s); s != "" && !slices.Contains(parts, s) {
					parts = append(parts, s)
				}
			}
		}
	}
	return msg.Clip(strings.Join(parts, "\n\n"), maxBody)
}

// text is a text of several lines as it is shown.
func text(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		return shown(r)
	}, strings.ToValidUTF8(s, "\uFFFD")))
}

// shown keeps what a person can see, and the two joiners that scripts and emoji are written with. A control or a mark that hides
// text or turns its direction is shown as what cannot be shown, since it will be sent.
func shown(r rune) rune {
	const nonJoiner, joiner = '\u200c', '\u200d'
	switch {
	case r == '\r':
		return -1
	case r == nonJoiner || r == joiner:
		return r
	case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
		return utf8.RuneError
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
	return msg.Clip(strings.Join(strings.Fields(s), " "), n)
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
	for _, k := range slices.Sorted(maps.Keys(args)) {
		if v := msg.Clip(text(plainValue(args[k])), maxBody); v != "" {
			h.Details = append(h.Details, msg.PreviewField{Label: line(k, 120), Value: v})
		}
	}
	return h
}
