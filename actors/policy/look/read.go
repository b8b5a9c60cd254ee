package look

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
)

// facts are what texts name.
type facts struct {
	addresses map[string]bool
	phones    map[string]bool
	amounts   map[int64]bool
	hosts     map[string]bool
}

// read takes what a text names. In the person's own words every number can be an amount.
func (f *facts) read(text string, own bool) {
	for _, a := range emails(text) {
		f.addresses[fold(a)] = true
	}
	for _, p := range phones(text) {
		f.phones[p.digits] = true
	}
	for _, m := range money(text, own) {
		f.amounts[m.hundredths] = true
	}
	for _, h := range links(text) {
		f.hosts[h] = true
	}
}

// phone: the number was given, with or without its country's code.
func (f *facts) phone(digits string) bool {
	if f.phones[digits] {
		return true
	}
	for p := range f.phones {
		short, long := p, digits
		if len(short) > len(long) {
			short, long = long, short
		}
		if short = strings.TrimLeft(short, "0"); len(short) >= 8 && strings.HasSuffix(long, short) && len(long)-len(short) <= 3 {
			return true
		}
	}
	return false
}

// place is where outside content names an address.
type place struct {
	source string // the app, or who wrote it
	email  string // "Arjun Mehta <arjun@example.com>" when it stands in a message of theirs
	line   string // Cc, To, ...: a header line of it; "" its text
	sender bool   // it is the sender's own
}

func (p place) String() string {
	switch {
	case p.email == "":
		return oneLine(p.source, 80)
	case p.line != "":
		return "the " + p.line + " line of an email from " + oneLine(p.email, 120) + " (" + oneLine(p.source, 80) + ")"
	}
	return "the text of an email from " + oneLine(p.email, 120) + " (" + oneLine(p.source, 80) + ")"
}

// see remembers where an address was named. A place that is not the sender's counts before one that is, whatever comes first.
func (e *Evidence) see(address string, p place) {
	a := fold(address)
	if old, ok := e.places[a]; !ok || old.sender && !p.sender {
		e.places[a] = p
	}
}

func (e *Evidence) seeText(text string, p place) {
	for _, a := range emails(text) {
		e.see(a, p)
	}
	for _, h := range links(text) {
		if e.hosts[h] == "" {
			e.hosts[h] = oneLine(p.source, 80)
		}
	}
}

// readOutside reads a result as JSON, where messages have senders; anything else is text, but for its "from" values.
func readOutside(e *Evidence, o Outside) {
	var v any
	if json.Unmarshal([]byte(o.Text), &v) == nil {
		switch v.(type) {
		case map[string]any, []any:
			e.walk(v, place{source: o.App}, 0)
			return
		}
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
		for _, a := range emails(o.Text[start:end]) {
			e.see(a, place{source: o.App, sender: true})
		}
		for k := start; k < end; k++ {
			rest[k] = ' '
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

const deepest = 200 // levels of JSON that are read; what is deeper is text

func (e *Evidence) walk(v any, p place, depth int) {
	if depth > deepest {
		b, _ := json.Marshal(v)
		e.seeText(string(b), p)
		return
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
			for _, a := range emails(text(v[k])) {
				e.see(a, place{source: p.source, email: from, sender: true})
			}
		case isMessage && headerKeys[low] != "":
			e.walk(v[k], place{source: p.source, email: from, line: headerKeys[low]}, depth+1)
		default:
			e.walk(v[k], p, depth+1)
		}
	}
}

// message: an item with a sender's address and something a message has.
func message(v map[string]any) (from string, ok bool) {
	has := false
	for k, x := range v {
		low := strings.ToLower(k)
		if slices.Contains(fromKeys, low) && len(emails(text(x))) > 0 && (from == "" || low == "from") {
			from = strings.TrimSpace(text(x))
		}
		has = has || slices.Contains([]string{"subject", "body", "snippet", "to"}, low)
	}
	return from, has && from != ""
}

// text is a value's text: of an object that names a sender, its name and address.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case map[string]any:
		var parts []string
		for _, k := range []string{"name", "email", "address"} {
			if s, ok := v[k].(string); ok {
				parts = append(parts, s)
			}
		}
		return strings.Join(parts, " ")
	case []any:
		var parts []string
		for _, x := range v {
			parts = append(parts, text(x))
		}
		return strings.Join(parts, ", ")
	}
	return ""
}

// outgoing is what a call sends where.
type outgoing struct {
	addresses []string
	phones    []number
	amounts   []number
	hosts     []string
}

var recipientKeys = strings.Fields(`to cc bcc recipient recipients recipient_email recipient_emails to_email to_emails to_address to_addresses email emails email_address email_addresses attendee attendees guest guests invitee invitees
	participant participants member members send_to forward_to reply_to user_email cc_email cc_emails bcc_email bcc_emails`)

var phoneKeys = strings.Fields(`phone phones phone_number phone_numbers mobile to_number number to recipient recipients msisdn tel whatsapp`)

var amountKeys = strings.Fields(`amount amounts price total cost sum fee budget payment bid offer tip donation`)

// sentBy reads a call's arguments, nested ones too.
func sentBy(args map[string]any) *outgoing {
	o := &outgoing{}
	o.walk("", args, 0)
	return o
}

func (o *outgoing) walk(key string, v any, depth int) {
	if depth > deepest {
		return // the schema's check refuses such arguments before
	}
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			under := keyOf(k)
			if slices.Contains(recipientKeys, key) && !slices.Contains([]string{"body", "text", "message"}, under) {
				under = key // {"to": [{"email": ...}]}
			}
			o.walk(under, v[k], depth+1)
		}
	case []any:
		for _, x := range v {
			o.walk(key, x, depth+1)
		}
	case float64:
		if slices.Contains(amountKeys, key) {
			o.amounts = append(o.amounts, number{text: trimNumber(v), hundredths: int64(math.Round(math.Max(-1e16, math.Min(v, 1e16)) * 100))})
		}
	case string:
		o.text(key, v)
	}
}

func (o *outgoing) text(key, v string) {
	found := emails(v)
	whole := len(found) > 0 && len(found[0]) == len(strings.Trim(strings.TrimSpace(v), "<>")) && key != "from" && key != "sender"
	if slices.Contains(recipientKeys, key) || whole {
		o.addresses = append(o.addresses, found...)
	}
	if slices.Contains(phoneKeys, key) && len(found) == 0 {
		o.phones = append(o.phones, phones(v)...)
	}
	o.amounts = append(o.amounts, money(v, slices.Contains(amountKeys, key))...)
	o.hosts = append(o.hosts, links(v)...)
}

func keyOf(k string) string {
	k = strings.ToLower(strings.NewReplacer("-", "_", " ", "_").Replace(k))
	return strings.Trim(k, "_")
}
