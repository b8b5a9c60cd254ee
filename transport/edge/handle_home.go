package edge

import (
	"encoding/json"
	"slices"

	"sentient/actors/msg"
)

// health is open, but only the token holder hears what is wrong.
func (s *Server) health(q *request) (any, error) {
	answer := map[string]any{"ok": true, "version": s.o.Version, "name": s.o.Name}
	if s.o.Home != nil && q.rights == Gateway {
		if d := s.o.Home.Health(); d != nil {
			answer["detail"] = d
		}
	}
	return answer, nil
}

func (s *Server) bootstrap(q *request) (any, error) { return s.o.Home.Bootstrap(q.ctx) }

var personas = []string{"", "friendly", "professional", "concise", "custom"}

func (s *Server) onboard(q *request) (any, error) {
	o, err := q.object()
	if err != nil {
		return nil, err
	}
	setup := Setup{UserName: o.text("user_name"), AssistantName: o.text("assistant_name"), Timezone: o.text("timezone"),
		Location: o.text("location"), ProfessionalContext: o.text("professional_context"), PersonalContext: o.text("personal_context"),
		Persona: o.text("persona"), DailyBrief: o.flag("daily_brief")}
	if !slices.Contains(personas, setup.Persona) {
		o.wrong("persona", "must be friendly, professional, concise or custom")
	}
	if o.err != nil {
		return nil, o.err
	}
	return map[string]bool{"ok": true}, s.o.Onboarding.Onboard(q.ctx, setup)
}

func (s *Server) configGet(q *request) (any, error) { return asAny(s.o.Config.Get(q.ctx)) }

func (s *Server) configSchema(q *request) (any, error) { return asAny(s.o.Config.Schema(q.ctx)) }

func asAny(raw json.RawMessage, err error) (any, error) { return raw, err }

// configBody is a body that the configuration checks by itself; here it must only be one object.
func configBody(q *request) (json.RawMessage, error) {
	b, err := q.bytes()
	if err == nil {
		_, err = decodeObject(b)
	}
	return b, err
}

func (s *Server) configPut(q *request) (any, error) {
	b, err := configBody(q)
	if err != nil {
		return nil, err
	}
	return map[string]bool{"saved": true}, s.o.Config.Put(q.ctx, b)
}

func (s *Server) configPatch(q *request) (any, error) {
	b, err := configBody(q)
	if err != nil {
		return nil, err
	}
	full, err := s.o.Config.Patch(q.ctx, b)
	if err != nil {
		return nil, err
	}
	return map[string]any{"saved": true, "config": full}, nil
}

var decisions = []string{"allow", "allow_session", "allow_task", "allow_timed", "allow_always", "deny"}

// approve answers an approval request. A decision nobody knows is 404 like a request that nobody waits for.
func (s *Server) approve(q *request) (any, error) {
	o, err := q.object()
	if err != nil {
		return nil, err
	}
	id, decision := o.id("approval_id"), o.text("decision")
	if o.err != nil {
		return nil, o.err
	}
	if id == "" || !slices.Contains(decisions, decision) {
		return nil, msg.ErrNoApproval
	}
	resolved, err := s.decide(q, id, decision)
	if err == nil && !resolved {
		err = msg.ErrNoApproval
	}
	return map[string]bool{"resolved": resolved}, err
}

func (s *Server) decide(q *request, id, decision string) (bool, error) {
	owner := "approval/" + id
	if err := s.admit.enter(owner); err != nil {
		return false, err
	}
	defer s.admit.leave(owner)
	return s.o.Chats.Answer(q.ctx, id, decision, "desktop")
}
