package session

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"sentient/actors/msg"
	pb "sentient/proto/session"
	"sentient/storage/journal"
	"sentient/storage/memstore"
)

// checkReplay wants a chat's journal to come to what the store has, every time, and every step to be told.
func checkReplay(t *testing.T, h *house, chat string) Replayed {
	t.Helper()
	first, err := h.chats.tables.Replay(t.Context(), h.j, chat)
	if err != nil {
		t.Fatal(err)
	}
	second, err := h.chats.tables.Replay(t.Context(), h.j, chat)
	if err != nil || !reflect.DeepEqual(first, second) {
		t.Fatal("the same journal was told differently", err)
	}
	if len(first.Differs) > 0 {
		t.Fatalf("%v\n%v", first.Differs, first.Steps)
	}
	for _, s := range first.Steps {
		if s.What == "" || s.What == "unknown" || strings.Contains(s.Said, "%!") {
			t.Fatalf("%+v", s)
		}
	}
	return first
}

// A journal with a changed or lost event is told as one that does not agree with the store.
func TestReplayFindsADifference(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		s := h.send(msg.Send{Text: "One."})
		h.wait(2e9)
		h.send(msg.Send{Session: s.Session, Text: "Two."})
		h.wait(2e9)
		good := checkReplay(t, h, s.Session)
		if good.Steps[0].What != "created" || good.Steps[len(good.Steps)-1].What != "turn ended" {
			t.Fatalf("%+v", good.Steps)
		}
		events, err := h.j.History(t.Context(), stream(s.Session))
		if err != nil {
			t.Fatal(err)
		}
		differ := 0
		for i := range events {
			without := append(append([][]byte{}, events[:i]...), events[i+1:]...)
			r, err := h.chats.tables.Replay(t.Context(), changedHistory{h.j, without}, s.Session)
			if err == nil && len(r.Differs) > 0 {
				differ++
			}
		}
		if differ < len(events)/2 {
			t.Fatalf("of %d lost events %d were noticed", len(events), differ)
		}
		_, err = h.chats.tables.Replay(t.Context(), changedHistory{h.j, [][]byte{events[0], []byte("\xff\xff")}}, s.Session)
		if err == nil || !strings.Contains(err.Error(), "event 2 of this chat cannot be read") {
			t.Fatal(err)
		}
	})
}

// changedHistory is a journal whose past was tampered with.
type changedHistory struct {
	*journal.Committer
	events [][]byte
}

func (c changedHistory) History(context.Context, journal.Stream) ([][]byte, error) {
	return c.events, nil
}

// FuzzReplay: whatever bytes stand for an event, it is told or refused, never a panic.
func FuzzReplay(f *testing.F) {
	for _, e := range []*pb.Event{{Kind: &pb.Event_Added{Added: &pb.Added{Id: "x", Role: "tool"}}}, {Kind: &pb.Event_TurnEnded{TurnEnded: &pb.TurnEnded{How: "done"}}},
		{Kind: &pb.Event_UndoClosed{UndoClosed: &pb.UndoClosed{Action: "time"}}}, {Kind: &pb.Event_Changed{Changed: &pb.Changed{Untrusted: proto.String("a page")}}}} {
		b, _ := proto.Marshal(e)
		f.Add(b, b)
	}
	j, err := journal.Open(context.Background(), journal.Options{Disk: memstore.New(), Memory: memstore.New(), Deliver: func([]journal.Entry) {}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = j.Close(context.Background()) })
	tables := NewTables()
	f.Fuzz(func(t *testing.T, a, b []byte) {
		r, err := tables.Replay(context.Background(), changedHistory{j, [][]byte{a, b, a}}, strings.Repeat("A", idLen))
		if err == nil && len(r.Steps) != 3 {
			t.Fatalf("%+v", r)
		}
	})
}
