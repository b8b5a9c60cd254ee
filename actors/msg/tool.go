package msg

import (
	"context"
	"encoding/json"
)

// Risk says what a call can do to the world. The order is the order of harm.
type Risk int

const (
	RiskRead Risk = iota
	RiskWrite
	RiskSend
	RiskExec
)

var riskNames = [...]string{"read", "write", "send", "exec"}

func (r Risk) String() string {
	if r < RiskRead || r > RiskExec {
		return riskNames[RiskExec]
	}
	return riskNames[r]
}

// Label is the plain words for a risk (section 10).
func (r Risk) Label() string {
	return [...]string{"Looks something up", "Changes something", "Sends", "Runs code"}[max(RiskRead, min(r, RiskExec))]
}

// Plugin is an app or a built-in group of tools as GET /api/tools lists it.
type Plugin struct {
	ID            string
	DisplayName   string
	Description   string
	Category      string // core, productivity, communication, knowledge, utilities
	Icon          string
	Auth          string // none, api_key, oauth, manual
	SelectionHint string
	Scoped        bool // offered only when named
	Hidden        bool // callable, but neither offered nor listed
	Tools         []Tool
}

// Tool is one thing a model may ask for. The optional functions see decoded, validated arguments.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema, an object
	Risk        Risk
	Internal    bool // a write inside the engine: does not ask in mode ask

	// Run does it. An error becomes {"error": text} for the model. It must end soon after ctx does.
	Run func(ctx context.Context, call *Call) (any, error)

	NoSessionAllow bool                                                   // "Allow for this chat" never covers it
	RiskFn         func(args map[string]any, c *Call) (Risk, bool, error) // ok false: the declared risk; an error counts as exec
	DescribeFn     func(args map[string]any, c *Call) (Description, error)
	URLFn          func(args map[string]any) string // the web address a call loads
	Exfiltrates    func(args map[string]any, c *Call) (bool, error)
	Untrusted      *bool                        // the result can carry content someone else wrote; nil: by the rules
	ShortenFn      func(result any) (any, bool) // a shorter version of a long result
	SourcesFn      func(args map[string]any, result any) []AnswerSource
	OutsideFn      func(args map[string]any, result any) string // a source name when this very result is outside content
	Outcome        string                                       // email, message, file, event, home; "" none
	// Verify reads back what the call did; an error means that it could not be read (15 s at most).
	Verify func(ctx context.Context, args map[string]any, result any, c *Call) (Outcome, error)
	// DestinationsFn looks up where a reply really goes (20 s at most); an error makes the call ask.
	DestinationsFn func(ctx context.Context, args map[string]any, c *Call) ([]Destination, error)
	// TouchesFn names the files the call may change: names in the files folder, or absolute paths. Copies are kept of them.
	TouchesFn func(args map[string]any, c *Call) []string
}

// Description is the wording of an approval.
type Description struct {
	RiskLabel string
	Target    string
}

// Outcome is what code found a call really did.
type Outcome struct {
	OK      bool
	Detail  string   // why not, or what is still under way
	Targets []string // what the call acted on, when the tool knows better than its arguments
	Missed  []string // those that it did not reach
}

// Call is what a running tool knows of its surroundings.
type Call struct {
	ID          string // the call's id
	Tool        string
	Args        map[string]any
	Session     string
	Turn        string
	Channel     string // desktop, voice, api, ...
	Origin      string // user, or one of the engine's own
	Incognito   bool
	Memory      bool // this turn may use what is known about the user
	ResultLimit int  // characters of a result that the model will read whole
	Progress    func(ToolProgress)
}

// ToolProgress is output of a running tool. Kind is stdout, stderr, status, frame or subagent; others become status.
type ToolProgress struct {
	Kind  string         `json:"kind"`
	Text  string         `json:"text,omitempty"`
	Image string         `json:"image,omitempty"`
	Data  map[string]any `json:"data,omitempty"`
}

// AnswerSource is something a reply used (section 2, "Answer sources").
type AnswerSource struct {
	Kind    string   `json:"kind"` // web, email, file, app
	Title   string   `json:"title"`
	URL     string   `json:"url,omitempty"`
	File    string   `json:"file,omitempty"`
	Path    string   `json:"path,omitempty"`
	Folder  string   `json:"folder,omitempty"`
	From    string   `json:"from,omitempty"`
	ID      string   `json:"id,omitempty"`
	Snippet string   `json:"snippet,omitempty"` // at most 280 characters
	App     string   `json:"app"`
	Tool    string   `json:"tool"`
	Tools   []string `json:"tools,omitempty"`
	Via     string   `json:"via,omitempty"`
}
