package usage

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/proto"

	"sentient/actors/count"
	"sentient/actors/msg"
	"sentient/actors/wire"
	pb "sentient/proto/usage"
	"sentient/runtime/act"
	"sentient/runtime/bus"
	"sentient/runtime/work"
	"sentient/storage/journal"
)

// The messages of the actor.
type (
	nudge   struct{}                       // there may be calls that are not in the sums
	due     struct{}                       // they have waited long enough
	recheck struct{}                       // the settings changed
	counted struct{ call msg.CountedCall } // a call to keep here
	keep    struct{ *act.Reply[Budget] }   // keep going
	retry   struct{}                       // something did not work; try what is left
	noticed struct {                       // a notification was made, or not
		key string
		err error
	}
	rebuilt struct { // all sums, made anew
		view *view
		fold fold
		err  error
	}
)

const retryAfter = 30 * time.Second

// foldWithin is how long a call waits for others before they are added to the sums together. What is read is right without it, and
// a sum for each call would make the next message wait for its sync.
const foldWithin = 500 * time.Millisecond

// actor folds calls into the sums and speaks for the budget. All of its state is in rows; what is here is only what is under way.
type actor struct {
	s          *Service
	c          *act.Ctx
	version    uint64
	seen       uint64 // the newest note read; at or behind what the state row says
	rebuilding bool
	sending    map[string]bool // notices on their way
	again      *act.Timer
	soon       *act.Timer // a fold is due
}

func (a *actor) Start(c *act.Ctx) error {
	l, err := a.s.o.Journal.Load(context.Background(), stream)
	if err != nil {
		return err
	}
	a.c, a.version, a.sending = c, l.Version, map[string]bool{}
	c.Self().Tell(recheck{})
	return nil
}

// Stop reads what is left, because a call of an incognito chat is nowhere on disk before that.
func (a *actor) Stop(*act.Ctx) {
	for more, err := true, error(nil); more && err == nil && !a.rebuilding; {
		more, err = a.fold(0)
	}
}

func (a *actor) Receive(_ *act.Ctx, m any) {
	switch m := m.(type) {
	case nudge:
		if a.soon == nil {
			a.soon = a.c.After(foldWithin, due{})
		}
	case due:
		a.soon = nil
		a.s.nudged.Store(false)
		a.follow()
	case recheck:
		a.follow()
	case retry:
		a.again = nil
		a.follow()
	case counted:
		a.keepCall(m.call)
	case keep:
		a.keepGoing(m.Reply)
	case noticed:
		a.noticed(m)
	case rebuilt:
		a.rebuilt(m)
	}
}

// follow brings the sums up to date, then does what follows from the budget.
func (a *actor) follow() {
	if a.rebuilding {
		return
	}
	more, err := a.fold(lookEvery)
	if err == nil && more {
		a.c.Self().Tell(due{})
		return
	}
	if err == nil && !a.rebuilding {
		err = a.check()
	}
	if err == nil {
		err = a.send()
	}
	a.failed(err)
}

// failed tries again later, whatever went wrong: nothing is lost meanwhile.
func (a *actor) failed(err error) {
	var conflict *journal.ConflictError
	if errors.As(err, &conflict) {
		panic(err)
	}
	if err == nil || errors.Is(err, journal.ErrClosed) {
		return
	}
	a.s.o.Logger.Error("the usage could not be brought up to date; it is tried again", "reason", err.Error())
	if a.again == nil {
		a.again = a.c.After(retryAfter, retry{})
	}
}

func (a *actor) append(in journal.Append) error {
	in.Stream, in.Expected = stream, a.version
	r, err := a.s.o.Journal.Append(context.Background(), in)
	if err == nil {
		a.version = r.Version
	}
	return err
}

// fold adds one stretch of the log to the sums. How far it got is written down with the sums, or once it is lag notes further.
func (a *actor) fold(lag uint64) (more bool, err error) {
	v, err := a.s.open()
	if err != nil {
		return false, err
	}
	defer v.Close()
	after := max(a.seen, v.state.Folded)
	if v.lost(after) {
		if a.c.Context().Err() == nil {
			a.rebuild()
		}
		return false, nil
	}
	f, err := v.foldAfter(after, foldSlice)
	if err != nil {
		return false, err
	}
	if len(f.fresh) > 0 || f.upto > v.state.Folded+lag {
		moved := a.s.moved(v.state.Folded, f)
		rows, _, err := v.change(f)
		if err == nil {
			err = a.append(journal.Append{Rows: rows})
		}
		if err != nil {
			return false, err
		}
		a.s.known.Store(moved)
	}
	a.seen = f.upto
	return f.more, nil
}

// rebuild starts making all sums anew, beside the mailbox.
func (a *actor) rebuild() {
	self, s := a.c.Self(), a.s
	spec := work.Spec{ID: s.o.NewID(), Owner: string(stream), Origin: work.Background, Label: "usage", OnPanic: func(err error) { self.Tell(rebuilt{err: err}) }}
	err := s.o.Work.Go(a.c.Context(), spec, func(ctx context.Context) {
		v, err := s.open()
		if err != nil {
			self.Tell(rebuilt{err: err})
			return
		}
		defer v.Close()
		f, err := v.rebuild(ctx)
		self.Tell(rebuilt{view: &view{t: v.t, billing: v.billing, state: v.state}, fold: f, err: err})
	})
	if err != nil {
		a.failed(err)
		return
	}
	a.rebuilding = true
}

func (a *actor) rebuilt(m rebuilt) {
	a.rebuilding = false
	if m.err == nil {
		m.err = a.replace(m)
	}
	if m.err != nil {
		a.failed(m.err)
		return
	}
	a.s.known.Store(nil)
	a.follow()
}

func (a *actor) replace(m rebuilt) error {
	v, err := a.s.open() // the notices may have changed since
	if err != nil {
		return err
	}
	defer v.Close()
	m.view.state = v.state
	rows, next := m.view.replace(m.fold)
	if err := a.append(journal.Append{Prefixes: []journal.Prefix{a.s.t.sums.Prefix(nil)}, Rows: rows}); err != nil {
		return err
	}
	a.seen = next.Folded
	return nil
}

// keepCall writes a call's row here; its note comes back as a nudge.
func (a *actor) keepCall(call msg.CountedCall) {
	row := count.Row(a.s.o.NewID(), a.s.o.Now(), "", call)
	err := a.append(journal.Append{Rows: []journal.Row{a.s.t.calls.Put(row)}, Publish: []journal.Note{count.Kept(row)}})
	if err != nil {
		a.s.o.Logger.Error("a model call could not be counted", "reason", err.Error())
	}
	a.panicOnConflict(err)
}

func (a *actor) panicOnConflict(err error) {
	var conflict *journal.ConflictError
	if errors.As(err, &conflict) {
		panic(err)
	}
}

// check does what follows from the budget as it is now.
func (a *actor) check() error {
	v, err := a.s.open()
	if err != nil {
		return err
	}
	defer v.Close()
	b, err := a.s.budget(v, a.s.now())
	if err != nil {
		return err
	}
	next, tell := decide(v.state, b)
	if next == nil {
		return nil
	}
	return a.append(a.s.stateChange(next, b, tell))
}

// stateChange is a new state, with what clients hear of it.
func (s *Service) stateChange(next *pb.State, b Budget, tell bool) journal.Append {
	in := journal.Append{Rows: []journal.Row{s.t.state.Put(next)}}
	if tell {
		const typ = "budget.updated"
		kept, shown := wire.DomainNote(typ, b, s.o.Now())
		in.Publish = []journal.Note{{Type: typ, Data: kept, Live: bus.Event{Kind: typ, Body: shown}}}
	}
	return in
}

func (a *actor) keepGoing(reply *act.Reply[Budget]) {
	b, err := a.lift()
	if err != nil {
		reply.Fail(err)
		a.panicOnConflict(err)
		return
	}
	reply.OK(b)
}

func (a *actor) lift() (Budget, error) {
	v, err := a.s.open()
	if err != nil {
		return Budget{}, err
	}
	defer v.Close()
	now := a.s.now()
	b, err := a.s.budget(v, now)
	if err != nil {
		return b, err
	}
	next, err := keepGoing(v.state, b)
	if next == nil || err != nil {
		return b, err
	}
	b = budgetOf(a.s.o.Limits(), b.SpentUSD, now, month(now).end, true)
	return b, a.append(a.s.stateChange(next, b, true))
}

// send hands every notice that is due to the notifications; until they say that it is on disk it stays due (law 3).
func (a *actor) send() error {
	v, err := a.s.open()
	if err != nil {
		return err
	}
	defer v.Close()
	self := a.c.Self()
	for _, n := range v.state.Due {
		if a.sending[n.Key] {
			continue
		}
		a.sending[n.Key] = true
		a.s.o.Notify.Later(msg.Notification{Kind: "budget", Title: n.Title, Message: n.Message, Payload: n.Payload, Key: n.Key},
			func(err error) { self.Tell(noticed{n.Key, err}) })
	}
	return nil
}

func (a *actor) noticed(m noticed) {
	delete(a.sending, m.key)
	if m.err == nil {
		m.err = a.settle(m.key)
	}
	a.failed(m.err)
}

// settle forgets a notice that was made.
func (a *actor) settle(key string) error {
	v, err := a.s.open()
	if err != nil {
		return err
	}
	defer v.Close()
	next := proto.CloneOf(v.state)
	next.Due = nil
	for _, n := range v.state.Due {
		if n.Key != key {
			next.Due = append(next.Due, n)
		}
	}
	return a.append(journal.Append{Rows: []journal.Row{a.s.t.state.Put(next)}})
}
