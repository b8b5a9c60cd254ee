package llm

import (
	"context"
	"encoding/json"

	"sentient/actors/msg"
)

// guideQuestion is the guide's own tool: it asks like anything that changes something outside the engine, and does nothing.
const guideQuestion = "show_approval"

// GuidePlugin is what only the guide is offered, so that a person without any model can see how Sentient asks. It is scoped:
// no other model ever gets it.
func GuidePlugin() msg.Plugin {
	return msg.Plugin{ID: "demo", DisplayName: "Guide", Description: "Shows how Sentient asks before it acts.", Category: "core", Icon: "info", Auth: "none", Scoped: true,
		Tools: []msg.Tool{{
			Name: guideQuestion, Description: "Shows what an approval looks like. It changes nothing.", Risk: msg.RiskWrite,
			Parameters: json.RawMessage(`{"type":"object","properties":{"what":{"type":"string"}}}`),
			Run:        func(context.Context, *msg.Call) (any, error) { return map[string]bool{"shown": true}, nil },
		}}}
}
