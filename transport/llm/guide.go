package llm

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"sentient/actors/msg"
)

// GuideModel is the built-in model: a small script that answers about the product, so that everything can be tried before a
// model is connected. It is no AI and says so. It is set only by a person's choice at first run.
const GuideModel = "demo/guide"

// GuideOptions are the guide's defaults: seven milliseconds a word.
type GuideOptions struct {
	Pace  time.Duration // between words; 0 means 7 ms, negative means none
	NewID func() string // ids of tool calls; nil means random ones
}

// Guide answers demo/guide. It holds no state: everything is in the request.
type Guide struct{ o GuideOptions }

// NewGuide makes the guide.
func NewGuide(o GuideOptions) *Guide {
	if o.Pace == 0 {
		o.Pace = 7 * time.Millisecond
	}
	if o.NewID == nil {
		o.NewID = inventID
	}
	return &Guide{o}
}

// Stream answers the last message, or the tool results behind it, word by word.
func (g *Guide) Stream(ctx context.Context, req msg.ModelRequest, emit func(msg.ModelChunk) error) (msg.ModelResult, error) {
	text, call := guideAnswer(req)
	res := msg.ModelResult{Stop: "stop"}
	if call != nil {
		call.ID = g.o.NewID()
		res.Calls, res.Stop = []msg.ToolCall{*call}, "tool_calls"
	}
	said, err := g.say(ctx, text, emit)
	res.Text = said
	if err != nil {
		return res, &msg.ModelError{Fault: msg.FaultCancelled, Model: req.Model, Message: "Stopped.", Raw: err.Error(), Said: said != ""}
	}
	return res, nil
}

func (g *Guide) say(ctx context.Context, text string, emit func(msg.ModelChunk) error) (string, error) {
	said := 0
	timer := time.NewTimer(0)
	defer timer.Stop()
	for _, word := range strings.SplitAfter(text, " ") {
		if word == "" {
			continue
		}
		select {
		case <-ctx.Done():
			return text[:said], ctx.Err()
		case <-timer.C:
		}
		if ctx.Err() != nil {
			return text[:said], ctx.Err()
		}
		said += len(word)
		if emit != nil {
			if err := emit(msg.ModelChunk{Text: word}); err != nil {
				return text[:said], err
			}
		}
		timer.Reset(max(0, g.o.Pace))
	}
	return text, ctx.Err()
}

// guideAnswer is the whole script: text, and perhaps one call of a tool that is offered.
func guideAnswer(req msg.ModelRequest) (string, *msg.ToolCall) {
	asked, results := lastTurn(req.Messages)
	switch {
	case req.JSON:
		return "{}", nil // whoever wants data gets none, rather than something made up
	case req.Job == "titles":
		return guideTitle(asked), nil
	case len(results) > 0:
		return guideResults(results), nil
	}
	words := normal(asked)
	if text, call := guideTool(req.Tools, asked, words); text != "" {
		return text, call
	}
	for _, topic := range guideTopics {
		if topic.match(words) {
			return topic.answer, nil
		}
	}
	return guideUnknown, nil
}

// lastTurn gives the person's last words and the tool results that came after them.
func lastTurn(messages []msg.ModelMessage) (asked string, results []msg.ModelMessage) {
	for i := len(messages) - 1; i >= 0; i-- {
		m := messages[i]
		switch m.Role {
		case "tool":
			results = append([]msg.ModelMessage{m}, results...)
		case "assistant":
			if len(m.ToolCalls) == 0 {
				return "", results // nothing new was said
			}
		default:
			return textOf(m.Parts), results
		}
	}
	return "", results
}

func guideTitle(asked string) string {
	words := strings.Fields(asked)
	if len(words) == 0 {
		return "A look around"
	}
	return cutText(strings.Join(words[:min(6, len(words))], " "), 60)
}

// normal is text as the script matches it: lower case words between single spaces.
func normal(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r == '\'' || r == '’':
			return -1
		case strings.ContainsRune(".,;:!?\"()[]{}<>*`\n\t\r", r):
			return ' '
		}
		return r
	}, cutText(s, 4000))
	return " " + strings.Join(strings.Fields(s), " ") + " "
}

// hasAny finds any of the phrases as whole words.
func hasAny(words string, phrases ...string) bool {
	for _, p := range phrases {
		if strings.Contains(words, " "+p+" ") {
			return true
		}
	}
	return false
}

func offered(tools []msg.ToolSchema, name string) bool {
	for _, t := range tools {
		if t.Name == name {
			return true
		}
	}
	return false
}

func guideCall(name string, args map[string]any) *msg.ToolCall {
	b, _ := json.Marshal(args) // strings only: cannot fail
	return &msg.ToolCall{Name: name, Arguments: string(b)}
}
