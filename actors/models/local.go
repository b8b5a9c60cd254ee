package models

import (
	"context"
	"fmt"
	"strings"

	"sentient/actors/msg"
)

// The checks that only Ollama can answer.

// thinking compares what the model did in its reply with what the role's setting says.
func (x *probe) thinking(ctx context.Context) *Check {
	info, err := x.o.Models.About(ctx, x.model)
	want := x.models.Reasoning[x.role]
	if err != nil || !info.Thinks || want == "" {
		return nil
	}
	if x.trial.reply == nil {
		return skipped(noAnswer)
	}
	thought := strings.TrimSpace(x.trial.reply.Thinking) != ""
	switch {
	case want == "none" && thought:
		return &Check{Status: warn, Detail: "It thinks before it answers, although reasoning is off for this role.",
			Fix:    "Set this role's reasoning to low, or pick a model that can answer without thinking.",
			Action: &Action{Kind: "set_reasoning", Role: x.role, Value: "low", Label: "Set reasoning to low"}}
	case want != "none" && !thought:
		return &Check{Status: warn, Detail: "It did not think, although reasoning is " + want + " for this role.",
			Fix:    "Turn reasoning off for this role, or pick a model that thinks.",
			Action: &Action{Kind: "set_reasoning", Role: x.role, Value: "none", Label: "Turn reasoning off"}}
	case thought:
		return passed("It thinks before it answers, as this role's reasoning setting asks.")
	}
	return passed("It answers without thinking, as this role's reasoning setting asks.")
}

// setContext is the fix of a context length: the role's own one where it has one, else the one all roles share.
func (x *probe) setContext(n int) *Action {
	a := &Action{Kind: "set_context_length", Role: everyRoles, Value: n, Label: "Set it to " + thousands(n)}
	if x.models.ContextLengthPerRole[x.role] > 0 {
		a.Role = x.role
	}
	return a
}

// sized says whether the model is the one recommended for this computer, and runs on it.
func (x *probe) sized() bool {
	r := x.hardware.Recommendation
	name, ok := ollamaName(x.model)
	return ok && !r.CloudFirst && sameTag(r.Name, name) && x.o.Models.IsLocal(x.model)
}

// sameTag: "qwen3" is "qwen3:latest".
func sameTag(a, b string) bool {
	full := func(s string) string {
		if !strings.Contains(s[strings.LastIndex(s, "/")+1:], ":") {
			s += ":latest"
		}
		return strings.ToLower(s)
	}
	return full(a) == full(b)
}

// context compares the tokens in use with what the model can read and what the graphics card holds.
func (x *probe) context(ctx context.Context) *Check {
	info, err := x.o.Models.About(ctx, x.model)
	if err != nil {
		return skipped("Ollama did not say how much it can read at once.")
	}
	use, rec := x.contextLength(x.role), x.hardware.Recommendation
	switch {
	case info.Maximum > 0 && use > info.Maximum:
		return &Check{Status: warn, Detail: fmt.Sprintf("It is set to read %s tokens at a time, but this model reads at most %s.", thousands(use), thousands(info.Maximum)),
			Fix: "Set the context length to " + thousands(info.Maximum) + " tokens.", Action: x.setContext(info.Maximum)}
	case x.sized() && rec.RunsOn == "graphics" && use > rec.ContextLength:
		return &Check{Status: warn, Detail: fmt.Sprintf("It is set to read %s tokens at a time, more than this computer's graphics card holds beside the model.", thousands(use)),
			Fix: "Set the context length to " + thousands(rec.ContextLength) + " tokens.", Action: x.setContext(rec.ContextLength)}
	case info.Maximum == 0:
		return passed("It reads " + thousands(use) + " tokens at a time.")
	}
	return passed(fmt.Sprintf("It reads %s tokens at a time, of at most %s.", thousands(use), thousands(info.Maximum)))
}

const (
	mostly      = 85   // percent on the graphics card that is good enough for the model sized for this computer
	usualTokens = 8192 // a context length that most computers hold
)

// gpu says where the model that was just asked runs.
func (x *probe) gpu(ctx context.Context) *Check {
	list, err := x.o.Models.Loaded(ctx)
	if err != nil {
		return skipped("Ollama did not say where it runs.")
	}
	name, _ := ollamaName(x.model)
	for _, m := range list {
		if sameTag(m.Name, name) && m.Size > 0 {
			return x.where(m)
		}
	}
	return skipped("It is not loaded right now.")
}

func (x *probe) where(m msg.LoadedModel) *Check {
	percent := int(float64(min(max(m.SizeVRAM, 0), m.Size)) / float64(m.Size) * 100)
	use, rec := x.contextLength(x.role), x.hardware.Recommendation
	switch {
	case m.SizeVRAM >= m.Size:
		return passed("It runs on the graphics card.")
	case percent >= mostly && x.sized() && use <= rec.ContextLength:
		return passed(fmt.Sprintf("%d%% of it runs on the graphics card, which is as planned for this computer.", percent))
	}
	c := &Check{Status: warn, Detail: fmt.Sprintf("Only %d%% of it runs on the graphics card; the rest runs on the processor, which is slow.", percent)}
	if percent == 0 {
		c.Detail = "It runs on the processor, which is slow."
	}
	c.Fix = "A cloud model answers faster on this computer."
	if !rec.CloudFirst {
		c.Fix = "Use " + rec.Name + " with " + thousands(rec.ContextLength) + " tokens at a time."
	}
	value := usualTokens
	if !rec.CloudFirst && rec.ContextLength > 0 && rec.ContextLength < use {
		value = rec.ContextLength
	}
	if value < use {
		c.Action = x.setContext(value)
	}
	return c
}
