package edge

import (
	"context"

	"sentient/actors/msg"
)

// Plans connects the AI plans a person already pays for, and says what Claude Code can do (section 3). The results are the
// contract's objects; errors are *msg.Fault or *msg.ModelError where a client may see them.
type Plans interface {
	ConnectOpenRouter(ctx context.Context) (any, error)
	ConnectChatGPT(ctx context.Context) (any, error)
	// Status is how far a sign-in is; false when there is none of that state.
	Status(provider, state string) (any, bool)
	Account(ctx context.Context) (any, error)
	Welcomed(ctx context.Context) error
	SignOut(ctx context.Context) error
	// Catalog lists a provider's models. A provider without a list is a msg.NotFound fault.
	Catalog(ctx context.Context, provider string) (any, error)
	ClaudeCode(ctx context.Context) (any, error)
}

func (s *Server) claudeCode(q *request) (any, error) { return s.o.Plans.ClaudeCode(q.ctx) }

func (s *Server) connectOpenRouter(q *request) (any, error) {
	return s.o.Plans.ConnectOpenRouter(q.ctx)
}

func (s *Server) openRouterStatus(q *request) (any, error) { return s.signIn(q, "openrouter") }

func (s *Server) chatGPTAccount(q *request) (any, error) { return s.o.Plans.Account(q.ctx) }

func (s *Server) connectChatGPT(q *request) (any, error) { return s.o.Plans.ConnectChatGPT(q.ctx) }

func (s *Server) chatGPTStatus(q *request) (any, error) { return s.signIn(q, "chatgpt") }

// signIn is how far the browser sign-in of a state is.
func (s *Server) signIn(q *request, provider string) (any, error) {
	state, err := q.id(0)
	if err != nil {
		return nil, err
	}
	v, ok := s.o.Plans.Status(provider, state)
	if !ok {
		return nil, msg.NewFault(msg.NotFound, "This sign-in is not known (anymore). Start it again.")
	}
	return v, nil
}

func (s *Server) welcomed(q *request) (any, error) {
	return map[string]bool{"ok": true}, s.o.Plans.Welcomed(q.ctx)
}

func (s *Server) signOut(q *request) (any, error) {
	return map[string]bool{"ok": true}, s.o.Plans.SignOut(q.ctx)
}

func (s *Server) catalog(q *request) (any, error) {
	provider, err := q.id(0)
	if err != nil {
		return nil, err
	}
	return s.o.Plans.Catalog(q.ctx, provider)
}
