package search

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/search"
	"github.com/blevesearch/bleve/v2/search/query"
)

// Bounds of a query: what is longer is cut, never refused.
const (
	maxQueryBytes = 4096
	maxTerms      = 32
	maxTermBytes  = 256
)

// termsOf is the different words of a query.
func termsOf(q string) (terms []string) {
	if len(q) > maxQueryBytes {
		q = q[:maxQueryBytes]
	}
	for _, token := range words().Analyze([]byte(strings.ToValidUTF8(q, " "))) {
		term := string(token.Term)
		if len(term) <= maxTermBytes && !slices.Contains(terms, term) {
			terms = append(terms, term)
		}
		if len(terms) == maxTerms {
			break
		}
	}
	return terms
}

// search looks for all terms, then fills up with documents that have any.
func (g *generation) search(ctx context.Context, terms []string, limit, width int) ([]Hit, error) {
	var each []query.Query
	for _, t := range terms {
		q := bleve.NewTermQuery(t)
		q.SetField(fieldText)
		each = append(each, q)
	}
	hits, err := g.find(ctx, bleve.NewConjunctionQuery(each...), limit, terms, width, nil)
	if err != nil || len(hits) >= limit || len(terms) == 1 {
		return hits, err
	}
	seen := map[string]bool{}
	for _, h := range hits {
		seen[h.ID] = true
	}
	more, err := g.find(ctx, bleve.NewDisjunctionQuery(each...), limit+len(hits), terms, width, seen)
	hits = append(hits, more...)
	return hits[:min(len(hits), limit)], err
}

// find runs one query and leaves out what was seen.
func (g *generation) find(ctx context.Context, q query.Query, limit int, terms []string, width int, seen map[string]bool) ([]Hit, error) {
	req := bleve.NewSearchRequestOptions(q, limit, 0, false)
	req.Fields = []string{fieldText, fieldSession, fieldRole, fieldAt}
	req.SortBy([]string{"-_score", "-" + fieldAt, "_id"})
	found, err := g.ix.SearchInContext(ctx, req)
	if err != nil {
		if ctxErr := ctx.Err(); ctxErr != nil {
			return nil, ctxErr
		}
		return nil, &damaged{err}
	}
	if found.Status != nil && found.Status.Failed > 0 {
		return nil, &damaged{errors.New("a part of it could not be searched")}
	}
	var hits []Hit
	for _, m := range found.Hits {
		if !seen[m.ID] {
			hits = append(hits, hitOf(m, terms, width))
		}
	}
	return hits, nil
}

func hitOf(m *search.DocumentMatch, terms []string, width int) Hit {
	text, _ := m.Fields[fieldText].(string)
	session, _ := m.Fields[fieldSession].(string)
	role, _ := m.Fields[fieldRole].(string)
	at, _ := m.Fields[fieldAt].(float64)
	return Hit{ID: m.ID, Session: session, Role: role, Snippet: Snippet(text, terms, width), At: time.UnixMilli(int64(at)).UTC()}
}

// maxSnippetSource bounds the text a snippet is looked for in, in bytes.
const maxSnippetSource = 1 << 20

// Snippet is about width runes of text, on one line, around the place where most of the different terms are near each
// other; "…" stands for what is left out. Terms are as the index has them: lower-case words.
func Snippet(text string, terms []string, width int) string {
	if len(text) > maxSnippetSource {
		text = text[:maxSnippetSource]
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	from, to := matchAt(text, terms, width)
	lead := max(0, width-utf8.RuneCountInString(text[from:to])) / 3
	start := back(text, from, lead)
	end := forward(text, start, width)
	if end == len(text) {
		start = min(start, back(text, end, width)) // there is room for more of what was before
	}
	out := strings.Join(strings.Fields(text[start:end]), " ")
	if start > 0 {
		out = "…" + out
	}
	if end < len(text) {
		out += "…"
	}
	return out
}

// matchAt is the bytes from the first to the last match of the best place, 0,0 when nothing matches.
func matchAt(text string, terms []string, width int) (from, to int) {
	type match struct{ start, end, term int }
	var all []match
	for _, token := range words().Analyze([]byte(text)) {
		if i := slices.Index(terms, string(token.Term)); i >= 0 {
			all = append(all, match{token.Start, token.End, i})
		}
	}
	best, first := 0, 0
	count := make([]int, len(terms))
	distinct := 0
	for _, m := range all {
		if count[m.term]++; count[m.term] == 1 {
			distinct++
		}
		for m.end-all[first].start > width && all[first] != m {
			if count[all[first].term]--; count[all[first].term] == 0 {
				distinct--
			}
			first++
		}
		if distinct > best {
			best, from, to = distinct, all[first].start, m.end
		}
	}
	return from, to
}

// back goes n runes back from at, then on to the beginning of a word when one is near.
func back(text string, at, n int) int {
	i := at
	for ; i > 0 && n > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(text[:i])
		i -= size
	}
	if i == 0 {
		return 0
	}
	if space := strings.IndexAny(text[i:at], " \t\n"); space >= 0 {
		return i + space + 1
	}
	return i
}

// forward goes n runes on from at, then back to the end of a word when one is near.
func forward(text string, at, n int) int {
	i := at
	for ; i < len(text) && n > 0; n-- {
		_, size := utf8.DecodeRuneInString(text[i:])
		i += size
	}
	if i == len(text) {
		return i
	}
	if space := strings.LastIndexAny(text[at:i], " \t\n"); space > (i-at)*2/3 {
		return at + space
	}
	return i
}
