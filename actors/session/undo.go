package session

import (
	"context"
	"encoding/json"

	"sentient/actors/agent"
	"sentient/actors/msg"
	"sentient/actors/wire"
	pb "sentient/proto/session"
	"sentient/storage/journal"
)

// openUndo lets a call wait that was let through: nothing has left yet, and Undo means it never does (section 10).
func (c *change) openUndo(turn string, w agent.UndoWindow) {
	c.event(&pb.Event{Kind: &pb.Event_UndoOpened{UndoOpened: &pb.UndoOpened{Undo: w.Undo, Call: w.Call.ID}}})
	c.row(c.chat.tables.Undos.Put(&pb.UndoRow{Id: w.Undo, Session: c.chat.id}))
	f := windowFields(w)
	c.note("undo_window", turn, nil, f)
	c.do(undoable{w.Undo, w.Until})
}

func (c *change) closeUndo(undo, action string) {
	c.event(&pb.Event{Kind: &pb.Event_UndoClosed{UndoClosed: &pb.UndoClosed{Undo: undo, Action: action}}})
	c.row(journal.Row{Table: tableUndos, Key: []byte(undo)})
	c.do(undoOver{})
}

func windowFields(w agent.UndoWindow) wire.Fields {
	return wire.Of(struct {
		Undo    string          `json:"undo_id"`
		Call    string          `json:"call_id"`
		Name    string          `json:"name"`
		Seconds int             `json:"seconds"`
		Until   msg.Time        `json:"until"`
		Preview json.RawMessage `json:"preview,omitempty"`
	}{w.Undo, w.Call.ID, w.Call.Name, w.Seconds, msg.Time{Time: w.Until}, w.Preview})
}

// undo is a person's answer in the window; false when it had ended.
func (c *change) undo(id, action string) bool {
	if c.chat.turn == nil {
		return false
	}
	w := c.chat.turn.Undoable()
	if w == nil || w.Undo != id {
		return false
	}
	c.step(agent.UndoEnded{Undo: id, Action: action})
	return true
}

// Undo answers an undo window: undo or send_now. False: it had ended, or never was.
func (s *Service) Undo(ctx context.Context, id, action string) (bool, error) {
	if action != agent.Undo && action != agent.SendNow {
		return false, msg.NewFault(msg.Invalid, "action must be undo or send_now")
	}
	session := ""
	err := journalRead(s.o.Journal, func(r journal.Reader) error {
		row, ok, err := s.tables.Undos.Get(r, []byte(id))
		if err == nil && ok {
			session = row.Session
		}
		return err
	})
	if err != nil || session == "" {
		return false, plainly(err)
	}
	return ask(ctx, s, session, func(_ *actor, c *change) (bool, error) { return c.undo(id, action), nil })
}
