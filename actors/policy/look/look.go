// Package look is the second look at calls that can move data out (ADR 0024): it holds who a call goes to, how much money it
// names and which links it carries against what the person said. Code does the first part; the question to a model that follows
// is only worded and read here. It only ever finds reasons to ask.
package look

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"

	"sentient/actors/msg"
)

// Evidence is what a run knows. Trusted must hold nothing that outside content or the model itself wrote: results of look-ups
// that bring no outside content, without what their own arguments put into them, and the person's own files of the prompt.
type Evidence struct {
	Words    []string // the person's own messages, oldest first
	UserName string
	Trusted  []string
	Memories []string // active saved ones
	Outside  []Outside
	Group    []Group

	given  facts // what the person, trusted records and memories name
	named  map[string]bool
	places map[string]place // addresses that outside content names, by where
	hosts  map[string]string
}

// Outside is a result that brought outside content, whole.
type Outside struct{ App, Tool, Text string }

// Group is what somebody else wrote into the chat.
type Group struct{ Source, Text string }

// Action is the call that is looked at.
type Action struct {
	Tool, Plain, App   string
	Risk               msg.Risk
	Args               map[string]any
	Destinations       []msg.Destination // where a reply really goes
	DestinationsFailed bool
	AfterOutside       bool // the run read outside content
	ReplyAll           bool // the person's words ask to answer everybody
}

// What is said when a check could not be made.
const (
	Unchecked      = "Sentient couldn't double-check this against what you asked, so it checks with you first."
	unknownReplies = "Sentient couldn't read who this reply goes to, so it checks with you first."
)

// Found words what a model found.
func Found(reason string) string {
	reason = strings.TrimRight(oneLine(reason, 200), ". ")
	if reason == "" {
		reason = "it gave no reason"
	}
	return "A second look found this may not match what you asked: " + reason + "."
}

// Prepare reads the evidence once, in time that grows with its length.
func Prepare(e Evidence) *Evidence {
	e.given = facts{addresses: map[string]bool{}, phones: map[string]bool{}, amounts: map[int64]bool{}, hosts: map[string]bool{}}
	e.named = map[string]bool{}
	for _, w := range e.Words {
		e.given.read(w, true)
		for _, n := range nameTokens(w) {
			e.named[n] = true
		}
	}
	for _, n := range nameTokens(e.UserName) {
		e.named[n] = true
	}
	for _, t := range slices.Concat(e.Trusted, e.Memories) {
		e.given.read(t, false)
	}
	e.places, e.hosts = map[string]place{}, map[string]string{}
	for _, o := range e.Outside {
		readOutside(&e, o)
	}
	for _, g := range e.Group { // never read for senders: it is all text
		e.seeText(g.Text, place{source: g.Source})
	}
	return &e
}

// Check gives one plain sentence about what is off, or "" when nothing is.
func Check(a Action, e *Evidence) string {
	if a.DestinationsFailed {
		return unknownReplies
	}
	for _, d := range a.Destinations {
		if w := e.destination(a, d); w != "" {
			return w
		}
	}
	sent := sentBy(a.Args)
	for _, to := range sent.addresses {
		if w := e.recipient(to); w != "" {
			return w
		}
	}
	for _, p := range sent.phones {
		if !e.given.phone(p.digits) {
			return fmt.Sprintf("%s %s, a number that you didn't give.", e.goesTo("message"), p.text)
		}
	}
	for _, m := range sent.amounts {
		if !e.given.amounts[m.hundredths] {
			return fmt.Sprintf("This includes %s, an amount that isn't in what you asked.", m.text)
		}
	}
	if a.AfterOutside || len(e.Outside)+len(e.Group) > 0 {
		for _, h := range sent.hosts {
			if from := e.hosts[h]; from != "" && !e.given.hosts[h] {
				return fmt.Sprintf("This includes a link to %s that came from %s, not from you.", h, from)
			}
		}
	}
	return ""
}

// recipient checks one address that a call goes to.
func (e *Evidence) recipient(address string) string {
	a := fold(address)
	if e.given.addresses[a] {
		return ""
	}
	p, outside := e.places[a]
	if (!outside || p.sender) && e.vouched(a) {
		return ""
	}
	w := fmt.Sprintf("%s %s.", e.goesTo("email"), oneLine(address, 120))
	if outside {
		return w + " That address came from " + p.String() + ", not from you."
	}
	return w + " You didn't give that address."
}

// destination checks where a reply goes.
func (e *Evidence) destination(a Action, d msg.Destination) string {
	address, sender := first(d.Address), first(d.Sender)
	if e.given.addresses[fold(address)] {
		return ""
	}
	switch d.Kind {
	case "yours":
		return ""
	case "thread":
		if a.ReplyAll {
			return ""
		}
	case "reply_to":
		if domain(address) != domain(sender) {
			return fmt.Sprintf("This reply goes to %s, the address that email asked replies to go to, not to the person who sent it (%s).", oneLine(address, 120), oneLine(sender, 120))
		}
		if e.repliesAsked() {
			return ""
		}
	case "sender":
		if e.repliesAsked() {
			return ""
		}
	}
	return e.recipient(address)
}

// repliesAsked: the person asked to answer something, so the one who wrote it is who they mean.
func (e *Evidence) repliesAsked() bool {
	for _, w := range e.Words {
		for _, x := range strings.FieldsFunc(strings.ToLower(w), notLetter) {
			if slices.Contains([]string{"reply", "replies", "answer", "respond", "response", "answering", "replying"}, x) {
				return true
			}
		}
		if strings.Contains(strings.ToLower(w), "write back") || strings.Contains(strings.ToLower(w), "get back to") {
			return true
		}
	}
	return false
}

// vouched: the address belongs to a name the person gave: a part of what stands before the @ is one ("Arjun" and
// arjun.mehta@...).
func (e *Evidence) vouched(address string) bool {
	local, _, _ := strings.Cut(address, "@")
	for _, part := range strings.FieldsFunc(local, notLetter) {
		if e.named[part] {
			return true
		}
	}
	return false
}

// goesTo begins a warning, with whom the person named if they did.
func (e *Evidence) goesTo(verb string) string {
	for i := len(e.Words) - 1; i >= 0; i-- {
		if n := namedRecipient(e.Words[i]); n != "" {
			return "You asked to " + verb + " " + n + ", but this goes to"
		}
	}
	return "This goes to"
}

// namedRecipient is the name behind "email", "to" and the like.
func namedRecipient(said string) string {
	ws := strings.Fields(said)
	for i := 0; i+1 < len(ws); i++ {
		lead := strings.ToLower(strings.Trim(ws[i], ",.:;"))
		if !slices.Contains([]string{"email", "mail", "message", "text", "tell", "to", "ask", "write", "reply", "answer"}, lead) {
			continue
		}
		n := strings.Trim(ws[i+1], ",.:;!?\"'()")
		if r := []rune(n); len(r) > 1 && len(r) < 40 && strings.ToUpper(string(r[0])) == string(r[0]) && !notLetter(r[0]) && len(nameTokens(n)) > 0 {
			return n
		}
	}
	return ""
}

// domain is the part of an address's domain that somebody registers.
func domain(address string) string {
	_, host, _ := strings.Cut(fold(address), "@")
	if d, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
		return d
	}
	return host
}

// hostOf is the host of a link, in small letters without "www.".
func hostOf(link string) string {
	if !strings.Contains(link, "://") {
		link = "http://" + link
	}
	u, err := url.Parse(link)
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(strings.TrimSuffix(strings.ToLower(u.Hostname()), "."), "www.")
}
