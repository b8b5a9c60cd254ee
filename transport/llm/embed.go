package llm

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"sentient/actors/msg"
)

// BuiltinEmbedding is the embedding model that needs nothing but the engine.
const BuiltinEmbedding = "builtin/use-lite"

// Embedder is the built-in embedding model. Errors are the context's or a *msg.ModelError.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	// Available says why it can't be used, without loading it; nil when it can.
	Available() error
}

// The limits of one request: below every provider's own. A text is cut to what every embedding model of a provider reads.
const (
	embedTexts     = 64
	embedBytes     = 48 << 10
	embedTextBytes = 16 << 10
	embedAnswer    = 64 << 20
	embedMaxDim    = 1 << 16
)

// Embed gives each text's vector, all of one length, in batches of at most 64 texts or 48 KiB. Of a text longer than 16 KiB the
// beginning counts; one without anything to read has no vector (nil). Nothing is retried: after a failure nothing is returned, and
// what was asked before it is counted. An error is always a *msg.ModelError.
func (c *Client) Embed(ctx context.Context, model string, texts []string) ([][]float32, error) {
	if strings.HasPrefix(model, "builtin/") {
		return c.embedBuiltin(ctx, model, texts)
	}
	s := c.opts.Settings()
	e, f := c.resolveEmbedding(s, model)
	if f == nil && ctx.Err() != nil {
		f = endedBy(ctx)
	}
	if f != nil {
		return nil, c.report(ctx, e, f, s.timeout(), false)
	}
	if err := c.opts.Allow(ctx, model); err != nil {
		return nil, err
	}
	out := make([][]float32, len(texts))
	asked := readable(texts)
	for len(asked) > 0 {
		n := batch(asked)
		vectors, usage, f := c.embedOnce(ctx, s, e, asked[:n])
		if f == nil && usage.Known {
			usage.CostUSD = c.Cost(model, usage)
		}
		if f == nil || usage.Known {
			c.opts.Counted(msg.CountedCall{Model: model, Role: "embedding", Source: "background", Usage: usage})
		}
		if f == nil && !sameLength(out, vectors) {
			f = e.oddVectors("their lengths differ")
		}
		if f != nil {
			return nil, c.report(ctx, e, f, s.timeout(), false)
		}
		for i, v := range vectors {
			out[asked[i].at] = v
		}
		asked = asked[n:]
	}
	return out, nil
}

// EmbedReachable is Embed for search by meaning: while the configured model cannot be used (no key, not there, forbidden), the
// built-in one answers, and used says so. Vectors of different models must never be compared. What passes by itself, such as a
// limit or a slow answer, is the error it is: changing the model for it would mean embedding everything again.
func (c *Client) EmbedReachable(ctx context.Context, model string, texts []string) (vectors [][]float32, used string, err error) {
	vectors, err = c.Embed(ctx, model, texts)
	e, ok := msg.AsModelError(err)
	if !ok || model == BuiltinEmbedding {
		return vectors, model, err
	}
	switch e.Fault {
	case msg.FaultKey, msg.FaultMissing, msg.FaultUnreachable, msg.FaultLocalOnly, msg.FaultBadModel, msg.FaultCredits, msg.FaultBudget:
		if own, builtin := c.Embed(ctx, BuiltinEmbedding, texts); builtin == nil {
			return own, BuiltinEmbedding, nil
		}
	}
	return nil, model, err
}

// EmbeddingTest is POST /api/models/test-embedding.
type EmbeddingTest struct {
	OK    bool   `json:"ok"`
	Dim   int    `json:"dim,omitempty"` // numbers of a vector
	Error string `json:"error,omitempty"`
}

// TestEmbedding asks an embedding model for one vector.
func (c *Client) TestEmbedding(ctx context.Context, model string) EmbeddingTest {
	ctx, cancel := context.WithTimeout(ctx, testWait)
	defer cancel()
	v, err := c.Embed(ctx, model, []string{"Is this model ready to find things by meaning?"})
	if err != nil {
		return EmbeddingTest{Error: err.Error()}
	}
	return EmbeddingTest{OK: true, Dim: len(v[0])}
}

func (c *Client) embedBuiltin(ctx context.Context, model string, texts []string) ([][]float32, error) {
	e := endpoint{provider: findProvider("builtin"), full: model, name: strings.TrimPrefix(model, "builtin/"), local: true}
	f := &failure{fault: msg.FaultMissing}
	if model == BuiltinEmbedding && c.opts.Builtin != nil {
		v, err := c.opts.Builtin.Embed(ctx, texts)
		if err == nil {
			return v, nil
		}
		if m, ok := msg.AsModelError(err); ok {
			f = &failure{fault: m.Fault, text: m.Message, raw: m.Raw}
		} else {
			f = endedBy(ctx)
		}
	}
	s := c.opts.Settings()
	return nil, c.report(ctx, e, f, s.timeout(), false)
}

// builtinReady says why the built-in model can't be used; nil when it can.
func (c *Client) builtinReady() error {
	if c.opts.Builtin == nil {
		return endpoint{provider: findProvider("builtin"), full: BuiltinEmbedding, name: "use-lite"}.modelError(&failure{fault: msg.FaultMissing}, 0, false)
	}
	return c.opts.Builtin.Available()
}

// resolveEmbedding is resolve for a model that makes vectors: some providers have none.
func (c *Client) resolveEmbedding(s Settings, model string) (endpoint, *failure) {
	const pick = " Pick another embedding model in Settings > Models."
	p, _, ok := splitModel(model)
	if ok {
		text := ""
		switch p.id {
		case "claude-code":
			text = "Claude Code only answers your chats, so it can't make embeddings." + pick
		case "chatgpt":
			text = "A ChatGPT plan has no embedding models." + pick
		case "anthropic", "deepseek", "groq", "demo":
			text = p.label + " has no embedding models." + pick
		}
		if text != "" {
			return endpoint{provider: p, full: model}, &failure{fault: msg.FaultBadModel, text: text}
		}
	}
	return c.resolve(s, model)
}

// unread is a text to be sent, and its place among those given.
type unread struct {
	at   int
	text string
}

func readable(texts []string) (list []unread) {
	for i, t := range texts {
		t = strings.ToValidUTF8(t, "\uFFFD")
		if len(t) > embedTextBytes {
			end := embedTextBytes
			for !utf8.RuneStart(t[end]) {
				end--
			}
			t = t[:end]
		}
		if strings.TrimSpace(t) != "" {
			list = append(list, unread{i, t})
		}
	}
	return list
}

// batch is how many of the texts go into one request: at least one.
func batch(list []unread) int {
	size := 0
	for i, u := range list {
		if size += len(u.text); i == embedTexts || i > 0 && size > embedBytes {
			return i
		}
	}
	return len(list)
}

func sameLength(have, more [][]float32) bool {
	for _, h := range have {
		if h != nil {
			return len(h) == len(more[0])
		}
	}
	return true
}

// embedOnce is one request. The usage is what the provider counted, also when its vectors are of no use.
func (c *Client) embedOnce(ctx context.Context, s Settings, e endpoint, list []unread) ([][]float32, msg.ModelUsage, *failure) {
	texts := make([]string, len(list))
	for i, u := range list {
		texts[i] = u.text
	}
	path := "/embeddings"
	body := map[string]any{"model": e.name, "input": texts}
	if e.provider.speaks == speaksOllama {
		path = "/api/embed"
	} else {
		body["encoding_format"] = "float"
	}
	w := newWatch(ctx, s.timeout())
	defer w.stop()
	resp, f := c.post(ctx, w, e, path, body)
	if f != nil {
		return nil, msg.ModelUsage{}, f
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(w.body(resp.Body), embedAnswer+1))
	switch {
	case err != nil:
		return nil, msg.ModelUsage{}, e.fromBreak(ctx, w, &reply{}, err)
	case resp.StatusCode != http.StatusOK:
		f := e.fromAnswer(resp.StatusCode, data)
		if f.fault == msg.FaultTooLong {
			f.text = "A text is too long for " + DisplayName(e.full) + ". Pick an embedding model that reads more in Settings > Models."
		}
		return nil, msg.ModelUsage{}, f
	case len(data) > embedAnswer:
		return nil, msg.ModelUsage{}, e.oddVectors("the answer is longer than 64 MiB")
	}
	return e.readVectors(data, len(list))
}

// readVectors understands {"data": [{"index", "embedding"}], "usage"} and Ollama's {"embeddings": [...], "prompt_eval_count"}.
func (e endpoint) readVectors(data []byte, n int) ([][]float32, msg.ModelUsage, *failure) {
	var answer struct {
		Data []struct {
			Index     *int      `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
		Embeddings      [][]float32 `json:"embeddings"`
		PromptEvalCount *int        `json:"prompt_eval_count"`
		Usage           *struct {
			PromptTokens int `json:"prompt_tokens"`
		} `json:"usage"`
		Error json.RawMessage `json:"error"`
	}
	err := json.Unmarshal(data, &answer)
	var usage msg.ModelUsage
	switch {
	case answer.Usage != nil && answer.Usage.PromptTokens > 0:
		usage = msg.ModelUsage{Known: true, PromptTokens: answer.Usage.PromptTokens}
	case answer.PromptEvalCount != nil && *answer.PromptEvalCount > 0:
		usage = msg.ModelUsage{Known: true, PromptTokens: *answer.PromptEvalCount}
	}
	if err != nil {
		return nil, usage, e.oddVectors("the answer makes no sense")
	}
	if len(answer.Error) > 0 && string(answer.Error) != "null" { // OpenRouter answers 200 and says so inside
		return nil, usage, e.fromAnswer(http.StatusOK, data)
	}
	vectors := answer.Embeddings
	if e.provider.speaks != speaksOllama {
		vectors = make([][]float32, len(answer.Data))
		for i, d := range answer.Data {
			at := i
			if d.Index != nil {
				at = *d.Index
			}
			if at < 0 || at >= len(vectors) || vectors[at] != nil {
				return nil, usage, e.oddVectors("their numbering makes no sense")
			}
			vectors[at] = d.Embedding
		}
	}
	if err := goodVectors(vectors, n); err != nil {
		return nil, usage, e.oddVectors(err.Error())
	}
	return vectors, usage, nil
}

func goodVectors(vectors [][]float32, n int) error {
	if len(vectors) != n {
		return errors.New("there are not as many as texts")
	}
	for _, v := range vectors {
		switch {
		case len(v) == 0 || len(v) > embedMaxDim || len(v) != len(vectors[0]):
			return errors.New("their lengths make no sense")
		case !slices.ContainsFunc(v, func(x float32) bool { return x != 0 }):
			return errors.New("one has no direction")
		case slices.ContainsFunc(v, func(x float32) bool { return math.IsInf(float64(x), 0) || x != x }):
			return errors.New("one has what is no number")
		}
	}
	return nil
}

func (e endpoint) oddVectors(why string) *failure {
	return &failure{fault: msg.FaultOther, raw: "the vectors cannot be used: " + why,
		text: runtimeName(e.provider) + " answered with something that is not an embedding. Pick another embedding model in Settings > Models."}
}
