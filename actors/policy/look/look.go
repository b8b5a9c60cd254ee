// Package look is the second look at calls that can move data out (ADR 0024): it holds who a call goes to, how much money it
// names and which links it carries against what the person said. Code does the first part; the question to a model that follows
// is only worded and read here. It only ever finds reasons to ask.
package look

import (
	"fmt"
	"strings"

	"sentient/actors/msg"
)

// Evidence is what a run knows. Everything here rests on one promise of the caller: Trusted and Memories hold nothing that outside
// content or the model itself wrote. A result of a look-up that brings no outside content belongs there only without what a call's
// arguments put into it, and a note or a file only when the person wrote it; else a model could make a record of an address by
// writing it down, or by asking for it. Likewise Words are what the person typed or spoke, without a time note, without the blocks
// of outside content that a message carries (those are Group) and without the brief of a task that somebody's email made.
type Evidence struct {
	Words    []string // the person's own messages, oldest first
	UserName string
	Trusted  []string // results of trusted look-ups, the person's own files of the prompt
	Memories []string // active saved ones
	Outside  []Outside
	Group    []Group

	prepared bool
	given    facts // what the person, trusted records and memories name
	named    map[string]bool
	places   map[string]place  // addresses that outside content names, by where
	hosts    map[string]string // hosts that it names or links to, by who did
	links    map[string]string // links that it has, by who did
	domains  map[string]bool   // hosts that it names, also behind an @
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
	Unchecked          = "Sentient couldn't double-check this against what you asked, so it checks with you first."
	UnreadDestinations = "Sentient couldn't read who this reply goes to, so it checks with you first."
)

// Found words what a model found.
func Found(reason string) string {
	reason = strings.TrimRight(msg.OneLine(reason, 200), ". ")
	if reason == "" {
		reason = "it gave no reason"
	}
	return "A second look found this may not match what you asked: " + reason + "."
}

// Prepare reads the evidence once, in time that grows with its length.
func Prepare(e Evidence) *Evidence {
	e.prepared, e.given, e.named = true, newFacts(), map[string]bool{}
	for _, w := range e.Words {
		e.given.read(w, true)
		e.name(w)
	}
	e.name(e.UserName)
	for _, t := range e.Trusted {
		e.given.read(t, false)
	}
	for _, t := range e.Memories {
		e.given.read(t, false)
	}
	e.places, e.hosts, e.links, e.domains = map[string]place{}, map[string]string{}, map[string]string{}, map[string]bool{}
	for _, o := range e.Outside {
		e.readOutside(o)
	}
	for _, g := range e.Group { // never read for senders: it is all text
		e.seeText(g.Text, place{source: g.Source})
	}
	return &e
}

// Check gives one plain sentence about what is off, or "" when nothing is. Evidence that is not prepared is read first. What runs
// code has no arguments that name whom it reaches: for it there is nothing to check.
func Check(a Action, e *Evidence) string {
	if a.Risk >= msg.RiskExec {
		return ""
	}
	if e == nil {
		e = &Evidence{}
	}
	if !e.prepared {
		e = Prepare(*e)
	}
	if a.DestinationsFailed {
		return UnreadDestinations
	}
	for _, d := range a.Destinations {
		if w := e.destination(a, d); w != "" {
			return w
		}
	}
	return e.sent(sentBy(a.Args))
}

// sent checks what a call's arguments name.
func (e *Evidence) sent(o *outgoing) string {
	for _, to := range o.addresses {
		if w := e.recipient(to); w != "" {
			return w
		}
	}
	for _, p := range o.phones {
		if !e.given.phone(p) {
			return fmt.Sprintf("%s %s, a number that you didn't give.", e.goesTo("message"), msg.OneLine(p.text, 60))
		}
	}
	for _, m := range o.amounts {
		if !e.given.amounts[m.hundredths] {
			return fmt.Sprintf("This includes %s, an amount that isn't in what you asked.", msg.OneLine(m.text, 60))
		}
	}
	for _, l := range o.links {
		if w := e.link(l); w != "" {
			return w
		}
	}
	if o.unread {
		return Unchecked
	}
	return ""
}

// recipient checks one address that a call goes to.
func (e *Evidence) recipient(to target) string {
	a := fold(to.address)
	if !to.odd && e.given.addresses[a] {
		return ""
	}
	p, outside := e.places[a]
	if !to.odd && (p.sender || !outside && !e.composed(a)) && e.vouched(a) {
		return ""
	}
	w := fmt.Sprintf("%s %s.", e.goesTo("email"), msg.OneLine(to.address, 120))
	if outside {
		return w + " That address came from " + p.String() + ", not from you."
	}
	return w + " You didn't give that address."
}

// composed: outside content names the address's host, so a model may have put the address together as it was told. Who the
// person named does not vouch for it then.
func (e *Evidence) composed(address string) bool {
	_, name, _ := strings.Cut(address, "@")
	h := host(name)
	return e.domains[h] && !e.given.hosts[h]
}

// link checks one link of a call: that very link came from outside content, or its host did.
func (e *Evidence) link(l link) string {
	if e.given.links[l.whole] {
		return ""
	}
	from := e.links[l.whole]
	if from == "" && !e.given.hosts[l.host] {
		from = e.hosts[l.host]
	}
	if from == "" {
		return ""
	}
	return fmt.Sprintf("This includes a link to %s that came from %s, not from you.", msg.OneLine(l.host, 120), from)
}

// destination checks where a reply goes.
func (e *Evidence) destination(a Action, d msg.Destination) string {
	list := mailboxes(d.Address)
	if len(list) == 0 {
		if strings.TrimSpace(d.Address) == "" {
			return UnreadDestinations
		}
		list = []target{{address: strings.TrimSpace(d.Address)}}
	}
	for _, to := range list {
		if w := e.replyTo(a, d, to); w != "" {
			return w
		}
	}
	return ""
}

func (e *Evidence) replyTo(a Action, d msg.Destination, to target) string {
	if !to.odd && e.given.addresses[fold(to.address)] || d.Kind == "yours" {
		return ""
	}
	asked := !to.odd && e.repliesAsked()
	switch d.Kind {
	case "thread":
		if a.ReplyAll && !to.odd {
			return ""
		}
	case "reply_to":
		sender := bare(d.Sender)
		if domain(to.address) != domain(sender) {
			return fmt.Sprintf("This reply goes to %s, the address that email asked replies to go to, not to the person who sent it (%s).", msg.OneLine(to.address, 120), msg.OneLine(sender, 120))
		}
		if asked && (fold(to.address) == fold(sender) || !everybodys(domain(sender))) {
			return ""
		}
	case "sender":
		if asked {
			return ""
		}
	}
	return e.recipient(to)
}
