package llm

import (
	"errors"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// looseString is a JSON string that may hold what JSON should not: bytes of a rune cut by the provider, or half of a surrogate
// pair. Both are kept (a half as its three bytes, as WTF-8 does), so that a joiner can put the halves together. encoding/json
// would have replaced them. null is "".
type looseString string

var errNotString = errors.New("not a JSON string")

func (t *looseString) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*t = ""
		return nil
	}
	if len(b) < 2 || b[0] != '"' {
		return errNotString
	}
	b = b[1 : len(b)-1]
	plain := true
	for _, c := range b {
		if c == '\\' {
			plain = false
			break
		}
	}
	if plain {
		*t = looseString(b)
		return nil
	}
	*t = looseString(unescape(b))
	return nil
}

// unescape resolves the escapes of a JSON string that the decoder has already checked.
func unescape(b []byte) string {
	var out strings.Builder
	out.Grow(len(b))
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' || i+1 >= len(b) {
			out.WriteByte(b[i])
			continue
		}
		i++
		switch b[i] {
		case 'b':
			out.WriteByte('\b')
		case 'f':
			out.WriteByte('\f')
		case 'n':
			out.WriteByte('\n')
		case 'r':
			out.WriteByte('\r')
		case 't':
			out.WriteByte('\t')
		case 'u':
			r := hex4(b[i+1:])
			i += 4
			if utf16.IsSurrogate(r) && i+6 < len(b) && b[i+1] == '\\' && b[i+2] == 'u' {
				if both := utf16.DecodeRune(r, hex4(b[i+3:])); both != utf8.RuneError {
					r = both
					i += 6
				}
			}
			writeLoose(&out, r)
		default:
			out.WriteByte(b[i])
		}
	}
	return out.String()
}

func hex4(b []byte) rune {
	var r rune
	for _, c := range b[:min(4, len(b))] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		}
	}
	return r
}

func writeLoose(out *strings.Builder, r rune) {
	if utf16.IsSurrogate(r) {
		out.Write([]byte{0xE0 | byte(r>>12), 0x80 | byte(r>>6)&0x3F, 0x80 | byte(r)&0x3F})
		return
	}
	out.WriteRune(r)
}

// joiner passes text on in whole runes: what may still become a rune waits for its rest.
// Everything it returns is valid UTF-8; what can never be becomes U+FFFD.
type joiner struct{ rest string }

func (j *joiner) push(s string) string {
	if j.rest == "" && utf8.ValidString(s) {
		return s
	}
	s = j.rest + s
	j.rest = ""
	var out strings.Builder
	out.Grow(len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r != utf8.RuneError || n > 1:
			out.WriteString(s[i : i+n])
			i += n
		case surrogateAt(s[i:]) != 0:
			high, tail := surrogateAt(s[i:]), s[i+3:]
			if utf16.IsSurrogate(high) && high < 0xDC00 && (tail == "" || tail == "\xED") {
				j.rest = s[i:]
				return out.String()
			}
			if both := utf16.DecodeRune(high, surrogateAt(tail)); both != utf8.RuneError {
				out.WriteRune(both)
				i += 6
				continue
			}
			out.WriteRune(utf8.RuneError)
			i += 3
		case !utf8.FullRuneInString(s[i:]) || s[i:] == "\xED":
			j.rest = s[i:]
			return out.String()
		default:
			out.WriteRune(utf8.RuneError)
			i++
		}
	}
	return out.String()
}

// flush gives what still waits when no more can come.
func (j *joiner) flush() string {
	if j.rest == "" {
		return ""
	}
	j.rest = ""
	return string(utf8.RuneError)
}

func surrogateAt(s string) rune {
	if len(s) < 3 || s[0] != 0xED || s[1] < 0xA0 || s[1] > 0xBF || s[2]&0xC0 != 0x80 {
		return 0
	}
	return 0xD000 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F)
}

// tagSplitter finds the thinking of local models that write it into their text as <think>...</think>. Only a reply's start can
// be thinking: a model that explains the tag later is not cut.
type tagSplitter struct {
	state tagState
	held  string
}

type tagState int

const (
	tagStart  tagState = iota // nothing but white space so far
	tagInside                 // thinking
	tagAfter                  // white space between thinking and text
	tagText                   // text until the end
)

const openTag, closeTag = "<think>", "</think>"

// push splits s into text and thinking; parts of a possible tag wait.
func (t *tagSplitter) push(s string) (text, thinking string) {
	s = t.held + s
	t.held = ""
	for s != "" {
		switch t.state {
		case tagStart:
			trimmed := strings.TrimLeft(s, " \t\r\n")
			switch {
			case strings.HasPrefix(trimmed, openTag):
				s, t.state = trimmed[len(openTag):], tagInside
			case strings.HasPrefix(openTag, trimmed):
				t.held = s
				return text, thinking
			default:
				t.state = tagText
			}
		case tagInside:
			before, after, found := strings.Cut(s, closeTag)
			if !found {
				keep := heldTail(s, closeTag)
				t.held = s[len(s)-keep:]
				return text, thinking + s[:len(s)-keep]
			}
			thinking += before
			s, t.state = after, tagAfter
		case tagAfter:
			if s = strings.TrimLeft(s, " \t\r\n"); s != "" {
				t.state = tagText
			}
		default:
			return text + s, thinking
		}
	}
	return text, thinking
}

func (t *tagSplitter) flush() (text, thinking string) {
	s := t.held
	t.held = ""
	if t.state == tagInside {
		return "", s
	}
	return s, ""
}

// heldTail is how many bytes at the end of s may begin tag.
func heldTail(s, tag string) int {
	for n := min(len(s), len(tag)-1); n > 0; n-- {
		if strings.HasSuffix(s, tag[:n]) {
			return n
		}
	}
	return 0
}
