package llm

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	tagsFresh = 3 * time.Second  // how long the list of downloaded models is believed
	infoFresh = 10 * time.Minute // how long a model's description is believed
	infoWait  = 2 * time.Second
	infoMax   = 256
)

// ollamaCache remembers what Ollama said of its models. Equal questions are asked once: those who wait for the answer give up
// with their contexts.
type ollamaCache struct {
	mu     sync.Mutex
	tags   map[string]tagsEntry // by address
	info   map[string]infoEntry // by address and model
	asking map[string]chan struct{}
}

type tagsEntry struct {
	at   time.Time
	tags []ollamaTag
}

type infoEntry struct {
	at   time.Time
	info ollamaInfo
}

// ollamaTag is one model of GET /api/tags.
type ollamaTag struct {
	Name    string `json:"name"`
	Size    int64  `json:"size"`
	Digest  string `json:"digest"`
	Details struct {
		Family        string `json:"family"`
		ParameterSize string `json:"parameter_size"`
	} `json:"details"`
}

// ollamaInfo is what POST /api/show tells of a model.
type ollamaInfo struct {
	maximum      int // tokens it can read at once, 0 unknown
	capabilities []string
}

func (i ollamaInfo) cap(want int) int {
	if i.maximum > 0 && want > i.maximum {
		return i.maximum
	}
	return want
}

func (i ollamaInfo) can(what string) bool {
	for _, c := range i.capabilities {
		if c == what {
			return true
		}
	}
	return false
}

func newOllamaCache() *ollamaCache {
	return &ollamaCache{tags: map[string]tagsEntry{}, info: map[string]infoEntry{}, asking: map[string]chan struct{}{}}
}

// ask waits until nobody else asks the same question. The caller calls the function it gets when it has the answer.
func (c *ollamaCache) ask(ctx context.Context, question string) (func(), error) {
	for {
		c.mu.Lock()
		busy := c.asking[question]
		if busy == nil {
			done := make(chan struct{})
			c.asking[question] = done
			c.mu.Unlock()
			return func() {
				c.mu.Lock()
				delete(c.asking, question)
				c.mu.Unlock()
				close(done)
			}, nil
		}
		c.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (c *ollamaCache) freshTags(base string) ([]ollamaTag, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, ok := c.tags[base]
	return t.tags, ok && time.Since(t.at) < tagsFresh
}

func (c *ollamaCache) freshInfo(key string) (ollamaInfo, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, ok := c.info[key]
	return i.info, ok && time.Since(i.at) < infoFresh
}

func (c *Client) ollamaTags(ctx context.Context, e endpoint) ([]ollamaTag, error) {
	done, err := c.ollama.ask(ctx, e.base)
	if err != nil {
		return nil, err
	}
	defer done()
	if tags, ok := c.ollama.freshTags(e.base); ok {
		return tags, nil
	}
	ctx, cancel := context.WithTimeout(ctx, infoWait)
	defer cancel()
	var out struct {
		Models []ollamaTag `json:"models"`
	}
	if _, err := c.getJSON(ctx, e, http.MethodGet, e.base+"/api/tags", nil, &out); err != nil {
		return nil, err
	}
	c.ollama.mu.Lock()
	defer c.ollama.mu.Unlock()
	if len(c.ollama.tags) > 16 {
		clear(c.ollama.tags)
	}
	c.ollama.tags[e.base] = tagsEntry{at: time.Now(), tags: out.Models}
	return out.Models, nil
}

func infoKey(e endpoint) string { return e.base + "\x00" + e.name }

// ollamaInfo asks what a model can do, at most once in ten minutes. No answer is not remembered.
func (c *Client) ollamaInfo(ctx context.Context, e endpoint) (ollamaInfo, error) {
	key := infoKey(e)
	if info, ok := c.ollama.freshInfo(key); ok {
		return info, nil
	}
	done, err := c.ollama.ask(ctx, key)
	if err != nil {
		return ollamaInfo{}, err
	}
	defer done()
	known, fresh := c.ollama.freshInfo(key)
	if fresh {
		return known, nil
	}
	ctx, cancel := context.WithTimeout(ctx, infoWait)
	defer cancel()
	var out struct {
		Capabilities []string                   `json:"capabilities"`
		ModelInfo    map[string]json.RawMessage `json:"model_info"`
	}
	if _, err := c.getJSON(ctx, e, http.MethodPost, e.base+"/api/show", map[string]string{"model": e.name}, &out); err != nil {
		return known, err
	}
	info := ollamaInfo{capabilities: out.Capabilities}
	for k, v := range out.ModelInfo {
		var n int
		if strings.HasSuffix(k, ".context_length") && json.Unmarshal(v, &n) == nil && n > 0 {
			info.maximum = n
		}
	}
	c.ollama.mu.Lock()
	defer c.ollama.mu.Unlock()
	if len(c.ollama.info) >= infoMax {
		clear(c.ollama.info)
	}
	c.ollama.info[key] = infoEntry{at: time.Now(), info: info}
	return info, nil
}

// knownInfo is what is remembered of a model, without asking and however old.
func (c *Client) knownInfo(e endpoint) ollamaInfo {
	info, _ := c.ollama.freshInfo(infoKey(e))
	return info
}

// hasModel says whether a model is downloaded; "qwen3" means "qwen3:latest".
func hasModel(tags []ollamaTag, name string) bool {
	full := name
	if !strings.Contains(full[strings.LastIndex(full, "/")+1:], ":") {
		full += ":latest"
	}
	for _, t := range tags {
		if strings.EqualFold(t.Name, name) || strings.EqualFold(t.Name, full) {
			return true
		}
	}
	return false
}
