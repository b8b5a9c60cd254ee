package act

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/asynkron/protoactor-go/actor"
)

// Behavior is one incarnation of an actor. The owner makes a new value for every start: the first, after a crash and
// after passivation are one path. All three methods run on the actor's mailbox, never at the same time, and none may
// block on anything but its own short write to the journal.
type Behavior interface {
	// Start loads the state. An error counts as a crash.
	Start(c *Ctx) error
	// Receive handles one message. A panic loses that message only: its sender gets ErrCrashed.
	Receive(c *Ctx, message any)
	// Stop ends an incarnation whose Start returned nil: stop, restart (at the crash, before the backoff) or
	// passivation. c.Context() is already cancelled. A panic in here is contained and logged.
	Stop(c *Ctx)
}

// mail is one message on its way to a key. Everything a mailbox of ours carries is wrapped: the library treats a bare
// nil as an empty queue and explodes a message that happens to have a GetMessages method.
type mail struct {
	key   string
	msg   any
	fail  Failer // msg itself, when it is one
	reply Failer // Ask's reply
	timer *Timer // set when a timer of the receiving incarnation sent it
}

func newMail(key string, message any) *mail {
	f, _ := message.(Failer)
	return &mail{key: key, msg: message, fail: f}
}

// reject tells whoever waits that the message will not be handled. Fail is foreign code: a panic in it stays here.
func (m *mail) reject(err error) {
	defer func() { _ = recover() }()
	if m.reply != nil {
		m.reply.Fail(err)
	}
	if m.fail != nil {
		m.fail.Fail(err)
	}
}

// drain is the marker behind everything that the owner has routed: stop here, unless busy and not forced.
type drain struct{ force bool }

// crash is the reason a shell gives its supervisor.
type crash struct{ reason string }

// shell is the actor that the library sees around one Behavior. The library makes a new one for every incarnation.
type shell struct {
	owner    *Owner
	cell     *cell
	ctx      *Ctx
	behavior Behavior
}

func (s *shell) Receive(a actor.Context) {
	switch m := a.Message().(type) {
	case *mail:
		s.receive(m)
	case *actor.Started:
		s.start(a.Self().Id)
	case *drain:
		if !m.force && s.cell.fate.Load() == nil && s.cell.busy.Load() {
			s.owner.toSelf(stayed{s.cell})
			return
		}
		a.Stop(a.Self())
	case *actor.Stopping, *actor.Restarting:
		s.end()
	}
}

func (s *shell) start(id string) {
	s.cell = s.owner.byID(id)
	if s.cell == nil || s.cell.fate.Load() != nil {
		return
	}
	s.ctx = &Ctx{cell: s.cell, owner: s.owner}
	defer s.guard(nil)
	b := s.owner.opts.Make(s.cell.key)
	if b == nil {
		panic(errors.New("its owner made no behavior for this key"))
	}
	s.cell.current.Store(s.ctx)
	if err := b.Start(s.ctx); err != nil {
		panic(fmt.Errorf("it could not load: %w", err))
	}
	s.behavior = b
}

func (s *shell) receive(m *mail) {
	if m.timer != nil && !m.timer.take() {
		return
	}
	if f := s.cell.fate.Load(); f != nil {
		m.reject(f.err)
		return
	}
	if s.behavior == nil { // only if the library ran a message of a suspended mailbox
		m.reject(ErrCrashed)
		return
	}
	defer s.guard(m)
	s.owner.sys.disturb(s.owner.opts.Name)
	s.behavior.Receive(s.ctx, m.msg)
	s.owner.sys.disturb(s.owner.opts.Name)
}

// guard turns a panic into a crash: the message's sender is told, the incarnation ends at once (so nothing it started
// outlives it during the backoff), and the panic goes on to the library, which suspends the mailbox and tells the owner.
func (s *shell) guard(m *mail) {
	r := recover()
	if r == nil {
		return
	}
	reason, kind := reasonText(r), "start"
	if m != nil {
		kind = fmt.Sprintf("%T", m.msg)
		m.reject(ErrCrashed)
	}
	s.owner.log.Error("an actor crashed", "key", s.cell.key, "message", kind, "reason", reason, "stack", string(debug.Stack()))
	s.end()
	panic(crash{reason})
}

func (s *shell) end() {
	if s.ctx == nil {
		return
	}
	x, b := s.ctx, s.behavior
	s.ctx, s.behavior = nil, nil
	s.cell.current.Store(nil)
	x.end()
	if b == nil {
		return
	}
	defer func() {
		if r := recover(); r != nil {
			s.owner.log.Error("an actor failed while it stopped", "key", s.cell.key, "reason", reasonText(r), "stack", string(debug.Stack()))
		}
	}()
	b.Stop(x)
}

// reasonText says what went wrong in at most 300 bytes. A panic value that is neither an error nor a string is named by
// its type only: it may hold anything, a person's text included.
func reasonText(r any) string {
	var text string
	switch v := r.(type) {
	case crash:
		text = v.reason
	case error:
		text = v.Error()
	case string:
		text = v
	default:
		text = fmt.Sprintf("a panic with a %T", r)
	}
	if len(text) > 300 {
		text = text[:297] + "..."
	}
	return text
}
