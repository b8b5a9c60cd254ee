package wire

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// FuzzAppendEscaped: whatever the text, the inside of a JSON string that decodes to it (invalid bytes as U+FFFD), and two
// texts after each other are their joined text, which is what merging deltas relies on.
func FuzzAppendEscaped(f *testing.F) {
	for _, s := range []string{"", "plain", "\"\\\n\r\t\x00\x1f", "é😀\u2028", "\xff\xc3", "</script>"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if !utf8.ValidString(a) || !utf8.ValidString(b) {
			a, b = strings.ToValidUTF8(a, "\ufffd"), strings.ToValidUTF8(b, "\ufffd")
		}
		raw := append(AppendEscaped(AppendEscaped([]byte{'"'}, a), b), '"')
		var got string
		if err := json.Unmarshal(raw, &got); err != nil || got != a+b {
			t.Fatalf("%q: %q %v", a+b, got, err)
		}
	})
}

func TestInvalidUTF8(t *testing.T) {
	if got := string(AppendEscaped(nil, "a\xffb")); got != "a\ufffdb" {
		t.Fatalf("%q", got)
	}
}

// a domain event has its type, data and time; A-003: the time is ISO-8601 UTC.
func TestDomain(t *testing.T) {
	at := time.Date(2026, 12, 1, 5, 0, 0, 1000, time.FixedZone("", 3600))
	got := string(Body("config.updated", "", "", Domain(map[string]int{"n": 1}, at))) + "}"
	if got != `{"type":"config.updated","data":{"n":1},"ts":"2026-12-01T04:00:00.000001+00:00"}` {
		t.Fatal(got)
	}
}

func TestNoHTMLEscapes(t *testing.T) {
	if got := string(Of(map[string]string{"a": "<&>"})); got != `"a":"<&>"` {
		t.Fatal(got)
	}
}
