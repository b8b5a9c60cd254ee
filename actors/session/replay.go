package session

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	pb "sentient/proto/session"
	"sentient/storage/journal"
)

// Step is one event of a chat, in words. Its number is the chat's version after it.
type Step struct {
	Version uint64    `json:"version"`
	At      time.Time `json:"at"`
	What    string    `json:"what"`           // the kind of event
	Said    string    `json:"said,omitempty"` // what happened, and why where code decided
	Text    string    `json:"text,omitempty"` // words of a person, a model or a tool
}

// Replayed is a chat rebuilt from its journal.
type Replayed struct {
	Session string
	Steps   []Step
	Differs []string // where what the events come to is not what the store holds; none when all is well
}

// Historian is a journal that still has every event.
type Historian interface {
	journal.Journal
	History(ctx context.Context, s journal.Stream) ([][]byte, error)
}

// Replay folds every event of a chat through the same code as its actor, and holds what it comes to against the snapshot and the
// rows. Errors: the journal's, or that an event cannot be read, with its version.
func (t *Tables) Replay(ctx context.Context, j Historian, session string) (Replayed, error) {
	out := Replayed{Session: session}
	events, err := j.History(ctx, stream(session))
	if err != nil {
		return out, err
	}
	r, err := j.Read()
	if err != nil {
		return out, err
	}
	defer r.Close()
	s := newState()
	for i, b := range events {
		e := &pb.Event{}
		if err := proto.Unmarshal(b, e); err != nil || e.Kind == nil {
			return out, fmt.Errorf("event %d of this chat cannot be read", i+1)
		}
		step := Step{Version: uint64(i + 1), At: time.UnixMicro(e.At).UTC()}
		step.What, step.Said, step.Text = t.tell(r, session, s, e)
		s.apply(e)
		out.Steps = append(out.Steps, step)
	}
	out.Differs, err = t.differs(ctx, j, r, session, s)
	return out, err
}

// differs compares a state that events alone built with what the store has.
func (t *Tables) differs(ctx context.Context, j journal.Journal, r journal.Reader, session string, s state) (list []string, err error) {
	l, err := j.Load(ctx, stream(session))
	if err != nil {
		return nil, err
	}
	loaded, err := restore(l.Snapshot, l.Events)
	if err != nil {
		return nil, err
	}
	if !proto.Equal(loaded.Snapshot, s.Snapshot) {
		list = append(list, "the snapshot and the events after it come to another state than all events")
	}
	row, ok, err := t.Sessions.Get(r, []byte(session))
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return append(list, "the chat is in no list"), nil
	}
	want := s.row(session)
	want.UpdatedAt, want.Order = row.UpdatedAt, row.Order // the row is only written with what it shows
	if !proto.Equal(row, want) {
		list = append(list, "the list of chats shows it otherwise")
	}
	_, ok, err = t.Messages.Get(r, []byte(session+s.LastMessage))
	if err == nil && !ok && s.Messages > 0 {
		list = append(list, "its newest message is missing")
	}
	return list, err
}

// Find gives the chat that an id or the beginning of a title means. Errors: there is none, or more than one.
func (t *Tables) Find(r journal.Reader, words string) (string, error) {
	if validID(words) {
		if _, ok, err := t.Sessions.Get(r, []byte(words)); err != nil || ok {
			return words, err
		}
	}
	chats, err := t.List(r, 0)
	if err != nil {
		return "", err
	}
	var found []string
	for _, c := range chats {
		if words != "" && strings.HasPrefix(strings.ToLower(c.Title), strings.ToLower(words)) {
			found = append(found, c.ID)
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("no chat has this id, and no chat's title begins so")
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("%d chats have a title that begins so; give the id of one: %s", len(found), strings.Join(found, ", "))
}
