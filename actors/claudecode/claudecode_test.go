package claudecode

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sentient/runtime/app"
)

func models(on, everywhere bool) *app.Models {
	return &app.Models{ExperimentalClaudeCode: on, ClaudeCodeEverywhere: everywhere, Roles: app.Roles{Primary: "claude-code/sonnet", Fast: "claude-code/haiku", Embedding: "ollama/x"}}
}

func ptr(s string) *string { return &s }

// chat roles, or all but embedding once both switches are on.
func TestAccepting(t *testing.T) {
	chats := []string{"primary", "voice", "vision"}
	for _, m := range []*app.Models{models(false, false), models(true, false), models(false, true)} {
		if got := Accepting(m); !slices.Equal(got, chats) {
			t.Errorf("%v", got)
		}
	}
	if got := Accepting(models(true, true)); !slices.Equal(got, []string{"primary", "fast", "planner", "executor", "vision", "voice"}) {
		t.Errorf("%v", got)
	}
}

// a chat reply and what it waits for, and the test of a model; everything once Claude Code does everything, but embedding.
func TestRefusal(t *testing.T) {
	chats, all := models(true, false), models(true, true)
	for _, c := range []struct {
		role, job, want string
		everywhere      bool
	}{
		{"primary", "chat", "", false}, {"voice", "chat", "", false}, {"vision", "chat", "", false}, {"fast", "chat", "", false}, {"", "chat", "", false},
		{"planner", "test", "", false}, {"fast", "test", "", false},
		{"planner", "task", "so it can't plan tasks. Pick a planner model in Settings > Models.", false},
		{"executor", "task", "so it can't work on tasks. Pick an executor model in Settings > Models.", false},
		{"executor", "chat", "Pick an executor model", false},
		{"fast", "titles", "can't do background work", false}, {"fast", "memory", "can't do background work", false},
		{"primary", "background", "in the background", false}, {"primary", "interactive", "in the background", false}, {"", "suggestions", "in the background", false},
		{"embedding", "test", "no embedding models", false}, {"embedding", "memory", "no embedding models", true},
		{"planner", "task", "", true}, {"fast", "titles", "", true}, {"primary", "background", "", true},
	} {
		m := chats
		if c.everywhere {
			m = all
		}
		got := Refusal(m, c.role, c.job)
		if c.want == "" && got != "" || !strings.Contains(got, c.want) || c.want != "" && c.role != "embedding" && !strings.HasPrefix(got, "Claude Code only answers your chats") {
			t.Errorf("%s/%s: %q", c.role, c.job, got)
		}
	}
}

// only roles that are set to Claude Code and refuse it; null means the main model and is not refused here.
func TestRefuseRoles(t *testing.T) {
	m := models(true, false)
	if got := RefuseRoles(m, map[string]*string{"primary": ptr("claude-code/opus"), "voice": ptr("claude-code/sonnet"), "planner": nil, "fast": ptr("ollama_chat/x")}); got != "" {
		t.Error(got)
	}
	for _, role := range []string{"fast", "planner", "executor", "embedding"} {
		if got := RefuseRoles(m, map[string]*string{role: ptr("claude-code/sonnet")}); got != RoleRefusal(role) {
			t.Errorf("%s: %q", role, got)
		}
	}
	all := models(true, true)
	if got := RefuseRoles(all, map[string]*string{"planner": ptr("claude-code/sonnet")}); got != "" {
		t.Error(got)
	}
	if got := RefuseRoles(all, map[string]*string{"embedding": ptr("claude-code/sonnet")}); got == "" {
		t.Error("an embedding model was taken")
	}
}

// fallbacks.primary, then executor, planner, main model; only when every fast model is Claude Code and it doesn't do everything.
func TestFast(t *testing.T) {
	m := models(true, false)
	m.Fallbacks = map[string][]string{"fast": {"claude-code/opus"}, "primary": {"claude-code/opus", "openai/a", "groq/b"}}
	m.Roles.Executor, m.Roles.Planner = ptr("openai/a"), ptr("gemini/c")
	got, standing := Fast(m)
	if !standing || !slices.Equal(got, []string{"openai/a", "groq/b", "gemini/c"}) {
		t.Errorf("%v %v", got, standing)
	}
	if text := StandingText("claude-code/haiku", got[:1]); text != "the fast model claude-code/haiku can't do background work, so openai/a does its jobs" {
		t.Error(text)
	}
	m.Roles.Primary = "xai/d"
	if got, _ := Fast(m); got[len(got)-1] != "xai/d" {
		t.Errorf("%v", got)
	}
	m.Fallbacks["fast"] = []string{"ollama_chat/x"}
	if got, standing := Fast(m); standing || !slices.Equal(got, []string{"claude-code/haiku", "ollama_chat/x"}) {
		t.Errorf("%v %v", got, standing)
	}
	if got, standing := Fast(models(true, false)); standing || !slices.Equal(got, []string{"claude-code/haiku"}) {
		t.Errorf("%v %v", got, standing)
	}
	everywhere := models(true, true)
	everywhere.Roles.Executor = ptr("openai/a")
	if got, standing := Fast(everywhere); standing || got[0] != "claude-code/haiku" {
		t.Errorf("%v %v", got, standing)
	}
}

//
func TestMoveBack(t *testing.T) {
	now := app.Default()
	now.Models = *models(true, true)
	now.Models.Roles.Planner = ptr("claude-code/opus")
	now.Models.Roles.Voice = ptr("claude-code/sonnet")
	now.Models.Fallbacks = map[string][]string{"planner": {"claude-code/sonnet", "openai/plan"}, "primary": {"groq/b"}}
	next := now.Clone()
	next.Models.ClaudeCodeEverywhere = false
	out, moves := MoveBack(now, next)
	b, _ := json.Marshal(moves)
	want := `[{"role":"fast","model":"claude-code/haiku","to":"groq/b"},{"role":"planner","model":"claude-code/opus","to":"openai/plan"},{"role":"executor","model":"claude-code/sonnet","to":"groq/b"}]`
	if string(b) != want {
		t.Errorf("%s", b)
	}
	r := out.Models.Roles
	if r.Fast != "groq/b" || *r.Planner != "openai/plan" || *r.Executor != "groq/b" || r.Primary != "claude-code/sonnet" || *r.Voice != "claude-code/sonnet" || r.Vision != nil {
		t.Errorf("%+v", r)
	}
	if next.Models.Roles.Executor != nil {
		t.Error("the configuration it was given was changed")
	}
	name := func(s string) string { return strings.ToUpper(s) }
	marshal := func(v any) []byte { b, _ := json.Marshal(v); return b }
	n := Notice(out, moves, name, marshal)
	if n.Kind != "info" || n.Title != "Claude Code is back to chats only" || string(n.Payload) != `{"kind":"claude_code_roles","moved":`+want+`}` || !strings.Contains(n.Message, "Planner uses OPENAI/PLAN instead of CLAUDE-CODE/OPUS now.") {
		t.Errorf("%+v %s", n, n.Payload)
	}
	next.Models.ExperimentalClaudeCode = false
	if n := Notice(next, nil, name, marshal); n.Title != "Claude Code is turned off" || string(n.Payload) != `{"kind":"claude_code_roles","moved":[]}` {
		t.Errorf("%+v %s", n, n.Payload)
	}
	now.Models.Fallbacks = nil
	next = now.Clone()
	next.Models.ExperimentalClaudeCode = false
	_, moves = MoveBack(now, next)
	if len(moves) != 3 || moves[0].To != nil {
		t.Errorf("%+v", moves)
	}
	if n := Notice(next, moves, name, marshal); !strings.Contains(n.Message, "Fast has no other model") {
		t.Error(n.Message)
	}
	if same, moves := MoveBack(next, now); same != now || moves != nil {
		t.Error("turning it on moves roles")
	}
}

// Whatever is set up: after a move no role that has another model is left with a Claude Code model it refuses, roles that accept it
// keep theirs, and what is told is what changed.
func TestMoveBackProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		model := rapid.SampledFrom([]string{"claude-code/sonnet", "claude-code/opus", "openai/a", "ollama_chat/b"})
		maybe := rapid.SampledFrom([]*string{nil, ptr("claude-code/opus"), ptr("groq/c")})
		list := rapid.SliceOfN(model, 0, 3)
		now := app.Default()
		now.Models = app.Models{ExperimentalClaudeCode: true, ClaudeCodeEverywhere: true,
			Roles: app.Roles{Primary: model.Draw(t, "primary"), Fast: model.Draw(t, "fast"), Planner: maybe.Draw(t, "planner"), Executor: maybe.Draw(t, "executor"),
				Embedding: "ollama/x", Vision: maybe.Draw(t, "vision"), Voice: maybe.Draw(t, "voice")},
			Fallbacks: map[string][]string{"primary": list.Draw(t, "fp"), "fast": list.Draw(t, "ff"), "planner": list.Draw(t, "fl")}}
		next := now.Clone()
		next.Models.ClaudeCodeEverywhere = false
		out, moves := MoveBack(now, next)
		for _, role := range roles {
			i := slices.IndexFunc(moves, func(m Move) bool { return m.Role == role })
			was, is := used(&now.Models.Roles, role), used(&out.Models.Roles, role)
			switch {
			case accepts(&next.Models, role), !Is(was), role == "embedding":
				if i >= 0 || was != is {
					t.Fatalf("%s moved from %s to %s", role, was, is)
				}
			case i < 0:
				t.Fatalf("%s stays on %s untold", role, was)
			case moves[i].To == nil && (is != was || len(StandIns(&next.Models)) > 0 && slices.Contains(next.Models.Fallbacks["primary"], StandIns(&next.Models)[0])):
				t.Fatalf("%s has another model", role)
			case moves[i].To != nil && (Is(is) || *moves[i].To != is):
				t.Fatalf("%s is on %s, told %s", role, is, *moves[i].To)
			}
		}
	})
}
