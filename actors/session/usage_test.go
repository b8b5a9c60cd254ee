package session

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"sentient/actors/count"
	"sentient/actors/msg"
	"sentient/storage/journal"
	"sentient/storage/table"
)

// counts are the calls of the usage table and those of the log's notes, each as "source role model prompt price unkept".
func (h *house) counts() (rows, notes []string) {
	h.t.Helper()
	err := journalRead(h.j, func(r journal.Reader) error {
		for row, err := range h.chats.Tables().Usage.Scan(r, table.Query{}) {
			if err != nil {
				return err
			}
			rows = append(rows, fmt.Sprintf("%s %s %s %d", row.Source, row.Role, row.Model, row.PromptTokens))
		}
		for e, err := range r.Log(0) {
			if err != nil {
				return err
			}
			if row, ok := count.Read(e); ok {
				if row.Session != "" || e.Topic != "" {
					h.t.Errorf("a count names its chat: %v %q", row, e.Topic)
				}
				notes = append(notes, fmt.Sprintf("%s %s %s %d %d %v", row.Source, row.Role, row.Model, row.PromptTokens, row.GetCostNano(), row.Unkept))
				if body, shown := h.chats.Render(r, e); shown {
					h.t.Errorf("a client would see %s", body)
				}
			}
		}
		return nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return rows, notes
}

// paid is a reply that names its price, and then fails when err is set.
func paid(prompt int, usd msg.USD, err error) script {
	return func(ctx context.Context, _ msg.ModelRequest, emit func(msg.ModelChunk) error) (msg.ModelResult, error) {
		text := ""
		if err == nil {
			text = "Fine."
		}
		return msg.ModelResult{Text: text, Stop: "stop", Usage: msg.ModelUsage{Known: true, PromptTokens: prompt, CostUSD: &usd}}, err
	}
}

// Every call leaves its row and its note in the batch of what it was for: the reply, the title, a call that failed half-way.
func TestCallsAreCounted(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.cfg.Chat.AutoTitle = true
		h.cfg.Models.Roles.Primary, h.cfg.Models.Roles.Fast = "x/big", "x/small"
		h.cfg.Models.Fallbacks = map[string][]string{"primary": {"x/other"}}
		h.models.next(paid(7, 3, &msg.ModelError{Fault: msg.FaultCut, Message: "cut"}), paid(5, 2_000, nil), paid(4, 9, nil))
		s := h.send(msg.Send{Text: "Hello."})
		h.wait(time.Second)
		rows, notes := h.counts()
		want := []string{"chat primary x/big 7", "chat primary x/other 5", "background fast x/small 4"}
		if !slices.Equal(rows, want) {
			t.Errorf("%q", rows)
		}
		if want := []string{"chat primary x/big 7 3 false", "chat primary x/other 5 2000 false", "background fast x/small 4 9 false"}; !slices.Equal(notes, want) {
			t.Errorf("%q", notes)
		}
		if err := h.chats.Delete(t.Context(), s.Session); err != nil {
			t.Fatal(err)
		}
		if rows, notes := h.counts(); len(rows) != 3 || len(notes) != 3 {
			t.Errorf("the deleted chat took what it cost along: %q %q", rows, notes)
		}
	})
}

// A call that was stopped is charged by its provider all the same, once.
func TestStoppedCallIsCounted(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.models.next(func(ctx context.Context, _ msg.ModelRequest, emit func(msg.ModelChunk) error) (msg.ModelResult, error) {
			_ = emit(msg.ModelChunk{Text: "Hel"})
			<-ctx.Done()
			return msg.ModelResult{Text: "Hel", Usage: msg.ModelUsage{Known: true, PromptTokens: 11}}, &msg.ModelError{Fault: msg.FaultCancelled, Message: "Stopped."}
		})
		s := h.send(msg.Send{Text: "Hello."})
		h.wait(time.Second)
		if ok, err := h.chats.Cancel(t.Context(), s.Session); !ok || err != nil {
			t.Fatal(ok, err)
		}
		h.wait(time.Second)
		if rows, notes := h.counts(); len(rows) != 1 || len(notes) != 1 || rows[0] != "chat primary "+h.cfg.Models.Roles.Primary+" 11" {
			t.Errorf("%q %q", rows, notes)
		}
	})
}

// An incognito chat has no row of its own: its note asks the usage room to keep one without the chat's id.
func TestIncognitoCallIsCountedElsewhere(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.models.next(paid(5, 1, nil))
		h.send(msg.Send{Session: ulid.Make().String(), New: true, Incognito: true, Text: "Hello.", Via: "window"})
		h.wait(time.Second)
		if rows, notes := h.counts(); len(rows) != 0 || len(notes) != 1 || notes[0] != "chat primary "+h.cfg.Models.Roles.Primary+" 5 1 true" {
			t.Errorf("%q %q", rows, notes)
		}
	})
}
