package llm

import (
	"encoding/base64"
	"encoding/json"
	"slices"

	"sentient/actors/msg"
)

// The request of POST /v1/responses as a ChatGPT plan takes it: always streamed, never stored, and without the fields a plan
// refuses (temperature, max_output_tokens, previous_response_id and the like; A-336).
type responsesRequest struct {
	Model        string           `json:"model"`
	Instructions string           `json:"instructions,omitempty"`
	Input        []any            `json:"input"`
	Tools        []responsesTool  `json:"tools,omitempty"`
	Reasoning    *responsesEffort `json:"reasoning,omitempty"`
	Stream       bool             `json:"stream"`
	Store        bool             `json:"store"`
}

type responsesEffort struct {
	Effort string `json:"effort"`
}

type responsesTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"`
}

type responsesMessage struct {
	Type    string          `json:"type"`
	Role    string          `json:"role"`
	Content []responsesPart `json:"content"`
}

type responsesPart struct {
	Type  string `json:"type"`
	Text  string `json:"text,omitempty"`
	Image string `json:"image_url,omitempty"`
}

type responsesCall struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type responsesOutput struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	Output any    `json:"output"`
}

func responsesBody(e endpoint, req msg.ModelRequest, effort string) responsesRequest {
	out := responsesRequest{Model: e.name, Instructions: systemWithJSON(req), Stream: true, Input: []any{}}
	for _, m := range req.Messages {
		out.Input = append(out.Input, responsesItems(m)...)
	}
	for _, t := range req.Tools {
		out.Tools = append(out.Tools, responsesTool{Type: "function", Name: t.Name, Description: t.Description, Parameters: schemaOf(t)})
	}
	if effort != "" {
		out.Reasoning = &responsesEffort{effort}
	}
	return out
}

func responsesItems(m msg.ModelMessage) []any {
	switch m.Role {
	case "tool":
		out := responsesOutput{Type: "function_call_output", CallID: m.ToolCallID, Output: textOf(m.Parts)}
		if len(imagesOf(m.Parts)) > 0 {
			out.Output = responsesParts(m.Parts)
		}
		return []any{out}
	case "assistant":
		var items []any
		if text := textOf(m.Parts); text != "" {
			items = append(items, responsesMessage{"message", "assistant", []responsesPart{{Type: "output_text", Text: text}}})
		}
		for _, c := range m.ToolCalls {
			items = append(items, responsesCall{"function_call", c.ID, c.Name, c.Arguments})
		}
		return items
	case "system": // a later one; the first is the instructions
		return []any{responsesMessage{"message", "developer", responsesParts(m.Parts)}}
	}
	return []any{responsesMessage{"message", "user", responsesParts(m.Parts)}}
}

func responsesParts(parts []msg.ModelPart) []responsesPart {
	out := []responsesPart{}
	for _, p := range parts {
		if len(p.Image) > 0 {
			out = append(out, responsesPart{Type: "input_image", Image: "data:" + mimeOf(p) + ";base64," + base64.StdEncoding.EncodeToString(p.Image)})
		} else if p.Text != "" {
			out = append(out, responsesPart{Type: "input_text", Text: p.Text})
		}
	}
	return out
}

// efforts from the lightest to the heaviest.
var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra"}

// planEffort is what a plan model is told: exactly what the role asks for, or for "none" the lightest that the plan's
// list gives for the model; "" when it gives none, and then nothing is said.
func planEffort(asked string, levels []string) string {
	if asked != "none" {
		return asked
	}
	best := -1
	for _, l := range levels {
		if i := slices.Index(efforts, l); i >= 0 && (best < 0 || i < best) {
			best = i
		}
	}
	if best < 0 {
		return ""
	}
	return efforts[best]
}
