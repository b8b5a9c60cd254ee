package models

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"sentient/actors/config"
	"sentient/actors/msg"
	"slices"
	"strings"
	"testing"
)

const (
	anthropicRoles = "pr=anthropic/claude-sonnet-5 fa=anthropic/claude-haiku-4-5 pl=- ex=- vi=- vo=-"
	startRoles     = "pr=ollama_chat/qwen3:8b fa=ollama_chat/qwen3:8b pl=- ex=- em=ollama/nomic-embed-text vi=- vo=-"
)

// what the three built-in presets are, by what is known and set.
func TestBuiltins(t *testing.T) {
	local := func(m string) string {
		return "pr=" + m + " fa=" + m + " pl=- ex=- em=ollama/nomic-embed-text vi=- vo=-"
	}
	small := msg.Hardware{Recommendation: msg.Recommendation{Tier: "small", Model: "ollama_chat/qwen3:4b", Name: "qwen3:4b", ContextLength: 8192, CloudFirst: true}}
	for name, c := range map[string]struct {
		yaml                string
		keys                []string
		hw                  msg.Hardware
		plan                fakePlan
		local, cloud, mixed string
		context             string
		provider            string
		reason              string
	}{
		"no key":            {hw: sized, local: local("ollama_chat/qwen3:14b"), context: "16384", provider: "-", reason: "Add a key for Anthropic"},
		"all keys":          {hw: sized, keys: []string{"openrouter", "openai", "anthropic"}, local: local("ollama_chat/qwen3:14b"), context: "16384", provider: "anthropic", cloud: anthropicRoles, mixed: "pr=anthropic/claude-sonnet-5 fa=ollama_chat/qwen3:14b pl=- ex=- em=ollama/nomic-embed-text vi=- vo=-"},
		"the second key":    {keys: []string{"openrouter", "openai"}, local: local("ollama_chat/qwen3:8b"), hw: msg.Hardware{Recommendation: msg.Recommendation{Tier: "unknown", Model: "x/y"}}, context: "-", provider: "openai", cloud: "pr=openai/gpt-5.6-terra fa=openai/gpt-5.6-luna pl=- ex=- vi=- vo=-", mixed: "pr=openai/gpt-5.6-terra fa=ollama_chat/qwen3:8b pl=- ex=- em=ollama/nomic-embed-text vi=- vo=-"},
		"a small computer":  {hw: small, local: local("ollama_chat/qwen3:8b"), context: "-", provider: "-", reason: "Add a key"},
		"a plan":            {hw: sized, plan: fakePlan{in: true}, local: local("ollama_chat/qwen3:14b"), context: "16384", provider: "chatgpt", cloud: "pr=chatgpt/gpt-6 fa=chatgpt/gpt-6 pl=- ex=- vi=- vo=-", mixed: "pr=chatgpt/gpt-6 fa=ollama_chat/qwen3:14b pl=- ex=- em=ollama/nomic-embed-text vi=- vo=-"},
		"a plan's bad day":  {hw: sized, plan: fakePlan{in: true, err: errors.New("The list can't be loaded.")}, local: local("ollama_chat/qwen3:14b"), context: "16384", provider: "-", reason: "The list can't be loaded."},
		"own local vectors": {hw: sized, yaml: "models:\n  roles:\n    embedding: ollama/bge-m3\n", local: strings.Replace(local("ollama_chat/qwen3:14b"), "nomic-embed-text", "bge-m3", 1), context: "16384", provider: "-", reason: "Add a key"},
		"cloud vectors":     {hw: sized, yaml: "models:\n  roles:\n    embedding: openai/text-embedding-3-small\n", local: local("ollama_chat/qwen3:14b"), context: "16384", provider: "-", reason: "Add a key"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t, c.yaml)
			r.hw, *r.plan = c.hw, c.plan
			for _, k := range c.keys {
				r.keys[k] = true
			}
			l := r.list()
			if len(l.Presets) != 3 || l.Presets[0].Name != "Local only" || l.Presets[1].Name != "Cloud" || l.Presets[2].Name != "Mixed" {
				t.Fatalf("%+v", l)
			}
			a, b, m := l.Presets[0], l.Presets[1], l.Presets[2]
			if got := rolesText(a.Roles); got != c.local || !a.Available || a.Cloud || a.Reason != nil || a.Provider != nil {
				t.Errorf("Local only: %s %+v", got, a)
			}
			n := "-"
			if a.ContextLength != nil {
				n = fmt.Sprint(*a.ContextLength)
			}
			if n != c.context {
				t.Errorf("context length %s", n)
			}
			if rolesText(b.Roles) != c.cloud || rolesText(m.Roles) != c.mixed {
				t.Errorf("Cloud: %s\nMixed: %s", rolesText(b.Roles), rolesText(m.Roles))
			}
			for _, p := range []Preset{b, m} {
				usable := c.reason == ""
				if p.Available != usable || p.Cloud != usable || text(p.Provider) != c.provider || !strings.HasPrefix(text(p.Reason), c.reason) || usable != (p.Reason == nil) || p.BlockedBy != nil || !p.Builtin {
					t.Errorf("%+v, reason %q", p, text(p.Reason))
				}
			}
			for _, p := range l.Presets {
				if p.Fallbacks == nil || len(*p.Fallbacks) != 0 || p.Description == "" {
					t.Errorf("%s does not clear fallbacks: %+v", p.Name, p)
				}
			}
			if file, _ := os.ReadFile(r.path); strings.Contains(string(file), "Mixed") {
				t.Error("a built-in preset was stored")
			}
		})
	}
}

// one save, told once; an undo puts everything back, once, also after a restart.
func TestApplyAndUndo(t *testing.T) {
	const yaml = "models:\n  roles:\n    planner: openai/gpt-5.2\n  fallbacks:\n    primary: [openai/gpt-4o]\n  reasoning:\n    primary: high\n  context_length: 4096\n  context_length_per_role:\n    fast: 2048\n"
	r := newRoom(t, yaml)
	before := r.cfg.Get().Models
	a := r.apply("local ONLY", false)
	after := r.cfg.Get().Models
	if after.ContextLength != 16384 || len(after.Fallbacks) != 0 || text(after.ActivePreset) != "Local only" || after.Reasoning["primary"] != "high" || after.ContextLengthPerRole["fast"] != 2048 || after.LocalOnly {
		t.Errorf("%+v", after)
	}
	b, _ := json.Marshal(a.Changed)
	if string(b) != `[{"role":"primary","from":"ollama_chat/qwen3:8b","to":"ollama_chat/qwen3:14b"},{"role":"fast","from":"ollama_chat/qwen3:8b","to":"ollama_chat/qwen3:14b"},{"role":"planner","from":"openai/gpt-5.2","to":null}]` {
		t.Errorf("%s", b)
	}
	if !a.CanUndo || a.LocalOnly || a.Preset == nil || !a.Preset.Active || a.Preset.Name != "Local only" || len(r.notes) != 1 || r.notes[0] != "config.updated" {
		t.Errorf("%+v %v", a, r.notes)
	}
	r.restart()
	if l := r.list(); !l.CanUndo || l.UndoPreset != nil || text(l.Active) != "Local only" || l.Modified {
		t.Errorf("after a restart %+v", l)
	}
	u, err := r.Undo(t.Context())
	if err != nil || u.Preset != nil || u.CanUndo || len(u.Changed) != 3 {
		t.Fatalf("%+v %v", u, err)
	}
	if got := r.cfg.Get().Models; digest(&got) != digest(&before) {
		t.Errorf("not as before:\n%+v\n%+v", got, before)
	}
	for range 2 {
		if _, err := r.Undo(t.Context()); kindOf(err) != msg.Conflict {
			t.Errorf("a second undo: %v", err)
		}
		r.restart()
	}
	if len(r.notes) != 2 || r.models.calls != 0 {
		t.Errorf("%v, %d calls of models", r.notes, r.models.calls)
	}
}

// one step only, and the preset before it is active again.
func TestUndoIsOneStep(t *testing.T) {
	r := newRoom(t, "")
	r.keys["anthropic"] = true
	r.apply("Cloud", false)
	r.apply("Mixed", false)
	if l := r.list(); text(l.UndoPreset) != "Cloud" || text(l.Active) != "Mixed" {
		t.Errorf("%+v", l)
	}
	u, err := r.Undo(t.Context())
	if err != nil || u.Preset == nil || u.Preset.Name != "Cloud" || !u.Preset.Active || !strings.HasPrefix(r.roles(), "pr=anthropic/claude-sonnet-5 fa=anthropic/") {
		t.Fatalf("%+v %v %s", u, err, r.roles())
	}
	if _, err := r.Undo(t.Context()); kindOf(err) != msg.Conflict {
		t.Error(err)
	}
	if l := r.list(); l.Modified || l.CanUndo {
		t.Errorf("%+v", l)
	}
}

// Local only and presets.
func TestLocalOnlyAndPresets(t *testing.T) {
	r := newRoom(t, "")
	r.keys["anthropic"] = true
	if _, err := r.Apply(t.Context(), "Cloud", true); kindOf(err) != msg.Conflict {
		t.Errorf("a cloud preset with local_only: %v", err)
	}
	if r.roles() != startRoles || r.cfg.Get().Models.LocalOnly {
		t.Error("the refused switch changed something")
	}
	a := r.apply("Local only", true)
	if !a.LocalOnly || !r.cfg.Get().Models.LocalOnly || len(r.notes) != 1 {
		t.Errorf("%+v %v", a, r.notes)
	}
	for _, name := range []string{"Cloud", "Mixed"} {
		if p := r.preset(name); p.Available || text(p.BlockedBy) != "local_only" || p.Reason == nil || !p.Cloud {
			t.Errorf("%+v", p)
		}
		if _, err := r.Apply(t.Context(), name, false); kindOf(err) != msg.Conflict {
			t.Errorf("%s under Local only: %v", name, err)
		}
	}
	r.keys["anthropic"] = false
	if p := r.preset("Cloud"); p.BlockedBy != nil || p.Available {
		t.Errorf("without a key it is the key that is missing: %+v", p)
	}
	if u, err := r.Undo(t.Context()); err != nil || u.LocalOnly || r.cfg.Get().Models.LocalOnly {
		t.Errorf("%+v %v", u, err)
	}
	// A switch that was on already is left on by the undo.
	r.patch(`{"models":{"local_only":true}}`)
	r.apply("Local only", true)
	if u, err := r.Undo(t.Context()); err != nil || !u.LocalOnly {
		t.Errorf("%+v %v", u, err)
	}
	if a := r.apply("Local only", false); !a.LocalOnly {
		t.Errorf("%+v", a)
	}
}

// only Cloud and Mixed ask for the plan's list, and only without a key.
func TestThePlanIsAskedOnlyForCloudPresets(t *testing.T) {
	r := newRoom(t, "models:\n  presets:\n    Mine:\n      roles: {fast: openai/gpt-4o}\n")
	r.plan.in = true
	r.apply("Local only", false)
	r.apply("Mine", false)
	if r.plan.asked != 0 {
		t.Errorf("asked %d times", r.plan.asked)
	}
	r.apply("Cloud", false)
	if r.plan.asked != 1 || !strings.Contains(r.roles(), "fa=chatgpt/gpt-6") {
		t.Errorf("asked %d times; %s", r.plan.asked, r.roles())
	}
	r.keys["openai"] = true
	r.apply("Mixed", false)
	if r.plan.asked != 1 {
		t.Error("asked although a key is set")
	}
}

// changed by hand is modified, changed back is not.
func TestModified(t *testing.T) {
	r := newRoom(t, "models:\n  presets:\n    Mine:\n      roles: {primary: lm_studio/m}\n")
	if r.list().Modified {
		t.Error("modified without an active preset")
	}
	r.apply("Mine", false)
	for _, c := range []struct {
		patch string
		want  bool
	}{{`{"models":{"context_length":4096}}`, false}, {`{"models":{"roles":{"vision":"openai/gpt-4o"}}}`, true}, {`{"models":{"roles":{"vision":null}}}`, false},
		{`{"models":{"roles":{"primary":"openai/gpt-4o"}}}`, true}, {`{"models":{"active_preset":null}}`, false}} {
		r.patch(c.patch)
		if got := r.list().Modified; got != c.want {
			t.Errorf("%s: modified %v", c.patch, got)
		}
	}
	// Made active by an edit of the file: compared with what it says.
	r.patch(`{"models":{"active_preset":"mine","roles":{"primary":"lm_studio/m"}}}`)
	r.apply("Local only", false)
	r.patch(`{"models":{"active_preset":"Mine"}}`)
	if !r.list().Modified {
		t.Error("the roles are not Mine's")
	}
}

// what a preset of the person's leaves out keeps its value.
func TestPartialPreset(t *testing.T) {
	r := newRoom(t, "models:\n  roles: {executor: openai/gpt-4o, vision: openai/gpt-4o}\n  fallbacks: {fast: [openai/gpt-4o]}\n  presets:\n    Part:\n      roles: {fast: groq/x, vision: null}\n      reasoning: {fast: low}\n    Whole:\n      roles: {}\n      fallbacks: {}\n      context_length: 2048\n      context_length_per_role: {fast: 4096}\n")
	p := r.preset("Part")
	if p.Fallbacks != nil || p.ContextLength != nil || p.ContextLengthPerRole != nil || p.Reasoning == nil || p.Builtin || !p.Cloud {
		t.Errorf("%+v", p)
	}
	r.apply("part", false)
	m := r.cfg.Get().Models
	if r.roles() != "pr=ollama_chat/qwen3:8b fa=groq/x pl=- ex=openai/gpt-4o em=ollama/nomic-embed-text vi=- vo=-" || len(m.Fallbacks["fast"]) != 1 || m.ContextLength != 8192 || !maps.Equal(m.Reasoning, map[string]string{"fast": "low"}) {
		t.Errorf("%s %+v", r.roles(), m)
	}
	r.apply("Whole", false)
	m = r.cfg.Get().Models
	if m.Roles.Fast != "groq/x" || len(m.Fallbacks) != 0 || m.ContextLength != 2048 || m.ContextLengthPerRole["fast"] != 4096 {
		t.Errorf("%+v", m)
	}
}

// saving, renaming and deleting, with every refusal.
func TestOwnPresets(t *testing.T) {
	r := newRoom(t, "models:\n  roles: {planner: openai/gpt-4o}\n")
	ctx := t.Context()
	p, err := r.Save(ctx, "  Work ", false)
	if err != nil || p.Name != "Work" || !p.Active || !p.Cloud || rolesText(p.Roles) != strings.Replace(startRoles, "pl=-", "pl=openai/gpt-4o", 1) || p.Fallbacks == nil || p.Reasoning == nil || p.ContextLength == nil || p.ContextLengthPerRole == nil {
		t.Fatalf("%+v %v", p, err)
	}
	if l := r.list(); text(l.Active) != "Work" || l.Modified || l.CanUndo {
		t.Errorf("%+v", l)
	}
	long := strings.Repeat("ä", 40)
	for name, c := range map[string]struct {
		do   func() error
		want msg.FaultKind
	}{
		"save empty":          {func() error { _, e := r.Save(ctx, " ", false); return e }, msg.BadRequest},
		"save 41 characters":  {func() error { _, e := r.Save(ctx, long+"x", false); return e }, msg.BadRequest},
		"save a slash":        {func() error { _, e := r.Save(ctx, "a/b", false); return e }, msg.BadRequest},
		"save a new line":     {func() error { _, e := r.Save(ctx, "a\nb", false); return e }, msg.BadRequest},
		"save built-in":       {func() error { _, e := r.Save(ctx, "LOCAL only", true); return e }, msg.BadRequest},
		"save taken":          {func() error { _, e := r.Save(ctx, "wORK", false); return e }, msg.Conflict},
		"apply unknown":       {func() error { _, e := r.Apply(ctx, "Nope", false); return e }, msg.NotFound},
		"apply not available": {func() error { _, e := r.Apply(ctx, "Cloud", false); return e }, msg.Conflict},
		"rename built-in":     {func() error { _, e := r.Rename(ctx, "Cloud", "x"); return e }, msg.BadRequest},
		"rename to built-in":  {func() error { _, e := r.Rename(ctx, "Work", "mixed"); return e }, msg.BadRequest},
		"rename unknown":      {func() error { _, e := r.Rename(ctx, "Nope", "x"); return e }, msg.NotFound},
		"rename to nothing":   {func() error { _, e := r.Rename(ctx, "Work", ""); return e }, msg.BadRequest},
		"delete built-in":     {func() error { return r.Delete(ctx, "Mixed") }, msg.BadRequest},
		"delete unknown":      {func() error { return r.Delete(ctx, "Nope") }, msg.NotFound},
	} {
		if got := c.do(); kindOf(got) != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if _, err := r.Save(ctx, long, false); err != nil {
		t.Errorf("40 characters: %v", err)
	}
	if _, err := r.Rename(ctx, long, "work"); kindOf(err) != msg.Conflict {
		t.Errorf("rename to a taken name: %v", err)
	}
	r.patch(`{"models":{"roles":{"planner":null}}}`)
	if p, err := r.Save(ctx, "WORK", true); err != nil || p.Name != "WORK" || p.Roles["planner"] != nil {
		t.Errorf("%+v %v", p, err)
	}
	if names := slices.Sorted(maps.Keys(r.cfg.Get().Models.Presets)); !slices.Equal(names, []string{"WORK", long}) {
		t.Errorf("%q", names)
	}
	r.patch(`{"models":{"roles":{"vision":"openai/gpt-4o"}}}`)
	if p, err := r.Rename(ctx, "work", "Job"); err != nil || p.Name != "Job" || !p.Active {
		t.Errorf("%+v %v", p, err)
	}
	if l := r.list(); text(l.Active) != "Job" || !l.Modified {
		t.Errorf("the active preset does not follow: %+v", l)
	}
	if p, err := r.Rename(ctx, "Job", "JOB"); err != nil || p.Name != "JOB" {
		t.Errorf("another spelling: %+v %v", p, err)
	}
	roles := r.roles()
	if err := r.Delete(ctx, "job"); err != nil || r.roles() != roles || r.list().Active != nil {
		t.Errorf("%v %s", err, r.roles())
	}
}

// An undo follows a rename, and forgets a preset that is gone.
func TestUndoFollowsNames(t *testing.T) {
	r := newRoom(t, "models:\n  presets:\n    A: {roles: {fast: groq/a}}\n    B: {roles: {fast: groq/b}}\n")
	r.apply("A", false)
	r.apply("B", false)
	if _, err := r.Rename(t.Context(), "A", "First"); err != nil {
		t.Fatal(err)
	}
	if l := r.list(); text(l.UndoPreset) != "First" {
		t.Errorf("%+v", l)
	}
	if err := r.Delete(t.Context(), "First"); err != nil {
		t.Fatal(err)
	}
	if u, err := r.Undo(t.Context()); err != nil || u.Preset != nil || r.cfg.Get().Models.Roles.Fast != "groq/a" || r.list().Active != nil {
		t.Errorf("%+v %v", u, err)
	}
}

// what is still missing, each thing once, without a model being called.
func TestMissing(t *testing.T) {
	r := newRoom(t, "models:\n  presets:\n    All:\n      roles: {primary: 'ollama_chat/qwen3:8b', fast: 'ollama_chat/qwen3:8b', planner: openai/a, executor: openai/b, embedding: ollama/e, vision: chatgpt/c, voice: lm_studio/d}\n")
	r.models.faults = map[string]msg.ModelFault{"ollama_chat/qwen3:8b": msg.FaultMissing, "openai/a": msg.FaultKey, "openai/b": msg.FaultKey, "ollama/e": msg.FaultUnreachable,
		"chatgpt/c": msg.FaultKey, "lm_studio/d": msg.FaultUnreachable}
	got, _ := json.Marshal(r.apply("All", false).Missing)
	want := `[{"kind":"pull_model","roles":["primary","fast"],"model":"ollama_chat/qwen3:8b","provider":"ollama_chat","detail":"Why ollama_chat/qwen3:8b does not work.","fix":"Download qwen3:8b in Settings \u003e Models.","action":{"kind":"pull_model","name":"qwen3:8b","label":"Download qwen3:8b"}},` +
		`{"kind":"add_key","roles":["planner","executor"],"model":"openai/a","provider":"openai","detail":"Why openai/a does not work.","fix":"Add a key for Openai in Settings \u003e Models.","action":{"kind":"add_key","provider":"openai","label":"Add a key for Openai"}},` +
		`{"kind":"start_ollama","roles":["embedding"],"model":"ollama/e","provider":"ollama","detail":"Why ollama/e does not work.","fix":"Start Ollama. If it is not installed, get it from https://ollama.com/download.","action":null},` +
		`{"kind":"sign_in","roles":["vision"],"model":"chatgpt/c","provider":"chatgpt","detail":"Why chatgpt/c does not work.","fix":"Sign in with ChatGPT under Settings \u003e Models \u003e Use a plan you already have.","action":null}]`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if r.models.calls != 0 {
		t.Error("a model was called")
	}
}

func TestFallbacks(t *testing.T) {
	r := newRoom(t, "models:\n  fallbacks: {fast: [openai/a], vision: [openai/b]}\n")
	if err := r.SetFallbacks(t.Context(), map[string][]string{"primary": {"openai/c", "groq/d"}, "fast": {}}); err != nil {
		t.Fatal(err)
	}
	b, _ := json.Marshal(r.cfg.Get().Models.Fallbacks)
	if string(b) != `{"primary":["openai/c","groq/d"],"vision":["openai/b"]}` {
		t.Errorf("%s", b)
	}
	var bad *config.Invalid
	if err := r.SetFallbacks(t.Context(), map[string][]string{"sidekick": {"openai/c"}}); !errors.As(err, &bad) || bad.Problems[0].Loc[2] != "sidekick" {
		t.Errorf("%v", err)
	}
}
