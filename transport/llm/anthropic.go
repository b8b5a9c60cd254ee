package llm

import (
	"encoding/json"
	"regexp"
	"strings"

	"sentient/actors/msg"
)

// The request of POST /v1/messages.
type anthropicRequest struct {
	Model        string             `json:"model"`
	MaxTokens    int                `json:"max_tokens"`
	System       []anthropicBlock   `json:"system,omitempty"`
	Messages     []anthropicMessage `json:"messages"`
	Tools        []anthropicTool    `json:"tools,omitempty"`
	ToolChoice   any                `json:"tool_choice,omitempty"`
	Stream       bool               `json:"stream"`
	Temperature  *float64           `json:"temperature,omitempty"`
	Thinking     map[string]any     `json:"thinking,omitempty"`
	OutputConfig map[string]string  `json:"output_config,omitempty"`
}

type anthropicMessage struct {
	Role    string           `json:"role"`
	Content []anthropicBlock `json:"content"`
}

type anthropicBlock struct {
	Type      string           `json:"type"`
	Text      string           `json:"text,omitempty"`
	Thinking  *string          `json:"thinking,omitempty"`
	Signature string           `json:"signature,omitempty"`
	Data      string           `json:"data,omitempty"`
	Source    *anthropicSource `json:"source,omitempty"`
	ID        string           `json:"id,omitempty"`
	Name      string           `json:"name,omitempty"`
	Input     json.RawMessage  `json:"input,omitempty"`
	ToolUseID string           `json:"tool_use_id,omitempty"`
	Content   []anthropicBlock `json:"content,omitempty"`
	IsError   bool             `json:"is_error,omitempty"`
	Cache     *cacheControl    `json:"cache_control,omitempty"`
}

type anthropicSource struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      []byte `json:"data"` // base64 by encoding/json
}

type anthropicTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
	Cache       *cacheControl   `json:"cache_control,omitempty"`
}

type cacheControl struct {
	Type string `json:"type"`
}

// anthropicMaxTokens is the reply's limit where none is asked for: Anthropic has no default of its own.
const anthropicMaxTokens = 8192

func anthropicBody(e endpoint, req msg.ModelRequest) anthropicRequest {
	out := anthropicRequest{Model: e.name, Stream: true, MaxTokens: req.MaxTokens, Temperature: req.Temperature}
	if out.MaxTokens <= 0 {
		out.MaxTokens = anthropicMaxTokens
	}
	if system := systemWithJSON(req); strings.TrimSpace(system) != "" {
		out.System = []anthropicBlock{{Type: "text", Text: system, Cache: &cacheControl{"ephemeral"}}}
	}
	for _, t := range req.Tools {
		out.Tools = append(out.Tools, anthropicTool{Name: t.Name, Description: t.Description, InputSchema: schemaOf(t)})
	}
	if len(out.Tools) == 0 {
		if out.Tools = usedTools(req.Messages); len(out.Tools) > 0 {
			out.ToolChoice = map[string]string{"type": "none"}
		}
	}
	if n := len(out.Tools); n > 0 {
		out.Tools[n-1].Cache = &cacheControl{"ephemeral"}
	}
	anthropicThinking(&out, req.Reasoning)
	out.Messages = anthropicMessages(e, req.Messages)
	return out
}

// usedTools names the tools of a conversation that offers none now: calls without their tools are refused.
func usedTools(messages []msg.ModelMessage) []anthropicTool {
	var out []anthropicTool
	seen := map[string]bool{}
	for _, m := range messages {
		for _, c := range m.ToolCalls {
			if !seen[c.Name] {
				seen[c.Name] = true
				out = append(out, anthropicTool{Name: c.Name, Description: "Not available now.", InputSchema: emptySchema})
			}
		}
	}
	return out
}

var (
	claudeAdaptive = regexp.MustCompile(`claude-(opus-4-[6-9]|sonnet-4-[6-9]|[a-z]+-([5-9]|\d\d))`) // how much to think is its own choice
	claudeSamples  = regexp.MustCompile(`claude-(opus|sonnet)-4-6`)                                 // adaptive, but still takes a temperature
	claudeSwitch   = regexp.MustCompile(`claude-(opus|sonnet)-5(-20\d{6})?$`)                       // thinks unless it is switched off
	claudeOffByNot = regexp.MustCompile(`claude-[a-z]+-4-`)                                         // thinks only when asked to
)

// anthropicThinking asks for thinking: newer models choose how much by an effort, older ones get a budget of tokens. A budget
// comes on top of what the reply may be long.
func anthropicThinking(out *anthropicRequest, effort string) {
	adaptive := claudeAdaptive.MatchString(out.Model)
	if adaptive && !claudeSamples.MatchString(out.Model) {
		out.Temperature = nil
	}
	switch {
	case effort == "":
	case adaptive && effort != "none":
		out.Thinking, out.OutputConfig = map[string]any{"type": "adaptive"}, map[string]string{"effort": effort}
		out.Temperature = nil
		out.MaxTokens += 8192
	case adaptive && claudeSwitch.MatchString(out.Model):
		out.Thinking = map[string]any{"type": "disabled"}
	case adaptive && !claudeOffByNot.MatchString(out.Model):
		out.OutputConfig = map[string]string{"effort": "low"} // cannot be switched off
		out.MaxTokens += 8192
	case !adaptive && effort != "none" && !strings.Contains(out.Model, "claude-3-5") && !strings.Contains(out.Model, "claude-3-haiku") && !strings.Contains(out.Model, "claude-3-opus"):
		budget := map[string]int{"low": 2048, "medium": 8192, "high": 16384}[effort]
		if budget == 0 {
			return
		}
		out.Thinking = map[string]any{"type": "enabled", "budget_tokens": budget}
		out.Temperature = nil
		out.MaxTokens += budget
	}
}

// anthropicMessages maps the conversation to turns that alternate and begin with the user; tool results are the user's, and
// those of one round share one turn.
func anthropicMessages(e endpoint, messages []msg.ModelMessage) []anthropicMessage {
	var out []anthropicMessage
	add := func(role string, blocks []anthropicBlock) {
		if len(blocks) == 0 {
			return
		}
		if len(out) == 0 && role == "assistant" {
			out = append(out, anthropicMessage{Role: "user", Content: []anthropicBlock{{Type: "text", Text: "(The conversation goes on.)"}}})
		}
		if n := len(out); n > 0 && out[n-1].Role == role {
			out[n-1].Content = append(out[n-1].Content, blocks...)
			return
		}
		out = append(out, anthropicMessage{Role: role, Content: blocks})
	}
	for i, m := range messages {
		switch m.Role {
		case "tool":
			add("user", []anthropicBlock{{Type: "tool_result", ToolUseID: plainID(m.ToolCallID), Content: anthropicParts(m.Parts), IsError: m.IsError}})
		case "assistant":
			add("assistant", anthropicAssistant(e, m, i == len(messages)-1))
		default:
			add("user", anthropicParts(m.Parts))
		}
	}
	return out
}

func anthropicAssistant(e endpoint, m msg.ModelMessage, last bool) []anthropicBlock {
	blocks := thinkingBlocks(openSeal(e.provider.id, m.Signature), m.Thinking)
	text := textOf(m.Parts)
	if last {
		text = strings.TrimRight(text, " \t\r\n") // refused at the end of a conversation
	}
	if strings.TrimSpace(text) != "" {
		blocks = append(blocks, anthropicBlock{Type: "text", Text: text})
	}
	for _, c := range m.ToolCalls {
		blocks = append(blocks, anthropicBlock{Type: "tool_use", ID: plainID(c.ID), Name: c.Name, Input: objectOf(c.Arguments)})
	}
	return blocks
}

// thinkingBlocks restores a turn's thinking as it was signed; thinking that was changed since is left out whole.
func thinkingBlocks(s seal, thinking string) []anthropicBlock {
	total := 0
	for _, b := range s.Blocks {
		if b.Bytes < 0 {
			return nil
		}
		total += b.Bytes
	}
	if total != len(thinking) {
		return nil
	}
	var out []anthropicBlock
	for _, b := range s.Blocks {
		if b.Data != "" {
			out = append(out, anthropicBlock{Type: "redacted_thinking", Data: b.Data})
			continue
		}
		text := thinking[:b.Bytes]
		thinking = thinking[b.Bytes:]
		out = append(out, anthropicBlock{Type: "thinking", Thinking: &text, Signature: b.Sign})
	}
	return out
}

func anthropicParts(parts []msg.ModelPart) []anthropicBlock {
	var out []anthropicBlock
	for _, p := range parts {
		switch {
		case len(p.Image) > 0:
			out = append(out, anthropicBlock{Type: "image", Source: &anthropicSource{Type: "base64", MediaType: mimeOf(p), Data: p.Image}})
		case strings.TrimSpace(p.Text) != "": // an empty text is refused
			out = append(out, anthropicBlock{Type: "text", Text: p.Text})
		}
	}
	return out
}

// objectOf is arguments as the object that some protocols want; what is no object becomes an empty one.
func objectOf(arguments string) json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal([]byte(arguments), &m) != nil || m == nil {
		return json.RawMessage("{}")
	}
	return json.RawMessage(arguments)
}
