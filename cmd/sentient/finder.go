package main

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"sync/atomic"
	"time"

	"sentient/actors/msg"
	"sentient/actors/session"
	pb "sentient/proto/session"
	"sentient/storage/journal"
	"sentient/storage/search"
	"sentient/storage/table"
)

// finder is the search over messages: the index fed from the journal's notes.
type finder struct {
	index *search.Index
	feed  *feed
	log   *slog.Logger
	taken atomic.Uint64 // the newest note the index has, as far as known
}

// behind is how many notes the index may lack before it is brought up to date without a search.
const (
	behind    = 2000
	lookEvery = 30 * time.Second
	searchFor = 20 * time.Second
)

func newFinder(dir string, j journal.Journal, t *session.Tables, log *slog.Logger) (*finder, error) {
	f := &finder{feed: &feed{j, t}, log: log}
	var err error
	f.index, err = search.New(search.Options{Dir: dir, Source: f.feed, Logger: log})
	return f, err
}

// found is a hit as GET /api/sessions/search lists it.
type found struct {
	Session string   `json:"session_id"`
	Message string   `json:"message_id"`
	Role    string   `json:"role"`
	Snippet string   `json:"snippet"`
	At      msg.Time `json:"created_at"`
}

// Search finds messages, the best first; never those of incognito chats.
func (f *finder) Search(q string, limit int) ([]any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), searchFor)
	defer cancel()
	hits, err := f.index.Search(ctx, q, limit)
	if errors.Is(err, search.ErrPreparing) {
		return nil, msg.NewFault(msg.Busy, "The search is still being prepared. Try again in a moment.")
	}
	list := []any{}
	for _, h := range hits {
		list = append(list, found{h.Session, h.ID[len(h.Session):], h.Role, h.Snippet, msg.Time{Time: h.At}})
	}
	f.taken.Store(f.feed.Newest())
	return list, err
}

// follow keeps the index from falling so far behind that the next search would have to make it anew. A home in which nothing
// is said never opens it.
func (f *finder) follow(ctx context.Context) {
	f.taken.Store(f.feed.Newest())
	t := time.NewTicker(lookEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		n := f.feed.Newest()
		if n < f.taken.Load()+behind {
			continue
		}
		if err := f.index.Update(ctx); err != nil && ctx.Err() == nil {
			f.log.Warn("the search index could not be brought up to date", "reason", err.Error())
		}
		f.taken.Store(n)
	}
}

func (f *finder) erase(ctx context.Context) error { return f.index.Purge(ctx) }

func (f *finder) close(context.Context) error { return f.index.Close() }

// feed is the journal as the index's source.
type feed struct {
	journal.Journal
	tables *session.Tables
}

// Changes implements search.Source.
func (f *feed) Changes(ctx context.Context, after uint64) iter.Seq2[search.Change, error] {
	return func(yield func(search.Change, error) bool) {
		r, err := f.Read()
		if err != nil {
			yield(search.Change{}, err)
			return
		}
		defer r.Close()
		if oldest := r.Oldest(); oldest > after+1 {
			yield(search.Change{}, search.ErrTooOld)
			return
		}
		for e, err := range r.Log(after) {
			if err == nil {
				err = ctx.Err()
			}
			var c search.Change
			if err == nil {
				c, err = f.change(r, e)
			}
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

func (f *feed) change(r journal.Reader, e journal.Entry) (search.Change, error) {
	c := search.Change{Seq: e.Seq}
	x, ok, err := f.tables.Indexed(r, e)
	if err != nil || !ok {
		return c, err
	}
	switch {
	case x.Add != nil:
		c.Add = []search.Doc{doc(x.Add)}
	case x.Remove != "":
		c.Delete = []string{x.Remove}
	default:
		c.DeleteSession = x.Session
	}
	return c, nil
}

func doc(r *pb.MessageRow) search.Doc {
	return search.Doc{ID: r.Session + r.Id, Session: r.Session, Role: r.Role, Text: r.Content, At: time.UnixMicro(r.CreatedAt)}
}

// All implements search.Source. Incognito chats are in memory only and are left out.
func (f *feed) All(ctx context.Context) iter.Seq2[search.Doc, error] {
	return func(yield func(search.Doc, error) bool) {
		r, err := f.Read()
		if err != nil {
			yield(search.Doc{}, err)
			return
		}
		defer r.Close()
		private := map[string]bool{}
		for row, err := range f.tables.Sessions.Scan(r, table.Query{Index: session.IndexIncognito}) {
			if err != nil {
				yield(search.Doc{}, err)
				return
			}
			private[row.Id] = true
		}
		for row, err := range f.tables.Messages.Scan(r, table.Query{}) {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(search.Doc{}, err)
				return
			}
			if session.Searchable(row) && !private[row.Session] && !yield(doc(row), nil) {
				return
			}
		}
	}
}
