// Package claudecode owns the rules of the person's own Claude Code: which roles and jobs may use it, what a refusal says, who
// stands in for it in the fast role, and where roles go when it is taken back. It is pure: configuration in, answers out.
package claudecode

import (
	"fmt"
	"slices"
	"strings"

	"sentient/actors/msg"
	"sentient/runtime/app"
)

const (
	provider = "claude-code/"
	// FastModel is what the window sets for the fast role when Claude Code does everything.
	FastModel = provider + "haiku"

	jobChat = "chat"
	jobTest = "test" // POST /api/models/test
)

// Models are the models to offer.
func Models() []string { return []string{provider + "sonnet", provider + "opus"} }

// roles in the order in which they are told.
var roles = []string{"primary", "fast", "planner", "executor", "embedding", "vision", "voice"}

// Is reports whether a model is Claude Code's.
func Is(model string) bool { return strings.HasPrefix(model, provider) }

// Everywhere reports whether Claude Code does everything: both switches are on.
func Everywhere(m *app.Models) bool { return m.ExperimentalClaudeCode && m.ClaudeCodeEverywhere }

// Accepting are the roles that may use Claude Code with this configuration: the ones that answer chats, or every role but
// embedding when it does everything.
func Accepting(m *app.Models) []string {
	if !Everywhere(m) {
		return []string{"primary", "voice", "vision"}
	}
	return slices.DeleteFunc(slices.Clone(roles), func(r string) bool { return r == "embedding" })
}

func accepts(m *app.Models, role string) bool { return slices.Contains(Accepting(m), role) }

const only = "Claude Code only answers your chats, so it can't "

// RoleRefusal is the sentence for a role that can't use Claude Code.
func RoleRefusal(role string) string {
	switch role {
	case "planner":
		return only + "plan tasks. Pick a planner model in Settings > Models."
	case "executor":
		return only + "work on tasks. Pick an executor model in Settings > Models."
	case "fast":
		return only + "do background work. Pick a fast model in Settings > Models."
	case "embedding":
		return "Claude Code has no embedding models, so it can't search your memory. Pick another embedding model in Settings > Models."
	}
	return only + "do this. Pick another model in Settings > Models."
}

// Refusal says why a call of that role and job may not use Claude Code, "" when it may: only a chat reply, with what it
// waits for, and POST /api/models/test.
func Refusal(m *app.Models, role, job string) string {
	switch {
	case role == "embedding":
		return RoleRefusal(role)
	case Everywhere(m), job == jobTest:
		return ""
	case job == jobChat && role != "planner" && role != "executor":
		return ""
	case role == "primary" || role == "voice" || role == "vision" || role == "":
		return only + "do this in the background. Pick another model in Settings > Models."
	}
	return RoleRefusal(role)
}

// RefuseRoles says why these roles may not get these models, "" when they may. A nil model means the main one.
func RefuseRoles(m *app.Models, change map[string]*string) string {
	for _, role := range roles {
		if model := change[role]; model != nil && Is(*model) && !accepts(m, role) {
			return RoleRefusal(role)
		}
	}
	return ""
}

// own is the model set for a role, "" when it uses the main one.
func own(r *app.Roles, role string) string {
	p := map[string]*string{"primary": &r.Primary, "fast": &r.Fast, "planner": r.Planner, "executor": r.Executor, "embedding": &r.Embedding, "vision": r.Vision, "voice": r.Voice}[role]
	if p == nil {
		return ""
	}
	return *p
}

func used(r *app.Roles, role string) string {
	if m := own(r, role); m != "" {
		return m
	}
	return r.Primary
}

// Fast are the models that do the fast role's jobs, in order. When all of the role's own are Claude Code and it doesn't do
// everything, the other models that are set up stand in: the main role's fallbacks, the executor, the planner, the main model
// . Standing says so; without any the role's own stay, and their refusal stands.
func Fast(m *app.Models) (models []string, standing bool) {
	models = append([]string{used(&m.Roles, "fast")}, m.Fallbacks["fast"]...)
	if Everywhere(m) || slices.ContainsFunc(models, func(s string) bool { return !Is(s) }) {
		return models, false
	}
	if others := StandIns(m); len(others) > 0 {
		return others, true
	}
	return models, false
}

// StandIns are the models set up that aren't Claude Code, in the order in which they stand in for the fast role.
func StandIns(m *app.Models) []string {
	var list []string
	for _, model := range append(slices.Clone(m.Fallbacks["primary"]), own(&m.Roles, "executor"), own(&m.Roles, "planner"), m.Roles.Primary) {
		if model != "" && !Is(model) && !slices.Contains(list, model) {
			list = append(list, model)
		}
	}
	return list
}

// StandingText is the line of the log when others do the fast model's jobs.
func StandingText(fast string, models []string) string {
	return fmt.Sprintf("the fast model %s can't do background work, so %s does its jobs", fast, strings.Join(models, ", then "))
}

// Move is a role that went back from Claude Code. To is nil when the role has no other model and stays.
type Move struct {
	Role  string  `json:"role"`
	Model string  `json:"model"`
	To    *string `json:"to"`
}

// MoveBack gives the configuration to save instead of next when Claude Code stops doing everything: each role on it that
// no longer accepts it, by its own model or by the main model it uses, gets its first model that isn't Claude Code. It is next
// itself when nothing moves.
func MoveBack(now, next *app.Config) (*app.Config, []Move) {
	if !Everywhere(&now.Models) || Everywhere(&next.Models) {
		return next, nil
	}
	out := next.Clone()
	var moves []Move
	for _, role := range roles {
		model := used(&next.Models.Roles, role)
		if !Is(model) || accepts(&next.Models, role) || role == "embedding" {
			continue
		}
		move := Move{Role: role, Model: model}
		if to := firstOther(&next.Models, role); to != "" {
			move.To = &to
			set(&out.Models.Roles, role, to)
		}
		moves = append(moves, move)
	}
	return out, moves
}

func firstOther(m *app.Models, role string) string {
	for _, model := range slices.Concat(m.Fallbacks[role], m.Fallbacks["primary"], []string{m.Roles.Fast, m.Roles.Primary}) {
		if model != "" && !Is(model) {
			return model
		}
	}
	return ""
}

func set(r *app.Roles, role, model string) {
	switch role {
	case "primary":
		r.Primary = model
	case "fast":
		r.Fast = model
	case "planner":
		r.Planner = &model
	case "executor":
		r.Executor = &model
	case "vision":
		r.Vision = &model
	case "voice":
		r.Voice = &model
	}
}

// Notice says what moved. Name gives a model its plain name; marshal its JSON.
func Notice(next *app.Config, moves []Move, name func(string) string, marshal func(any) []byte) msg.Notification {
	n := msg.Notification{Kind: "info", Title: "Claude Code is back to chats only"}
	if !next.Models.ExperimentalClaudeCode {
		n.Title = "Claude Code is turned off"
	}
	var lines []string
	for _, m := range moves {
		if m.To == nil {
			lines = append(lines, fmt.Sprintf("- %s has no other model, so its work is refused until you pick one in Settings > Models.", title(m.Role)))
			continue
		}
		lines = append(lines, fmt.Sprintf("- %s uses %s instead of %s now.", title(m.Role), name(*m.To), name(m.Model)))
	}
	if len(lines) == 0 {
		lines = []string{"No role had to change its model."}
	}
	n.Message = strings.Join(lines, "\n")
	if moves == nil {
		moves = []Move{}
	}
	n.Payload = marshal(map[string]any{"kind": "claude_code_roles", "moved": moves})
	return n
}

func title(role string) string { return strings.ToUpper(role[:1]) + role[1:] }
