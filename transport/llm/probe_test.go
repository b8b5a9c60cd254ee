package llm

import (
	"encoding/json"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tiktoken-go/tokenizer"

	"sentient/actors/msg"
	"sentient/transport/llm/llmtest"
)

var someModels = []llmtest.Model{
	{Name: "qwen3:8b", Size: 5_200_000_000, Family: "qwen3", Parameters: "8.2B", Context: 40960, Capabilities: []string{"completion", "tools", "thinking"}},
	{Name: "nomic-embed-text:latest", Size: 274_000_000, Family: "nomic-bert", Parameters: "137M", Context: 2048, Capabilities: []string{"embedding"}},
	{Name: "gemma:2b", Family: "gemma", Context: 4096, Capabilities: []string{"completion"}},
}

// GET /api/models/local tells what Ollama and LM Studio have, and whether they answer.
func TestLocal(t *testing.T) {
	inMemory(t, llmtest.Options{Models: someModels}, func(t *testing.T, x fixture) {
		got := x.Local(t.Context())
		if !got.Ollama.Reachable || !got.LMStudio.Reachable || len(got.Ollama.Models) != 3 || len(got.LMStudio.Models) != 3 {
			t.Fatalf("%+v", got)
		}
		b, _ := json.Marshal(got.Ollama.Models[1])
		if want := `{"name":"nomic-embed-text:latest","size":274000000,"family":"nomic-bert","parameter_size":"137M","is_embedding":true,"capabilities":["embedding"]}`; string(b) != want {
			t.Errorf("%s", b)
		}
		if got.Ollama.Models[0].IsEmbedding || !got.LMStudio.Models[1].IsEmbedding {
			t.Errorf("%+v", got)
		}
	})
	inMemory(t, llmtest.Options{}, func(t *testing.T, x fixture) {
		x.Server.Close()
		b, _ := json.Marshal(x.Local(t.Context()))
		if want := `{"ollama":{"reachable":false,"models":[]},"lm_studio":{"reachable":false,"models":[]}}`; string(b) != want {
			t.Errorf("%s", b)
		}
	})
}

// A runtime that accepts and then says nothing holds Local up for a few seconds only.
func TestLocalIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipe := llmtest.NewPipe()
		stuck := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })}
		go stuck.Serve(pipe)
		c, _ := New(Options{Settings: func() Settings { return settingsFor(llmtest.PipeURL) }, Dial: pipe.Dial})
		began := time.Now()
		got := c.Local(t.Context())
		if got.Ollama.Reachable || got.LMStudio.Reachable || time.Since(began) > localWait {
			t.Errorf("%+v after %v", got, time.Since(began))
		}
		c.Close()
		stuck.Close()
		synctest.Wait()
	})
}

// Before a turn a model is checked without calling it: downloaded in Ollama, a key set.
func TestAvailable(t *testing.T) {
	inMemory(t, llmtest.Options{Models: someModels}, func(t *testing.T, x fixture) {
		for model, want := range map[string]msg.ModelFault{
			"ollama_chat/qwen3:8b": "", "ollama_chat/nomic-embed-text": "", "ollama_chat/qwen3": msg.FaultMissing, "ollama_chat/llama9:8b": msg.FaultMissing,
			"openai/gpt-5.6-luna": "", "lm_studio/anything": "", GuideModel: "", "acme/x": msg.FaultBadModel, "claude-code/sonnet": msg.FaultBadModel,
		} {
			err := x.Available(t.Context(), model)
			if want == "" && err != nil || want != "" && (err == nil || faultOf(t, err).Fault != want) {
				t.Errorf("%s: %v", model, err)
			}
		}
		if n := len(x.Requests()); n != 0 {
			t.Errorf("%d models were called", n)
		}
	})
	c, _ := New(Options{Env: func(string) string { return "" }})
	if err := c.Available(t.Context(), "openai/gpt-5.6-luna"); err == nil || faultOf(t, err).Fault != msg.FaultKey {
		t.Errorf("%v", err)
	}
}

func TestTagsAreAskedOnceInAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipe := llmtest.NewPipe()
		var asked atomic.Int32
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			time.Sleep(100 * time.Millisecond)
			w.Write([]byte(`{"models":[{"name":"qwen3:8b"}]}`))
		})}
		go server.Serve(pipe)
		c, _ := New(Options{Settings: func() Settings { return settingsFor(llmtest.PipeURL) }, Dial: pipe.Dial})
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if err := c.Available(t.Context(), "ollama_chat/qwen3:8b"); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if asked.Load() != 1 {
			t.Errorf("asked %d times", asked.Load())
		}
		time.Sleep(tagsFresh)
		c.Available(t.Context(), "ollama_chat/qwen3:8b")
		if asked.Load() != 2 {
			t.Errorf("asked %d times after a while", asked.Load())
		}
		c.Close()
		server.Close()
		synctest.Wait()
	})
}

// context_length is Ollama's num_ctx as sent, capped at the model's maximum, or a cloud model's window from the list; where it
// is not known it is 0 (A-044, for what this version can reach: plans come later).
func TestContextLength(t *testing.T) {
	inMemory(t, llmtest.Options{Models: someModels}, func(t *testing.T, x fixture) {
		s := settingsFor(x.URL())
		s.ContextLengthPerRole = map[string]int{"planner": 100_000, "fast": 4096}
		x.opts.Settings = func() Settings { return s }
		numCtx := func(role string, asked int) int {
			req := ask("ollama_chat/qwen3:8b", "hi")
			req.Role, req.ContextLength = role, asked
			if _, err := x.Stream(t.Context(), req, nil); err != nil {
				t.Fatal(err)
			}
			all := x.Requests()
			var body struct {
				Options struct {
					NumCtx int `json:"num_ctx"`
				} `json:"options"`
			}
			json.Unmarshal(all[len(all)-1].Body, &body)
			return body.Options.NumCtx
		}
		for role, want := range map[string]int{"primary": 8192, "fast": 4096, "planner": 40960} {
			if sent := numCtx(role, 0); sent != want || x.ContextLength("ollama_chat/qwen3:8b", role) != want {
				t.Errorf("%s: sent %d, told %d, want %d", role, sent, x.ContextLength("ollama_chat/qwen3:8b", role), want)
			}
		}
		if sent := numCtx("primary", 16384); sent != 16384 {
			t.Errorf("the request's own: %d", sent)
		}
		for model, want := range map[string]int{"anthropic/claude-haiku-4-5": 200_000, "anthropic/claude-haiku-4-5-20251001": 200_000, "openai/gpt-4o": 128_000,
			"openrouter/anthropic/claude-sonnet-4.5": 200_000, "openrouter/google/gemini-2.5-pro:free": 1_048_576, "lm_studio/qwen3": 0, "openai/unheard-of": 0,
			"chatgpt/gpt-5": 0, GuideModel: 0, "nonsense": 0} {
			if got := x.ContextLength(model, "primary"); got != want {
				t.Errorf("%s: %d", model, got)
			}
		}
	})
}

func TestCost(t *testing.T) {
	c, _ := New(Options{})
	u := msg.ModelUsage{Known: true, PromptTokens: 100_000, CachedTokens: 40_000, CompletionTokens: 10_000}
	long := msg.ModelUsage{Known: true, PromptTokens: 300_000, CompletionTokens: 10_000}
	for _, x := range []struct {
		model string
		u     msg.ModelUsage
		want  float64 // negative: not known
	}{
		{"anthropic/claude-sonnet-5", u, 0.06*2 + 0.04*0.2 + 0.01*10},
		{"openai/gpt-5.5", long, 0.3*10 + 0.01*45},
		{"openrouter/x/y:free", u, 0}, {"ollama_chat/qwen3:8b", u, 0}, {GuideModel, u, 0},
		{"openai/unheard-of", u, -1}, {"chatgpt/gpt-5", u, -1}, {"anthropic/claude-sonnet-5", msg.ModelUsage{}, -1},
	} {
		got := c.Cost(x.model, x.u)
		if (got == nil) != (x.want < 0) || got != nil && *got != msg.DollarsOf(x.want) {
			t.Errorf("%s: %v, want %v", x.model, got, x.want)
		}
	}
	if p := priceOf("anthropic/claude-sonnet-5", msg.ModelUsage{Known: true, PromptTokens: 1000, CachedTokens: 0}, 1000); *p != 2_500_000 {
		t.Errorf("a cache write costs %v", *p)
	}
	for name, m := range catalog() {
		dearer := m.above > 0 && (m.long.in < m.price.in || m.long.out < m.price.out || m.long.in == 0)
		if m.name == "" || m.context < 0 || m.price.cached > m.price.in || m.above > 0 && (dearer != false) || !m.priced && m.price != (tokenPrice{}) {
			t.Errorf("%s: %+v", name, m)
		}
		if p, _, ok := splitModel(name); !ok || p.local {
			t.Errorf("%s is no cloud provider's", name)
		}
	}
	for _, p := range providerTable {
		for _, m := range p.suggested {
			if _, ok := findListed(m); !ok && !p.local {
				t.Errorf("%s is suggested but not in the list", m)
			}
		}
	}
}

func TestDisplayNames(t *testing.T) {
	for model, want := range map[string]string{"ollama_chat/qwen3:8b": "qwen3:8b", "claude-code/sonnet": "Claude Sonnet", "anthropic/claude-sonnet-5": "Claude Sonnet 5",
		"anthropic/claude-sonnet-4-5-20250929": "Claude Sonnet 4.5", "openrouter/anthropic/claude-sonnet-4.5": "Claude Sonnet 4.5", "openrouter/meta/llama:free": "llama:free",
		GuideModel: "Guide (built-in demo)", "nonsense": "nonsense", "openai/unheard-of": "unheard-of"} {
		if got := DisplayName(model); got != want {
			t.Errorf("%s: %s", model, got)
		}
	}
}

// POST /api/models/test decides whether a model can use tools by letting it try.
func TestTest(t *testing.T) {
	calls := func(r llmtest.Request) llmtest.Reply {
		if len(r.Tools) == 1 && r.Tools[0] == "find_city" {
			return llmtest.Tools(llmtest.Call{ID: "1", Name: "find_city", Arguments: `{"postal_code":"10115"}`})
		}
		return llmtest.Reply{Steps: []llmtest.Step{{Wait: 1500 * time.Millisecond, Text: "ready"}}}
	}
	for name, c := range map[string]struct {
		script func(llmtest.Request) llmtest.Reply
		ok     bool
		tools  string // true, false, unknown
		error  string
	}{
		"works":    {calls, true, "true", ""},
		"no calls": {func(llmtest.Request) llmtest.Reply { return llmtest.Text("ready") }, true, "false", ""},
		"refuses tools": {func(r llmtest.Request) llmtest.Reply {
			if len(r.Tools) > 0 {
				return llmtest.Fail(400, `{"error":"qwen3:8b does not support tools"}`)
			}
			return calls(r)
		}, true, "false", ""},
		"down for tools": {func(r llmtest.Request) llmtest.Reply {
			if len(r.Tools) > 0 {
				return llmtest.Fail(503, ``)
			}
			return calls(r)
		}, true, "unknown", ""},
		"down": {func(llmtest.Request) llmtest.Reply { return llmtest.Fail(503, ``) }, false, "unknown", "overloaded"},
	} {
		for protocol, model := range protocols {
			t.Run(name+"/"+protocol, func(t *testing.T) {
				inMemory(t, llmtest.Options{Script: c.script}, func(t *testing.T, x fixture) {
					got := x.Test(t.Context(), model, "primary")
					tools := "unknown"
					if got.SupportsTools != nil {
						tools = map[bool]string{true: "true", false: "false"}[*got.SupportsTools]
					}
					if got.OK != c.ok || tools != c.tools || !strings.Contains(got.Error, c.error) || c.ok && got.Reply != "ready" {
						t.Errorf("%+v, tools %s", got, tools)
					}
					if name == "works" && got.LatencyMS != 1500 {
						t.Errorf("%d ms", got.LatencyMS)
					}
				})
			})
		}
	}
}

// The check of a key calls no model.
func TestCheckProvider(t *testing.T) {
	inMemory(t, llmtest.Options{Key: "sk-other"}, func(t *testing.T, x fixture) {
		for _, id := range []string{"openai", "anthropic", "openrouter"} {
			if _, err := x.CheckProvider(t.Context(), id); err == nil || faultOf(t, err).Fault != msg.FaultKey {
				t.Errorf("%s: %v", id, err)
			}
		}
		if _, err := x.CheckProvider(t.Context(), "acme"); err == nil {
			t.Error("an unknown provider passed")
		}
	})
	inMemory(t, llmtest.Options{Key: "sk-test-key"}, func(t *testing.T, x fixture) {
		for id, want := range map[string]string{"openai": "OpenAI accepted the key.", "anthropic": "Anthropic accepted the key.", "ollama_chat": "Ollama is answering.", "demo": "The guide is built in and always works."} {
			if got, err := x.CheckProvider(t.Context(), id); err != nil || got != want {
				t.Errorf("%s: %q %v", id, got, err)
			}
		}
		if len(x.Requests()) != 0 {
			t.Error("a model was called")
		}
	})
}

// The estimate stays near the real vocabulary on the kinds of text that chats hold.
func TestCountTokens(t *testing.T) {
	real, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	samples, err := filepath.Glob("testdata/tokens/*.txt")
	if err != nil || len(samples) < 8 {
		t.Fatalf("%d samples, %v", len(samples), err)
	}
	for _, path := range samples {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want, err := real.Count(string(b))
		if err != nil {
			t.Fatal(err)
		}
		got := CountTokens(string(b))
		if off := float64(got)/float64(want) - 1; math.Abs(off) > 0.20 {
			t.Errorf("%s: %d tokens, estimated %d (%+.0f%%)", filepath.Base(path), want, got, 100*off)
		} else {
			t.Logf("%s: %d tokens, estimated %d (%+.0f%%)", filepath.Base(path), want, got, 100*off)
		}
	}
	if CountTokens("") != 0 || CountTokens("a") != 1 || CountTokens(" ") > 1 {
		t.Error("the smallest texts")
	}
}
