package claude

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"sentient/actors/msg"
)

const (
	wantsJSON  = "Answer with one JSON value and nothing else."
	introduced = "The conversation so far follows. Go on with the assistant's next message: write only that message, without tags, or call tools."
)

func systemPrompt(req msg.ModelRequest) string {
	s := req.System
	if s == "" {
		s = "You are a helpful personal assistant."
	}
	if req.JSON {
		s += "\n\n" + wantsJSON
	}
	return s
}

// block is a content block of Anthropic's message format.
type block struct {
	Type   string  `json:"type"`
	Text   string  `json:"text,omitempty"`
	Source *source `json:"source,omitempty"`
}

type source struct {
	Type  string `json:"type"`
	Media string `json:"media_type"`
	Data  []byte `json:"data"` // base64 in JSON
}

// input is the conversation as one line of stream-json: a transcript, with its images where they belong.
func input(messages []msg.ModelMessage) ([]byte, error) {
	w := &transcript{}
	w.text(introduced + "\n\n")
	for _, m := range messages {
		w.message(m)
	}
	b, err := json.Marshal(map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": w.blocks}, "parent_tool_use_id": nil, "session_id": ""})
	return append(b, '\n'), err
}

type transcript struct{ blocks []block }

func (w *transcript) text(s string) {
	if n := len(w.blocks); n > 0 && w.blocks[n-1].Type == "text" {
		w.blocks[n-1].Text += s
		return
	}
	w.blocks = append(w.blocks, block{Type: "text", Text: s})
}

func (w *transcript) message(m msg.ModelMessage) {
	switch m.Role {
	case "assistant":
		if len(m.Parts) > 0 {
			w.parts("<assistant>\n", m.Parts, "\n</assistant>\n")
		}
		for _, c := range m.ToolCalls {
			w.text(fmt.Sprintf("<tool_call id=%q name=%q>\n%s\n</tool_call>\n", plain(c.ID), plain(c.Name), plain(c.Arguments)))
		}
	case "tool":
		failed := ""
		if m.IsError {
			failed = ` error="true"`
		}
		w.parts(fmt.Sprintf("<tool_result id=%q name=%q%s>\n", plain(m.ToolCallID), plain(m.Name), failed), m.Parts, "\n</tool_result>\n")
	default:
		w.parts("<user>\n", m.Parts, "\n</user>\n")
	}
}

func (w *transcript) parts(open string, parts []msg.ModelPart, end string) {
	w.text(open)
	for i, p := range parts {
		if len(p.Image) > 0 {
			kind := p.MIME
			if kind == "" {
				kind = http.DetectContentType(p.Image)
			}
			w.blocks = append(w.blocks, block{Type: "image", Source: &source{"base64", kind, p.Image}})
			continue
		}
		if i > 0 && len(parts[i-1].Image) == 0 {
			w.text("\n")
		}
		w.text(plain(p.Text))
	}
	w.text(end)
}

var ourTags = regexp.MustCompile(`(?i)<(/?\s*(?:user|assistant|tool_call|tool_result)\b)`)

// plain keeps a text from looking like the transcript's own tags, so that no page or file can speak for the person.
func plain(s string) string {
	return ourTags.ReplaceAllString(strings.ToValidUTF8(s, "\uFFFD"), "&lt;$1")
}
