package edge

import (
	"errors"
	"io/fs"
	"log/slog"
	"time"

	"sentient/runtime/bus"
)

// Options say what the gateway serves and its bounds. Token, Bus, Log and Chats are required; a route whose port is nil is
// not served. Zero bounds take the defaults.
type Options struct {
	Version  string
	Name     string // the product's, for GET /api/health; default "Sentient"
	Token    string // the gateway token of the person's own clients
	MCPToken string // opens the routes with the right MCP only; "" none
	Hosts    []string
	// Hosts are further names this gateway may be called by (a name in the person's network); loopback names and the
	// bound address always work.
	Logger *slog.Logger

	Bus   *bus.Bus
	Log   Log
	Chats Chats

	Consent    Consent
	Config     Config
	Onboarding Onboarding
	Files      Files
	Attached   func(name string) bool // whether any message ever attached a file of that name
	Tools      Tools
	Models     Models
	Queue      ModelQueue
	Setup      ModelSetup
	Secrets    Secrets
	Plans      Plans
	Usage      Usage
	Notices    Notifications
	Timeline   Timeline
	Home       Home
	Stop       Stopper
	OnPresence func(inApp bool) // called in order when "any window is in front" changes; must not block
	Window     fs.FS            // served at / without a token; nil: nothing

	JSONLimit   int // bytes of a JSON body or socket message; default 8 MiB
	UploadLimit int // bytes of an upload; default 256 MiB
	PerOwner    int // commands that may wait for one owner; default 64
	InAll       int // commands that may wait in all; default 4,096
	Outbox      int // bytes that may wait for one socket; default 4 MiB
	Sockets     int // open sockets; default 10,000

	Timeout    time.Duration // of one command or read; default 30 s
	WriteFor   time.Duration // for one write to a client; default 30 s
	PingEvery  time.Duration // a socket silent for two and a half of these is closed; default 30 s
	StopWithin time.Duration // bound of a graceful stop; default 10 s
}

// Validate fills the defaults and says what is missing.
func (o *Options) Validate() error {
	switch {
	case o.Token == "":
		return errors.New("the gateway needs a token")
	case o.Token == o.MCPToken:
		return errors.New("the gateway token and the MCP token must differ")
	case o.Bus == nil || o.Log == nil || o.Chats == nil:
		return errors.New("the gateway needs the bus, the log and the chats")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Name == "" {
		o.Name = "Sentient"
	}
	defaultTo(&o.JSONLimit, 8<<20)
	defaultTo(&o.UploadLimit, 256<<20)
	defaultTo(&o.PerOwner, 64)
	defaultTo(&o.InAll, 4096)
	defaultTo(&o.Outbox, bus.DefaultLimit)
	defaultTo(&o.Sockets, 10_000)
	defaultTo(&o.Timeout, 30*time.Second)
	defaultTo(&o.WriteFor, 30*time.Second)
	defaultTo(&o.PingEvery, 30*time.Second)
	defaultTo(&o.StopWithin, 10*time.Second)
	return nil
}

func defaultTo[T int | time.Duration](p *T, v T) {
	if *p <= 0 {
		*p = v
	}
}
