package session

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"sentient/actors/msg"
	"sentient/runtime/app"
	"sentient/transport/pretend"
)

func withRules(t *testing.T, fn func(*testing.T, *house, *fakeConsent)) {
	t.Helper()
	f := &fakeConsent{}
	inHouseWith(t, func(h *house) {
		h.consent, f.h = f, h
		h.world = pretend.New(pretend.Demo(), "")
		h.setRules(map[string]string{"mail": "allow"})
		h.models.rules = answers(`{"keys": ["mail_delete", "mail_trash"], "rule": "never"}`)
	}, func(t *testing.T, h *house) { fn(t, h, f) })
}

const neverDelete = "Never delete my emails. What's new?"

func (h *house) proposals(session, status string) []msg.RuleProposal {
	h.t.Helper()
	list, err := h.chats.Proposals(session, status)
	if err != nil {
		h.t.Fatal(err)
	}
	return list
}

// words become a proposal before the reply; until it is answered its
// tools ask, also after a restart; only the person's click makes the rule, and it is answered once.
func TestRuleFromChat(t *testing.T) {
	withRules(t, func(t *testing.T, h *house, f *fakeConsent) {
		s := h.send(msg.Send{Text: neverDelete})
		h.wait(time.Second)
		d := h.last("rule_proposal.updated")["data"].(map[string]any)
		if d["rule"] != "never" || d["said"] != "Never delete my emails" || d["status"] != "pending" || d["session_id"] != s.Session || d["message_id"] != s.MessageID || d["decided_at"] != nil {
			t.Fatalf("%v", d)
		}
		if target := d["targets"].([]any)[0].(map[string]any); target["label"] != "Mail > Delete" || target["app"] != "Mail" || target["tool"] != "Delete" || target["key"] != "mail_delete" {
			t.Fatalf("%v", d)
		}
		if len(f.kept) != 0 || len(h.models.checks) != 1 || h.models.checks[0].Role != "fast" || len(h.models.checks[0].Tools) != 0 {
			t.Fatal(f.kept, h.models.checks)
		}
		h.restart()
		h.models.next(calls(toolCall("c1", "mail_trash", `{"id":"m1"}`)), say("ok"))
		h.send(msg.Send{Session: s.Session, Text: "Clean up."})
		h.wait(2 * time.Second)
		if h.count("approval_request") != 1 { // under an Allow rule
			t.Fatal(h.kinds())
		}
		_ = h.answer("allow_session")
		h.models.next(calls(toolCall("c2", "mail_trash", `{"id":"m2"}`)), say("ok"))
		h.send(msg.Send{Session: s.Session, Text: "And the other."})
		h.wait(2 * time.Second)
		if h.count("approval_request") != 2 { // after Allow for this chat
			t.Fatal(h.kinds())
		}
		_ = h.answer("deny")
		h.models.next(calls(toolCall("c3", "mail_send", mailToPriya)), say("ok")) // not of its tools
		h.set(func(c *app.Config) { c.Tools.Approvals.SecondLookModel = false })
		h.send(msg.Send{Session: s.Session, Text: "Email priya@example.com."})
		h.wait(2 * time.Second)
		if h.count("approval_request") != 2 {
			t.Fatal(h.kinds())
		}
		p := h.proposals(s.Session, "pending")
		if len(p) != 1 || len(h.proposals(s.Session, "all")) != 1 || len(h.proposals(s.Session, "declined")) != 0 {
			t.Fatalf("%+v", p)
		}
		got, err := h.chats.Decide(t.Context(), p[0].ID, true)
		if err != nil || got.Status != "accepted" || got.DecidedAt == nil || strings.Join(f.kept, ",") != "never mail_delete mail_trash" {
			t.Fatalf("%+v %v %v", got, err, f.kept)
		}
		h.wait(0)
		if d := h.last("rule_proposal.updated")["data"].(map[string]any); d["status"] != "accepted" {
			t.Fatalf("%v", d)
		}
		for _, again := range []bool{true, false} {
			if _, err := h.chats.Decide(t.Context(), p[0].ID, again); !errors.Is(err, errDecided) {
				t.Fatal(err)
			}
		}
		if _, err := h.chats.Decide(t.Context(), "none", true); !errors.Is(err, errNoProposal) {
			t.Fatal(err)
		}
	})
}

// declining saves nothing and ends the chat's extra asking. Rules that cannot be saved leave the card.
func TestDeclineAndFail(t *testing.T) {
	withRules(t, func(t *testing.T, h *house, f *fakeConsent) {
		s := h.send(msg.Send{Text: neverDelete})
		h.wait(time.Second)
		p := h.proposals(s.Session, "pending")[0]
		f.fails = msg.ErrDiskFull
		if _, err := h.chats.Decide(t.Context(), p.ID, true); err == nil || len(h.proposals(s.Session, "pending")) != 1 {
			t.Fatal(err)
		}
		f.fails, f.kept = nil, nil
		if _, err := h.chats.Decide(t.Context(), p.ID, false); err != nil || len(f.kept) != 0 {
			t.Fatal(err, f.kept)
		}
		h.models.next(calls(toolCall("c1", "mail_trash", `{"id":"m1"}`)), say("ok"))
		h.send(msg.Send{Session: s.Session, Text: "Clean up."})
		h.wait(2 * time.Second)
		if h.count("approval_request") != 0 {
			t.Fatal(h.kinds())
		}
		if err := h.chats.Delete(t.Context(), s.Session); err != nil {
			t.Fatal(err)
		}
		if _, err := h.chats.Decide(t.Context(), p.ID, true); err == nil {
			t.Fatal("a proposal of a deleted chat was answered")
		}
	})
}

// the reply waits at most 20 s for a slow check; until it ends, every tool it weighs asks.
func TestSlowRuleCheck(t *testing.T) {
	withRules(t, func(t *testing.T, h *house, f *fakeConsent) {
		h.models.rules = func(ctx context.Context, r msg.ModelRequest, emit func(msg.ModelChunk) error) (msg.ModelResult, error) {
			select {
			case <-time.After(time.Minute):
				return answers(`{"keys": ["mail_trash"], "rule": "never"}`)(ctx, r, emit)
			case <-ctx.Done():
				return msg.ModelResult{}, ctx.Err()
			}
		}
		h.models.next(calls(toolCall("c1", "mail_search", `{}`)), say("ok"))
		s := h.send(msg.Send{Text: neverDelete})
		h.wait(19 * time.Second)
		if len(h.models.asked()) != 0 {
			t.Fatal("the reply did not wait")
		}
		h.wait(2 * time.Second)
		if len(h.models.asked()) != 1 || h.count("approval_request") != 1 || len(h.proposals(s.Session, "all")) != 0 {
			t.Fatal(h.kinds())
		}
		h.wait(time.Minute)
		_ = h.answer("allow")
		if len(h.proposals(s.Session, "pending")) != 1 {
			t.Fatal(h.kinds())
		}
		h.models.next(calls(toolCall("c2", "mail_read", `{"id":"m1"}`)), say("ok"))
		h.send(msg.Send{Session: s.Session, Text: "Read it."})
		h.wait(2 * time.Second)
		if h.count("approval_request") != 1 {
			t.Fatal("a tool that was only weighed still asks:", h.kinds())
		}
	})
}

// a check that the engine's end cut is made again: what was said once is not lost.
func TestRuleCheckOverARestart(t *testing.T) {
	withRules(t, func(t *testing.T, h *house, f *fakeConsent) {
		good := h.models.rules
		h.models.rules = func(ctx context.Context, _ msg.ModelRequest, _ func(msg.ModelChunk) error) (msg.ModelResult, error) {
			<-ctx.Done()
			return msg.ModelResult{}, ctx.Err()
		}
		s := h.send(msg.Send{Text: neverDelete})
		h.wait(time.Second)
		h.models.mu.Lock()
		h.models.rules = good
		h.models.mu.Unlock()
		h.restart()
		h.wait(2 * time.Second)
		if p := h.proposals(s.Session, "pending"); len(p) != 1 || p[0].Said != "Never delete my emails" {
			t.Fatalf("%+v", p)
		}
	})
}

// no model is asked about what is no rule or about no tool; in mode off only what changes something asks;
// what others wrote states no rule.
func TestWhatIsNotARule(t *testing.T) {
	for _, text := range []string{"Delete my emails.", "Never trust the weather.", "Don't delete it this time, my emails I mean.", "don't ask me before you delete emails"} {
		withRules(t, func(t *testing.T, h *house, _ *fakeConsent) {
			h.send(msg.Send{Text: text})
			h.wait(time.Second)
			if len(h.models.checks) != 0 {
				t.Errorf("%q: a model was asked", text)
			}
		})
	}
	withRules(t, func(t *testing.T, h *house, _ *fakeConsent) {
		s := h.send(msg.Send{Text: "Hi", Channel: "telegram"})
		h.wait(time.Second)
		_ = h.chats.AddOthers(t.Context(), s.Session, []Said{{"Ravi", neverDelete}})
		h.send(msg.Send{Session: s.Session, Text: neverDelete, From: "another app (API)"})
		h.wait(time.Second)
		if len(h.models.checks) != 0 {
			t.Error("others state rules")
		}
	})
	withRules(t, func(t *testing.T, h *house, _ *fakeConsent) {
		h.set(func(c *app.Config) { c.Tools.Approvals.Mode = "off" })
		h.models.rules = answers(`{"keys": ["mail_search", "mail_trash"], "rule": "ask"}`)
		s := h.send(msg.Send{Text: "Don't use my mail without asking me."})
		h.wait(time.Second)
		if len(h.proposals(s.Session, "pending")) != 1 {
			t.Fatal(h.kinds())
		}
		h.models.next(calls(toolCall("c1", "mail_search", `{}`)), calls(toolCall("c2", "mail_trash", `{"id":"m1"}`)), say("ok"))
		h.send(msg.Send{Session: s.Session, Text: "Clean up."})
		h.wait(2 * time.Second)
		if h.count("approval_request") != 1 || h.last("approval_request")["name"] != "mail_trash" {
			t.Fatal(h.kinds())
		}
	})
}

// a steer can state a rule; a fast model that gives no usable answer is followed by the chat's own.
func TestRuleInASteer(t *testing.T) {
	withRules(t, func(t *testing.T, h *house, _ *fakeConsent) {
		n := 0
		h.models.rules = func(ctx context.Context, r msg.ModelRequest, emit func(msg.ModelChunk) error) (msg.ModelResult, error) {
			if n++; n == 1 {
				return answers("I won't do that.")(ctx, r, emit)
			}
			return answers(`{"keys": ["mail_trash"], "rule": "never"}`)(ctx, r, emit)
		}
		h.cfg.Models.Roles.Fast = "p/fast"
		h.models.next(calls(toolCall("c1", "mail_search", `{}`)), say("One two three four."), say("ok"))
		s := h.send(msg.Send{Text: "What's new?"})
		h.wait(0)
		if _, err := h.chats.Steer(t.Context(), msg.Steer{Session: s.Session, Text: "And never delete my emails."}); err != nil {
			t.Fatal(err)
		}
		h.wait(3 * time.Second)
		if p := h.proposals(s.Session, "pending"); len(p) != 1 || len(h.models.checks) != 2 || h.models.checks[1].Model != RoleModel(h.cfg, "primary") {
			t.Fatalf("%+v %+v", p, h.models.checks)
		}
	})
}
