package session

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"sentient/actors/msg"
	"sentient/actors/tool"
	"sentient/runtime/act"
	"sentient/runtime/app"
	"sentient/runtime/bus"
	"sentient/runtime/work"
	"sentient/storage/journal"
)

// Models is what a chat needs of the model layer. Errors of Stream are *msg.ModelError.
type Models interface {
	Stream(ctx context.Context, r msg.ModelRequest, emit func(msg.ModelChunk) error) (msg.ModelResult, error)
	// Available says, without calling the model, why it can't answer now; nil when it may.
	Available(ctx context.Context, model string) error
	// Window is how many tokens the model reads at once in that role; 0 when not known.
	Window(ctx context.Context, model, role string) int
	// NumCtx is Ollama's num_ctx for the role, 0 for other providers.
	NumCtx(model, role string) int
	Name(model string) string
	Local(model string) bool
	Tokens(text string) int // a local count
	Cost(model string, u msg.ModelUsage) *msg.USD
}

// Attachment is a file as a model gets it: an image, or text. Note is a sentence in brackets about what is missing.
type Attachment struct {
	Text  string
	Image []byte
	MIME  string
	Note  string
}

// Files is what a chat needs of the files folder.
type Files interface {
	Attach(ctx context.Context, name, session string) Attachment
	SaveResult(name, text string) error
	DeleteAttached(names []string)
	DeleteIncognito(session string)
}

// Workspace is the person's own words about themselves and the assistant, for the prompt.
type Workspace interface {
	Prompt(budget int) (soul, user, memory string)
}

// Consent is what answers leave outside the chat: grants, and rules in the settings.
type Consent interface {
	// Grants are those in force; it is asked before every call and must be quick.
	Grants() []msg.Grant
	Grant(ctx context.Context, g msg.Grant) error
	// AlwaysAllow saves an allow rule for the tool, with its origin.
	AlwaysAllow(ctx context.Context, tool, via string) error
	// Tighten saves the rules of an accepted proposal, where they tighten.
	Tighten(ctx context.Context, p msg.RuleProposal) error
}

// Snapshots keeps copies of files before code changes them.
type Snapshots interface {
	Guard(x *msg.Call, names []string) (finish func())
}

// Options of the room.
type Options struct {
	Journal   journal.Journal
	Bus       *bus.Bus
	Work      *work.Table
	Models    Models
	Registry  func() *tool.Registry
	Files     Files
	Workspace Workspace
	Memories  func() []string // active saved ones, for the second look; nil: there are none
	Consent   Consent         // nil: nobody grants anything
	Snapshots Snapshots       // nil: no copies are kept
	Config    func() *app.Config
	// Count counts a finished model call whose chat is gone, so that no batch of it can; nil leaves it out.
	Count  func(msg.CountedCall)
	Marker tool.Marker
	// Similarity is how near a message is to each plugin's description (tool.Selection); nil: not compared.
	Similarity func(message string, plugins []string) ([]float64, error)
	NewID      func() string // ULIDs that grow
	Now        func() time.Time
	Logger     *slog.Logger

	IdleAfter     time.Duration // a chat without work sleeps after this; 0: 2 minutes
	SnapshotEvery uint64        // events between snapshots; 0: 64

	said  *sync.Map // lines that were logged once
	order *atomic.Int64
}

// nextOrder is the number of the next change of any chat.
func (o *Options) nextOrder() int64 { return o.order.Add(1) }

// Validate says what is missing.
func (o *Options) Validate() error {
	if o.Journal == nil || o.Bus == nil || o.Work == nil || o.Models == nil || o.Registry == nil || o.Files == nil || o.Config == nil || o.NewID == nil {
		return errors.New("session: Journal, Bus, Work, Models, Registry, Files, Config and NewID are needed")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Count == nil {
		o.Count = func(msg.CountedCall) {}
	}
	o.said, o.order = &sync.Map{}, &atomic.Int64{}
	if o.IdleAfter == 0 {
		o.IdleAfter = 2 * time.Minute
	}
	if o.SnapshotEvery == 0 {
		o.SnapshotEvery = 64
	}
	return nil
}

// checkpointEvery is how often streamed text goes to disk.
const checkpointEvery = time.Second

// command is one request to a chat. fn changes the chat through the change; its value is the answer once that is on disk.
type command[R any] struct {
	reply *act.Reply[R]
	fn    func(*actor, *change) (R, error)
}

func (m *command[R]) run(a *actor) {
	if !a.settled() {
		m.reply.Fail(msg.ErrDiskFull)
		return
	}
	c := a.chat.begin(a.o.Now())
	v, err := m.fn(a, c)
	if err == nil {
		err = a.commit(c)
	}
	if err != nil {
		m.reply.Fail(plainly(err))
		return
	}
	m.reply.OK(v)
}

type runnable interface{ run(*actor) }

// plainly turns the store's errors into faults that a client may see.
func plainly(err error) error {
	switch {
	case errors.Is(err, journal.ErrFull):
		return msg.ErrDiskFull
	case errors.Is(err, journal.ErrDeleted):
		return msg.ErrNoChat
	case errors.Is(err, journal.ErrClosed), errors.Is(err, act.ErrStopping):
		return msg.ErrStopping
	}
	return err
}
