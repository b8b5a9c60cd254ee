// Package act owns the engine's only door to proto.actor. It spawns actors by key, supervises them with real backoff,
// parks the ones that keep failing, passivates the idle ones without losing a message, and asks with a context.
//
// Invariants that the rest of the package rests on:
//   - Only an owner sends messages to its actors, and never behind a drain marker. So a stopped mailbox never holds a
//     message, nothing becomes a dead letter, and an actor is never stopped and restarted by two sides at once.
//   - A message that was taken by Tell is handled once, or its Fail is called once. It is never silently gone.
//   - The library's futures, stash, watching, receive timeouts, middleware, plugins and re-entry are not used.
package act

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	cmap "github.com/orcaman/concurrent-map"
)

// Options of a System.
type Options struct {
	Logger *slog.Logger // nil: slog.Default()

	// Disturb, for trying crashes, is called before and after each message with the name of the actor's owner; it may panic.
	Disturb func(owner string)
}

// System holds the owners of one engine. Make it inside the test bubble when time is fake.
type System struct {
	lib     *actor.ActorSystem
	log     *slog.Logger
	disturb func(owner string)

	mu     sync.Mutex
	owners []*Owner // in order of creation
	closed bool

	spawned, crashes, messages, deadLetters atomic.Uint64
	live, parked                            atomic.Int64
}

// Stats are the counters of a System since it was made; Live and Parked are what is now.
type Stats struct {
	Spawned     uint64 // incarnations that a key was woken for; restarts are not counted
	Crashes     uint64
	Messages    uint64 // routed to an actor or refused
	DeadLetters uint64 // always 0, or an invariant of this package is broken
	Live        int64
	Parked      int64
}

// oneShard makes the library's registry small (3 MB and 3 ms less). The variable is the library's and is read without a
// lock by every system, so it is written once, before the first.
var oneShard = sync.OnceFunc(func() { cmap.SHARD_COUNT = 1 })

// New makes a system. The caller must Close it.
func New(o Options) *System {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	oneShard()
	// The library logs whole messages; nothing of that may reach a log.
	quiet := slog.New(slog.DiscardHandler)
	s := &System{log: o.Logger, disturb: o.Disturb}
	if s.disturb == nil {
		s.disturb = func(string) {}
	}
	s.lib = actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return quiet }))
	s.lib.EventStream.Subscribe(func(event any) {
		if d, ok := event.(*actor.DeadLetterEvent); ok {
			s.deadLetters.Add(1)
			s.log.Error("a message reached no actor; this is a defect in runtime/act", "message", fmt.Sprintf("%T", d.Message))
		}
	})
	return s
}

// Owner makes the one owner of a kind of actors. Options that do not pass Validate, or a name used twice, are a wiring
// mistake and panic. On a closed system every message of the owner gets ErrStopping.
func (s *System) Owner(opts OwnerOptions) *Owner {
	opts = opts.withDefaults()
	if err := opts.Validate(); err != nil {
		panic(err)
	}
	o := newOwner(s, opts)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		o.closed = true
		close(o.done)
		return o
	}
	o.props = actor.PropsFromProducer(func() actor.Actor { return &shell{owner: o} })
	pid, err := s.lib.Root.SpawnNamed(actor.PropsFromProducer(func() actor.Actor { return o.loop }), "owner-"+opts.Name)
	if err != nil {
		panic(fmt.Errorf("two owners are named %q: %w", opts.Name, err))
	}
	o.pid.Store(pid)
	s.owners = append(s.owners, o)
	return o
}

// Single makes an actor of which there is one: an owner with one key, its name. It starts at once and is never
// passivated. more may set MaxRestarts, QuietAfter and OnPark.
func (s *System) Single(name string, newBehavior func() Behavior, more ...OwnerOptions) Ref {
	var opts OwnerOptions
	if len(more) > 0 {
		opts = more[0]
	}
	opts.Name, opts.IdleAfter = name, 0
	if newBehavior != nil {
		opts.Make = func(string) Behavior { return newBehavior() }
	}
	o := s.Owner(opts)
	o.Wake(name)
	return o.Ref(name)
}

// Stats reads the counters.
func (s *System) Stats() Stats {
	return Stats{
		Spawned: s.spawned.Load(), Crashes: s.crashes.Load(), Messages: s.messages.Load(),
		DeadLetters: s.deadLetters.Load(), Live: s.live.Load(), Parked: s.parked.Load(),
	}
}

// Parked lists the parked actors of all owners, for the engine's health.
func (s *System) Parked() []Parked {
	s.mu.Lock()
	owners := slices.Clone(s.owners)
	s.mu.Unlock()
	var all []Parked
	for _, o := range owners {
		all = append(all, o.Parked()...)
	}
	return all
}

// Close stops the owners in reverse order of creation. Messages that an actor already holds are handled first; those
// that come later, or wait behind a crash, get ErrStopping. An owner that does not stop may use half of the time that is
// left before the next one's turn comes; then the contexts of its actors are cancelled, and it is waited for again at
// the end. The error is an *UnstoppedError with what still runs when ctx ends. Close may be called again.
func (s *System) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	owners := slices.Clone(s.owners)
	s.mu.Unlock()
	slices.Reverse(owners)
	for _, o := range owners {
		o.shut()
		turn, cancel := halfOf(ctx)
		if !o.wait(turn) {
			o.interrupt()
		}
		cancel()
	}
	var names []string
	for _, o := range owners {
		if !o.wait(ctx) {
			names = append(names, o.running()...)
		}
	}
	if len(names) > 0 {
		return &UnstoppedError{Names: names}
	}
	return nil
}

func halfOf(ctx context.Context) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(end)/2)
}
