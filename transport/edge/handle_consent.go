package edge

import (
	"slices"

	"sentient/actors/msg"
)

func (s *Server) grants(*request) (any, error) {
	return map[string]any{"grants": s.o.Consent.Grants()}, nil
}

func (s *Server) revokeGrant(q *request) (any, error) {
	id, err := q.id(0)
	if err != nil {
		return nil, err
	}
	return map[string]bool{"ok": true}, s.o.Consent.Revoke(q.ctx, id)
}

var errNoUndo = msg.NewFault(msg.NotFound, "Nothing is waiting to be undone: its time ran out, or it was answered already.")

// undo answers an undo window: the REST form of undo.respond.
func (s *Server) undo(q *request) (any, error) {
	o, err := q.object()
	if err != nil {
		return nil, err
	}
	id, action := o.id("undo_id"), o.text("action")
	if o.err == nil && action != "undo" && action != "send_now" {
		o.wrong("action", "must be undo or send_now")
	}
	if o.err != nil {
		return nil, o.err
	}
	done := false
	err = s.command("approval/"+id, func() (err error) {
		done, err = s.o.Consent.Undo(q.ctx, id, action)
		return err
	})
	if err == nil && !done {
		err = errNoUndo
	}
	return map[string]any{"done": true, "action": action}, err
}

func (s *Server) ruleProposals(q *request) (any, error) {
	id, err := q.id(0)
	if err != nil {
		return nil, err
	}
	status := string(q.QueryArgs().Peek("status"))
	if status == "" {
		status = "pending"
	}
	if !slices.Contains([]string{"pending", "accepted", "declined", "all"}, status) {
		return nil, refuse(422, "status must be pending, accepted, declined or all.")
	}
	return s.o.Consent.Proposals(id, status)
}

func (s *Server) decideProposal(q *request) (any, error) {
	id, err := q.id(0)
	if err != nil {
		return nil, err
	}
	o, err := q.object()
	if err != nil {
		return nil, err
	}
	decision := o.text("decision")
	if o.err == nil && decision != "accept" && decision != "decline" {
		o.wrong("decision", "must be accept or decline")
	}
	if o.err != nil {
		return nil, o.err
	}
	var p msg.RuleProposal
	err = s.command("approval/"+id, func() (err error) {
		p, err = s.o.Consent.Decide(q.ctx, id, decision == "accept")
		return err
	})
	return p, err
}
