package session

import (
	"errors"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"sentient/actors/msg"
	pb "sentient/proto/session"
)

// memory is the state of a chat as its actor has it.
func (g *game) memory(session string) (*pb.Snapshot, error) {
	return ask(g.t.Context(), g.chats, session, func(a *actor, _ *change) (*pb.Snapshot, error) {
		return proto.Clone(a.chat.Snapshot).(*pb.Snapshot), nil
	})
}

// checkTold: the journal alone, told from its first event, comes to what the store has.
func (p *player) checkTold() {
	g := p.g
	told, err := g.chats.Tables().Replay(g.t.Context(), g.j, p.session)
	if err != nil || len(told.Differs) > 0 {
		g.fault("the chat told from its journal: %v %v", told.Differs, err)
	}
}

// checkState: what the journal tells is what the actor knows, and the rows that others read say the same.
func (p *player) checkState() {
	g := p.g
	if g.kill.isDead() || !g.chats.Exists(p.session) {
		return
	}
	known, err := g.memory(p.session)
	if errors.Is(err, msg.ErrDiskFull) { // its last turn can't be settled yet
		return
	}
	if err != nil {
		g.t.Fatal(err)
	}
	l, err := g.j.Load(g.t.Context(), stream(p.session))
	if err != nil {
		g.t.Fatal(err)
	}
	told, err := restore(l.Snapshot, l.Events)
	if err != nil {
		g.t.Fatal(err)
	}
	if !proto.Equal(told.Snapshot, known) {
		g.fault("the journal tells\n%v\nthe actor knows\n%v", told.Snapshot, known)
	}
	p.checkTold()
	p.checkRows(told)
}

func (p *player) checkRows(s state) {
	g := p.g
	r, err := g.j.Read()
	if err != nil {
		g.t.Fatal(err)
	}
	defer r.Close()
	if n := len(p.rows()); n != int(s.Messages) {
		g.fault("%d messages, counted are %d", n, s.Messages)
	}
	if open := g.running(p); open != (s.Turn != nil) {
		g.fault("the open turn's row: %v, the turn: %v", open, s.Turn)
	}
	a, u, queued := g.waiting(r, p.session)
	if !slices.Equal(a, some(s.Turn.GetApproval())) || !slices.Equal(u, some(s.Turn.GetUndo())) || len(queued) != len(s.Queue) {
		g.fault("waiting by the rows: %v, %v, %q; by the state: %v", a, u, queued, s.Snapshot)
	}
}

func some(id string) []string {
	if id == "" {
		return nil
	}
	return []string{id}
}

// At every moment the journal alone makes the state that the actor has, so that sleep, restart and crash can change nothing.
func TestTheJournalIsTheState(t *testing.T) {
	relation{12, 30, anyTrouble, func(t *testing.T, script []step) string {
		each := func(g *game) {
			for _, p := range g.players {
				p.checkState()
			}
		}
		return wrongs(play(t, setup{each: each}, part{label: "A", script: splitWaits(newRand(script), script)}))
	}}.hold(t)
}
