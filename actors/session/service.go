package session

import (
	"context"
	"time"

	"sentient/actors/agent"
	"sentient/actors/msg"
	"sentient/actors/policy"
	"sentient/actors/wire"
	pb "sentient/proto/session"
	"sentient/runtime/act"
	"sentient/runtime/bus"
	"sentient/storage/journal"
	"sentient/storage/table"
)

// Service is the chats as the edge sees them.
type Service struct {
	o      Options
	tables *Tables
	owner  *act.Owner
}

// New starts the owner of all chats. Settle must be called once, before clients are served.
func New(sys *act.System, o Options) (*Service, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s := &Service{o: o, tables: NewTables()}
	if err := s.findOrder(); err != nil {
		return nil, err
	}
	s.owner = sys.Owner(act.OwnerOptions{Name: "session", IdleAfter: o.IdleAfter, Make: func(string) act.Behavior {
		return &actor{o: &s.o, tables: s.tables}
	}})
	return s, nil
}

// findOrder goes on from the newest chat's number.
func (s *Service) findOrder() error {
	return journalRead(s.o.Journal, func(r journal.Reader) error {
		for row, err := range s.tables.Sessions.Scan(r, table.Query{Index: indexUpdated, Reverse: true, Limit: 1}) {
			if err != nil {
				return err
			}
			s.o.order.Store(orderOf(row))
		}
		return nil
	})
}

// Settle wakes every chat whose turn the engine's end left open, or that has messages waiting: they settle at load.
func (s *Service) Settle() error {
	return journalRead(s.o.Journal, func(r journal.Reader) error {
		for item, err := range r.Scan(journal.Scan{Table: tableOpenTurns}) {
			if err != nil {
				return err
			}
			s.owner.Wake(string(item.Key))
		}
		return nil
	})
}

// Live is how many chats are awake.
func (s *Service) Live() int { return s.owner.Len() }

// Parked are chats that keep failing.
func (s *Service) Parked() []act.Parked { return s.owner.Parked() }

func validID(id string) bool {
	if len(id) != idLen {
		return false
	}
	for i := range len(id) {
		c := id[i]
		if !(c >= '0' && c <= '9' || c >= 'A' && c <= 'Z') {
			return false
		}
	}
	return true
}

// ask sends one command to a chat's owner.
func ask[R any](ctx context.Context, s *Service, session string, fn func(*actor, *change) (R, error)) (R, error) {
	if !validID(session) {
		var none R
		return none, msg.ErrNoChat
	}
	r, err := act.Ask(ctx, s.owner.Ref(session), func(r *act.Reply[R]) any { return &command[R]{reply: r, fn: fn} })
	return r, plainly(err)
}

// Send takes a person's message. The answer means it is on disk.
func (s *Service) Send(ctx context.Context, m msg.Send) (msg.Sent, error) {
	if m.Epoch == 0 {
		m.Epoch = s.o.Work.Epoch()
	}
	return ask(ctx, s, m.Session, func(a *actor, c *change) (msg.Sent, error) { return a.send(c, m) })
}

// Steer adds to the running reply; without one it is a Send.
func (s *Service) Steer(ctx context.Context, m msg.Steer) (msg.Sent, error) {
	return s.Send(ctx, msg.Send{Session: m.Session, Text: m.Text, ClientID: m.ClientID, Via: m.Via, Epoch: m.Epoch})
}

// Cancel stops the running reply; false: there was none.
func (s *Service) Cancel(ctx context.Context, session string) (bool, error) {
	return ask(ctx, s, session, func(a *actor, c *change) (bool, error) {
		if !a.chat.exists {
			return false, msg.ErrNoChat
		}
		return c.stop(), nil
	})
}

// Create makes an empty chat.
func (s *Service) Create(ctx context.Context, n msg.NewChat) error {
	if n.Model != "" && !validModel(n.Model) {
		return msg.NewFault(msg.Invalid, "model must be written provider/model, such as ollama_chat/qwen3:8b")
	}
	if err := validScope(n.MemoryScope); err != nil {
		return err
	}
	_, err := ask(ctx, s, n.Session, func(_ *actor, c *change) (struct{}, error) { return struct{}{}, c.make(n) })
	return err
}

// Patch changes what p names.
func (s *Service) Patch(ctx context.Context, session string, p msg.ChatPatch) (msg.ChatRow, error) {
	return ask(ctx, s, session, func(a *actor, c *change) (msg.ChatRow, error) {
		if err := c.patch(p); err != nil {
			return msg.ChatRow{}, err
		}
		return Chat(a.chat.row(session)), nil
	})
}

// Delete ends a chat for good. Its attachments under screens/ and selections/ go too, unless another chat has them.
func (s *Service) Delete(ctx context.Context, session string) error { return s.end(ctx, session, "") }

func (s *Service) end(ctx context.Context, session, reason string) error {
	_, err := ask(ctx, s, session, func(a *actor, c *change) (struct{}, error) {
		var only []string
		err := journalRead(s.o.Journal, func(r journal.Reader) (err error) {
			only, err = s.tables.onlyAttachedTo(r, session)
			return err
		})
		if err != nil {
			return struct{}{}, err
		}
		return struct{}{}, c.delete(reason, only)
	})
	return err
}

// Trust is "I've checked it, trust this chat again".
func (s *Service) Trust(ctx context.Context, session, upto string) (msg.TrustResult, error) {
	return ask(ctx, s, session, func(a *actor, c *change) (msg.TrustResult, error) {
		if upto != "" && a.chat.exists {
			ok := false
			err := journalRead(s.o.Journal, func(r journal.Reader) (err error) {
				_, ok, err = s.tables.Messages.Get(r, []byte(session+upto))
				return err
			})
			if err != nil {
				return msg.TrustResult{}, err
			}
			if !ok {
				return msg.TrustResult{}, msg.NewFault(msg.Invalid, "upto must be the id of a message of this chat")
			}
		}
		return c.trust(upto, "desktop")
	})
}

// Answer decides a waiting approval request; false or msg.ErrNoApproval when nothing waits for it. Via says where the answer was
// given. What a wide yes leaves behind is kept before this returns.
func (s *Service) Answer(ctx context.Context, approval, decision, via string) (bool, error) {
	var session string
	err := journalRead(s.o.Journal, func(r journal.Reader) error {
		row, ok, err := s.tables.Approvals.Get(r, []byte(approval))
		if err == nil && !ok {
			return msg.ErrNoApproval
		}
		if err == nil {
			session = row.Session
		}
		return err
	})
	if err != nil {
		return false, err
	}
	if !contains([]string{"allow", "allow_session", "allow_timed", "allow_always", "allow_task", "deny"}, decision) {
		return false, msg.NewFault(msg.NotFound, "decision must be allow, allow_session, allow_timed, allow_always or deny")
	}
	a, err := ask(ctx, s, session, func(_ *actor, c *change) (*agent.Answer, error) { return c.answer(approval, decision), nil })
	if err == nil && a == nil {
		err = msg.ErrNoApproval
	}
	if err != nil {
		return false, err
	}
	return true, s.widen(ctx, a, via)
}

// widen keeps a yes that is wider than its chat. Its id is the request's, so the same answer is never kept twice. A crash before
// it is kept means that the person is asked again: nothing is ever wider than what is on disk.
func (s *Service) widen(ctx context.Context, a *agent.Answer, via string) error {
	if s.o.Consent == nil || a.Decision != policy.AllowTimed && a.Decision != policy.AllowAlways {
		return nil
	}
	if via == "" {
		via = "desktop"
	}
	name := a.Request.Call.Name
	if a.Decision == policy.AllowAlways {
		return s.o.Consent.AlwaysAllow(ctx, name, via)
	}
	g := msg.Grant{ID: a.Request.Approval, Tool: name, Label: name, Scope: msg.GrantTimed, Risk: a.Request.Risk.String(), Via: via, CreatedAt: msg.Time{Time: a.AnsweredAt}}
	if e, ok := s.o.Registry().Lookup(name); ok {
		g.Label, g.App = plainName(e), e.Plugin.DisplayName
	}
	g.ExpiresAt = &msg.Time{Time: a.AnsweredAt.Add(time.Duration(a.Request.GrantMinutes) * time.Minute)}
	return s.o.Consent.Grant(ctx, g)
}

// Watch pushes the state of the running turn, if any, into sub, marked as a replay; from then on sub gets its deltas.
func (s *Service) Watch(ctx context.Context, session string, sub *bus.Sub) error {
	_, err := ask(ctx, s, session, func(a *actor, c *change) (struct{}, error) {
		if !a.chat.mayWatch(sub.ID()) {
			return struct{}{}, msg.ErrNoChat
		}
		for _, e := range a.chat.running() {
			sub.Push(e)
		}
		return struct{}{}, nil
	})
	return err
}

// running is the state of the open turn as events.
func (ch *chat) running() []bus.Event {
	if ch.turn == nil || ch.Turn == nil {
		return nil
	}
	turn := ch.Turn.Id
	replay := func(typ string, f wire.Fields) bus.Event {
		if len(f) > 0 {
			f = append(append(wire.Fields{}, f...), ',')
		}
		return passing(ch.id, turn, typ, append(f, `"replay":true`...))
	}
	text, thinking := ch.turn.Partial()
	first := replay("session", nil)
	first.Opens = true
	list := []bus.Event{first}
	if ch.turn.State() == agent.Calling {
		if thinking != "" {
			list = append(list, replay("thinking_delta", wire.Of(map[string]string{"text": thinking})))
		}
		if text != "" {
			list = append(list, replay("text_delta", wire.Of(map[string]string{"text": text})))
		}
	}
	for _, call := range ch.turn.Open() {
		list = append(list, replay("tool_call", callFields(&pb.Call{Id: call.ID, Name: call.Name, Arguments: argumentsText(call.Arguments)})))
	}
	if r := ch.turn.Pending(); r != nil {
		list = append(list, replay("approval_request", requestFields(*r)))
	}
	if w := ch.turn.Undoable(); w != nil {
		list = append(list, replay("undo_window", windowFields(*w)))
	}
	return list
}

// Running are the chats with an open turn.
func (s *Service) Running() (list []string) {
	_ = journalRead(s.o.Journal, func(r journal.Reader) error {
		for item, err := range r.Scan(journal.Scan{Table: tableOpenTurns}) {
			if err != nil {
				return err
			}
			list = append(list, string(item.Key))
		}
		return nil
	})
	return list
}

// List is GET /api/sessions.
func (s *Service) List(limit int) (list []msg.ChatRow, err error) {
	err = journalRead(s.o.Journal, func(r journal.Reader) (err error) {
		list, err = s.tables.List(r, limit)
		return err
	})
	return list, plainly(err)
}

// Messages is GET /api/sessions/{id}/messages.
func (s *Service) Messages(session string, limit int) (list []msg.MessageRow, err error) {
	list = []msg.MessageRow{}
	err = journalRead(s.o.Journal, func(r journal.Reader) error {
		rows, ok, err := s.tables.Transcript(r, session, limit)
		if err == nil && !ok {
			err = msg.ErrNoChat
		}
		for _, row := range rows {
			list = append(list, Message(row))
		}
		return err
	})
	return list, plainly(err)
}

// Render writes a kept note as its wire event.
func (s *Service) Render(r journal.Reader, e journal.Entry) ([]byte, bool) {
	return s.tables.Render(r, e)
}

// Tables are the rows, for those who only read.
func (s *Service) Tables() *Tables { return s.tables }

// onlyAttachedTo lists the screens/ and selections/ files that only this chat has attached.
func (t *Tables) onlyAttachedTo(r journal.Reader, session string) ([]string, error) {
	var names []string
	for row, err := range t.Messages.Scan(r, table.Query{Prefix: []byte(session)}) {
		if err != nil {
			return nil, err
		}
		for _, n := range row.Attachments {
			if attachmentSource(n) != "" && !contains(names, n) {
				names = append(names, n)
			}
		}
	}
	var only []string
	for _, n := range names {
		shared, err := t.attachedElsewhere(r, n, session)
		if err != nil {
			return nil, err
		}
		if !shared {
			only = append(only, n)
		}
	}
	return only, nil
}

func (t *Tables) attachedElsewhere(r journal.Reader, name, session string) (bool, error) {
	for row, err := range t.Messages.Scan(r, table.Query{Index: indexAttached, Prefix: nameHash(name), Whole: true}) {
		if err != nil {
			return false, err
		}
		if row.Session != session {
			return true, nil
		}
	}
	return false, nil
}

// Attached says whether any message, sent or waiting, has the file: its name is never given again.
func (s *Service) Attached(name string) bool {
	found := true // when in doubt, the name is taken
	_ = journalRead(s.o.Journal, func(r journal.Reader) error {
		for _, err := range s.tables.Messages.Scan(r, table.Query{Index: indexAttached, Prefix: nameHash(name), Limit: 1, Whole: true}) {
			return err
		}
		for _, err := range s.tables.Queued.Scan(r, table.Query{Index: indexAttached, Prefix: nameHash(name), Limit: 1, Whole: true}) {
			return err
		}
		found = false
		return nil
	})
	return found
}

// Exists says whether the chat is there.
func (s *Service) Exists(session string) bool {
	found := false
	_ = journalRead(s.o.Journal, func(r journal.Reader) (err error) {
		_, found, err = s.tables.Sessions.Get(r, []byte(session))
		return err
	})
	return found
}
