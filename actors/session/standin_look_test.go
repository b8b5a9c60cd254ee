package session

import (
	"slices"
	"testing"
	"time"

	"sentient/actors/msg"
	"sentient/runtime/app"
)

// with only Claude Code as the fast model, no model that stands in for it is asked inside a reply: the second look asks
// Claude Code, the check of a rule the chat's own model.
func TestNoStandInsInsideAReply(t *testing.T) {
	withRules(t, func(t *testing.T, h *house, _ *fakeConsent) {
		planner := "p/plan"
		h.set(func(c *app.Config) {
			c.Models.Roles.Fast, c.Models.Roles.Planner, c.Models.ExperimentalClaudeCode = "claude-code/haiku", &planner, true
			c.Models.Fallbacks = map[string][]string{"primary": {"b/back"}}
			c.Tools.Approvals.Mode = "off"
		})
		h.models.next(calls(toolCall("c1", "social_post", `{"text":"hi"}`)), say("ok"))
		h.send(msg.Send{Text: "Post hi. And never delete my emails."})
		h.wait(3 * time.Second)
		var asked []string
		for _, r := range h.models.checks {
			asked = append(asked, r.Role+" "+r.Model+" "+r.Job)
		}
		if want := []string{"primary " + RoleModel(h.cfg, "primary") + " chat", "fast claude-code/haiku chat"}; !slices.Equal(asked, want) {
			t.Errorf("%q", asked)
		}
	})
}

// a chat's own model, and a message's, win over the roles that a preset sets.
func TestAPresetLeavesAChatsOwnModel(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		s := h.send(msg.Send{Text: "1"})
		h.wait(time.Second)
		own := "x/own"
		if _, err := h.chats.Patch(t.Context(), s.Session, msg.ChatPatch{Model: &own}); err != nil {
			t.Fatal(err)
		}
		h.set(func(c *app.Config) { c.Models.Roles.Primary = "preset/model" })
		h.send(msg.Send{Session: s.Session, Text: "2"})
		h.wait(time.Second)
		h.send(msg.Send{Session: s.Session, Text: "3", Model: "m/message"})
		h.wait(time.Second)
		h.send(msg.Send{Text: "another chat"})
		h.wait(time.Second)
		var asked []string
		for _, r := range h.models.asked()[1:] {
			asked = append(asked, r.Model)
		}
		if !slices.Equal(asked, []string{"x/own", "m/message", "preset/model"}) {
			t.Errorf("%q", asked)
		}
	})
}
