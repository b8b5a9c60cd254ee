package models

import (
	"context"
	"errors"
	"sentient/actors/msg"
	"sentient/runtime/app"
	"sentient/transport/llm/llmtest"
	"strings"
	"testing"
)

// the context length against the model's maximum and the card, and where the model runs.
func TestCheckupContextAndGPU(t *testing.T) {
	small := msg.Hardware{Recommendation: msg.Recommendation{Tier: "small", Model: "ollama_chat/qwen3:4b", Name: "qwen3:4b", ContextLength: 8192, CloudFirst: true}}
	onCPU := msg.Hardware{Recommendation: msg.Recommendation{Tier: "ram_8", Model: "ollama_chat/qwen3:8b", Name: "qwen3:8b", ContextLength: 8192, RunsOn: "processor"}}
	for name, c := range map[string]struct {
		hw      msg.Hardware
		model   string
		config  map[string]any
		percent int64
		context string
		gpu     string
	}{
		"all well":                            {hw: gpu8, percent: 100, context: "pass null", gpu: "pass null"},
		"90% of the sized model":              {hw: gpu8, percent: 90, context: "pass null", gpu: "pass null"},
		"85% of the sized model":              {hw: gpu8, percent: 85, context: "pass null", gpu: "pass null"},
		"84% of the sized model":              {hw: gpu8, percent: 84, context: "pass null", gpu: "warn null"},
		"90% of another model":                {hw: gpu8, model: "other", percent: 90, context: "pass null", gpu: "warn null"},
		"90% of the sized model, more tokens": {hw: gpu8, percent: 90, config: map[string]any{"context_length": 16384}, context: `warn {"kind":"set_context_length","role":null,"value":8192,"label":"Set it to 8,192"}`, gpu: `warn {"kind":"set_context_length","role":null,"value":8192,"label":"Set it to 8,192"}`},
		"the role's own length":               {hw: gpu8, percent: 100, config: map[string]any{"context_length_per_role": map[string]any{"primary": 9000}}, context: `warn {"kind":"set_context_length","role":"primary","value":8192,"label":"Set it to 8,192"}`, gpu: "pass null"},
		"more than the model reads":           {hw: gpu8, percent: 100, config: map[string]any{"context_length": 65536}, context: `warn {"kind":"set_context_length","role":null,"value":40960,"label":"Set it to 40,960"}`, gpu: "pass null"},
		"a larger card":                       {hw: sized, model: "qwen3:14b", percent: 50, config: map[string]any{"context_length": 12000}, context: "pass null", gpu: `warn {"kind":"set_context_length","role":null,"value":8192,"label":"Set it to 8,192"}`},
		"a larger card, shorter is planned":   {hw: sized, model: "qwen3:14b", percent: 50, config: map[string]any{"context_length": 20000}, context: `warn {"kind":"set_context_length","role":null,"value":16384,"label":"Set it to 16,384"}`, gpu: `warn {"kind":"set_context_length","role":null,"value":16384,"label":"Set it to 16,384"}`},
		"the processor":                       {hw: onCPU, percent: 0, config: map[string]any{"context_length": 16384}, context: "pass null", gpu: `warn {"kind":"set_context_length","role":null,"value":8192,"label":"Set it to 8,192"}`},
		"a small computer":                    {hw: small, percent: 0, context: "pass null", gpu: "warn null"},
		"not loaded":                          {hw: gpu8, percent: -1, context: "pass null", gpu: "skip null"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.model == "" {
				c.model = "qwen3:8b"
			}
			b := bench{hw: c.hw, config: c.config, asked: map[string]*string{"primary": model("ollama_chat/" + c.model)},
				server: llmtest.Options{Models: []llmtest.Model{{Name: c.model, Family: "q", Context: 40960, Capabilities: []string{"completion"}}}}}
			if c.percent >= 0 {
				b.server.Loaded = []llmtest.Loaded{{Name: "elsewhere", Size: 10}, {Name: c.model, Size: 1000, SizeVRAM: 10 * c.percent}}
			}
			b.run(t, func(t *testing.T, o outcome) {
				r := o.by["primary"]
				k, g := r.check("context"), r.check("gpu")
				if got := k.Status + " " + action(k.Action); got != c.context {
					t.Errorf("context: %s, %s", got, k.Detail)
				}
				if got := g.Status + " " + action(g.Action); got != c.gpu {
					t.Errorf("gpu: %s, %s", got, g.Detail)
				}
				if c.hw.Recommendation.CloudFirst && strings.Contains(g.Fix+k.Fix, "qwen3:4b") {
					t.Errorf("the small model is a fix: %q", g.Fix)
				}
				if g.Status == warn && !c.hw.Recommendation.CloudFirst && !(strings.Contains(g.Fix, c.hw.Recommendation.Name) && strings.Contains(g.Fix, thousands(c.hw.Recommendation.ContextLength))) {
					t.Errorf("fix %q", g.Fix)
				}
			})
		})
	}
}

func chatsOnly(role string) string {
	if role == "primary" || role == "voice" || role == "vision" {
		return ""
	}
	return "Claude Code only answers your chats, so it can't serve the " + role + " role."
}

// an empty role whose main model refuses it is checked with that model, and nothing is called.
func TestCheckupOfClaudeCode(t *testing.T) {
	have := []llmtest.Model{{Name: "qwen3:8b", Family: "q", Context: 40960}}
	for name, c := range map[string]struct {
		claude                    func(string) string
		ready                     bool
		fast                      string
		primary, planner, fastGot string
		action                    string
	}{
		"a background model of another kind": {chatsOnly, true, "lm_studio/m", "connection:pass", "connection:fail", "connection:pass reply:pass tools:pass json:pass", `{"kind":"use_model","role":"planner","model":"lm_studio/m","label":"Use m"}`},
		"everything is Claude Code":          {chatsOnly, true, "claude-code/haiku", "connection:pass", "connection:fail", "connection:fail", `{"kind":"use_model","role":"planner","model":"ollama_chat/qwen3:8b","label":"Use qwen3:8b"}`},
		"it is not ready":                    {chatsOnly, false, "lm_studio/m", "connection:fail", "connection:fail", "connection:pass reply:pass tools:pass json:pass", `{"kind":"use_model","role":"planner","model":"lm_studio/m","label":"Use m"}`},
		"nothing is refused":                 {nil, false, "lm_studio/m", "connection:fail", "", "connection:pass reply:pass tools:pass json:pass", "null"},
	} {
		t.Run(name, func(t *testing.T) {
			b := bench{hw: gpu8, claude: c.claude, ready: c.ready, server: llmtest.Options{Models: have},
				asked: map[string]*string{"primary": model("claude-code/sonnet"), "fast": &c.fast, "planner": nil, "vision": nil}}
			b.run(t, func(t *testing.T, o outcome) {
				p := o.by["planner"]
				if o.by["primary"].short() != c.primary || p.short() != c.planner || o.by["fast"].short() != c.fastGot || action(p.check("connection").Action) != c.action || text(p.Inherits) != "primary" {
					t.Errorf("%+v %s", o.by, action(p.check("connection").Action))
				}
				if c.planner != "" && (text(p.Model) != "claude-code/sonnet" || text(o.lines[0].(Start).Roles[2].Model) != "claude-code/sonnet") {
					t.Errorf("%+v", p)
				}
				if v := o.by["vision"]; v.Status != skip || len(v.Checks) != 0 {
					t.Errorf("%+v", v)
				}
			})
		})
	}
}

// A client that goes away ends the check-up.
func TestCheckupEndsWithItsReader(t *testing.T) {
	gone := errors.New("gone")
	n := 0
	err := Checkup(t.Context(), Options{Config: heldConfig{t, app.Default()}, Models: &fakeModels{}, NewID: func() string { return "1" }, Hardware: func(context.Context, bool) msg.Hardware { return gpu8 },
		KeySet: func(context.Context, string) bool { return false }}, nil, func(any) error {
		n++
		return gone
	})
	if err != gone || n != 1 {
		t.Errorf("%v after %d lines", err, n)
	}
}
