package session

import (
	"time"

	"sentient/actors/agent"
	"sentient/actors/msg"
	"sentient/actors/wire"
	pb "sentient/proto/session"
	"sentient/runtime/bus"
)

// effect is what the shell does once a change is on disk.
type effect interface{ effect() }

type (
	// makePlan prepares a turn: model, history, tools, prompt.
	makePlan struct {
		Run, Turn string
		Model     string           // for this message only
		First     string           // id of the first message it answers
		Unsaved   []*pb.MessageRow // messages on their way to the disk
	}
	callModel struct {
		Turn string
		Call agent.CallModel
	}
	judgeCalls struct {
		Turn  string
		Judge agent.JudgeCalls
	}
	runCalls struct {
		Turn  string
		Calls []agent.CallRun
	}
	cancelRuns struct{ Runs []string }
	// expire answers a request with deny when nobody did in time.
	expire   struct{ Approval string }
	unexpire struct{}
	// undoable ends an undo window when its time is up.
	undoable struct {
		Undo  string
		Until time.Time
	}
	// undoOver: the window ended.
	undoOver struct{}
	// checkRule asks whether a message states a standing rule.
	checkRule struct{ Check ruleCheck }
	// show publishes what is not kept.
	show struct{ Event bus.Event }
	// forget ends a deleted chat's traces outside the journal.
	forget struct {
		Attached  []string
		Incognito bool
	}
	// upkeep follows a good reply: title, summary.
	upkeep struct{ Said, Reply string }
	// turnOver ends what belongs to a turn in the shell.
	turnOver struct{}
)

func (makePlan) effect()   {}
func (callModel) effect()  {}
func (judgeCalls) effect() {}
func (runCalls) effect()   {}
func (cancelRuns) effect() {}
func (expire) effect()     {}
func (unexpire) effect()   {}
func (undoable) effect()   {}
func (undoOver) effect()   {}
func (checkRule) effect()  {}
func (show) effect()       {}
func (forget) effect()     {}
func (upkeep) effect()     {}
func (turnOver) effect()   {}

// approvalFields are what approval_request carries (section 1).
type approvalFields struct {
	Approval     string   `json:"approval_id"`
	Call         string   `json:"call_id"`
	Name         string   `json:"name"`
	Arguments    any      `json:"arguments"`
	Risk         string   `json:"risk"`
	Reason       string   `json:"reason"`
	RiskLabel    string   `json:"risk_label,omitempty"`
	Target       *string  `json:"target,omitempty"`
	Untrusted    string   `json:"untrusted,omitempty"`
	Warning      string   `json:"warning,omitempty"`
	Choices      []string `json:"choices,omitempty"`
	GrantMinutes int      `json:"grant_minutes,omitempty"`
	Preview      any      `json:"preview,omitempty"`
}

func requestFields(r agent.Request) wire.Fields {
	f := approvalFields{Approval: r.Approval, Call: r.Call.ID, Name: r.Call.Name, Arguments: r.Arguments, Risk: r.Risk.String(), Reason: r.Reason,
		RiskLabel: r.RiskLabel, Target: r.Target, Untrusted: r.Untrusted, Warning: r.Warning, Choices: r.Choices, GrantMinutes: r.GrantMinutes}
	if len(r.Preview) > 0 {
		f.Preview = r.Preview
	}
	return wire.Of(f)
}

func approvalRecord(a *agent.Answer) []byte {
	if a == nil {
		return nil
	}
	r := a.Request
	return wire.Marshal(msg.MessageApproval{Decision: a.Decision, AskedAt: msg.Time{Time: r.AskedAt}, AnsweredAt: msg.Time{Time: a.AnsweredAt},
		Target: r.Target, RiskLabel: orNil(r.RiskLabel), Untrusted: orNil(r.Untrusted), Rule: orNil(r.Rule), Warning: orNil(r.Warning)})
}

func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func micro(t int64) msg.Time { return msg.Time{Time: time.UnixMicro(t)} }

func openCall(c agent.CallRun) *pb.OpenCall {
	return &pb.OpenCall{Id: c.Call.ID, Tool: c.Call.Name, Changes: c.Risk > msg.RiskRead}
}
