package llm

import (
	"regexp"
	"strings"

	"sentient/actors/msg"
)

// listed is a model of the bundled list: what it reads at once in tokens, and its prices in US dollars for a million tokens.
type listed struct {
	name            string // for people
	context         int
	in, cached, out float64
	above           int     // prompts longer than this cost more; 0 never
	inMore, outMore float64 // by these factors
}

// models is the bundled list of prices and context lengths. Source: models.dev (MIT) and the providers' own price pages that it
// cites, October 2026. A model that is not here has no price and no known length; nothing is guessed.
var models = map[string]listed{
	"anthropic/claude-opus-5-5":   {name: "Claude Opus 5.5", context: 1_000_000, in: 4, cached: 0.2, out: 20},
	"anthropic/claude-opus-5":     {name: "Claude Opus 5", context: 1_000_000, in: 5, cached: 0.5, out: 25},
	"anthropic/claude-opus-4-8":   {name: "Claude Opus 4.8", context: 1_000_000, in: 5, cached: 0.5, out: 25},
	"anthropic/claude-opus-4-7":   {name: "Claude Opus 4.7", context: 1_000_000, in: 5, cached: 0.5, out: 25},
	"anthropic/claude-opus-4-6":   {name: "Claude Opus 4.6", context: 1_000_000, in: 5, cached: 0.5, out: 25},
	"anthropic/claude-opus-4-5":   {name: "Claude Opus 4.5", context: 200_000, in: 5, cached: 0.5, out: 25},
	"anthropic/claude-sonnet-5-5": {name: "Claude Sonnet 5.5", context: 1_000_000, in: 2, cached: 0.1, out: 10},
	"anthropic/claude-sonnet-5":   {name: "Claude Sonnet 5", context: 1_000_000, in: 2, cached: 0.2, out: 10},
	"anthropic/claude-sonnet-4-6": {name: "Claude Sonnet 4.6", context: 1_000_000, in: 3, cached: 0.3, out: 15},
	"anthropic/claude-sonnet-4-5": {name: "Claude Sonnet 4.5", context: 200_000, in: 3, cached: 0.3, out: 15},
	"anthropic/claude-haiku-4-5":  {name: "Claude Haiku 4.5", context: 200_000, in: 1, cached: 0.1, out: 5},
	"anthropic/claude-fable-5":    {name: "Claude Fable 5", context: 1_000_000, in: 10, cached: 1, out: 50},

	"openai/gpt-6-astra":   {name: "GPT-6 Astra", context: 922_000, in: 10, cached: 1, out: 50, above: 272_000, inMore: 2, outMore: 1.5},
	"openai/gpt-5.6-sol":   {name: "GPT-5.6 Sol", context: 922_000, in: 2, cached: 0.2, out: 10, above: 272_000, inMore: 2, outMore: 1.5},
	"openai/gpt-5.6-terra": {name: "GPT-5.6 Terra", context: 922_000, in: 2.5, cached: 0.25, out: 15},
	"openai/gpt-5.6-luna":  {name: "GPT-5.6 Luna", context: 922_000, in: 1, cached: 0.1, out: 6},
	"openai/gpt-5.5":       {name: "GPT-5.5", context: 922_000, in: 5, cached: 0.5, out: 30, above: 272_000, inMore: 2, outMore: 1.5},
	"openai/gpt-5.2":       {name: "GPT-5.2", context: 272_000, in: 1.75, cached: 0.175, out: 14},
	"openai/gpt-5-mini":    {name: "GPT-5 mini", context: 272_000, in: 0.25, cached: 0.025, out: 2},
	"openai/gpt-5-nano":    {name: "GPT-5 nano", context: 272_000, in: 0.05, cached: 0.005, out: 0.4},
	"openai/gpt-4.1":       {name: "GPT-4.1", context: 1_047_576, in: 2, cached: 0.5, out: 8},
	"openai/gpt-4.1-mini":  {name: "GPT-4.1 mini", context: 1_047_576, in: 0.4, cached: 0.1, out: 1.6},
	"openai/gpt-4o":        {name: "GPT-4o", context: 128_000, in: 2.5, cached: 1.25, out: 10},
	"openai/gpt-4o-mini":   {name: "GPT-4o mini", context: 128_000, in: 0.15, cached: 0.075, out: 0.6},

	"gemini/gemini-3.8-flash":       {name: "Gemini 3.8 Flash", context: 1_048_576, in: 0.75, cached: 0.075, out: 3.75},
	"gemini/gemini-3.5-flash":       {name: "Gemini 3.5 Flash", context: 1_048_576, in: 1.5, cached: 0.15, out: 9},
	"gemini/gemini-3.1-pro-preview": {name: "Gemini 3.1 Pro", context: 1_048_576, in: 2, cached: 0.2, out: 12, above: 200_000, inMore: 2, outMore: 1.5},
	"gemini/gemini-3.1-flash-lite":  {name: "Gemini 3.1 Flash Lite", context: 1_048_576, in: 0.25, cached: 0.025, out: 1.5},
	"gemini/gemini-2.5-pro":         {name: "Gemini 2.5 Pro", context: 1_048_576, in: 1.25, cached: 0.125, out: 10, above: 200_000, inMore: 2, outMore: 1.5},
	"gemini/gemini-2.5-flash":       {name: "Gemini 2.5 Flash", context: 1_048_576, in: 0.3, cached: 0.03, out: 2.5},

	"mistral/mistral-large-4":       {name: "Mistral Large 4", context: 262_144, in: 1.36, cached: 0.14, out: 4.18},
	"mistral/mistral-medium-3-5":    {name: "Mistral Medium 3.5", context: 262_144, in: 1.5, cached: 1.5, out: 7.5},
	"mistral/mistral-medium-latest": {name: "Mistral Medium", context: 262_144, in: 1.5, cached: 1.5, out: 7.5},
	"mistral/mistral-small-latest":  {name: "Mistral Small", context: 128_000, in: 0.1, cached: 0.1, out: 0.3},

	"deepseek/deepseek-v4-pro":   {name: "DeepSeek V4 Pro", context: 1_000_000, in: 1.32, cached: 0.044, out: 3.96},
	"deepseek/deepseek-flash":    {name: "DeepSeek Flash", context: 1_000_000, in: 0.3, cached: 0.006, out: 1.2}, // the peak price
	"deepseek/deepseek-v4-flash": {name: "DeepSeek Flash", context: 1_000_000, in: 0.3, cached: 0.006, out: 1.2},

	"xai/grok-4.7": {name: "Grok 4.7", context: 500_000, in: 2, cached: 0.5, out: 6, above: 200_000, inMore: 2, outMore: 2},
	"xai/grok-4.3": {name: "Grok 4.3", context: 1_000_000, in: 1.25, cached: 0.2, out: 2.5, above: 200_000, inMore: 2, outMore: 2},

	"groq/openai/gpt-oss-120b": {name: "GPT OSS 120B", context: 131_072, in: 0.15, cached: 0.075, out: 0.6},
	"groq/openai/gpt-oss-20b":  {name: "GPT OSS 20B", context: 131_072, in: 0.075, cached: 0.0375, out: 0.3},
	"groq/qwen/qwen3.8-27b":    {name: "Qwen3.8 27B", context: 131_042, in: 0.8, cached: 0.4, out: 4},
}

// routerVendors maps OpenRouter's vendor names to ours.
var routerVendors = map[string]string{"anthropic": "anthropic", "openai": "openai", "google": "gemini", "mistralai": "mistral",
	"deepseek": "deepseek", "x-ai": "xai"}

var (
	datedModel = regexp.MustCompile(`-(20\d{6}|20\d\d-\d\d-\d\d)$`)
	versionDot = regexp.MustCompile(`(\d)\.(\d)`)
)

// findListed finds a model in the list: by its name, without a date, or behind OpenRouter's.
func findListed(model string) (listed, bool) {
	if rest, ok := strings.CutPrefix(model, "openrouter/"); ok {
		vendor, name, _ := strings.Cut(rest, "/")
		name, _, _ = strings.Cut(name, ":")
		if vendor == "anthropic" {
			name = versionDot.ReplaceAllString(name, "$1-$2")
		}
		model = routerVendors[vendor] + "/" + name
	}
	if m, ok := models[model]; ok {
		return m, true
	}
	m, ok := models[datedModel.ReplaceAllString(model, "")]
	return m, ok
}

// ContextLength is what a model reads at once in that role, in tokens; 0 when it is not known. For Ollama it is num_ctx
// as it will be sent, capped at the model's maximum as far as Ollama has told it; nothing is asked here.
func (c *Client) ContextLength(model, role string) int {
	s := c.opts.Settings()
	p, name, ok := splitModel(model)
	switch {
	case !ok:
		return 0
	case p.speaks == speaksOllama:
		base, _ := cleanBase(baseOf(s, p), p)
		return c.knownInfo(endpoint{base: base, name: name}).cap(s.contextLength(role))
	case p.local:
		return 0
	}
	m, _ := findListed(model)
	return m.context
}

// Cost is the price of a call in US dollars: 0 for local models, nil where no price is known and for plans, which are never in
// dollars.
func (c *Client) Cost(model string, u msg.ModelUsage) *float64 {
	switch c.Billing(model) {
	case "local":
		return new(float64)
	case "plan":
		return nil
	}
	return priceOf(model, u, 0)
}

func priceOf(model string, u msg.ModelUsage, written int) *float64 {
	if !u.Known {
		return nil
	}
	if strings.HasPrefix(model, "openrouter/") && strings.HasSuffix(model, ":free") {
		return new(float64)
	}
	m, ok := findListed(model)
	if !ok {
		return nil
	}
	in, out := 1.0, 1.0
	if m.above > 0 && u.PromptTokens > m.above {
		in, out = m.inMore, m.outMore
	}
	fresh := float64(max(0, u.PromptTokens-u.CachedTokens-written)) + 1.25*float64(written) // a cache write costs a quarter more
	usd := (in*(fresh*m.in+float64(u.CachedTokens)*m.cached) + out*float64(u.CompletionTokens)*m.out) / 1e6
	return &usd
}

// cost is the price of this reply: the provider's own word first.
func (r *reply) cost(model string) *float64 {
	if r.usage.CostUSD != nil {
		return r.usage.CostUSD
	}
	if p, _, ok := splitModel(model); ok && p.local {
		return new(float64)
	}
	return priceOf(model, r.usage, r.written)
}

// DisplayName is a model's plain name for sentences: "Claude Sonnet 5", "qwen3:8b". The guide always says what it is.
func DisplayName(model string) string {
	if model == GuideModel {
		return "Guide (built-in demo)"
	}
	if m, ok := findListed(model); ok {
		return m.name
	}
	p, name, ok := splitModel(model)
	if !ok {
		return cutText(model, 80)
	}
	if p.id == "claude-code" && name != "" {
		return "Claude " + strings.ToUpper(name[:1]) + cutText(name[1:], 60)
	}
	if p.id == "openrouter" {
		name = name[strings.LastIndex(name, "/")+1:]
	}
	return cutText(name, 80)
}

// DisplayName is the package's DisplayName, for those who hold a client as an interface.
func (c *Client) DisplayName(model string) string { return DisplayName(model) }
