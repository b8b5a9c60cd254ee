package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"sentient/actors/msg"
)

// The request of POST /api/chat.
type ollamaRequest struct {
	Model    string          `json:"model"`
	Messages []ollamaMessage `json:"messages"`
	Tools    []openAITool    `json:"tools,omitempty"`
	Stream   bool            `json:"stream"`
	Think    any             `json:"think,omitempty"`
	Format   string          `json:"format,omitempty"`
	Options  map[string]any  `json:"options,omitempty"`
}

type ollamaMessage struct {
	Role      string       `json:"role"`
	Content   string       `json:"content"`
	Thinking  string       `json:"thinking,omitempty"`
	Images    [][]byte     `json:"images,omitempty"` // base64 by encoding/json
	ToolCalls []ollamaCall `json:"tool_calls,omitempty"`
	ToolName  string       `json:"tool_name,omitempty"`
}

type ollamaCall struct {
	Function ollamaFunction `json:"function"`
}

type ollamaFunction struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// ollamaSetup is what a request needs to know of the model: how much it is to read at once, and whether it can think.
type ollamaSetup struct {
	numCtx int
	thinks bool
}

// ollamaSetup takes the request's context length, or the configured one, capped at the model's maximum. A model that
// Ollama cannot tell about in time is used without the cap.
func (c *Client) ollamaSetup(ctx context.Context, s Settings, e endpoint, req msg.ModelRequest) ollamaSetup {
	want := req.ContextLength
	if want <= 0 {
		want = s.contextLength(req.Role)
	}
	asksThinking := req.Reasoning != "" && req.Reasoning != "none"
	if want <= 0 && !asksThinking {
		return ollamaSetup{}
	}
	info, _ := c.ollamaInfo(ctx, e)
	return ollamaSetup{numCtx: info.cap(want), thinks: info.can("thinking")}
}

func ollamaBody(e endpoint, req msg.ModelRequest, setup ollamaSetup) ollamaRequest {
	out := ollamaRequest{Model: e.name, Stream: true, Messages: ollamaMessages(req), Options: map[string]any{}}
	for _, t := range req.Tools {
		tool := openAITool{Type: "function"}
		tool.Function.Name, tool.Function.Description, tool.Function.Parameters = t.Name, t.Description, schemaOf(t)
		out.Tools = append(out.Tools, tool)
	}
	if setup.numCtx > 0 {
		out.Options["num_ctx"] = setup.numCtx
	}
	if req.Temperature != nil {
		out.Options["temperature"] = *req.Temperature
	}
	if req.MaxTokens > 0 {
		out.Options["num_predict"] = req.MaxTokens
	}
	if req.JSON {
		out.Format = "json"
	}
	out.Think = ollamaThink(e.name, req.Reasoning, setup.thinks)
	return out
}

// ollamaThink: Ollama refuses thinking of models that cannot; gpt-oss cannot be switched off and takes a level.
func ollamaThink(model, effort string, thinks bool) any {
	switch {
	case effort == "":
		return nil
	case strings.Contains(model, "gpt-oss"):
		if effort == "none" {
			return "low"
		}
		return effort
	case effort == "none":
		return false
	case thinks:
		return true
	}
	return nil
}

func ollamaMessages(req msg.ModelRequest) []ollamaMessage {
	var out []ollamaMessage
	if system := systemWithJSON(req); system != "" {
		out = append(out, ollamaMessage{Role: "system", Content: system})
	}
	var seen [][]byte
	for i, m := range req.Messages {
		o := ollamaMessage{Role: m.Role, Content: textOf(m.Parts)}
		for _, p := range imagesOf(m.Parts) {
			o.Images = append(o.Images, p.Image)
		}
		switch m.Role {
		case "tool":
			seen, o.Images = append(seen, o.Images...), nil
			o.ToolName = m.Name
			if o.Content == "" && len(seen) > 0 {
				o.Content = "The picture follows."
			}
		case "assistant":
			o.Thinking = m.Thinking
			for _, c := range m.ToolCalls {
				o.ToolCalls = append(o.ToolCalls, ollamaCall{ollamaFunction{Name: c.Name, Arguments: objectOf(c.Arguments)}})
			}
		default:
			o.Role = "user"
		}
		out = append(out, o)
		if len(seen) > 0 && (i+1 == len(req.Messages) || req.Messages[i+1].Role != "tool") {
			out = append(out, ollamaMessage{Role: "user", Content: "[Pictures from the tools above]", Images: seen})
			seen = nil
		}
	}
	return out
}

// ollamaLine is one line of the answer.
type ollamaLine struct {
	Message struct {
		Content   looseString `json:"content"`
		Thinking  looseString `json:"thinking"`
		ToolCalls []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string         `json:"name"`
				Arguments looseArguments `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	} `json:"message"`
	Done       bool            `json:"done"`
	DoneReason string          `json:"done_reason"`
	PromptEval *int            `json:"prompt_eval_count"`
	Eval       *int            `json:"eval_count"`
	Error      json.RawMessage `json:"error"`
}

type ollamaDecoder struct{ e endpoint }

func (d *ollamaDecoder) read(body io.Reader, r *reply, progress func()) error {
	lines := newLineReader(body)
	for {
		line, err := lines.next()
		if err == io.EOF {
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if err := d.line(line, r); err != nil {
			return err
		}
		progress()
		if r.ended {
			return nil
		}
	}
}

func (d *ollamaDecoder) line(line []byte, r *reply) error {
	var o ollamaLine
	if err := json.Unmarshal(line, &o); err != nil {
		return fmt.Errorf("a piece of the stream is not valid: %w", err)
	}
	if len(o.Error) > 0 && string(o.Error) != "null" {
		return d.e.fromAnswer(500, line)
	}
	if err := r.addThinking(string(o.Message.Thinking)); err != nil {
		return err
	}
	if err := r.addText(string(o.Message.Content)); err != nil {
		return err
	}
	for _, call := range o.Message.ToolCalls {
		if err := r.grow(len(call.Function.Name) + len(call.Function.Arguments)); err != nil {
			return err
		}
		index := len(r.calls.list) // calls come whole
		c, err := r.calls.at(&index, call.ID)
		if err != nil {
			return err
		}
		c.named(call.Function.Name)
		c.args.WriteString(string(call.Function.Arguments))
	}
	if !o.Done {
		return nil
	}
	r.ended, r.stop = true, "stop"
	if o.DoneReason == "length" {
		r.stop = "length"
	}
	if o.PromptEval != nil || o.Eval != nil {
		r.usage.Known = true
		r.usage.PromptTokens, r.usage.CompletionTokens = deref(o.PromptEval), deref(o.Eval)
	}
	return nil
}

func deref(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}
