package llm

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"sentient/actors/msg"
)

// LocalModels is GET /api/models/local.
type LocalModels struct {
	Ollama   LocalRuntime `json:"ollama"`
	LMStudio LocalRuntime `json:"lm_studio"`
}

// LocalRuntime is one runtime and what it has.
type LocalRuntime struct {
	Reachable bool         `json:"reachable"`
	Models    []LocalModel `json:"models"`
}

// LocalModel is a downloaded model. Capabilities are Ollama's hint; Test decides what really works.
type LocalModel struct {
	Name          string   `json:"name"`
	Size          int64    `json:"size"` // bytes, 0 unknown
	Family        string   `json:"family"`
	ParameterSize string   `json:"parameter_size"`
	IsEmbedding   bool     `json:"is_embedding"`
	Capabilities  []string `json:"capabilities"`
}

const (
	localWait  = 3 * time.Second // for the whole of Local
	localAsks  = 4               // descriptions asked for at a time
	localShown = 100             // models of which the description is asked for
	testWait   = 60 * time.Second
)

// Local asks the local runtimes what they have, in parallel and for at most three seconds.
func (c *Client) Local(ctx context.Context) LocalModels {
	ctx, cancel := context.WithTimeout(ctx, localWait)
	defer cancel()
	s := c.opts.Settings()
	var out LocalModels
	var wg sync.WaitGroup
	wg.Go(func() { out.Ollama = c.localOllama(ctx, s) })
	wg.Go(func() { out.LMStudio = c.localLMStudio(ctx, s) })
	wg.Wait()
	return out
}

func (c *Client) runtime(s Settings, id string) (endpoint, bool) {
	p := findProvider(id)
	e := endpoint{provider: p, key: c.key(s, p)}
	base, ok := cleanBase(baseOf(s, p), p)
	e.base = base
	return e, ok && plainKey(e.key)
}

func (c *Client) localOllama(ctx context.Context, s Settings) LocalRuntime {
	out := LocalRuntime{Models: []LocalModel{}}
	e, ok := c.runtime(s, "ollama_chat")
	if !ok {
		return out
	}
	tags, err := c.ollamaTags(ctx, e)
	if err != nil {
		return out
	}
	out.Reachable = true
	out.Models = make([]LocalModel, len(tags))
	slots := make(chan struct{}, localAsks)
	var wg sync.WaitGroup
	for i, t := range tags {
		m := &out.Models[i]
		*m = LocalModel{Name: t.Name, Size: t.Size, Family: t.Details.Family, ParameterSize: t.Details.ParameterSize, Capabilities: []string{}}
		if i >= localShown {
			continue
		}
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			info, err := c.ollamaInfo(ctx, endpoint{provider: e.provider, base: e.base, key: e.key, name: t.Name})
			if err == nil && info.capabilities != nil {
				m.Capabilities = info.capabilities
			}
		})
	}
	wg.Wait()
	for i := range out.Models {
		m := &out.Models[i]
		m.IsEmbedding = embeds(m.Name, m.Family, m.Capabilities)
	}
	return out
}

func embeds(name, family string, capabilities []string) bool {
	for _, c := range capabilities {
		if c == "embedding" {
			return true
		}
	}
	return len(capabilities) == 0 && (strings.Contains(family, "bert") || strings.Contains(strings.ToLower(name), "embed"))
}

func (c *Client) localLMStudio(ctx context.Context, s Settings) LocalRuntime {
	out := LocalRuntime{Models: []LocalModel{}}
	e, ok := c.runtime(s, "lm_studio")
	if !ok {
		return out
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if _, err := c.getJSON(ctx, e, http.MethodGet, e.base+"/models", nil, &list); err != nil {
		return out
	}
	out.Reachable = true
	for _, m := range list.Data {
		out.Models = append(out.Models, LocalModel{Name: m.ID, IsEmbedding: embeds(m.ID, "", nil), Capabilities: []string{}})
	}
	return out
}

// Available says, without calling the model, whether it can answer: its name, Local only, its key, the budget, and for
// Ollama whether it is downloaded. The error is a *msg.ModelError.
func (c *Client) Available(ctx context.Context, model string) error {
	s := c.opts.Settings()
	e, f := c.resolve(s, model)
	if f == nil && e.provider.speaks == speaksOllama {
		f = c.downloaded(ctx, e)
	}
	if f == nil && e.provider.speaks == speaksProgram {
		if err := c.opts.Claude.Ready(model); err != nil {
			return err
		}
	}
	if f == nil {
		return c.opts.Allow(ctx, model)
	}
	return e.modelError(f, s.timeout(), false)
}

func (c *Client) downloaded(ctx context.Context, e endpoint) *failure {
	tags, err := c.ollamaTags(ctx, e)
	if err != nil {
		return e.fromQuestion(ctx, err)
	}
	if !hasModel(tags, e.name) {
		return &failure{fault: msg.FaultMissing}
	}
	return nil
}

// fromQuestion is the failure of a short question.
func (e endpoint) fromQuestion(ctx context.Context, err error) *failure {
	var f *failure
	switch {
	case errors.As(err, &f):
		return f
	case errors.Is(ctx.Err(), context.Canceled):
		return &failure{fault: msg.FaultCancelled}
	}
	return &failure{fault: msg.FaultUnreachable, raw: err.Error()}
}

// CheckProvider checks a provider's address and key with a free request. The text is a plain sentence; the error is a
// *msg.ModelError.
func (c *Client) CheckProvider(ctx context.Context, id string) (string, error) {
	s := c.opts.Settings()
	p := findProvider(id)
	if p == nil {
		return "", endpoint{full: id}.modelError(&failure{fault: msg.FaultBadModel}, 0, false)
	}
	if p.speaks == speaksGuide {
		return "The guide is built in and always works.", nil
	}
	if p.speaks == speaksVectors {
		return "The built-in embedding model is installed.", c.builtinReady()
	}
	if p.speaks == speaksProgram {
		return "Claude Code is installed and turned on.", c.Available(ctx, id+"/check")
	}
	e, f := c.resolve(s, id+"/check")
	if f == nil {
		ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
		defer cancel()
		f = c.freeQuestion(ctx, e)
	}
	if f != nil {
		return "", c.report(ctx, e, f, s.timeout(), false)
	}
	if p.local {
		return runtimeName(p) + " is answering.", nil
	}
	if p.signIn {
		return "ChatGPT accepted the sign-in.", nil
	}
	return p.label + " accepted the key.", nil
}

// freeQuestion asks what costs nothing. A plan's token that is turned down is renewed once.
func (c *Client) freeQuestion(ctx context.Context, e endpoint) *failure {
	stale := ""
	for {
		if f := c.authorize(ctx, &e, stale); f != nil {
			return f
		}
		var out json.RawMessage
		_, err := c.getJSON(ctx, e, http.MethodGet, e.base+checkPath(e.provider), nil, &out)
		if err == nil {
			return nil
		}
		f := e.fromQuestion(ctx, err)
		if !e.provider.signIn || f.status != http.StatusUnauthorized || stale != "" {
			return f
		}
		stale = e.key
	}
}

func checkPath(p *provider) string {
	switch {
	case p.speaks == speaksAnthropic:
		return "/v1/models?limit=1"
	case p.speaks == speaksOllama:
		return "/api/tags"
	case p.id == "openrouter":
		return "/key" // its model list is public and would not check the key
	}
	return "/models"
}

// TestResult is POST /api/models/test.
type TestResult struct {
	OK            bool   `json:"ok"`
	LatencyMS     int64  `json:"latency_ms"`
	Reply         string `json:"reply,omitempty"`
	Error         string `json:"error,omitempty"`
	SupportsTools *bool  `json:"supports_tools,omitempty"`
}

// JobTest is the job of Test's calls. Claude Code accepts it for any role; everybody else takes it for interactive.
const JobTest = "test"

// Test asks a model for one short answer and for one tool call, as that role would.
func (c *Client) Test(ctx context.Context, model, role string) TestResult {
	ctx, cancel := context.WithTimeout(ctx, testWait)
	defer cancel()
	s := c.opts.Settings()
	req := msg.ModelRequest{Model: model, Role: role, Reasoning: s.Reasoning[role], Job: JobTest, MaxTokens: 2048,
		Messages: []msg.ModelMessage{{Role: "user", Parts: msg.TextPart("Answer with the single word: ready")}}}
	if t, ok := s.Temperature[role]; ok {
		req.Temperature = &t
	}
	began := time.Now()
	res, err := c.ownCall(ctx, req)
	out := TestResult{OK: err == nil, LatencyMS: time.Since(began).Milliseconds()}
	if err != nil {
		out.Error = err.Error()
		return out
	}
	out.Reply = cutText(strings.TrimSpace(res.Text), 500)
	out.SupportsTools = c.testTools(ctx, req)
	return out
}

// ownCall is Stream for a call that nobody else counts.
func (c *Client) ownCall(ctx context.Context, req msg.ModelRequest) (msg.ModelResult, error) {
	res, err := c.Stream(ctx, req, nil)
	if err == nil || res.Usage.Known {
		c.opts.Counted(msg.CountedCall{Model: req.Model, Role: req.Role, Source: "background", Usage: res.Usage})
	}
	return res, err
}

// testTools is nil when the answer is neither yes nor no.
func (c *Client) testTools(ctx context.Context, req msg.ModelRequest) *bool {
	req.System = "Use the tool you are given."
	req.Messages = []msg.ModelMessage{{Role: "user", Parts: msg.TextPart("Which city has the postal code 10115? Call find_city with it.")}}
	req.Tools = []msg.ToolSchema{{Name: "find_city", Description: "Finds the city of a postal code.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"postal_code":{"type":"string"}},"required":["postal_code"]}`)}}
	res, err := c.ownCall(ctx, req)
	if e, ok := msg.AsModelError(err); ok && e.Fault != msg.FaultNoTools {
		return nil
	}
	works := false
	for _, call := range res.Calls {
		var args map[string]any
		works = works || err == nil && call.Name == "find_city" && json.Unmarshal([]byte(call.Arguments), &args) == nil
	}
	return &works
}
