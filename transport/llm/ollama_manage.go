package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"sentient/actors/msg"
)

// Loaded lists the models that Ollama holds in memory now, whatever computer it is on. The error is a *msg.ModelError.
func (c *Client) Loaded(ctx context.Context) ([]msg.LoadedModel, error) {
	s := c.opts.Settings()
	e, ok := c.runtime(s, "ollama_chat")
	if !ok {
		return nil, e.modelError(&failure{fault: msg.FaultBadModel}, s.timeout(), false)
	}
	ctx, cancel := context.WithTimeout(ctx, infoWait)
	defer cancel()
	var out struct {
		Models []struct {
			Name          string `json:"name"`
			Size          int64  `json:"size"`
			SizeVRAM      int64  `json:"size_vram"`
			ContextLength int    `json:"context_length"`
		} `json:"models"`
	}
	if _, err := c.getJSON(ctx, e, http.MethodGet, e.base+"/api/ps", nil, &out); err != nil {
		return nil, e.modelError(e.fromQuestion(ctx, err), s.timeout(), false)
	}
	list := make([]msg.LoadedModel, 0, len(out.Models))
	for _, m := range out.Models {
		list = append(list, msg.LoadedModel{Name: m.Name, Size: m.Size, SizeVRAM: m.SizeVRAM, ContextLength: m.ContextLength})
	}
	return list, nil
}

// LoadedHere is Loaded for what it says of this computer: nothing when Ollama is on another one.
func (c *Client) LoadedHere(ctx context.Context) ([]msg.LoadedModel, error) {
	if !c.IsLocal("ollama_chat/any") {
		return nil, nil
	}
	return c.Loaded(ctx)
}

// About is what Ollama tells of a downloaded model. The error is a *msg.ModelError.
func (c *Client) About(ctx context.Context, model string) (msg.ModelInfo, error) {
	s := c.opts.Settings()
	e, f := c.resolve(s, model)
	if f == nil && e.provider.speaks != speaksOllama {
		f = &failure{fault: msg.FaultBadModel, text: "Only Ollama tells about its models."}
	}
	if f == nil {
		info, err := c.ollamaInfo(ctx, e)
		if err == nil {
			return msg.ModelInfo{Maximum: info.maximum, Thinks: info.can("thinking")}, nil
		}
		f = e.fromQuestion(ctx, err)
	}
	return msg.ModelInfo{}, e.modelError(f, s.timeout(), false)
}

// Pull downloads a model in Ollama and passes its progress on as it comes. It ends with ctx, with emit's error, or when Ollama
// says nothing for the request timeout. Name is Ollama's ("qwen3:8b"), with or without the provider before it. The error is a
// *msg.ModelError.
func (c *Client) Pull(ctx context.Context, name string, emit func(msg.PullProgress) error) error {
	s := c.opts.Settings()
	name = strings.TrimSpace(name)
	for _, p := range []string{"ollama_chat/", "ollama/"} {
		name = strings.TrimPrefix(name, p)
	}
	e, ok := c.runtime(s, "ollama_chat")
	e.name, e.full = name, "ollama_chat/"+name
	if !ok {
		return e.modelError(&failure{fault: msg.FaultBadModel, text: "The address set for Ollama is not a web address. Correct it in Settings > Models."}, 0, false)
	}
	w := newWatch(ctx, s.timeout())
	defer w.stop()
	f := c.pull(ctx, w, e, emit)
	c.ollama.forget(e)
	if f == nil {
		return nil
	}
	return c.report(ctx, e, f, s.timeout(), false)
}

func (c *Client) pull(ctx context.Context, w *watch, e endpoint, emit func(msg.PullProgress) error) *failure {
	resp, f := c.post(ctx, w, e, "/api/pull", map[string]any{"model": e.name, "stream": true})
	if f != nil {
		return f
	}
	defer resp.Body.Close()
	in := w.body(resp.Body)
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(in, 64<<10))
		if ctx.Err() != nil {
			return endedBy(ctx)
		}
		return e.pullFailure(resp.StatusCode, text)
	}
	err := e.readPull(in, w, emit)
	var own *failure
	var told *emitError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return endedBy(ctx)
	case errors.As(err, &own):
		return own
	case errors.As(err, &told):
		return &failure{fault: msg.FaultCancelled, raw: err.Error()}
	case w.silent(), errors.Is(err, errSilent):
		return &failure{fault: msg.FaultTimeout, raw: err.Error()}
	}
	return &failure{fault: msg.FaultCut, raw: err.Error(), text: "The download of " + cutText(e.name, 80) + " broke off. Start it again: what has come so far is kept."}
}

// emitError is what the reader of the progress said.
type emitError struct{ error }

func (e endpoint) readPull(in io.Reader, w *watch, emit func(msg.PullProgress) error) error {
	lines := newLineReader(in)
	last := ""
	for {
		line, err := lines.next()
		if err == io.EOF {
			if last == "success" {
				return nil
			}
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var o struct {
			msg.PullProgress
			Error json.RawMessage `json:"error"`
		}
		if err := json.Unmarshal(line, &o); err != nil {
			return fmt.Errorf("a piece of the stream is not valid: %w", err)
		}
		if len(o.Error) > 0 && string(o.Error) != "null" {
			return e.pullFailure(http.StatusInternalServerError, line)
		}
		w.progress()
		last = o.Status
		o.Status = cutText(o.Status, 200)
		if err := emit(o.PullProgress); err != nil {
			return &emitError{err}
		}
	}
}

// pullFailure: a name that Ollama's library does not have is the usual one.
func (e endpoint) pullFailure(status int, body []byte) *failure {
	f := e.fromAnswer(status, body)
	said := readError(status, body).all()
	if strings.Contains(said, "file does not exist") || strings.Contains(said, "manifest") && strings.Contains(said, "not found") || status == http.StatusNotFound {
		f.fault, f.text = msg.FaultMissing, "Ollama's library has no model named "+cutText(e.name, 80)+". Check the name at ollama.com/library."
	}
	return f
}

// forget drops what was known of the downloaded models, because they just changed.
func (c *ollamaCache) forget(e endpoint) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.tags, e.base)
	delete(c.info, infoKey(e))
}
