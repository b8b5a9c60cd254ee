// Package wire owns the form of events on the wire: one place that turns fields into JSON and escapes text, so that live
// events and replayed ones are the same bytes.
package wire

import (
	"bytes"
	"encoding/json"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"sentient/actors/msg"
	pb "sentient/proto/session"
)

// Fields are the members of a wire event besides its type, session and turn, in JSON without the outer braces.
type Fields []byte

// Of turns a struct or map into fields.
func Of(v any) Fields {
	b := Marshal(v)
	return b[1 : len(b)-1]
}

// Marshal is JSON as it goes over the wire: no HTML escapes, and never an error for our own types.
func Marshal(v any) []byte {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return []byte("{}")
	}
	return bytes.TrimRight(buf.Bytes(), "\n")
}

// Body is an event without its last brace.
func Body(typ, session, turn string, f Fields) []byte {
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

// Domain is the fields of a domain event: data and the time.
func Domain(data any, at time.Time) Fields {
	return Of(struct {
		Data any      `json:"data"`
		TS   msg.Time `json:"ts"`
	}{data, msg.Time{Time: at}})
}

const hexDigits = "0123456789abcdef"

// AppendEscaped appends s as the inside of a JSON string (RFC 8259); invalid UTF-8 becomes U+FFFD.
func AppendEscaped(b []byte, s string) []byte {
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

// DomainNote is a domain event as the journal keeps it, and as it is shown (without its last brace).
func DomainNote(typ string, data any, at time.Time) (kept, shown []byte) {
	f := Domain(data, at)
	kept, _ = proto.Marshal(&pb.Note{Inline: f})
	return kept, Body(typ, "", "", f)
}
