package agent

import (
	"time"

	"sentient/actors/msg"
)

// Input is what can happen to a turn.
type Input interface{ input() inputKind }

type inputKind int

const (
	inPlanned inputKind = iota
	inSaid
	inReplied
	inSteered
	inJudged
	inDecided
	inUndone
	inProgressed
	inReturned
	inStopped
	inInterrupt
	inputKinds
)

type (
	// Planned ends Preparing. Err ends the turn.
	Planned struct {
		Run  string
		Plan Plan
		Err  error
	}
	// Said is streamed text of the running model call.
	Said struct{ Run, Text, Thinking string }
	// Replied ends a model call.
	Replied struct {
		Run    string
		Result msg.ModelResult
		Meter  Meter
		Err    error
	}
	// Steered is a message for the running turn.
	Steered struct{ Steer Steer }
	// Judged brings a verdict for each call that was asked about, in order.
	Judged struct {
		Run      string
		Verdicts []Verdict
	}
	// Decided is a person's answer, or "deny" when the time ran out.
	Decided struct {
		Approval, Decision string
		At                 time.Time
	}
	// UndoEnded ends an undo window: Undo, SendNow or TimeIsUp.
	UndoEnded struct{ Undo, Action string }
	// Progressed is output of a running call.
	Progressed struct {
		Run, Call string
		Progress  msg.ToolProgress
	}
	// Returned ends a call.
	Returned struct {
		Run     string
		Outcome Outcome
	}
	// StoppedByPerson ends the turn now.
	StoppedByPerson struct{}
	// Interrupt ends the turn at the next safe point.
	Interrupt struct{}
)

func (Planned) input() inputKind         { return inPlanned }
func (Said) input() inputKind            { return inSaid }
func (Replied) input() inputKind         { return inReplied }
func (Steered) input() inputKind         { return inSteered }
func (Judged) input() inputKind          { return inJudged }
func (Decided) input() inputKind         { return inDecided }
func (UndoEnded) input() inputKind       { return inUndone }
func (Progressed) input() inputKind      { return inProgressed }
func (Returned) input() inputKind        { return inReturned }
func (StoppedByPerson) input() inputKind { return inStopped }
func (Interrupt) input() inputKind       { return inInterrupt }

// Out is one thing a step wants, in order. Keep... are facts for the journal, all others are for after they are on disk.
type Out interface{ out() }

type (
	// CallModel starts a model call under Run.
	CallModel struct {
		Run     string
		Round   int
		Choice  Choice
		Request msg.ModelRequest
	}
	// JudgeCalls asks code about calls; Answers holds what a person already said about them, by call id.
	JudgeCalls struct {
		Run     string
		Calls   []msg.ToolCall
		Answers map[string]Answer
		Cleared map[string]Cleared
		Words   []string // the person's own, of this turn
		Choice  Choice
	}
	// AskPerson asks about one call.
	AskPerson struct{ Request Request }
	// Unask: the open request ended without an answer.
	Unask struct{ Approval string }
	// OpenUndo lets a call wait; CloseUndo ends that.
	OpenUndo  struct{ Window UndoWindow }
	CloseUndo struct{ Undo, Action string }
	// RunCalls starts calls, each under its run. What changes something is intended first.
	RunCalls struct{ Calls []CallRun }
	// Abandon cancels runs; what they still report is ignored.
	Abandon struct{ Runs []string }
	// KeepAnswer saves an assistant message.
	KeepAnswer struct {
		Text, Thinking string
		Calls          []msg.ToolCall
		Final          bool
		Sources        []msg.AnswerSource
		Checks         []msg.OutcomeCheck // with Final: what the calls of the turn really did, in order
	}
	// KeepResults saves tool messages.
	KeepResults struct{ Results []Settled }
	// KeepAnswered saves a person's answer to a request.
	KeepAnswered struct{ Answer Answer }
	// KeepSteers saves messages that join the turn now.
	KeepSteers struct{ Steers []Steer }
	// KeepUsage counts a model call.
	KeepUsage struct {
		Choice Choice
		Usage  msg.ModelUsage
		Meter  Meter
	}
	// KeepAllowed lets the tool run in this chat without a question, up to Risk.
	KeepAllowed struct {
		Tool string
		Risk msg.Risk
	}
	// Show streams text.
	Show struct{ Text, Thinking string }
	// ShowProgress streams a call's output.
	ShowProgress struct {
		Call     msg.ToolCall
		Progress msg.ToolProgress
	}
	// Tell shows a notice.
	Tell struct{ Notice Notice }
	// Note shows an error that does not end the turn.
	Note struct{ Message string }
	// Finish ends the turn. Text is the final text; Kept says whether the last KeepAnswer of this step is its message.
	Finish struct {
		How     End
		Text    string
		Kept    bool
		Err     error
		Sources []msg.AnswerSource
		Checks  []msg.OutcomeCheck
		Repeat  string // the sentence, when the loop breaker ended it
		Budget  string // the sentence, when the budget ended it
		Rule    string // the sentence, when a rule ended it
	}
)

// CallRun is one call to start.
type CallRun struct {
	Run  string
	Call msg.ToolCall
	Risk msg.Risk

	Note     string   // goes with its result
	Words    []string // the person's own, for the gate right before the effect
	Approved *Answer  // a person said yes to it
}

func (CallModel) out()    {}
func (JudgeCalls) out()   {}
func (AskPerson) out()    {}
func (Unask) out()        {}
func (OpenUndo) out()     {}
func (CloseUndo) out()    {}
func (RunCalls) out()     {}
func (Abandon) out()      {}
func (KeepAnswer) out()   {}
func (KeepResults) out()  {}
func (KeepAnswered) out() {}
func (KeepSteers) out()   {}
func (KeepUsage) out()    {}
func (KeepAllowed) out()  {}
func (Show) out()         {}
func (ShowProgress) out() {}
func (Tell) out()         {}
func (Note) out()         {}
func (Finish) out()       {}
