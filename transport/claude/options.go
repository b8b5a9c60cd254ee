package claude

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"sentient/actors/msg"
	"sentient/runtime/work"
)

// Call is one reply that wants a process.
type Call struct {
	Model, Role, Job string
}

// Options of a Program.
type Options struct {
	Table   *work.Table
	Scratch string   // the folder of scratch folders
	Bridge  []string // the command that runs Bridge; the tools file is added as its last argument
	// Refuse says why a role's job may not use Claude Code; "" when it may.
	Refuse func(role, job string) string
	// Acquire waits until one more process may run; release is called when its tree has ended. nil: at once.
	Acquire func(ctx context.Context, c Call) (release func(), err error)
	Timeout func() time.Duration // the longest silence; nil or 0: 180 seconds
	Find    func() (string, error)
	Environ func() []string // nil: the process's own
	NewID   func() string
	Logger  *slog.Logger
}

// Validate fills the defaults and says what is missing.
func (o *Options) Validate() error {
	if o.Table == nil || o.Scratch == "" || o.NewID == nil || len(o.Bridge) == 0 {
		return errors.New("claude: Table, Scratch, Bridge and NewID are needed")
	}
	if o.Refuse == nil {
		o.Refuse = func(string, string) string { return "" }
	}
	if o.Acquire == nil {
		o.Acquire = func(context.Context, Call) (func(), error) { return func() {}, nil }
	}
	if o.Find == nil {
		o.Find = func() (string, error) { return exec.LookPath("claude") }
	}
	if o.Environ == nil {
		o.Environ = os.Environ
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

// Program is the person's claude. It is safe for concurrent use.
type Program struct {
	o Options

	asking  chan struct{} // holds one token while somebody asks for the version
	mu      sync.Mutex
	version versioned
}

// New makes a Program; nothing is started.
func New(o Options) (*Program, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return &Program{o: o, asking: make(chan struct{}, 1)}, nil
}

func (p *Program) timeout() time.Duration {
	if p.o.Timeout != nil {
		if d := p.o.Timeout(); d > 0 {
			return d
		}
	}
	return 180 * time.Second
}

const another = ", or pick another model in Settings > Models."

const (
	missingText = "Claude Code is not installed on this computer: no claude program was found. Install it and sign in" + another
	stoppedText = "Stop everything ended this before Claude Code started."
	loginText   = "Claude Code is not signed in. Run claude in a terminal and sign in" + another
	limitText   = "The usage limit of your Claude plan is reached. Wait until it resets" + another
	brokeText   = "Claude Code ended before its reply was finished. Try again" + another
	failedText  = "Claude Code could not answer. Try again" + another
)

func fail(model string, f msg.ModelFault, text, raw string) *msg.ModelError {
	return &msg.ModelError{Fault: f, Model: model, Message: text, Raw: cut(raw, 500)}
}

func cut(s string, n int) string {
	if len(s) > n {
		return strings.ToValidUTF8(s[:n], "") + "..."
	}
	return s
}

// Ready says, without starting anything, why Claude Code can't answer; nil when it may.
func (p *Program) Ready(model string) error {
	if _, err := p.o.Find(); err != nil {
		return fail(model, msg.FaultBadModel, missingText, err.Error())
	}
	return nil
}
