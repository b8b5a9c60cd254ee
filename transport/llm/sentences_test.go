package llm

import (
	"context"
	"net"
	"strings"
	"testing"

	"sentient/actors/msg"
	"sentient/transport/llm/llmtest"
)

// Known failures become one plain sentence that says what to do; what the provider said is only in the log, while other
// failures keep their text.
func TestSentences(t *testing.T) {
	const pick = ", or pick another model in Settings > Models."
	for name, c := range map[string]struct {
		model  string
		status int
		body   string
		fault  msg.ModelFault
		want   string
	}{
		"OpenRouter's free limit for a day": {"openrouter/meta-llama/llama-4-maverick:free", 429,
			`{"error":{"message":"Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model requests per day","code":429,"metadata":{"headers":{"X-RateLimit-Limit":"50"}}},"user_id":"user_1"}`,
			msg.FaultRate, "OpenRouter's free models have reached today's limit. Add credits on openrouter.ai, wait until tomorrow" + pick},
		"OpenRouter's free limit for a minute": {"openrouter/x/y:free", 429, `{"error":{"message":"Rate limit exceeded: free-models-per-min. ","code":429}}`,
			msg.FaultRate, "OpenRouter's free models have reached this minute's limit. Wait a minute, add credits on openrouter.ai" + pick},
		"a rate limit": {"anthropic/claude-sonnet-5", 429, `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit"}}`,
			msg.FaultRate, "Anthropic limits how often it can be asked, and the limit is reached. Wait a minute" + pick},
		"Gemini's rate limit": {"gemini/gemini-3.8-flash", 429, `[{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED"}}]`,
			msg.FaultRate, "Google Gemini limits how often it can be asked, and the limit is reached. Wait a minute" + pick},
		"no credits": {"openrouter/openai/gpt-5.6-luna", 402, `{"error":{"message":"This request requires more credits, or fewer max_tokens.","code":402}}`,
			msg.FaultCredits, "OpenRouter says there are no credits left. Add credits on openrouter.ai" + pick},
		"no credits as 429": {"openai/gpt-5.6-luna", 429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`,
			msg.FaultCredits, "OpenAI says there are no credits left. Add credits on platform.openai.com" + pick},
		"no credits as 400": {"anthropic/claude-sonnet-5", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`,
			msg.FaultCredits, "Anthropic says there are no credits left. Add credits on console.anthropic.com" + pick},
		"a wrong key": {"openai/gpt-5.6-luna", 401, `{"error":{"message":"Incorrect API key provided: sk-te***key.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`,
			msg.FaultKey, "OpenAI did not accept the API key. Check it, or add a new one, in Settings > Models."},
		"a wrong key as 400": {"gemini/gemini-3.8-flash", 400, `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`,
			msg.FaultKey, "Google Gemini did not accept the API key. Check it, or add a new one, in Settings > Models."},
		"a model for coding tools": {"nous/kimi-for-coding", 403, `{"error":{"message":"This model is currently only available for Coding Agents such as some CLI.","type":"access_terminated_error"}}`,
			msg.FaultCodingOnly, "Nous Portal keeps kimi-for-coding for coding tools. Pick another model in Settings > Models."},
		"no such model": {"openai/gpt-99", 404, `{"error":{"message":"The model 'gpt-99' does not exist or you do not have access to it.","type":"invalid_request_error","param":null,"code":"model_not_found"}}`,
			msg.FaultMissing, "OpenAI has no model named gpt-99. Pick another model in Settings > Models."},
		"no such model as 400": {"openrouter/a/b", 400, `{"error":{"message":"a/b is not a valid model ID","code":400}}`,
			msg.FaultMissing, "OpenRouter has no model named a/b. Pick another model in Settings > Models."},
		"not downloaded": {"ollama_chat/llama9:8b", 404, `{"error":"model 'llama9:8b' not found"}`,
			msg.FaultMissing, "llama9:8b is not downloaded in Ollama. Download it in Settings > Models, or pick another model there."},
		"no tools": {"ollama_chat/gemma:2b", 400, `{"error":"library/gemma:2b does not support tools"}`,
			msg.FaultNoTools, "gemma:2b can't use tools. Pick a model that can in Settings > Models."},
		"no tools at OpenRouter": {"openrouter/a/b", 404, `{"error":{"message":"No endpoints found that support tool use. To learn more about provider routing, visit: ...","code":404}}`,
			msg.FaultNoTools, "b can't use tools. Pick a model that can in Settings > Models."},
		"overloaded": {"anthropic/claude-sonnet-5", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`,
			msg.FaultUnavailable, "Anthropic is overloaded or down right now. Try again in a few minutes" + pick},
		"down": {"groq/openai/gpt-oss-20b", 502, `<html><head><title>502 Bad Gateway</title></head></html>`,
			msg.FaultUnavailable, "Groq is overloaded or down right now. Try again in a few minutes" + pick},
		"slow": {"xai/grok-4.3", 504, `upstream request timeout`, msg.FaultTimeout, "xAI did not answer for 30 seconds. Try again" + pick},
		"too long": {"openai/gpt-5.6-luna", 400, `{"error":{"message":"This model's maximum context length is 128000 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}`,
			msg.FaultTooLong, "This conversation is too long for GPT-5.6 Luna. Start a new chat, or pick a model that reads more in Settings > Models."},
		"too long at Anthropic": {"anthropic/claude-haiku-4-5", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`,
			msg.FaultTooLong, "This conversation is too long for Claude Haiku 4.5. Start a new chat, or pick a model that reads more in Settings > Models."},
		"anything else": {"mistral/mistral-small-latest", 422, `{"object":"error","message":{"detail":[{"msg":"Extra inputs are not permitted"}]},"type":"invalid_request_error"}`,
			msg.FaultOther, `{"detail":[{"msg":"Extra inputs are not permitted"}]}`},
		"anything else, in words":      {"openai/gpt-5.6-luna", 400, `{"error":{"message":"Invalid value:\n 'foo'.","type":"invalid_request_error"}}`, msg.FaultOther, "Invalid value: 'foo'."},
		"the key in its words":         {"openai/gpt-5.6-luna", 400, `{"error":{"message":"The header Bearer sk-test-key is odd."}}`, msg.FaultOther, "The header Bearer [key] is odd."},
		"anything else, without words": {"deepseek/deepseek-flash", 418, ``, msg.FaultOther, "DeepSeek refused the request (418). Try again" + pick},
		"too little memory": {"ollama_chat/qwen3:8b", 500, `{"error":"model requires more system memory (9.1 GiB) than is available (4.0 GiB)"}`,
			msg.FaultOther, "model requires more system memory (9.1 GiB) than is available (4.0 GiB)"},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, llmtest.Options{}, func(t *testing.T, x fixture) {
				x.Enqueue(llmtest.Fail(c.status, c.body))
				_, err := x.Stream(t.Context(), ask(c.model, "hi"), nil)
				e := faultOf(t, err)
				if e.Fault != c.fault || e.Message != c.want {
					t.Errorf("%s: %s\nwant %s: %s", e.Fault, e.Message, c.fault, c.want)
				}
				if !strings.Contains(x.log.String(), "model call failed") || strings.Contains(x.log.String()+e.Raw+e.Message, "sk-test-key") {
					t.Errorf("log: %s", x.log)
				}
				if c.fault != msg.FaultOther && len(c.body) > 60 && strings.Contains(e.Message, c.body[30:60]) {
					t.Error("the raw reply is in the sentence")
				}
			})
		})
	}
}

func TestSentencesWithoutACall(t *testing.T) {
	noKeys := Options{Env: func(string) string { return "" }}
	for name, c := range map[string]struct {
		o     Options
		s     Settings
		model string
		fault msg.ModelFault
		want  string
	}{
		"no key":        {noKeys, Settings{}, "anthropic/claude-sonnet-5", msg.FaultKey, "Anthropic has no API key yet. Add one in Settings > Models."},
		"no slash":      {noKeys, Settings{}, "gpt-4", msg.FaultBadModel, `"gpt-4" is not a model Sentient knows how to reach. Pick a model in Settings > Models.`},
		"no provider":   {noKeys, Settings{}, "acme/x", msg.FaultBadModel, `"acme/x" is not a model Sentient knows how to reach. Pick a model in Settings > Models.`},
		"no model":      {noKeys, Settings{}, "openai/", msg.FaultBadModel, `"openai/" is not a model Sentient knows how to reach. Pick a model in Settings > Models.`},
		"no address":    {noKeys, Settings{Providers: map[string]ProviderSettings{"lm_studio": {APIBase: "my computer"}}}, "lm_studio/x", msg.FaultBadModel, "The address set for LM Studio is not a web address. Correct it in Settings > Models."},
		"no sign-in":    {noKeys, Settings{}, "chatgpt/gpt-5", msg.FaultKey, "Sign in with ChatGPT under Settings > Models > Use a plan you already have, or pick another model in Settings > Models."},
		"no claude":     {noKeys, Settings{}, "claude-code/sonnet", msg.FaultBadModel, "Claude through your Claude Code is turned off. Turn it on, or pick another model, in Settings > Models."},
		"local only":    {noKeys, Settings{LocalOnly: true}, "anthropic/claude-sonnet-5", msg.FaultLocalOnly, "Local only is on, and Claude Sonnet 5 does not run on this computer. Pick a local model, or turn Local only off in Settings > Models."},
		"another guide": {noKeys, Settings{}, "demo/other", msg.FaultMissing, "Guide (built-in demo) has no model named other. Pick another model in Settings > Models."},
		"a broken key":  {Options{Key: func(string) (string, bool) { return "sk-a\nb", true }}, Settings{}, "openai/x", msg.FaultKey, "The key saved for OpenAI has characters that a key cannot have. Paste it again in Settings > Models."},
	} {
		t.Run(name, func(t *testing.T) {
			c.o.Settings = func() Settings { return c.s }
			client, err := New(c.o)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			_, err = client.Stream(t.Context(), ask(c.model, "hi"), nil)
			e := faultOf(t, err)
			if e.Fault != c.fault || e.Message != c.want {
				t.Errorf("%s: %s", e.Fault, e.Message)
			}
			if got := client.Available(t.Context(), c.model); got == nil || got.Error() != e.Message {
				t.Errorf("Available says %v", got)
			}
		})
	}
}

// A model counts as on this computer only when its runtime is at localhost, 127.x.x.x or ::1 and it is no Ollama cloud model;
// everything else is refused before any request while Local only is on.
func TestLocalOnly(t *testing.T) {
	for name, c := range map[string]struct {
		model, base string
		local       bool
	}{
		"Ollama":                    {"ollama_chat/qwen3:8b", "", true},
		"embeddings":                {"ollama/nomic-embed-text", "", true},
		"127.0.0.1":                 {"ollama_chat/qwen3:8b", "http://127.0.0.1:11434", true},
		"127.1.2.3":                 {"lm_studio/x", "http://127.1.2.3:1234/v1", true},
		"::1":                       {"vllm/x", "http://[::1]:8000/v1", true},
		"LOCALHOST":                 {"llamafile/x", "http://LOCALHOST:8080/v1", true},
		"hosted vLLM here":          {"hosted_vllm/x", "http://localhost:8000/v1", true},
		"the guide":                 {GuideModel, "", true},
		"built-in embeddings":       {"builtin/use-lite", "", true},
		"an Ollama cloud model":     {"ollama_chat/gpt-oss:120b-cloud", "", false},
		"an Ollama cloud tag":       {"ollama_chat/glm-4.6:cloud", "", false},
		"another computer":          {"ollama_chat/qwen3:8b", "http://192.168.1.5:11434", false},
		"a name that begins so":     {"ollama_chat/qwen3:8b", "http://localhost.evil.example:11434", false},
		"an address that begins so": {"ollama_chat/qwen3:8b", "http://127.evil.example", false},
		"localhost as a user":       {"ollama_chat/qwen3:8b", "http://localhost@evil.example", false},
		"an IPv4-mapped address":    {"ollama_chat/qwen3:8b", "http://[::ffff:127.0.0.1]:11434", false},
		"unspecified":               {"ollama_chat/qwen3:8b", "http://0.0.0.0:11434", false},
		"a cloud provider at home":  {"openai/x", "http://localhost:9/v1", false},
		"a cloud provider":          {"anthropic/claude-sonnet-5", "", false},
		"a plan":                    {"chatgpt/gpt-5", "", false},
		"Claude Code":               {"claude-code/sonnet", "", false},
		"not a model":               {"qwen3", "", false},
		"an unknown provider":       {"acme/qwen3", "http://localhost", false},
	} {
		t.Run(name, func(t *testing.T) {
			id, _, _ := strings.Cut(c.model, "/")
			s := Settings{LocalOnly: true, Providers: map[string]ProviderSettings{id: {APIBase: c.base}}}
			dialed := false
			client, err := New(Options{Settings: func() Settings { return s }, Key: keys, Dial: refuseAnd(&dialed)})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			if client.IsLocal(c.model) != c.local {
				t.Errorf("local: %v", !c.local)
			}
			if c.local || strings.HasPrefix(c.model, "acme") || !strings.Contains(c.model, "/") {
				return
			}
			_, err = client.Stream(t.Context(), ask(c.model, "hi"), nil)
			if e := faultOf(t, err); e.Fault != msg.FaultLocalOnly || dialed {
				t.Errorf("%+v, dialed: %v", e, dialed)
			}
		})
	}
}

func TestBilling(t *testing.T) {
	c, _ := New(Options{})
	for model, want := range map[string]string{"ollama_chat/qwen3:8b": "local", "lm_studio/x": "local", GuideModel: "local", "builtin/use-lite": "local",
		"chatgpt/gpt-5": "plan", "claude-code/sonnet": "plan", "ollama_chat/gpt-oss:120b-cloud": "plan", "openai/gpt-4o": "paid", "nonsense": "paid"} {
		if got := c.Billing(model); got != want {
			t.Errorf("%s: %s", model, got)
		}
	}
}

// The keychain comes first, then the variable that the settings name, else the provider's usual one.
func TestKeys(t *testing.T) {
	env := map[string]string{"OPENAI_API_KEY": "from-env", "MY_KEY": "mine", "NOUS_API_KEY": "nous"}
	chain := map[string]string{"anthropic": " from-chain\n"}
	s := Settings{Providers: map[string]ProviderSettings{"groq": {KeyEnv: "MY_KEY"}, "ollama_chat": {APIBase: "http://10.0.0.2:11434"}}}
	c, _ := New(Options{Settings: func() Settings { return s }, Env: func(n string) string { return env[n] },
		Key: func(p string) (string, bool) { k, ok := chain[p]; return k, ok }, Plan: &fakePlan{tokens: []string{"t"}}})
	for id, want := range map[string]string{"openai": "from-env", "groq": "mine", "nous": "nous", "anthropic": "from-chain", "mistral": "", "ollama_chat": ""} {
		if got := c.key(s, findProvider(id)); got != want {
			t.Errorf("%s: %q", id, got)
		}
	}
	rows := map[string]Provider{}
	for _, p := range c.Providers() {
		rows[p.ID] = p
		if p.Label == "" || p.Suggested == nil || (p.Kind != "cloud" && p.Kind != "local") || p.KeyRequired == (p.Kind == "local" || p.SignIn) {
			t.Errorf("%+v", p)
		}
		for _, m := range p.Suggested {
			if !strings.HasPrefix(m, p.ID+"/") {
				t.Errorf("%s suggests %s", p.ID, m)
			}
		}
	}
	// the chatgpt entry is connected by signing in, and key_set then means signed in.
	if p := rows["chatgpt"]; !p.SignIn || !p.KeySet || p.KeyRequired {
		t.Errorf("%+v", p)
	}
	if p := rows["ollama_chat"]; p.APIBase == nil || *p.APIBase != "http://10.0.0.2:11434" || rows["openai"].APIBase != nil {
		t.Errorf("%+v", p)
	}
	for _, id := range []string{"ollama", "ollama_chat", "openai", "anthropic", "gemini", "openrouter", "groq", "mistral", "deepseek", "xai", "lm_studio", "nous", "demo"} {
		if _, ok := rows[id]; !ok {
			t.Errorf("%s is not listed", id)
		}
	}
	if _, ok := rows["claude-code"]; ok {
		t.Error("Claude Code has a report of its own")
	}
}

// No sentence of a fault is missing, whatever the provider.
func TestEveryFaultHasASentence(t *testing.T) {
	for _, p := range providerTable {
		e := endpoint{provider: &p, full: p.id + "/m", name: "m", base: "http://user:secret@host:1/v1"}
		for _, f := range []msg.ModelFault{msg.FaultKey, msg.FaultCredits, msg.FaultMissing, msg.FaultRate, msg.FaultUnavailable, msg.FaultUnreachable,
			msg.FaultTimeout, msg.FaultCut, msg.FaultNoTools, msg.FaultCodingOnly, msg.FaultTooLong, msg.FaultLocalOnly, msg.FaultOther} {
			s := e.sentence(&failure{fault: f}, 0)
			if !strings.HasSuffix(s, ".") || !strings.Contains(s, "Settings > Models") && f != msg.FaultTooLong || strings.Contains(s, "secret") {
				t.Errorf("%s %s: %s", p.id, f, s)
			}
		}
	}
}

func refuseAnd(dialed *bool) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		*dialed = true
		return nil, net.ErrClosed
	}
}
