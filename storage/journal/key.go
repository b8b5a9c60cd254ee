package journal

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"strings"
)

// Keys. A part that is followed by another part is escaped (0x00 becomes 0x00 0xFF) and ends with 0x00 0x01, so no stream,
// table or index key can be the beginning of another and the order of the parts is the order of the bytes.
//
//	e/<stream>|<version be64>          event
//	s/<stream>|                        snapshot
//	c/<stream>|<number be64>           checkpoint
//	r/<table>|<primary key>            row
//	i/<table>|<index>|<key>|<primary>  index entry, no value
//	n/<seq be64>                       note
//	m/schema, m/seq                    the store's format; numbering
//	m/h/<stream>|                      a mark: deleted, or volatile
//	m/q/<number be64>                  what the eraser has to do
const (
	eventSpace      = "e/"
	snapshotSpace   = "s/"
	checkpointSpace = "c/"
	rowSpace        = "r/"
	indexSpace      = "i/"
	noteSpace       = "n/"
	markSpace       = "m/h/"
	eraseSpace      = "m/q/"
	schemaKey       = "m/schema"
	seqKey          = "m/seq"
)

func appendEscaped[S ~string | ~[]byte](dst []byte, s S) []byte {
	for i := 0; i < len(s); i++ {
		dst = append(dst, s[i])
		if s[i] == 0 {
			dst = append(dst, 0xFF)
		}
	}
	return dst
}

func appendPart[S ~string | ~[]byte](dst []byte, s S) []byte {
	return append(appendEscaped(dst, s), 0, 1)
}

// cutPart is the opposite of appendPart. ok is false when b does not begin with a whole part.
func cutPart(b []byte) (part, rest []byte, ok bool) {
	for i := 0; i < len(b); i++ {
		if b[i] != 0 {
			part = append(part, b[i])
			continue
		}
		if i+1 == len(b) {
			return nil, nil, false
		}
		switch b[i+1] {
		case 1:
			return part, b[i+2:], true
		case 0xFF:
			part = append(part, 0)
			i++
		default:
			return nil, nil, false
		}
	}
	return nil, nil, false
}

func streamKey(dst []byte, space string, s Stream) []byte {
	return appendPart(append(dst[:0], space...), s)
}

func numberedKey(dst []byte, space string, s Stream, n uint64) []byte {
	return binary.BigEndian.AppendUint64(streamKey(dst, space, s), n)
}

func rowKey(dst []byte, table string, key []byte) []byte {
	return append(appendPart(append(dst[:0], rowSpace...), table), key...)
}

func indexBase(dst []byte, table, index string) []byte {
	return appendPart(appendPart(append(dst[:0], indexSpace...), table), index)
}

func indexKey(dst []byte, table string, index, key, primary []byte) []byte {
	dst = appendPart(appendPart(append(dst[:0], indexSpace...), table), index)
	return append(appendPart(dst, key), primary...)
}

func noteKey(dst []byte, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst[:0], noteSpace...), seq)
}

// IndexFrom makes a Scan.From for an index scan out of an index key alone: it lies before all entries with that key, so a
// forward scan begins with them and a backward one with those before. (To go on after an Item, use its At.)
func IndexFrom(key []byte) []byte { return appendPart(nil, key) }

// tailNumber is the number a numbered key ends with.
func tailNumber(key []byte) uint64 {
	if len(key) < 8 {
		return 0
	}
	return binary.BigEndian.Uint64(key[len(key)-8:])
}

// under is the span of all keys that start with prefix.
func under(prefix []byte) Span {
	lo := bytes.Clone(prefix)
	return Span{lo, next(lo)}
}

// next is the first key after all keys that start with prefix.
func next(prefix []byte) []byte {
	hi := bytes.Clone(prefix)
	for i := len(hi) - 1; i >= 0; i-- {
		if hi[i]++; hi[i] != 0 {
			return hi[:i+1]
		}
	}
	return nil
}

// only is the span of key alone.
func only(key []byte) Span {
	return Span{bytes.Clone(key), append(bytes.Clone(key), 0)}
}

func (s Span) holds(key []byte) bool {
	return bytes.Compare(key, s.Lo) >= 0 && bytes.Compare(key, s.Hi) < 0
}

// Printable shows a key to a person: its parts with slashes between, numbers in digits, and a dot for each byte that is no
// plain character. Keys hold ids only.
func Printable(key []byte) string {
	text, number := key, ""
	for _, space := range []string{eventSpace, checkpointSpace, noteSpace, eraseSpace} {
		if bytes.HasPrefix(key, []byte(space)) && len(key) >= len(space)+8 {
			text, number = key[:len(key)-8], strconv.FormatUint(tailNumber(key), 10)
		}
	}
	text = bytes.ReplaceAll(text, []byte{0, 1}, []byte("/"))
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '.'
		}
		return r
	}, string(text)) + number
}

// topicOf is the stream's id: what its notes carry as Topic.
func topicOf(s Stream) string {
	if _, id, ok := strings.Cut(string(s), "/"); ok {
		return id
	}
	return string(s)
}
