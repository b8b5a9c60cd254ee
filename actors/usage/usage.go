// Package usage owns what model calls came to and the state of the month's budget: the sums of calls by quarter of an hour, the
// two notices of a month, and the wish to keep going.
//
// A call's row belongs to whoever made the call and is in the batch of what the call was for (actors/count). In the same batch is
// a note, numbered in commit order; this room's actor follows the notes and adds them to its own sums, which nobody else writes.
// So a million calls are read as a few thousand rows, a crash between a call and its sum loses nothing, and what is read is the
// sums and the notes behind them: right at every moment, without asking the actor.
package usage

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"sentient/actors/count"
	"sentient/actors/msg"
	"sentient/runtime/act"
	"sentient/runtime/work"
	"sentient/storage/journal"
)

const stream journal.Stream = "usage/main"

// Notifier makes notifications, each once for its key. Done hears whether it is on disk; it may come on another goroutine.
type Notifier interface {
	Later(n msg.Notification, done func(error))
}

// Options of the room.
type Options struct {
	Journal journal.Journal
	Work    *work.Table
	Notify  Notifier
	Billing func(model string) string // local, plan or paid
	Name    func(model string) string // a model's plain name, for sentences
	Limits  func() Limits             // the settings in force
	Zone    func() *time.Location     // the person's
	NewID   func() string             // ULIDs
	Now     func() time.Time
	Logger  *slog.Logger
}

// Validate says what is missing.
func (o *Options) Validate() error {
	if o.Journal == nil || o.Work == nil || o.Notify == nil || o.Billing == nil || o.Name == nil || o.Limits == nil || o.Zone == nil || o.NewID == nil {
		return errors.New("usage: Journal, Work, Notify, Billing, Name, Limits, Zone and NewID are needed")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

// Service is the usage as other rooms and the edge see it.
type Service struct {
	o     Options
	t     *tables
	ref   act.Ref
	known atomic.Pointer[knownSpent]

	nudged atomic.Bool // a nudge is in the mailbox
	looked uint64      // the newest note at the last nudge; only Delivered's caller uses it
}

// New starts the actor. It must be started before the rooms that call models, so that it ends after them.
func New(sys *act.System, o Options) (*Service, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s := &Service{o: o, t: newTables(count.Table())}
	s.ref = sys.Single("usage", func() act.Behavior { return &actor{s: s} })
	return s, nil
}

// lookEvery is after how many notes without a call the actor writes down how far it has read, so that what it must read at the
// next start stays in the log.
const lookEvery = 1000

// Delivered hears of committed notes, in their order and from one goroutine at a time (the committer's). It never waits.
func (s *Service) Delivered(entries []journal.Entry) {
	for _, e := range entries {
		if e.Type == count.Note || e.Seq-s.looked >= lookEvery {
			s.looked = e.Seq
			s.nudge()
		}
	}
}

func (s *Service) nudge() {
	if s.nudged.CompareAndSwap(false, true) {
		s.ref.Tell(nudge{})
	}
}

// Count adds a call that has no stream of its own to be counted in. It does not wait.
func (s *Service) Count(c msg.CountedCall) { s.ref.Tell(counted{c}) }

// Changed is told when the settings changed.
func (s *Service) Changed() { s.ref.Tell(recheck{}) }

// Allow refuses a model that is paid by the token while the month's budget is used up and not kept going. The error
// is a *msg.ModelError. It counts every call that was committed before it was asked.
func (s *Service) Allow(_ context.Context, model string) error {
	if s.o.Limits().MonthlyUSD <= 0 || s.o.Billing(model) != "paid" {
		return nil
	}
	b, err := s.Budget()
	if err != nil {
		s.o.Logger.Error("the budget could not be read, so a paid model was not asked", "reason", err.Error())
		return &msg.ModelError{Fault: msg.FaultOther, Model: model, Message: "Sentient could not read how much of this month's model budget is used, so it did not ask a paid model. Try again, or pick a model on this computer."}
	}
	return b.refusal(model, s.o.Name(model))
}

func (s *Service) now() time.Time { return s.o.Now().In(s.o.Zone()) }

// Budget is the state of this month's budget.
func (s *Service) Budget() (Budget, error) {
	v, err := s.view()
	if err != nil {
		return Budget{}, err
	}
	defer v.Close()
	return s.budget(v, s.now())
}

func (s *Service) budget(v *view, now time.Time) (Budget, error) {
	in := month(now)
	spent, err := s.spent(v, in)
	if err != nil {
		return Budget{}, err
	}
	m := monthIn(v.state, monthName(now))
	return budgetOf(s.o.Limits(), spent, now, in.end, m.GetKeptGoing()), nil
}

// KeepGoing lifts the stop until the month ends. Errors: a msg.Conflict fault.
func (s *Service) KeepGoing(ctx context.Context) (Budget, error) {
	b, err := act.Ask(ctx, s.ref, func(r *act.Reply[Budget]) any { return keep{r} })
	return b, plainly(err)
}

// Report is what the last days, today's included, came to.
func (s *Service) Report(days int) (Report, error) {
	v, err := s.view()
	if err != nil {
		return Report{}, err
	}
	defer v.Close()
	now := s.now()
	r := newReporter(now.Location())
	if err := v.each(daysBack(now, days), r.add); err != nil {
		return Report{}, err
	}
	return r.report(), nil
}

// Cost is GET /api/usage/cost but for local_only.
type Cost struct {
	Periods []Period `json:"periods"`
	Budget  Budget   `json:"budget"`
}

// Cost is what today, this week and this month came to, and the budget.
func (s *Service) Cost() (Cost, error) {
	v, err := s.view()
	if err != nil {
		return Cost{}, err
	}
	defer v.Close()
	now := s.now()
	meters := periodsAt(now)
	all := meters[0].in
	for _, m := range meters[1:] {
		if m.in.start.Before(all.start) {
			all.start = m.in.start
		}
		if m.in.end.After(all.end) {
			all.end = m.in.end
		}
	}
	err = v.each(all, func(q int64, l line, t tally) {
		for _, m := range meters {
			m.add(q, l, t)
		}
	})
	if err != nil {
		return Cost{}, err
	}
	var c Cost
	for _, m := range meters {
		c.Periods = append(c.Periods, m.period(s.o.Billing))
	}
	c.Budget, err = s.budget(v, now)
	return c, err
}

// plainly turns the store's errors into faults that a client may see.
func plainly(err error) error {
	switch {
	case errors.Is(err, journal.ErrFull):
		return msg.ErrDiskFull
	case errors.Is(err, journal.ErrClosed), errors.Is(err, act.ErrStopping):
		return msg.ErrStopping
	}
	return err
}
