package look

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"sentient/actors/msg"
)

// facts are what texts name.
type facts struct {
	addresses map[string]bool
	phones    map[string]bool // as they are written
	national  map[string]bool // those without a country's code, without the first zero
	tails     map[string]bool // all, and without their first one to three digits
	amounts   map[int64]bool
	hosts     map[string]bool
	links     map[string]bool
}

func newFacts() facts {
	return facts{map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, map[int64]bool{}, map[string]bool{}, map[string]bool{}}
}

// read takes what a text names. In the person's own words every number can be an amount, and addresses may be spoken.
func (f *facts) read(raw string, own bool) {
	text := plain(raw)
	f.take(text)
	for _, m := range money(text, own) {
		f.amounts[m.hundredths] = true
	}
	if !own {
		f.record(text)
		return
	}
	for _, m := range spelled(text, true) {
		f.amounts[m.hundredths] = true
	}
	if u, ok := unmasked(text); ok {
		f.take(u)
	}
}

func (f *facts) take(text string) {
	for _, a := range emails(text) {
		f.addresses[fold(a)] = true
	}
	for _, p := range phones(text, 3) {
		f.takePhone(p)
	}
	for _, l := range links(text) {
		f.hosts[l.host], f.links[l.whole] = true, true
	}
	domains(text, func(h string, _ bool) { f.hosts[h] = true })
}

// record takes the amounts of a record that have no sign, by the names of its fields.
func (f *facts) record(text string) {
	if v, ok := asJSON(text); ok {
		o := &outgoing{record: true}
		o.walk("", 0, v, 0)
		for _, m := range o.amounts {
			f.amounts[m.hundredths] = true
		}
	}
}

const likeEnough = 8 // digits that two spellings of a phone number have in common

func (f *facts) takePhone(p number) {
	known := f.phones[p.digits]
	f.phones[p.digits] = true
	if !p.international {
		if n := strings.TrimLeft(p.digits, "0"); len(n) >= likeEnough {
			f.national[n] = true
		}
	}
	for k := 0; !known && k <= 3 && len(p.digits)-k >= likeEnough; k++ {
		f.tails[p.digits[k:]] = true
	}
}

// phone: the number was given, with or without its country's code. Two that both have one must be the same.
func (f *facts) phone(n number) bool {
	if f.phones[n.digits] {
		return true
	}
	for k := 0; k <= 3 && k < len(n.digits); k++ {
		if f.national[n.digits[k:]] {
			return true
		}
	}
	return !n.international && f.tails[strings.TrimLeft(n.digits, "0")]
}

// place is where outside content names an address.
type place struct {
	source string // the app, or who wrote it
	email  string // "Arjun Mehta <arjun@example.com>" when it stands in a message of theirs
	line   string // Cc, To, ...: a header line of it; "" its text
	sender bool   // it is the sender's own
}

func (p place) String() string {
	from := msg.OneLine(p.email, 120) + " (" + msg.OneLine(p.source, 80) + ")"
	switch {
	case p.email == "":
		return msg.OneLine(p.source, 80)
	case p.line != "":
		return "the " + p.line + " line of an email from " + from
	case p.sender:
		return "an email from " + from
	}
	return "the text of an email from " + from
}

// see remembers where an address was named. A place that is not the sender's counts before one that is, whatever comes first.
func (e *Evidence) see(address string, p place) {
	a := fold(address)
	if old, ok := e.places[a]; !ok || old.sender && !p.sender {
		e.places[a] = p
	}
}

func (e *Evidence) seeText(raw string, p place) {
	text := plain(raw)
	e.seeAddresses(text, p)
	e.seeLinks(text, p)
	if u, ok := unmasked(text); ok {
		e.seeAddresses(u, p)
		e.seeLinks(u, p)
	}
}

func (e *Evidence) seeAddresses(text string, p place) {
	for _, a := range emails(text) {
		e.see(a, p)
	}
}

func (e *Evidence) seeLinks(text string, p place) {
	from := ""
	source := func() string {
		if from == "" {
			from = msg.OneLine(p.source, 80)
		}
		return from
	}
	for _, l := range links(text) {
		if e.hosts[l.host] == "" {
			e.hosts[l.host] = source()
		}
		if l.whole != l.host && e.links[l.whole] == "" {
			e.links[l.whole] = source()
		}
	}
	domains(text, func(h string, mail bool) {
		if p.line == "" { // a header line's domain is that of people who get such mail
			e.domains[h] = true
		}
		if !mail && e.hosts[h] == "" {
			e.hosts[h] = source()
		}
	})
}

// readOutside reads a result as JSON, where messages have senders; anything else is text, but for the "from" values of a result
// of JSON that was cut.
func (e *Evidence) readOutside(o Outside) {
	var v any
	if json.Unmarshal([]byte(o.Text), &v) == nil {
		switch v.(type) {
		case map[string]any, []any:
			e.walk(v, place{source: o.App}, 0)
			for _, a := range emails(o.Text) { // what a decoder drops: a key that stands twice
				if _, ok := e.places[fold(a)]; !ok {
					e.see(a, place{source: o.App})
				}
			}
			return
		}
	}
	if s := strings.TrimSpace(o.Text); s == "" || s[0] != '{' && s[0] != '[' { // a page can write "from" too
		e.seeText(o.Text, place{source: o.App})
		return
	}
	rest := []byte(o.Text) // without the "from" values
	for at := 0; ; {
		i := strings.Index(o.Text[at:], `"from"`)
		if i < 0 {
			break
		}
		at += i + len(`"from"`)
		start, end, ok := quoted(o.Text, at)
		if !ok {
			continue
		}
		if list := mailboxes(o.Text[start:end]); len(list) == 1 && !list[0].odd {
			e.see(list[0].address, place{source: o.App, email: o.Text[start:end], sender: true})
			for k := start; k < end; k++ {
				rest[k] = ' '
			}
		}
		at = end
	}
	e.seeText(string(rest), place{source: o.App})
}

// quoted finds the text in quotes that follows a key, at most 400 bytes of it.
func quoted(s string, at int) (start, end int, ok bool) {
	for at < len(s) && strings.IndexByte(" :\t\n", s[at]) >= 0 {
		at++
	}
	if at >= len(s) || s[at] != '"' {
		return 0, 0, false
	}
	n := strings.IndexByte(s[at+1:min(len(s), at+400)], '"')
	return at + 1, at + 1 + n, n >= 0
}

func (e *Evidence) walk(v any, p place, depth int) {
	if depth > deepest {
		return // no decoder gives as much
	}
	switch v := v.(type) {
	case string:
		e.seeText(v, p)
	case []any:
		for _, x := range v {
			e.walk(x, p, depth+1)
		}
	case map[string]any:
		e.walkObject(v, p, depth)
	}
}

var (
	fromKeys   = []string{"from", "sender", "sender_email", "from_email"}
	headerKeys = map[string]string{"to": "To", "cc": "Cc", "bcc": "Bcc", "reply_to": "Reply-To", "replyto": "Reply-To", "reply-to": "Reply-To"}
)

func (e *Evidence) walkObject(v map[string]any, p place, depth int) {
	from, isMessage := message(v)
	if isMessage {
		p = place{source: p.source, email: from}
	}
	for _, k := range slices.Sorted(maps.Keys(v)) {
		low := strings.ToLower(k)
		e.seeText(k, p)
		switch {
		case isMessage && slices.Contains(fromKeys, low):
			e.seeSender(v[k], p, depth)
		case isMessage && headerKeys[low] != "":
			e.walk(v[k], place{source: p.source, email: from, line: headerKeys[low]}, depth+1)
		default:
			e.walk(v[k], p, depth+1)
		}
	}
}

// seeSender takes a sender's address. Whatever else stands there, as a name that is an address, is text.
func (e *Evidence) seeSender(v any, p place, depth int) {
	_, own := senderOf(v)
	for _, t := range own {
		if !t.odd {
			e.see(t.address, place{source: p.source, email: p.email, sender: true})
		}
	}
	if s, ok := v.(string); ok {
		for _, a := range emails(plain(s)) {
			if !slices.ContainsFunc(own, func(t target) bool { return fold(t.address) == fold(a) }) {
				e.see(a, p)
			}
		}
		return
	}
	if m, ok := v.(map[string]any); ok {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if low := strings.ToLower(k); low != "email" && low != "address" {
				e.walk(m[k], p, depth+1)
			}
		}
	}
}

// message: an item with a sender's address and something a message has.
func message(v map[string]any) (from string, ok bool) {
	has := false
	for _, k := range slices.Sorted(maps.Keys(v)) {
		low := strings.ToLower(k)
		if slices.Contains(fromKeys, low) && (from == "" || low == "from") {
			if label, own := senderOf(v[k]); len(own) > 0 {
				from = label
			}
		}
		has = has || slices.Contains([]string{"subject", "body", "snippet", "to"}, low)
	}
	return from, has && from != ""
}

// senderOf is a sender as people read it, and the addresses that are theirs.
func senderOf(v any) (label string, own []target) {
	switch v := v.(type) {
	case string:
		return strings.TrimSpace(v), mailboxes(v)
	case map[string]any:
		for _, k := range []string{"email", "address"} {
			if s, _ := v[k].(string); s != "" {
				own = append(own, mailboxes(s)...)
				label = s
			}
		}
		if name, _ := v["name"].(string); name != "" && label != "" {
			label = name + " <" + label + ">"
		}
	case []any:
		for _, x := range v {
			if s, more := senderOf(x); len(more) > 0 {
				label, own = strings.TrimPrefix(label+", "+s, ", "), append(own, more...)
			}
		}
	}
	return label, own
}
