package session

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oklog/ulid/v2"

	"sentient/actors/msg"
	"sentient/storage/journal"
)

// killer lets the first n appends through; then the engine is dead to the store.
type killer struct {
	journal.Journal
	mu     sync.Mutex
	left   int
	killed bool
}

func (k *killer) Append(ctx context.Context, a journal.Append) (journal.Receipt, error) {
	if k.dead() {
		return journal.Receipt{}, journal.ErrClosed
	}
	return k.Journal.Append(ctx, a)
}

func (k *killer) dead() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.left == 0 {
		k.killed = true
		return true
	}
	k.left--
	return false
}

// isDead says whether the engine met its end.
func (k *killer) isDead() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.killed
}

// after lets n more appends through; none end it when n is below zero.
func (k *killer) after(n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.left = n
}

// now ends it at once, as a kill does.
func (k *killer) now() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.left, k.killed = 0, true
}

func (k *killer) Checkpoint(s journal.Stream, b []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.killed {
		k.Journal.Checkpoint(s, b)
	}
}

// TestKillAtEveryWrite kills the engine at each write of a turn that looks something up, changes something, is steered and
// answers; then starts it again. Whatever the moment: what was acknowledged is there, nothing ran twice, every call has a
// result that is honest, the turn ended once, and the chat goes on.
func TestKillAtEveryWrite(t *testing.T) { atEveryWrite(t, 6, func(*house) {}, killed) }

// atEveryWrite plays a scenario again and again, each time with the store gone at one write later, until it comes to its end; that
// must take at least so many writes.
func atEveryWrite(t *testing.T, least int, with func(*house), scenario func(*testing.T, *house, *killer) (finished bool)) {
	for n := 1; ; n++ {
		finished := false
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t)
				with(h)
				k := &killer{left: n}
				h.wrap = func(j journal.Journal) journal.Journal { k.Journal = j; return k }
				h.open()
				finished = scenario(t, h, k)
				h.close()
				time.Sleep(2 * time.Second)
			})
		})
		if finished || t.Failed() {
			if n < least {
				t.Fatalf("only %d writes: the scenario proves too little", n)
			}
			return
		}
	}
}

func killed(t *testing.T, h *house, k *killer) (finished bool) {
	h.models.next(calls(toolCall("c1", "look", "{}")), calls(toolCall("c2", "note_write", "{}")), say("All done, as you said."), say("Next."))
	id := ulid.Make().String()
	var acked []string
	try := func(m msg.Send) {
		m.Session = id
		if _, err := h.chats.Send(t.Context(), m); err == nil {
			acked = append(acked, m.Text)
		}
	}
	try(msg.Send{Text: "Look and write.", New: true})
	time.Sleep(500 * time.Millisecond)
	try(msg.Send{Text: "In French."})
	time.Sleep(1100 * time.Millisecond)
	try(msg.Send{Text: "With a file.", Attachments: []string{"f.txt"}})
	time.Sleep(5 * time.Second)
	synctest.Wait()
	finished = !k.killed
	k.left = -1
	h.wrap = nil
	h.models.next(say("Next."))
	h.restart()
	time.Sleep(3 * time.Second)
	synctest.Wait()

	checkAfterKill(t, h, id, acked)
	before := h.transcript(id)
	h.send(msg.Send{Session: id, Text: "Go on."})
	time.Sleep(time.Second)
	synctest.Wait()
	if got := h.transcript(id); got != before+"user: Go on.\nassistant: Next.\n" {
		t.Fatalf("the chat does not go on:\n%s", got)
	}
	checkRequest(t, h.models.asked()[len(h.models.asked())-1])
	return finished
}

func checkAfterKill(t *testing.T, h *house, id string, acked []string) {
	t.Helper()
	text := h.transcript(id)
	at := 0
	for _, a := range acked {
		i := strings.Index(text[at:], "user: "+a)
		if i < 0 {
			t.Fatalf("the acknowledged message %q is not in its place:\n%s", a, text)
		}
		at += i
	}
	begun := map[string]int{}
	for _, r := range *h.ran {
		begun[r]++
	}
	if begun["note_write begins"] > 1 || begun["look begins"] > 1 {
		t.Fatalf("a call ran twice: %v", *h.ran)
	}
	open := map[string]bool{}
	for _, r := range h.rows(id) {
		for _, c := range r.ToolCalls {
			open[c.ID] = true
		}
		if r.ToolCallID != nil {
			if !open[*r.ToolCallID] {
				t.Fatalf("a result without its call:\n%s", text)
			}
			delete(open, *r.ToolCallID)
		}
	}
	if len(open) > 0 {
		t.Fatalf("calls without a result: %v\n%s", open, text)
	}
	if begun["note_write begins"] == 1 && !strings.Contains(text, `{"ok":true}`) && !strings.Contains(text, "not known whether it went through") {
		t.Fatalf("a change that may have happened is not told:\n%s", text)
	}
	started, ended := map[string]int{}, map[string]int{}
	r, err := h.j.Read()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for e, err := range r.Log(0) {
		if err != nil {
			t.Fatal(err)
		}
		b, ok := h.chats.Render(r, e)
		if !ok {
			continue
		}
		switch {
		case strings.HasPrefix(string(b), `{"type":"session",`):
			started[turnOf(b)]++
		case strings.HasPrefix(string(b), `{"type":"done",`):
			ended[turnOf(b)]++
		}
	}
	for turn, n := range started {
		if n != 1 || ended[turn] != 1 {
			t.Fatalf("turn %s began %d times and ended %d times:\n%s", turn, n, ended[turn], text)
		}
	}
}

func turnOf(b []byte) string {
	_, rest, _ := strings.Cut(string(b), `"turn_id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	return id
}

// checkRequest: a conversation that every provider accepts.
func checkRequest(t *testing.T, r msg.ModelRequest) {
	t.Helper()
	open := map[string]bool{}
	for _, m := range r.Messages {
		if m.Role == "tool" {
			if !open[m.ToolCallID] {
				t.Fatalf("a result without its call: %+v", r.Messages)
			}
			delete(open, m.ToolCallID)
			continue
		}
		if len(open) > 0 {
			t.Fatalf("calls without results: %v", open)
		}
		for _, c := range m.ToolCalls {
			open[c.ID] = true
		}
	}
}

// DECISIONS 29: a reply cut by the engine's end is kept with what was checkpointed and its mark, and nothing runs again.
func TestInterruptedReply(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.models.next(say(strings.Repeat("word ", 500)))
		s := h.send(msg.Send{Text: "Talk."})
		h.wait(3500 * time.Millisecond)
		asked := len(h.models.asked())
		h.restart()
		h.wait(time.Second)
		rows := h.rows(s.Session)
		last := rows[len(rows)-1]
		if n := strings.Count(last.Content, "word "); n < 90 || n > 175 || !strings.HasSuffix(last.Content, "\n\n(interrupted)") {
			t.Fatalf("%d words kept: %.60q", n, last.Content)
		}
		if d := h.last("done"); d["cancelled"] != true || d["message_id"] != last.ID {
			t.Fatalf("%v", d)
		}
		if len(h.models.asked()) != asked {
			t.Fatal("the model was asked again")
		}
		// A second start finds nothing to settle.
		h.restart()
		if got := len(h.rows(s.Session)); got != len(rows) {
			t.Fatal("settled twice")
		}
	})
}

// A pending approval becomes a no when the engine ends.
func TestApprovalAcrossARestart(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.models.next(calls(toolCall("c1", "mail_send", `{"to":"x"}`)), say("ok"))
		s := h.send(msg.Send{Text: "Send."})
		h.wait(time.Second)
		id := h.last("approval_request")["approval_id"].(string)
		h.restart()
		h.wait(time.Second)
		if _, err := h.chats.Answer(t.Context(), id, "allow", ""); err != msg.ErrNoApproval {
			t.Fatal(err)
		}
		if len(*h.ran) != 0 || !strings.Contains(h.transcript(s.Session), "Sentient stopped before this finished") {
			t.Fatal(*h.ran, h.transcript(s.Session))
		}
	})
}

// TestSleepIsInvisible runs the same conversation with and without naps between the messages: the same transcript.
func TestSleepIsInvisible(t *testing.T) {
	run := func(nap time.Duration, restart bool) (text string) {
		inHouse(t, func(t *testing.T, h *house) {
			h.models.next(calls(toolCall("c1", "look", "{}")), say("One."), say("Two."), calls(toolCall("c2", "note_write", "{}")), say("Three."))
			s := h.send(msg.Send{Text: "a"})
			for _, m := range []string{"b", "c"} {
				h.wait(5*time.Second + nap)
				if restart {
					h.restart()
				}
				h.send(msg.Send{Session: s.Session, Text: m})
			}
			h.wait(10 * time.Second)
			text = h.transcript(s.Session)
			if h.wait(time.Hour); h.chats.Live() != 0 {
				t.Error("a chat without work does not sleep")
			}
		})
		return text
	}
	plain := run(0, false)
	if !strings.HasSuffix(plain, "assistant: Three.\n") {
		t.Fatal(plain)
	}
	if got := run(10*time.Minute, false); got != plain {
		t.Errorf("after a sleep:\n%s\nwithout:\n%s", got, plain)
	}
	if got := run(0, true); got != plain {
		t.Errorf("after restarts:\n%s\nwithout:\n%s", got, plain)
	}
}

// An orderly end of the engine is nobody's stop: the reply is cut like by a kill, a call says honestly that it is not known
// what came of it, and every message that was acknowledged and waits is answered by the next engine.
func TestTheEnginesEndIsNotAStop(t *testing.T) {
	for name, first := range map[string]script{"writing": say(strings.Repeat("word ", 500)), "acting": calls(toolCall("c1", "note_write", "{}"))} {
		t.Run(name, func(t *testing.T) {
			inHouse(t, func(t *testing.T, h *house) {
				h.models.next(first, say("Answered."))
				s := h.send(msg.Send{Text: "Talk."})
				h.wait(500 * time.Millisecond)
				h.send(msg.Send{Session: s.Session, Text: "A steer."})
				h.send(msg.Send{Session: s.Session, Text: "A file.", Attachments: []string{"f.txt"}})
				h.send(msg.Send{Session: s.Session, Text: "Behind it."})
				h.close()
				h.store = h.store.Reopen()
				h.open()
				h.wait(20 * time.Second)
				text := h.transcript(s.Session)
				if strings.Contains(text, "(stopped)") || strings.Count(text, "(interrupted)") != 1 || name == "acting" && !strings.Contains(text, "not known whether") {
					t.Errorf("%.900s", text)
				}
				want := "(interrupted)\nuser: A steer.\nassistant: Answered.\nuser: A file.\nassistant: Answered.\nuser: Behind it.\nassistant: Answered.\n"
				if got := strings.ReplaceAll(text, "user: A file.\nuser: Behind it.\n", "user: A file.\nassistant: Answered.\nuser: Behind it.\n"); !strings.HasSuffix(got, want) {
					t.Errorf("acknowledged messages were not answered:\n%.900s", text)
				}
			})
		})
	}
}

// A turn that was cut before a word came is not run again, and the person sees that it was cut.
func TestCutBeforeTheFirstWord(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		k := &killer{left: 1}
		h.close()
		h.store = h.store.Reopen()
		h.wrap = func(j journal.Journal) journal.Journal { k.Journal = j; return k }
		h.open()
		s := h.send(msg.Send{Text: "Hello?"})
		h.wait(time.Second)
		h.wrap = nil
		asked := len(h.models.asked())
		h.restart()
		h.wait(time.Second)
		if got := h.transcript(s.Session); got != "user: Hello?\nassistant: (interrupted)\n" || h.last("done")["turn_id"] != s.Turn || len(h.models.asked()) != asked {
			t.Fatal(got)
		}
	})
}
