package session

import (
	"encoding/json"
	"strings"

	"sentient/actors/agent"
	"sentient/actors/count"
	"sentient/actors/msg"
	"sentient/actors/wire"
	pb "sentient/proto/session"
	"sentient/storage/journal"
)

// doneFields are what done carries besides what its message's row holds.
type doneFields struct {
	Content   string             `json:"content"`
	MessageID *string            `json:"message_id"`
	Cancelled bool               `json:"cancelled,omitempty"`
	Memories  []any              `json:"memory_sources"`
	Sources   []msg.AnswerSource `json:"sources"`
	Checks    []msg.OutcomeCheck `json:"checks"`
	Dropped   []string           `json:"dropped,omitempty"`
	ClientID  string             `json:"client_id,omitempty"`
	Error     string             `json:"error,omitempty"`
}

// doneExtra is what a kept done holds beside its message.
type doneExtra struct {
	Cancelled bool     `json:"cancelled,omitempty"`
	Dropped   []string `json:"dropped,omitempty"`
	ClientID  string   `json:"client_id,omitempty"`
	Error     string   `json:"error,omitempty"`
}

func (d doneFields) extra() []byte {
	return wire.Marshal(doneExtra{d.Cancelled, d.Dropped, d.ClientID, d.Error})
}

// finishTurn ends the running turn with its one done, then starts what waits.
func (c *change) finishTurn(f agent.Finish) {
	d := doneFields{Cancelled: f.How == agent.Stopped, Memories: []any{}, Sources: []msg.AnswerSource{}, Checks: []msg.OutcomeCheck{}}
	if f.How == agent.Stopped {
		d.Dropped = c.dropSteers()
	}
	switch {
	case f.How == agent.Failed:
		text, code := errorText(f.Err)
		e := map[string]any{"message": text, "recoverable": false}
		if code != "" {
			e["code"] = code
		}
		c.note("error", c.turnID(), nil, wire.Of(e))
		c.takeBack()
		d.Error = text
	case f.Kept:
		id := c.chat.LastMessage
		d.Content, d.MessageID = f.Text, &id
		if len(f.Sources) > 0 {
			d.Sources = f.Sources
		}
		d.Checks = settled(f.Checks, f.Text)
	}
	if f.How == agent.Done && f.Kept {
		c.do(upkeep{Reply: f.Text})
	}
	c.endTurn(string(f.How), d)
	c.nextTurn()
}

// endTurn writes the end: event, rows, done.
func (c *change) endTurn(how string, d doneFields) {
	turn := c.turnID()
	ref := &pb.Note{Inline: d.extra()}
	if d.MessageID != nil {
		ref.Message = *d.MessageID
	}
	c.note("done", turn, ref, wire.Of(d))
	c.event(&pb.Event{Kind: &pb.Event_TurnEnded{TurnEnded: &pb.TurnEnded{Turn: turn, How: how, Why: d.Error}}})
	c.row(openTurnRow(c.chat.id, ""))
	c.touched, c.dropped = true, true
	c.chat.turn, c.chat.granting = nil, nil
	c.do(turnOver{})
}

// takeBack removes what a failed reply had saved, so that nothing of it stays. When a call that changes something
// ran, its rounds stay: a transcript that forgot them would make the model do them again.
func (c *change) takeBack() {
	t := c.chat.Turn
	if t == nil || t.Changed || len(t.Rows) == 0 {
		return
	}
	for _, id := range t.Rows {
		c.row(journal.Row{Table: tableMessages, Key: []byte(c.chat.id + id)})
		c.stored(NoteRemoved, id)
	}
	c.event(&pb.Event{Kind: &pb.Event_Removed{Removed: &pb.Removed{Ids: t.Rows}}})
}

// dropSteers forgets the steers that wait for the running reply and says their words.
func (c *change) dropSteers() (texts []string) {
	var ids []string
	for _, q := range c.chat.Queue {
		if q.OwnTurn {
			break
		}
		ids = append(ids, q.Id)
		texts = append(texts, c.chat.queued[q.Id].GetText())
	}
	c.unqueue(ids, true)
	return texts
}

// nextTurn starts what waits: one message with a turn of its own, or all steers before the next such one together.
func (c *change) nextTurn() {
	ch := c.chat
	if len(ch.Queue) == 0 || ch.turn != nil {
		return
	}
	var items []*pb.QueuedRow
	var ids []string
	for i, q := range ch.Queue {
		if i > 0 && (q.OwnTurn || ch.Queue[0].OwnTurn) {
			break
		}
		items = append(items, ch.queued[q.Id])
		ids = append(ids, q.Id)
	}
	if items[0].Turn == "" || !items[0].OwnTurn {
		items[0].Turn = ch.newID()
	}
	for _, q := range items[1:] {
		q.Turn = items[0].Turn
	}
	c.unqueue(ids, false)
	c.startTurn(items)
	c.joinWaiting()
}

// cutTurn ends the turn of a chat that is being deleted; nothing of it is kept.
func (c *change) cutTurn() {
	for _, o := range c.chat.turn.Step(agent.StoppedByPerson{}) {
		if a, ok := o.(agent.Abandon); ok {
			c.do(cancelRuns{a.Runs})
		}
	}
	c.do(unexpire{})
	c.do(undoOver{})
	c.do(turnOver{})
	c.chat.turn = nil
}

// settle ends a turn that the engine's end (or a crash of this chat) left open: what was said is kept with its mark, open
// calls get an honest result, and a durable done says so. A turn of before the last stop ended by it.
func (c *change) settle(rows []*pb.MessageRow, said []*pb.Checkpoint) {
	turn := c.turnID()
	var text, thinking string
	for _, p := range said {
		if p.Turn == turn && p.Round == c.chat.Turn.Round {
			text += p.Text
			thinking += p.Thinking
		}
	}
	if a := c.chat.Turn.Approval; a != "" {
		c.unask(a, "deny")
	}
	if u := c.chat.Turn.Undo; u != "" {
		c.closeUndo(u, agent.WithReply)
	}
	changing := map[string]bool{}
	for _, o := range c.chat.Turn.Calls {
		changing[o.Id] = o.Changes
	}
	c.keepResults(turn, openCalls(rows, changing))
	how, mark := "interrupted", "(interrupted)"
	var dropped []string
	if c.stale(c.chat.Turn.Epoch) {
		how, mark, dropped = string(agent.Stopped), "(stopped)", c.dropSteers()
	}
	d := doneFields{Content: agent.WithMark(text, mark), Cancelled: true, Dropped: dropped, Memories: []any{}, Sources: []msg.AnswerSource{}, Checks: []msg.OutcomeCheck{}}
	c.keepAnswer(turn, agent.KeepAnswer{Text: d.Content, Thinking: thinking, Final: true})
	d.MessageID = &c.chat.LastMessage
	c.endTurn(how, d)
}

// openCalls are the calls of the last answer without a result.
func openCalls(rows []*pb.MessageRow, changing map[string]bool) (open []agent.Settled) {
	done := map[string]bool{}
	for _, r := range rows {
		if r.Role == "tool" {
			done[r.CallId] = true
		}
	}
	for _, r := range rows {
		for _, call := range r.Calls {
			if done[call.Id] {
				continue
			}
			text, risk := agent.InterruptedCall, msg.RiskRead
			if changing[call.Id] {
				text, risk = agent.InterruptedChange, msg.RiskWrite
			}
			open = append(open, agent.Settled{Call: msg.ToolCall{ID: call.Id, Name: call.Name, Arguments: call.Arguments}, Risk: risk,
				Ran: changing[call.Id], Outcome: agent.ErrorOutcome(call.Id, text)})
		}
	}
	return open
}

// Render writes a kept note as a wire event without its last brace. False: there is nothing (more) to show.
func (t *Tables) Render(r journal.Reader, e journal.Entry) ([]byte, bool) {
	n, ok := decodeNote(e)
	if !ok || e.Type == NoteStored || e.Type == NoteRemoved || e.Type == noteGone || e.Type == count.Note || strings.HasSuffix(e.Type, "_delta") {
		return nil, false
	}
	if n.Turn == "" { // a domain event
		return wire.Body(e.Type, "", "", n.Inline), true
	}
	if n.Message == "" {
		f := wire.Fields(n.Inline)
		if e.Type == "done" {
			var x doneExtra
			_ = json.Unmarshal(n.Inline, &x)
			f = wire.Of(doneOf(nil, x))
		}
		return wire.Body(e.Type, e.Topic, n.Turn, f), true
	}
	row, ok, err := t.Messages.Get(r, []byte(e.Topic+n.Message))
	if err != nil || !ok {
		return nil, false
	}
	f, ok := renderRow(e.Type, n, row)
	return wire.Body(e.Type, e.Topic, n.Turn, f), ok
}
