package session

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"sentient/actors/agent"
	"sentient/actors/msg"
	"sentient/actors/policy"
	"sentient/actors/tool"
	"sentient/actors/wire"
	"sentient/runtime/work"
)

// modelRun is a model call in progress: the pipe carries its text, result and meter are set before the pipe closes.
type modelRun struct {
	id      string
	model   string
	role    string
	counted bool
	pipe    *work.Pipe[msg.ModelChunk]
	result  msg.ModelResult
	meter   agent.Meter
}

// rang is the doorbell of a model run.
type rang struct{ run *modelRun }

// drainSlice bounds the work of one doorbell, so that a fast model never holds up a stop.
const (
	drainSlice = 256
	drainTime  = 2 * time.Millisecond
)

func (a *actor) spec(id, label string, onPanic func(error)) work.Spec {
	s := runSpec(a.chat.id, id, label, onPanic)
	s.Unit, s.Epoch = a.chat.Turn.GetId(), a.chat.epoch
	return s
}

func runSpec(session, id, label string, onPanic func(error)) work.Spec {
	return work.Spec{ID: id, Owner: string(stream(session)), Origin: work.User, Label: label, OnPanic: onPanic}
}

func (a *actor) callModel(e callModel) {
	self, models := a.c.Self(), a.o.Models
	run := &modelRun{id: e.Call.Run, model: e.Call.Choice.Model, role: e.Call.Choice.Role}
	run.pipe = work.NewPipe[msg.ModelChunk](drainSlice, func() { self.Tell(rang{run}) })
	a.model = run
	err := a.o.Work.Go(a.c.Context(), a.spec(run.id, "model", run.pipe.Close), func(ctx context.Context) {
		result, err := models.Stream(ctx, e.Call.Request, func(c msg.ModelChunk) error { return run.pipe.Send(ctx, c) })
		if result.Usage.CostUSD == nil { // the provider's own word comes first
			result.Usage.CostUSD = models.Cost(e.Call.Choice.Model, result.Usage)
		}
		if err == nil {
			run.meter = meter(models, e.Call, result)
		} else if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		run.result = result
		run.pipe.Close(err)
	})
	if err != nil {
		run.pipe.Close(err)
	}
}

// drain takes what the model said since the last doorbell.
func (a *actor) drain(run *modelRun) {
	items, _, closed, err := run.pipe.Drain(drainSlice, drainTime)
	if run != a.model {
		a.countAbandoned(run, closed)
		return
	}
	c := a.chat.begin(a.o.Now())
	var text, thinking string
	flush := func() {
		if text+thinking != "" {
			a.unsavedText(text, thinking)
			c.step(agent.Said{Run: run.id, Text: text, Thinking: thinking})
			text, thinking = "", ""
		}
	}
	for _, i := range items {
		if i.Text != "" && thinking != "" || i.Thinking != "" && text != "" {
			flush()
		}
		text += i.Text
		thinking += i.Thinking
	}
	flush()
	if closed {
		a.model = nil
		c.step(agent.Replied{Run: run.id, Result: run.result, Meter: run.meter, Err: err})
	}
	_ = a.commit(c)
}

// countAbandoned counts what a call had used when its turn was stopped or ended: the provider charges for it.
func (a *actor) countAbandoned(run *modelRun, closed bool) {
	if !closed || run.counted || !run.result.Usage.Known {
		return
	}
	run.counted = true
	if !a.chat.exists {
		a.o.Count(msg.CountedCall{Model: run.model, Role: run.role, Source: "chat", Usage: run.result.Usage})
		return
	}
	c := a.chat.begin(a.o.Now())
	c.count(msg.CountedCall{Model: run.model, Role: run.role, Source: "chat", Usage: run.result.Usage})
	_ = a.commit(c)
}

// meter says how full the model's context is.
func meter(m Models, call agent.CallModel, r msg.ModelResult) agent.Meter {
	if call.Choice.Window == 0 {
		return agent.Meter{}
	}
	prompt := max(r.Usage.PromptTokens, promptTokens(m, call.Request))
	reply := max(r.Usage.CompletionTokens, m.Tokens(r.Text))
	used, length := prompt+reply, call.Choice.Window
	percent := int(math.Round(100 * float64(used) / float64(length)))
	out := agent.Meter{Used: &used, Length: &length, Percent: &percent}
	if percent >= 85 {
		w := contextWarning(call.Choice, percent)
		out.Warning = &w
	}
	return out
}

func promptTokens(m Models, r msg.ModelRequest) int {
	n := m.Tokens(r.System)
	for _, x := range r.Messages {
		for _, p := range x.Parts {
			n += m.Tokens(p.Text)
		}
		for _, call := range x.ToolCalls {
			n += m.Tokens(call.Arguments)
		}
	}
	for _, t := range r.Tools {
		n += m.Tokens(t.Description) + m.Tokens(string(t.Parameters))
	}
	return n
}

func contextWarning(c agent.Choice, percent int) string {
	s := fmt.Sprintf("This chat is getting long for %s (%d%% of what it reads at once). Older messages may be left out", c.Name, percent)
	if c.ContextLength > 0 {
		return s + ": start a new chat, or set a longer context length in Settings > Models."
	}
	return s + ", so a new chat works best."
}

// progressBell is the doorbell of a running call's output.
type progressBell struct {
	run, call string
	pipe      *work.Pipe[msg.ToolProgress]
}

func (a *actor) drainProgress(b progressBell) {
	items, _, _, _ := b.pipe.Drain(64, drainTime)
	for _, p := range items {
		a.input(agent.Progressed{Run: b.run, Call: b.call, Progress: p})
	}
}

// runCall runs one tool beside the mailbox. Whatever happens, the turn hears of it once.
func (a *actor) runCall(turn string, r agent.CallRun) {
	self := a.c.Self()
	ended := func(o agent.Outcome) { self.Tell(agent.Returned{Run: r.Run, Outcome: o}) }
	bell := progressBell{run: r.Run, call: r.Call.ID}
	bell.pipe = work.NewPipe[msg.ToolProgress](64, func() { self.Tell(bell) })
	call := a.callContext(turn, r)
	g, opts := a.gate(r.Words), a.o
	onPanic := func(error) { ended(agent.ErrorOutcome(r.Call.ID, "Something went wrong inside "+r.Call.Name+".")) }
	err := a.o.Work.Go(a.c.Context(), a.spec(r.Run, "tool "+r.Call.Name, onPanic), func(ctx context.Context) {
		call.Progress = func(p msg.ToolProgress) { _ = bell.pipe.Send(ctx, knownKind(p)) }
		ended(opts.perform(ctx, g, r, call))
	})
	if err != nil {
		ended(agent.ErrorOutcome(r.Call.ID, "Not done: "+err.Error()))
	}
}

func knownKind(p msg.ToolProgress) msg.ToolProgress {
	switch p.Kind {
	case "stdout", "stderr", "status", "frame", "subagent":
	default:
		p.Kind = "status"
	}
	return p
}

func (a *actor) callContext(turn string, r agent.CallRun) *msg.Call {
	s := a.chat.state
	limit := 0
	if a.chat.turn != nil {
		if choice, ok := a.chat.turn.Choice(); ok {
			limit = choice.ResultLimit
		}
	}
	return &msg.Call{ID: r.Call.ID, Tool: r.Call.Name, Session: a.chat.id, Turn: turn, Channel: s.Channel, Origin: originOf(s.Channel),
		Incognito: s.Incognito, Memory: a.mayRemember(), ResultLimit: limit}
}

// originOf says whether somebody asked for the work: a chat on a channel of the engine's own has nobody's (ADR 0017).
func originOf(channel string) string {
	if contains([]string{"proactive", "heartbeat", "followups", "dreaming", "background"}, channel) {
		return channel
	}
	return "user"
}

// perform runs a call and makes its result what the model, the transcript and the clients get. The gate is asked once more,
// on what will really run.
func (o *Options) perform(ctx context.Context, g gate, r agent.CallRun, x *msg.Call) agent.Outcome {
	start, call := o.Now(), r.Call
	g = o.refresh(g)
	e, ok := g.reg.Lookup(call.Name)
	if !ok {
		return agent.ErrorOutcome(call.ID, unknownTool(call.Name))
	}
	args, bad := e.Decode(call.Arguments)
	if bad != nil {
		return agent.Outcome{Call: call.ID, Result: wire.Marshal(bad), Content: string(wire.Marshal(bad)), IsJSON: true, IsError: true}
	}
	x.Args = args
	if no, held := g.stops(e, r, x); held {
		return no
	}
	finish := o.keepCopies(e, x)
	defer finish() // also when the tool panics
	result, err := e.Tool.Run(ctx, x)
	finish()
	var out agent.Outcome
	if err != nil {
		out = agent.ErrorOutcome(call.ID, err.Error())
	} else {
		out = o.outcome(e, args, withNote(result, r.Note), x)
	}
	o.check(ctx, e, x, result, &out)
	out.Took = o.Now().Sub(start)
	return out
}

// stops is the gate right before the effect: a rule, a mode or a connection that changed since the call was let through counts.
func (g gate) stops(e tool.Entry, r agent.CallRun, x *msg.Call) (out agent.Outcome, held bool) {
	if no := withoutMemory(x); no != "" {
		out = agent.ErrorOutcome(x.ID, no)
		out.NotRun = true
		return out, true
	}
	f := g.facts(e, x.Args, x)
	f.Approved = approval(r.Approved)
	ruling := policy.Judge(f)
	switch ruling.Do {
	case policy.Run:
		return out, false
	case policy.HandOff:
		out = agent.Outcome{Call: x.ID, Result: handOff(e, x.Args, f), IsJSON: true}
		out.Content = string(out.Result)
	case policy.Ask:
		out = agent.ErrorOutcome(x.ID, "Not done: what Sentient may do without asking changed just now. Call it again, and the user is asked.")
	default:
		out = agent.ErrorOutcome(x.ID, ruling.Refusal)
	}
	out.NotRun = true
	return out, true
}

// withNote adds the engine's note to a result.
func withNote(result any, note string) any {
	if note == "" {
		return result
	}
	raw := wire.Marshal(result)
	n := wire.Marshal(map[string]string{"note": note})
	if len(raw) > 2 && raw[0] == '{' {
		return json.RawMessage(string(raw[:len(raw)-1]) + "," + string(n[1:]))
	}
	return map[string]any{"result": result, "note": note}
}

func unknownTool(name string) string {
	return fmt.Sprintf("There is no tool called %q. Use only the tools you were given.", name)
}

func (o *Options) outcome(e tool.Entry, args map[string]any, result any, x *msg.Call) agent.Outcome {
	incognito := ""
	if x.Incognito {
		incognito = x.Session
	}
	name := tool.OutputName(x.ID, incognito)
	f := tool.Fit(result, x.ResultLimit, name, e.Tool.ShortenFn)
	_, isText := result.(string)
	out := agent.Outcome{Call: x.ID, Result: wire.Marshal(result), Content: f.Content(), IsJSON: !isText && f.Note == ""}
	if f.Note != "" {
		out.File = name
		if err := o.Files.SaveResult(name, f.Full); err != nil {
			o.Logger.Error("a long tool result could not be saved", "tool", x.Tool, "reason", err.Error())
		}
	}
	out.Outside = o.outsideSource(e, args, result, f.Full)
	if out.Outside != "" && o.Config().Chat.MarkOutsideContent {
		out.Shown = f.WithNote(o.Marker.Mark(f.Body, out.Outside))
	}
	if e.Tool.URLFn != nil {
		out.Host = tool.AddressHost(e.Tool.URLFn(args))
	}
	if e.Tool.SourcesFn != nil {
		out.Sources = e.Tool.SourcesFn(args, result)
	}
	out.IsError = saysError(out.Result)
	if out.IsError {
		out.Sources = nil
	}
	return out
}

// outsideSource names whose content a result brought, "" when it is the person's own or the engine's.
func (o *Options) outsideSource(e tool.Entry, args map[string]any, result any, full string) string {
	if e.Tool.OutsideFn != nil {
		if s := e.Tool.OutsideFn(args, result); s != "" {
			return s
		}
	}
	if s, ok := tool.ResultSource(full); ok {
		return s
	}
	if e.BringsUntrusted() {
		return e.Plugin.DisplayName
	}
	return ""
}

// saysError: a result whose only news is an error.
func saysError(result json.RawMessage) bool {
	var r struct {
		Error *string `json:"error"`
	}
	return json.Unmarshal(result, &r) == nil && r.Error != nil && *r.Error != ""
}
