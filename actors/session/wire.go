package session

import (
	"google.golang.org/protobuf/proto"

	"sentient/actors/wire"
	pb "sentient/proto/session"
	"sentient/runtime/bus"
	"sentient/storage/journal"
)

// Internal notes, never shown: they feed the search index.
const (
	NoteStored  = "message.stored"
	NoteRemoved = "message.removed"
	noteDeleted = "session.deleted"
	noteUpdated = "session.updated"
	noteGone    = "turn.gone" // a deleted chat's turn ended: told once, never again
)

// note makes a durable chat event. When ref names a row, the row holds the text and the note keeps only the reference.
func (c *change) note(typ, turn string, ref *pb.Note, f wire.Fields) {
	if ref == nil {
		ref = &pb.Note{Inline: f}
	}
	ref.Turn = turn
	data, _ := proto.Marshal(ref)
	ev := bus.Event{Topic: c.chat.id, Turn: turn, Kind: typ, Body: wire.Body(typ, c.chat.id, turn, f), Opens: typ == "session", Ends: typ == "done"}
	c.notes = append(c.notes, journal.Note{Type: typ, Topic: c.chat.id, Data: data, Live: ev})
}

// domain makes a durable domain event.
func (c *change) domain(typ string, data any) {
	topic := c.chat.id
	if typ == noteDeleted {
		topic = "" // outlives the chat
	}
	kept, shown := wire.DomainNote(typ, data, c.now)
	ev := bus.Event{Topic: topic, Kind: typ, Body: shown}
	c.notes = append(c.notes, journal.Note{Type: typ, Topic: topic, Data: kept, Live: ev})
}

// stored tells the search index about a row.
func (c *change) stored(typ, id string) {
	data, _ := proto.Marshal(&pb.Note{Message: id})
	c.notes = append(c.notes, journal.Note{Type: typ, Topic: c.chat.id, Data: data})
}

// delta is streamed text; deltas that wait together are merged.
func delta(session, turn, kind, text string) bus.Event {
	b := wire.Body(kind, session, turn, nil)
	b = append(b, `,"text":"`...)
	return bus.Event{Topic: session, Turn: turn, Kind: kind, Body: b, Text: wire.AppendEscaped(nil, text)}
}

// passing is an event that is shown but not kept.
func passing(session, turn, typ string, f wire.Fields) bus.Event {
	return bus.Event{Topic: session, Turn: turn, Kind: typ, Body: wire.Body(typ, session, turn, f)}
}
