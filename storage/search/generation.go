package search

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/custom"
	"github.com/blevesearch/bleve/v2/analysis/token/lowercase"
	"github.com/blevesearch/bleve/v2/analysis/tokenizer/unicode"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/index/scorch/mergeplan"
	"github.com/blevesearch/bleve/v2/mapping"
)

// generation is one open bleve index. users are those between ready and release; seq and the writer belong to whoever has
// the Index's turn (or to the rebuild, before anybody else can see it).
type generation struct {
	ix     bleve.Index
	dir    string
	number int
	users  sync.WaitGroup
	seq    uint64 // the newest change that is in it
	stored uint64 // the number on disk, which may be behind by changes without documents
	once   sync.Once
	err    error
}

// seqKey holds the number of the newest change in the index; without it the index is not complete.
var seqKey = []byte("seq")

// damaged wraps what a broken index says or panics with.
type damaged struct{ err error }

func (d *damaged) Error() string { return "the search index is damaged: " + d.err.Error() }
func (d *damaged) Unwrap() error { return d.err }

// guard turns a panic in f, which a broken index file can cause, into an error.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &damaged{fmt.Errorf("%T while reading it", p)} // the text of p could quote the index
		}
	}()
	return f()
}

const (
	fieldText    = "text"
	fieldSession = "session"
	fieldRole    = "role"
	fieldAt      = "at"
	analyzerName = "words"
)

// words is the analysis of texts and queries: words as Unicode sees them, in lower case, in any language.
func words() analysis.Analyzer {
	return &analysis.DefaultAnalyzer{Tokenizer: unicode.NewUnicodeTokenizer(), TokenFilters: []analysis.TokenFilter{lowercase.NewLowerCaseFilter()}}
}

func indexMapping() (mapping.IndexMapping, error) {
	m := bleve.NewIndexMapping()
	err := m.AddCustomAnalyzer(analyzerName, map[string]any{"type": custom.Name, "tokenizer": unicode.Name, "token_filters": []string{lowercase.Name}})
	if err != nil {
		return nil, err
	}
	text := bleve.NewTextFieldMapping()
	text.Analyzer, text.Store, text.IncludeInAll, text.IncludeTermVectors, text.DocValues = analyzerName, true, false, false, false
	session := bleve.NewKeywordFieldMapping()
	session.Store, session.IncludeInAll, session.DocValues = true, false, false
	role := bleve.NewKeywordFieldMapping()
	role.Store, role.Index, role.IncludeInAll, role.DocValues = true, false, false, false
	at := bleve.NewNumericFieldMapping()
	at.Store, at.IncludeInAll = true, false
	doc := bleve.NewDocumentStaticMapping()
	doc.AddFieldMappingsAt(fieldText, text)
	doc.AddFieldMappingsAt(fieldSession, session)
	doc.AddFieldMappingsAt(fieldRole, role)
	doc.AddFieldMappingsAt(fieldAt, at)
	m.DefaultMapping = doc
	m.DefaultAnalyzer = analyzerName
	return m, nil
}

func makeGeneration(dir string, number int) (*generation, error) {
	m, err := indexMapping()
	if err != nil {
		return nil, err
	}
	ix, err := bleve.New(dir, m)
	if err != nil {
		return nil, fmt.Errorf("the search index could not be made: %w", err)
	}
	return &generation{ix: ix, dir: dir, number: number}, nil
}

// openGeneration opens what a complete rebuild left, after checking the sums of its files: bleve maps them into memory and
// would trust a flipped bit.
func openGeneration(dir string, number int) (*generation, error) {
	if err := checkSegments(dir); err != nil {
		return nil, err
	}
	var g *generation
	err := guard(func() error {
		ix, err := bleve.OpenUsing(dir, map[string]any{"bolt_timeout": "2s"}) // it would wait for ever for a file that is held
		if err != nil {
			return &damaged{err}
		}
		g = &generation{ix: ix, dir: dir, number: number}
		raw, err := ix.GetInternal(seqKey)
		if err == nil && len(raw) == 8 {
			g.seq = binary.BigEndian.Uint64(raw)
			g.stored = g.seq
			return nil
		}
		_ = g.close()
		if err == nil {
			err = errors.New("it was not completed")
		}
		return &damaged{err}
	})
	if err != nil {
		return nil, err
	}
	return g, nil
}

// checkSegments compares each segment file with the CRC-32 of all before it that it ends with.
func checkSegments(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "store", "*.zap"))
	if err != nil {
		return err
	}
	for _, path := range files {
		if err := checkSegment(path); err != nil {
			return err
		}
	}
	return nil
}

func checkSegment(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() < 4 {
		return &damaged{errors.New("a file is too short")}
	}
	sum := crc32.NewIEEE()
	if _, err := io.CopyN(sum, f, info.Size()-4); err != nil {
		return err
	}
	var tail [4]byte
	if _, err := io.ReadFull(f, tail[:]); err != nil {
		return err
	}
	if binary.BigEndian.Uint32(tail[:]) != sum.Sum32() {
		return &damaged{errors.New("a file's checksum does not match")}
	}
	return nil
}

func (g *generation) close() error {
	g.once.Do(func() { g.err = guard(g.ix.Close) })
	return g.err
}

// The recipe of a purge. Deleted words stay in a segment until it is merged, and a forced merge of a single segment does
// nothing, so a marker document makes a second one first.
const (
	purgeTries = 8
	purgePolls = 20
	purgePoll  = 50 * time.Millisecond
	markerID   = "\x00purge"
)

// purge merges until one segment without deletions is left and the files of all others are gone.
func (g *generation) purge(ctx context.Context) error {
	inner, err := g.ix.Advanced()
	if err != nil {
		return err
	}
	s, ok := inner.(*scorch.Scorch)
	if !ok {
		return errors.New("search: the index is not of the expected kind")
	}
	for try := range purgeTries {
		if err := g.ix.Index(markerID, map[string]any{fieldRole: fmt.Sprint(try)}); err != nil {
			return &damaged{err}
		}
		if err := s.ForceMerge(ctx, &mergeplan.SingleSegmentMergePlanOptions); err != nil {
			return fmt.Errorf("the search index could not be merged: %w", err)
		}
		for range purgePolls {
			clean, err := g.clean(s)
			if err != nil || clean {
				return err
			}
			if err := pause(ctx, purgePoll); err != nil {
				return err
			}
		}
	}
	return errors.New("the search index still holds deleted text")
}

// clean says whether every segment is free of deletions and no file is left but theirs.
func (g *generation) clean(s *scorch.Scorch) (bool, error) {
	r, err := s.Reader()
	if err != nil {
		return false, &damaged{err}
	}
	defer r.Close()
	snap, ok := r.(*scorch.IndexSnapshot)
	if !ok {
		return false, errors.New("search: the index is not of the expected kind")
	}
	segments := snap.Segments()
	for _, seg := range segments {
		if d := seg.Deleted(); d != nil && !d.IsEmpty() {
			return false, nil
		}
	}
	entries, err := os.ReadDir(filepath.Join(g.dir, "store"))
	if err != nil {
		return false, err
	}
	files := 0
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".zap") {
			files++
		}
	}
	return len(segments) <= 1 && files <= 1, nil
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
