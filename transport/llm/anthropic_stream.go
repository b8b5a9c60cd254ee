package llm

import (
	"encoding/json"
	"fmt"
	"io"
)

// anthropicEvent is any event of the message stream; its type decides which fields count.
type anthropicEvent struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		Usage anthropicUsage `json:"usage"`
	} `json:"message"`
	Block struct {
		Type      string          `json:"type"`
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Text      looseString     `json:"text"`
		Thinking  looseString     `json:"thinking"`
		Signature string          `json:"signature"`
		Data      string          `json:"data"`
		Input     json.RawMessage `json:"input"`
	} `json:"content_block"`
	Delta struct {
		Type       string      `json:"type"`
		Text       looseString `json:"text"`
		Thinking   looseString `json:"thinking"`
		Signature  string      `json:"signature"`
		Partial    looseString `json:"partial_json"`
		StopReason string      `json:"stop_reason"`
	} `json:"delta"`
	Usage anthropicUsage `json:"usage"`
}

// anthropicUsage counts a message; a later one of the same stream replaces what it names.
type anthropicUsage struct {
	Input      *int `json:"input_tokens"`
	Output     *int `json:"output_tokens"`
	CacheRead  *int `json:"cache_read_input_tokens"`
	CacheWrite *int `json:"cache_creation_input_tokens"`
}

type anthropicDecoder struct {
	e      endpoint
	open   map[int]*anthropicOpen
	counts struct{ input, output, read, write int }
}

// anthropicOpen is a content block that is still coming.
type anthropicOpen struct {
	kind  string
	call  *openCall
	input json.RawMessage // whole input given at the start, used when no pieces follow
	from  int             // where its thinking begins in the reply's
	sign  string
	data  string
}

func (d *anthropicDecoder) read(body io.Reader, r *reply, progress func()) error {
	d.open = map[int]*anthropicOpen{}
	events := newEventReader(body)
	for {
		ev, err := events.next()
		if err == io.EOF {
			if r.ended {
				return nil
			}
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
		var a anthropicEvent
		if err := json.Unmarshal(ev.data, &a); err != nil {
			return fmt.Errorf("a piece of the stream is not valid: %w", err)
		}
		if a.Type == "" {
			a.Type = ev.name
		}
		if a.Type == "ping" {
			continue
		}
		if a.Type == "error" && !r.ended {
			return d.e.fromAnswer(200, ev.data)
		}
		if err := d.event(&a, r); err != nil {
			return err
		}
		progress()
		if a.Type == "message_stop" {
			r.ended = true
			return nil
		}
	}
}

func (d *anthropicDecoder) event(a *anthropicEvent, r *reply) error {
	switch a.Type {
	case "message_start":
		d.count(a.Message.Usage, r)
	case "content_block_start":
		return d.start(a, r)
	case "content_block_delta":
		return d.delta(a, r)
	case "content_block_stop":
		return d.stop(a.Index, r)
	case "message_delta":
		d.count(a.Usage, r)
		if a.Delta.StopReason != "" {
			r.stop, r.ended = anthropicStop(a.Delta.StopReason), true
		}
	}
	return nil // new kinds of events are to be ignored
}

func (d *anthropicDecoder) start(a *anthropicEvent, r *reply) error {
	if len(d.open) > maxCalls {
		return errTooManyCalls
	}
	b := &anthropicOpen{kind: a.Block.Type, from: r.thinking.Len(), sign: a.Block.Signature, data: a.Block.Data}
	d.open[a.Index] = b
	switch b.kind {
	case "tool_use":
		if err := r.grow(len(a.Block.Name) + len(a.Block.Input)); err != nil {
			return err
		}
		index := a.Index
		call, err := r.calls.at(&index, a.Block.ID)
		if err != nil {
			return err
		}
		call.named(a.Block.Name)
		b.call, b.input = call, append(json.RawMessage{}, a.Block.Input...)
	case "text":
		return r.addText(string(a.Block.Text))
	case "thinking":
		return r.addThinking(string(a.Block.Thinking))
	case "redacted_thinking":
		return r.grow(len(b.data))
	}
	return nil
}

func (d *anthropicDecoder) delta(a *anthropicEvent, r *reply) error {
	b := d.open[a.Index]
	switch a.Delta.Type {
	case "text_delta":
		return r.addText(string(a.Delta.Text))
	case "thinking_delta":
		return r.addThinking(string(a.Delta.Thinking))
	case "signature_delta":
		if b != nil {
			b.sign += a.Delta.Signature
		}
		return r.grow(len(a.Delta.Signature))
	case "input_json_delta":
		if b == nil || b.call == nil {
			return nil // a tool that runs at the provider
		}
		b.call.args.WriteString(string(a.Delta.Partial))
		return r.grow(len(a.Delta.Partial))
	}
	return nil
}

func (d *anthropicDecoder) stop(index int, r *reply) error {
	b := d.open[index]
	if b == nil {
		return nil
	}
	delete(d.open, index)
	switch b.kind {
	case "thinking":
		if err := r.out("", r.thinkRune.flush()); err != nil {
			return err
		}
		r.seal.Blocks = append(r.seal.Blocks, sealBlock{Bytes: r.thinking.Len() - b.from, Sign: b.sign})
	case "redacted_thinking":
		r.seal.Blocks = append(r.seal.Blocks, sealBlock{Data: b.data})
	case "tool_use":
		if b.call.args.Len() == 0 && string(b.input) != "null" {
			b.call.args.Write(b.input)
		}
	}
	return nil
}

func (d *anthropicDecoder) count(u anthropicUsage, r *reply) {
	for _, f := range []struct {
		from *int
		to   *int
	}{{u.Input, &d.counts.input}, {u.Output, &d.counts.output}, {u.CacheRead, &d.counts.read}, {u.CacheWrite, &d.counts.write}} {
		if f.from != nil {
			*f.to = *f.from
			r.usage.Known = true
		}
	}
	r.usage.PromptTokens = d.counts.input + d.counts.read + d.counts.write
	r.usage.CompletionTokens = d.counts.output
	r.usage.CachedTokens = d.counts.read
	r.written = d.counts.write
}

func anthropicStop(reason string) string {
	switch reason {
	case "max_tokens", "model_context_window_exceeded":
		return "length"
	case "tool_use":
		return "tool_calls"
	case "refusal":
		return "content_filter"
	}
	return "stop"
}
