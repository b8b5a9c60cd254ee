package journal

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"
)

func drawID(t *rapid.T, label string) string {
	return string(rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 0xFE, 0xFF, 'a', '/'}), 0, 4).Draw(t, label))
}

// No stream's, table's or index's keys can be among another's, whatever bytes the ids are made of; the order of the parts
// is the order of the keys.
func TestKeysNeverCollide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawID(t, "a"), drawID(t, "b")
		n := rapid.Uint64().Draw(t, "n")
		if in := under(streamKey(nil, eventSpace, Stream(a))).holds(numberedKey(nil, eventSpace, Stream(b), n)); in != (a == b) {
			t.Fatalf("an event of %q is under %q: %v", b, a, in)
		}
		x, y := drawID(t, "x"), drawID(t, "y")
		if same := bytes.Equal(rowKey(nil, a, []byte(x)), rowKey(nil, b, []byte(y))); same != (a == b && x == y) {
			t.Fatal("row keys of different rows are equal")
		}
		ia := indexKey(nil, "t", []byte("i"), []byte(a), []byte(x))
		ib := indexKey(nil, "t", []byte("i"), []byte(b), []byte(y))
		want := bytes.Compare([]byte(a), []byte(b))
		if want == 0 {
			want = bytes.Compare([]byte(x), []byte(y))
		}
		if got := bytes.Compare(ia, ib); got != want {
			t.Fatalf("(%q,%q) and (%q,%q): %d, want %d", a, x, b, y, got, want)
		}
		prefix := append(indexBase(nil, "t", "i"), appendEscaped(nil, b)...)
		if got, want := under(prefix).holds(ia), bytes.HasPrefix([]byte(a), []byte(b)); got != want {
			t.Fatalf("%q under the prefix %q: %v", a, b, got)
		}
		part, rest, ok := cutPart(append(appendPart(nil, a), x...))
		if !ok || string(part) != a || string(rest) != x {
			t.Fatalf("%q %q: %q %q %v", a, x, part, rest, ok)
		}
	})
}

// Any single flipped bit of a record, or its key, is noticed.
func TestEveryBitCounts(t *testing.T) {
	key := []byte("e/s/a")
	record := appendRecord(nil, key, 1, []byte("payload"))
	if schema, payload, err := open(key, record); err != nil || schema != 1 || string(payload) != "payload" {
		t.Fatal(schema, payload, err)
	}
	for i := range len(record) * 8 {
		bad := bytes.Clone(record)
		bad[i/8] ^= 1 << (i % 8)
		var c *CorruptError
		if _, _, err := open(key, bad); !errors.As(err, &c) || c.Key != "e/s/a" {
			t.Errorf("bit %d: %v", i, err)
		}
	}
	if _, _, err := open([]byte("e/s/b"), record); err == nil {
		t.Error("a record under another key was accepted")
	}
}

// FuzzRecord: records that hold anything at all are refused or read, never a panic; a row and a note survive their codec.
func FuzzRecord(f *testing.F) {
	f.Add([]byte("k"), []byte{})
	f.Add([]byte("k"), appendRecord(nil, []byte("k"), 1, appendHeader(nil, []IndexEntry{{"i", []byte("x")}})))
	f.Add([]byte("k"), appendNote(nil, Note{Type: "t", Topic: "x", Data: []byte("d")}))
	f.Add([]byte("k"), []byte{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1})
	f.Fuzz(func(t *testing.T, key, raw []byte) {
		d := decoder{schema: 1}
		for _, record := range [][]byte{raw, appendRecord(nil, key, 1, raw)} {
			_, _ = d.whole(key, record, KindEvent, "")
			_, _, _ = d.snapshot(key, record, "")
			_, _ = d.row(key, record, "")
			_, _ = d.header(key, record)
			_, _ = d.note(key, record)
		}
		_, _ = decodeNumbering(raw)
		_, _, _ = cutPart(raw)
		header := appendHeader(nil, []IndexEntry{{string(key), raw}, {"", nil}})
		got, value, ok := cutHeader(append(bytes.Clone(header), raw...))
		if !ok || !bytes.Equal(got, header) || !bytes.Equal(value, raw) || !entryIn(header, IndexEntry{string(key), raw}) {
			t.Errorf("header of %q, %q", key, raw)
		}
		n, ok := cutNote(appendNote(nil, Note{Type: string(key), Topic: "x", Data: raw}))
		if !ok || n.Type != string(key) || n.Topic != "x" || !bytes.Equal(n.Data, raw) {
			t.Errorf("note %+v", n)
		}
	})
}
