package session

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sentient/runtime/bus"
	"sentient/storage/journal"
)

// client is a socket as the edge makes it: what it missed is replayed from the log after the number it has, then comes the state
// of what runs, then what is live.
type client struct {
	id         string
	bus        *bus.Bus // of the engine it is connected to; nil: not connected
	sub        *bus.Sub
	seq, floor uint64
	view
}

// view is what a window makes of what it got.
type view struct {
	durable []string
	early   []string            // turns whose end was told when it could not be saved: the saved one is not told as well
	runs    map[string]*running // by chat
}

// running is a turn so far.
type running struct {
	turn  string
	text  string
	open  []string // calls without a result
	asked string   // a request or an undo window
}

func (c *client) connect(g *game) {
	c.bus, c.sub = g.bus, g.bus.Subscribe(bus.SubOptions{ID: c.id, Gated: true})
	c.runs = map[string]*running{}
	r, err := g.j.Read()
	if err != nil {
		g.t.Fatal(err)
	}
	defer r.Close()
	for e, err := range r.Log(c.seq) {
		if err != nil {
			g.t.Fatal(err)
		}
		c.seq, c.floor = e.Seq, e.Seq
		if b, ok := g.chats.Render(r, e); ok {
			c.got(append(slices.Clip(b), '}'), true)
		}
	}
	for _, id := range g.chats.Running() {
		_ = g.chats.Watch(g.t.Context(), id, c.sub)
	}
}

func (c *client) disconnect() {
	if c.sub != nil {
		c.sub.Close()
	}
	c.bus, c.sub = nil, nil
}

// take reads at most so many bytes of what waits; 0: all of it.
func (c *client) take(limit int) {
	for _, e := range c.sub.Take(nil, limit) {
		if e.Seq != 0 && e.Seq <= c.floor {
			continue
		}
		c.seq = max(c.seq, e.Seq)
		c.got(e.Render(nil, e.Seq), e.Seq != 0)
	}
}

func (c *client) got(frame []byte, durable bool) {
	var m map[string]any
	if err := json.Unmarshal(frame, &m); err != nil {
		c.durable = append(c.durable, "not JSON: "+string(frame))
		return
	}
	delete(m, "seq")
	typ, _ := m["type"].(string)
	if durable && !strings.HasSuffix(typ, "_delta") {
		c.durable = append(c.durable, string(mustJSON(m)))
	}
	if !durable && typ == "done" {
		c.early = append(c.early, m["turn_id"].(string))
	}
	if chat, ok := m["session_id"].(string); ok {
		if c.runs[chat] == nil {
			c.runs[chat] = &running{}
		}
		c.runs[chat].got(typ, m)
	}
}

func (r *running) got(typ string, m map[string]any) {
	call, _ := m["call_id"].(string)
	switch typ {
	case "session":
		*r = running{turn: m["turn_id"].(string)}
	case "text_delta":
		r.text += m["text"].(string)
	case "user_interjection": // it was written behind what was said before
		r.text = ""
	case "tool_call":
		r.text = ""
		if !slices.Contains(r.open, call) {
			r.open = append(r.open, call)
		}
	case "tool_result":
		r.open, r.asked = slices.DeleteFunc(r.open, func(o string) bool { return o == call }), ""
	case "approval_request":
		r.asked = m["approval_id"].(string)
	case "undo_window":
		r.asked = m["undo_id"].(string)
	case "done":
		*r = running{}
	}
}

// unlike says where a client that was away sees something else than one that always listened.
func (v view) unlike(always view) string {
	early := slices.Concat(v.early, always.early)
	mine, theirs := withoutEnds(early, withoutTakenBack(v.durable)), withoutEnds(early, withoutTakenBack(always.durable))
	for i := range max(len(mine), len(theirs)) {
		if a, b := at(mine, i), at(theirs, i); a != b {
			return fmt.Sprintf("event %d is\n%s\nfor one who always listened\n%s", i, a, b)
		}
	}
	for chat, r := range always.runs {
		if mine := v.runs[chat]; mine != nil || r.turn != "" {
			if mine == nil {
				mine = &running{}
			}
			if problem := mine.unlike(r); problem != "" {
				return problem
			}
		}
	}
	return ""
}

func withoutEnds(turns, events []string) []string {
	return slices.DeleteFunc(events, func(e string) bool {
		return strings.Contains(e, `"type":"done"`) && slices.Contains(turns, turnOf([]byte(e)))
	})
}

// withoutTakenBack leaves out what a turn did that failed in the end: its rows are gone, so a client that was away is not told.
func withoutTakenBack(events []string) []string {
	failed := map[string]bool{}
	for _, e := range events {
		if strings.Contains(e, `"type":"done"`) && strings.Contains(e, `"error":"`) {
			failed[turnOf([]byte(e))] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(events), func(e string) bool {
		return failed[turnOf([]byte(e))] && (strings.Contains(e, `"type":"tool_call"`) || strings.Contains(e, `"type":"tool_result"`))
	})
}

func (r *running) unlike(always *running) string {
	switch {
	case r.turn != always.turn:
		return fmt.Sprintf("the running turn is %q, %q", r.turn, always.turn)
	case len(r.open) == 0 && r.text != always.text:
		return fmt.Sprintf("the text so far is %q, %q", r.text, always.text)
	case !slices.Equal(r.open, always.open):
		return fmt.Sprintf("open calls are %q, %q", r.open, always.open)
	case r.asked != "" && r.asked != always.asked:
		return fmt.Sprintf("what is asked is %q, %q", r.asked, always.asked)
	}
	return ""
}

// clients are one that always listens and some that come and go.
type clients struct {
	r      *rand.Rand
	always client
	others []*client
}

// each is after every moment of a game.
func (cs *clients) each(g *game) {
	if cs.always.bus != g.bus {
		cs.always.disconnect()
		cs.always.connect(g)
	}
	cs.always.take(0)
	for _, c := range cs.others {
		if c.bus != nil && c.bus != g.bus {
			c.disconnect()
		}
		switch {
		case c.bus == nil && (g.ending || cs.r.IntN(2) == 0):
			c.connect(g)
		case c.bus != nil && !g.ending && cs.r.IntN(3) == 0:
			c.take(1 + cs.r.IntN(900)) // some of it arrives
			c.disconnect()
			continue
		}
		if c.bus == nil {
			continue
		}
		c.take(0)
	}
	cs.always.take(0) // asking for what runs may have settled a turn
	cs.compare(g)
	if g.ending {
		cs.end(g)
	}
}

// compare looks at those who are connected. While the disk is full, one who comes back does not see that a turn is over whose
// end could not be written yet.
func (cs *clients) compare(g *game) {
	for _, c := range cs.others {
		if c.bus == nil {
			continue
		}
		c.take(0)
		mine, theirs := c.view, cs.always.view
		if g.wasFull && !g.ending {
			mine.runs, theirs.runs = nil, nil
		}
		if problem := mine.unlike(theirs); problem != "" {
			g.fault("the socket %s: %s", c.id, problem)
		}
	}
}

// end compares with what is kept.
func (cs *clients) end(g *game) {
	r, err := g.j.Read()
	if err != nil {
		g.t.Fatal(err)
	}
	defer r.Close()
	kept := view{durable: keptEvents(g, r)}
	if problem := (view{durable: cs.always.durable, early: cs.always.early}).unlike(kept); problem != "" {
		g.fault("the log and the socket: %s", problem)
	}
	cs.always.disconnect()
	for _, c := range cs.others {
		c.disconnect()
	}
}

func keptEvents(g *game, r journal.Reader) (list []string) {
	for e, err := range r.Log(0) {
		if err != nil {
			g.t.Fatal(err)
		}
		if b, ok := g.chats.Render(r, e); ok {
			list = append(list, canonicalJSON(g.t, string(b)+"}"))
		}
	}
	return list
}

// Relation 6: a client that comes and goes and asks for what it missed sees what one sees that always listened, in the middle of
// replies too and over ends of the engine.
func TestAClientThatComesAndGoesSeesTheSame(t *testing.T) {
	relation{12, 30, anyTrouble, func(t *testing.T, script []step) string {
		cs := &clients{r: newRand(script), always: client{id: "always"}, others: []*client{{id: "one"}, {id: "two"}}}
		return wrongs(play(t, setup{each: cs.each}, part{label: "A", script: splitWaits(cs.r, script)}, part{label: "B", starts: 123456789, script: without(without(script, isCut), isHalt)}))
	}}.hold(t)
}
