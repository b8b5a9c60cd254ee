package act

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// OwnerOptions say how one kind of actors lives.
type OwnerOptions struct {
	Name string                    // unique in the system: names the kind in logs, errors and health
	Make func(key string) Behavior // a new value for every start; called on the actor's own mailbox

	// IdleAfter passivates an actor that got no message for this long and is not busy. 0: never.
	IdleAfter time.Duration
	// MaxRestarts is how often an actor is restarted, after 1, 2, 4, 8, 8, ... seconds, before it is parked. Default 8.
	MaxRestarts int
	// QuietAfter is how long an actor must not have crashed until its crashes are forgotten. Default one minute; it must be
	// longer than the longest backoff of 8 s.
	QuietAfter time.Duration
	// OnPark is told when an actor is parked. It must not block.
	OnPark func(key, reason string)
}

const maxBackoff = 8 * time.Second

func (o OwnerOptions) withDefaults() OwnerOptions {
	if o.MaxRestarts == 0 {
		o.MaxRestarts = 8
	}
	if o.QuietAfter == 0 {
		o.QuietAfter = time.Minute
	}
	return o
}

// Validate says in a sentence what is wrong.
func (o OwnerOptions) Validate() error {
	switch {
	case o.Name == "":
		return errors.New("act: an owner needs a name")
	case o.Make == nil:
		return fmt.Errorf("act: owner %q needs a Make function", o.Name)
	case o.IdleAfter < 0 || o.MaxRestarts < 0:
		return fmt.Errorf("act: owner %q: IdleAfter and MaxRestarts must not be negative", o.Name)
	case o.QuietAfter <= maxBackoff:
		return fmt.Errorf("act: owner %q: QuietAfter must be longer than %v", o.Name, maxBackoff)
	}
	return nil
}

// Owner spawns, supervises and passivates the actors of one kind, by key. All methods may be called from anywhere and
// none of them waits for an actor.
type Owner struct {
	sys   *System
	opts  OwnerOptions
	log   *slog.Logger
	props *actor.Props
	pid   atomic.Pointer[actor.PID]
	loop  *loop
	done  chan struct{} // closed when the owner and all of its actors have stopped

	// gate makes closing exact: whoever posts holds it for reading, so after shut nothing can follow the close message.
	gate   sync.RWMutex
	closed bool

	// mu guards the two maps for readers; only the loop writes them.
	mu    sync.RWMutex
	cells map[string]*cell
	ids   map[string]*cell // by the library's id
}

// Parked is an actor that kept crashing and is not restarted any more.
type Parked struct {
	Owner, Key string
	Reason     string // of its last crash
	At         time.Time
}

func newOwner(s *System, opts OwnerOptions) *Owner {
	o := &Owner{
		sys: s, opts: opts, log: s.log.With("owner", opts.Name), done: make(chan struct{}),
		cells: map[string]*cell{}, ids: map[string]*cell{},
	}
	o.loop = &loop{o: o}
	return o
}

// Tell sends message to the actor of key, waking it when it sleeps. Messages from one goroutine to one key keep their
// order. A nil message is ignored.
func (o *Owner) Tell(key string, message any) {
	if message != nil {
		o.route(newMail(key, message))
	}
}

// Wake makes sure that the actor of key runs.
func (o *Owner) Wake(key string) { o.post(wake{key}) }

// Ref is a handle to the actor of key, whether it runs or not.
func (o *Owner) Ref(key string) Ref { return Ref{owner: o, key: key} }

// Unpark forgets that the actor of key kept failing; its next message starts it again.
func (o *Owner) Unpark(key string) { o.post(unpark{key}) }

// Parked lists the parked actors, the longest parked first.
func (o *Owner) Parked() []Parked {
	o.mu.RLock()
	defer o.mu.RUnlock()
	var all []Parked
	for _, c := range o.cells {
		if f := c.fate.Load(); f != nil && f.parked != nil {
			all = append(all, Parked(*f.parked))
		}
	}
	slices.SortFunc(all, func(a, b Parked) int { return a.At.Compare(b.At) })
	return all
}

// Each calls fn for every actor that runs now. fn may call anything.
func (o *Owner) Each(fn func(key string, ref Ref)) {
	o.mu.RLock()
	keys := make([]string, 0, len(o.ids))
	for _, c := range o.ids {
		keys = append(keys, c.key)
	}
	o.mu.RUnlock()
	for _, key := range keys {
		fn(key, o.Ref(key))
	}
}

// Len is the number of actors that run now.
func (o *Owner) Len() int {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return len(o.ids)
}

// Ref is a handle to one key of one owner. It is a small comparable value, stays good over crashes and passivation, and
// its zero value swallows what it is told.
type Ref struct {
	owner *Owner
	key   string
}

// Tell sends a message; see Owner.Tell.
func (r Ref) Tell(message any) {
	if r.owner != nil {
		r.owner.Tell(r.key, message)
	}
}

// Key is the actor's key, "" for the zero Ref.
func (r Ref) Key() string { return r.key }

// IsZero reports whether the Ref leads nowhere.
func (r Ref) IsZero() bool { return r.owner == nil }

func (o *Owner) route(m *mail) {
	o.sys.messages.Add(1)
	if !o.post(m) {
		m.reject(ErrStopping)
	}
}

// post hands v to the loop unless the owner is closed.
func (o *Owner) post(v any) bool {
	o.gate.RLock()
	defer o.gate.RUnlock()
	if o.closed {
		return false
	}
	o.toSelf(v)
	return true
}

// toSelf is for the owner's own actors, which never outlive it.
func (o *Owner) toSelf(v any) { o.sys.lib.Root.Send(o.pid.Load(), v) }

func (o *Owner) shut() {
	o.gate.Lock()
	defer o.gate.Unlock()
	if !o.closed {
		o.closed = true
		o.toSelf(closeAll{})
	}
}

func (o *Owner) wait(ctx context.Context) bool {
	select {
	case <-o.done:
		return true
	default:
	}
	select {
	case <-o.done:
		return true
	case <-ctx.Done():
		return false
	}
}

// interrupt cancels the contexts of all actors, for those that wait on one inside Receive.
func (o *Owner) interrupt() {
	o.mu.RLock()
	defer o.mu.RUnlock()
	for _, c := range o.ids {
		if x := c.current.Load(); x != nil {
			x.interrupt()
		}
	}
}

// running names at most eight actors that run, and how many more there are.
func (o *Owner) running() []string {
	o.mu.RLock()
	defer o.mu.RUnlock()
	names := make([]string, 0, len(o.ids))
	for _, c := range o.ids {
		names = append(names, o.opts.Name+"/"+c.key)
	}
	slices.Sort(names)
	if more := len(names) - 8; more > 0 {
		names = append(names[:8], fmt.Sprintf("%s and %d more", o.opts.Name, more))
	}
	if len(names) == 0 {
		names = append(names, o.opts.Name)
	}
	return names
}

func (o *Owner) byID(id string) *cell {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.ids[id]
}
