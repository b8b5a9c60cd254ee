package edge

import (
	"sentient/actors/msg"
)

func (s *Server) sessions(q *request) (any, error) {
	limit, err := q.number("limit", 100, 10_000)
	if err != nil {
		return nil, err
	}
	rows, err := s.o.Chats.List(limit)
	if rows == nil {
		rows = []msg.ChatRow{}
	}
	return rows, err
}

// createSession takes its fields from the query, as the contract has them.
func (s *Server) createSession(q *request) (any, error) {
	incognito, err := q.queryFlag("incognito")
	if err != nil {
		return nil, err
	}
	model, err := q.query("model")
	if err != nil {
		return nil, err
	}
	scope, err := q.query("memory_scope")
	if err != nil {
		return nil, err
	}
	if err := checkChoice(model, scope); err != nil {
		return nil, err
	}
	id := newID()
	err = s.command(id, func() error {
		return s.o.Chats.Create(q.ctx, msg.NewChat{Session: id, Incognito: incognito, Model: model, MemoryScope: scope, Channel: "desktop"})
	})
	return map[string]string{"session_id": id}, err
}

// checkChoice checks a chat's model and memory scope; "" is the default of both.
func checkChoice(model, scope string) error {
	if model != "" && !validModel(model) {
		return refuse(422, `model must be provider/model, for example "anthropic/claude-sonnet-5".`)
	}
	if scope == "always" {
		return refuse(422, "memory_scope cannot be always: those memories are used in every chat anyway.")
	}
	return nil
}

// command runs one command to an owner under admission.
func (s *Server) command(owner string, do func() error) error {
	if err := s.admit.enter(owner); err != nil {
		return err
	}
	defer s.admit.leave(owner)
	return do()
}

// patchSession changes and answers only the fields that were sent.
func (s *Server) patchSession(q *request) (any, error) {
	id, err := q.id(0)
	if err != nil {
		return nil, err
	}
	o, err := q.object()
	if err != nil {
		return nil, err
	}
	patch := msg.ChatPatch{Model: o.maybe("model"), MemoryScope: o.maybe("memory_scope")}
	if _, null, sent := o.member("title"); sent && null {
		o.wrong("title", "must be text")
	} else if sent {
		title := o.text("title")
		patch.Title = &title
	}
	if o.err == nil {
		o.err = checkChoice(deref(patch.Model), deref(patch.MemoryScope))
	}
	if o.err != nil {
		return nil, o.err
	}
	var row msg.ChatRow
	err = s.command(id, func() (err error) {
		row, err = s.o.Chats.Patch(q.ctx, id, patch)
		return err
	})
	answer := map[string]any{"ok": true}
	if patch.Title != nil {
		answer["title"] = row.Title
	}
	if patch.Model != nil {
		answer["model"] = row.Model
	}
	if patch.MemoryScope != nil {
		answer["memory_scope"] = row.MemoryScope
	}
	return answer, err
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func (s *Server) deleteSession(q *request) (any, error) {
	id, err := q.id(0)
	if err != nil {
		return nil, err
	}
	return map[string]bool{"ok": true}, s.command(id, func() error { return s.o.Chats.Delete(q.ctx, id) })
}

func (s *Server) trustSession(q *request) (any, error) {
	id, err := q.id(0)
	if err != nil {
		return nil, err
	}
	o, err := q.optionalObject()
	if err != nil {
		return nil, err
	}
	upto := o.id("upto")
	if o.err != nil {
		return nil, o.err
	}
	var result msg.TrustResult
	err = s.command(id, func() (err error) {
		result, err = s.o.Chats.Trust(q.ctx, id, upto)
		return err
	})
	return result, err
}

func (s *Server) messages(q *request) (any, error) {
	id, err := q.id(0)
	if err != nil {
		return nil, err
	}
	limit, err := q.number("limit", 500, 100_000)
	if err != nil {
		return nil, err
	}
	rows, err := s.o.Chats.Messages(id, limit)
	if rows == nil {
		rows = []msg.MessageRow{}
	}
	return rows, err
}

const searchHits = 50

func (s *Server) search(q *request) (any, error) {
	text, err := q.query("q")
	if err != nil {
		return nil, err
	}
	var hits []any
	if text != "" {
		hits, err = s.o.Chats.Search(text, searchHits)
	}
	if hits == nil {
		hits = []any{}
	}
	return hits, err
}
