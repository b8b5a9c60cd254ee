package main

import (
	"strings"
	"unicode/utf8"

	"sentient/transport/worker"
)

// part collects the characters from offset on, at most limit, of a text that comes in pieces.
type part struct {
	offset, limit int
	seen          int // characters of the text so far
	more          bool
	text          strings.Builder
}

func newPart(offset, limit int) *part { return &part{offset: max(offset, 0), limit: max(limit, 0)} }

// add takes the next piece and says whether more is wanted.
func (p *part) add(s string) bool {
	for _, r := range s {
		if p.seen >= p.offset+p.limit {
			p.more = true
			return false
		}
		if p.seen >= p.offset {
			p.text.WriteRune(r)
		}
		p.seen++
	}
	return true
}

func (p *part) response() worker.Response {
	r := worker.Response{Text: p.text.String(), Total: p.seen, More: p.more}
	if p.more {
		r.Total = -1
	}
	return r
}

// lines writes text to a part line by line: it drops spaces at line ends and keeps at most one empty line between two
// others, so that offsets mean the same whatever part is asked for.
type lines struct {
	to     *part
	line   strings.Builder
	empty  int
	wanted bool
	begun  bool
}

func newLines(to *part) *lines { return &lines{to: to, wanted: true} }

const maxLine = 1 << 20 // bytes that wait for the end of their line

func (l *lines) write(s string) {
	for l.wanted {
		before, after, found := strings.Cut(s, "\n")
		l.line.WriteString(before)
		if !found {
			if l.line.Len() > maxLine {
				l.end()
			}
			return
		}
		l.end()
		s = after
	}
}

// last is the last character of the line so far, or a line break.
func (l *lines) last() rune {
	if l.line.Len() == 0 {
		return '\n'
	}
	r, _ := utf8.DecodeLastRuneInString(l.line.String())
	return r
}

// end ends the line.
func (l *lines) end() {
	text := strings.TrimRight(strings.ToValidUTF8(l.line.String(), "\uFFFD"), " \t\r\u00a0")
	l.line.Reset()
	if text == "" {
		l.empty++
		return
	}
	if l.begun {
		text = strings.Repeat("\n", min(1+l.empty, 2)) + text
	}
	l.begun, l.empty = true, 0
	l.wanted = l.to.add(text)
}

// close ends the text.
func (l *lines) close() { l.end() }
