package edge

import (
	"context"
	"encoding/json"
)

func (s *Server) hardware(q *request) (any, error) {
	refresh, err := q.queryFlag("refresh")
	if err != nil {
		return nil, err
	}
	return s.o.Setup.Hardware(q.ctx, refresh)
}

// roleModels reads {role: model | null}. Which roles there are is for the room to say.
func (o *object) roleModels(name string) map[string]*string {
	var models map[string]*string
	if !o.read(name, "an object of roles and their models", &models) {
		return nil
	}
	for role, m := range models {
		if m != nil && !validModel(*m) {
			o.wrong(name+"."+role, "must be provider/model, or null")
		}
	}
	return models
}

// checkup streams the check of each role's model as NDJSON.
func (s *Server) checkup(q *request) (any, error) {
	o, err := q.optionalObject()
	if err != nil {
		return nil, err
	}
	roles := o.roleModels("roles")
	if o.err != nil {
		return nil, o.err
	}
	return s.lines(q, func(ctx context.Context, emit func(any) error) error { return s.o.Setup.Checkup(ctx, roles, emit) },
		func(text string) any { return map[string]string{"type": "error", "message": text} })
}

// pull streams the download of a model in Ollama as NDJSON. A failure in the middle is a line whose status is "error".
func (s *Server) pull(q *request) (any, error) {
	o, err := q.object()
	if err != nil {
		return nil, err
	}
	name := o.id("name")
	if o.err == nil && name == "" {
		o.wrong("name", `must name a model, for example "qwen3:8b"`)
	}
	if o.err != nil {
		return nil, o.err
	}
	return s.lines(q, func(ctx context.Context, emit func(any) error) error { return s.o.Setup.Pull(ctx, name, emit) },
		func(text string) any { return map[string]string{"status": "error", "error": text} })
}

const maxFallbacks = 16

// setFallbacks changes the roles that are sent; an empty list, or null, takes a role's fallbacks away.
func (s *Server) setFallbacks(q *request) (any, error) {
	o, err := q.object()
	if err != nil {
		return nil, err
	}
	lists := map[string][]string{}
	for role, raw := range o.fields {
		var list []string
		if json.Unmarshal(raw, &list) != nil || len(list) > maxFallbacks {
			o.wrong(role, "must be a list of models")
		}
		for _, m := range list {
			if !validModel(m) {
				o.wrong(role, "has an entry that is not provider/model")
			}
		}
		lists[role] = list
	}
	if o.err != nil {
		return nil, o.err
	}
	return okAnswer, s.o.Setup.SetFallbacks(q.ctx, lists)
}

var okAnswer = map[string]bool{"ok": true}

func (s *Server) presets(q *request) (any, error) { return s.o.Setup.Presets(q.ctx) }

func (s *Server) applyPreset(q *request) (any, error) {
	o, err := q.optionalObject()
	if err != nil {
		return nil, err
	}
	localOnly := o.flag("local_only")
	if o.err != nil {
		return nil, o.err
	}
	return s.o.Setup.ApplyPreset(q.ctx, q.params[0], localOnly)
}

func (s *Server) undoPreset(q *request) (any, error) { return s.o.Setup.UndoPreset(q.ctx) }

func (s *Server) savePreset(q *request) (any, error) {
	o, err := q.object()
	if err != nil {
		return nil, err
	}
	name, overwrite := o.text("name"), o.flag("overwrite")
	if o.err != nil {
		return nil, o.err
	}
	return s.o.Setup.SavePreset(q.ctx, name, overwrite)
}

func (s *Server) renamePreset(q *request) (any, error) {
	o, err := q.object()
	if err != nil {
		return nil, err
	}
	to := o.text("name")
	if o.err != nil {
		return nil, o.err
	}
	return s.o.Setup.RenamePreset(q.ctx, q.params[0], to)
}

func (s *Server) deletePreset(q *request) (any, error) {
	return okAnswer, s.o.Setup.DeletePreset(q.ctx, q.params[0])
}
