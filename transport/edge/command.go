package edge

import (
	"context"
	"errors"
	"slices"

	"sentient/actors/msg"
)

// command is a client's message, checked and ready for its owner.
type command struct {
	typ    string
	send   msg.Send // chat.send, chat.steer; Session for chat.cancel
	reply  string   // approval_id or undo_id
	answer string   // decision or action
	active bool     // presence
}

// owner is whose place and turn a command takes.
func (c *command) owner() string {
	if c.reply != "" {
		return "approval/" + c.reply
	}
	return c.send.Session
}

// message says whether a command is one that ends with a done.
func message(typ string) bool { return typ == "chat.send" || typ == "chat.steer" }

// decodeCommand reads a socket message. With an error, the command still has what could be read of the type, the chat and
// the client_id, for the answer.
func decodeCommand(b []byte) (command, error) {
	o, err := decodeObject(b)
	if err != nil {
		return command{}, err
	}
	c := command{typ: o.text("type")}
	if o.err != nil {
		return c, o.err
	}
	c.send.ClientID = o.id("client_id")
	switch c.typ {
	case "chat.send":
		c.send.Session, c.send.Text, c.send.Attachments = o.id("session_id"), o.text("text"), o.names("attachments")
		c.send.Model, c.send.Incognito = o.text("model"), o.flag("incognito")
	case "chat.steer":
		c.send.Session, c.send.Text = o.id("session_id"), o.text("text")
		need(o, "session_id", c.send.Session)
	case "chat.cancel":
		c.send.Session = o.id("session_id")
		need(o, "session_id", c.send.Session)
	case "approval.respond":
		c.reply, c.answer = o.id("approval_id"), o.text("decision")
		need(o, "approval_id", c.reply)
	case "undo.respond":
		c.reply, c.answer = o.id("undo_id"), o.text("action")
		need(o, "undo_id", c.reply)
		if o.err == nil && c.answer != "undo" && c.answer != "send_now" {
			o.wrong("action", "must be undo or send_now")
		}
	case "presence":
		c.active = o.flag("active")
	case "ping":
	default:
		o.wrong("type", "is not one that is understood here")
	}
	if o.err == nil && message(c.typ) {
		o.err = checkSend(&c.send)
	}
	return c, o.err
}

func need(o *object, name, value string) {
	if o.err == nil && value == "" {
		o.wrong(name, "is missing")
	}
}

// receive handles one message without waiting for anybody.
func (k *socket) receive(b []byte) {
	c, err := decodeCommand(b)
	if err != nil {
		k.refuseCommand(&c, err)
		return
	}
	switch c.typ {
	case "ping":
		k.push("pong")
		return
	case "presence":
		k.server.presence.set(k, c.active)
		return
	}
	c.send.Epoch = k.server.epoch()
	owner := c.owner()
	if err := k.server.admit.enter(owner); err != nil {
		k.refuseCommand(&c, err)
		return
	}
	k.lane.put(owner, func() {
		defer k.server.admit.leave(owner)
		k.perform(&c)
	})
}

// perform gives the command to its owner and the client the answer. What was received is done even when the socket ends.
func (k *socket) perform(c *command) {
	defer func() {
		if p := recover(); p != nil {
			k.server.logPanic("command", c.typ, p)
			k.refuseCommand(c, errInternal)
		}
	}()
	ctx, cancel := context.WithTimeout(k.server.base, k.server.o.Timeout)
	defer cancel()
	chats := k.server.o.Chats
	var err error
	switch c.typ {
	case "chat.send", "chat.steer":
		err = k.say(ctx, c)
	case "chat.cancel":
		_, err = chats.Cancel(ctx, c.send.Session)
	case "approval.respond":
		resolved := false
		if slices.Contains(decisions, c.answer) {
			resolved, err = chats.Answer(ctx, c.reply, c.answer, "desktop")
		}
		if f, ok := msg.AsFault(err); ok && f.Kind == msg.NotFound {
			err = nil
		}
		if err == nil {
			k.push("approval.ack", "approval_id", c.reply, "resolved", resolved)
		}
	case "undo.respond":
		done := false
		if k.server.o.Consent != nil {
			done, err = k.server.o.Consent.Undo(ctx, c.reply, c.answer)
		}
		if err == nil {
			k.push("undo.ack", "undo_id", c.reply, "action", c.answer, "done", done)
		}
	}
	if err != nil {
		k.refuseCommand(c, err)
	}
}

// say sends or steers. The chat itself tells everybody of an accepted message ("session", with its client_id); here only
// what concerns this client alone is answered.
func (k *socket) say(ctx context.Context, c *command) error {
	m := c.send
	m.Via = k.id
	if k.only != nil {
		if err := k.mine.add(m.Session); err != nil {
			return err
		}
		k.sub.AddTopic(m.Session) // its own new chat belongs to a narrowed socket, too
	}
	var sent msg.Sent
	var err error
	if c.typ == "chat.steer" {
		sent, err = k.server.o.Chats.Steer(ctx, msg.Steer{Session: m.Session, Text: m.Text, ClientID: m.ClientID, Via: m.Via, Epoch: m.Epoch})
	} else {
		sent, err = k.server.o.Chats.Send(ctx, m)
	}
	switch {
	case err != nil:
		return err
	case sent.Steered:
		k.push("steer_ack", "session_id", m.Session, "queued", true, "client_id", orNull(m.ClientID))
	case c.typ == "chat.steer": // no reply was running: it became a message
		k.push("steer_ack", "session_id", m.Session, "queued", false, "client_id", orNull(m.ClientID))
	case sent.Repeated:
		k.push("session", "session_id", sent.Session, "turn_id", orNull(sent.Turn), "client_id", orNull(m.ClientID))
		return k.doneAgain(sent.Session, sent.Turn)
	}
	return nil
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// refuseCommand tells the client why a command was not done. A refused message ends like a failed turn: an error that is
// not recoverable, then its one done.
func (k *socket) refuseCommand(c *command, err error) {
	text, surprise := plain(err)
	if surprise {
		k.server.log.Error("a command failed", "type", c.typ, "error", err)
	}
	if !message(c.typ) {
		kv := []any{"message", text, "recoverable", true}
		if f, ok := msg.AsFault(err); ok && f.Kind == msg.Busy {
			kv = append(kv, "code", "busy")
		}
		if c.send.Session != "" {
			kv = append(kv, "session_id", c.send.Session)
		}
		k.push("error", kv...)
		return
	}
	session, turn := c.send.Session, newID()
	if c.send.New {
		session = "" // it was not made
	}
	kv := []any{"session_id", session, "turn_id", turn, "message", text, "recoverable", false}
	if c.send.ClientID != "" {
		kv = append(kv, "client_id", c.send.ClientID)
	}
	if f, ok := msg.AsFault(err); ok && f.Kind == msg.Busy {
		kv = append(kv, "code", "busy")
	}
	if errors.Is(err, msg.ErrDropped) { // A-1079
		k.push("error", append(kv, "dropped", true)...)
		k.push("done", append(doneKV(session, turn, c.send.ClientID, "cancelled", true), "dropped", []string{c.send.Text})...)
		return
	}
	k.push("error", kv...)
	k.push("done", doneKV(session, turn, c.send.ClientID, "error", text)...)
}
