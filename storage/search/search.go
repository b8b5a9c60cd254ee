// Package search owns the full-text index: it finds documents by their words, shows the place, follows a source of changes
// by number, and can be thrown away and made again from that source at any time. It is never the only copy of anything.
//
// Nothing is opened, and no memory is used, before the first search. An index that is missing, damaged, too far behind or
// of another form is made again in the background under a new name.
package search

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"sync"
	"time"
)

// Doc is one thing that can be found.
type Doc struct {
	ID      string // unique; never a person's text
	Session string // what Change.DeleteSession names; never a person's text
	Role    string
	Text    string
	At      time.Time
}

// Change is what one numbered event of the source means for the index. A document that is added again replaces the old one.
type Change struct {
	Seq           uint64
	Add           []Doc
	Delete        []string // documents
	DeleteSession string   // all documents of a session
}

// Source is where the index gets its documents.
type Source interface {
	// Newest is the number of the newest change.
	Newest() uint64
	// Changes yields what happened after a number, oldest first. ErrTooOld: that is not known any more.
	Changes(ctx context.Context, after uint64) iter.Seq2[Change, error]
	// All yields every document there is. It is read for a rebuild, beginning after Newest was asked.
	All(ctx context.Context) iter.Seq2[Doc, error]
}

// Hit is a document that was found. Snippet is its text around the match.
type Hit struct {
	ID, Session, Role, Snippet string
	At                         time.Time
}

var (
	// ErrTooOld says that a source does not know the changes since that number: the index is made again from All.
	ErrTooOld = errors.New("the changes since then are not known any more")
	// ErrPreparing says that the index was not ready in time; it is being made.
	ErrPreparing = errors.New("the search is still being prepared: try again in a moment")
	// ErrClosed says that Close was called.
	ErrClosed = errors.New("the search is closed")
)

// build is a rebuild that runs. err is set before done is closed.
type build struct {
	done chan struct{}
	err  error
}

// Options says where the index lives. Zero values get the defaults named here.
type Options struct {
	Dir      string // the index's own folder; made at first use
	Source   Source
	Snippet  int          // runes of a snippet; default 160
	MaxLimit int          // most hits of one search; default 200
	Logger   *slog.Logger // default: discards. It gets no text.
}

// Validate says what is wrong with o, nil when it can be used.
func (o Options) Validate() error {
	if o.Dir == "" || o.Source == nil {
		return errors.New("search: Options.Dir and Options.Source are needed")
	}
	return nil
}

// Index is the search over one folder. Its methods may be called from any goroutine.
type Index struct {
	o      Options
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	work   sync.WaitGroup
	turn   chan struct{} // capacity 1: held by whoever changes the index

	mu       sync.Mutex
	current  *generation
	building *build // not nil while a rebuild runs
	closed   bool
}

// New makes an Index without touching the disk.
func New(o Options) (*Index, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Snippet <= 0 {
		o.Snippet = 160
	}
	if o.MaxLimit <= 0 {
		o.MaxLimit = 200
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	x := &Index{o: o, turn: make(chan struct{}, 1)}
	x.ctx, x.cancel = context.WithCancel(context.Background())
	return x, nil
}

// Search finds up to limit documents for what a person typed: those with all words first, then those with any, the best
// first. Any text is a fine query. It first takes in what changed since the last time. Errors: ErrPreparing when ctx ends
// while the index is being made, ErrClosed, the source's.
func (x *Index) Search(ctx context.Context, query string, limit int) ([]Hit, error) {
	if limit <= 0 || limit > x.o.MaxLimit {
		limit = x.o.MaxLimit
	}
	terms := termsOf(query)
	if len(terms) == 0 {
		return nil, nil
	}
	var hits []Hit
	err := x.with(ctx, true, func(g *generation) (err error) {
		hits, err = g.search(ctx, terms, limit, x.o.Snippet)
		return err
	})
	return hits, err
}

// Update takes in what changed, so that a later search has less to do. It opens the index.
func (x *Index) Update(ctx context.Context) error {
	return x.with(ctx, true, func(*generation) error { return nil })
}

// Purge takes in what changed, deletions among it, and rewrites the index's files so that the words of deleted documents are
// in none of them. Without an index on disk there is nothing to do, and none is made.
func (x *Index) Purge(ctx context.Context) error {
	if !x.onDisk() {
		return nil
	}
	return x.with(ctx, true, func(g *generation) error {
		release, err := x.take(ctx)
		if err != nil {
			return err
		}
		defer release()
		return g.purge(ctx)
	})
}

// Rebuild makes the index again from the source's All and waits for it.
func (x *Index) Rebuild(ctx context.Context) error {
	x.startRebuild()
	return x.with(ctx, false, func(*generation) error { return nil })
}

// with runs f on an index that is open and, when fresh, up to date. A damaged one is made again, once.
func (x *Index) with(ctx context.Context, fresh bool, f func(*generation) error) error {
	for attempt := 0; ; attempt++ {
		g, err := x.ready(ctx)
		if err != nil {
			return err
		}
		err = guard(func() error {
			if fresh {
				if err := x.follow(ctx, g); err != nil {
					return err
				}
			}
			return f(g)
		})
		x.release(g)
		var damage *damaged
		again := errors.As(err, &damage) || errors.Is(err, ErrTooOld)
		if !again || attempt > 0 {
			return err
		}
		x.o.Logger.Warn("the search index is made again", "reason", err)
		x.startRebuild()
	}
}

// follow takes in the source's changes since the last one the index has.
func (x *Index) follow(ctx context.Context, g *generation) error {
	release, err := x.take(ctx)
	if err != nil {
		return err
	}
	defer release()
	newest := x.o.Source.Newest()
	if g.seq >= newest {
		return nil
	}
	w := g.writer(g.seq)
	for change, err := range x.o.Source.Changes(ctx, g.seq) {
		if err != nil {
			return errors.Join(err, w.flush())
		}
		if err := w.change(change); err != nil {
			return err
		}
	}
	w.seq = max(w.seq, newest) // most changes are not about documents
	return w.flush()
}

// take is the turn to change the index.
func (x *Index) take(ctx context.Context) (release func(), err error) {
	select {
	case x.turn <- struct{}{}:
		return func() { <-x.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-x.ctx.Done():
		return nil, ErrClosed
	}
}

// Close ends what runs and closes the index. It waits for searches that run.
func (x *Index) Close() error {
	x.mu.Lock()
	if x.closed {
		x.mu.Unlock()
		return nil
	}
	x.closed = true
	g := x.current
	x.current = nil
	x.mu.Unlock()
	x.cancel()
	x.work.Wait()
	if g == nil {
		return nil
	}
	return g.close()
}
