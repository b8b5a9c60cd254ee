package models

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"sentient/actors/config"
	"sentient/actors/msg"
	"sentient/runtime/act"
	"sentient/runtime/app"
	"sentient/runtime/work"
	"sentient/storage/journal"
	"sentient/storage/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeModels stands for the model layer: what is available is what the test says.
type fakeModels struct {
	Models
	mu     sync.Mutex
	faults map[string]msg.ModelFault // by model
	asked  []string
	calls  int
}

func (f *fakeModels) Available(_ context.Context, model string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, model)
	if fault := f.faults[model]; fault != "" {
		return &msg.ModelError{Fault: fault, Model: model, Message: "Why " + model + " does not work."}
	}
	return nil
}
func (f *fakeModels) Stream(context.Context, msg.ModelRequest, func(msg.ModelChunk) error) (msg.ModelResult, error) {
	f.calls++
	return msg.ModelResult{}, errors.New("not in this test")
}
func (f *fakeModels) IsLocal(model string) bool {
	_, ok := ollamaName(model)
	return ok || strings.HasPrefix(model, "lm_studio/") || strings.HasPrefix(model, "builtin/")
}
func (f *fakeModels) Name(model string) string      { _, n, _ := strings.Cut(model, "/"); return n }
func (f *fakeModels) ProviderName(id string) string { return strings.ToUpper(id[:1]) + id[1:] }

type fakePlan struct {
	in    bool
	err   error
	asked int
}

func (p *fakePlan) SignedIn(context.Context) bool { return p.in }
func (p *fakePlan) Everyday(context.Context) (string, error) {
	p.asked++
	return "chatgpt/gpt-6", p.err
}

// room is the service on a real configuration and a store in memory.
type room struct {
	t      *testing.T
	path   string
	mem    *memstore.Store
	j      *journal.Committer
	sys    *act.System
	work   *work.Table
	cfg    *config.Service
	models *fakeModels
	plan   *fakePlan
	keys   map[string]bool
	hw     msg.Hardware
	notes  []string
	wrap   func(Config) Config
	*Service
}

var sized = msg.Hardware{Recommendation: msg.Recommendation{Tier: "gpu_16", Model: "ollama_chat/qwen3:14b", Name: "qwen3:14b", ContextLength: 16384, RunsOn: "graphics"}}

func newRoom(t *testing.T, yaml string) *room {
	t.Helper()
	r := &room{t: t, path: filepath.Join(t.TempDir(), "config.yaml"), mem: memstore.New(), models: &fakeModels{faults: map[string]msg.ModelFault{}},
		plan: &fakePlan{}, keys: map[string]bool{}, hw: sized}
	if err := os.WriteFile(r.path, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	r.j, err = journal.Open(t.Context(), journal.Options{Disk: r.mem, Memory: memstore.New(), Deliver: func(es []journal.Entry) {
		for _, e := range es {
			r.notes = append(r.notes, e.Type)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	r.open()
	t.Cleanup(func() {
		r.close()
		_ = r.j.Close(context.Background())
	})
	return r
}

func (r *room) open() {
	r.t.Helper()
	file := app.NewConfigFile(r.path)
	c, _, err := file.Start()
	if err != nil {
		r.t.Fatal(err)
	}
	r.sys, r.work = act.New(act.Options{}), work.New(work.Options{})
	n := 0
	id := func() string { n++; return fmt.Sprint(n) }
	if r.cfg, err = config.New(r.sys, config.Options{Live: app.NewLive(c), File: file, Journal: r.j, NewID: id}); err != nil {
		r.t.Fatal(err)
	}
	var cfg Config = r.cfg
	if r.wrap != nil {
		cfg = r.wrap(cfg)
	}
	r.Service, err = New(r.sys, Options{Config: cfg, Journal: r.j, Work: r.work, Models: r.models, Plan: r.plan, NewID: id,
		Hardware: func(context.Context, bool) msg.Hardware { return r.hw }, KeySet: func(_ context.Context, p string) bool { return r.keys[p] }})
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *room) close() {
	_ = r.sys.Close(context.Background())
	_ = r.work.Close(context.Background())
}

func (r *room) restart() { r.close(); r.open() }

func (r *room) apply(name string, localOnly bool) *Applied {
	r.t.Helper()
	a, err := r.Apply(r.t.Context(), name, localOnly)
	if err != nil {
		r.t.Fatalf("apply %q: %v", name, err)
	}
	return a
}

func (r *room) list() List {
	r.t.Helper()
	l, err := r.Presets(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return l
}

func (r *room) preset(name string) Preset {
	r.t.Helper()
	for _, p := range r.list().Presets {
		if p.Name == name {
			return p
		}
	}
	r.t.Fatalf("no preset %q", name)
	return Preset{}
}

func (r *room) patch(partial string) {
	r.t.Helper()
	if _, err := r.cfg.Patch(r.t.Context(), json.RawMessage(partial)); err != nil {
		r.t.Fatal(err)
	}
}

func (r *room) roles() string { return rolesText(rolesOf(&r.cfg.Get().Models.Roles)) }

func rolesText(roles map[string]*string) string {
	var parts []string
	for _, role := range app.ModelRoles() {
		if m, ok := roles[role]; ok {
			parts = append(parts, role[:2]+"="+text(m))
		}
	}
	return strings.Join(parts, " ")
}

func text(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}

func kindOf(err error) msg.FaultKind {
	if f, ok := msg.AsFault(err); ok {
		return f.Kind
	}
	return 0
}
