package session

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"sentient/actors/agent"
	"sentient/actors/msg"
	"sentient/actors/policy"
	"sentient/actors/tool"
	"sentient/runtime/app"
	"sentient/transport/pretend"
)

// a turn without memory neither offers the memory tools nor runs them, however they are called; one with memory does both.
func TestTurnsWithoutMemory(t *testing.T) {
	for _, c := range []struct{ incognito, setting, ran bool }{{true, false, false}, {true, true, true}, {false, false, true}} {
		inHouse(t, func(t *testing.T, h *house) {
			ran := false
			reg, err := tool.New(nil, msg.Plugin{ID: "memory", DisplayName: "Memory", Tools: []msg.Tool{{Name: "memory_recall", Description: "recall what is known", Run: func(context.Context, *msg.Call) (any, error) {
				ran = true
				return "a fact", nil
			}}}})
			if err != nil {
				t.Fatal(err)
			}
			h.chats.o.Registry = func() *tool.Registry { return reg }
			h.set(func(cfg *app.Config) { cfg.Chat.IncognitoUsesMemory = c.setting })
			h.models.next(calls(toolCall("c1", "memory_recall", `{}`)), say("ok"))
			h.send(msg.Send{Text: "recall what you know", Incognito: c.incognito, Via: "window"})
			h.wait(2 * time.Second)
			if offered := len(h.models.asked()[0].Tools) > 0; offered != c.ran || ran != c.ran {
				t.Errorf("%+v: offered %v, ran %v", c, offered, ran)
			}
			if r := h.last("tool_result"); (r["is_error"] == true) != !c.ran {
				t.Errorf("%+v: %v", c, r)
			}
		})
	}
}

// work nobody asked for only looks, whatever the rules and modes allow.
func TestUnpromptedWork(t *testing.T) {
	for _, channel := range []string{"proactive", "heartbeat", "followups", "dreaming", "background"} {
		inWorld(t, func(t *testing.T, h *house) {
			h.setRules(map[string]string{"mail": "allow"})
			h.models.next(calls(toolCall("c1", "mail_search", `{}`), toolCall("c2", "mail_send", mailToPriya)), say("ok"))
			h.send(msg.Send{Text: "email priya@example.com", Channel: channel})
			h.wait(time.Minute)
			if e, _ := h.result()["error"].(string); h.effects("email") != 0 || h.count("undo_window") != 0 || !strings.HasPrefix(e, "Nobody asked for this work, so Sentient can only look things up. mail_send was not done.") {
				t.Errorf("%s: %v", channel, h.result())
			}
		})
	}
}

// Arguments that no schema would take never reach a gate, a tool or a person.
func TestHostileArguments(t *testing.T) {
	deep := strings.Repeat(`{"to":`, 200_000) + `"x"` + strings.Repeat("}", 200_000) // a million would only be too long for a window's socket
	for name, args := range map[string]string{
		"deep": deep, "deep list": `{"to":` + strings.Repeat("[", 1_000_000) + strings.Repeat("]", 1_000_000) + `,"body":"x"}`, "a list": `[]`, "a number": `{"to":7,"body":"x"}`, "more": `{"to":"a@b.example","body":"x","sudo":true}`,
		"less": `{"body":"x"}`, "twice": `{"to":"a@b.example","body":"x"}{"to":"c@d.example"}`, "nothing": ``, "null": `null`, "not text": "{\"to\":\"\xff\",\"body\":\"x\"}",
	} {
		inWorld(t, func(t *testing.T, h *house) {
			h.try("email a@b.example", "mail_send", args)
			if e, _ := h.result()["error"].(string); h.effects("email") != 0 || h.count("approval_request") != 0 || !strings.HasPrefix(e, "Invalid arguments for mail_send: ") {
				t.Errorf("%s: %.200v", name, h.result())
			}
			if h.last("done")["content"] != "Done." {
				t.Errorf("%s: %s", name, h.kinds())
			}
		})
	}
	for name, to := range map[string]string{"Cyrillic": "pr\u0456ya@example.com", "full width": "priya＠example.com priya@example.com", "a mark in it": "pri\u200bya@example.com"} {
		inWorld(t, func(t *testing.T, h *house) {
			h.try("email priya@example.com", "mail_send", fmt.Sprintf(`{"to":%q,"body":"x"}`, to))
			if name == "full width" { // which is no address, and one that was given
				return
			}
			if h.warning() == "" || h.effects("email") != 0 {
				t.Errorf("%s: %v", name, h.world.Effects())
			}
		})
	}
}

// The same action on every path that exists is one gate's: what never says is never done, whichever chat it comes from.
func TestEveryChannel(t *testing.T) {
	for _, channel := range []string{"desktop", "voice", "phone", "glasses", "telegram", "discord", "whatsapp", "api", "mcp", "background"} {
		inWorld(t, func(t *testing.T, h *house) {
			h.setRules(map[string]string{"mail": "never"})
			h.models.next(calls(toolCall("c1", "mail_send", mailToPriya)), say("ok"))
			h.send(msg.Send{Text: "email priya@example.com", Channel: channel})
			h.wait(time.Minute)
			if h.effects("email") != 0 || h.count("approval_request")+h.count("undo_window") != 0 {
				t.Errorf("%s: %s", channel, h.kinds())
			}
			for _, tools := range h.models.asked()[0].Tools {
				if strings.HasPrefix(tools.Name, "mail_") {
					t.Errorf("%s: %s is offered", channel, tools.Name)
				}
			}
		})
	}
}

// A decision with 1,000 rules and 200 grants, from the call's arguments to the ruling.
func BenchmarkDecision(b *testing.B) {
	cfg := app.Default()
	cfg.Tools.Approvals.Rules = map[string]string{}
	for i := range 1000 {
		cfg.Tools.Approvals.Rules[fmt.Sprintf("app%d_tool", i)] = "ask"
	}
	reg, err := tool.New(nil, pretend.New(pretend.Demo(), "").Plugins()...)
	if err != nil {
		b.Fatal(err)
	}
	now := time.Now()
	g := gate{reg: reg, cfg: cfg, surface: policy.Window, now: now}
	for i := range 200 {
		g.grants = append(g.grants, msg.Grant{Tool: fmt.Sprintf("app%d_tool", i), Scope: msg.GrantTimed, Risk: "send", ExpiresAt: &msg.Time{Time: now.Add(time.Hour)}})
	}
	j := &judgement{gate: g, o: &Options{}, base: msg.Call{Origin: "user", Memory: true}, ask: agent.JudgeCalls{}}
	call := toolCall("c1", "mail_send", mailToPriya)
	for b.Loop() {
		c, bad := j.consider(call)
		if bad != nil || policy.Judge(c.facts).Do != policy.Ask {
			b.Fatal(bad)
		}
	}
}
