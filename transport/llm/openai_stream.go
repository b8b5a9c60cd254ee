package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"sentient/actors/msg"
)

// openAIChunk is one chat.completion.chunk; a whole chat.completion has message where a chunk has delta.
type openAIChunk struct {
	Choices []struct {
		Index        int          `json:"index"`
		Delta        *openAIDelta `json:"delta"`
		Message      *openAIDelta `json:"message"`
		FinishReason string       `json:"finish_reason"`
	} `json:"choices"`
	Usage *openAIUsage `json:"usage"`
	XGroq *struct {
		Usage *openAIUsage `json:"usage"`
	} `json:"x_groq"`
	Error json.RawMessage `json:"error"`
}

type openAIDelta struct {
	Content          looseContent      `json:"content"`
	Refusal          looseString       `json:"refusal"`
	ReasoningContent looseString       `json:"reasoning_content"`
	Reasoning        looseContent      `json:"reasoning"`
	ReasoningDetails []json.RawMessage `json:"reasoning_details"`
	ToolCalls        []openAICallDelta `json:"tool_calls"`
}

type openAICallDelta struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      looseString    `json:"name"`
		Arguments looseArguments `json:"arguments"`
	} `json:"function"`
	Extra struct {
		Google struct {
			Signature string `json:"thought_signature"`
		} `json:"google"`
	} `json:"extra_content"`
}

type openAIUsage struct {
	Prompt     int             `json:"prompt_tokens"`
	Completion int             `json:"completion_tokens"`
	Total      int             `json:"total_tokens"`
	CacheHit   int             `json:"prompt_cache_hit_tokens"`
	Cost       json.RawMessage `json:"cost"` // dollars; anything else is ignored
	Details    *struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// looseContent is text, or a list of parts: {"type": "text"} and {"type": "thinking"}.
type looseContent struct{ text, thinking string }

func (c *looseContent) UnmarshalJSON(b []byte) error {
	*c = looseContent{}
	switch b[0] {
	case '"':
		var s looseString
		err := s.UnmarshalJSON(b)
		c.text = string(s)
		return err
	case '[':
		var parts []struct {
			Type     string       `json:"type"`
			Text     looseString  `json:"text"`
			Thinking looseContent `json:"thinking"`
		}
		if err := json.Unmarshal(b, &parts); err != nil {
			return err
		}
		for _, p := range parts {
			if p.Type == "thinking" {
				c.thinking += p.Thinking.text
			} else {
				c.text += string(p.Text)
			}
		}
	}
	return nil // null, or something we do not know
}

// looseArguments is the text of arguments; a server that sends them as an object gets its JSON taken as that text.
type looseArguments string

func (a *looseArguments) UnmarshalJSON(b []byte) error {
	if b[0] == '"' || string(b) == "null" {
		return (*looseString)(a).UnmarshalJSON(b)
	}
	*a = looseArguments(b)
	return nil
}

type openAIDecoder struct{ e endpoint }

func (d *openAIDecoder) read(body io.Reader, r *reply, progress func()) error {
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
		data := bytes.TrimSpace(ev.data)
		if len(data) == 0 {
			continue
		}
		if isDone(data) {
			return d.done(r)
		}
		if err := d.chunk(data, r); err != nil {
			return err
		}
		progress()
	}
}

// done is the stream's own end mark. Servers that never name a finish reason are believed if they said something.
func (d *openAIDecoder) done(r *reply) error {
	if !r.ended && !r.said && len(r.calls.list) == 0 {
		return io.ErrUnexpectedEOF
	}
	r.ended = true
	return nil
}

func (d *openAIDecoder) chunk(data []byte, r *reply) error {
	var c openAIChunk
	if err := json.Unmarshal(data, &c); err != nil {
		return fmt.Errorf("a piece of the stream is not valid: %w", err)
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		if r.ended {
			return nil
		}
		return d.e.fromAnswer(200, data)
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue
		}
		delta := choice.Delta
		if delta == nil {
			delta = choice.Message
		}
		if delta != nil {
			if err := d.delta(delta, r); err != nil {
				return err
			}
		}
		if choice.FinishReason == "error" {
			return io.ErrUnexpectedEOF
		}
		if choice.FinishReason != "" {
			r.stop, r.ended = openAIStop(choice.FinishReason), true
		}
	}
	if c.XGroq != nil && c.Usage == nil {
		c.Usage = c.XGroq.Usage
	}
	c.Usage.into(&r.usage)
	return nil
}

func (d *openAIDecoder) delta(delta *openAIDelta, r *reply) error {
	thinking := string(delta.ReasoningContent) // servers that send both fields send the same text in both
	if thinking == "" {
		thinking = delta.Reasoning.text
	}
	if err := r.addThinking(thinking + delta.Content.thinking); err != nil {
		return err
	}
	if err := r.addText(delta.Content.text + string(delta.Refusal)); err != nil {
		return err
	}
	if d.e.provider.id == "openrouter" {
		for _, raw := range delta.ReasoningDetails {
			if err := r.grow(len(raw)); err != nil {
				return err
			}
			r.seal.Details = joinDetails(r.seal.Details, raw)
		}
	}
	for _, piece := range delta.ToolCalls {
		if err := r.grow(len(piece.Function.Arguments) + len(piece.Function.Name)); err != nil {
			return err
		}
		c, err := r.calls.at(piece.Index, piece.ID)
		if err != nil {
			return err
		}
		c.named(string(piece.Function.Name))
		c.args.WriteString(string(piece.Function.Arguments))
		if s := piece.Extra.Google.Signature; s != "" {
			c.sign = s
		}
	}
	return nil
}

// joinDetails puts the pieces of one reasoning block together again, as OpenRouter wants it back.
func joinDetails(all []json.RawMessage, raw json.RawMessage) []json.RawMessage {
	var last, piece map[string]any
	if len(all) == 0 || json.Unmarshal(raw, &piece) != nil || json.Unmarshal(all[len(all)-1], &last) != nil ||
		piece["type"] != last["type"] || piece["index"] != last["index"] || piece["index"] == nil {
		return append(all, append(json.RawMessage{}, raw...))
	}
	for k, v := range piece {
		old, isText := last[k].(string)
		if add, ok := v.(string); ok && isText && (k == "text" || k == "summary" || k == "data") {
			last[k] = old + add
		} else if v != nil {
			last[k] = v
		}
	}
	if b, err := json.Marshal(last); err == nil {
		all[len(all)-1] = b
	}
	return all
}

func (u *openAIUsage) into(out *msg.ModelUsage) {
	if u == nil {
		return
	}
	out.Known = true
	out.PromptTokens, out.CompletionTokens, out.CachedTokens = u.Prompt, u.Completion, u.CacheHit
	if u.Total > u.Prompt+u.Completion && u.Prompt > 0 { // xAI and Gemini count thinking in the total alone, and charge for it
		out.CompletionTokens = u.Total - u.Prompt
	}
	if u.Details != nil && u.Details.Cached > 0 {
		out.CachedTokens = u.Details.Cached
	}
	if usd, ok := msg.ParseUSD(string(u.Cost)); ok {
		out.CostUSD = &usd
	}
}

func openAIStop(reason string) string {
	switch reason {
	case "length", "max_tokens", "model_length":
		return "length"
	case "tool_calls", "function_call":
		return "tool_calls"
	case "content_filter":
		return "content_filter"
	}
	return "stop"
}
