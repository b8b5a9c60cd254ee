package llm

import (
	"net/netip"
	"net/url"
	"strings"

	"sentient/actors/msg"
)

type protocol int

const (
	speaksOpenAI protocol = iota
	speaksAnthropic
	speaksOllama
	speaksGuide
	speaksResponses // OpenAI's Responses API, as a ChatGPT plan answers it
	speaksVectors   // nothing but embeddings, built in
	speaksProgram   // a program on this computer: the person's own Claude Code
)

// provider is what we know of one provider. The table below is never changed at run time.
type provider struct {
	id, label  string
	speaks     protocol
	local      bool // a runtime a person runs themselves
	base       string
	keyEnv     string
	needsKey   bool
	docs       string
	suggested  []string
	signIn     bool   // connected by signing in; the person's plan pays
	unlisted   bool   // usable, but not offered in GET /api/models/providers
	creditsAt  string // where credits are bought, for the sentence
	effort     effortStyle
	noUsageAsk bool // refuses stream_options and always reports usage
	newLimit   bool // max_completion_tokens instead of max_tokens
	noJSONMode bool // has no response_format json_object
	shortIDs   bool // wants tool call ids of nine letters and digits
	echoes     bool // wants reasoning_content back within a turn
}

var providerTable = []provider{
	{id: "anthropic", label: "Anthropic", speaks: speaksAnthropic, base: "https://api.anthropic.com", keyEnv: "ANTHROPIC_API_KEY",
		needsKey: true, docs: "https://console.anthropic.com/", creditsAt: "console.anthropic.com",
		suggested: []string{"anthropic/claude-sonnet-5", "anthropic/claude-haiku-4-5"}},
	{id: "openai", label: "OpenAI", base: "https://api.openai.com/v1", keyEnv: "OPENAI_API_KEY", needsKey: true, newLimit: true,
		docs: "https://platform.openai.com/api-keys", creditsAt: "platform.openai.com", effort: effortOpenAI,
		suggested: []string{"openai/gpt-5.6-terra", "openai/gpt-5.6-luna"}},
	{id: "openrouter", label: "OpenRouter", base: "https://openrouter.ai/api/v1", keyEnv: "OPENROUTER_API_KEY", needsKey: true,
		docs: "https://openrouter.ai/keys", creditsAt: "openrouter.ai", effort: effortOpenRouter,
		suggested: []string{"openrouter/anthropic/claude-sonnet-5", "openrouter/openai/gpt-5.6-luna"}},
	{id: "gemini", label: "Google Gemini", base: "https://generativelanguage.googleapis.com/v1beta/openai", keyEnv: "GEMINI_API_KEY",
		needsKey: true, docs: "https://aistudio.google.com/apikey", creditsAt: "aistudio.google.com", effort: effortGemini,
		suggested: []string{"gemini/gemini-3.8-flash", "gemini/gemini-3.1-flash-lite"}},
	{id: "groq", label: "Groq", base: "https://api.groq.com/openai/v1", keyEnv: "GROQ_API_KEY", needsKey: true,
		docs: "https://console.groq.com/keys", creditsAt: "console.groq.com", effort: effortGroq,
		suggested: []string{"groq/openai/gpt-oss-120b", "groq/openai/gpt-oss-20b"}},
	{id: "mistral", label: "Mistral", base: "https://api.mistral.ai/v1", keyEnv: "MISTRAL_API_KEY", needsKey: true,
		docs: "https://console.mistral.ai/api-keys", creditsAt: "console.mistral.ai", noUsageAsk: true, shortIDs: true,
		suggested: []string{"mistral/mistral-medium-latest", "mistral/mistral-small-latest"}},
	{id: "deepseek", label: "DeepSeek", base: "https://api.deepseek.com", keyEnv: "DEEPSEEK_API_KEY", needsKey: true,
		docs: "https://platform.deepseek.com/api_keys", creditsAt: "platform.deepseek.com", effort: effortDeepSeek, echoes: true,
		suggested: []string{"deepseek/deepseek-v4-pro", "deepseek/deepseek-flash"}},
	{id: "xai", label: "xAI", base: "https://api.x.ai/v1", keyEnv: "XAI_API_KEY", needsKey: true,
		docs: "https://console.x.ai/", creditsAt: "console.x.ai", effort: effortXAI,
		suggested: []string{"xai/grok-4.7", "xai/grok-4.3"}},
	{id: "nous", label: "Nous Portal", base: "https://inference-api.nousresearch.com/v1", keyEnv: "NOUS_API_KEY", needsKey: true,
		docs: "https://portal.nousresearch.com/", creditsAt: "portal.nousresearch.com"},
	{id: "chatgpt", label: "ChatGPT plan", speaks: speaksResponses, signIn: true, base: "https://api.openai.com/v1", docs: "https://chatgpt.com/settings/usage"},
	{id: "claude-code", label: "Claude Code", speaks: speaksProgram, unlisted: true},
	{id: "ollama_chat", label: "Ollama", speaks: speaksOllama, local: true, base: "http://localhost:11434",
		docs: "https://ollama.com/download", suggested: []string{"ollama_chat/qwen3:8b", "ollama_chat/qwen3:4b"}},
	{id: "ollama", label: "Ollama (embeddings)", speaks: speaksOllama, local: true, base: "http://localhost:11434",
		docs: "https://ollama.com/download", suggested: []string{"ollama/nomic-embed-text", "ollama/bge-m3"}},
	{id: "lm_studio", label: "LM Studio", local: true, base: "http://localhost:1234/v1", noJSONMode: true,
		docs: "https://lmstudio.ai/docs/local-server"},
	{id: "llamafile", label: "llamafile", local: true, base: "http://localhost:8080/v1", docs: "https://github.com/mozilla-ai/llamafile"},
	{id: "vllm", label: "vLLM", local: true, base: "http://localhost:8000/v1", docs: "https://docs.vllm.ai/", effort: effortTemplate},
	{id: "hosted_vllm", label: "vLLM server", local: true, base: "http://localhost:8000/v1", docs: "https://docs.vllm.ai/", effort: effortTemplate},
	{id: "demo", label: "Guide (built-in demo)", speaks: speaksGuide, local: true, suggested: []string{GuideModel}},
	{id: "builtin", label: "Built-in embeddings", speaks: speaksVectors, local: true, suggested: []string{BuiltinEmbedding}},
}

func findProvider(id string) *provider {
	for i := range providerTable {
		if providerTable[i].id == id {
			return &providerTable[i]
		}
	}
	return nil
}

// Provider is one row of GET /api/models/providers.
type Provider struct {
	ID          string   `json:"id"`
	Label       string   `json:"label"`
	Kind        string   `json:"kind"` // cloud, local
	KeyRequired bool     `json:"key_required"`
	KeySet      bool     `json:"key_set"`
	APIBase     *string  `json:"api_base"` // the override, null when there is none
	DocsURL     string   `json:"docs_url"`
	Suggested   []string `json:"suggested"`
	SignIn      bool     `json:"sign_in"`
}

// Providers lists the providers a person can choose from.
func (c *Client) Providers() []Provider {
	s := c.opts.Settings()
	out := make([]Provider, 0, len(providerTable))
	for i := range providerTable {
		p := &providerTable[i]
		if p.unlisted {
			continue
		}
		row := Provider{ID: p.id, Label: p.label, Kind: "cloud", KeyRequired: p.needsKey, KeySet: c.keySet(s, p),
			DocsURL: p.docs, Suggested: append([]string{}, p.suggested...), SignIn: p.signIn}
		if p.local {
			row.Kind = "local"
		}
		if base := s.Providers[p.id].APIBase; base != "" {
			row.APIBase = &base
		}
		out = append(out, row)
	}
	return out
}

// keySet says whether a provider is connected; for a plan, whether somebody is signed in.
func (c *Client) keySet(s Settings, p *provider) bool {
	if p.signIn {
		return c.signedIn()
	}
	return c.key(s, p) != ""
}

// splitModel cuts "provider/model" at its first slash.
func splitModel(model string) (p *provider, name string, ok bool) {
	id, name, found := strings.Cut(strings.TrimSpace(model), "/")
	if !found || name == "" {
		return nil, "", false
	}
	p = findProvider(id)
	return p, name, p != nil
}

// IsLocal says whether a model runs on this computer: a local runtime at localhost, 127.x.x.x or ::1, and not one of
// Ollama's cloud models. What is built in never leaves the engine.
func (c *Client) IsLocal(model string) bool { return isLocal(c.opts.Settings(), model) }

func isLocal(s Settings, model string) bool {
	if strings.HasPrefix(model, "builtin/") {
		return true
	}
	p, name, ok := splitModel(model)
	if !ok || !p.local {
		return false
	}
	if p.speaks == speaksGuide {
		return true
	}
	if p.speaks == speaksOllama && ollamaCloud(name) {
		return false
	}
	u, err := url.Parse(baseOf(s, p))
	return err == nil && thisComputer(u.Hostname())
}

// ollamaCloud knows the two spellings: "gpt-oss:120b-cloud" and "glm-4.6:cloud".
func ollamaCloud(name string) bool {
	name = strings.ToLower(name)
	return strings.HasSuffix(name, "-cloud") || strings.HasSuffix(name, ":cloud")
}

func thisComputer(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Zone() == "" && (addr == netip.IPv6Loopback() || addr.Is4() && addr.IsLoopback())
}

// Billing says who pays for a model: local (free), plan, or paid by the token (section 2, "Cost meter").
func (c *Client) Billing(model string) string {
	p, name, ok := splitModel(model)
	switch {
	case strings.HasPrefix(model, "builtin/"):
		return "local"
	case !ok:
		return "paid"
	case p.signIn, p.speaks == speaksProgram, p.speaks == speaksOllama && ollamaCloud(name):
		return "plan"
	case p.local:
		return "local"
	}
	return "paid"
}

func baseOf(s Settings, p *provider) string {
	base := strings.TrimSpace(s.Providers[p.id].APIBase)
	if base == "" {
		return p.base
	}
	return base
}

// endpoint is where a call goes: the provider, the model's name there, the checked address and the key.
type endpoint struct {
	provider *provider
	full     string // provider/model
	name     string // the model as the provider calls it
	base     string // without a trailing slash
	key      string
	local    bool // runs on this computer
}

// resolve checks everything that can be known without a connection.
func (c *Client) resolve(s Settings, model string) (endpoint, *failure) {
	p, name, ok := splitModel(model)
	e := endpoint{provider: p, full: model, name: name}
	if !ok {
		return e, &failure{fault: msg.FaultBadModel}
	}
	e.local = isLocal(s, model)
	if s.LocalOnly && !e.local {
		return e, &failure{fault: msg.FaultLocalOnly}
	}
	switch {
	case p.signIn && !c.signedIn():
		return e, &failure{fault: msg.FaultKey}
	case p.speaks == speaksProgram:
		if !s.ClaudeCode || c.opts.Claude == nil {
			return e, &failure{fault: msg.FaultBadModel, text: claudeCodeText(s)}
		}
		return e, nil
	case p.speaks == speaksVectors:
		return e, &failure{fault: msg.FaultBadModel, text: "The built-in embedding model finds text by meaning; it can't chat. Pick another model in Settings > Models."}
	case p.speaks == speaksGuide:
		if model != GuideModel {
			return e, &failure{fault: msg.FaultMissing}
		}
		return e, nil
	}
	if e.base, ok = cleanBase(baseOf(s, p), p); !ok {
		return e, &failure{fault: msg.FaultBadModel, text: "The address set for " + p.label + " is not a web address. Correct it in Settings > Models."}
	}
	if p.signIn { // signed with a token that authorize gets
		return e, nil
	}
	e.key = c.key(s, p)
	if p.needsKey && e.key == "" {
		return e, &failure{fault: msg.FaultKey}
	}
	if !plainKey(e.key) {
		return e, &failure{fault: msg.FaultKey, text: "The key saved for " + p.label + " has characters that a key cannot have. Paste it again in Settings > Models."}
	}
	return e, nil
}

// cleanBase checks an address and gives it the path its protocol needs when a person left it out.
func cleanBase(base string, p *provider) (string, bool) {
	u, err := url.Parse(strings.TrimRight(base, "/"))
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.RawQuery != "" || u.Fragment != "" {
		return "", false
	}
	switch p.speaks {
	case speaksAnthropic:
		u.Path = strings.TrimSuffix(u.Path, "/v1")
	case speaksOllama:
		u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/v1"), "/api")
	default:
		if own, err := url.Parse(p.base); err == nil && u.Path == "" {
			u.Path = own.Path
		}
	}
	return strings.TrimRight(u.String(), "/"), true
}

func plainKey(key string) bool {
	for i := range len(key) {
		if key[i] < '!' || key[i] > '~' {
			return false
		}
	}
	return len(key) < 8192
}
