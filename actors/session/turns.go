package session

import (
	"encoding/json"
	"errors"
	"strings"

	"google.golang.org/protobuf/proto"

	"sentient/actors/agent"
	"sentient/actors/count"
	"sentient/actors/msg"
	"sentient/actors/wire"
	pb "sentient/proto/session"
	"sentient/storage/journal"
)

// startTurn begins a reply to items, which are in arrival order and share the first one's turn.
func (c *change) startTurn(items []*pb.QueuedRow) (ids []string) {
	ch := c.chat
	first := items[0]
	if ch.Untrusted == nil { // clean from its first turn on
		clean := ""
		c.event(&pb.Event{Kind: &pb.Event_Changed{Changed: &pb.Changed{Untrusted: &clean}}})
	}
	for _, q := range items {
		ids = append(ids, c.userMessage(q, false))
		for _, name := range q.Attachments {
			c.mark(attachmentSource(name), nil)
		}
	}
	c.event(&pb.Event{Kind: &pb.Event_TurnStarted{TurnStarted: &pb.TurnStarted{Turn: first.Turn, Message: ids[0], Model: first.Model, ClientId: first.ClientId, Epoch: ch.epoch}}})
	// The intent of the first model call rides in the message's batch, so that nothing is synced between the two: whatever cuts
	// the turn from here on, the model may have been asked, and the turn is never run again by itself.
	c.event(&pb.Event{Kind: &pb.Event_ModelCalled{ModelCalled: &pb.ModelCalled{Round: 1, Model: first.Model}}})
	c.row(openTurnRow(ch.id, first.Turn))
	f := map[string]any{}
	if first.ClientId != "" {
		f["client_id"] = first.ClientId
	}
	c.note("session", first.Turn, nil, wire.Of(f))
	run := ch.newID()
	ch.turn = agent.New(run, ch.newID)
	c.do(makePlan{Run: run, Turn: first.Turn, Model: first.Model, First: ids[0]})
	return ids
}

// joinWaiting hands the turn the steers that wait before the next message with a turn of its own.
func (c *change) joinWaiting() {
	for _, q := range c.chat.Queue {
		if q.OwnTurn {
			return
		}
		c.step(agent.Steered{Steer: agent.Steer{ID: q.Id, Text: c.chat.queued[q.Id].GetText()}})
	}
}

func (c *change) userMessage(q *pb.QueuedRow, interjection bool) string {
	if c.chat.Title == "" && c.chat.TitleIsFirstWords {
		title := firstWords(q.Text)
		c.event(&pb.Event{Kind: &pb.Event_Changed{Changed: &pb.Changed{Title: &title, FirstWords: true}}})
	}
	row := &pb.MessageRow{Id: c.nextID(), Role: "user", Content: q.Text, Attachments: q.Attachments, Interjection: interjection,
		ClientId: q.ClientId, Name: q.From, Turn: q.Turn}
	c.addMessage(row)
	if q.From == "" {
		c.weigh(row.Id, q.Text)
	}
	return row.Id
}

// attachmentSource names the outside content that a picture of the screen or text selected in another app can hold.
func attachmentSource(name string) string {
	switch {
	case strings.HasPrefix(name, "screens/"):
		return "your screen"
	case strings.HasPrefix(name, "selections/"):
		return "another app"
	}
	return ""
}

// step moves the turn and turns what it wants into facts and effects, in its order.
func (c *change) step(in agent.Input) {
	if c.chat.turn == nil {
		return
	}
	for _, o := range c.chat.turn.Step(in) {
		c.take(o)
	}
}

func (c *change) turnID() string {
	if c.chat.Turn == nil {
		return ""
	}
	return c.chat.Turn.Id
}

func (c *change) take(o agent.Out) {
	turn := c.turnID()
	switch o := o.(type) {
	case agent.Show:
		c.show(turn, o)
	case agent.ShowProgress:
		c.progress(turn, o)
	case agent.CallModel:
		if o.Round > 1 {
			c.event(&pb.Event{Kind: &pb.Event_ModelCalled{ModelCalled: &pb.ModelCalled{Round: int32(o.Round), Model: o.Choice.Model}}})
		}
		c.do(callModel{turn, o})
	case agent.JudgeCalls:
		c.do(judgeCalls{turn, o})
	case agent.OpenUndo:
		c.openUndo(turn, o.Window)
	case agent.CloseUndo:
		c.closeUndo(o.Undo, o.Action)
	case agent.RunCalls:
		c.intend(o.Calls)
		c.do(runCalls{turn, o.Calls})
	case agent.Abandon:
		c.do(cancelRuns{o.Runs})
	case agent.AskPerson:
		c.ask(turn, o.Request)
	case agent.Unask:
		c.unask(o.Approval, "deny")
	case agent.KeepAnswered:
		c.unask(o.Answer.Request.Approval, o.Answer.Decision)
	case agent.KeepAllowed:
		c.event(&pb.Event{Kind: &pb.Event_Allowed{Allowed: &pb.Allowed{Tool: o.Tool, Risk: int32(o.Risk)}}})
	case agent.KeepAnswer:
		c.keepAnswer(turn, o)
	case agent.KeepResults:
		c.keepResults(turn, o.Results)
	case agent.KeepSteers:
		c.keepSteers(turn, o.Steers)
	case agent.KeepUsage:
		c.keepUsage(turn, o)
	case agent.Tell:
		c.note("notice", turn, nil, wire.Of(noticeFields(o.Notice)))
	case agent.Note:
		c.note("error", turn, nil, wire.Of(map[string]any{"message": o.Message, "recoverable": true}))
	case agent.Finish:
		c.finishTurn(o)
	}
}

func (c *change) show(turn string, o agent.Show) {
	for _, d := range []struct{ kind, text string }{{"thinking_delta", o.Thinking}, {"text_delta", o.Text}} {
		switch {
		case d.text == "":
		case len(c.notes) > 0: // what the engine says after results comes after them
			data, _ := proto.Marshal(&pb.Note{Turn: turn})
			c.notes = append(c.notes, journal.Note{Type: d.kind, Topic: c.chat.id, Data: data, Live: delta(c.chat.id, turn, d.kind, d.text)})
		default:
			c.before = append(c.before, delta(c.chat.id, turn, d.kind, d.text))
		}
	}
}

func (c *change) progress(turn string, o agent.ShowProgress) {
	f := struct {
		Call string `json:"call_id"`
		Name string `json:"name"`
		msg.ToolProgress
	}{o.Call.ID, o.Call.Name, o.Progress}
	c.before = append(c.before, passing(c.chat.id, turn, "tool_progress", wire.Of(f)))
}

// intend records what is about to change something; look-ups need no intent (law 3).
func (c *change) intend(calls []agent.CallRun) {
	var open []*pb.OpenCall
	for _, r := range calls {
		if r.Risk > msg.RiskRead {
			open = append(open, openCall(r))
		}
	}
	if open != nil {
		c.event(&pb.Event{Kind: &pb.Event_CallsIntended{CallsIntended: &pb.CallsIntended{Calls: open}}})
	}
}

func (c *change) ask(turn string, r agent.Request) {
	c.event(&pb.Event{Kind: &pb.Event_Asked{Asked: &pb.Asked{Approval: r.Approval, Call: r.Call.ID}}})
	f := requestFields(r)
	c.row(c.chat.tables.Approvals.Put(&pb.ApprovalRow{Id: r.Approval, Session: c.chat.id}))
	c.note("approval_request", turn, nil, f)
	c.do(expire{r.Approval})
}

func (c *change) unask(approval, decision string) {
	c.event(&pb.Event{Kind: &pb.Event_Answered{Answered: &pb.Answered{Approval: approval, Decision: decision}}})
	c.row(journal.Row{Table: tableApprovals, Key: []byte(approval)})
	c.do(unexpire{})
}

func (c *change) keepAnswer(turn string, o agent.KeepAnswer) {
	row := &pb.MessageRow{Id: c.nextID(), Role: "assistant", Content: o.Text, Turn: turn}
	if o.Thinking != "" {
		row.Thinking = &o.Thinking
	}
	if o.Final && len(o.Sources) > 0 {
		row.Sources = wire.Marshal(o.Sources)
	}
	if o.Final && len(o.Checks) > 0 {
		row.Checks = wire.Marshal(settled(o.Checks, o.Text))
	}
	if len(o.Calls) > 0 {
		c.chat.roundMark = c.chat.GetUntrusted()
	}
	for _, call := range o.Calls {
		row.Calls = append(row.Calls, &pb.Call{Id: call.ID, Name: call.Name, Arguments: argumentsText(call.Arguments)})
	}
	c.addMessage(row)
	c.dropped = true
	for _, call := range row.Calls {
		c.note("tool_call", turn, &pb.Note{Message: row.Id, Call: call.Id}, callFields(call))
	}
}

// argumentsText is the arguments as a transcript keeps them: always a JSON text.
func argumentsText(s string) string {
	if json.Valid([]byte(s)) {
		return s
	}
	if s == "" {
		return "{}"
	}
	return string(wire.Marshal(s))
}

func callFields(call *pb.Call) wire.Fields {
	return wire.Of(struct {
		Call      string          `json:"call_id"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}{call.Id, call.Name, json.RawMessage(call.Arguments)})
}

func (c *change) keepResults(turn string, all []agent.Settled) {
	var mark string
	var hosts []string
	for _, s := range all {
		o := s.Outcome
		row := &pb.MessageRow{Id: c.nextID(), Role: "tool", Content: o.Content, CallId: s.Call.ID, Name: s.Call.Name, IsError: o.IsError, IsJson: o.IsJSON,
			DurationMs: o.Took.Milliseconds(), Turn: turn, Outside: o.Outside, Approval: approvalRecord(s.Answer), Full: o.File, Check: checkRecord(o.Check)}
		if o.Undone {
			row.Undo = agent.Undo
		}
		c.addMessage(row)
		if s.Risk > msg.RiskRead && s.Ran {
			c.event(&pb.Event{Kind: &pb.Event_CallDone{CallDone: &pb.CallDone{Call: s.Call.ID}}})
		}
		c.note("tool_result", turn, &pb.Note{Message: row.Id}, resultFields(row, o.Result))
		if mark == "" {
			mark = o.Outside
		}
		if o.Host != "" {
			hosts = append(hosts, o.Host)
		}
	}
	c.mark(mark, hosts)
}

// mark remembers that the chat read outside content, and the hosts it visited (ADR 0018).
func (c *change) mark(source string, hosts []string) {
	ch := &pb.Changed{}
	for _, h := range hosts {
		if !contains(c.chat.Visited, h) {
			ch.Visited = append(ch.Visited, h)
		}
	}
	fresh := source != "" && c.chat.GetUntrusted() == ""
	if fresh {
		ch.Untrusted = &source
	}
	if !fresh && len(ch.Visited) == 0 {
		return
	}
	c.event(&pb.Event{Kind: &pb.Event_Changed{Changed: ch}})
	c.touched = true
	if fresh {
		c.domain(noteUpdated, map[string]any{"session_id": c.chat.id, "untrusted": source})
	}
}

func resultFields(r *pb.MessageRow, result json.RawMessage) wire.Fields {
	return wire.Of(struct {
		Call     string          `json:"call_id"`
		Name     string          `json:"name"`
		Result   json.RawMessage `json:"result"`
		IsError  bool            `json:"is_error"`
		Duration int64           `json:"duration_ms"`
		Check    json.RawMessage `json:"check,omitempty"`
	}{r.CallId, r.Name, result, r.IsError, r.DurationMs, r.Check})
}

func (c *change) keepSteers(turn string, steers []agent.Steer) {
	var ids []string
	for _, s := range steers {
		q := c.chat.queued[s.ID]
		if q == nil {
			continue
		}
		q.Turn = turn
		id := c.userMessage(q, true)
		c.note("user_interjection", turn, &pb.Note{Message: id}, wire.Of(map[string]string{"text": q.Text}))
		ids = append(ids, s.ID)
	}
	c.unqueue(ids, false)
}

func (c *change) unqueue(ids []string, dropped bool) {
	if len(ids) == 0 {
		return
	}
	c.event(&pb.Event{Kind: &pb.Event_Unqueued{Unqueued: &pb.Unqueued{Ids: ids, Dropped: dropped}}})
	for _, id := range ids {
		c.row(journal.Row{Table: tableQueued, Key: []byte(c.chat.id + id)})
		delete(c.chat.queued, id)
	}
}

func (c *change) keepUsage(turn string, o agent.KeepUsage) {
	f := struct {
		Model      string  `json:"model"`
		Prompt     int     `json:"prompt_tokens"`
		Completion int     `json:"completion_tokens"`
		Used       *int    `json:"context_used"`
		Length     *int    `json:"context_length"`
		Percent    *int    `json:"context_percent"`
		Warning    *string `json:"context_warning"`
	}{o.Choice.Model, o.Usage.PromptTokens, o.Usage.CompletionTokens, o.Meter.Used, o.Meter.Length, o.Meter.Percent, o.Meter.Warning}
	if o.Usage.Known || o.Meter.Length != nil {
		c.note("usage", turn, nil, wire.Of(f))
	}
	c.count(msg.CountedCall{Model: o.Choice.Model, Role: o.Choice.Role, Source: "chat", Usage: o.Usage})
}

// count adds a finished model call to the usage, in this change's batch. Of an incognito chat nothing is on disk but the count
// (its stream is in memory), so the usage room keeps the row.
func (c *change) count(call msg.CountedCall) {
	row := count.Row(c.chat.newID(), c.now, c.chat.id, call)
	if c.chat.Incognito {
		c.notes = append(c.notes, count.Unkept(row))
		return
	}
	c.row(c.chat.tables.Usage.Put(row))
	c.notes = append(c.notes, count.Kept(row))
}

func noticeFields(n agent.Notice) any {
	return struct {
		Message string `json:"message"`
		Code    string `json:"code"`
		Model   string `json:"model,omitempty"`
		Used    string `json:"used,omitempty"`
	}{n.Message, n.Code, n.Model, n.Used}
}

// errorText is what a person reads of a failure, and its code when it has one.
func errorText(err error) (text, code string) {
	if me, ok := msg.AsModelError(err); ok {
		switch me.Fault {
		case msg.FaultLocalOnly:
			code = "local_only"
		case msg.FaultBudget:
			code = "budget_reached"
		}
		return me.Message, code
	}
	var f *msg.Fault
	if errors.As(err, &f) {
		return f.Text, ""
	}
	return "Something went wrong inside Sentient, so this reply was not finished. Try again; the engine's log says more.", ""
}
