package msg

import (
	"encoding/json"
	"errors"
)

// ModelRequest is one call of a model, whatever its provider.
type ModelRequest struct {
	Model         string // "provider/model"
	Role          string // primary, fast, planner, executor, vision, voice; "" when none applies
	System        string
	Messages      []ModelMessage
	Tools         []ToolSchema
	Temperature   *float64
	Reasoning     string // none, low, medium, high; "" leaves the provider's default
	ContextLength int    // tokens; Ollama's num_ctx, 0 leaves the default
	MaxTokens     int    // of the reply; 0 leaves the provider's default
	JSON          bool   // the reply must be one JSON value
	Job           string // who it is for: chat, interactive, task, suggestions, memory, skills, titles, background
}

// ModelMessage is one message of the conversation a model reads.
type ModelMessage struct {
	Role       string // user, assistant, tool
	Parts      []ModelPart
	ToolCalls  []ToolCall // assistant only
	ToolCallID string     // tool only
	Name       string     // tool only: the tool's name
	Thinking   string     // assistant only, within the running turn
	Signature  string     // opaque: what a provider needs to accept its own thinking again
	IsError    bool       // tool only
}

// ModelPart is a piece of a message: text, or an image when Image is not empty.
type ModelPart struct {
	Text  string
	Image []byte
	MIME  string // of the image
}

// TextPart is the usual single part.
func TextPart(s string) []ModelPart { return []ModelPart{{Text: s}} }

// ToolSchema is a tool as a model sees it. Parameters is a JSON Schema object.
type ToolSchema struct {
	Name        string
	Description string
	Parameters  json.RawMessage
}

// ToolCall is a model's wish to run a tool. Arguments is the text the model wrote, whole, not yet validated.
type ToolCall struct {
	ID        string
	Name      string
	Arguments string
}

// ModelChunk is a piece of a streamed reply; usually one field is set. Text and Thinking are valid UTF-8 of whole runes.
type ModelChunk struct {
	Text     string
	Thinking string
}

// ModelResult is what a finished stream came to. Text and Thinking are the whole of what was streamed.
type ModelResult struct {
	Text      string
	Thinking  string
	Signature string
	Calls     []ToolCall
	Usage     ModelUsage
	Stop      string // stop, length, tool_calls, content_filter
}

// ModelUsage counts tokens. Known is false when the provider reported none.
type ModelUsage struct {
	Known            bool
	PromptTokens     int
	CompletionTokens int
	CachedTokens     int
	CostUSD          *USD // nil: the price is not known, or nobody pays by the token
}

// ModelFault is the kind of a model's failure.
type ModelFault string

const (
	FaultKey         ModelFault = "key"         // 401, or none set
	FaultCredits     ModelFault = "credits"     // 402
	FaultMissing     ModelFault = "missing"     // the provider has no such model, or it is not downloaded
	FaultRate        ModelFault = "rate"        // 429
	FaultUnavailable ModelFault = "unavailable" // 5xx, overloaded
	FaultUnreachable ModelFault = "unreachable" // no connection
	FaultTimeout     ModelFault = "timeout"     // too slow
	FaultCut         ModelFault = "cut"         // the stream ended early or made no sense
	FaultNoTools     ModelFault = "no_tools"    // the model cannot use tools
	FaultCodingOnly  ModelFault = "coding_only" // kept by its provider for coding tools
	FaultTooLong     ModelFault = "too_long"    // the conversation does not fit
	FaultLocalOnly   ModelFault = "local_only"  // Local only forbids it
	FaultBudget      ModelFault = "budget"      // this month's budget is used up
	FaultBadModel    ModelFault = "bad_model"   // not "provider/model", or no such provider
	FaultRefused     ModelFault = "refused"     // this role or job may not use the model; the text says what to change
	FaultOther       ModelFault = "other"       // its text is shown as it is
	FaultCancelled   ModelFault = "cancelled"
)

// ModelError is a failed call. Its text is the one plain sentence for people; Raw is for the engine's log only.
type ModelError struct {
	Fault   ModelFault
	Model   string
	Message string
	Raw     string
	Said    bool // something of the reply had been streamed before it failed
}

func (e *ModelError) Error() string { return e.Message }

// AsModelError finds a ModelError in err.
func AsModelError(err error) (*ModelError, bool) {
	var e *ModelError
	ok := errors.As(err, &e)
	return e, ok
}
