package session

import (
	"strings"

	"sentient/actors/agent"
	"sentient/actors/msg"
	"sentient/actors/policy"
	"sentient/actors/wire"
	pb "sentient/proto/session"
	"sentient/storage/journal"
)

// send is a person's message: it starts a turn, joins the running one, or waits for it to end.
func (c *change) send(m msg.Send, known *pb.ClientRow) (msg.Sent, error) {
	ch := c.chat
	if err := checkSend(m); err != nil {
		return msg.Sent{}, err
	}
	if !ch.exists && !m.New {
		return msg.Sent{}, msg.ErrNoChat
	}
	if known != nil {
		return msg.Sent{Session: ch.id, Turn: known.Turn, MessageID: known.Message, Steered: known.Steered, Repeated: true}, nil
	}
	if ch.turn != nil && m.MustBeIdle {
		return msg.Sent{}, msg.NewFault(msg.Conflict, "This chat is still answering. Wait for the reply to end.")
	}
	c.create(msg.NewChat{Incognito: m.Incognito, Channel: m.Channel, Via: m.Via})
	c.admit(m.Via)
	q := &pb.QueuedRow{Session: ch.id, Text: m.Text, Attachments: m.Attachments, Model: m.Model, ClientId: m.ClientID, From: m.From, Epoch: ch.epoch}
	if ch.turn != nil {
		return c.enqueue(q, len(m.Attachments) > 0 || m.From != ""), nil
	}
	if len(ch.Queue) > 0 { // waits for Resume since a restart, and is older
		sent := c.enqueue(q, true)
		c.nextTurn()
		return sent, nil
	}
	q.Turn = ch.newID()
	ids := c.startTurn([]*pb.QueuedRow{q})
	c.remember(m.ClientID, &pb.ClientRow{Message: ids[0], Turn: q.Turn})
	return msg.Sent{Session: ch.id, Turn: q.Turn, MessageID: ids[0]}, nil
}

func checkSend(m msg.Send) error {
	if strings.TrimSpace(m.Text) == "" && len(m.Attachments) == 0 {
		return msg.NewFault(msg.Invalid, "text is empty: write a message or attach a file")
	}
	if m.Model != "" && !validModel(m.Model) {
		return msg.NewFault(msg.Invalid, "model must be written provider/model, such as ollama_chat/qwen3:8b")
	}
	for _, a := range m.Attachments {
		if err := validText("attachments", a); err != nil {
			return err
		}
	}
	return validText("text", m.Text)
}

// validModel: "provider/model" with both parts.
func validModel(m string) bool {
	p, name, ok := strings.Cut(m, "/")
	return ok && p != "" && name != "" && validText("model", m) == nil && !strings.ContainsAny(m, " \t\n\r")
}

// create makes the chat when it is new.
func (c *change) create(n msg.NewChat) {
	if c.chat.exists {
		return
	}
	if n.Channel == "" {
		n.Channel = "desktop"
	}
	owner := ""
	if n.Incognito {
		owner = n.Via
	}
	c.event(&pb.Event{Kind: &pb.Event_Created{Created: &pb.Created{Channel: n.Channel, Incognito: n.Incognito, Model: n.Model, MemoryScope: n.MemoryScope, Owner: owner}}})
	c.touched = true
	if n.Incognito {
		c.audience = true
	}
}

// admit lets a socket that writes in an incognito chat see it.
func (c *change) admit(via string) {
	if !c.chat.Incognito || via == "" || contains(c.chat.Owners, via) {
		return
	}
	c.event(&pb.Event{Kind: &pb.Event_Changed{Changed: &pb.Changed{Owners: []string{via}}}})
	c.audience = true
}

// remember keeps a client_id, so that the same message is never taken twice.
func (c *change) remember(client string, row *pb.ClientRow) {
	if client != "" {
		row.Session = c.chat.id
		c.row(clientRow(c.chat.id, client, row))
	}
}

// enqueue keeps a message that waits. A steer joins the running reply unless a message with its own turn waits before it.
func (c *change) enqueue(q *pb.QueuedRow, own bool) msg.Sent {
	ch := c.chat
	q.Id, q.OwnTurn = ch.newID(), own
	if own {
		q.Turn = ch.newID()
	}
	joins := !own && !ch.ownTurnWaits()
	ch.queued[q.Id] = q
	c.event(&pb.Event{Kind: &pb.Event_Queued{Queued: &pb.Queued{Id: q.Id, OwnTurn: own, Turn: q.Turn, ClientId: q.ClientId}}})
	c.row(ch.tables.Queued.Put(q))
	c.remember(q.ClientId, &pb.ClientRow{Turn: q.Turn, Steered: !own})
	if joins {
		c.step(agent.Steered{Steer: agent.Steer{ID: q.Id, Text: q.Text}})
	}
	return msg.Sent{Session: ch.id, Turn: q.Turn, Steered: !own, Queued: own}
}

func (ch *chat) ownTurnWaits() bool {
	for _, q := range ch.Queue {
		if q.OwnTurn {
			return true
		}
	}
	return false
}

// make is POST /api/sessions.
func (c *change) make(n msg.NewChat) error {
	if c.chat.exists {
		return msg.NewFault(msg.Conflict, "This chat exists already.")
	}
	c.create(n)
	return nil
}

// stop is the person's stop of the running reply: finishTurn drops the steers it had not seen and starts what waits.
func (c *change) stop() bool {
	if c.chat.turn == nil {
		return false
	}
	c.step(agent.StoppedByPerson{})
	return true
}

// patch changes title, model or memories.
func (c *change) patch(p msg.ChatPatch) error {
	if !c.chat.exists {
		return msg.ErrNoChat
	}
	ch := &pb.Changed{}
	said := map[string]any{"session_id": c.chat.id}
	if p.Title != nil {
		t := strings.TrimSpace(*p.Title)
		if err := validText("title", t); err != nil {
			return err
		}
		if t == "" || len([]rune(t)) > 200 {
			return msg.NewFault(msg.Invalid, "title must be 1 to 200 characters")
		}
		ch.Title, said["title"] = &t, t
	}
	if p.Model != nil {
		if *p.Model != "" && !validModel(*p.Model) {
			return msg.NewFault(msg.Invalid, "model must be written provider/model, such as ollama_chat/qwen3:8b")
		}
		ch.Model, said["model"] = p.Model, orNil(*p.Model)
	}
	if p.MemoryScope != nil {
		if err := validScope(*p.MemoryScope); err != nil {
			return err
		}
		ch.MemoryScope, said["memory_scope"] = p.MemoryScope, scopeOr(*p.MemoryScope)
	}
	if len(said) == 1 {
		return nil
	}
	c.event(&pb.Event{Kind: &pb.Event_Changed{Changed: ch}})
	c.touched = true
	c.domain(noteUpdated, said)
	return nil
}

func validScope(s string) error {
	if strings.EqualFold(s, "always") {
		return msg.NewFault(msg.Invalid, `memory_scope can't be "always": pick personal, work or a project's name`)
	}
	if len(s) > 100 {
		return msg.NewFault(msg.Invalid, "memory_scope must be at most 100 characters")
	}
	return validText("memory_scope", s)
}

func scopeOr(s string) string {
	if s == "" {
		return "personal"
	}
	return s
}

// delete ends the chat and everything of it. reason is "incognito" when the engine closed it, else "".
func (c *change) delete(reason string, attached []string) error {
	if !c.chat.exists {
		return msg.ErrNoChat
	}
	asked, undoable := c.chat.Turn.GetApproval(), c.chat.Turn.GetUndo()
	turn := ""
	if c.chat.turn != nil {
		turn = c.turnID()
		c.cutTurn()
	}
	said := map[string]any{"session_id": c.chat.id}
	if reason != "" {
		said["reason"] = reason
	}
	incognito := c.chat.Incognito
	c.events, c.rows, c.notes = nil, nil, nil // the chat goes: only its end is told
	if turn != "" {
		d := doneFields{Cancelled: true, Memories: []any{}, Sources: []msg.AnswerSource{}, Checks: []msg.OutcomeCheck{}}
		c.notes = append(c.notes, journal.Note{Type: noteGone, Live: passing(c.chat.id, turn, "done", wire.Of(d))})
	}
	c.domain(noteDeleted, said)
	if asked != "" {
		c.row(c.chat.tables.Approvals.Delete([]byte(asked)))
	}
	if undoable != "" {
		c.row(c.chat.tables.Undos.Delete([]byte(undoable)))
	}
	c.deleted = true
	c.do(forget{Attached: attached, Incognito: incognito})
	return nil
}

// trust clears the outside-content mark, unless outside content came after upto.
func (c *change) trust(upto, via string) (msg.TrustResult, error) {
	ch := c.chat
	if !ch.exists {
		return msg.TrustResult{}, msg.ErrNoChat
	}
	was := ""
	if ch.Untrusted != nil {
		was = *ch.Untrusted
	}
	r := msg.TrustResult{OK: true, Was: was, Trusted: true}
	if was == "" {
		return r, nil
	}
	if upto != "" && ch.LastOutside > upto {
		newer := ch.LastSource
		if newer == "" {
			newer = was
		}
		r.Trusted, r.Untrusted, r.Writer = false, newer, ch.LastWriter
		c.event(&pb.Event{Kind: &pb.Event_Changed{Changed: &pb.Changed{Untrusted: &newer}}})
		c.touched = true
		c.domain(noteUpdated, map[string]any{"session_id": ch.id, "untrusted": newer})
		return r, nil
	}
	clean := ""
	c.event(&pb.Event{Kind: &pb.Event_Changed{Changed: &pb.Changed{Untrusted: &clean}}})
	c.addMessage(&pb.MessageRow{Role: "event", Name: "trusted", Content: string(wire.Marshal(struct {
		Event string  `json:"event"`
		Was   string  `json:"was"`
		Via   string  `json:"via"`
		Upto  *string `json:"upto"`
	}{"trusted", was, via, orNil(upto)}))})
	c.touched = true
	c.domain(noteUpdated, map[string]any{"session_id": ch.id, "untrusted": ""})
	return r, nil
}

// answer is a person's decision about the open request. A wider yes than offered counts as allow. It gives the request
// and the decision that counts; nil when nothing waits.
func (c *change) answer(approval, decision string) *agent.Answer {
	if c.chat.turn == nil {
		return nil
	}
	r := c.chat.turn.Pending()
	if r == nil || r.Approval != approval {
		return nil
	}
	if !contains(r.Choices, decision) {
		if !strings.HasPrefix(decision, "allow") {
			return nil
		}
		decision = policy.Allow
	}
	if decision == policy.AllowTimed || decision == policy.AllowAlways {
		c.chat.grantHere(r.Call.Name, r.Risk)
	}
	a := &agent.Answer{Request: *r, Decision: decision, AnsweredAt: c.now}
	c.step(agent.Decided{Approval: approval, Decision: decision, At: c.now})
	return a
}

// grantHere lets a wide yes count in this turn at once, while it is on its way to where it is kept.
func (ch *chat) grantHere(tool string, risk msg.Risk) {
	if ch.granting == nil {
		ch.granting = granting{}
	}
	ch.granting[tool] = max(ch.granting[tool], risk)
}

// titled takes the title a model wrote, unless the chat was named meanwhile.
func (c *change) titled(title string) {
	if !c.chat.exists || !c.chat.TitleIsFirstWords || title == "" {
		return
	}
	c.event(&pb.Event{Kind: &pb.Event_Changed{Changed: &pb.Changed{Title: &title, TitledByEngine: true}}})
	c.touched = true
	c.domain(noteUpdated, map[string]any{"session_id": c.chat.id, "title": title})
}

// summarized takes the summary of older turns, unless another one got further.
func (c *change) summarized(upto, text string) {
	if !c.chat.exists || upto <= c.chat.SummaryUpto || text == "" {
		return
	}
	c.event(&pb.Event{Kind: &pb.Event_Summarized{Summarized: &pb.Summarized{Upto: upto}}})
	c.row(c.chat.tables.Summaries.Put(&pb.SummaryRow{Session: c.chat.id, Upto: upto, Text: text}))
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}
