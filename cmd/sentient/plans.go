package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sentient/actors/claudecode"
	"sentient/actors/modelqueue"
	"sentient/actors/msg"
	"sentient/actors/plans"
	"sentient/actors/wire"
	"sentient/runtime/app"
	"sentient/runtime/work"
	"sentient/transport/claude"
	"sentient/transport/llm"
	"sentient/transport/oauth"
	"sentient/transport/plan"
)

// openClaude prepares the way to the person's own Claude Code. It starts nothing; its processes are runs of the kill table.
func (e *engine) openClaude() error {
	e.work = work.New(work.Options{Logger: e.log})
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("where this program is cannot be told: %w", err)
	}
	e.claude, err = claude.New(claude.Options{Table: e.work, Scratch: filepath.Join(e.home.Dir, "tmp", "claude-code"), Bridge: []string{self, "claude-code-tools"},
		Refuse:  func(role, job string) string { return claudecode.Refusal(&e.live.Get().Models, role, job) },
		Acquire: e.acquireClaude,
		Timeout: func() time.Duration { return app.Span(e.live.Get().Models.RequestTimeoutS, time.Second) },
		NewID:   newIDs().next, Logger: e.log})
	return err
}

// acquireClaude waits for a place in Claude Code's pool.
func (e *engine) acquireClaude(ctx context.Context, c claude.Call) (func(), error) {
	return e.queue.AcquireClaudeCode(ctx, modelqueue.Call{Model: c.Model, Role: c.Role, Job: c.Job})
}

// claudeCodeTools is the bridge that Claude Code starts: it shows the tools of a file on stdio.
func (m *Main) claudeCodeTools(path string) error {
	tools, err := os.ReadFile(path)
	if err != nil {
		return errors.New("the list of tools cannot be read; Claude Code starts this itself")
	}
	return claude.Bridge(tools, m.Stdin, m.Stdout)
}

// sweepClaude removes what a killed engine left of Claude Code.
func (e *engine) sweepClaude(context.Context) {
	if err := e.claude.Sweep(time.Now()); err != nil {
		e.log.Error("old scratch folders of Claude Code could not be removed", "reason", err.Error())
	}
}

// moveBack moves roles off Claude Code when it stops doing everything, in the same save, and says so once.
func (e *engine) moveBack(now, next *app.Config) (*app.Config, func()) {
	out, moves := claudecode.MoveBack(now, next)
	if len(moves) == 0 {
		return next, nil
	}
	return out, func() {
		e.notices.Later(claudecode.Notice(out, moves, e.models.DisplayName, wire.Marshal), func(err error) {
			if err != nil {
				e.log.Error("the news of Claude Code's roles could not be told", "reason", err.Error())
			}
		})
	}
}

// openPlans starts what connects plans.
func (e *engine) openPlans() error {
	var err error
	if e.memory, err = plans.New(e.actors, plans.Options{Journal: e.journal, Logger: e.log}); err != nil {
		return err
	}
	receiver := oauth.New(oauth.Options{Port: func() int { return e.live.Get().Integrations.OAuthRedirectPort }, Logger: e.log})
	e.later("sign-ins", receiver.Close)
	e.plans, err = plan.New(plan.Options{Receiver: receiver, Secrets: e.keys.store, Memory: e.memory, ClientID: func() string { return e.live.Get().Models.ChatGPTClientID },
		Changed: e.planChanged, Endpoints: e.endpoints, Logger: e.log})
	return err
}

// planChanged forgets what was known with the old key, then tells the clients.
func (e *engine) planChanged(ctx context.Context, provider string) {
	e.keys.forget(provider)
	e.models.Forget(provider)
	if err := e.memory.Changed(ctx); err != nil {
		e.log.Error("a change of a plan was not told", "reason", err.Error())
	}
}

// planOf is the ChatGPT plan as the model layer sees it; the layer is there before the plans are.
type planOf struct{ e *engine }

func (p planOf) SignedIn(ctx context.Context) bool {
	return p.e.plans != nil && p.e.plans.SignedIn(ctx)
}

func (p planOf) Token(ctx context.Context, stale string) (string, error) {
	return p.e.plans.Token(ctx, stale)
}

// plansOf is the plans as the gateway sees them.
type plansOf struct{ e *engine }

func (p plansOf) ConnectOpenRouter(ctx context.Context) (any, error) {
	return started(p.e.plans.ConnectOpenRouter(ctx))
}

func (p plansOf) ConnectChatGPT(ctx context.Context) (any, error) {
	return started(p.e.plans.ConnectChatGPT(ctx))
}

// started gives a refusal its status.
func started(s oauth.Started, err error) (any, error) {
	var refused *oauth.Refusal
	if errors.As(err, &refused) {
		return nil, msg.NewFault(msg.Conflict, refused.Text)
	}
	return s, err
}

func (p plansOf) Status(provider, state string) (any, bool) { return p.e.plans.Status(provider, state) }
func (p plansOf) Account(ctx context.Context) (any, error)  { return p.e.plans.Account(ctx) }
func (p plansOf) Welcomed(ctx context.Context) error        { return p.e.plans.Welcomed(ctx) }
func (p plansOf) SignOut(ctx context.Context) error         { return p.e.plans.SignOut(ctx) }

func (p plansOf) Catalog(ctx context.Context, provider string) (any, error) {
	list, err := p.e.models.Catalog(ctx, provider)
	if errors.Is(err, llm.ErrNoCatalog) {
		return nil, msg.NewFault(msg.NotFound, "There is no list of models for this provider.")
	}
	return list, err
}

// claudeReport is GET /api/models/claude-code.
type claudeReport struct {
	Enabled       bool     `json:"enabled"`
	Installed     bool     `json:"installed"`
	Version       *string  `json:"version"`
	Detail        string   `json:"detail"`
	Models        []string `json:"models"`
	FastModel     string   `json:"fast_model"`
	Everywhere    bool     `json:"everywhere"`
	Roles         []string `json:"roles"`
	MaxConcurrent int      `json:"max_concurrent"`
	Running       int      `json:"running"`
	Waiting       int      `json:"waiting"`
}

// ClaudeCode asks the program for its version only while it is turned on, and no model ever.
func (p plansOf) ClaudeCode(ctx context.Context) (any, error) {
	m := &p.e.live.Get().Models
	r := claudeReport{Enabled: m.ExperimentalClaudeCode, Installed: p.e.claude.Installed(), Models: claudecode.Models(), FastModel: claudecode.FastModel,
		Everywhere: claudecode.Everywhere(m), Roles: claudecode.Accepting(m), MaxConcurrent: m.ClaudeCodeMaxConcurrent}
	if r.Enabled && r.Installed {
		if v, ok := p.e.claude.Version(ctx); ok {
			r.Version = &v
		}
	}
	r.Detail = r.sentence()
	var err error
	r.Running, r.Waiting, err = p.e.queue.ClaudeCode(ctx)
	return r, err
}

func (r claudeReport) sentence() string {
	switch {
	case !r.Installed:
		return "Claude Code is not installed on this computer. Install it and sign in, then come back."
	case !r.Enabled:
		return "Claude Code is installed. Turn it on to chat with Claude on your own plan."
	case r.Version == nil:
		return "Claude Code is installed, but it does not answer. Run claude in a terminal to see what it needs."
	}
	return "Claude Code " + *r.Version + " is ready. It uses your own Claude login."
}
