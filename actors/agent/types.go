package agent

import (
	"encoding/json"
	"time"

	"sentient/actors/msg"
)

// Plan is everything decided before the first model call.
type Plan struct {
	Choices  []Choice // the models to try, in order; at least one
	System   string
	Messages []msg.ModelMessage
	Tools    []msg.ToolSchema

	MaxRounds   int  // rounds of tool calls
	RepeatLimit int  // the same call with the same result this often stops the turn; 0 never
	Parallel    bool // look-ups that need no question run together
	Attended    bool // a person reads along: a repeating turn is nudged and then says so itself
	Budget      Budget
	Job         string // who the model calls are for, see msg.ModelRequest

	// Words are the person's own words that started the turn; steers add theirs. Nobody else's are in it.
	Words []string
	// Rewrite may replace calls by safer ones before they are saved or checked; notes, by call id, go with their results.
	Rewrite func(calls []msg.ToolCall, words []string) (changed []msg.ToolCall, notes map[string]string)

	// StopWhen is asked after each round of results; true ends the turn without another model call (Paused).
	StopWhen func(results []Settled) bool

	Notice *Notice // known before the first call
}

// Choice is one model the turn may use.
type Choice struct {
	Model         string
	Name          string // how people call it
	Role          string
	Own           bool // the chat's own model: when another one answers, a notice says so
	Temperature   *float64
	Reasoning     string
	ContextLength int  // num_ctx for Ollama, else 0
	Window        int  // tokens it reads at once, 0 unknown
	Local         bool // runs on this computer: costs nothing
	ResultLimit   int  // characters of one tool result it reads
}

// Budget bounds what a turn may spend on models that are not local; 0 is no bound.
type Budget struct {
	MaxTokens  int
	MaxCostUSD float64
}

// Notice says that another model answers than the chat's own.
type Notice struct {
	Message, Code, Model, Used string
}

// Meter is the context meter after a model call; nil fields are unknown.
type Meter struct {
	Used, Length, Percent *int
	Warning               *string
}

// Steer is a message that joins the running turn.
type Steer struct {
	ID   string
	Text string
}

// Verdict is what code decided about a call.
type Verdict struct {
	Call      string
	Do        Deed
	Risk      msg.Risk
	Ask       *Request        // with DoAsk
	Undo      *UndoWindow     // with DoWait
	Result    json.RawMessage // with DoRefuse: what the model reads instead
	Error     bool            // with DoRefuse: the result is an error
	Held      bool            // with DoRefuse: a person's yes would let it run
	HandedOff bool            // with DoRefuse: Result is a hand-off
	Looked    bool            // the second look saw this call, and Destinations is where it goes

	Destinations []msg.Destination
	EndRun       string // with DoRefuse: the run ends here with this sentence
}

// Deed is what happens to a call.
type Deed int

const (
	DoRefuse Deed = iota // it does not run; Result says why
	DoRun
	DoAsk
	DoWait
)

// Cleared is what the checks already settled about a call, so that they are not done twice.
type Cleared struct {
	Waited       bool              // its undo window ended without an undo
	Looked       bool              // the second look saw it
	Destinations []msg.Destination // where it goes, as the second look found
}

// UndoWindow is a call that waits so that it can still be undone (section 10).
type UndoWindow struct {
	Undo    string
	Call    msg.ToolCall
	Risk    msg.Risk
	Seconds int
	Until   time.Time
	Preview json.RawMessage
}

// How an undo window ends.
const (
	Undo      = "undo"
	SendNow   = "send_now"
	TimeIsUp  = "time"
	WithReply = "stop" // the reply was stopped: nothing is sent
)

// Request is an approval request as a person sees it (section 1).
type Request struct {
	Approval     string
	Call         msg.ToolCall
	Arguments    json.RawMessage
	Risk         msg.Risk
	Reason       string
	RiskLabel    string
	Target       *string
	Untrusted    string
	Warning      string
	Rule         string
	Choices      []string
	GrantMinutes int
	Preview      json.RawMessage
	AskedAt      time.Time
}

// Answer is how a request ended.
type Answer struct {
	Request    Request
	Decision   string
	AnsweredAt time.Time
}

// Outcome is what a call came to.
type Outcome struct {
	Call     string
	Result   json.RawMessage // what the tool returned, whole
	Content  string          // what the model reads
	IsJSON   bool            // Content is the JSON of Result
	Shown    string          // Content as the model gets it when it must be marked as outside content; "" the same
	IsError  bool
	Declined bool
	Took     time.Duration
	Sources  []msg.AnswerSource
	Outside  string // the app whose content it brought, "" none
	Host     string // the web host it loaded
	File     string // where the whole result was saved when Content is cut
	Check    *msg.OutcomeCheck
	Undone   bool
	NotRun   bool // the gate said no at the last moment: nothing was done
}

// Settled is a call with its outcome.
type Settled struct {
	Call    msg.ToolCall
	Risk    msg.Risk
	Outcome Outcome
	Answer  *Answer // when it asked
	Ran     bool
	Held    bool // a person's yes would have let it run
	Handed  bool // it was handed to the person
}

// End is how a turn ended.
type End string

const (
	Done        End = "done"
	Stopped     End = "stopped"     // by a person
	Failed      End = "failed"      // the reply is not saved
	Paused      End = "paused"      // StopWhen said so
	Interrupted End = "interrupted" // Interrupt, at a safe point
)
