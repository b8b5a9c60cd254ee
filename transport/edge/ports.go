package edge

import (
	"context"
	"encoding/json"
	"io"

	"sentient/actors/msg"
	"sentient/runtime/bus"
	"sentient/storage/blob"
	"sentient/storage/journal"
)

// Chats is what the gateway asks of the rooms that own conversations. Errors are *msg.Fault where a client may see them.
type Chats interface {
	Send(ctx context.Context, m msg.Send) (msg.Sent, error)
	Steer(ctx context.Context, m msg.Steer) (msg.Sent, error)
	// Cancel stops the running reply; false when none runs.
	Cancel(ctx context.Context, session string) (bool, error)
	Create(ctx context.Context, m msg.NewChat) error
	Patch(ctx context.Context, session string, p msg.ChatPatch) (msg.ChatRow, error)
	Delete(ctx context.Context, session string) error
	Trust(ctx context.Context, session, upto string) (msg.TrustResult, error)
	// Answer decides an approval request; false when it no longer waited. Via says where the answer came from.
	Answer(ctx context.Context, approval, decision, via string) (bool, error)
	// Watch pushes the state of the running turn (marked replay, opening the topic's gate) into sub, in order with what
	// the turn publishes. It refuses a subscriber that may not see the chat.
	Watch(ctx context.Context, session string, sub *bus.Sub) error
	// Running names the chats with an open turn.
	Running() []string
	List(limit int) ([]msg.ChatRow, error)
	Messages(session string, limit int) ([]msg.MessageRow, error)
	Search(q string, limit int) ([]any, error)
	// Render gives a stored note as JSON without its last brace; false when there is nothing to show (internal notes, chats
	// that are shown only where they were opened).
	Render(r journal.Reader, e journal.Entry) ([]byte, bool)
}

// Consent is what a person allowed, may still undo, or is asked to make a rule. Errors are *msg.Fault where a client may see them.
type Consent interface {
	// Grants are those in force, newest first.
	Grants() []msg.Grant
	Revoke(ctx context.Context, id string) error
	// Undo answers an undo window with undo or send_now; false when it had ended.
	Undo(ctx context.Context, id, action string) (bool, error)
	// Proposals of a chat, oldest first; status is pending, accepted, declined or all.
	Proposals(session, status string) ([]msg.RuleProposal, error)
	Decide(ctx context.Context, id string, accept bool) (msg.RuleProposal, error)
}

// Log is what the gateway reads of the journal to replay missed events.
type Log interface {
	Read() (journal.Reader, error)
	Newest() uint64
}

// Config is the whole configuration. Put and Patch refuse with *Invalid, its Detail a list of {loc, msg, type}.
type Config interface {
	Get(ctx context.Context) (json.RawMessage, error)
	Schema(ctx context.Context) (json.RawMessage, error)
	Put(ctx context.Context, full json.RawMessage) error
	Patch(ctx context.Context, partial json.RawMessage) (json.RawMessage, error)
}

// Setup is what the first run asks (POST /api/onboarding).
type Setup struct {
	UserName            string
	AssistantName       string
	Timezone            string
	Location            string
	ProfessionalContext string
	PersonalContext     string
	Persona             string // friendly, professional, concise, custom; "" keeps what is there
	DailyBrief          bool
}

// Onboarding saves the first run's answers.
type Onboarding interface {
	Onboard(ctx context.Context, s Setup) error
}

// Files is the files folder (storage/blob.Folder).
type Files interface {
	Upload(r io.Reader, u blob.Upload) (blob.Info, error)
	List(sub string) ([]blob.Info, error)
	Open(name string) (*blob.File, error)
	Stat(name string) (blob.Info, error)
	Delete(name string) error
}

// Tools is the tool catalog (GET /api/tools).
type Tools interface {
	Catalog() []msg.Plugin
}

// Models answers what Settings asks about models (section 3). The results are the contract's objects.
type Models interface {
	Providers(ctx context.Context) (any, error)
	Local(ctx context.Context) (any, error)
	Test(ctx context.Context, model, role string) (any, error)
	// TestEmbedding asks an embedding model for one vector.
	TestEmbedding(ctx context.Context, model string) (any, error)
	// SetRoles changes only the roles named; nil means "use primary". It answers all roles.
	SetRoles(ctx context.Context, roles map[string]*string) (any, error)
	// Check tries the saved key of a provider without spending anything. An unknown provider is a msg.NotFound fault.
	Check(ctx context.Context, provider string) (any, error)
}

// ModelQueue says what the local models do now (section 3).
type ModelQueue interface {
	// Busy is the contract's ModelBusy.
	Busy(ctx context.Context) (any, error)
}

// ModelSetup is what this computer can run, presets, fallbacks, and what a setup still needs (section 3). The results and lines
// are the contract's objects. Errors are *msg.Fault or *msg.ModelError where a client may see them.
type ModelSetup interface {
	Hardware(ctx context.Context, refresh bool) (any, error)
	// Checkup gives its lines to emit, whose error ends it. It refuses before the first line.
	Checkup(ctx context.Context, roles map[string]*string, emit func(line any) error) error
	// Pull downloads a model in Ollama and gives its progress to emit.
	Pull(ctx context.Context, name string, emit func(line any) error) error
	// SetFallbacks changes only the roles named.
	SetFallbacks(ctx context.Context, lists map[string][]string) error
	Presets(ctx context.Context) (any, error)
	ApplyPreset(ctx context.Context, name string, localOnly bool) (any, error)
	UndoPreset(ctx context.Context) (any, error)
	SavePreset(ctx context.Context, name string, overwrite bool) (any, error)
	RenamePreset(ctx context.Context, name, to string) (any, error)
	DeletePreset(ctx context.Context, name string) error
}

// SecretInfo is a secret's name and whether it is set; never its value.
type SecretInfo struct {
	Name   string  `json:"name"`
	Set    bool    `json:"set"`
	Source *string `json:"source"` // keychain, env, file; null when not set
	Kind   string  `json:"kind"`   // provider, integration
}

// Secrets is the keychain as Settings sees it.
type Secrets interface {
	List(ctx context.Context) ([]SecretInfo, error)
	Set(ctx context.Context, name, value string) error
	Delete(ctx context.Context, name string) error
}

// Notifications are what the notification center shows (section 6). Errors are *msg.Fault where a client may see them.
type Notifications interface {
	// List is the newest ones, at most limit, and how many are unread in all.
	List(limit int, unreadOnly bool) ([]msg.Notification, int, error)
	Notify(ctx context.Context, n msg.Notification) (msg.Notification, error)
	// The others answer how many are unread afterwards.
	MarkRead(ctx context.Context, id string) (int, error)
	MarkAllRead(ctx context.Context) (int, error)
	Delete(ctx context.Context, id string) (int, error)
	DeleteAll(ctx context.Context) (int, error)
}

// Usage is what model calls came to and cost (section 2). The results are the contract's objects.
type Usage interface {
	// Report is the last days, today's included.
	Report(ctx context.Context, days int) (any, error)
	Cost(ctx context.Context) (any, error)
	// KeepGoing lifts the budget's stop for this month. Errors: a msg.Conflict fault.
	KeepGoing(ctx context.Context) (any, error)
}

// Timeline is what can be put back. Its answers are the contract's objects.
type Timeline interface {
	// Restore puts back what an item changed. Errors: a msg.Conflict fault.
	Restore(ctx context.Context, id string) (any, error)
}

// Home answers what a window needs at launch.
type Home interface {
	// Bootstrap is the contract's object of GET /api/bootstrap.
	Bootstrap(ctx context.Context) (any, error)
	// Assistant is the assistant's name, for hello.
	Assistant() string
	// Health says what is wrong, for the token holder only; nil when nothing is.
	Health() any
}

// Stopper is Stop everything (section 17).
type Stopper interface {
	State() msg.StopState
	// StopAll returns when everything ended, or its time was up.
	StopAll(ctx context.Context, source string) (msg.StopReport, error)
	Resume(ctx context.Context, source string) (msg.StopState, error)
	// Epoch is the stop epoch of what is admitted now.
	Epoch() uint64
}

// Invalid is a refusal (422) whose detail is more than a sentence.
type Invalid struct{ Detail any }

func (e *Invalid) Error() string { return "The request has values that cannot be used." }
