package agent

import (
	"strings"

	"sentient/actors/msg"
)

// State is where a turn is.
type State int

const (
	Preparing State = iota
	Calling
	Judging
	Asking
	Waiting
	Acting
	Ended
	states
)

// Turn is one reply. Its zero value is not usable; see New. It is not safe for concurrent use: its owner steps it.
type Turn struct {
	state State
	newID func() string
	run   string // the plan, model call or judgement that is waited for

	plan     Plan
	choice   int
	messages []msg.ModelMessage // the conversation as the model reads it, growing
	rounds   int                // rounds of tool calls so far
	calls    int                // model calls so far

	text, thinking strings.Builder // of the running model call
	said           bool            // the turn has streamed or saved something

	open    []msg.ToolCall    // calls of the last answer without a result, in order
	request *Request          // with Asking
	window  *UndoWindow       // with Waiting
	answers map[string]Answer // what a person said about open calls
	cleared map[string]Cleared
	notes   map[string]string // what goes with the results of open calls
	words   []string          // the person's own, growing with steers
	acting  []*running        // with Acting

	steers    []Steer
	interrupt bool
	noticed   bool
	nudged    bool
	noTools   bool
	repeats   repeats
	sources   sources
	checks    []msg.OutcomeCheck
	spent     spent
	results   []Settled // of this round
}

type running struct {
	CallRun
	done    bool
	outcome Outcome
}

// New makes a turn that waits for its plan under run. newID gives ids that are never given again.
func New(run string, newID func() string) *Turn {
	return &Turn{run: run, newID: newID, answers: map[string]Answer{}, cleared: map[string]Cleared{}, repeats: repeats{}}
}

// State is where the turn is.
func (t *Turn) State() State { return t.state }

// Partial is the text of the model call in progress.
func (t *Turn) Partial() (text, thinking string) { return t.text.String(), t.thinking.String() }

// Open lists the calls that have no result yet.
func (t *Turn) Open() []msg.ToolCall { return t.open }

// Pending is the request that waits for a person, or nil.
func (t *Turn) Pending() *Request { return t.request }

// Undoable is the call that waits to be undone, or nil.
func (t *Turn) Undoable() *UndoWindow { return t.window }

// Waiting says how many steers the model has not seen.
func (t *Turn) Waiting() int { return len(t.steers) }

// Choice is the model in use; ok is false before the plan is there.
func (t *Turn) Choice() (c Choice, ok bool) {
	if len(t.plan.Choices) == 0 {
		return Choice{}, false
	}
	return t.plan.Choices[t.choice], true
}

type handler func(*Turn, Input) []Out

// steps is the whole machine: what each state does with each input. Every pair is written down; ignore is a decision.
var steps = [states][inputKinds]handler{
	Preparing: {
		inPlanned: (*Turn).planned, inSaid: ignore, inReplied: ignore, inSteered: (*Turn).steered, inJudged: ignore,
		inDecided: ignore, inUndone: ignore, inProgressed: ignore, inReturned: ignore, inStopped: (*Turn).stopped, inInterrupt: (*Turn).interrupted,
	},
	Calling: {
		inPlanned: ignore, inSaid: (*Turn).heard, inReplied: (*Turn).replied, inSteered: (*Turn).steered, inJudged: ignore,
		inDecided: ignore, inUndone: ignore, inProgressed: ignore, inReturned: ignore, inStopped: (*Turn).stopped, inInterrupt: (*Turn).interrupted,
	},
	Judging: {
		inPlanned: ignore, inSaid: ignore, inReplied: ignore, inSteered: (*Turn).steered, inJudged: (*Turn).judged,
		inDecided: ignore, inUndone: ignore, inProgressed: ignore, inReturned: ignore, inStopped: (*Turn).stopped, inInterrupt: (*Turn).interrupted,
	},
	Asking: {
		inPlanned: ignore, inSaid: ignore, inReplied: ignore, inSteered: (*Turn).steered, inJudged: ignore,
		inDecided: (*Turn).decided, inUndone: ignore, inProgressed: ignore, inReturned: ignore, inStopped: (*Turn).stopped, inInterrupt: (*Turn).interrupted,
	},
	Waiting: {
		inPlanned: ignore, inSaid: ignore, inReplied: ignore, inSteered: (*Turn).steered, inJudged: ignore,
		inDecided: ignore, inUndone: (*Turn).undone, inProgressed: ignore, inReturned: ignore, inStopped: (*Turn).stopped, inInterrupt: (*Turn).interrupted,
	},
	Acting: {
		inPlanned: ignore, inSaid: ignore, inReplied: ignore, inSteered: (*Turn).steered, inJudged: ignore,
		inDecided: ignore, inUndone: ignore, inProgressed: (*Turn).progressed, inReturned: (*Turn).returned, inStopped: (*Turn).stopped, inInterrupt: (*Turn).interrupted,
	},
	Ended: {
		inPlanned: ignore, inSaid: ignore, inReplied: ignore, inSteered: ignore, inJudged: ignore,
		inDecided: ignore, inUndone: ignore, inProgressed: ignore, inReturned: ignore, inStopped: ignore, inInterrupt: ignore,
	},
}

// Step is the machine: what follows from in. A steer must be accepted (state not Ended) by the caller's own check.
func (t *Turn) Step(in Input) []Out { return steps[t.state][in.input()](t, in) }

func ignore(*Turn, Input) []Out { return nil }

func (t *Turn) steered(in Input) []Out {
	t.steers = append(t.steers, in.(Steered).Steer)
	return nil
}

func (t *Turn) interrupted(Input) []Out {
	t.interrupt = true
	return nil
}
