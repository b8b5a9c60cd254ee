package session

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sentient/actors/msg"
)

// TestClockJumps: a clock that is set back or forward, by a day or a year, between messages and between starts, changes nothing
// of what is in order: the list of chats, the messages of a chat, its title, and the numbers of events.
func TestClockJumps(t *testing.T) {
	const day, year = 24 * time.Hour, 365 * 24 * time.Hour
	for name, jumps := range map[string][]time.Duration{
		"back":           {0, -day, -day, -year, -2 * year},
		"forward":        {0, day, year, 2 * year},
		"there and back": {0, year, 0, -year, day, -day, 0},
		"wrong at first": {-year, 0, day, 0},
	} {
		for _, restarts := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", restarts ", restarts), func(t *testing.T) {
				inHouse(t, func(t *testing.T, h *house) { checkClock(t, h, jumps, restarts) })
			})
		}
	}
}

func checkClock(t *testing.T, h *house, jumps []time.Duration, restarts bool) {
	var order []string // of chats, the newest last
	said := map[string][]string{}
	say := func(session, text string) {
		t.Helper()
		sent, err := h.chats.Send(t.Context(), msg.Send{Session: session, New: said[session] == nil, Text: text})
		if err != nil {
			t.Fatal(err)
		}
		h.wait(time.Second)
		order = append(slices.DeleteFunc(order, func(id string) bool { return id == sent.Session }), sent.Session)
		said[sent.Session] = append(said[sent.Session], text, "Hello there.")
	}
	for n, jump := range jumps {
		h.shift.Store(int64(jump))
		if restarts {
			h.restart()
		}
		say(h.newID(), fmt.Sprint("First of ", n))
		for _, id := range []string{order[0], order[len(order)/2]} { // old chats go on
			say(id, fmt.Sprint("More at ", n))
		}
		list, err := h.chats.List(100)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range list {
			got = append(got, c.ID)
			if !strings.HasPrefix(c.Title, "First of ") || c.Title != said[c.ID][0] {
				t.Errorf("the title is %q", c.Title)
			}
			if c.UpdatedAt.Before(c.CreatedAt.Time) {
				t.Errorf("%s was changed before it was made", c.ID)
			}
		}
		slices.Reverse(got)
		if !slices.Equal(got, order) {
			t.Errorf("at jump %d (%v) the list is\n%v, not\n%v", n, jump, got, order)
		}
		for id, want := range said {
			rows, err := h.chats.Messages(id, 100)
			if err != nil {
				t.Fatal(err)
			}
			var texts []string
			for _, r := range rows {
				texts = append(texts, r.Content)
			}
			if !slices.Equal(texts, want) {
				t.Errorf("at jump %d (%v) a chat reads %q, not %q", n, jump, texts, want)
			}
		}
	}
	last := 0.0
	for _, e := range h.take() {
		if seq, _ := e["seq"].(float64); seq > 0 { // what streams has none
			if seq <= last {
				t.Errorf("number %v after %v", seq, last)
			}
			last = seq
		}
	}
	if last == 0 {
		t.Error("no event had a number")
	}
}
