package main

import (
	"encoding/json"
	"strings"
	"testing"

	"sentient/transport/llm/llmtest"
)

// A chat that asked, acted, was stopped and killed is told step by step, with who decided what and why; twice the same; and it
// agrees with the store. Without text no word of anybody is in it.
func TestReplay(t *testing.T) {
	model := scripted(t, llmtest.Options{Script: doing(looksGood, "{}", once("mail_send", lunch))})
	home := newHome(t, model, "")
	p := startInAWorld(t, home)
	w := p.dial("")
	w.send(map[string]any{"type": "chat.send", "text": "Email priya@example.com that Friday at 1 works"})
	ask := w.next("approval_request")
	id := ask["session_id"].(string)
	w.decide(ask, "allow")
	w.next("undo_window")
	say := func(args ...string) string { out, _ := command(home, args...).CombinedOutput(); return string(out) }
	if got := say("replay", id); !strings.Contains(got, "the engine runs (process ") || !strings.Contains(got, "Stop it") {
		t.Fatal(got)
	}
	p.kill()
	p = start(t, home)
	p.stop()

	got := say("replay", id)
	at := 0
	for _, want := range []string{"created", "message", `"Email priya@example.com that Friday at 1 works"`, "turn started", "model called", "round 1", "answer", "calls mail_send", "asked", "answered", "allow",
		"undo window opened", "undo window closed", "the reply was stopped", "result", "error", "turn ended", "interrupted"} {
		i := strings.Index(got[at:], want)
		if i < 0 {
			t.Fatalf("no %q after %q in\n%s", want, got[:at], got)
		}
		at += i
	}
	if again := say("replay", id); again != got {
		t.Fatal("the same journal was told differently")
	}
	if byTitle := say("replay", "email PRIYA"); byTitle != got {
		t.Fatal(byTitle)
	}
	if bare := say("replay", "--no-text", id); strings.Contains(bare, "Friday") || strings.Contains(bare, "priya") || strings.Count(bare, "\n") != strings.Count(got, "\n") {
		t.Fatal(bare)
	}
	for i, line := range strings.Split(strings.TrimSpace(say("replay", "--json", id)), "\n") {
		var s struct{ Version int }
		if json.Unmarshal([]byte(line), &s) != nil || s.Version != i+1 {
			t.Fatal(line)
		}
	}
	if got := say("replay", "nothing like it"); !strings.Contains(got, "no chat has this id") {
		t.Fatal(got)
	}
}
