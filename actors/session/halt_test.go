package session

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oklog/ulid/v2"

	"sentient/actors/msg"
	"sentient/runtime/app"
	"sentient/runtime/work"
)

// stopAll stops everything and lets what follows happen.
func (h *house) stopAll() msg.StopReport {
	h.t.Helper()
	r, err := h.stop.StopAll(h.t.Context(), "desktop")
	if err != nil {
		h.t.Fatal(err)
	}
	synctest.Wait()
	h.take()
	return r
}

func (h *house) resumeAll() {
	h.t.Helper()
	if _, err := h.stop.Resume(h.t.Context(), "desktop"); err != nil {
		h.t.Fatal(err)
	}
	synctest.Wait()
}

// stuck is a model that says a little and then nothing until it is cut.
func stuck(text string) script {
	return func(ctx context.Context, _ msg.ModelRequest, emit func(msg.ModelChunk) error) (msg.ModelResult, error) {
		if text != "" {
			if err := emit(msg.ModelChunk{Text: text}); err != nil {
				return msg.ModelResult{}, err
			}
		}
		<-ctx.Done()
		return msg.ModelResult{}, &msg.ModelError{Fault: msg.FaultCancelled, Message: "cancelled"}
	}
}

// A-1078, A-1087: whatever a reply is doing, a stop ends it at once and once: its calls are cancelled, what it said is kept with
// "(stopped)", nothing of it happens later, and a late answer finds nothing. The chat works on while everything is stopped.
func TestStopDuring(t *testing.T) {
	cases := []struct {
		name  string
		set   func(*house)
		after time.Duration
		end   string // of the transcript
		jobs  int
	}{
		{"before the first token", func(h *house) { h.models.next(stuck("")) }, time.Second, "user: Please.\n", 1},
		{"a stream", func(h *house) { h.models.next(stuck("Half a ")) }, time.Second, "assistant: Half a\n\n(stopped)\n", 1},
		{"a look-up", func(h *house) { h.models.next(calls(toolCall("c1", "look", "{}")), say("no")) }, 500 * time.Millisecond, "(stopped)\n", 1},
		{"parallel look-ups", func(h *house) {
			h.models.next(calls(toolCall("c1", "look", `{"n":1}`), toolCall("c2", "look", `{"n":2}`)), say("no"))
		}, 500 * time.Millisecond, "(stopped)\n", 1},
		{"a change", func(h *house) { h.models.next(calls(toolCall("c1", "note_write", "{}")), say("no")) }, 500 * time.Millisecond, "(stopped)\n", 1},
		{"an approval", func(h *house) { h.models.next(calls(toolCall("c1", "mail_send", "{}")), say("no")) }, time.Second, "(stopped)\n", 1},
		{"an undo window", func(h *house) {
			h.set(func(c *app.Config) { c.Tools.Approvals.Mode, c.Tools.Approvals.UndoSeconds = "off", 30 })
			h.models.next(calls(toolCall("c1", "mail_send", "{}")), say("no"))
		}, time.Second, "(stopped)\n", 1},
		{"the second look", func(h *house) {
			h.models.second = stuck("")
			h.set(func(c *app.Config) { c.Tools.Approvals.Mode = "off" })
			h.models.next(calls(toolCall("c1", "mail_send", `{"to":"a@example.com"}`)), say("no"))
		}, time.Second, "(stopped)\n", 1},
		{"a title", func(h *house) {
			h.set(func(c *app.Config) { c.Chat.AutoTitle = true; c.Models.Roles.Fast = "lm_studio/small" })
			h.models.next(answers("Good."), stuck(""))
		}, time.Second, "assistant: Good.\n", 1},
		{"a rule check", func(h *house) {
			h.models.rules = stuck("")
			h.models.next(say("no"))
		}, time.Second, "without asking me first.\n", 2},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			inHouse(t, func(t *testing.T, h *house) {
				c.set(h)
				said := "Please."
				if c.name == "a rule check" {
					said = "Never send an email without asking me first."
				}
				s := h.send(msg.Send{Text: said})
				h.wait(c.after)
				begun := len(h.models.asked())
				r := h.stopAll()
				if r.Cancelled != c.jobs || len(r.NotEnded) != 0 || !r.Stopped {
					t.Errorf("%+v", r)
				}
				if running := h.work.Running(); len(running) != 0 {
					t.Errorf("still running: %v", running)
				}
				h.wait(5 * time.Minute)
				text := h.transcript(s.Session)
				if !strings.HasSuffix(text, c.end) || h.count("done") != 1 || len(h.models.asked()) != begun {
					t.Errorf("%s\n%s", text, h.kinds())
				}
				for _, ran := range *h.ran {
					if strings.HasSuffix(ran, "done") {
						t.Errorf("it went on: %v", *h.ran)
					}
				}
				if strings.Contains(text, "context") || strings.Contains(text, "resume to start") {
					t.Errorf("the engine's own words: %s", text)
				}
				if c.name == "an approval" {
					if err := h.answer("allow"); !errors.Is(err, msg.ErrNoApproval) {
						t.Error(err)
					}
				}
				h.models.next(say("Still here."))
				h.send(msg.Send{Session: s.Session, Text: "Are you there?"})
				h.wait(2 * time.Second)
				if got := h.transcript(s.Session); !strings.HasSuffix(got, "user: Are you there?\nassistant: Still here.\n") {
					t.Errorf("a chat does not work while everything is stopped:\n%s", got)
				}
				checkRequest(t, h.models.asked()[len(h.models.asked())-1])
			})
		})
	}
}

// A stop while older turns are being compressed ends that too, and nothing of it is kept.
func TestStopDuringCompression(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.set(func(c *app.Config) {
			c.Models.Roles.Fast = "lm_studio/small"
			c.Chat.CompressAfterMessages, c.Chat.HistoryWindow = 1, 1
		})
		s := h.send(msg.Send{Text: "m0"})
		for i := 1; len(h.work.Running()) == 0 || i < 3; i++ {
			if i == 40 {
				t.Fatal("nothing is compressed")
			}
			h.wait(time.Second)
			if i >= 5 { // the next model call is the summary's
				h.models.next(answers("Good."), stuck("A summ"))
			}
			h.send(msg.Send{Session: s.Session, Text: fmt.Sprint("m", i)})
			h.wait(100 * time.Millisecond)
		}
		if r := h.stopAll(); r.Cancelled != 1 || len(h.work.Running()) != 0 {
			t.Fatalf("%+v %v", r, h.work.Running())
		}
		h.models.next(answers("Still here."))
		h.send(msg.Send{Session: s.Session, Text: "And now?"})
		h.wait(time.Minute)
		if got := h.transcript(s.Session); !strings.HasSuffix(got, "user: And now?\nassistant: Still here.\n") {
			t.Fatal(got)
		}
	})
}

// A-1079: what waits is dropped and said so, with the words and the client_id; it is in no transcript, and the same message can
// be sent again.
func TestStopDropsWhatWaits(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.models.next(stuck("Once upon "))
		s := h.send(msg.Send{Text: "A story."})
		h.wait(time.Second)
		h.send(msg.Send{Session: s.Session, Text: "In French.", ClientID: "k1"})
		h.send(msg.Send{Session: s.Session, Text: "With this.", Attachments: []string{"f.txt"}, ClientID: "k2"})
		h.send(msg.Send{Session: s.Session, Text: "And that.", ClientID: "k3"})
		if r := h.stopAll(); r.Cancelled != 1 {
			t.Fatalf("%+v", r)
		}
		if got := h.transcript(s.Session); got != "user: A story.\nassistant: Once upon\n\n(stopped)\n" {
			t.Fatal(got)
		}
		var seen []string
		for _, e := range h.take() {
			if e["type"] == "error" || e["type"] == "done" {
				seen = append(seen, fmt.Sprintf("%v %v cancelled=%v dropped=%v client=%v", e["type"], e["message"], e["cancelled"], e["dropped"], e["client_id"]))
			}
		}
		want := strings.Join([]string{
			"error Stopped. Your queued message wasn't sent. cancelled=<nil> dropped=true client=k2",
			"done <nil> cancelled=true dropped=[With this.] client=k2",
			"error Stopped. Your queued message wasn't sent. cancelled=<nil> dropped=true client=k3",
			"done <nil> cancelled=true dropped=[And that.] client=k3",
			"done <nil> cancelled=true dropped=[In French.] client=<nil>"}, "\n")
		if got := strings.Join(seen, "\n"); got != want {
			t.Fatalf("%s\nwant\n%s", got, want)
		}
		turns := map[any]bool{}
		for _, e := range h.take() {
			if e["type"] == "done" {
				if turns[e["turn_id"]] || e["turn_id"] == "" {
					t.Fatal("two ends of one turn", e)
				}
				turns[e["turn_id"]] = true
			}
		}
		h.models.next(say("Yes."))
		h.send(msg.Send{Session: s.Session, Text: "And now?", ClientID: "k4"})
		h.wait(time.Second)
		if got := h.transcript(s.Session); !strings.HasSuffix(got, "user: And now?\nassistant: Yes.\n") {
			t.Fatal(got)
		}
	})
}

// A-1079: a message that was admitted before the stop and reaches its chat after it is not sent, and may be sent again.
func TestAdmittedBefore(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		s := h.send(msg.Send{Text: "Hi."})
		h.wait(time.Second)
		epoch := h.work.Epoch()
		h.stopAll()
		late := msg.Send{Session: s.Session, Text: "Late.", ClientID: "k", Epoch: epoch}
		if _, err := h.chats.Send(t.Context(), late); !errors.Is(err, msg.ErrDropped) {
			t.Fatal(err)
		}
		fresh := msg.Send{Session: ulid.Make().String(), New: true, Text: "Late too.", Epoch: epoch}
		if _, err := h.chats.Send(t.Context(), fresh); !errors.Is(err, msg.ErrDropped) || h.chats.Exists(fresh.Session) {
			t.Fatal(err)
		}
		if _, err := h.chats.Steer(t.Context(), msg.Steer{Session: s.Session, Text: "Late.", Epoch: epoch}); !errors.Is(err, msg.ErrDropped) {
			t.Fatal(err)
		}
		late.Epoch = h.work.Epoch()
		if sent, err := h.chats.Send(t.Context(), late); err != nil || sent.Repeated {
			t.Fatal(sent, err)
		}
		h.wait(time.Second)
		if got := h.transcript(s.Session); strings.Count(got, "user: Late.") != 1 {
			t.Fatal(got)
		}
	})
}

// A-1081, A-1082: what waits when the engine ends while everything is stopped is not started by the next start; Resume starts it,
// and a message that comes before waits behind it.
func TestStoppedOverARestart(t *testing.T) {
	for _, resumeFirst := range []bool{true, false} {
		inHouse(t, func(t *testing.T, h *house) {
			h.stopAll()
			h.models.next(stuck("Half "))
			s := h.send(msg.Send{Text: "One."})
			h.wait(1100 * time.Millisecond)
			h.send(msg.Send{Session: s.Session, Text: "Two.", Attachments: []string{"f.txt"}})
			h.models.next(say("Done."))
			h.restart()
			h.wait(time.Minute)
			if got := h.transcript(s.Session); got != "user: One.\nassistant: Half\n\n(interrupted)\n" {
				t.Fatal(got)
			}
			want := "user: Two.\nassistant: Done.\n"
			if resumeFirst {
				h.wait(10 * time.Minute) // the chat sleeps
				h.resumeAll()
			} else {
				h.send(msg.Send{Session: s.Session, Text: "Three."})
				want += "user: Three.\nassistant: Done.\n"
			}
			h.wait(2 * time.Second)
			if got := h.transcript(s.Session); got != "user: One.\nassistant: Half\n\n(interrupted)\n"+want {
				t.Fatalf("resume first: %v\n%s", resumeFirst, got)
			}
		})
	}
}

// A kill at each write around a stop: if the stop was acknowledged, everything stays stopped, what was before it is over and
// nothing of it is ever sent or done; if not, the chat is as after any kill. Nothing acknowledged is lost without a word.
func TestKillAtEveryWriteOfAStop(t *testing.T) {
	atEveryWrite(t, 7, func(*house) {}, killedInAStop)
}

func killedInAStop(t *testing.T, h *house, k *killer) (finished bool) {
	h.models.next(calls(toolCall("c1", "note_write", "{}")), stuck("On "))
	busy, waits := ulid.Make().String(), ulid.Make().String()
	try := func(m msg.Send) { _, _ = h.chats.Send(t.Context(), m) }
	try(msg.Send{Session: busy, Text: "Write.", New: true})
	time.Sleep(1500 * time.Millisecond)
	h.models.next(calls(toolCall("c2", "mail_send", "{}")))
	try(msg.Send{Session: waits, Text: "Mail.", New: true})
	time.Sleep(500 * time.Millisecond)
	try(msg.Send{Session: busy, Text: "Behind.", Attachments: []string{"f.txt"}})
	_, err := h.stop.StopAll(t.Context(), "tray")
	acked := err == nil
	time.Sleep(time.Second)
	synctest.Wait()
	finished = !k.killed
	k.left = -1
	h.wrap = nil
	h.models.next(say("After."))
	asked := len(h.models.asked())
	ran := len(*h.ran)
	h.restart()
	time.Sleep(time.Minute)
	synctest.Wait()
	if acked && !h.stop.State().Stopped {
		t.Fatal("an acknowledged stop is forgotten")
	}
	if acked && (len(h.models.asked()) != asked || len(*h.ran) != ran) {
		t.Fatalf("work went on after a stop: %v", *h.ran)
	}
	for _, id := range []string{busy, waits} {
		if !h.chats.Exists(id) {
			continue
		}
		text := h.transcript(id)
		if acked && strings.Contains(text, "Behind.") {
			t.Fatalf("a dropped message was sent:\n%s", text)
		}
		if acked && strings.Contains(text, "(interrupted)") {
			t.Fatalf("a stopped reply is called interrupted:\n%s", text)
		}
		checkResults(t, h, id)
	}
	h.resumeAll()
	time.Sleep(time.Minute)
	synctest.Wait()
	if acked && (len(h.models.asked()) != asked || len(*h.ran) != ran) {
		t.Fatal("Resume brought back what a stop had ended")
	}
	return finished
}

// checkResults wants a result for every call, and one open turn at most.
func checkResults(t *testing.T, h *house, id string) {
	t.Helper()
	open := map[string]bool{}
	for _, r := range h.rows(id) {
		for _, c := range r.ToolCalls {
			open[c.ID] = true
		}
		if r.ToolCallID != nil {
			delete(open, *r.ToolCallID)
		}
	}
	if len(open) > 0 {
		t.Fatalf("calls without a result:\n%s", h.transcript(id))
	}
}

// Any interleaving of messages, steers, answers, stops and resumes over many chats: after a stop nothing of before it runs, every
// turn that began ends once, and every acknowledged message is in its transcript or was said to be dropped, never both.
func TestStopsAtRandom(t *testing.T) {
	for seed := range uint64(30) {
		inHouse(t, func(t *testing.T, h *house) {
			r := rand.New(rand.NewPCG(seed, 17))
			h.models.scripts = []script{func(ctx context.Context, q msg.ModelRequest, emit func(msg.ModelChunk) error) (msg.ModelResult, error) {
				if n := len(q.Messages); n%3 == 0 && q.Messages[n-1].Role == "user" {
					return calls(toolCall("c"+ulid.Make().String(), []string{"look", "note_write", "mail_send"}[n%3], "{}"))(ctx, q, emit)
				}
				return say("Some words of an answer that takes a while.")(ctx, q, emit)
			}}
			var chats []string
			acked := map[string]string{} // text -> chat
			for i := range 60 {
				time.Sleep(time.Duration(r.IntN(400)) * time.Millisecond)
				switch k := r.IntN(10); {
				case k < 2 || len(chats) == 0:
					s := h.send(msg.Send{Text: fmt.Sprintf("m%d.", i)})
					chats = append(chats, s.Session)
					acked[fmt.Sprintf("m%d.", i)] = s.Session
				case k < 7:
					m := msg.Send{Session: chats[r.IntN(len(chats))], Text: fmt.Sprintf("m%d.", i)}
					if k == 6 {
						m.Attachments = []string{"f.txt"}
					}
					h.send(m)
					acked[m.Text] = m.Session
				case k == 7:
					_, _ = h.stop.Resume(t.Context(), "")
				default:
					if _, err := h.stop.StopAll(t.Context(), ""); err != nil {
						t.Fatal(err)
					}
					for _, s := range h.work.Running() {
						if s.Epoch < h.work.Epoch() {
							t.Fatalf("seed %d: %v runs after a stop", seed, s)
						}
					}
				}
			}
			time.Sleep(10 * time.Minute)
			synctest.Wait()
			checkAtRandom(t, h, seed, acked)
		})
	}
}

func checkAtRandom(t *testing.T, h *house, seed uint64, acked map[string]string) {
	t.Helper()
	begun, ended, dropped := map[any]int{}, map[any]int{}, map[string]int{}
	for _, e := range h.take() {
		switch e["type"] {
		case "session":
			begun[e["turn_id"]]++
		case "done":
			ended[e["turn_id"]]++
			list, _ := e["dropped"].([]any)
			for _, d := range list {
				dropped[d.(string)]++
			}
		}
	}
	for turn := range begun {
		if ended[turn] != 1 {
			t.Fatalf("seed %d: a turn ended %d times", seed, ended[turn])
		}
	}
	for text, chat := range acked {
		there := strings.Count(h.transcript(chat), "user: "+text+"\n")
		if there+dropped[text] != 1 {
			t.Fatalf("seed %d: %s is %d times in its chat and was dropped %d times\n%s", seed, text, there, dropped[text], h.transcript(chat))
		}
	}
	if running := h.work.Running(); len(running) != 0 {
		t.Fatalf("seed %d: %v", seed, running)
	}
	for _, chat := range acked {
		checkReplay(t, h, chat)
	}
}

// A run that a stop overtook between its intent and its start is not started: the epoch of its turn is too old.
func TestAStopBetweenIntentAndEffect(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.models.next(calls(toolCall("c1", "note_write", "{}")), say("no"))
		s := h.send(msg.Send{Text: "Write."})
		synctest.Wait()
		h.work.Stop(h.work.Epoch() + 1) // the kill table knows before any owner is told
		h.wait(time.Minute)
		if err := h.work.Go(t.Context(), work.Spec{ID: "x", Origin: work.User, Epoch: 1}, func(context.Context) {}); !errors.Is(err, work.ErrStaleEpoch) {
			t.Fatal(err)
		}
		if len(*h.ran) > 1 || h.count("done") != 1 {
			t.Fatal(*h.ran, h.kinds())
		}
		checkResults(t, h, s.Session)
	})
}
