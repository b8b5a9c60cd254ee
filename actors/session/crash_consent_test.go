package session

import (
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"sentient/actors/msg"
	"sentient/storage/journal"
	"sentient/transport/pretend"
)

// TestKillAtEveryWriteOfConsent kills the engine at each write of a turn that states a rule, asks, waits to be undone, sends and
// moves something to the trash. Whatever the moment: the email went at most once and its result never denies it; a rule that was
// stated is proposed; nothing waits that nobody can answer; the chat goes on.
func TestKillAtEveryWriteOfConsent(t *testing.T) {
	atEveryWrite(t, 10, func(h *house) {
		h.world = pretend.New(pretend.Demo(), "")
		h.cfg.Tools.Approvals.UndoSeconds = 10
		h.models.rules = answers(`{"keys": ["mail_delete"], "rule": "never"}`)
	}, consentKilled)
}

func consentKilled(t *testing.T, h *house, k *killer) (finished bool) {
	h.models.next(calls(toolCall("c1", "mail_send", mailToPriya)), calls(toolCall("c2", "notes_trash", `{"id":"n1"}`)), say("All done."))
	id := ulid.Make().String()
	_, err := h.chats.Send(t.Context(), msg.Send{Session: id, New: true, Text: "Never delete my emails. Email priya@example.com that Friday at 1 works."})
	acked := err == nil
	for range 3 { // whatever asks is allowed
		h.wait(time.Second)
		for i := len(h.events) - 1; i >= 0; i-- {
			if e := h.events[i]; e["type"] == "approval_request" {
				_, _ = h.chats.Answer(t.Context(), e["approval_id"].(string), "allow", "")
				break
			}
		}
		h.wait(11 * time.Second)
	}
	finished = !k.killed
	k.left = -1
	h.wrap = nil
	before := h.effects("email")
	h.models.next(say("Next."))
	h.restart()
	h.wait(time.Minute)
	if n := h.effects("email"); n != before || n > 1 || h.effects("trash") > 1 {
		t.Fatalf("%d emails before, %d after: %v", before, n, h.world.Effects())
	}
	if !acked {
		return finished
	}
	text := h.transcript(id)
	if before == 1 && !strings.Contains(text, `"ok":true`) && !strings.Contains(text, "not known whether it went through") {
		t.Fatalf("the email went, and the transcript does not say so:\n%s", text)
	}
	if p := h.proposals(id, "all"); len(p) != 1 {
		t.Fatalf("the rule that was stated is proposed %d times", len(p))
	}
	r, _ := h.j.Read()
	for _, name := range []string{tableApprovals, tableUndos} {
		for item, err := range r.Scan(journal.Scan{Table: name}) {
			t.Fatalf("something in %s waits for ever: %s %v", name, item.Key, err)
		}
	}
	r.Close()
	h.send(msg.Send{Session: id, Text: "Go on."})
	h.wait(time.Second)
	if got := h.transcript(id); !strings.HasSuffix(got, "user: Go on.\nassistant: Next.\n") {
		t.Fatalf("the chat does not go on:\n%s", got)
	}
	checkRequest(t, h.models.asked()[len(h.models.asked())-1])
	return finished
}
