package session

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"sentient/actors/agent"
	"sentient/actors/msg"
	"sentient/actors/policy"
	"sentient/actors/tool"
	"sentient/actors/wire"
	"sentient/runtime/app"
	"sentient/runtime/work"
)

// judge asks code about calls, beside the mailbox: a tool's own risk function may have to look something up.
func (a *actor) judge(e judgeCalls) {
	self := a.c.Self()
	j := a.judgement(e)
	refuse := func(err error) {
		vs := make([]agent.Verdict, len(e.Judge.Calls))
		for i, call := range e.Judge.Calls {
			vs[i] = refusal(call.ID, "Not done: "+err.Error())
		}
		self.Tell(agent.Judged{Run: e.Judge.Run, Verdicts: vs})
	}
	err := a.o.Work.Go(a.c.Context(), a.spec(e.Judge.Run, "judge", func(error) { refuse(errJudge) }), func(context.Context) {
		self.Tell(agent.Judged{Run: e.Judge.Run, Verdicts: j.all()})
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
	calls     []msg.ToolCall
	answers   map[string]agent.Answer
	reg       *tool.Registry
	cfg       *app.Config
	base      msg.Call
	untrusted string
	visited   []string
	allowed   map[string]int32
	origin    work.Origin
	newID     func() string
	asked     msg.Time
}

func (a *actor) judgement(e judgeCalls) judgement {
	s := a.chat.state
	allowed := make(map[string]int32, len(s.Allowed))
	for k, v := range s.Allowed {
		allowed[k] = v
	}
	return judgement{calls: e.Judge.Calls, answers: cloneAnswers(e.Judge.Answers), reg: a.o.Registry(), cfg: a.o.Config(), base: *a.callContext(e.Turn, agent.CallRun{}),
		untrusted: s.GetUntrusted(), visited: slices.Clone(s.Visited), allowed: allowed, origin: work.User, newID: a.o.NewID, asked: msg.Time{Time: a.o.Now().UTC()}}
}

func cloneAnswers(m map[string]agent.Answer) map[string]agent.Answer {
	out := make(map[string]agent.Answer, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

func (j judgement) all() []agent.Verdict {
	vs := make([]agent.Verdict, len(j.calls))
	for i, call := range j.calls {
		vs[i] = j.one(call)
	}
	return vs
}

func (j judgement) one(call msg.ToolCall) agent.Verdict {
	e, ok := j.reg.Lookup(call.Name)
	if !ok {
		return refusal(call.ID, unknownTool(call.Name))
	}
	args, bad := e.Decode(call.Arguments)
	if bad != nil {
		return agent.Verdict{Call: call.ID, Do: agent.DoRefuse, Error: true, Result: wire.Marshal(bad)}
	}
	x := j.base
	x.ID, x.Tool, x.Args = call.ID, call.Name, args
	f := j.facts(e, args, &x)
	_, f.Approved = j.answers[call.ID]
	r := policy.Judge(f)
	switch r.Do {
	case policy.Run:
		return agent.Verdict{Call: call.ID, Do: agent.DoRun, Risk: f.Risk}
	case policy.Ask:
		return agent.Verdict{Call: call.ID, Do: agent.DoAsk, Risk: f.Risk, Ask: j.request(call, args, f, r, tool.Describe(e.Tool, args, &x, f.Risk))}
	case policy.HandOff:
		return agent.Verdict{Call: call.ID, Do: agent.DoRefuse, Risk: f.Risk, Result: handOff(f, args)}
	default:
		return refusal(call.ID, r.Refusal)
	}
}

func (j judgement) facts(e tool.Entry, args map[string]any, x *msg.Call) policy.Facts {
	risk := tool.EffectiveRisk(e.Tool, args, x)
	appr := j.cfg.Tools.Approvals
	rule, ofApp := appr.Rules[e.Tool.Name], false
	if rule == "" {
		rule, ofApp = appr.Rules[e.Plugin.ID], true
	}
	allowed, has := j.allowed[e.Tool.Name]
	f := policy.Facts{Tool: e.Tool.Name, ToolName: plainName(e), App: e.Plugin.DisplayName, Risk: risk, Raised: risk > e.Tool.Risk, Internal: e.Tool.Internal,
		Label: tool.Describe(e.Tool, args, x, risk).RiskLabel, Mode: appr.Mode, Rule: rule, RuleOfApp: ofApp && rule != "", Unprompted: j.origin != work.User, CanAsk: true,
		Remember: appr.RememberSession, NoSessionAllow: e.Tool.NoSessionAllow, Allowed: msg.Risk(allowed), HasAllowed: has,
		Untrusted: j.untrusted, SendsOut: tool.SendsOut(e.Tool, risk, args, x)}
	if e.Tool.URLFn != nil {
		url := e.Tool.URLFn(args)
		f.Host = tool.AddressHost(url)
		f.CarriesData = tool.AddressCarriesData(url) && !slices.Contains(j.visited, f.Host)
	}
	return f
}

// plainName is a tool's name without its app's prefix, in words: slack_post_message in Slack is "Post message".
func plainName(e tool.Entry) string {
	n := strings.ReplaceAll(strings.TrimPrefix(e.Tool.Name, e.Plugin.ID+"_"), "_", " ")
	if n == "" {
		return e.Tool.Name
	}
	return strings.ToUpper(n[:1]) + n[1:]
}

func (j judgement) request(call msg.ToolCall, args map[string]any, f policy.Facts, r policy.Ruling, d msg.Description) *agent.Request {
	q := &agent.Request{Approval: j.newID(), Call: call, Arguments: wire.Marshal(args), Risk: f.Risk, RiskLabel: d.RiskLabel,
		Untrusted: r.Untrusted, Rule: r.Rule, Choices: r.Choices, AskedAt: j.asked.Time}
	if d.RiskLabel != f.Risk.Label() {
		q.Reason = d.RiskLabel
	}
	if d.Target != "" {
		q.Target = &d.Target
	}
	return q
}

// handOff is the result of a call that a "Hand it to me" rule covers.
func handOff(f policy.Facts, args map[string]any) json.RawMessage {
	type detail struct {
		Label string `json:"label"`
		Value string `json:"value"`
	}
	var details []detail
	for _, k := range sortedKeys(args) {
		details = append(details, detail{k, strings.Trim(string(wire.Marshal(args[k])), `"`)})
	}
	return wire.Marshal(struct {
		HandedOff bool     `json:"handed_off"`
		Message   string   `json:"message"`
		Label     string   `json:"label"`
		Title     string   `json:"title"`
		Preview   any      `json:"preview"`
		Details   []detail `json:"details,omitempty"`
	}{true, "NOT DONE by Sentient: " + f.ToolName + ` is set to "Hand it to me", so Sentient did not do it. What you prepared is shown to the user in Sentient, with a copy button, for them to finish themselves. Tell them so in one sentence.`,
		f.ToolName, f.ToolName, nil, details})
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
