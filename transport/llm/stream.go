package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"sentient/actors/msg"
)

// Stream calls a model and passes its reply on as it comes. Emit runs on the caller's goroutine: while it blocks, nothing more
// is read, so a slow reader slows the provider. Its error ends the call.
//
// An error is always a *msg.ModelError; the result then holds the text that had come until it happened, and no calls.
func (c *Client) Stream(ctx context.Context, req msg.ModelRequest, emit func(msg.ModelChunk) error) (msg.ModelResult, error) {
	s := c.opts.Settings()
	e, f := c.resolve(s, req.Model)
	if f == nil && ctx.Err() != nil {
		f = endedBy(ctx)
	}
	if f != nil {
		return msg.ModelResult{}, c.report(ctx, e, f, s.timeout(), false)
	}
	if e.provider.speaks == speaksGuide {
		return c.opts.Guide.Stream(ctx, req, emit)
	}
	if err := c.opts.Allow(ctx, req.Model); err != nil {
		return msg.ModelResult{}, err
	}
	if e.provider.speaks == speaksProgram {
		req.Messages = pairUp(req.Messages)
		return c.opts.Claude.Stream(ctx, req, emit)
	}
	req.Messages = pairUp(req.Messages)
	r := newReply(req, c.newID, emit, e.provider.local)
	r.seal.Provider = e.provider.id
	f = c.signedCall(ctx, s, e, req, r)
	res := r.result()
	if res.Usage.CostUSD == nil { // the provider's own word comes first
		res.Usage.CostUSD = c.costOf(req.Model, res.Usage, r.written)
	}
	if f != nil {
		res.Calls, res.Stop = nil, "" // half a call must never run
		return res, c.report(ctx, e, f, s.timeout(), r.said)
	}
	return res, nil
}

// signedCall is call with what it is signed with. A plan's token that was turned down before anything of a reply came is renewed
// once: a call that was refused so has cost nothing.
func (c *Client) signedCall(ctx context.Context, s Settings, e endpoint, req msg.ModelRequest, r *reply) *failure {
	f := c.authorize(ctx, &e, "")
	if f != nil {
		return f
	}
	f = c.call(ctx, s, e, req, r)
	if f == nil || !e.provider.signIn || f.status != http.StatusUnauthorized || r.size > 0 {
		return f
	}
	old := e.key
	if renewed := c.authorize(ctx, &e, old); renewed != nil {
		return renewed
	}
	if e.key == old {
		return f
	}
	return c.call(ctx, s, e, req, r)
}

// report logs what the provider said and gives the error its sentence.
func (c *Client) report(ctx context.Context, e endpoint, f *failure, timeout time.Duration, said bool) *msg.ModelError {
	err := e.modelError(f, timeout, said)
	if f.fault != msg.FaultCancelled {
		c.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "model call failed", slog.String("model", cutText(e.full, 120)),
			slog.String("fault", string(f.fault)), slog.Int("status", f.status), slog.String("raw", err.Raw))
	}
	return err
}

// decoder reads one protocol's stream into a reply.
type decoder interface {
	read(body io.Reader, r *reply, progress func()) error
}

func (e endpoint) decoder() decoder {
	switch e.provider.speaks {
	case speaksAnthropic:
		return &anthropicDecoder{e: e}
	case speaksOllama:
		return &ollamaDecoder{e: e}
	case speaksResponses:
		return &responsesDecoder{e: e}
	}
	return &openAIDecoder{e: e}
}

func (c *Client) call(ctx context.Context, s Settings, e endpoint, req msg.ModelRequest, r *reply) *failure {
	w := newWatch(ctx, s.timeout())
	defer w.stop()
	var path string
	var body any
	switch e.provider.speaks {
	case speaksAnthropic:
		path, body = "/v1/messages", anthropicBody(e, req)
	case speaksOllama:
		path, body = "/api/chat", ollamaBody(e, req, c.ollamaSetup(w.ctx, s, e, req))
	case speaksResponses:
		path, body = "/responses", responsesBody(e, req, c.planEffortFor(w.ctx, e, req.Reasoning))
	default:
		path, body = "/chat/completions", openAIBody(e, req)
	}
	resp, f := c.post(ctx, w, e, path, body)
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
		return e.fromAnswer(resp.StatusCode, text)
	}
	err := e.decoder().read(in, r, func() {
		w.progress()
		if r.ended {
			w.hurry(2 * time.Second)
		}
	})
	if err == nil || r.ended {
		err = finish(w, in, r)
	}
	if err == nil {
		return nil
	}
	return e.fromBreak(ctx, w, r, err)
}

// finish lets the connection be used again: after the end of a reply only a few bytes can still come.
func finish(w *watch, in io.Reader, r *reply) error {
	if r.emitErr != nil {
		return r.emitErr
	}
	w.hurry(50 * time.Millisecond)
	_, _ = io.CopyN(io.Discard, in, 4096)
	return r.flush()
}

// fromBreak says why a stream ended before its time.
func (e endpoint) fromBreak(ctx context.Context, w *watch, r *reply, err error) *failure {
	var f *failure
	var slow net.Error
	switch {
	case ctx.Err() != nil:
		return endedBy(ctx)
	case r.emitErr != nil:
		return &failure{fault: msg.FaultCancelled, raw: r.emitErr.Error()}
	case errors.As(err, &f):
		return f
	case w.silent(), errors.Is(err, errSilent), errors.As(err, &slow) && slow.Timeout():
		return &failure{fault: msg.FaultTimeout, raw: err.Error()}
	}
	f = &failure{fault: msg.FaultCut, raw: err.Error()}
	for _, long := range []error{errReplyTooLong, errLineTooLong, errStreamTooLong, errTooManyCalls} {
		if errors.Is(err, long) {
			f.text = fmt.Sprintf("The reply from %s was stopped because it was too long: %s. Nothing of it was kept. Ask for less at once, or pick another model in Settings > Models.", runtimeName(e.provider), long)
		}
	}
	return f
}

func endedBy(ctx context.Context) *failure {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &failure{fault: msg.FaultTimeout, raw: "the caller's time for the call was over"}
	}
	return &failure{fault: msg.FaultCancelled}
}

// post sends a request. The transport repeats it by itself in one case only: a kept-alive connection turns out to be closed
// before anything was written to it.
func (c *Client) post(ctx context.Context, w *watch, e endpoint, path string, body any) (*http.Response, *failure) {
	data, err := encode(body)
	if err != nil {
		return nil, &failure{fault: msg.FaultOther, text: "A tool's description for the model is not valid JSON. Turn that tool off in Settings > Tools.", raw: err.Error()}
	}
	req, err := http.NewRequestWithContext(w.ctx, http.MethodPost, e.base+path, bytes.NewReader(data))
	if err != nil {
		return nil, &failure{fault: msg.FaultBadModel, raw: err.Error()}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream, application/x-ndjson, application/json")
	e.sign(req)
	resp, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, endedBy(ctx)
		}
		if w.silent() {
			return nil, &failure{fault: msg.FaultTimeout, raw: err.Error()}
		}
		return nil, &failure{fault: connectFault(err), raw: err.Error()}
	}
	return resp, nil
}

// connectFault tells a provider that is not there from one that hung up on us.
func connectFault(err error) msg.ModelFault {
	var op *net.OpError
	if errors.As(err, &op) && (op.Op == "read" || op.Op == "write") {
		return msg.FaultCut
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return msg.FaultCut
	}
	return msg.FaultUnreachable
}

func (e endpoint) sign(req *http.Request) {
	req.Header.Set("User-Agent", "Sentient")
	if e.provider.speaks == speaksAnthropic {
		req.Header.Set("anthropic-version", "2023-06-01")
		if e.key != "" {
			req.Header.Set("x-api-key", e.key)
		}
		return
	}
	if e.key != "" {
		req.Header.Set("Authorization", "Bearer "+e.key)
	}
	if e.provider.id == "openrouter" {
		req.Header.Set("X-Title", "Sentient")
	}
}

// encode writes JSON without the escapes that HTML needs and models pay for.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// getJSON reads a small answer into out. The status is 0 when there was no answer.
func (c *Client) getJSON(ctx context.Context, e endpoint, method, url string, body, out any) (int, error) {
	var in io.Reader
	if body != nil {
		data, err := encode(body)
		if err != nil {
			return 0, err
		}
		in = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, in)
	if err != nil {
		return 0, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	e.sign(req)
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxLine))
	if err != nil {
		return 0, err
	}
	if resp.StatusCode != http.StatusOK {
		return resp.StatusCode, e.fromAnswer(resp.StatusCode, data)
	}
	if err := json.Unmarshal(data, out); err != nil {
		return resp.StatusCode, fmt.Errorf("the answer of %s makes no sense: %w", e.provider.label, err)
	}
	return resp.StatusCode, nil
}
