package session

import (
	"context"
	"encoding/json"
	"time"

	"sentient/actors/agent"
	"sentient/actors/msg"
	"sentient/actors/policy"
	"sentient/actors/policy/preview"
	"sentient/actors/tool"
	"sentient/actors/wire"
)

// judge asks code about the calls of an answer, beside the mailbox: a tool's own functions may have to look something up, and
// the second look may ask a model.
func (a *actor) judge(e judgeCalls) {
	self := a.c.Self()
	j := a.judgement(e)
	refuse := func(err error) {
		self.Tell(agent.Judged{Run: e.Judge.Run, Verdicts: []agent.Verdict{refusal(e.Judge.Calls[0].ID, "Not done: "+err.Error())}})
	}
	err := a.o.Work.Go(a.c.Context(), a.spec(e.Judge.Run, "judge", func(error) { refuse(errJudge) }), func(ctx context.Context) {
		vs := j.round(ctx)
		if len(j.spent) > 0 {
			self.Tell(counted{j.spent})
		}
		self.Tell(agent.Judged{Run: e.Judge.Run, Verdicts: vs})
	})
	if err != nil {
		refuse(err)
	}
}

var errJudge = msg.NewFault(msg.Invalid, "Sentient couldn't check whether this may run.")

func refusal(call, text string) agent.Verdict {
	return agent.Verdict{Call: call, Do: agent.DoRefuse, Error: true, Result: agent.ErrorOutcome(call, text).Result}
}

// judgement is everything the verdicts of one round depend on, taken at one moment.
type judgement struct {
	gate
	o       *Options
	tables  *Tables
	ask     agent.JudgeCalls
	base    msg.Call
	asked   time.Time
	watched bool // somebody can press Undo here
	spent   []msg.CountedCall
}

func (a *actor) judgement(e judgeCalls) *judgement {
	e.Judge.Answers, e.Judge.Cleared = clone(e.Judge.Answers), clone(e.Judge.Cleared)
	return &judgement{gate: a.gate(e.Judge.Words), o: a.o, tables: a.tables, ask: e.Judge, base: *a.callContext(e.Turn, agent.CallRun{}),
		asked: a.o.Now().UTC(), watched: attended(a.chat.Channel)}
}

func clone[V any](m map[string]V) map[string]V {
	out := make(map[string]V, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

// attended: a chat in which someone can press Undo.
func attended(channel string) bool {
	return contains([]string{"desktop", "telegram", "discord", "whatsapp"}, channel)
}

// round judges the first call, and those behind it that may run together with it: look-ups that nothing asks about. The others
// are judged when it is their turn, on what is true then.
func (j *judgement) round(ctx context.Context) []agent.Verdict {
	vs := []agent.Verdict{j.first(ctx, j.ask.Calls[0])}
	for _, call := range j.ask.Calls[1:] {
		last := vs[len(vs)-1]
		if last.Do != agent.DoRun || last.Risk != msg.RiskRead {
			break
		}
		c, bad := j.consider(call)
		if bad != nil || c.facts.SendsOut || policy.Judge(c.facts).Do != policy.Run {
			break
		}
		vs = append(vs, agent.Verdict{Call: call.ID, Do: agent.DoRun, Risk: c.facts.Risk})
	}
	return vs
}

// considered is a call with the facts about it.
type considered struct {
	call  msg.ToolCall
	entry tool.Entry
	x     *msg.Call
	facts policy.Facts
	sight sight
}

func (j *judgement) consider(call msg.ToolCall) (considered, *agent.Verdict) {
	e, ok := j.reg.Lookup(call.Name)
	if !ok {
		v := refusal(call.ID, unknownTool(call.Name))
		return considered{}, &v
	}
	args, bad := e.Decode(call.Arguments)
	if bad != nil {
		return considered{}, &agent.Verdict{Call: call.ID, Do: agent.DoRefuse, Error: true, Result: wire.Marshal(bad)}
	}
	x := j.base
	x.ID, x.Tool, x.Args = call.ID, call.Name, args
	if no := withoutMemory(&x); no != "" {
		v := refusal(call.ID, no)
		return considered{}, &v
	}
	c := considered{call: call, entry: e, x: &x, facts: j.facts(e, args, &x)}
	if a, ok := j.ask.Answers[call.ID]; ok {
		c.facts.Approved = approval(&a)
	}
	return c, nil
}

// first judges the call whose turn it is, whole: the gate, the second look, the gate again with what it found, the window.
func (j *judgement) first(ctx context.Context, call msg.ToolCall) agent.Verdict {
	c, bad := j.consider(call)
	if bad != nil {
		return *bad
	}
	cleared := j.ask.Cleared[call.ID]
	c.sight.destinations = cleared.Destinations
	r := policy.Judge(c.facts)
	v := agent.Verdict{Call: call.ID}
	if c.facts.SendsOut && (r.Do == policy.Run || r.Do == policy.Ask) && !cleared.Looked {
		c.sight = j.look(ctx, c, r)
		v.Looked, v.Destinations = true, c.sight.destinations
		if c.sight.warning != "" {
			c.facts.Warning, c.facts.Risk = c.sight.warning, max(c.facts.Risk, msg.RiskSend)
			r = policy.Judge(c.facts)
		}
	}
	v.Risk = c.facts.Risk
	switch r.Do {
	case policy.Run:
		v.Do = agent.DoRun
		if !cleared.Waited && j.mayBeUndone(c) {
			v.Do, v.Undo = agent.DoWait, j.window(c)
		}
	case policy.Ask:
		v.Do, v.Ask = agent.DoAsk, j.request(c, r)
	case policy.HandOff:
		v.Result, v.HandedOff = handOff(c.entry, c.x.Args, c.facts), true
	default:
		v.Error, v.Held, v.Result = true, r.Held, agent.ErrorOutcome(call.ID, r.Refusal).Result
		if r.EndsRun {
			v.EndRun = r.Refusal
		}
	}
	return v
}

func (c considered) preview() *msg.ActionPreview {
	return preview.Of(c.entry.Tool.Name, plainName(c.entry), c.entry.Plugin.DisplayName, c.facts.Risk, c.facts.Label, c.x.Args, c.sight.destinations)
}

func previewJSON(p *msg.ActionPreview) json.RawMessage {
	if p == nil {
		return nil
	}
	return wire.Marshal(p)
}

func (j *judgement) request(c considered, r policy.Ruling) *agent.Request {
	d := tool.Describe(c.entry.Tool, c.x.Args, c.x, c.facts.Risk)
	q := &agent.Request{Approval: j.o.NewID(), Call: c.call, Arguments: wire.Marshal(c.x.Args), Risk: c.facts.Risk, RiskLabel: d.RiskLabel,
		Untrusted: r.Untrusted, Warning: r.Warning, Rule: r.Rule, Choices: r.Choices, Preview: previewJSON(c.preview()), AskedAt: j.asked}
	if d.RiskLabel != c.facts.Risk.Label() {
		q.Reason = d.RiskLabel
	}
	if d.Target != "" {
		q.Target = &d.Target
	}
	if contains(r.Choices, policy.AllowTimed) {
		q.GrantMinutes = j.cfg.Tools.Approvals.GrantMinutes
	}
	return q
}

// mayBeUndone: an email, message or post, in a chat somebody looks at.
func (j *judgement) mayBeUndone(c considered) bool {
	f := c.facts
	return j.watched && j.cfg.Tools.Approvals.UndoSeconds > 0 && !f.Unprompted && !f.OpensHome() &&
		preview.Waits(c.entry.Tool.Name, f.Risk, f.Internal, f.Label)
}

func (j *judgement) window(c considered) *agent.UndoWindow {
	s := j.cfg.Tools.Approvals.UndoSeconds
	return &agent.UndoWindow{Undo: j.o.NewID(), Call: c.call, Risk: c.facts.Risk, Seconds: s, Until: j.o.Now().UTC().Add(time.Duration(s) * time.Second),
		Preview: previewJSON(c.preview())}
}

// handOff is the result of a call that a "Hand it to me" rule covers.
func handOff(e tool.Entry, args map[string]any, f policy.Facts) json.RawMessage {
	p := preview.Of(e.Tool.Name, plainName(e), e.Plugin.DisplayName, f.Risk, f.Label, args, nil)
	return wire.Marshal(preview.HandOff(e.Tool.Name, plainName(e), e.Plugin.DisplayName, p, args))
}
