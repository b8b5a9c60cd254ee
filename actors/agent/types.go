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
	Call   string
	Do     Deed
	Risk   msg.Risk
	Ask    *Request        // with DoAsk
	Result json.RawMessage // with DoRefuse: what the model reads instead
	Error  bool            // with DoRefuse: the result is an error
}

// Deed is what happens to a call.
type Deed int

const (
	DoRefuse Deed = iota // it does not run; Result says why
	DoRun
	DoAsk
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
}

// Settled is a call with its outcome.
type Settled struct {
	Call    msg.ToolCall
	Risk    msg.Risk
	Outcome Outcome
	Answer  *Answer // when it asked
	Ran     bool
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
