package look

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// outgoing is what a call sends where.
type outgoing struct {
	addresses []target
	phones    []number
	amounts   []number
	links     []link
	unread    bool // it is nested deeper than is read
	record    bool // of a record only the amounts are read
}

// deepest is how many levels of arguments and of results are read: more than a JSON decoder gives.
const deepest = 10_000

// role is what an argument holds, by its name and the names around it.
type role uint16

const (
	recipient role = 1 << iota
	telephone
	price
	priceObject // the numbers inside are amounts too
	inCents
	content  // text for people
	headline // text of one line for people
	sender
	rawMessage
)

var (
	recipientWords = strings.Fields(`to cc bcc recipient recipients email emails mailto attendee attendees guest guests invitee invitees participant participants member members
		addressee addressees receiver receivers destination destinations`)
	telephoneWords = strings.Fields(`phone phones telephone mobile cell tel msisdn sms whatsapp`)
	numberHolders  = strings.Fields(`to recipient recipients number numbers receiver destination destinations`)
	priceWords     = strings.Fields(`amount amounts price prices total totals cost costs sum fee fees budget payment payments bid offer tip donation subtotal payout salary`)
	priceObjects   = strings.Fields(`amount amounts price prices total totals cost costs sum fee fees subtotal payout`)
	contentWords   = strings.Fields(`body text message content html note notes description markdown comment caption snippet subject title summary`)
	notAmounts     = strings.Fields(`id ids count counts page pages items results limit size tokens number method type name status currency code at date days months minutes seconds`)
	rawWords       = strings.Fields(`raw mime eml rfc822`)
)

func roleOf(key string) (r role) {
	ws := wordsOf(key)
	if len(ws) == 0 {
		return 0
	}
	last := ws[len(ws)-1]
	if slices.Contains(contentWords, last) {
		if slices.Contains([]string{"subject", "title", "summary"}, last) {
			return content | headline
		}
		return content
	}
	if ws[0] == "from" || ws[0] == "sender" {
		return sender
	}
	if anyOf(ws, recipientWords) {
		r |= recipient
	}
	if anyOf(ws, telephoneWords) {
		r |= telephone
	}
	if anyOf(ws, priceWords) && !slices.Contains(notAmounts, last) {
		r |= price
		if slices.Contains(priceObjects, last) {
			r |= priceObject
		}
		if anyOf(ws, []string{"cents", "cent", "minor", "pence", "paise"}) {
			r |= inCents
		}
	}
	if anyOf(ws, rawWords) {
		r |= rawMessage
	}
	return r
}

// holdsNumbers: a phone number may stand here.
func holdsNumbers(key string) bool { return anyOf(wordsOf(key), numberHolders) }

// sentBy reads a call's arguments, nested ones and those in a text of JSON too.
func sentBy(args map[string]any) *outgoing {
	o := &outgoing{}
	o.object(args, "", 0, 0)
	return o
}

func (o *outgoing) walk(key string, r role, v any, depth int) {
	if depth > deepest {
		o.unread = true
		return
	}
	switch v := v.(type) {
	case map[string]any:
		o.object(v, key, r, depth)
	case []any:
		for _, x := range v {
			o.walk(key, r, x, depth+1)
		}
	case []string:
		for _, x := range v {
			o.walk(key, r, x, depth+1)
		}
	case string:
		o.text(key, r, v, depth)
	case float64:
		o.number(key, r, v)
	case json.Number, int, int64, int32, uint64, uint32, uint, float32:
		if f, err := strconv.ParseFloat(fmt.Sprint(v), 64); err == nil {
			o.number(key, r, f)
		}
	}
}

func (o *outgoing) object(v map[string]any, key string, r role, depth int) {
	for _, k := range slices.Sorted(maps.Keys(v)) {
		if !o.record && (r&recipient != 0 || addressList(k)) { // {"recipients": {"sam@example.com": ...}}
			o.addresses = append(o.addresses, targets(k)...)
		}
		under := roleOf(k)
		if under&(content|sender) == 0 {
			under |= r & (recipient | telephone) // {"to": [{"email": ...}]}
			if ws := wordsOf(k); r&priceObject != 0 && (len(ws) == 0 || !slices.Contains(notAmounts, ws[len(ws)-1])) {
				under |= r & (price | priceObject | inCents) // {"amount": {"value": ...}}
			}
		}
		name := k
		if under&recipient != 0 && holdsNumbers(key) {
			name = key
		}
		o.walk(name, under, v[k], depth+1)
	}
}

func (o *outgoing) number(key string, r role, v float64) {
	text := strconv.FormatFloat(v, 'f', -1, 64)
	if r&price != 0 {
		o.amounts = append(o.amounts, number{text: text, hundredths: inHundredths(v, r)})
	}
	if r&telephone != 0 || holdsNumbers(key) {
		o.takePhones(r, text)
	}
}

// inHundredths is an amount given as a number; what goes back counts as what goes out.
func inHundredths(v float64, r role) int64 {
	if r&inCents != 0 {
		v /= 100
	}
	v = math.Abs(v) * 100
	if !(v < float64(mostHundredths)) {
		return mostHundredths
	}
	return int64(math.Round(v))
}

func (o *outgoing) takePhones(r role, text string) {
	found := phones(text, 7)
	if len(found) == 0 && r&telephone != 0 { // a short number can cost much
		found = phones(text, 3)
	}
	o.phones = append(o.phones, found...)
}

func (o *outgoing) text(key string, r role, raw string, depth int) {
	if o.record {
		if r&price != 0 {
			o.takeAmounts(r, plain(raw))
		}
		return
	}
	if nested, ok := asJSON(raw); ok && r&content == 0 {
		o.walk(key, r, nested, depth+1)
	}
	v := plain(raw)
	o.recipients(key, r, raw, v)
	o.takeAmounts(r, v)
	o.links = append(o.links, links(v)...)
	if u, ok := unmasked(v); ok {
		o.links = append(o.links, links(u)...)
	}
}

func (o *outgoing) takeAmounts(r role, v string) {
	if r&price != 0 {
		f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
		if (err == nil || errors.Is(err, strconv.ErrRange)) && !math.IsNaN(f) && (strings.ContainsAny(v, "eExXpP") || r&inCents != 0) {
			o.amounts = append(o.amounts, number{text: v, hundredths: inHundredths(f, r)})
			return // what a program reads as one number; any other, as 1.200, is read the way people write it
		}
	}
	o.amounts = append(o.amounts, money(v, r&price != 0)...)
	o.amounts = append(o.amounts, spelled(v, r&price != 0)...)
}

func (o *outgoing) recipients(key string, r role, raw, v string) {
	switch scheme := schemeOf(v); scheme {
	case "mailto", "tel", "sms", "smsto", "callto":
		rest, err := url.QueryUnescape(strings.ReplaceAll(strings.TrimSpace(v)[len(scheme)+1:], "+", "%2B"))
		if err != nil {
			rest = v
		}
		o.addresses = append(o.addresses, targets(strings.NewReplacer("?", " ", "&", " ", "=", " ").Replace(rest))...)
		if scheme != "mailto" {
			o.takePhones(telephone, rest)
		}
		return
	}
	switch {
	case r&sender != 0:
		return
	case r&recipient != 0 || addressList(v):
		rest := []byte(v)
		for _, t := range targets(raw) {
			if n, ok := messenger(t.address); ok {
				o.phones = append(o.phones, n)
				continue
			}
			o.addresses = append(o.addresses, t)
			for i := t.start; i < t.end; i++ {
				rest[i] = ' ' // its digits are no phone number
			}
		}
		v = string(rest)
	case r&content == 0 || r&headline != 0:
		o.headers(v, r)
	}
	if r&telephone != 0 || holdsNumbers(key) || r&content == 0 && wholePhone(v) {
		o.takePhones(r, v)
	}
}

// headers finds header lines in an argument: behind the subject's line break, or in a whole message.
func (o *outgoing) headers(v string, r role) {
	if r&rawMessage != 0 {
		if s := strings.TrimRight(strings.NewReplacer("-", "+", "_", "/", "\r", "", "\n", "").Replace(v), "="); len(s) > 8 {
			if b, err := base64.RawStdEncoding.DecodeString(s); err == nil {
				v = plain(string(b))
			}
		}
	}
	for i, l := range strings.FieldsFunc(v, func(c rune) bool { return c == '\n' || c == '\r' }) {
		name, rest, ok := strings.Cut(l, ":")
		if (i > 0 || r&rawMessage != 0) && ok && slices.Contains([]string{"to", "cc", "bcc", "resent-to", "resent-cc", "resent-bcc"}, strings.ToLower(strings.TrimSpace(name))) {
			o.addresses = append(o.addresses, targets(rest)...)
		}
	}
}

// asJSON reads an argument that is a text of JSON.
func asJSON(s string) (v any, ok bool) {
	if s = strings.TrimSpace(s); s == "" || s[0] != '{' && s[0] != '[' {
		return nil, false
	}
	return v, json.Unmarshal([]byte(s), &v) == nil
}

func schemeOf(v string) string {
	scheme, _, ok := strings.Cut(strings.TrimSpace(v[:min(len(v), 40)]), ":")
	if !ok {
		return ""
	}
	return strings.ToLower(scheme)
}

// messenger: the address is a phone number as WhatsApp writes it.
func messenger(address string) (number, bool) {
	local, host, _ := strings.Cut(fold(address), "@")
	if host != "s.whatsapp.net" && host != "c.us" || len(digits(local)) != len(local) {
		return number{}, false
	}
	return phone("+" + local), true
}

// wholePhone: the text is nothing but a phone number with its country's code.
func wholePhone(v string) bool {
	v = strings.TrimSpace(v)
	return strings.HasPrefix(v, "+") && len(v) < 60 && len(digits(v)) >= 7 && strings.IndexFunc(v, unicode.IsLetter) < 0
}
