package llm

import (
	"encoding/json"
	"fmt"
	"io"

	"sentient/actors/msg"
)

// responsesEvent is any event of a streamed response; its type decides which fields count.
type responsesEvent struct {
	Type      string         `json:"type"`
	Output    int            `json:"output_index"`
	Item      responsesItem  `json:"item"`
	Delta     looseString    `json:"delta"`
	Arguments looseArguments `json:"arguments"`
	Response  struct {
		Error      json.RawMessage `json:"error"`
		Incomplete struct {
			Reason string `json:"reason"`
		} `json:"incomplete_details"`
		Output []responsesItem `json:"output"`
		Usage  *responsesUsage `json:"usage"`
	} `json:"response"`
}

type responsesItem struct {
	Type      string         `json:"type"`
	CallID    string         `json:"call_id"`
	Name      looseString    `json:"name"`
	Arguments looseArguments `json:"arguments"`
	Content   []struct {
		Type    string      `json:"type"`
		Text    looseString `json:"text"`
		Refusal looseString `json:"refusal"`
	} `json:"content"`
}

type responsesUsage struct {
	Input   int `json:"input_tokens"`
	Output  int `json:"output_tokens"`
	Details struct {
		Cached int `json:"cached_tokens"`
	} `json:"input_tokens_details"`
}

type responsesDecoder struct {
	e       endpoint
	thought bool // a part of the reasoning has been passed on
}

func (d *responsesDecoder) read(body io.Reader, r *reply, progress func()) error {
	events := newEventReader(body)
	for {
		ev, err := events.next()
		if err == io.EOF {
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
		if isDone(ev.data) {
			continue
		}
		var x responsesEvent
		if err := json.Unmarshal(ev.data, &x); err != nil {
			return fmt.Errorf("a piece of the stream is not valid: %w", err)
		}
		if x.Type == "" {
			x.Type = ev.name
		}
		if err := d.event(&x, ev.data, r); err != nil {
			return err
		}
		progress()
		if r.ended {
			return nil
		}
	}
}

func (d *responsesDecoder) event(x *responsesEvent, raw []byte, r *reply) error {
	switch x.Type {
	case "response.output_text.delta", "response.refusal.delta":
		return r.addText(string(x.Delta))
	case "response.reasoning_summary_part.added":
		if d.thought {
			return r.addThinking("\n\n")
		}
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		d.thought = d.thought || x.Delta != ""
		return r.addThinking(string(x.Delta))
	case "response.output_item.added":
		if x.Item.Type == "function_call" {
			return d.call(x, x.Item, false, r)
		}
	case "response.function_call_arguments.delta":
		return d.arguments(x.Output, string(x.Delta), r)
	case "response.output_item.done":
		if x.Item.Type == "function_call" {
			return d.call(x, x.Item, true, r)
		}
	case "response.completed", "response.done", "response.incomplete":
		return d.end(x, r)
	case "response.failed":
		return d.e.fromAnswer(200, fmt.Appendf(nil, `{"error":%s}`, orNull(x.Response.Error)))
	case "error":
		return d.e.fromAnswer(200, raw)
	}
	return nil // new kinds of events are to be ignored
}

func orNull(b json.RawMessage) json.RawMessage {
	if len(b) == 0 {
		return json.RawMessage("null")
	}
	return b
}

// call opens a function call, or closes it; the arguments it then names count only if none were streamed.
func (d *responsesDecoder) call(x *responsesEvent, item responsesItem, whole bool, r *reply) error {
	c, err := r.calls.at(&x.Output, item.CallID)
	if err != nil {
		return err
	}
	if c.name == "" {
		c.name = string(item.Name)
	}
	if whole && c.args.Len() == 0 {
		return d.arguments(x.Output, string(item.Arguments), r)
	}
	return r.grow(len(item.Name))
}

func (d *responsesDecoder) arguments(index int, piece string, r *reply) error {
	if err := r.grow(len(piece)); err != nil {
		return err
	}
	c, err := r.calls.at(&index, "")
	if err != nil {
		return err
	}
	c.args.WriteString(piece)
	return nil
}

// end takes what the last event holds. Text that was never streamed is in its output.
func (d *responsesDecoder) end(x *responsesEvent, r *reply) error {
	for i, item := range x.Response.Output {
		switch {
		case item.Type == "message" && r.text.Len() == 0 && r.textRunes.rest == "":
			for _, c := range item.Content {
				if err := r.addText(string(c.Text) + string(c.Refusal)); err != nil {
					return err
				}
			}
		case item.Type == "function_call" && !r.calls.has(item.CallID):
			if err := d.call(&responsesEvent{Output: i}, item, true, r); err != nil {
				return err
			}
		}
	}
	if u := x.Response.Usage; u != nil {
		r.usage = msg.ModelUsage{Known: true, PromptTokens: u.Input, CompletionTokens: u.Output, CachedTokens: u.Details.Cached}
	}
	r.ended = true
	switch x.Response.Incomplete.Reason {
	case "":
		r.stop = "stop"
	case "content_filter":
		r.stop = "content_filter"
	default:
		r.stop = "length"
	}
	return nil
}

func (s *callSet) has(theirs string) bool {
	for _, c := range s.list {
		if c.theirs == theirs {
			return true
		}
	}
	return false
}
