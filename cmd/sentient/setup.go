package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sentient/actors/claudecode"
	"sentient/actors/models"
	"sentient/actors/msg"
	"sentient/runtime/app"
	"sentient/runtime/proc"
	"sentient/runtime/work"
	"sentient/transport/hardware"
	"sentient/transport/llm"
)

// openSetup starts what knows this computer and changes model setups.
func (e *engine) openSetup(newID func() string) error {
	e.computer = newComputer(e.work, e.models, newID)
	o := setupOptions(setupModels{modelsOf{e.models, newID, e.queue, e.live}}, e.computer, e.live, newID)
	o.Config, o.Journal, o.Work, o.Count, o.Logger = e.config, e.journal, e.work, e.count, e.log
	o.Embed = e.tryEmbedding
	var err error
	e.setups, err = models.New(e.actors, o)
	return err
}

// setupOptions is what presets and the check-up need in the engine and on the command line alike.
func setupOptions(m setupModels, computer *hardware.Detector, live *app.Live, newID func() string) models.Options {
	return models.Options{Models: m, Hardware: computer.Get, KeySet: m.keySet, Plan: m, NewID: newID, ClaudeRefusal: func(role string) string {
		if slices.Contains(claudecode.Accepting(&live.Get().Models), role) {
			return ""
		}
		return claudecode.RoleRefusal(role)
	}}
}

// programWait bounds a program that is asked about the hardware.
const programWait = 5 * time.Second

// newComputer looks at this computer. The programs it asks are runs of the kill table.
func newComputer(table *work.Table, m *llm.Client, newID func() string) *hardware.Detector {
	return hardware.New(hardware.Options{Loaded: m.LoadedHere, Run: func(ctx context.Context, program string, args ...string) ([]byte, error) {
		spec := work.Spec{ID: "hardware-" + newID(), Owner: "hardware", Origin: work.User, Label: "look at the hardware"}
		r, err := proc.Run(ctx, table, proc.Spec{Run: spec, Path: program, Args: args, Timeout: programWait})
		if err == nil && r.ExitCode != 0 {
			err = fmt.Errorf("%s ended with %d", program, r.ExitCode)
		}
		return r.Stdout, err
	}})
}

// setupModels is the model layer as the room of model setups sees it.
type setupModels struct{ modelsOf }

func (m setupModels) ProviderName(id string) string { return llm.ProviderName(id) }

func (m setupModels) keySet(_ context.Context, provider string) bool {
	return slices.ContainsFunc(m.Providers(), func(p llm.Provider) bool { return p.ID == provider && p.KeySet })
}

// SignedIn says whether a ChatGPT plan is connected.
func (m setupModels) SignedIn(ctx context.Context) bool { return m.keySet(ctx, "chatgpt") }

// Everyday is the first model of the plan's list.
func (m setupModels) Everyday(ctx context.Context) (string, error) {
	list, err := m.Catalog(ctx, "chatgpt")
	if err == nil && len(list) == 0 {
		err = msg.NewFault(msg.Conflict, "Your ChatGPT plan offers no models right now. Try again later.")
	}
	if err != nil {
		return "", err
	}
	return list[0].ID, nil
}

// tryEmbedding waits for a local model's turn, then asks for one vector.
func (e *engine) tryEmbedding(ctx context.Context, model string) (int, error) {
	release, err := queued(ctx, e.queue, e.live, msg.ModelRequest{Model: model, Role: "embedding", Job: "interactive"})
	if err != nil {
		return 0, err
	}
	defer release()
	return embeddingSize(ctx, e.models, model)
}

func embeddingSize(ctx context.Context, c *llm.Client, model string) (int, error) {
	v, err := c.Embed(ctx, model, []string{"Is this model ready to find things by meaning?"})
	if err != nil || len(v) == 0 {
		return 0, err
	}
	return len(v[0]), nil
}

// setupOf is model setups as the gateway sees them.
type setupOf struct{ e *engine }

func (s setupOf) Hardware(ctx context.Context, refresh bool) (any, error) {
	return s.e.computer.Get(ctx, refresh), nil
}

func (s setupOf) Checkup(ctx context.Context, roles map[string]*string, emit func(any) error) error {
	return s.e.setups.Checkup(ctx, roles, emit)
}

func (s setupOf) Pull(ctx context.Context, name string, emit func(any) error) error {
	return s.e.setups.Pull(ctx, name, func(p msg.PullProgress) error { return emit(p) })
}

func (s setupOf) SetFallbacks(ctx context.Context, lists map[string][]string) error {
	return configError(s.e.setups.SetFallbacks(ctx, lists))
}

func (s setupOf) Presets(ctx context.Context) (any, error) { return s.e.setups.Presets(ctx) }

func (s setupOf) ApplyPreset(ctx context.Context, name string, localOnly bool) (any, error) {
	a, err := s.e.setups.Apply(ctx, name, localOnly)
	return a, configError(err)
}

func (s setupOf) UndoPreset(ctx context.Context) (any, error) {
	a, err := s.e.setups.Undo(ctx)
	return a, configError(err)
}

func (s setupOf) SavePreset(ctx context.Context, name string, overwrite bool) (any, error) {
	p, err := s.e.setups.Save(ctx, name, overwrite)
	return p, configError(err)
}

func (s setupOf) RenamePreset(ctx context.Context, name, to string) (any, error) {
	p, err := s.e.setups.Rename(ctx, name, to)
	return p, configError(err)
}

func (s setupOf) DeletePreset(ctx context.Context, name string) error {
	return configError(s.e.setups.Delete(ctx, name))
}
