package models

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"sentient/actors/msg"
	"sentient/runtime/act"
	"sentient/runtime/app"
	"sentient/runtime/work"
	"sentient/storage/journal"

	pb "sentient/proto/models"
)

const stream journal.Stream = "models/presets"

// command is one request; commands are handled one after the other.
type command struct {
	reply *act.Reply[any]
	plan  plan
}

// edited says how a change of the configuration ended.
type edited struct {
	of  *command
	err error
}

// errRaced: somebody else changed the model settings between the plan and its turn.
var errRaced = errors.New("the model settings changed meanwhile")

const replans = 8

// actor keeps the state of presets. A change of the configuration is a step with two owners: it is recorded as begun, with the
// digest of the settings it leads to, then the configuration's owner does it beside this mailbox, then it is recorded as done.
// After a crash in between, the settings in force say whether it went through.
type actor struct {
	o       *Options
	c       *act.Ctx
	version uint64
	state   *pb.State

	now     *command // being done
	next    step
	raced   int
	waiting []*command
}

func (a *actor) Start(c *act.Ctx) error {
	a.c = c
	l, err := a.o.Journal.Load(context.Background(), stream)
	if err != nil {
		return err
	}
	a.version, a.state = l.Version, &pb.State{}
	if l.Snapshot == nil {
		return nil
	}
	if err := proto.Unmarshal(l.Snapshot, a.state); err != nil {
		return fmt.Errorf("the state of presets cannot be read: %w", err)
	}
	open := a.state.Open
	if open == nil {
		return nil
	}
	a.state.Open = nil
	if open.Wanted == digest(&a.o.Config.Get().Models) {
		a.state = &pb.State{Last: open.Last, Applied: open.Applied}
	}
	return a.save(a.state)
}

// Stop tells those who wait. What was begun ends with this incarnation, and the next one finds out how.
func (a *actor) Stop(*act.Ctx) {
	for _, c := range append(a.waiting, a.now) {
		if c != nil {
			c.reply.Fail(msg.ErrStopping)
		}
	}
	a.waiting, a.now = nil, nil
}

func (a *actor) Receive(_ *act.Ctx, m any) {
	switch m := m.(type) {
	case *command:
		a.waiting = append(a.waiting, m)
	case edited:
		if m.of != a.now {
			return
		}
		a.settle(m.err)
	}
	for a.now == nil && len(a.waiting) > 0 {
		a.now, a.waiting = a.waiting[0], a.waiting[1:]
		a.raced = 0
		a.begin()
	}
}

// begin does the command, or starts what it needs of the configuration.
func (a *actor) begin() {
	now := a.o.Config.Get()
	var err error
	if a.next, err = a.now.plan(a.state, now.Clone()); err != nil {
		a.end(nil, err)
		return
	}
	if a.next.models == nil {
		a.end(a.next.answer, nil)
		return
	}
	wanted := &pb.Open{Wanted: digest(a.next.models), Last: a.next.state.Last, Applied: a.next.state.Applied}
	if err := a.save(&pb.State{Last: a.state.Last, Applied: a.state.Applied, Open: wanted}); err != nil {
		a.end(nil, plainly(err))
		return
	}
	self, cmd, cfg, models, from := a.c.Self(), a.now, a.o.Config, a.next.models, digest(&now.Models)
	tell := func(err error) { self.Tell(edited{cmd, err}) }
	err = a.o.Work.Go(a.c.Context(), work.Spec{ID: "models-edit-" + a.o.NewID(), Owner: string(stream), Origin: work.User, Label: "settings", OnPanic: tell}, func(ctx context.Context) {
		_, err := cfg.Edit(ctx, func(next *app.Config) error {
			if digest(&next.Models) != from {
				return errRaced
			}
			next.Models = *models
			return nil
		})
		tell(err)
	})
	if err != nil {
		a.settle(err)
	}
}

// settle ends a change whose configuration is saved or refused.
func (a *actor) settle(err error) {
	if errors.Is(err, errRaced) && a.raced < replans {
		a.raced++
		a.begin()
		return
	}
	state := a.state
	if err == nil {
		state = a.next.state
	}
	a.state = &pb.State{Last: state.Last, Applied: state.Applied}
	if saveErr := a.save(a.state); saveErr != nil {
		// What is recorded as begun says the same at the next start.
		a.o.Logger.Error("the state of presets was not saved", "reason", saveErr.Error())
	}
	if errors.Is(err, errRaced) {
		err = msg.NewFault(msg.Conflict, "The model settings are being changed from elsewhere. Try again.")
	}
	a.end(a.next.answer, err)
}

func (a *actor) end(answer any, err error) {
	if err != nil {
		a.now.reply.Fail(err)
	} else {
		a.now.reply.OK(answer)
	}
	a.now, a.next = nil, step{}
}

func (a *actor) save(s *pb.State) error {
	b, err := proto.Marshal(s)
	if err != nil {
		return err
	}
	r, err := a.o.Journal.Append(context.Background(), journal.Append{Stream: stream, Expected: a.version, Events: [][]byte{b}, Snapshot: b})
	if err == nil {
		a.version = r.Version
	}
	return err
}

// plainly turns the store's errors into faults that a client may see.
func plainly(err error) error {
	switch {
	case errors.Is(err, journal.ErrFull):
		return msg.ErrDiskFull
	case errors.Is(err, journal.ErrClosed):
		return msg.ErrStopping
	}
	return err
}
