package session

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"sentient/actors/msg"
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
)

// fields are the members of a wire event besides its type, session and turn, in JSON without the outer braces.
type fields []byte

// fieldsOf turns a struct or map into fields.
func fieldsOf(v any) fields {
	b := marshal(v)
	return b[1 : len(b)-1]
}

// marshal is JSON as it goes over the wire: no HTML escapes, and never an error for our own types.
func marshal(v any) []byte {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return []byte("{}")
	}
	return bytes.TrimRight(buf.Bytes(), "\n")
}

// body is an event without its last brace.
func body(typ, session, turn string, f fields) []byte {
	b := make([]byte, 0, 96+len(f))
	b = append(b, `{"type":"`...)
	b = append(b, typ...)
	b = append(b, '"')
	if session != "" {
		b = append(append(append(b, `,"session_id":"`...), session...), '"')
	}
	if turn != "" {
		b = append(append(append(b, `,"turn_id":"`...), turn...), '"')
	}
	if len(f) > 0 {
		b = append(append(b, ','), f...)
	}
	return b
}

// note makes a durable chat event. When ref names a row, the row holds the text and the note keeps only the reference.
func (c *change) note(typ, turn string, ref *pb.Note, f fields) {
	if ref == nil {
		ref = &pb.Note{Inline: f}
	}
	ref.Turn = turn
	data, _ := proto.Marshal(ref)
	ev := bus.Event{Topic: c.chat.id, Turn: turn, Kind: typ, Body: body(typ, c.chat.id, turn, f), Opens: typ == "session"}
	c.notes = append(c.notes, journal.Note{Type: typ, Topic: c.chat.id, Data: data, Live: ev})
}

// domain makes a durable domain event.
func (c *change) domain(typ string, data any) {
	topic := c.chat.id
	if typ == noteDeleted {
		topic = "" // outlives the chat
	}
	f := fieldsOf(struct {
		Data any      `json:"data"`
		TS   msg.Time `json:"ts"`
	}{data, msg.Time{Time: c.now}})
	kept, _ := proto.Marshal(&pb.Note{Inline: f})
	ev := bus.Event{Topic: topic, Kind: typ, Body: body(typ, "", "", f)}
	c.notes = append(c.notes, journal.Note{Type: typ, Topic: topic, Data: kept, Live: ev})
}

// stored tells the search index about a row.
func (c *change) stored(typ, id string) {
	data, _ := proto.Marshal(&pb.Note{Message: id})
	c.notes = append(c.notes, journal.Note{Type: typ, Topic: c.chat.id, Data: data})
}

// delta is streamed text; deltas that wait together are merged.
func delta(session, turn, kind, text string) bus.Event {
	b := body(kind, session, turn, nil)
	b = append(b, `,"text":"`...)
	return bus.Event{Topic: session, Turn: turn, Kind: kind, Body: b, Text: appendEscaped(nil, text)}
}

// passing is an event that is shown but not kept.
func passing(session, turn, typ string, f fields) bus.Event {
	return bus.Event{Topic: session, Turn: turn, Kind: typ, Body: body(typ, session, turn, f)}
}

const hexDigits = "0123456789abcdef"

// appendEscaped appends s as the inside of a JSON string (RFC 8259); invalid UTF-8 becomes U+FFFD.
func appendEscaped(b []byte, s string) []byte {
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				b = append(append(b, s[start:i]...), "\ufffd"...)
				start = i + 1
			}
			i += n
			continue
		}
		if c >= 0x20 && c != '"' && c != '\\' {
			i++
			continue
		}
		b = append(b, s[start:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		start = i
	}
	return append(b, s[start:]...)
}
