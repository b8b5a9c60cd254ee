// Package stop owns Stop everything (section 17): the one persisted flag, the epoch of the last stop, and the order in which
// everything ends. It never asks a model, so no prompt can talk it out of it.
//
// A stop writes the flag and the next epoch in one batch; then the kill table cancels every job by its context, and the owners
// of work drop what they had admitted before. A new kind of work joins by running under the kill table and, when it keeps work
// that waits, by one more Halter.
package stop

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"sentient/actors/msg"
	pb "sentient/proto/stop"
	"sentient/runtime/act"
	"sentient/runtime/bus"
	"sentient/runtime/work"
	"sentient/storage/journal"
	"sentient/storage/table"
)

const stream journal.Stream = "stop/main"

const (
	tableMeta    = "meta"
	stateKey     = "stop.state" // section 17
	eventUpdated = "stop.updated"
)

// Halter owns work that can wait or be open without a running job.
type Halter interface {
	// Halt ends what was admitted before the stop at epoch, and returns when that is done or ctx ends. Ended are the pieces of
	// work it ended, by the names that the kill table has for them (work.Spec.Unit); late says what had not ended, for people.
	Halt(ctx context.Context, epoch uint64) (ended, late []string)
	// Resume starts what a restart would start. It does not wait.
	Resume()
}

// Options of the room.
type Options struct {
	Journal journal.Journal
	Bus     *bus.Bus
	Work    *work.Table
	Now     func() time.Time
	Logger  *slog.Logger
	Within  time.Duration // how long a stop waits for the ends before it names what is late; 0 is 2 s
}

// Service is Stop everything as the rest sees it.
type Service struct {
	o       Options
	rows    *table.Table[*pb.StateRow]
	ref     act.Ref
	state   atomic.Pointer[pb.StateRow]
	mu      sync.Mutex
	halters []Halter
}

// New reads the flag and tells the kill table, before anything else runs. Errors: the store's.
func New(sys *act.System, o Options) (*Service, error) {
	if o.Journal == nil || o.Work == nil || o.Bus == nil {
		return nil, errors.New("stop: Journal, Bus and Work are needed")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Within == 0 {
		o.Within = 2 * time.Second
	}
	encode, decode := table.Proto[pb.StateRow, *pb.StateRow]()
	s := &Service{o: o, rows: table.New(table.Options[*pb.StateRow]{Name: tableMeta, Encode: encode, Decode: decode,
		Key: func(*pb.StateRow) []byte { return []byte(stateKey) }})}
	s.state.Store(first())
	s.ref = sys.Single("stop", func() act.Behavior { return &actor{s: s} })
	_, err := s.ask(context.Background(), func(a *actor) (done, error) { return done{}, nil })
	return s, err
}

// Join adds an owner of work. All join before clients are served.
func (s *Service) Join(h Halter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.halters = append(s.halters, h)
}

func (s *Service) joined() []Halter {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Halter(nil), s.halters...)
}

// State is whether everything is stopped.
func (s *Service) State() msg.StopState { return wireOf(s.state.Load()) }

// Epoch is the epoch for a command that is admitted now.
func (s *Service) Epoch() uint64 { return s.o.Work.Epoch() }

// StopAll stops everything, and returns when all of it ended or its time is up. It goes on when ctx ends: who asked may be gone
// by then. Errors: an unknown source; msg.Full when everything is stopped but the next start will not know.
func (s *Service) StopAll(ctx context.Context, source string) (msg.StopReport, error) {
	source, err := sourceOf(source)
	if err != nil {
		return msg.StopReport{}, err
	}
	ctx = context.WithoutCancel(ctx)
	d, err := s.ask(ctx, func(a *actor) (done, error) { return a.stop(source) })
	if err != nil { // the flag's owner is not there: stopping must not depend on it
		s.o.Logger.Error("stop everything could not be saved", "reason", err.Error())
		epoch := s.o.Work.Epoch() + 1
		row := stopped(s.state.Load(), source, s.o.Now())
		row.Epoch = max(row.Epoch, epoch)
		s.state.Store(row)
		d = done{row: row, jobs: s.o.Work.Stop(row.Epoch), save: err}
	}
	report := s.halt(ctx, d)
	s.o.Logger.Info("everything is stopped", "source", source, "cancelled", report.Cancelled, "not_ended", len(report.NotEnded))
	if d.save != nil {
		return report, errUnsaved
	}
	return report, nil
}

// halt waits for the ends, side by side.
func (s *Service) halt(ctx context.Context, d done) msg.StopReport {
	ctx, cancel := context.WithTimeout(ctx, s.o.Within)
	defer cancel()
	report := msg.StopReport{StopState: wireOf(d.row)}
	units := map[string]bool{}
	for _, u := range d.jobs.Units() {
		units[u] = true
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, h := range s.joined() {
		all.Go(func() {
			ended, late := h.Halt(ctx, d.row.Epoch)
			mu.Lock()
			defer mu.Unlock()
			report.NotEnded = append(report.NotEnded, late...)
			for _, u := range ended {
				units[u] = true
			}
		})
	}
	slow := d.jobs.Wait(ctx)
	all.Wait()
	for _, l := range slow {
		report.NotEnded = append(report.NotEnded, l.Label)
	}
	report.Cancelled = len(units)
	return report
}

// Resume clears the flag, then starts what a restart would. Errors: an unknown source, the store's.
func (s *Service) Resume(ctx context.Context, source string) (msg.StopState, error) {
	source, err := sourceOf(source)
	if err != nil {
		return msg.StopState{}, err
	}
	d, err := s.ask(ctx, func(a *actor) (done, error) { return a.resume(source) })
	if err != nil {
		return msg.StopState{}, err
	}
	for _, h := range s.joined() {
		h.Resume()
	}
	s.o.Logger.Info("work goes on", "source", source)
	return wireOf(d.row), nil
}

func (s *Service) ask(ctx context.Context, fn func(*actor) (done, error)) (done, error) {
	d, err := act.Ask(ctx, s.ref, func(r *act.Reply[done]) any { return &command{r, fn} })
	switch {
	case errors.Is(err, journal.ErrFull):
		err = msg.ErrDiskFull
	case errors.Is(err, journal.ErrClosed), errors.Is(err, act.ErrStopping):
		err = msg.ErrStopping
	}
	return d, err
}
