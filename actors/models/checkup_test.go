package models

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sentient/actors/msg"
	"sentient/runtime/app"
	"sentient/transport/llm"
	"sentient/transport/llm/llmtest"
)

type realModels struct {
	*llm.Client
	claude bool
}

func (m realModels) Name(model string) string { return m.DisplayName(model) }
func (m realModels) Available(ctx context.Context, model string) error {
	if isClaudeCode(model) && m.claude {
		return nil
	}
	return m.Client.Available(ctx, model)
}
func (m realModels) ProviderName(id string) string { return llm.ProviderName(id) }

// heldConfig is a configuration that a check-up must not change.
type heldConfig struct {
	t *testing.T
	c *app.Config
}

func (h heldConfig) Get() *app.Config { return h.c }
func (h heldConfig) Edit(context.Context, func(*app.Config) error) (*app.Config, error) {
	h.t.Error("a check-up changed the configuration")
	return nil, errors.New("no")
}

// clever answers every test well; it thinks when it is asked to.
func clever(r llmtest.Request) llmtest.Reply {
	last := r.Last()
	switch {
	case len(r.Tools) > 0 && last.Role == "tool" && strings.Contains(last.Text, "Berlin"):
		return llmtest.Tools(llmtest.Call{ID: "call_b", Name: "get_weather", Arguments: `{"city":"Berlin"}`})
	case len(r.Tools) > 0:
		return llmtest.Tools(llmtest.Call{ID: "call_a", Name: "find_city", Arguments: `{"postal_code":"10115"}`})
	case strings.Contains(last.Text, "JSON"):
		return llmtest.Text("Here it is:\n```json\n{\"city\": \"Berlin\", \"country\": \"Germany\"}\n```")
	}
	reply := llmtest.Text("ready")
	if strings.Contains(string(r.Body), `"think":true`) {
		reply.Steps = append([]llmtest.Step{{Thinking: "Hm."}}, reply.Steps...)
	}
	return reply
}

// bench is a check-up on real clients and a scripted server, in fake time.
type bench struct {
	config map[string]any // the models section
	server llmtest.Options
	hw     msg.Hardware
	keys   map[string]string
	down   bool
	asked  map[string]*string
	embed  func(context.Context, string) (int, error)
	claude func(role string) string
	ready  bool // Claude Code can answer
}

type outcome struct {
	lines []any
	done  Done
	by    map[string]RoleResult
	calls int
	took  time.Duration
	err   error
}

func (b *bench) run(t *testing.T, check func(t *testing.T, o outcome)) {
	t.Helper()
	cfg := b.settings(t)
	synctest.Test(t, func(t *testing.T) {
		pipe := llmtest.NewPipe()
		b.server.Listener, b.server.URL = pipe, llmtest.PipeURL
		if b.server.Script == nil {
			b.server.Script = clever
		}
		server, err := llmtest.New(b.server)
		if err != nil {
			t.Fatal(err)
		}
		defer synctest.Wait()
		defer server.Close()
		if b.down {
			server.Close()
		}
		c, err := llm.New(llm.Options{Dial: pipe.Dial, Env: func(string) string { return "" }, Key: func(p string) (string, bool) { return b.keys[p], b.keys[p] != "" },
			Settings: func() llm.Settings {
				m := cfg.Models
				s := llm.Settings{Providers: map[string]llm.ProviderSettings{}, RequestTimeout: 180 * time.Second, LocalOnly: m.LocalOnly, ContextLength: m.ContextLength,
					ContextLengthPerRole: m.ContextLengthPerRole, Reasoning: m.Reasoning}
				for id := range m.Providers {
					s.Providers[id] = llm.ProviderSettings{APIBase: llmtest.PipeURL}
				}
				return s
			}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		n := 0
		o := Options{Config: heldConfig{t, cfg}, Models: realModels{c, b.ready}, Embed: b.embed, ClaudeRefusal: b.claude, NewID: func() string { n++; return fmt.Sprint(n) },
			Hardware: func(context.Context, bool) msg.Hardware { return b.hw }, KeySet: func(context.Context, string) bool { return false }}
		out := outcome{by: map[string]RoleResult{}}
		began := time.Now()
		out.err = Checkup(t.Context(), o, b.asked, func(line any) error {
			out.lines = append(out.lines, line)
			switch l := line.(type) {
			case RoleResult:
				out.by[l.Role] = l
			case Done:
				out.done = l
			}
			return nil
		})
		out.took, out.calls = time.Since(began), len(server.Requests())
		check(t, out)
	})
}

func (b *bench) settings(t *testing.T) *app.Config {
	t.Helper()
	if b.config == nil {
		b.config = map[string]any{}
	}
	patch, err := json.Marshal(map[string]any{"models": b.config})
	if err != nil {
		t.Fatal(err)
	}
	cfg, problems := app.Merge(app.Default(), patch)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return cfg
}

func (r RoleResult) short() string {
	var parts []string
	for _, c := range r.Checks {
		parts = append(parts, c.ID+":"+c.Status)
	}
	return strings.Join(parts, " ")
}

func (r RoleResult) check(id string) Check {
	for _, c := range r.Checks {
		if c.ID == id {
			return c
		}
	}
	return Check{}
}

func action(a *Action) string {
	b, _ := json.Marshal(a)
	return string(b)
}

func model(s string) *string { return &s }

var gpu8 = msg.Hardware{Summary: "a card", Recommendation: msg.Recommendation{Tier: "gpu_8", Model: "ollama_chat/qwen3:8b", Name: "qwen3:8b", ContextLength: 8192, RunsOn: "graphics"}}

// the lines and the checks of the saved roles on Ollama, in order.
func TestCheckupOfTheSavedRoles(t *testing.T) {
	b := bench{hw: gpu8, server: llmtest.Options{Models: []llmtest.Model{{Name: "qwen3:8b", Family: "qwen3", Context: 40960, Capabilities: []string{"completion", "tools", "thinking"}},
		{Name: "nomic-embed-text:latest", Family: "bert", Capabilities: []string{"embedding"}}}, Loaded: []llmtest.Loaded{{Name: "qwen3:8b", Size: 1000, SizeVRAM: 900}}},
		embed: func(_ context.Context, m string) (int, error) { return 768, nil }}
	b.run(t, func(t *testing.T, o outcome) {
		if o.err != nil {
			t.Fatal(o.err)
		}
		start, ok := o.lines[0].(Start)
		if !ok || start.Type != "start" || len(start.Roles) != 7 || start.Hardware.Summary != "a card" || text(start.Roles[0].Model) != "ollama_chat/qwen3:8b" || start.Roles[2].Model != nil {
			t.Errorf("%+v", o.lines[0])
		}
		for role, want := range map[string]string{
			"primary": "connection:pass reply:pass tools:pass chain:pass thinking:pass context:pass gpu:pass", "fast": "connection:pass reply:pass tools:pass json:pass thinking:pass context:pass gpu:pass",
			"planner": "", "executor": "", "vision": "", "voice": "", "embedding": "connection:pass embedding:pass"} {
			r := o.by[role]
			if r.short() != want || (want == "") != (r.Status == skip && text(r.Inherits) == "primary" && r.Model == nil) || want != "" && (r.Status != pass || !r.Local || r.Inherits != nil) {
				t.Errorf("%s: %s %+v", role, r.short(), r)
			}
			for _, c := range r.Checks {
				if c.Detail == "" || c.Label == "" {
					t.Errorf("%s: %+v", role, c)
				}
			}
		}
		last, ok := o.lines[len(o.lines)-1].(Done)
		if !ok || last.Type != "done" || last.Status != pass || len(last.Roles) != 7 {
			t.Errorf("%+v", last)
		}
		var order []string
		open := ""
		for _, l := range o.lines {
			switch l := l.(type) {
			case Step:
				if open != "" && open != l.Role || l.Type != "step" || l.Label == "" {
					t.Errorf("two roles at a time: %s and %s", open, l.Role)
				}
				open = l.Role
			case RoleResult:
				order, open = append(order, l.Role), ""
			}
		}
		if strings.Join(order, " ") != "primary fast planner executor embedding vision voice" {
			t.Errorf("%v", order)
		}
		if d := o.by["primary"].check("tools").Detail; !strings.Contains(d, "called a tool") {
			t.Error(d)
		}
		if d := o.by["embedding"].check("embedding").Detail; !strings.Contains(d, "768") {
			t.Error(d)
		}
		if o.calls != 6 { // reply, tools, chain; reply, tools, json: the reasoning differs
			t.Errorf("%d calls", o.calls)
		}
	})
}

// the same model with the same settings is tried once, and the later role says whose result it has.
func TestCheckupTriesAModelOnce(t *testing.T) {
	b := bench{hw: gpu8, config: map[string]any{"reasoning": map[string]any{"primary": "none", "vision": "none"}},
		asked: map[string]*string{"primary": model("lm_studio/m"), "executor": model("lm_studio/m"), "planner": model("lm_studio/m"), "voice": model("lm_studio/m"), "vision": model("lm_studio/other")}}
	b.run(t, func(t *testing.T, o outcome) {
		if o.err != nil || o.calls != 4+2 { // reply, tools, chain, json; reply and tools of the other
			t.Fatalf("%d calls, %v", o.calls, o.err)
		}
		e := o.by["executor"]
		if e.short() != "connection:pass reply:pass tools:pass chain:pass" || !strings.HasPrefix(e.check("chain").Detail, "Same as primary. It used") || !strings.HasPrefix(o.by["voice"].check("reply").Detail, "Same as primary.") {
			t.Errorf("%+v", e)
		}
		if p := o.by["planner"]; p.short() != "connection:pass reply:pass json:pass" || strings.HasPrefix(p.check("json").Detail, "Same") || !strings.HasPrefix(p.check("reply").Detail, "Same as primary.") {
			t.Errorf("%+v", p)
		}
		if strings.HasPrefix(o.by["vision"].check("reply").Detail, "Same") {
			t.Error("another model was taken for the same")
		}
	})
}

// only the roles that are asked for, with their models; unknown ones are refused before anything.
func TestCheckupOfAskedRoles(t *testing.T) {
	b := bench{hw: gpu8, asked: map[string]*string{"fast": model("lm_studio/m"), "vision": nil}}
	b.run(t, func(t *testing.T, o outcome) {
		if o.err != nil || len(o.by) != 2 || o.by["fast"].Status != pass || o.by["vision"].Status != skip || len(o.lines[0].(Start).Roles) != 2 || text(o.by["fast"].Provider) != "lm_studio" {
			t.Errorf("%+v %v", o.by, o.err)
		}
		if o.by["fast"].short() != "connection:pass reply:pass tools:pass json:pass" {
			t.Errorf("LM Studio got the checks of Ollama: %s", o.by["fast"].short())
		}
	})
	for _, asked := range []map[string]*string{{"sidekick": model("a/b")}, {"primary": nil}} {
		b := bench{asked: asked}
		b.run(t, func(t *testing.T, o outcome) {
			if kindOf(o.err) != msg.BadRequest || len(o.lines) != 0 {
				t.Errorf("%v %v", o.err, o.lines)
			}
		})
	}
}

// What goes wrong, with its detail, fix and action. A-305: the kinds of actions.
func TestCheckupFailures(t *testing.T) {
	fails := func(status int, body string) func(llmtest.Request) llmtest.Reply {
		return func(llmtest.Request) llmtest.Reply { return llmtest.Fail(status, body) }
	}
	says := func(text string) func(llmtest.Request) llmtest.Reply {
		return func(r llmtest.Request) llmtest.Reply { return llmtest.Text(text) }
	}
	have := []llmtest.Model{{Name: "qwen3:8b", Family: "q", Context: 40960, Capabilities: []string{"completion", "tools"}}, {Name: "tiny", Family: "t", Context: 4096, Capabilities: []string{"completion", "thinking"}}}
	const noTools = `connection:pass reply:pass tools:fail chain:skip`
	for name, c := range map[string]struct {
		b      bench
		role   string
		model  string
		want   string
		check  string
		detail string
		fix    string
		action string
	}{
		"Ollama is down":    {b: bench{down: true}, model: "ollama_chat/qwen3:8b", want: "connection:fail", check: "connection", detail: "not answering", fix: "Start Ollama", action: "null"},
		"not downloaded":    {model: "ollama_chat/gone:1b", want: "connection:fail", check: "connection", detail: "gone:1b is not downloaded in Ollama.", fix: "Download it.", action: `{"kind":"pull_model","name":"gone:1b","label":"Download gone:1b"}`}, // A-305
		"no key":            {model: "openai/gpt-4o", want: "connection:fail", check: "connection", detail: "no API key", fix: "key for OpenAI", action: "null"},
		"a wrong key":       {b: bench{keys: map[string]string{"openai": "wrong"}, server: llmtest.Options{Key: "right"}}, model: "openai/gpt-4o", want: "connection:pass reply:fail tools:skip chain:skip", check: "reply", detail: "did not accept the API key", fix: "key for OpenAI", action: "null"},
		"no sign-in":        {model: "chatgpt/gpt-6", want: "connection:fail", check: "connection", fix: "Sign in with ChatGPT again under Settings > Models > Use a plan you already have.", action: "null"},
		"Local only":        {b: bench{config: map[string]any{"local_only": true}, keys: map[string]string{"openai": "k"}}, model: "openai/gpt-4o", want: "connection:fail", check: "connection", detail: "Local only", fix: "turn Local only off", action: "null"},
		"no such provider":  {model: "acme/m", want: "connection:fail", check: "connection", detail: "not a model", fix: "Pick another", action: "null"},
		"LM Studio is down": {b: bench{down: true}, model: "lm_studio/m", want: "connection:fail", check: "connection", detail: "not answering", fix: "Start LM Studio", action: "null"},
		"out of credits":    {b: bench{server: llmtest.Options{Script: fails(402, "{}")}}, model: "lm_studio/m", want: "connection:pass reply:fail tools:skip chain:skip", check: "reply", detail: "credits", fix: "credits", action: "null"},
		"overloaded":        {b: bench{server: llmtest.Options{Script: fails(503, "")}}, model: "lm_studio/m", want: "connection:pass reply:fail tools:skip chain:skip", check: "reply", detail: "overloaded", fix: "Try again", action: "null"},
		"an empty answer":   {b: bench{server: llmtest.Options{Script: says(" ")}}, model: "lm_studio/m", want: "connection:pass reply:fail tools:skip chain:skip", check: "reply", detail: "nothing", fix: "Pick another", action: "null"},
		"no tools":          {b: bench{server: llmtest.Options{Models: have, Script: says("ready")}}, model: "lm_studio/m", want: noTools, check: "tools", detail: "text instead", fix: "Use qwen3:8b", action: `{"kind":"use_model","role":"primary","model":"ollama_chat/qwen3:8b","label":"Use qwen3:8b"}`}, // A-351
		"no tools, and refuses": {b: bench{server: llmtest.Options{Models: have, Script: func(r llmtest.Request) llmtest.Reply {
			if len(r.Tools) > 0 {
				return llmtest.Fail(400, `{"error":"m does not support tools"}`)
			}
			return clever(r)
		}}}, model: "ollama_chat/tiny", want: "connection:pass reply:pass tools:fail chain:skip thinking:pass context:warn gpu:skip", check: "tools", detail: "can't use tools", fix: "Use qwen3:8b", action: `{"kind":"use_model","role":"primary","model":"ollama_chat/qwen3:8b","label":"Use qwen3:8b"}`},
		"no tools on a small computer": {b: bench{hw: msg.Hardware{Recommendation: msg.Recommendation{Tier: "small", Model: "ollama_chat/qwen3:4b", Name: "qwen3:4b", ContextLength: 8192, CloudFirst: true}},
			server: llmtest.Options{Models: have, Script: says("ready")}}, model: "lm_studio/m", want: noTools, check: "tools", fix: "Use qwen3:8b", action: `{"kind":"use_model","role":"primary","model":"ollama_chat/qwen3:8b","label":"Use qwen3:8b"}`},
		"no tools, and the better one is not here": {b: bench{hw: sized, server: llmtest.Options{Models: have, Script: says("ready")}}, model: "lm_studio/m", want: noTools, check: "tools", fix: "Download qwen3:14b", action: `{"kind":"pull_model","name":"qwen3:14b","label":"Download qwen3:14b"}`},
		"the best one fails the tools":             {b: bench{server: llmtest.Options{Models: have, Script: says("ready")}}, model: "ollama_chat/qwen3:8b", want: "connection:pass reply:pass tools:fail chain:skip context:pass gpu:skip", check: "tools", fix: "Pick another", action: "null"},
		"the wrong tool": {b: bench{server: llmtest.Options{Models: have, Script: func(r llmtest.Request) llmtest.Reply {
			if len(r.Tools) > 0 {
				return llmtest.Tools(llmtest.Call{ID: "x", Name: "get_weather", Arguments: `{"city":"Berlin"}`})
			}
			return clever(r)
		}}}, model: "lm_studio/m", want: noTools, check: "tools", detail: "not the right one", fix: "Use qwen3:8b", action: `{"kind":"use_model","role":"primary","model":"ollama_chat/qwen3:8b","label":"Use qwen3:8b"}`},
		"forgets the first result": {b: bench{server: llmtest.Options{Models: have, Script: func(r llmtest.Request) llmtest.Reply {
			if r.Last().Role == "tool" {
				return llmtest.Text("It is sunny.")
			}
			return clever(r)
		}}}, model: "lm_studio/m", want: "connection:pass reply:pass tools:pass chain:fail", check: "chain", detail: "result of the first tool", fix: "Use qwen3:8b", action: `{"kind":"use_model","role":"primary","model":"ollama_chat/qwen3:8b","label":"Use qwen3:8b"}`},
		"no JSON": {b: bench{server: llmtest.Options{Script: func(r llmtest.Request) llmtest.Reply {
			if strings.Contains(r.Last().Text, "JSON") {
				return llmtest.Text("Germany")
			}
			return clever(r)
		}}}, role: "planner", model: "lm_studio/m", want: "connection:pass reply:pass json:fail", check: "json", detail: "not the JSON", fix: "Pick another", action: "null"},
		"thinks though it should not": {b: bench{server: llmtest.Options{Models: have, Script: func(r llmtest.Request) llmtest.Reply {
			return llmtest.Reply{Steps: []llmtest.Step{{Thinking: "Hm."}, {Text: `{"country":"Germany"}`}}}
		}}}, role: "planner", model: "ollama_chat/tiny", want: "connection:pass reply:pass json:pass thinking:warn context:warn gpu:skip", check: "thinking", detail: "reasoning is off", fix: "low", action: `{"kind":"set_reasoning","role":"planner","value":"low","label":"Set reasoning to low"}`}, // A-349
		"does not think though it should": {b: bench{config: map[string]any{"reasoning": map[string]any{"planner": "high"}}, server: llmtest.Options{Models: have, Script: says(`{"country":"Germany"}`)}}, role: "planner", model: "ollama_chat/tiny",
			want: "connection:pass reply:pass json:pass thinking:warn context:warn gpu:skip", check: "thinking", detail: "did not think", fix: "Turn reasoning off", action: `{"kind":"set_reasoning","role":"planner","value":"none","label":"Turn reasoning off"}`},
		"embedding fails": {b: bench{embed: func(context.Context, string) (int, error) {
			return 0, &msg.ModelError{Fault: msg.FaultCut, Message: "It broke off."}
		}}, role: "embedding", model: "lm_studio/e", want: "connection:pass embedding:fail", check: "embedding", detail: "It broke off.", fix: "Try again", action: "null"},
		"embedding cannot be tried": {role: "embedding", model: "builtin/use-lite", want: "connection:pass embedding:skip", check: "embedding", action: "null"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.role == "" {
				c.role = "primary"
			}
			if c.b.hw.Recommendation.Model == "" {
				c.b.hw = gpu8
			}
			c.b.asked = map[string]*string{c.role: model(c.model)}
			c.b.run(t, func(t *testing.T, o outcome) {
				if o.err != nil {
					t.Fatal(o.err)
				}
				r := o.by[c.role]
				k := r.check(c.check)
				if r.short() != c.want || !strings.Contains(k.Detail, c.detail) || !strings.Contains(k.Fix, c.fix) || action(k.Action) != c.action {
					t.Errorf("%s\n%+v\n%s", r.short(), k, action(k.Action))
				}
				if strings.Count(k.Detail+" "+k.Fix, "Download it") > 1 {
					t.Errorf("said twice: %s %s", k.Detail, k.Fix)
				}
				if o.done.Status != r.Status {
					t.Errorf("done %s, role %s", o.done.Status, r.Status)
				}
			})
		})
	}
}

// each step ends after 60 s, whatever the request timeout is.
func TestCheckupStepsAreBounded(t *testing.T) {
	b := bench{hw: gpu8, asked: map[string]*string{"primary": model("lm_studio/m")}, server: llmtest.Options{Script: func(r llmtest.Request) llmtest.Reply {
		if len(r.Tools) > 0 {
			return llmtest.Reply{Steps: []llmtest.Step{{Text: "Well"}, {Stall: true}}}
		}
		return clever(r)
	}}}
	b.run(t, func(t *testing.T, o outcome) {
		if k := o.by["primary"].check("tools"); k.Status != fail || !strings.Contains(k.Detail, "60 seconds") || o.took < 60*time.Second || o.took > 62*time.Second {
			t.Errorf("%+v after %v", k, o.took)
		}
	})
}

// turnedDown is a plan that is signed in and refuses.
type turnedDown struct{ fakeModels }

func (*turnedDown) Stream(context.Context, msg.ModelRequest, func(msg.ModelChunk) error) (msg.ModelResult, error) {
	return msg.ModelResult{}, &msg.ModelError{Fault: msg.FaultKey, Message: "It was turned down."}
}

// a plan's model that is turned down asks for a sign-in, never for a provider's key.
func TestAPlanThatTurnsDown(t *testing.T) {
	var got RoleResult
	err := Checkup(t.Context(), Options{Config: heldConfig{t, app.Default()}, Models: &turnedDown{}, NewID: func() string { return "1" },
		Hardware: func(context.Context, bool) msg.Hardware { return gpu8 }, KeySet: func(context.Context, string) bool { return false }},
		map[string]*string{"primary": model("chatgpt/gpt-6")}, func(line any) error {
			if r, ok := line.(RoleResult); ok {
				got = r
			}
			return nil
		})
	k := got.check("reply")
	if err != nil || got.short() != "connection:pass reply:fail tools:skip chain:skip" || k.Fix != "Sign in with ChatGPT again under Settings > Models > Use a plan you already have." || k.Action != nil {
		t.Errorf("%v %+v", err, got)
	}
}
