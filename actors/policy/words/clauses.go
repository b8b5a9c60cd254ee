// Package words owns the reading of the person's own words, in English: what they ask for now, and what they state as a standing
// rule. It is deterministic, so that no model decides what somebody asked for. Where words can be read in two ways, they ask for
// less: the worst that a misread sentence costs is one more question.
package words

import (
	"slices"
	"strings"
	"unicode"
)

// sentence is one sentence as its clauses: those joined by "and", "or", commas, "then".
type sentence struct {
	text    string // as it was written
	clauses []clause
	asks    bool // it ends with a question mark
	line    int
	block   int // counts blank lines before it
}

// clause is what stands between two joints, in small letters.
type clause struct {
	joint  string   // what joins it to the clause before: "", ",", ":", "and", "or", "then"
	words  []string // a quotation of several words is the one word quoted
	speech []string // what is quoted
}

// quoted stands for a quotation among a clause's words: what others said asks for nothing.
const quoted = "“”"

func (c clause) all() []string {
	if len(c.speech) == 0 {
		return c.words
	}
	return slices.Concat(c.words, c.speech)
}

// flat is a sentence's words, without what it quotes.
func (s sentence) flat() (list []string) {
	for _, c := range s.clauses {
		list = append(list, c.words...)
	}
	return list
}

// scanner parts a text in one pass.
type scanner struct {
	list   []sentence
	now    sentence
	clause clause
	word   []rune
	joint  string // of the clause that comes next
	inside bool   // a quotation
	spoken bool   // it was put among the words
}

// sentences parts text in time linear in its length. Dots inside words and addresses part nothing.
func sentences(text string) []sentence {
	runes := []rune(text)
	spans := quotations(runes)
	var s scanner
	start, span := 0, 0
	flush := func(end int, asks bool) {
		s.endSentence(string(runes[start:end]), asks)
		start = end + 1
	}
	for i, r := range runes {
		for span < len(spans) && i >= spans[span].end {
			span++
		}
		inside := span < len(spans) && i >= spans[span].start
		if inside != s.inside {
			s.endWord()
			s.inside, s.spoken = inside, false
		}
		switch r = plain(r); {
		case r == '\n' && !inside:
			flush(i, false)
			s.newLine()
		case r == ';' && !inside:
			flush(i, false)
		case (r == '.' || r == '!' || r == '?') && !inside && parts(runes, i):
			flush(i, r == '?')
		case unicode.IsSpace(r):
			s.endWord()
		case r == '–' || r == '—':
			s.endWord()
			s.endClause(",")
		case (r == ',' || r == ':') && parts(runes, i):
			s.endWord()
			s.endClause(string(r))
		case r != 0:
			s.word = append(s.word, unicode.ToLower(r))
		}
	}
	if start < len(runes) {
		flush(len(runes), false)
	}
	return s.list
}

// parts: the sign at i is followed by space, so that it parts words.
func parts(runes []rune, i int) bool {
	return i+1 == len(runes) || unicode.IsSpace(runes[i+1]) || strings.ContainsRune("\"')”’`", runes[i+1])
}

// plain gives apostrophes one form and drops what is not seen.
func plain(r rune) rune {
	switch r {
	case '’', '‘', 'ʼ', '＇', '´', '`', '′':
		return '\''
	}
	if r > 127 && unicode.Is(unicode.Cf, r) {
		return 0
	}
	return r
}

func (s *scanner) endWord() {
	if len(s.word) == 0 {
		return
	}
	w := strings.Trim(string(s.word), ",:;.!?\"“”„()[]{}*_'•>")
	s.word = s.word[:0]
	switch {
	case w == "":
	case s.inside:
		if !s.spoken {
			s.clause.words, s.spoken = append(s.clause.words, quoted), true
		}
		s.clause.speech = append(s.clause.speech, w)
	case w == "-":
		s.endClause(",")
	case slices.Contains(joints, w):
		s.endClause(w)
	case w == "also":
		s.endClause("and")
	case slices.Contains(turns, w):
		s.endClause("")
		s.clause.words = append(s.clause.words, w)
	default:
		s.clause.words = append(s.clause.words, w)
	}
}

var (
	joints = words("and then or &")
	turns  = words("but instead except without") // they begin a clause, and stay in it
)

// endClause ends the clause; joint joins the next one. Of ", and" the word counts.
func (s *scanner) endClause(joint string) {
	if len(s.clause.words) > 0 {
		s.now.clauses = append(s.now.clauses, s.clause)
		s.joint = ""
	}
	if joint != "" && (joint != "," || s.joint == "") {
		s.joint = joint
	}
	s.clause = clause{joint: s.joint}
}

func (s *scanner) endSentence(text string, asks bool) {
	s.endWord()
	s.endClause("")
	if t := strings.TrimSpace(text); t != "" {
		s.now.text, s.now.asks = t, asks
		s.list = append(s.list, s.now)
	}
	s.now = sentence{line: s.now.line, block: s.now.block}
	s.joint, s.clause = "", clause{}
}

// newLine counts lines, and the blocks that blank lines part.
func (s *scanner) newLine() {
	s.now.line++
	if n := len(s.list); n > 0 && s.now.line-s.list[n-1].line == 2 {
		s.now.block++
	}
}

type span struct{ start, end int }

// quotations finds what stands in quotation marks or backticks and is more than one word, and lines that mail programs quote.
func quotations(runes []rune) (list []span) {
	open, mark := -1, rune(0)
	for i, r := range runes {
		if !strings.ContainsRune("\n>\"'`‘’“”„", r) {
			continue
		}
		begins := i == 0 || unicode.IsSpace(runes[i-1]) || strings.ContainsRune("(:,", runes[i-1])
		ends := i+1 == len(runes) || !unicode.IsLetter(runes[i+1]) && !unicode.IsDigit(runes[i+1])
		switch {
		case open >= 0 && r == mark && (mark == '”' || ends && !begins):
			if strings.ContainsFunc(strings.TrimSpace(string(runes[open+1:i])), unicode.IsSpace) {
				list = append(list, span{open, i})
			}
			open = -1
		case open >= 0 && (mark == '\'' || mark == '’') && r == '\n', mark == '\n' && open >= 0 && r == '\n':
			if mark == '\n' {
				list = append(list, span{open, i})
			}
			open = -1
		case open >= 0:
		case r == '>' && (i == 0 || runes[i-1] == '\n'):
			open, mark = i, '\n'
		case r == '“' || r == '„':
			open, mark = i, '”'
		case r == '"' || r == '`', begins && r == '\'':
			open, mark = i, r
		case begins && r == '‘':
			open, mark = i, '’'
		}
	}
	if open >= 0 && mark == '\n' {
		list = append(list, span{open, len(runes)})
	}
	return list
}

func words(s string) []string { return strings.Fields(s) }

// set is a set of words.
type set map[string]bool

func setOf(s string) set {
	m := set{}
	for _, w := range words(s) {
		m[w] = true
	}
	return m
}

func (m set) any(list []string) bool {
	return slices.ContainsFunc(list, func(w string) bool { return m[w] })
}

func (m set) all(list []string) bool {
	return !slices.ContainsFunc(list, func(w string) bool { return !m[w] })
}

// contains: the words of part, one after the other.
func contains(clause, part []string) bool { return find(clause, part) >= 0 }

func find(clause, part []string) int {
	for i := 0; len(part) > 0 && i+len(part) <= len(clause); i++ {
		if slices.EqualFunc(clause[i:i+len(part)], part, func(a, b string) bool { return a == b || strings.TrimSuffix(a, "'s") == b }) {
			return i
		}
	}
	return -1
}

func starts(clause, part []string) bool {
	return len(clause) >= len(part) && slices.Equal(clause[:len(part)], part)
}

// nameWords parts a tool's or an app's name: at signs, and where small letters meet capitals.
func nameWords(s string) []string {
	var b strings.Builder
	small := false
	for _, r := range s {
		if small && unicode.IsUpper(r) {
			b.WriteByte(' ')
		}
		small = unicode.IsLower(r)
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.FieldsFunc(b.String(), func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r > 127) })
}

func stem(w string) string {
	for _, end := range []string{"ing", "ed", "es", "s", "e"} {
		if len(w) > len(end)+2 && strings.HasSuffix(w, end) {
			w = strings.TrimSuffix(w, end)
			break
		}
	}
	if len(w) > 3 && w[len(w)-1] == w[len(w)-2] { // emailled, shopping
		w = w[:len(w)-1]
	}
	return w
}

// is: w is one of the words.
func is(w string, list ...string) bool { return slices.Contains(list, w) }
