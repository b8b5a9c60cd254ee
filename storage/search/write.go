package search

import (
	"encoding/binary"
	"fmt"

	"github.com/blevesearch/bleve/v2"
)

// writer gathers changes into batches. The number of the newest change is written with the batch that has its last
// document, so an interrupted one comes again, and replaces itself.
type writer struct {
	g     *generation
	batch *bleve.Batch
	bytes int
	seq   uint64
	wrote bool // something was stored since the number was
}

// A batch is written at either bound.
const (
	batchDocs  = 1000
	batchBytes = 4 << 20
)

func (g *generation) writer(seq uint64) *writer {
	return &writer{g: g, batch: g.ix.NewBatch(), seq: seq}
}

func (w *writer) add(d Doc) error {
	err := w.batch.Index(d.ID, map[string]any{fieldText: d.Text, fieldSession: d.Session, fieldRole: d.Role, fieldAt: float64(d.At.UnixMilli())})
	if err != nil {
		return fmt.Errorf("document %s could not be indexed: %w", d.ID, err)
	}
	w.bytes += len(d.Text)
	if w.batch.Size() >= batchDocs || w.bytes >= batchBytes {
		return w.write()
	}
	return nil
}

func (w *writer) change(c Change) error {
	for _, d := range c.Add {
		if err := w.add(d); err != nil {
			return err
		}
	}
	for _, id := range c.Delete {
		w.batch.Delete(id)
	}
	if c.DeleteSession != "" {
		if err := w.deleteSession(c.DeleteSession); err != nil {
			return err
		}
	}
	w.seq = max(w.seq, c.Seq)
	return nil
}

// deleteSession deletes what is in the index and what the batch would add.
func (w *writer) deleteSession(session string) error {
	if err := w.write(); err != nil {
		return err
	}
	q := bleve.NewTermQuery(session)
	q.SetField(fieldSession)
	for {
		found, err := w.g.ix.Search(bleve.NewSearchRequestOptions(q, batchDocs, 0, false))
		if err != nil {
			return &damaged{err}
		}
		for _, hit := range found.Hits {
			w.batch.Delete(hit.ID)
		}
		if len(found.Hits) == 0 {
			return nil
		}
		if err := w.write(); err != nil {
			return err
		}
	}
}

// write stores what is gathered, without moving the number on.
func (w *writer) write() error {
	if w.batch.Size() == 0 {
		return nil
	}
	if err := w.g.ix.Batch(w.batch); err != nil {
		return &damaged{err}
	}
	w.batch.Reset()
	w.bytes, w.wrote = 0, true
	return nil
}

// lazyNumbers is how far the number on disk may be behind when nothing else has to be written.
const lazyNumbers = 1000

// flush stores what is gathered and the number.
func (w *writer) flush() error {
	if w.batch.Size() == 0 && !w.wrote && w.seq < w.g.stored+lazyNumbers {
		w.g.seq = w.seq
		return nil
	}
	return w.complete()
}

func (w *writer) complete() error {
	w.batch.SetInternal(seqKey, binary.BigEndian.AppendUint64(nil, w.seq))
	if err := w.g.ix.Batch(w.batch); err != nil {
		return &damaged{err}
	}
	w.batch.Reset()
	w.bytes, w.wrote = 0, false
	w.g.seq, w.g.stored = w.seq, w.seq
	return nil
}
