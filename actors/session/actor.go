package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"sentient/actors/agent"
	"sentient/actors/msg"
	"sentient/actors/wire"
	pb "sentient/proto/session"
	"sentient/runtime/act"
	"sentient/runtime/app"
	"sentient/storage/journal"
)

// actor is the shell of one chat: it loads, appends, and performs effects.
type actor struct {
	o       *Options
	tables  *Tables
	c       *act.Ctx
	chat    *chat
	version uint64

	model    *modelRun
	halted   halted          // what the last stop ended
	upkeeps  map[string]bool // background runs by kind
	expiry   *act.Timer
	undoing  *act.Timer
	checks   map[string]chan struct{} // running rule checks by message; closed at their end
	bringing map[string]bool          // results whose call is being undone
	unsaved  struct{ text, thinking strings.Builder }
	saving   *act.Timer
	retrying *act.Timer // set while the disk is too full to settle a turn that was cut; nothing is changed until it is settled
}

func (a *actor) Start(c *act.Ctx) error {
	a.c, a.upkeeps, a.checks, a.bringing = c, map[string]bool{}, map[string]chan struct{}{}, map[string]bool{}
	return a.load()
}

// load is first start, crash, wake and a failed append alike.
func (a *actor) load() error {
	key := a.c.Key()
	l, err := a.o.Journal.Load(context.Background(), stream(key))
	if err != nil {
		return err
	}
	a.chat = newChat(key, a.tables, a.o.NewID)
	a.chat.order, a.chat.tools, a.chat.epoch = a.o.nextOrder, a.o.ruleTools, a.o.Work.Epoch()
	a.version, a.model = l.Version, nil
	a.resetTurn()
	if l.Deleted || l.Version == 0 {
		a.c.Passivate()
		return nil
	}
	if a.chat.state, err = restore(l.Snapshot, l.Events); err != nil {
		return fmt.Errorf("the journal of this chat cannot be read: %w", err)
	}
	r, err := a.o.Journal.Read()
	if err != nil {
		return err
	}
	defer r.Close()
	if err := a.loadQueue(r); err != nil {
		return err
	}
	if a.chat.Incognito {
		a.o.Bus.Restrict(key, a.chat.Owners...)
	}
	return a.settleOpen(r, l.Checkpoints)
}

func (a *actor) loadQueue(r journal.Reader) error {
	for _, q := range a.chat.Queue {
		row, ok, err := a.tables.Queued.Get(r, []byte(a.chat.id+q.Id))
		if err != nil {
			return err
		}
		if ok {
			a.chat.queued[q.Id] = row
		}
	}
	return nil
}

// settleOpen ends a turn that was cut by the engine's end and starts what waits.
func (a *actor) settleOpen(r journal.Reader, checkpoints [][]byte) error {
	c := a.chat.begin(a.o.Now())
	if t := a.chat.Turn; t != nil {
		var rows []*pb.MessageRow
		for _, id := range t.Rows {
			row, ok, err := a.tables.Messages.Get(r, []byte(a.chat.id+id))
			if err != nil {
				return err
			}
			if ok {
				rows = append(rows, row)
			}
		}
		var said []*pb.Checkpoint
		for _, b := range checkpoints {
			p := &pb.Checkpoint{}
			if proto.Unmarshal(b, p) == nil {
				said = append(said, p)
			}
		}
		c.settle(rows, said)
	}
	c.dropWaiting()
	if !a.o.Work.Stopped() {
		c.nextTurn()
	} else if len(a.chat.Queue) > 0 && !c.empty() { // it is found again at Resume
		c.row(openTurnRow(a.chat.id, a.chat.Queue[0].Id))
	}
	if err := a.resumeChecks(r, c); err != nil {
		return err
	}
	if c.empty() && len(c.after) == 0 {
		return nil
	}
	if !c.empty() {
		if err := a.write(c); err != nil {
			return a.cannotSettle(err)
		}
	}
	a.perform(c)
	return nil
}

// cannotSettle waits for room on the disk.
func (a *actor) cannotSettle(err error) error {
	if !errors.Is(err, journal.ErrFull) {
		return err
	}
	a.chat.turn = nil
	a.c.Busy(true)
	a.retrying = a.c.After(10*time.Second, reload{})
	return nil
}

// settled reads the chat again when its last turn could not be settled; false when that still is so.
func (a *actor) settled() bool {
	if a.retrying == nil {
		return true
	}
	a.retrying.Stop()
	a.retrying = nil
	if err := a.load(); err != nil {
		panic(err)
	}
	return a.retrying == nil
}

type reload struct{}

func (a *actor) Receive(_ *act.Ctx, message any) {
	if a.o.Work.Closed() && a.leave(message) {
		return
	}
	a.obey()
	switch m := message.(type) {
	case runnable:
		m.run(a)
	case goOn:
		a.goOn()
	case rang:
		a.drain(m.run)
	case progressBell:
		a.drainProgress(m)
	case expired:
		a.input(agent.Decided{Approval: m.approval, Decision: "deny", At: a.o.Now().UTC()})
	case undoTimeUp:
		a.input(agent.UndoEnded{Undo: m.undo, Action: agent.TimeIsUp})
	case ruleChecked:
		a.ruleChecked(m)
	case counted:
		a.counted(m)
	case saveNow:
		a.saving = nil
		a.checkpoint()
	case reload:
		a.settled()
	case upkept:
		a.upkept(m)
	case agent.Input:
		a.input(m)
	}
}

// leave is Receive while the engine ends, which is nobody's stop: an open turn and what waits behind it stay as they are, for
// the next start to settle as after a kill. What was said until now is kept. Only commands are still done (false).
func (a *actor) leave(message any) bool {
	switch m := message.(type) {
	case runnable:
		return false
	case rang:
		if m.run == a.model {
			items, _, _, _ := m.run.pipe.Drain(drainSlice, drainTime)
			for _, i := range items {
				a.unsavedText(i.Text, i.Thinking)
			}
		}
	}
	return true
}

func (a *actor) Stop(*act.Ctx) {
	if a.chat != nil && a.chat.turn != nil {
		a.checkpoint()
	}
}

// input steps the turn and commits what follows.
func (a *actor) input(in agent.Input) {
	c := a.chat.begin(a.o.Now())
	c.step(in)
	_ = a.commit(c)
}

// commit makes a change real: streamed text is shown, the facts are appended, and only then the effects happen.
func (a *actor) commit(c *change) error {
	if c.audience {
		a.o.Bus.Restrict(a.chat.id, a.chat.Owners...)
	}
	if len(c.before) > 0 {
		a.o.Bus.Publish(c.before...)
	}
	if !c.empty() {
		a.planAhead(c)
		if err := a.write(c); err != nil {
			a.lost(c, err) // with what was planned
			return err
		}
	}
	a.perform(c)
	return nil
}

func (a *actor) write(c *change) error {
	r, err := a.o.Journal.Append(context.Background(), c.append(a.version, a.o.SnapshotEvery))
	if err != nil {
		return err
	}
	a.version = r.Version
	if c.dropped {
		a.dropUnsaved()
	}
	return nil
}

// lost follows an append that failed: memory is ahead of the disk, so the chat is read again. The turn that was open is over;
// who listens to it is told.
func (a *actor) lost(c *change, err error) {
	var conflict *journal.ConflictError
	if errors.As(err, &conflict) {
		panic(err)
	}
	a.o.Work.CancelOwner(string(stream(a.chat.id)), err)
	if errors.Is(err, journal.ErrClosed) {
		return
	}
	a.keepUnsaved(c.open, c.round)
	a.o.Logger.Error("a change was not saved", "session", a.chat.id, "reason", err.Error())
	if err := a.load(); err != nil {
		panic(err)
	}
	if turn := c.open; turn != "" {
		text, _ := errorText(plainly(err))
		end := passing(a.chat.id, turn, "done", wire.Of(doneOf(nil, doneExtra{Error: text})))
		end.Ends = true
		a.o.Bus.Publish(passing(a.chat.id, turn, "error", wire.Of(map[string]any{"message": text, "recoverable": false})), end)
	}
}

func (a *actor) perform(c *change) {
	for _, e := range c.after {
		a.do(e)
	}
	a.c.Busy(a.chat.turn != nil || len(a.upkeeps)+len(a.checks)+len(a.bringing) > 0)
	if c.deleted || !a.chat.exists {
		a.chat.exists = false
		a.c.Busy(false)
		a.c.Passivate()
	}
}

func (a *actor) do(e effect) {
	switch e := e.(type) {
	case makePlan:
		a.plan(e)
	case callModel:
		a.callModel(e)
	case judgeCalls:
		a.judge(e)
	case runCalls:
		for _, call := range e.Calls {
			a.runCall(e.Turn, call)
		}
	case cancelRuns:
		for _, run := range e.Runs {
			a.o.Work.Cancel(run, errStoppedByPerson)
		}
		a.model = nil
	case expire:
		a.expiry = a.c.After(app.Span(a.o.Config().Tools.Approvals.TimeoutS, time.Second), expired{e.Approval})
	case unexpire:
		a.expiry.Stop()
		a.expiry = nil
	case undoable:
		a.undoing = a.c.After(e.Until.Sub(a.o.Now()), undoTimeUp{e.Undo})
	case undoOver:
		a.undoing.Stop()
		a.undoing = nil
	case checkRule:
		a.checkRule(e.Check)
	case show:
		a.o.Bus.Publish(e.Event)
	case forget:
		a.forget(e)
	case upkeep:
		a.startUpkeep(e)
	case turnOver:
		a.resetTurn()
	}
}

var errStoppedByPerson = errors.New("stopped by the person")

type (
	expired    struct{ approval string }
	undoTimeUp struct{ undo string }
)

func (a *actor) resetTurn() {
	a.model = nil
	a.expiry.Stop()
	a.undoing.Stop()
	a.expiry, a.undoing = nil, nil
	a.dropUnsaved()
}

// forget removes what a deleted chat left outside the journal.
func (a *actor) forget(e forget) {
	a.o.Work.CancelOwner(string(stream(a.chat.id)), errStoppedByPerson)
	id, incognito, files := a.chat.id, e.Incognito, a.o.Files
	a.o.Bus.Forget(id)
	if len(e.Attached) == 0 && !incognito {
		return
	}
	// It outlives this chat's actor on purpose: the chat is gone, its files follow.
	s := runSpec(id, a.o.NewID(), "files of a deleted chat", nil)
	_ = a.o.Work.Go(context.Background(), s, func(context.Context) {
		files.DeleteAttached(e.Attached)
		if incognito {
			files.DeleteIncognito(id)
		}
	})
}

// saveNow is the tail of a stream that paused.
type saveNow struct{}

// unsavedText remembers streamed text until it is checkpointed: only what is new, once a second.
func (a *actor) unsavedText(text, thinking string) {
	a.unsaved.text.WriteString(text)
	a.unsaved.thinking.WriteString(thinking)
	if a.saving == nil {
		a.saving = a.c.After(checkpointEvery, saveNow{})
	}
}

func (a *actor) checkpoint() { a.keepUnsaved(a.chat.Turn.GetId(), a.chat.Turn.GetRound()) }

func (a *actor) keepUnsaved(turn string, round int32) {
	if turn == "" || a.unsaved.text.Len()+a.unsaved.thinking.Len() == 0 {
		return
	}
	b, err := proto.Marshal(&pb.Checkpoint{Turn: turn, Round: round, Text: a.unsaved.text.String(), Thinking: a.unsaved.thinking.String()})
	if err == nil {
		a.o.Journal.Checkpoint(stream(a.chat.id), b)
	}
	a.unsaved.text.Reset()
	a.unsaved.thinking.Reset()
}

func (a *actor) dropUnsaved() {
	a.unsaved.text.Reset()
	a.unsaved.thinking.Reset()
	a.saving.Stop()
	a.saving = nil
}

// knownClient looks a client_id up, before anything is changed.
func (a *actor) knownClient(client string) (*pb.ClientRow, error) {
	if client == "" || !a.chat.exists {
		return nil, nil
	}
	r, err := a.o.Journal.Read()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return knownClient(r, a.chat.id, client)
}

func (a *actor) send(c *change, m msg.Send) (msg.Sent, error) {
	known, err := a.knownClient(m.ClientID)
	if err != nil {
		return msg.Sent{}, err
	}
	if known == nil && m.Epoch < a.chat.epoch {
		return msg.Sent{}, msg.ErrDropped
	}
	return c.send(m, known)
}
