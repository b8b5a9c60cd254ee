package embed

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	reserved  = 6        // the first pieces are marks, not text; the very first stands for what is unknown
	space     = '\u2581' // stands for a blank, before every word
	maxPieces = 128      // the model reads no more of a text
)

// piece is a part of words the model knows, with how likely it is (the logarithm of its probability).
type piece struct {
	text  string
	score float64
}

// tokenizer cuts text into the model's pieces (SentencePiece, unigram). It never changes, so it may be used from many goroutines.
type tokenizer struct {
	score   []float64
	length  []int // in characters
	longest int   // in characters
	edges   edgeTable
	ends    []int32 // by node: the piece that ends there, or 0
}

func newTokenizer(pieces []piece) *tokenizer {
	t := &tokenizer{score: make([]float64, len(pieces)), length: make([]int, len(pieces)), longest: 1, ends: []int32{0}}
	characters := 0
	for _, p := range pieces {
		characters += len(p.text)
	}
	t.edges = newEdgeTable(characters)
	for i, p := range pieces {
		t.score[i] = p.score
		node := int32(0)
		for _, r := range p.text {
			t.length[i]++
			if i < reserved {
				continue
			}
			next := t.edges.get(node, r)
			if next == 0 {
				next = int32(len(t.ends))
				t.ends = append(t.ends, 0)
				t.edges.put(node, r, next)
			}
			node = next
		}
		t.length[i] = max(t.length[i], 1)
		if i >= reserved && node != 0 {
			t.ends[node] = int32(i)
			t.longest = max(t.longest, t.length[i])
		}
	}
	return t
}

// plainText is a text as the tokenizer reads it: compatible forms made equal (NFKC), white space of any kind one blank.
func plainText(s string) string {
	return strings.Join(strings.Fields(norm.NFKC.String(strings.ToValidUTF8(s, "\uFFFD"))), " ")
}

// readBytes is more text than maxPieces pieces can be made of, for any vocabulary with pieces of 16 characters: the rest of a text
// is not even looked at.
const readBytes = (maxPieces + 1) * 16 * 4 * 2

// pieces cuts a text into the ids of at most maxPieces pieces. A text without anything to read has none.
func (t *tokenizer) pieces(s string) []int32 {
	if len(s) > readBytes {
		end := readBytes
		for end > 0 && !utf8.RuneStart(s[end]) {
			end--
		}
		s = s[:end]
	}
	s = plainText(s)
	if s == "" {
		return nil
	}
	chars := make([]rune, 1, len(s)+1)
	chars[0] = space
	for _, r := range s {
		if r == ' ' {
			r = space
		}
		chars = append(chars, r)
	}
	ids := t.collect(t.cut(chars))
	return ids[:min(len(ids), maxPieces)]
}

// cut finds, for each place, the last piece of the likeliest way to get there. Where two are equal the one that begins later wins,
// and a sum of exactly 0 counts as no way yet: both as in the original.
func (t *tokenizer) cut(chars []rune) []int32 {
	n := len(chars)
	best := make([]float64, n+1)
	last := make([]int32, n+1)
	reach := func(end int, id int32, score float64) {
		if best[end] == 0 || score >= best[end] {
			best[end], last[end] = score, id
		}
	}
	for from := range n {
		node, any := int32(0), false
		for at := from; at < n; at++ {
			if node = t.edges.get(node, chars[at]); node == 0 {
				break
			}
			if id := t.ends[node]; id != 0 {
				reach(at+1, id, best[from]+t.score[id])
				any = true
			}
		}
		if !any {
			reach(from+1, 0, best[from])
		}
	}
	return last
}

// collect walks the best way back. Unknown characters in a row are one.
func (t *tokenizer) collect(last []int32) []int32 {
	ids := make([]int32, 0, len(last))
	unknown := false
	for at := len(last) - 1; at > 0; at -= t.length[last[at]] {
		if !unknown || last[at] != 0 {
			ids = append(ids, last[at])
		}
		unknown = last[at] == 0
	}
	for i, j := 0, len(ids)-1; i < j; i, j = i+1, j-1 {
		ids[i], ids[j] = ids[j], ids[i]
	}
	return ids
}

// edgeTable is the edges of the tree of pieces: (node, character) to node, in one open-addressed table.
type edgeTable struct {
	keys []uint64 // node<<21 | character, plus 1; 0 is free
	to   []int32
	mask uint64
}

func newEdgeTable(edges int) edgeTable {
	size := 16
	for size < 2*edges {
		size *= 2
	}
	return edgeTable{keys: make([]uint64, size), to: make([]int32, size), mask: uint64(size - 1)}
}

func (e *edgeTable) slot(node int32, r rune) (uint64, uint64) {
	key := uint64(node)<<21 | uint64(r) + 1
	at := key * 0x9E3779B97F4A7C15 >> 20 & e.mask
	for e.keys[at] != 0 && e.keys[at] != key {
		at = (at + 1) & e.mask
	}
	return at, key
}

func (e *edgeTable) get(node int32, r rune) int32 {
	at, _ := e.slot(node, r)
	return e.to[at]
}

func (e *edgeTable) put(node int32, r rune, to int32) {
	at, key := e.slot(node, r)
	e.keys[at], e.to[at] = key, to
}
