package llm

import (
	"regexp"
	"strings"

	"sentient/actors/msg"
)

// routerVendors maps OpenRouter's vendor names to ours.
var routerVendors = map[string]string{"anthropic": "anthropic", "openai": "openai", "google": "gemini", "mistralai": "mistral",
	"deepseek": "deepseek", "x-ai": "xai"}

var (
	datedModel = regexp.MustCompile(`-(20\d{6}|20\d\d-\d\d-\d\d)$`)
	versionDot = regexp.MustCompile(`(\d)\.(\d)`)
)

// findListed finds a model in the bundled list: by its name, without a date, or behind OpenRouter's. A model that is not there has
// no price and no known length; nothing is guessed.
func findListed(model string) (listed, bool) {
	models, asked := catalog(), model
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
	if m, ok := models[datedModel.ReplaceAllString(model, "")]; ok {
		return m, true
	}
	m, ok := models[asked]
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
	case p.signIn:
		m, _ := c.plan.find(name) // as far as the plan's list was loaded
		return m.Window
	}
	m, _ := findListed(model)
	return m.context
}

// Cost is the price of a call: 0 for local models, nil where no price is known and for plans, which are never in dollars.
func (c *Client) Cost(model string, u msg.ModelUsage) *msg.USD { return c.costOf(model, u, 0) }

// costOf is Cost; written are the tokens that went into the provider's cache.
func (c *Client) costOf(model string, u msg.ModelUsage, written int) *msg.USD {
	switch c.Billing(model) {
	case "local":
		return new(msg.USD)
	case "plan":
		return nil
	}
	return priceOf(model, u, written)
}

func priceOf(model string, u msg.ModelUsage, written int) *msg.USD {
	if !u.Known {
		return nil
	}
	if strings.HasPrefix(model, "openrouter/") && strings.HasSuffix(model, ":free") {
		return new(msg.USD)
	}
	m, ok := findListed(model)
	if !ok || !m.priced {
		return nil
	}
	usd := m.cost(u, written)
	return &usd
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
// A plan's models have the names that the plan's list gives them.
func (c *Client) DisplayName(model string) string {
	if p, name, ok := splitModel(model); ok && p.signIn {
		if m, _ := c.plan.find(name); m.Name != "" {
			return m.Name
		}
	}
	return DisplayName(model)
}
