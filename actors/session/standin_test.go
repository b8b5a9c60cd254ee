package session

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"sentient/actors/msg"
)

// with only Claude Code as the fast model, the other models that are set up write the title, in their order, and the log says
// so once.
func TestStandInsForTheFastModel(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		var log bytes.Buffer
		h.chats.o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		planner, main := "p/plan", h.cfg.Models.Roles.Primary
		h.cfg.Chat.AutoTitle = true
		h.cfg.Models.Roles.Fast, h.cfg.Models.Roles.Planner = "claude-code/haiku", &planner
		h.cfg.Models.ExperimentalClaudeCode = true
		h.cfg.Models.Fallbacks = map[string][]string{"primary": {"b/back"}}
		h.models.next(say("Fine."), fails(msg.FaultUnavailable, "down"), say("A Title"))
		h.send(msg.Send{Text: "Hello"})
		h.wait(3 * time.Second)
		h.models.next(say("Fine."), say("Another Title"))
		h.send(msg.Send{Text: "Hello again"})
		h.wait(3 * time.Second)
		var asked []string
		for _, r := range h.models.asked() {
			asked = append(asked, r.Role+" "+r.Model)
		}
		if want := []string{"primary " + main, "fast b/back", "fast p/plan", "primary " + main, "fast b/back"}; !slices.Equal(asked, want) {
			t.Errorf("%q", asked)
		}
		if n := strings.Count(log.String(), "the fast model claude-code/haiku can't do background work, so b/back, then p/plan, then "+main+" does its jobs"); n != 1 {
			t.Errorf("said %d times: %s", n, &log)
		}
	})
}
