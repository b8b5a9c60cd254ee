package llm

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"sentient/actors/msg"
)

// The request of POST /chat/completions, in the parts that every compatible provider takes.
type openAIRequest struct {
	Model           string          `json:"model"`
	Messages        []openAIMessage `json:"messages"`
	Tools           []openAITool    `json:"tools,omitempty"`
	Stream          bool            `json:"stream"`
	StreamOptions   *streamOptions  `json:"stream_options,omitempty"`
	Temperature     *float64        `json:"temperature,omitempty"`
	MaxTokens       int             `json:"max_tokens,omitempty"`
	MaxCompletion   int             `json:"max_completion_tokens,omitempty"`
	ResponseFormat  any             `json:"response_format,omitempty"`
	ReasoningEffort string          `json:"reasoning_effort,omitempty"`
	Reasoning       any             `json:"reasoning,omitempty"`
	Thinking        any             `json:"thinking,omitempty"`
	ChatTemplate    any             `json:"chat_template_kwargs,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type openAIMessage struct {
	Role             string            `json:"role"`
	Content          any               `json:"content"`
	ToolCalls        []openAICall      `json:"tool_calls,omitempty"`
	ToolCallID       string            `json:"tool_call_id,omitempty"`
	ReasoningContent string            `json:"reasoning_content,omitempty"`
	ReasoningDetails []json.RawMessage `json:"reasoning_details,omitempty"`
}

type openAICall struct {
	ID       string         `json:"id"`
	Type     string         `json:"type"`
	Function openAIFunction `json:"function"`
	Extra    any            `json:"extra_content,omitempty"`
}

type openAIFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type openAITool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

type contentPart struct {
	Type  string    `json:"type"`
	Text  string    `json:"text,omitempty"`
	Image *imageURL `json:"image_url,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

func openAIBody(e endpoint, req msg.ModelRequest) openAIRequest {
	p := e.provider
	out := openAIRequest{Model: e.name, Stream: true, Temperature: req.Temperature, Messages: openAIMessages(e, req)}
	if !p.noUsageAsk {
		out.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	if p.newLimit {
		out.MaxCompletion = req.MaxTokens
	} else {
		out.MaxTokens = req.MaxTokens
	}
	for _, t := range req.Tools {
		tool := openAITool{Type: "function"}
		tool.Function.Name, tool.Function.Description, tool.Function.Parameters = t.Name, t.Description, schemaOf(t)
		out.Tools = append(out.Tools, tool)
	}
	if req.JSON && !p.noJSONMode {
		out.ResponseFormat = map[string]string{"type": "json_object"}
	}
	applyEffort(&out, p.effort, e.name, req.Reasoning)
	return out
}

func openAIMessages(e endpoint, req msg.ModelRequest) []openAIMessage {
	var out []openAIMessage
	if system := systemWithJSON(req); system != "" {
		out = append(out, openAIMessage{Role: "system", Content: system})
	}
	id := func(id string) string {
		if e.provider.shortIDs {
			return nineLetters(id)
		}
		return id
	}
	var seen []msg.ModelPart // images that tools returned: a tool's message cannot hold them
	for i, m := range req.Messages {
		switch m.Role {
		case "tool":
			text := textOf(m.Parts)
			if images := imagesOf(m.Parts); len(images) > 0 {
				seen = append(seen, images...)
				if text == "" {
					text = "The picture follows."
				}
			}
			out = append(out, openAIMessage{Role: "tool", ToolCallID: id(m.ToolCallID), Content: text})
			if len(seen) > 0 && (i+1 == len(req.Messages) || req.Messages[i+1].Role != "tool") {
				out = append(out, openAIMessage{Role: "user", Content: openAIParts(append([]msg.ModelPart{{Text: "[Pictures from the tools above]"}}, seen...))})
				seen = nil
			}
		case "assistant":
			out = append(out, openAIAssistant(e, m, id))
		default:
			out = append(out, openAIMessage{Role: "user", Content: openAIParts(m.Parts)})
		}
	}
	return out
}

func openAIAssistant(e endpoint, m msg.ModelMessage, id func(string) string) openAIMessage {
	s := openSeal(e.provider.id, m.Signature)
	out := openAIMessage{Role: "assistant", Content: textOf(m.Parts), ReasoningDetails: renamed(s, m.ToolCalls, id)}
	if e.provider.echoes {
		out.ReasoningContent = m.Thinking
	}
	for i, c := range m.ToolCalls {
		call := openAICall{ID: id(c.ID), Type: "function", Function: openAIFunction{Name: c.Name, Arguments: c.Arguments}}
		if i < len(s.Calls) && s.Calls[i] != "" {
			call.Extra = map[string]any{"google": map[string]string{"thought_signature": s.Calls[i]}}
		}
		out.ToolCalls = append(out.ToolCalls, call)
	}
	if len(out.ToolCalls) > 0 && out.Content == "" {
		out.Content = nil
	}
	return out
}

// renamed gives reasoning details that belong to a call the id under which that call is sent now.
func renamed(s seal, calls []msg.ToolCall, id func(string) string) []json.RawMessage {
	out := s.Details
	for i, raw := range s.Details {
		var d map[string]json.RawMessage
		var name string
		if json.Unmarshal(raw, &d) != nil || json.Unmarshal(d["id"], &name) != nil || name == "" {
			continue
		}
		at := slices.Index(s.IDs, name)
		if at < 0 || at >= len(calls) {
			continue
		}
		d["id"], _ = json.Marshal(id(calls[at].ID)) // a string
		if b, err := json.Marshal(d); err == nil {
			out = slices.Clone(out)
			out[i] = b
		}
	}
	return out
}

// openAIParts is a string where that is enough: some compatible servers take nothing else.
func openAIParts(parts []msg.ModelPart) any {
	images := imagesOf(parts)
	if len(images) == 0 {
		return textOf(parts)
	}
	var out []contentPart
	for _, p := range parts {
		if len(p.Image) > 0 {
			url := "data:" + mimeOf(p) + ";base64," + base64.StdEncoding.EncodeToString(p.Image)
			out = append(out, contentPart{Type: "image_url", Image: &imageURL{URL: url}})
		} else if p.Text != "" {
			out = append(out, contentPart{Type: "text", Text: p.Text})
		}
	}
	return out
}

// effortStyle is how a provider is told how much to think.
type effortStyle int

const (
	effortUnsaid effortStyle = iota
	effortOpenAI
	effortOpenRouter
	effortGemini
	effortGroq
	effortDeepSeek
	effortXAI
	effortTemplate // the chat template's switch, as vLLM passes it on
)

var (
	openAIThinks = regexp.MustCompile(`^(o\d|gpt-(5|[6-9]|\d\d))`)
	openAIFirst5 = regexp.MustCompile(`^gpt-5(-mini|-nano|-codex)?(-\d{4}-\d\d-\d\d)?$`) // knows minimal, not none
	openAINoNone = regexp.MustCompile(`^(o\d|gpt-([6-9]|\d\d)|gpt-\d(\.\d)?-(pro|codex))`)
	geminiNoNone = regexp.MustCompile(`gemini-(2\.5-pro|[3-9]|\d\d)`)
)

func applyEffort(out *openAIRequest, style effortStyle, model, effort string) {
	switch style {
	case effortOpenAI:
		if !openAIThinks.MatchString(model) || strings.Contains(model, "chat") {
			return
		}
		out.Temperature = nil // refused by models that think
		out.ReasoningEffort = effort
		if effort == "none" && openAIFirst5.MatchString(model) {
			out.ReasoningEffort = "minimal"
		} else if effort == "none" && openAINoNone.MatchString(model) {
			out.ReasoningEffort = "low"
		}
	case effortOpenRouter:
		if effort == "none" {
			out.Reasoning = map[string]bool{"enabled": false}
		} else if effort != "" {
			out.Reasoning = map[string]string{"effort": effort}
		}
	case effortGemini:
		out.ReasoningEffort = effort
		if effort == "none" && geminiNoNone.MatchString(model) {
			out.ReasoningEffort = "low"
		}
	case effortGroq:
		groqEffort(out, model, effort)
	case effortDeepSeek:
		if effort == "none" {
			out.Thinking = map[string]string{"type": "disabled"}
		} else if effort != "" && !strings.Contains(model, "chat") {
			if effort == "medium" {
				effort = "high" // it knows low, high and max
			}
			out.Thinking, out.ReasoningEffort = map[string]string{"type": "enabled"}, effort
		}
	case effortXAI:
		if effort == "low" || effort == "medium" || effort == "high" {
			if strings.Contains(model, "grok-3-mini") || strings.HasPrefix(model, "grok-4.") && !strings.Contains(model, "non-reasoning") {
				out.ReasoningEffort = effort
			}
		}
	case effortTemplate:
		if effort != "" {
			out.ChatTemplate = map[string]bool{"enable_thinking": effort != "none"}
		}
	}
}

// groqEffort: its gpt-oss models take a level, its Qwen models only on and off, the others nothing.
func groqEffort(out *openAIRequest, model, effort string) {
	switch {
	case effort == "":
	case strings.Contains(model, "gpt-oss"):
		if out.ReasoningEffort = effort; effort == "none" {
			out.ReasoningEffort = "low"
		}
	case strings.Contains(model, "qwen3"):
		if out.ReasoningEffort = "default"; effort == "none" {
			out.ReasoningEffort = "none"
		}
	}
}
