package models

import (
	"context"
	"errors"
	"strings"

	"sentient/actors/msg"
	"sentient/runtime/act"
	"sentient/runtime/work"
)

// Service is the room as others see it. Errors are *msg.Fault, *msg.ModelError, or the configuration's own refusals.
type Service struct {
	o   Options
	ref act.Ref
}

// New starts the actor.
func New(sys *act.System, o Options) (*Service, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Journal == nil || o.Work == nil {
		return nil, errors.New("models: Journal and Work are needed")
	}
	s := &Service{o: o}
	s.ref = sys.Single("presets", func() act.Behavior { return &actor{o: &s.o} })
	return s, nil
}

func (s *Service) do(ctx context.Context, p plan) (any, error) {
	return act.Ask(ctx, s.ref, func(r *act.Reply[any]) any { return &command{reply: r, plan: p} })
}

// facts asks what presets depend on. A ChatGPT plan's list of models is loaded only for the presets that may use it.
func (s *Service) facts(ctx context.Context, withPlan bool) facts {
	f := facts{local: s.o.Models.IsLocal, source: source{reason: noSource}}
	if r := s.o.Hardware(ctx, false).Recommendation; r.Tier != "unknown" && !r.CloudFirst {
		f.recommended = &r
	}
	for _, c := range cloudModels {
		if s.o.KeySet(ctx, c.provider) {
			f.source = source{provider: c.provider, label: c.label, main: c.main, fast: c.fast}
			return f
		}
	}
	if !withPlan || s.o.Plan == nil || !s.o.Plan.SignedIn(ctx) {
		return f
	}
	model, err := s.o.Plan.Everyday(ctx)
	if err != nil {
		f.source.reason = err.Error()
		return f
	}
	f.source = source{provider: "chatgpt", label: "Your ChatGPT plan", main: model, fast: model}
	return f
}

// Presets lists the presets and what is active.
func (s *Service) Presets(ctx context.Context) (List, error) {
	v, err := s.do(ctx, planList(s.facts(ctx, true)))
	if err != nil {
		return List{}, err
	}
	return v.(List), nil
}

// Apply switches to a preset; with localOnly it also turns Local only on.
func (s *Service) Apply(ctx context.Context, name string, localOnly bool) (*Applied, error) {
	cloud := sameName(name, Cloud) || sameName(name, Mixed)
	return s.switched(ctx, planApply(name, localOnly, s.facts(ctx, cloud)))
}

// Undo puts back what the last switch replaced.
func (s *Service) Undo(ctx context.Context) (*Applied, error) {
	v, err := s.do(ctx, planList(s.facts(ctx, false)))
	if err != nil {
		return nil, err
	}
	back := v.(List).UndoPreset
	cloud := back != nil && (sameName(*back, Cloud) || sameName(*back, Mixed))
	return s.switched(ctx, planUndo(s.facts(ctx, cloud)))
}

func (s *Service) switched(ctx context.Context, p plan) (*Applied, error) {
	v, err := s.do(ctx, p)
	if err != nil {
		return nil, err
	}
	a := v.(*Applied)
	a.Missing = missing(ctx, s.o.Models, a.roles)
	return a, nil
}

// Save keeps the setup in force as a preset.
func (s *Service) Save(ctx context.Context, name string, overwrite bool) (Preset, error) {
	return s.preset(ctx, planSave(strings.TrimSpace(name), overwrite, s.o.Models.IsLocal))
}

// Rename gives a preset another name.
func (s *Service) Rename(ctx context.Context, name, to string) (Preset, error) {
	return s.preset(ctx, planRename(name, strings.TrimSpace(to), s.o.Models.IsLocal))
}

func (s *Service) preset(ctx context.Context, p plan) (Preset, error) {
	v, err := s.do(ctx, p)
	if err != nil {
		return Preset{}, err
	}
	return v.(Preset), nil
}

// Delete takes a preset away.
func (s *Service) Delete(ctx context.Context, name string) error {
	_, err := s.do(ctx, planDelete(name))
	return err
}

// SetFallbacks changes the fallbacks of the roles that are named.
func (s *Service) SetFallbacks(ctx context.Context, lists map[string][]string) error {
	_, err := s.do(ctx, planFallbacks(lists))
	return err
}

// Pull downloads a model in Ollama. It ends with ctx, with emit's error, or when everything is stopped.
func (s *Service) Pull(ctx context.Context, name string, emit func(msg.PullProgress) error) error {
	return s.run(ctx, "download", func(ctx context.Context) error { return s.o.Models.Pull(ctx, name, emit) })
}

// Checkup tries the models of the roles. It changes nothing.
func (s *Service) Checkup(ctx context.Context, roles map[string]*string, emit func(any) error) error {
	return s.run(ctx, "check-up", func(ctx context.Context) error { return Checkup(ctx, s.o, roles, emit) })
}

// run does something long under the kill table and waits for it.
func (s *Service) run(ctx context.Context, label string, fn func(context.Context) error) error {
	return s.o.Work.Do(ctx, work.Spec{ID: "models-" + s.o.NewID(), Owner: string(stream), Origin: work.User, Label: label}, func(ctx context.Context) error {
		err := fn(ctx)
		if err != nil && errors.Is(context.Cause(ctx), work.ErrStopped) {
			return msg.NewFault(msg.Conflict, "Stopped.")
		}
		return err
	})
}
