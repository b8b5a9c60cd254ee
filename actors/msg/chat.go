package msg

import "time"

// Send is a person's message to a chat (chat.send, POST /api/chat).
type Send struct {
	Session     string // the chat; the edge makes the id of a new one
	New         bool   // the chat is made with this message
	Incognito   bool   // with New only
	Text        string
	Attachments []string // names from /api/files
	Model       string   // for this message only, strict; "" none
	ClientID    string
	Channel     string // desktop, voice, telegram, api, ...; "" is desktop
	From        string // the name kept with the message when somebody else wrote it (an app); "" the owner
	Via         string // id of the socket or request that sent it: an incognito chat is shown only there
	MustBeIdle  bool   // ErrBusy instead of joining or queueing (the API)
	Epoch       uint64 // the stop epoch at which it was admitted; 0: now
}

// Sent says what became of a Send. It is on disk.
type Sent struct {
	Session   string
	Turn      string // the turn that answers it; "" when it steers a running one
	MessageID string // of its row, "" while it waits
	Steered   bool   // it joined the running reply (chat.send while a reply runs, without attachments)
	Queued    bool   // it waits for the running reply to end, then starts Turn
	Repeated  bool   // this client_id was known: nothing was done
}

// Steer adds to the reply in progress; without one it is a Send.
type Steer struct {
	Session, Text, ClientID, Via string
	Epoch                        uint64
}

// NewChat makes an empty chat (POST /api/sessions).
type NewChat struct {
	Session     string
	Incognito   bool
	Model       string
	MemoryScope string
	Channel     string
	Via         string
}

// ChatPatch changes a chat; nil leaves a field as it is, "" goes back to the default (model, memory scope).
type ChatPatch struct {
	Title       *string
	Model       *string
	MemoryScope *string
}

// ChatRow is a chat as GET /api/sessions lists it.
type ChatRow struct {
	ID           string    `json:"id"`
	Title        string    `json:"title"`
	Channel      string    `json:"channel"`
	CreatedAt    Time      `json:"created_at"`
	UpdatedAt    Time      `json:"updated_at"`
	Untrusted    *string   `json:"untrusted"`
	VisitedHosts *[]string `json:"visited_hosts"`
	Incognito    bool      `json:"incognito"`
	Model        *string   `json:"model"`
	MemoryScope  string    `json:"memory_scope"`
	NodeID       *string   `json:"node_id"`
}

// MessageRow is a message as GET /api/sessions/{id}/messages lists it.
type MessageRow struct {
	ID            string           `json:"id"`
	Role          string           `json:"role"`
	Content       string           `json:"content"`
	Thinking      *string          `json:"thinking"`
	ToolCalls     []WireToolCall   `json:"tool_calls,omitempty"`
	ToolCallID    *string          `json:"tool_call_id"`
	Name          *string          `json:"name"`
	Attachments   []string         `json:"attachments"`
	Interjection  bool             `json:"interjection"`
	MemorySources []any            `json:"memory_sources"`
	Sources       []AnswerSource   `json:"sources"`
	Approval      *MessageApproval `json:"approval"`
	Checks        []OutcomeCheck   `json:"checks"`
	CreatedAt     Time             `json:"created_at"`
}

// WireToolCall is a call in a transcript row, in the form OpenAI made common.
type WireToolCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"` // always "function"
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"` // JSON text
	} `json:"function"`
}

// MessageApproval is how the user answered a call's approval request.
type MessageApproval struct {
	Decision   string  `json:"decision"`
	AskedAt    Time    `json:"asked_at"`
	AnsweredAt Time    `json:"answered_at"`
	Target     *string `json:"target"`
	RiskLabel  *string `json:"risk_label"`
	Untrusted  *string `json:"untrusted"`
	Rule       *string `json:"rule"`
	Warning    *string `json:"warning"`
}

// TrustResult is the answer of POST /api/sessions/{id}/trust.
type TrustResult struct {
	OK        bool   `json:"ok"`
	Was       string `json:"was"`
	Trusted   bool   `json:"trusted"`
	Untrusted string `json:"untrusted"`
	Writer    string `json:"writer"`
}

// Time is written as ISO-8601 UTC with microseconds.
type Time struct{ time.Time }

// TimeLayout is how every time goes over the wire.
const TimeLayout = "2006-01-02T15:04:05.000000+00:00"

func (t Time) MarshalJSON() ([]byte, error) {
	return []byte(t.UTC().Format(`"` + TimeLayout + `"`)), nil
}

func (t *Time) UnmarshalJSON(b []byte) error { return t.Time.UnmarshalJSON(b) }
