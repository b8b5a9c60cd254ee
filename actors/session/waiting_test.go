package session

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sentient/actors/msg"
	"sentient/runtime/app"
)

// TestFiveWhileBusy: whatever a reply is doing, five messages that come meanwhile are five in the transcript, once and in their
// order, also when the engine is killed right after the last one was acknowledged.
func TestFiveWhileBusy(t *testing.T) {
	states := map[string]func(*house){
		"a stream": func(h *house) { h.models.next(say(strings.Repeat("word ", 40)), say("Answered.")) },
		"a tool":   func(h *house) { h.models.next(calls(toolCall("c1", "note_write", "{}")), say("Answered.")) },
		"an approval": func(h *house) {
			h.models.next(calls(toolCall("c1", "mail_send", "{}")), say("Answered."))
		},
		"an undo window": func(h *house) {
			h.set(func(c *app.Config) { c.Tools.Approvals.Mode, c.Tools.Approvals.UndoSeconds = "off", 5 })
			h.models.next(calls(toolCall("c1", "mail_send", "{}")), say("Answered."))
		},
	}
	for name, begin := range states {
		for _, killed := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", killed ", killed), func(t *testing.T) {
				inHouse(t, func(t *testing.T, h *house) {
					begin(h)
					s := h.send(msg.Send{Text: "Begin."})
					h.wait(500 * time.Millisecond)
					for n := range 5 {
						m := msg.Send{Session: s.Session, Text: fmt.Sprintf("Number %d.", n), ClientID: fmt.Sprint("k", n)}
						if n%2 == 1 {
							m.Attachments = []string{"f.txt"} // these wait for a turn of their own
						}
						h.send(m)
					}
					if killed {
						h.restart()
					}
					h.wait(time.Hour) // an approval that nobody answers ends, too
					checkFive(t, h.transcript(s.Session))
				})
			})
		}
	}
}

func checkFive(t *testing.T, text string) {
	t.Helper()
	at := 0
	for n := range 5 {
		line := fmt.Sprintf("user: Number %d.\n", n)
		i := strings.Index(text[at:], line)
		if i < 0 || strings.Count(text, line) != 1 {
			t.Fatalf("message %d is not there once and in its place:\n%s", n, text)
		}
		at += i
	}
	if !strings.HasSuffix(text, "assistant: Answered.\n") {
		t.Fatalf("the last one is not answered:\n%s", text)
	}
}

// TestTwoQuickMessages: two messages right after each other are both there and both read, the first one not less than the second.
func TestTwoQuickMessages(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		s := h.send(msg.Send{Text: "The first."})
		h.send(msg.Send{Session: s.Session, Text: "The second."})
		h.wait(time.Minute)
		text := h.transcript(s.Session)
		first, second := strings.Index(text, "user: The first.\n"), strings.Index(text, "user: The second.\n")
		if first != 0 || second < 0 || !strings.HasSuffix(text, "assistant: Hello there.\n") {
			t.Fatal(text)
		}
		asked := h.models.asked()
		var read strings.Builder
		for _, m := range asked[len(asked)-1].Messages {
			fmt.Fprintf(&read, "%+v", m)
		}
		if !strings.Contains(read.String(), "The first.") || !strings.Contains(read.String(), "The second.") {
			t.Fatalf("the model did not read both: %s", read.String())
		}
	})
}

// TestSixWaitOverAKill: six messages that were acknowledged and had not begun are answered by the next engine, each once.
func TestSixWaitOverAKill(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.models.next(say(strings.Repeat("word ", 500)), say("Answered."))
		s := h.send(msg.Send{Text: "Talk."})
		for n := range 6 {
			h.send(msg.Send{Session: s.Session, Text: fmt.Sprintf("Number %d.", n), Attachments: []string{"f.txt"}})
		}
		h.wait(500 * time.Millisecond)
		h.models.next(say("Answered."))
		h.restart()
		h.wait(time.Hour)
		var want strings.Builder
		for n := range 6 {
			fmt.Fprintf(&want, "user: Number %d.\nassistant: Answered.\n", n)
		}
		if text := h.transcript(s.Session); !strings.HasSuffix(text, "(interrupted)\n"+want.String()) {
			t.Fatal(text)
		}
	})
}
