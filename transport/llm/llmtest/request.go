package llmtest

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// Request is a model call as the server understood it, whatever its protocol.
type Request struct {
	Protocol string // openai, anthropic, ollama
	Model    string
	System   string
	Messages []Message // without the system prompt
	Tools    []string
	Usage    bool // OpenAI: the client asked for usage
	Header   http.Header
	Body     []byte
	At       time.Time
}

// Message is one message: Role is user, assistant or tool.
type Message struct {
	Role   string
	Text   string
	Calls  []Call
	CallID string // of a tool's result
	Images int
}

// Last is the last message, or an empty one.
func (r Request) Last() Message {
	if len(r.Messages) == 0 {
		return Message{}
	}
	return r.Messages[len(r.Messages)-1]
}

type wireRequest struct {
	Model    string          `json:"model"`
	System   json.RawMessage `json:"system"`
	Messages []wireMessage   `json:"messages"`
	Tools    []struct {
		Name     string `json:"name"`
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type wireMessage struct {
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	Images    []string        `json:"images"`
	ToolCalls []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
	ToolCallID string `json:"tool_call_id"`
}

type wireBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
}

// parse never fails: what it does not understand stays in Body.
func parse(protocol string, h http.Header, body []byte) Request {
	r := Request{Protocol: protocol, Header: h.Clone(), Body: body, At: time.Now()}
	var w wireRequest
	_ = json.Unmarshal(body, &w) // see above
	r.Model, r.Usage = w.Model, w.StreamOptions.IncludeUsage
	r.System, _, _ = content(w.System)
	for _, t := range w.Tools {
		r.Tools = append(r.Tools, t.Name+t.Function.Name)
	}
	for _, m := range w.Messages {
		text, blocks, images := content(m.Content)
		if m.Role == "system" {
			r.System = text
			continue
		}
		out := Message{Role: m.Role, Text: text, CallID: m.ToolCallID, Images: images + len(m.Images)}
		for _, c := range m.ToolCalls {
			args := string(c.Function.Arguments)
			var s string
			if json.Unmarshal(c.Function.Arguments, &s) == nil {
				args = s
			}
			out.Calls = append(out.Calls, Call{ID: c.ID, Name: c.Function.Name, Arguments: args})
		}
		results := false
		for _, b := range blocks {
			switch b.Type {
			case "tool_use":
				out.Calls = append(out.Calls, Call{ID: b.ID, Name: b.Name, Arguments: string(b.Input)})
			case "tool_result":
				text, _, images := content(b.Content)
				r.Messages = append(r.Messages, Message{Role: "tool", Text: text, CallID: b.ToolUseID, Images: images})
				results = true
			}
		}
		if !results || out.Text != "" || out.Images > 0 {
			r.Messages = append(r.Messages, out)
		}
	}
	return r
}

// content reads a string or a list of blocks.
func content(raw json.RawMessage) (text string, blocks []wireBlock, images int) {
	if json.Unmarshal(raw, &text) == nil {
		return text, nil, 0
	}
	_ = json.Unmarshal(raw, &blocks) // neither: no content
	var texts []string
	for _, b := range blocks {
		switch b.Type {
		case "text":
			texts = append(texts, b.Text)
		case "image", "image_url":
			images++
		}
	}
	return strings.Join(texts, "\n"), blocks, images
}
