package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sentient/actors/agent"
	"sentient/actors/msg"
	"sentient/runtime/bus"
	"sentient/storage/journal"
	"sentient/storage/table"
)

func busOptions(id string, gated bool) bus.SubOptions { return bus.SubOptions{ID: id, Gated: gated} }

// changing are the pretend world's tools that change something.
var changing = []string{"home_lock", "mail_send", "social_post", "shop_buy", "code_run"}

const unknownOutcome = "it is not known whether it went through"

// wasCut is a chat at the moment the engine ended.
type wasCut struct {
	p                *player
	how              string
	rows             []msg.MessageRow
	open             bool
	approvals, undos []string
	queued           []string
	asked            []*asking
	effects          int
	at               time.Time
	written          bool // it was dead to the store for a while
}

func (p *player) beforeCut(how string) *wasCut {
	g := p.g
	c := &wasCut{p: p, how: how, rows: p.rows(), open: slices.Contains(g.chats.Running(), p.session), asked: g.model.about(p.label),
		effects: len(g.world.Effects()), at: time.Now(), written: g.kill.isDead() || g.wasFull}
	r, err := g.j.Read()
	if err != nil {
		g.t.Fatal(err)
	}
	defer r.Close()
	c.approvals, c.undos, c.queued = g.waiting(r, p.session)
	if c.open {
		g.hot++
	}
	return c
}

// waiting is what the tables say waits for the person, and what waits to be answered.
func (g *game) waiting(r journal.Reader, session string) (approvals, undos, queued []string) {
	t := g.chats.Tables()
	for row, err := range t.Approvals.Scan(r, table.Query{}) {
		if err == nil && row.Session == session {
			approvals = append(approvals, row.Id)
		}
	}
	for row, err := range t.Undos.Scan(r, table.Query{}) {
		if err == nil && row.Session == session {
			undos = append(undos, row.Id)
		}
	}
	for row, err := range t.Queued.Scan(r, table.Query{Prefix: []byte(session)}) {
		if err == nil {
			queued = append(queued, row.Text)
		}
	}
	return approvals, undos, queued
}

// left is what must not be left when nothing runs.
func (g *game) left(r journal.Reader, session string) (list []string) {
	a, u, q := g.waiting(r, session)
	return append(append(append(list, a...), u...), q...)
}

// check is right after the next start: what was there is there, and only the laws' own words came behind it.
func (c *wasCut) check() {
	g, now := c.p.g, c.p.rows()
	if len(now) < len(c.rows) {
		g.fault("the end took %d messages away", len(c.rows)-len(now))
		return
	}
	for i, r := range c.rows {
		if a, b := string(mustJSON(r)), string(mustJSON(now[i])); a != b {
			g.fault("the end changed a message:\n%s\n%s", a, b)
		}
	}
	rest := now[len(c.rows):]
	if c.open {
		rest = c.checkCutTurn(rest)
	}
	for i, r := range rest {
		if r.Role != "user" || i >= len(c.queued) || r.Content != c.queued[i] {
			g.fault("came by itself after the start: %s %q, waiting were %q", r.Role, r.Content, c.queued)
		}
	}
	if len(rest) == 0 && len(c.queued) > 0 && !g.stop.State().Stopped {
		g.fault("nobody answers %q", c.queued)
	}
	c.checkNothingRuns(len(rest) > 0)
}

// checkNothingRuns: nothing that waited for the person does so still, and nothing is done or asked by itself.
func (c *wasCut) checkNothingRuns(answers bool) {
	g := c.p.g
	asked := len(g.model.about(c.p.label)) - len(c.asked)
	if asked > 1 || asked == 1 && !answers {
		g.fault("%d model calls by themselves after the start", asked)
	}
	for _, a := range c.approvals {
		if ok, err := g.chats.Answer(g.t.Context(), a, "allow", ""); ok || !errors.Is(err, msg.ErrNoApproval) {
			g.fault("a request from before the end can still be allowed: %v %v", ok, err)
		}
	}
	for _, u := range c.undos {
		if ok, err := g.chats.Undo(g.t.Context(), u, "send_now"); ok || err != nil {
			g.fault("a window from before the end can still be answered: %v %v", ok, err)
		}
	}
	if n := len(g.world.Effects()) - c.effects; n > 0 && c.how == "kill" {
		g.fault("%d things were done while the engine was dead", n)
	}
}

// checkCutTurn: each open call has its honest result, then the reply ends with its mark.
func (c *wasCut) checkCutTurn(rest []msg.MessageRow) []msg.MessageRow {
	g := c.p.g
	for _, call := range openOf(c.rows) {
		if len(rest) == 0 || rest[0].Role != "tool" || rest[0].ToolCallID == nil || *rest[0].ToolCallID != call.ID {
			g.fault("the open call %s %s has no result", call.Function.Name, call.ID)
			return rest
		}
		want := agent.InterruptedCall
		if g.began[call.ID] > 0 && slices.Contains(changing, call.Function.Name) {
			want = agent.InterruptedChange
		}
		if got := string(agent.ErrorOutcome("", want).Result); rest[0].Content != got {
			g.fault("the open call %s says %q, not %q", call.Function.Name, rest[0].Content, got)
		}
		rest = rest[1:]
	}
	if len(rest) == 0 || rest[0].Role != "assistant" || len(rest[0].ToolCalls) > 0 {
		g.fault("the turn that was cut has no last word")
		return rest
	}
	text, marked := strings.CutSuffix(rest[0].Content, "(interrupted)")
	if !marked {
		g.fault("the last word of a turn that was cut is %q", rest[0].Content)
	}
	c.checkPartial(strings.TrimRight(text, " \n"))
	return rest[1:]
}

// checkPartial: what is kept is the beginning of what the model says undisturbed, and no more is lost than what came after the
// last checkpoint; an end in order loses nothing.
func (c *wasCut) checkPartial(text string) {
	g := c.p.g
	if len(c.asked) == 0 || len(openOf(c.rows)) > 0 {
		if text != "" {
			g.fault("kept without a model call: %q", text)
		}
		return
	}
	a := c.asked[len(c.asked)-1]
	if !strings.HasPrefix(a.full, text) {
		g.fault("kept %q of %q", text, a.full)
	}
	since := c.at.Add(-2100 * time.Millisecond)
	if c.how == "restart" {
		since = c.at
	}
	if shown := strings.TrimRight(a.full[:a.kept(since)], " "); !c.written && len(text) < len(shown) {
		g.fault("kept is %q, shown was %q", text, shown)
	}
}

// openOf are the calls without a result.
func openOf(rows []msg.MessageRow) (open []msg.WireToolCall) {
	done := map[string]bool{}
	for _, r := range rows {
		if r.ToolCallID != nil {
			done[*r.ToolCallID] = true
		}
	}
	for _, r := range rows {
		for _, call := range r.ToolCalls {
			if !done[call.ID] {
				open = append(open, call)
			}
		}
	}
	return open
}

// checkChat is what holds for every chat at its end, whatever was done to it.
func (g *game) checkChat(p *player, log []string) {
	rows := p.rows()
	if open := openOf(rows); len(open) > 0 {
		g.fault("calls without a result: %+v", open)
	}
	g.checkTurns(log)
	g.checkMessages(p, rows, log)
	g.checkRequests(p)
	p.checkTold()
}

// checkTurns: each turn begins once and ends once, in this order.
func (g *game) checkTurns(log []string) {
	at := map[string]int{}
	for _, b := range log {
		turn := turnOf([]byte(b))
		switch {
		case strings.Contains(b, `"dropped":true`): // it waited for a turn, and a stop ended it before it began
			at[turn]++
		case strings.HasPrefix(b, `{"type":"session",`):
			if at[turn]++; at[turn] != 1 {
				g.fault("a turn begins twice")
			}
		case strings.HasPrefix(b, `{"type":"done",`):
			if at[turn] += 10; at[turn] != 11 {
				g.fault("a turn began %d times and ended %d times", at[turn]%10, at[turn]/10)
			}
		}
	}
	for _, n := range at {
		if n != 11 {
			g.fault("a turn began %d times and ended %d times", n%10, n/10)
		}
	}
}

// checkMessages: what was acknowledged is there once, in the order it came, or was named as dropped; nothing else is there.
func (g *game) checkMessages(p *player, rows []msg.MessageRow, log []string) {
	dropped := map[string]bool{}
	for _, b := range log {
		var d struct {
			Type    string
			Dropped []string
		}
		if json.Unmarshal([]byte(b), &d) == nil && d.Type == "done" {
			for _, x := range d.Dropped {
				dropped[x] = true
			}
		}
	}
	var have, want []string
	for _, r := range rows {
		if r.Role == "user" {
			have = append(have, r.Content)
		}
	}
	for _, a := range p.acked {
		if !dropped[a] {
			want = append(want, a)
		}
	}
	if !slices.Equal(have, want) {
		g.fault("messages of the transcript:\n%q\nacknowledged and not dropped:\n%q", have, want)
	}
}

// checkRequests: every provider takes them, and none was made twice.
func (g *game) checkRequests(p *player) {
	seen := map[string]bool{}
	for _, a := range g.model.about(p.label) {
		if seen[a.digest] {
			g.fault("the model was asked the same twice: %s", a.digest)
		}
		seen[a.digest] = true
		if err := badConversation(a.r.Messages); err != nil {
			g.fault("%v", err)
		}
	}
}

// badConversation: results follow their calls at once, all of them; the person begins; no reply follows a reply.
func badConversation(ms []msg.ModelMessage) error {
	open, last := map[string]bool{}, ""
	for i, m := range ms {
		switch {
		case i == 0 && m.Role != "user":
			return fmt.Errorf("a conversation begins with %s", m.Role)
		case m.Role == "tool" && !open[m.ToolCallID]:
			return fmt.Errorf("a result without its call: %+v", m)
		case m.Role != "tool" && len(open) > 0:
			return fmt.Errorf("calls without results: %v", open)
		case m.Role == "assistant" && last == "assistant":
			return fmt.Errorf("a reply follows a reply: %+v", m)
		}
		delete(open, m.ToolCallID)
		for _, c := range m.ToolCalls {
			open[c.ID] = true
		}
		last = m.Role
	}
	if len(open) > 0 || last == "assistant" {
		return fmt.Errorf("a conversation ends with %s and the open calls %v", last, open)
	}
	return nil
}

// checkEffects: nothing was done twice, and every transcript is honest about what was done.
func (g *game) checkEffects() {
	done := map[string]int{}
	for _, e := range g.world.Effects() {
		if done[effectKey(e)]++; done[effectKey(e)] > 1 {
			g.fault("done twice: %v", e)
		}
	}
	for call, n := range g.began {
		if n > 1 {
			g.fault("the call %s ran %d times", call, n)
		}
	}
	told := map[string]bool{}
	for _, p := range g.players {
		rows := p.rows()
		for _, r := range rows {
			if r.ToolCallID == nil {
				continue
			}
			id := *r.ToolCallID
			told[id] = true
			if !slices.Contains(changing, *r.Name) {
				continue
			}
			unknown := strings.Contains(r.Content, unknownOutcome)
			ok := strings.Contains(r.Content, `"ok":true`) || strings.Contains(r.Content, `"stdout"`)
			switch {
			case ok && done[id] == 0:
				g.fault("%s says it worked and was never done: %s", *r.Name, r.Content)
			case !ok && !unknown && g.began[id] > 0:
				g.fault("%s began and its result denies it: %s", *r.Name, r.Content)
			case unknown && g.began[id] == 0:
				g.fault("%s never began and its result does not know: %s", *r.Name, r.Content)
			}
		}
	}
	for _, e := range g.world.Effects() {
		if e.Kind != "page" && !told[effectKey(e)] {
			g.fault("done and in no transcript: %v", e)
		}
	}
}
