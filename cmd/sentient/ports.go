package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"

	"sentient/actors/claudecode"
	"sentient/actors/config"
	"sentient/actors/modelqueue"
	"sentient/actors/msg"
	"sentient/actors/notify"
	"sentient/actors/session"
	"sentient/actors/tool"
	"sentient/actors/wire"
	"sentient/actors/workspace"
	"sentient/runtime/app"
	"sentient/runtime/bus"
	"sentient/runtime/work"
	"sentient/storage/blob"
	"sentient/transport/edge"
	"sentient/transport/file"
	"sentient/transport/llm"
	"sentient/transport/web"
)

// modelsOf is the model layer as chats see it.
type modelsOf struct {
	*llm.Client
	newID func() string
	queue *modelqueue.Service
	live  *app.Live
}

// Stream waits for a local model's turn and holds it until the last chunk. It gives every call an id of our own, because a
// model may use one twice and results, files and approvals are found by it.
func (m modelsOf) Stream(ctx context.Context, r msg.ModelRequest, emit func(msg.ModelChunk) error) (msg.ModelResult, error) {
	release, err := queued(ctx, m.queue, m.live, r)
	if err != nil {
		return msg.ModelResult{}, err
	}
	defer release()
	res, err := m.Client.Stream(ctx, r, emit)
	for i := range res.Calls {
		res.Calls[i].ID = "call_" + m.newID()
	}
	return res, err
}

func (m modelsOf) Window(_ context.Context, model, role string) int {
	return m.ContextLength(model, role)
}
func (m modelsOf) Name(model string) string { return m.DisplayName(model) }
func (m modelsOf) Local(model string) bool  { return m.IsLocal(model) }
func (m modelsOf) Tokens(text string) int   { return llm.CountTokens(text) }

// NumCtx is what Ollama is told to read at once; other providers are told nothing.
func (m modelsOf) NumCtx(model, role string) int {
	if p, _, _ := strings.Cut(model, "/"); p == "ollama" || p == "ollama_chat" {
		return m.ContextLength(model, role)
	}
	return 0
}

func (e *engine) modelSettings() llm.Settings {
	c := e.live.Get().Models
	s := llm.Settings{Providers: map[string]llm.ProviderSettings{}, RequestTimeout: app.Span(c.RequestTimeoutS, time.Second), LocalOnly: c.LocalOnly,
		ContextLength: c.ContextLength, ContextLengthPerRole: c.ContextLengthPerRole, Reasoning: c.Reasoning, Temperature: c.Temperature, ClaudeCode: c.ExperimentalClaudeCode}
	for id, p := range c.Providers {
		s.Providers[id] = llm.ProviderSettings{APIBase: text(p.APIBase), KeyEnv: text(p.APIKeyEnv)}
	}
	return s
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func (e *engine) webSettings() web.Settings {
	c := e.live.Get().Integrations
	return web.Settings{FetchMaxChars: c.WebFetchMaxChars, SearchProvider: c.SearchProvider, SearxngURL: c.SearxngURL}
}

// filesOf is the files folder as chats see it.
type filesOf struct {
	folder *blob.Folder
	files  *file.Files
	log    *slog.Logger
}

func (f filesOf) Attach(ctx context.Context, name, chat string) session.Attachment {
	a := f.files.Attach(ctx, name, chat)
	out := session.Attachment{Text: a.Text, MIME: a.MIME, Note: a.Note}
	if a.IsImage {
		out.Image = a.Bytes
	}
	return out
}

const savedResultLimit = 64 << 20

func (f filesOf) SaveResult(name, text string) error {
	_, err := f.folder.Save(name, strings.NewReader(text), savedResultLimit)
	return err
}

func (f filesOf) DeleteAttached(names []string) {
	for _, n := range names {
		if err := f.folder.Delete(n); err != nil {
			f.log.Error("a file of a deleted chat could not be removed", "reason", err.Error())
		}
	}
}

func (f filesOf) DeleteIncognito(chat string) {
	if err := f.folder.DeleteIncognito(chat); err != nil {
		f.log.Error("the folder of an incognito chat could not be removed", "session", chat, "reason", err.Error())
	}
}

// promptOf reads the workspace for the prompt.
type promptOf struct {
	w    *workspace.Workspace
	live *app.Live
	log  *slog.Logger
}

func (p promptOf) Prompt(budget int) (soul, user, memory string) {
	a := p.live.Get().Assistant
	s, err := p.w.Snapshot(workspace.View{Now: time.Now(), Budget: budget, Names: workspace.Names{Assistant: a.Name, User: a.UserName}})
	if err != nil {
		p.log.Warn("the workspace files could not be read", "reason", err.Error())
	}
	return s.Soul, s.User, strings.TrimSpace(s.Memory + "\n\n" + s.Yesterday + "\n\n" + s.Today)
}

// introduce writes USER.md and SOUL.md from what the first run was told.
func introduce(w *workspace.Workspace) func(config.Introduction) error {
	return func(in config.Introduction) error {
		return w.Onboard(workspace.Onboarding{Names: workspace.Names{Assistant: in.AssistantName, User: in.UserName}, Timezone: in.Timezone, Location: in.Location,
			Professional: in.Professional, Personal: in.Personal, Persona: in.Persona})
	}
}

// registry keeps the set of tools in force; tools.disabled applies at once.
type registry struct {
	plugins []msg.Plugin
	current atomic.Pointer[tool.Registry]
}

func newRegistry(live *app.Live, plugins []msg.Plugin) (*registry, error) {
	r := &registry{plugins: plugins}
	if err := r.build(live.Get()); err != nil {
		return nil, err
	}
	live.Join("the tools", r)
	return r, nil
}

func (r *registry) build(c *app.Config) error {
	reg, err := tool.New(c.Tools.Disabled, r.plugins...)
	if reg != nil {
		r.current.Store(reg)
	}
	return err
}

func (r *registry) get() *tool.Registry { return r.current.Load() }

func (r *registry) Verify(_, _ *app.Config) error { return nil }
func (r *registry) Commit(c *app.Config)          { _ = r.build(c) }

// Catalog lists everything that is built in or connected, also what a rule forbids.
func (r *registry) Catalog() []msg.Plugin {
	var list []msg.Plugin
	for _, p := range r.plugins {
		if kept, ok := r.get().Plugin(p.ID); ok && !kept.Hidden && !kept.Scoped {
			list = append(list, *kept)
		}
	}
	return list
}

// chatsOf adds the search to the chats.
type chatsOf struct {
	*session.Service
	finder  *finder
	notices *notify.Service
}

func (c chatsOf) Search(q string, limit int) ([]any, error) { return c.finder.Search(q, limit) }

// configOf is the configuration as the edge sees it.
type configOf struct{ s *config.Service }

func (c configOf) Get(context.Context) (json.RawMessage, error)    { return c.s.Get().JSON() }
func (c configOf) Schema(context.Context) (json.RawMessage, error) { return app.Schema(), nil }

func (c configOf) Put(ctx context.Context, full json.RawMessage) error {
	_, err := c.s.Put(ctx, full)
	return configError(err)
}

func (c configOf) Patch(ctx context.Context, partial json.RawMessage) (json.RawMessage, error) {
	next, err := c.s.Patch(ctx, partial)
	if err != nil {
		return nil, configError(err)
	}
	return next.JSON()
}

func (c configOf) Onboard(ctx context.Context, s edge.Setup) error {
	return configError(c.s.Onboard(ctx, config.Introduction{UserName: s.UserName, AssistantName: s.AssistantName, Timezone: s.Timezone, Location: s.Location,
		Professional: s.ProfessionalContext, Personal: s.PersonalContext, Persona: s.Persona, DailyBrief: s.DailyBrief}))
}

func configError(err error) error {
	var bad *config.Invalid
	if errors.As(err, &bad) {
		return &edge.Invalid{Detail: bad.Problems}
	}
	return err
}

// modelRoutes answers what Settings asks about models.
type modelRoutes struct {
	c     *llm.Client
	cfg   *config.Service
	queue *modelqueue.Service
	live  *app.Live
	work  *work.Table
}

func (m modelRoutes) Providers(context.Context) (any, error) { return m.c.Providers(), nil }
func (m modelRoutes) Local(ctx context.Context) (any, error) { return m.c.Local(ctx), nil }

// Test queues like any call a person waits for; its own time begins when it has the model.
func (m modelRoutes) Test(ctx context.Context, model, role string) (any, error) {
	var result llm.TestResult
	err := m.try(ctx, msg.ModelRequest{Model: model, Role: role}, func(ctx context.Context, err error) {
		if err != nil {
			result = llm.TestResult{Error: err.Error()}
			return
		}
		result = m.c.Test(ctx, model, role)
	})
	return result, err
}

// try runs fn under the kill table once the model is free; its error is why it never will be.
func (m modelRoutes) try(ctx context.Context, r msg.ModelRequest, fn func(context.Context, error)) error {
	r.Job = "interactive"
	s := work.Spec{ID: "try-" + ulid.Make().String(), Owner: "models/try", Origin: work.User, Label: "model test"}
	return m.work.Do(ctx, s, func(ctx context.Context) error {
		release, err := queued(ctx, m.queue, m.live, r)
		if err == nil {
			defer release()
		}
		fn(ctx, err)
		return nil
	})
}

// Check tries the saved key or sign-in of a plan without spending anything.
func (m modelRoutes) Check(ctx context.Context, provider string) (any, error) {
	if !slices.Contains([]string{"anthropic", "openrouter", "nous", "chatgpt"}, provider) {
		return nil, msg.NewFault(msg.NotFound, fmt.Sprintf("There is no plan called %q to check.", provider))
	}
	text, err := m.c.CheckProvider(ctx, provider)
	if me, ok := msg.AsModelError(err); ok {
		return map[string]any{"ok": false, "error": me.Message}, nil
	}
	return map[string]any{"ok": err == nil, "detail": text}, err
}

// SetRoles refuses Claude Code for a role that can't use it.
func (m modelRoutes) SetRoles(ctx context.Context, roles map[string]*string) (any, error) {
	roles = fastAsPrimary(roles, m.live.Get().Models.Roles.Primary)
	if text := claudecode.RefuseRoles(&m.live.Get().Models, roles); text != "" {
		return nil, msg.NewFault(msg.BadRequest, text)
	}
	b, err := json.Marshal(map[string]any{"models": map[string]any{"roles": roles}})
	if err != nil {
		return nil, err
	}
	next, err := m.cfg.Patch(ctx, b)
	if err != nil {
		return nil, configError(err)
	}
	return next.Models.Roles, nil
}

// fastAsPrimary gives a fast role set to null the primary model's name: null means "use primary", and the saved role is never empty.
func fastAsPrimary(roles map[string]*string, saved string) map[string]*string {
	if fast, asked := roles["fast"]; !asked || fast != nil {
		return roles
	}
	primary, asked := roles["primary"]
	if !asked {
		primary = &saved
	}
	out := maps.Clone(roles)
	out["fast"] = primary
	return out
}

// homeOf answers what a window needs at launch.
type homeOf struct{ e *engine }

func (h homeOf) Assistant() string { return h.e.live.Get().Assistant.Name }

func (h homeOf) Health() any {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	if ok, report := h.e.health.Report(ctx); !ok {
		return report
	}
	return nil
}

func (h homeOf) Bootstrap(ctx context.Context) (any, error) {
	c := h.e.live.Get()
	unread, err := h.e.notices.Unread()
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"version": version, "home": h.e.home.Dir, "assistant": c.Assistant, "models": c.Models.Roles,
		"memory_enabled": false, "unread_notifications": unread, "ui": c.UI,
		"features": map[string]bool{"voice": false, "proactivity": false}, "stop": h.e.stop.State(),
	}, nil
}

func presenceEvent(inApp bool, at time.Time) bus.Event {
	const typ = "presence.changed"
	return bus.Event{Kind: typ, Body: wire.Body(typ, "", "", wire.Domain(map[string]bool{"in_app": inApp}, at))}
}
