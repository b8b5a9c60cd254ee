package edge

import (
	"sentient/actors/msg"
)

func (s *Server) tools(*request) (any, error) {
	type tool struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Risk        string `json:"risk"`
	}
	type plugin struct {
		ID            string `json:"id"`
		DisplayName   string `json:"display_name"`
		Description   string `json:"description"`
		Category      string `json:"category"`
		Icon          string `json:"icon"`
		Auth          string `json:"auth"`
		SelectionHint string `json:"selection_hint"`
		Tools         []tool `json:"tools"`
	}
	list := []plugin{}
	for _, p := range s.o.Tools.Catalog() {
		row := plugin{p.ID, p.DisplayName, p.Description, p.Category, p.Icon, p.Auth, p.SelectionHint, []tool{}}
		for _, t := range p.Tools {
			row.Tools = append(row.Tools, tool{t.Name, t.Description, t.Risk.String()})
		}
		list = append(list, row)
	}
	return list, nil
}

func (s *Server) providers(q *request) (any, error) { return s.o.Models.Providers(q.ctx) }

func (s *Server) modelBusy(q *request) (any, error) { return s.o.Queue.Busy(q.ctx) }

func (s *Server) localModels(q *request) (any, error) { return s.o.Models.Local(q.ctx) }

func (s *Server) testModel(q *request) (any, error) {
	o, err := q.object()
	if err != nil {
		return nil, err
	}
	model, role := o.text("model"), o.text("role")
	if o.err == nil && !validModel(model) {
		o.wrong("model", "must be provider/model")
	}
	if o.err != nil {
		return nil, o.err
	}
	return s.o.Models.Test(q.ctx, model, role)
}

func (s *Server) testEmbedding(q *request) (any, error) {
	o, err := q.object()
	if err != nil {
		return nil, err
	}
	model := o.text("model")
	if o.err == nil && !validModel(model) {
		o.wrong("model", "must be provider/model")
	}
	if o.err != nil {
		return nil, o.err
	}
	return s.o.Models.TestEmbedding(q.ctx, model)
}

var roleNames = []string{"primary", "fast", "planner", "executor", "embedding", "vision", "voice"}

// setRoles changes only the roles that were sent; null means "use primary".
func (s *Server) setRoles(q *request) (any, error) {
	o, err := q.object()
	if err != nil {
		return nil, err
	}
	roles := map[string]*string{}
	for _, name := range roleNames {
		v := o.maybe(name)
		switch {
		case v == nil:
		case *v == "":
			roles[name] = nil
		case !validModel(*v):
			o.wrong(name, "must be provider/model, or null to use the primary model")
		default:
			roles[name] = v
		}
	}
	if o.err != nil {
		return nil, o.err
	}
	return s.o.Models.SetRoles(q.ctx, roles)
}

func (s *Server) checkProvider(q *request) (any, error) {
	id, err := q.id(0)
	if err != nil {
		return nil, err
	}
	return s.o.Models.Check(q.ctx, id)
}

func (s *Server) secrets(q *request) (any, error) {
	list, err := s.o.Secrets.List(q.ctx)
	if list == nil {
		list = []SecretInfo{}
	}
	return list, err
}

// setSecret takes a value and never gives it back.
func (s *Server) setSecret(q *request) (any, error) {
	name, err := q.id(0)
	if err != nil {
		return nil, err
	}
	if name == "chatgpt" {
		return nil, msg.NewFault(msg.BadRequest, "ChatGPT is connected by signing in, not with a key.")
	}
	o, err := q.object()
	if err != nil {
		return nil, err
	}
	value := o.text("value")
	if o.err == nil && value == "" {
		o.wrong("value", "is empty: to remove a key, delete it")
	}
	if o.err != nil {
		return nil, o.err
	}
	return map[string]bool{"ok": true}, s.o.Secrets.Set(q.ctx, name, value)
}

func (s *Server) deleteSecret(q *request) (any, error) {
	name, err := q.id(0)
	if err != nil {
		return nil, err
	}
	return map[string]bool{"ok": true}, s.o.Secrets.Delete(q.ctx, name)
}
