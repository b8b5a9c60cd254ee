package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sentient/actors/msg"
	"sentient/transport/llm/llmtest"
)

func number[T any](v T) *T { return &v }

// conversation has everything that a request can hold.
func conversation(model string) msg.ModelRequest {
	png := []byte("\x89PNG\r\n\x1a\nrest")
	return msg.ModelRequest{
		Model: model, Role: "primary", System: "You are <careful>.", Temperature: number(0.5), MaxTokens: 1000, Reasoning: "medium",
		Tools: []msg.ToolSchema{
			{Name: "get_weather", Description: "The weather.", Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}}}`)},
			{Name: "snapshot", Description: "A picture."},
		},
		Messages: []msg.ModelMessage{
			{Role: "user", Parts: []msg.ModelPart{{Text: "Weather here?"}, {Image: png, MIME: "image/png"}}},
			{Role: "assistant", Thinking: "Look.", Parts: msg.TextPart("I'll look."), Signature: `{"p":"anthropic","b":[{"n":5,"s":"c2ln"}]}`,
				ToolCalls: []msg.ToolCall{{ID: "call_1", Name: "get_weather", Arguments: `{"city":"Bonn"}`}, {ID: "call 2", Name: "snapshot", Arguments: `not json`}}},
			{Role: "tool", ToolCallID: "call_1", Name: "get_weather", Parts: msg.TextPart(`{"error":"no network"}`), IsError: true},
			{Role: "tool", ToolCallID: "call 2", Name: "snapshot", Parts: []msg.ModelPart{{Image: png}}},
			{Role: "assistant", Parts: msg.TextPart("It is unclear.")},
			{Role: "user", Parts: msg.TextPart("Try again")},
			{Role: "user", Parts: msg.TextPart("please")},
		},
	}
}

// Requests are golden files: one for each way of speaking.
func TestRequestBodies(t *testing.T) {
	for _, model := range []string{"openai/gpt-5.6-luna", "mistral/mistral-small-latest", "openrouter/a/b", "deepseek/deepseek-v4-pro", "lm_studio/x",
		"anthropic/claude-sonnet-5", "anthropic/claude-haiku-4-5", "ollama_chat/qwen3:8b"} {
		t.Run(strings.ReplaceAll(model, "/", "_"), func(t *testing.T) {
			inMemory(t, llmtest.Options{}, func(t *testing.T, x fixture) {
				if _, err := x.Stream(t.Context(), conversation(model), nil); err != nil {
					t.Fatal(err)
				}
				var v any
				if err := json.Unmarshal(x.Requests()[0].Body, &v); err != nil {
					t.Fatal(err)
				}
				got, _ := json.MarshalIndent(v, "", "  ")
				golden := filepath.Join("testdata", "requests", strings.NewReplacer("/", "_", ":", "_").Replace(model)+".json")
				if *rewrite {
					if err := os.WriteFile(golden, append(got, '\n'), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(golden)
				if err != nil {
					t.Fatal(err)
				}
				if string(got)+"\n" != string(want) {
					t.Errorf("got %s", got)
				}
			})
		})
	}
}

// Anthropic models get cache_control on the system prompt and on the tool list.
func TestAnthropicCachesSystemAndTools(t *testing.T) {
	e := endpointOf("anthropic")
	body := anthropicBody(e, conversation("anthropic/claude-sonnet-5"))
	if body.System[0].Cache == nil || body.System[0].Cache.Type != "ephemeral" {
		t.Error("the system prompt has no cache_control")
	}
	for i, tool := range body.Tools {
		if last := i == len(body.Tools)-1; (tool.Cache != nil) != last {
			t.Errorf("tool %d of %d: cache_control %v", i, len(body.Tools), tool.Cache)
		}
	}
	var seen struct {
		System []map[string]any
		Tools  []map[string]any
	}
	data, _ := encode(body)
	if json.Unmarshal(data, &seen) != nil || seen.System[0]["cache_control"] == nil || seen.Tools[1]["cache_control"] == nil {
		t.Errorf("%s", data)
	}
}

func TestAnthropicTurns(t *testing.T) {
	e := endpointOf("anthropic")
	body := anthropicBody(e, conversation("anthropic/claude-sonnet-5"))
	roles := ""
	for _, m := range body.Messages {
		roles += m.Role[:1]
	}
	if roles != "uauau" {
		t.Errorf("turns %s, want them to alternate", roles)
	}
	results := body.Messages[2].Content
	if len(results) != 2 || results[0].Type != "tool_result" || !results[0].IsError || results[1].Content[0].Type != "image" || results[1].ToolUseID != body.Messages[1].Content[3].ID {
		t.Errorf("%+v", results)
	}
	if thought := body.Messages[1].Content[0]; thought.Type != "thinking" || *thought.Thinking != "Look." || thought.Signature != "c2ln" {
		t.Errorf("%+v", thought)
	}
	if b := anthropicBody(e, msg.ModelRequest{Messages: []msg.ModelMessage{{Role: "assistant", Parts: msg.TextPart("Hello ")}}}); b.Messages[0].Role != "user" || b.Messages[1].Content[0].Text != "Hello" {
		t.Errorf("%+v", b.Messages)
	}
	noTools := conversation("anthropic/claude-sonnet-5")
	noTools.Tools = nil
	if b := anthropicBody(e, noTools); len(b.Tools) != 2 || b.ToolChoice == nil {
		t.Errorf("a conversation with calls needs their tools: %+v", b.Tools)
	}
}

// Another provider's marks, and marks of thinking that was changed, are left out.
func TestForeignSealsAreLeftOut(t *testing.T) {
	for _, signature := range []string{"", "garbage", `{"p":"gemini","c":["x"]}`, `{"p":"anthropic","b":[{"n":4,"s":"c2ln"}]}`, `{"p":"anthropic","b":[{"n":-1},{"n":6,"s":"x"}]}`} {
		m := msg.ModelMessage{Role: "assistant", Thinking: "Look.", Signature: signature, Parts: msg.TextPart("x")}
		if b := anthropicAssistant(endpointOf("anthropic"), m, false); len(b) != 1 {
			t.Errorf("%q gave %+v", signature, b)
		}
	}
	m := msg.ModelMessage{Role: "assistant", Signature: `{"p":"gemini","c":["mark"]}`, ToolCalls: []msg.ToolCall{{ID: "call_1", Name: "f", Arguments: "{}"}}}
	if out := openAIAssistant(endpointOf("gemini"), m, func(s string) string { return s }); out.ToolCalls[0].Extra == nil {
		t.Error("Gemini's own mark was lost")
	}
	if out := openAIAssistant(endpointOf("groq"), m, func(s string) string { return s }); out.ToolCalls[0].Extra != nil {
		t.Error("Gemini's mark went to Groq")
	}
}

// What a provider ties to its own name of a call is found again under the id that the engine gave the call.
func TestSealsSurviveOtherCallIDs(t *testing.T) {
	for provider, want := range map[string]string{
		"gemini.tools":     `"tool_calls":[{"id":"ours_0","type":"function","function":{"name":"find_city","arguments":"{\"code\":\"10115\"}"},"extra_content":{"google":{"thought_signature":"AbCd=="}}},{"id":"ours_1"`,
		"openrouter.tools": `"reasoning_details":[{"type":"reasoning.text","text":"I look.","format":"google-gemini-v1","index":0},{"data":"c2VjcmV0","format":"google-gemini-v1","id":"ours_1","index":1,"type":"reasoning.encrypted"}]`,
	} {
		data, err := os.ReadFile("testdata/streams/" + provider + ".sse")
		if err != nil {
			t.Fatal(err)
		}
		id := providerOf(provider)
		got, _ := decode(id, bytes.NewReader(data))
		m := msg.ModelMessage{Role: "assistant", ToolCalls: got.Result.Calls, Signature: got.Result.Signature}
		for i := range m.ToolCalls {
			m.ToolCalls[i].ID = fmt.Sprintf("ours_%d", i)
		}
		b, err := encode(openAIAssistant(endpointOf(id), m, func(s string) string { return s }))
		if err != nil || !strings.Contains(string(b), want) {
			t.Errorf("%s: %s %v", provider, b, err)
		}
	}
}

func TestReasoningEfforts(t *testing.T) {
	for _, c := range []struct{ provider, model, effort, want string }{
		{"openai", "gpt-5.6-luna", "none", `"reasoning_effort":"none"`},
		{"openai", "gpt-5-mini", "none", `"reasoning_effort":"minimal"`},
		{"openai", "o4-mini", "none", `"reasoning_effort":"low"`},
		{"openai", "gpt-6-astra", "none", `"reasoning_effort":"low"`},
		{"openai", "gpt-5.5", "high", `"reasoning_effort":"high"`},
		{"openai", "gpt-4o", "high", ``},
		{"openrouter", "a/b", "none", `"reasoning":{"enabled":false}`},
		{"openrouter", "a/b", "low", `"reasoning":{"effort":"low"}`},
		{"gemini", "gemini-2.5-flash", "none", `"reasoning_effort":"none"`},
		{"gemini", "gemini-3.8-flash", "none", `"reasoning_effort":"low"`},
		{"groq", "openai/gpt-oss-20b", "none", `"reasoning_effort":"low"`},
		{"groq", "qwen/qwen3.8-27b", "medium", `"reasoning_effort":"default"`},
		{"groq", "llama-3.3-70b", "high", ``},
		{"deepseek", "deepseek-v4-pro", "none", `"thinking":{"type":"disabled"}`},
		{"xai", "grok-4.7", "high", `"reasoning_effort":"high"`},
		{"xai", "grok-4", "high", ``},
		{"vllm", "qwen3", "none", `"chat_template_kwargs":{"enable_thinking":false}`},
		{"mistral", "x", "high", ``},
		{"anthropic", "claude-sonnet-5", "none", `"thinking":{"type":"disabled"}`},
		{"anthropic", "claude-sonnet-5-5", "none", `"output_config":{"effort":"low"}`},
		{"anthropic", "claude-opus-4-7", "none", ``},
		{"anthropic", "claude-opus-4-7", "high", `"thinking":{"type":"adaptive"}`},
		{"anthropic", "claude-haiku-4-5-20251001", "low", `"thinking":{"budget_tokens":2048,"type":"enabled"}`},
		{"anthropic", "claude-3-5-haiku-latest", "low", ``},
		{"ollama_chat", "qwen3:8b", "none", `"think":false`},
		{"ollama_chat", "qwen3:8b", "high", `"think":true`},
		{"ollama_chat", "gpt-oss:20b", "none", `"think":"low"`},
		{"openai", "gpt-5.5", "", ``},
	} {
		e := endpoint{provider: findProvider(c.provider), name: c.model}
		req := msg.ModelRequest{Reasoning: c.effort}
		var body any
		switch e.provider.speaks {
		case speaksAnthropic:
			body = anthropicBody(e, req)
		case speaksOllama:
			body = ollamaBody(e, req, ollamaSetup{thinks: true})
		default:
			body = openAIBody(e, req)
		}
		data, err := encode(body)
		if err != nil {
			t.Fatal(err)
		}
		hasAny := strings.Contains(string(data), "reasoning") || strings.Contains(string(data), "think") || strings.Contains(string(data), "effort")
		if !strings.Contains(string(data), c.want) || c.want == "" && hasAny {
			t.Errorf("%s/%s %q: %s, want %s", c.provider, c.model, c.effort, data, c.want)
		}
	}
	if b := anthropicBody(endpoint{provider: findProvider("anthropic"), name: "claude-haiku-4-5"}, msg.ModelRequest{Reasoning: "high", Temperature: number(1.0)}); b.Temperature != nil || b.MaxTokens <= 16384 {
		t.Errorf("a budget needs room and no temperature: %+v", b)
	}
}

func TestJSONMode(t *testing.T) {
	req := msg.ModelRequest{System: "S", JSON: true}
	for provider, want := range map[string]string{"openai": `"response_format":{"type":"json_object"}`, "ollama_chat": `"format":"json"`, "anthropic": wantsJSON, "lm_studio": wantsJSON} {
		e := endpointOf(provider)
		var body any = openAIBody(e, req)
		if provider == "anthropic" {
			body = anthropicBody(e, req)
		} else if provider == "ollama_chat" {
			body = ollamaBody(e, req, ollamaSetup{})
		}
		data, _ := encode(body)
		if !strings.Contains(string(data), want) || provider == "lm_studio" && strings.Contains(string(data), "response_format") {
			t.Errorf("%s: %s", provider, data)
		}
	}
}

// Streamed calls ask for usage; Mistral refuses the question and answers it unasked.
func TestUsageIsAskedFor(t *testing.T) {
	for i := range providerTable {
		p := &providerTable[i]
		if p.speaks != speaksOpenAI || p.id == "mistral" {
			continue
		}
		data, _ := encode(openAIBody(endpoint{provider: p, name: "m"}, msg.ModelRequest{}))
		if !strings.Contains(string(data), `"stream_options":{"include_usage":true}`) {
			t.Errorf("%s: %s", p.id, data)
		}
	}
}

func TestBrokenToolSchemaIsSaid(t *testing.T) {
	inMemory(t, llmtest.Options{}, func(t *testing.T, x fixture) {
		req := ask(protocols["openai"], "hi")
		req.Tools = []msg.ToolSchema{{Name: "f", Parameters: json.RawMessage(`{"type":`)}}
		_, err := x.Stream(t.Context(), req, nil)
		if e := faultOf(t, err); e.Fault != msg.FaultOther || !strings.Contains(e.Message, "Settings > Tools") {
			t.Errorf("%+v", e)
		}
	})
}

// Whatever a history went through, every call has exactly one result behind it and no result is without a call.
func TestPairUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var in []msg.ModelMessage
		for range rapid.IntRange(0, 12).Draw(t, "messages") {
			m := msg.ModelMessage{Role: rapid.SampledFrom([]string{"user", "assistant", "tool"}).Draw(t, "role"), Parts: msg.TextPart("x")}
			id := func() string { return rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "id") }
			if m.Role == "tool" {
				m.ToolCallID = id()
			}
			if m.Role == "assistant" {
				for _, id := range []string{"a", "b", "c"} {
					if rapid.Bool().Draw(t, "calls") {
						m.ToolCalls = append(m.ToolCalls, msg.ToolCall{ID: id, Name: "f", Arguments: "{}"})
					}
				}
			}
			in = append(in, m)
		}
		out := pairUp(in)
		if !paired(out) {
			t.Fatalf("%+v", out)
		}
		again := pairUp(out)
		if len(again) != len(out) {
			t.Fatal("not settled")
		}
	})
}

func TestBases(t *testing.T) {
	for _, c := range []struct{ provider, base, want string }{
		{"openai", "https://proxy.example/v1/", "https://proxy.example/v1"},
		{"openai", "https://proxy.example", "https://proxy.example/v1"},
		{"lm_studio", "http://localhost:1234", "http://localhost:1234/v1"},
		{"groq", "https://api.groq.com", "https://api.groq.com/openai/v1"},
		{"deepseek", "https://api.deepseek.com", "https://api.deepseek.com"},
		{"anthropic", "https://api.anthropic.com/v1", "https://api.anthropic.com"},
		{"ollama_chat", "http://localhost:11434/api", "http://localhost:11434"},
		{"ollama_chat", "http://localhost:11434/v1/", "http://localhost:11434"},
		{"openai", "ftp://x", ""}, {"openai", "localhost:8000", ""}, {"openai", "http://", ""}, {"openai", "http://a/?x=1", ""}, {"openai", "%", ""},
	} {
		got, ok := cleanBase(c.base, findProvider(c.provider))
		if ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%s %s: %q %v", c.provider, c.base, got, ok)
		}
	}
}
