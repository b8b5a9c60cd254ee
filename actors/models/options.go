// Package models owns changes of the model setup that are more than one setting: presets with their undo, and fallbacks. It also
// owns the check-up of the roles' models. It changes the configuration only through the room that owns it.
package models

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"sentient/actors/msg"
	"sentient/runtime/app"
	"sentient/runtime/work"
	"sentient/storage/journal"
)

// Config is the room that owns the configuration. Edit runs fn on a copy of what is in force, with nothing in between.
type Config interface {
	Get() *app.Config
	Edit(ctx context.Context, fn func(next *app.Config) error) (*app.Config, error)
}

// Models is what presets and the check-up need of the model layer. Errors are *msg.ModelError.
type Models interface {
	Stream(ctx context.Context, r msg.ModelRequest, emit func(msg.ModelChunk) error) (msg.ModelResult, error)
	// Available says, without calling the model, why it can't answer now; nil when it may.
	Available(ctx context.Context, model string) error
	// CheckProvider tries a provider's address without spending anything; the text is a plain sentence.
	CheckProvider(ctx context.Context, provider string) (string, error)
	IsLocal(model string) bool
	Name(model string) string
	ProviderName(provider string) string
	Loaded(ctx context.Context) ([]msg.LoadedModel, error)
	About(ctx context.Context, model string) (msg.ModelInfo, error)
	Pull(ctx context.Context, name string, emit func(msg.PullProgress) error) error
}

// Plan is a ChatGPT plan that may stand in for a cloud key.
type Plan interface {
	SignedIn(ctx context.Context) bool
	// Everyday is the model that the plan ranks first. The error is a plain sentence.
	Everyday(ctx context.Context) (model string, err error)
}

// Options of the room.
type Options struct {
	Config   Config
	Journal  journal.Journal
	Work     *work.Table
	Models   Models
	Hardware func(ctx context.Context, refresh bool) msg.Hardware
	// KeySet says whether a provider's key is set.
	KeySet func(ctx context.Context, provider string) bool
	// Embed tries an embedding model and gives the length of its vectors; nil: it cannot be tried.
	Embed func(ctx context.Context, model string) (int, error)
	Plan  Plan // nil: nobody can sign in
	// ClaudeRefusal is why models of the person's own Claude Code may not serve a role, as one sentence; "" when they may. Nil: they
	// may everywhere.
	ClaudeRefusal func(role string) string
	// Count counts a finished model call of the check-up; nil leaves it out.
	Count  func(msg.CountedCall)
	NewID  func() string
	Now    func() time.Time
	Logger *slog.Logger
}

// Validate fills the defaults and says what is missing.
func (o *Options) Validate() error {
	if o.Config == nil || o.Models == nil || o.Hardware == nil || o.KeySet == nil || o.NewID == nil {
		return errors.New("models: Config, Models, Hardware, KeySet and NewID are needed")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Count == nil {
		o.Count = func(msg.CountedCall) {}
	}
	return nil
}
