package journal

import (
	"bytes"
	"errors"
	"maps"
)

// overlay is what a batch (or an append) has done to rows, over the view it began with: a row's header by its key (nil: no
// row), and the spans that were emptied before those rows.
type overlay struct {
	rows map[string][]byte
	gone []Span
}

func (o *overlay) reset() {
	clear(o.rows)
	o.gone = o.gone[:0]
}

func (o *overlay) put(key, header []byte) {
	if o.rows == nil {
		o.rows = map[string][]byte{}
	}
	o.rows[string(key)] = header
}

// header says what the overlay knows of a row.
func (o *overlay) header(key []byte) (header []byte, known bool) {
	if h, ok := o.rows[string(key)]; ok {
		return h, true
	}
	for _, s := range o.gone {
		if s.holds(key) {
			return nil, true
		}
	}
	return nil, false
}

// merge puts a later overlay on top.
func (o *overlay) merge(later *overlay) {
	for _, s := range later.gone {
		for key := range o.rows {
			if s.holds([]byte(key)) {
				o.rows[key] = nil
			}
		}
		o.gone = append(o.gone, s)
	}
	if len(later.rows) > 0 {
		if o.rows == nil {
			o.rows = map[string][]byte{}
		}
		maps.Copy(o.rows, later.rows)
	}
}

// pointDeletes is up to how many rows a prefix is deleted one by one: range tombstones make every later read dearer.
const pointDeletes = 64

// stageRows adds an append's prefixes, then its rows. It is the only part of an append that can fail half-way.
func (w *writer) stageRows(at side, a *Append) error {
	for _, p := range a.Prefixes {
		if err := w.dropPrefix(at, p); err != nil {
			return err
		}
	}
	gone := goneRows{}
	for i := range a.Rows {
		deleted, err := w.stageRow(at, &a.Rows[i])
		if err != nil {
			return err
		}
		if deleted && a.Delete {
			gone.add(a.Rows[i].Table, w.key)
		}
	}
	gone.spans(w)
	return nil
}

// goneRows gathers, by table, between which keys an append deleted rows.
type goneRows map[string]Span

func (g goneRows) add(table string, key []byte) {
	s, ok := g[table]
	if !ok || bytes.Compare(key, s.Lo) < 0 {
		s.Lo = bytes.Clone(key)
	}
	if !ok || !s.holds(key) {
		s.Hi = only(key).Hi
	}
	g[table] = s
}

func (g goneRows) spans(w *writer) {
	for table, s := range g {
		w.spans = append(w.spans, s, under(appendPart([]byte(indexSpace), table)))
	}
}

// oldHeader is the header of a row as the batch so far leaves it; exists is false when there is no row.
func (w *writer) oldHeader(at side, key []byte) (header []byte, exists bool, err error) {
	if h, known := w.own.header(key); known {
		return h, h != nil, nil
	}
	if h, known := w.rows[at].header(key); known {
		return h, h != nil, nil
	}
	record, ok, err := w.view.of[at].Get(key)
	if err != nil || !ok {
		return nil, false, err
	}
	header, err = w.c.dec.header(key, record)
	return header, true, err
}

func (d decoder) header(key, record []byte) ([]byte, error) {
	_, payload, err := d.payload(key, record)
	if err != nil {
		return nil, err
	}
	header, _, ok := cutHeader(payload)
	if !ok {
		return nil, &CorruptError{Printable(key), errShape}
	}
	return header, nil
}

// stageRow puts or deletes one row and what changes of its index entries. It leaves the row's key in w.key.
func (w *writer) stageRow(at side, r *Row) (deleted bool, err error) {
	w.key = rowKey(w.key, r.Table, r.Key)
	old, exists, err := w.oldHeader(at, w.key)
	if err != nil {
		var damage *CorruptError
		if !errors.As(err, &damage) {
			return false, err
		}
		// A row is always written whole, by its owner: what it replaces need not be read, but for its index entries.
		old, exists = nil, true
		if err := w.sweepIndex(at, r.Table, r.Key); err != nil {
			return false, err
		}
	}
	w.dropStale(at, r, old)
	if r.Value == nil {
		if exists {
			w.batch[at].Delete(w.key)
		}
		w.own.put(w.key, nil)
		return exists, nil
	}
	for _, e := range r.Index {
		if !entryIn(old, e) {
			w.idx = indexKey(w.idx, r.Table, []byte(e.Index), e.Key, r.Key)
			w.batch[at].Set(w.idx, nil)
		}
	}
	header := appendHeader(make([]byte, 0, 8+24*len(r.Index)), r.Index)
	w.head = append(append(w.head[:0], header...), r.Value...)
	w.set(at, w.key, w.head)
	w.own.put(w.key, header)
	return false, nil
}

// dropStale deletes the old row's index entries that the new one does not have.
func (w *writer) dropStale(at side, r *Row, old []byte) {
	if len(old) == 0 {
		return
	}
	eachEntry(old, func(index, key []byte) {
		if r.Value != nil {
			for _, e := range r.Index {
				if e.Index == string(index) && bytes.Equal(e.Key, key) {
					return
				}
			}
		}
		w.idx = indexKey(w.idx, r.Table, index, key, r.Key)
		w.batch[at].Delete(w.idx)
	})
}

func entryIn(header []byte, e IndexEntry) (found bool) {
	if len(header) == 0 {
		return false
	}
	eachEntry(header, func(index, key []byte) {
		found = found || (e.Index == string(index) && bytes.Equal(e.Key, key))
	})
	return found
}

// sweepIndex deletes every index entry of a row whose own list of them is damaged.
func (w *writer) sweepIndex(at side, table string, primary []byte) error {
	base := appendPart([]byte(indexSpace), table)
	cur := w.view.of[at].Scan(under(base), false)
	defer cur.Close()
	for nextReadable(cur) { // an entry that cannot be read is one without a row then
		if _, rest, ok := cutPart(cur.Key()[len(base):]); ok {
			if _, pk, ok := cutPart(rest); ok && bytes.Equal(pk, primary) {
				w.batch[at].Delete(cur.Key())
			}
		}
	}
	return cur.Err()
}

// dropPrefix deletes all rows under p with their index entries: those of the view and those this batch put.
func (w *writer) dropPrefix(at side, p Prefix) error {
	span := under(rowKey(nil, p.Table, p.Key))
	base := len(appendPart([]byte(rowSpace), p.Table))
	var keys [][]byte
	drop := func(key, header []byte) {
		w.dropStale(at, &Row{Table: p.Table, Key: key[base:]}, header)
		keys = append(keys, bytes.Clone(key))
	}
	cur := w.view.of[at].Scan(span, false)
	defer cur.Close()
	for nextReadable(cur) {
		key := cur.Key()
		if w.knows(at, key) {
			continue
		}
		header, err := w.c.dec.header(key, cur.Value())
		if err != nil {
			var damage *CorruptError
			if !errors.As(err, &damage) {
				return err
			}
			if err := w.sweepIndex(at, p.Table, key[base:]); err != nil {
				return err
			}
		}
		drop(key, header)
	}
	if err := cur.Err(); err != nil {
		return err
	}
	for key, header := range w.rows[at].rows {
		if own, known := w.own.header([]byte(key)); header == nil || known && own == nil || !span.holds([]byte(key)) {
			continue
		}
		drop([]byte(key), header)
	}
	w.dropKeys(at, p, span, keys, wentAround(cur))
	return nil
}

// knows says whether the batch so far decides what the row is.
func (w *writer) knows(at side, key []byte) bool {
	if _, known := w.own.header(key); known {
		return true
	}
	_, known := w.rows[at].header(key)
	return known
}

// dropKeys deletes the rows of a span: keys, and with unread more that could not be read.
func (w *writer) dropKeys(at side, p Prefix, span Span, keys [][]byte, unread bool) {
	if len(keys) == 0 && !unread {
		return
	}
	if len(keys) <= pointDeletes && !unread {
		for _, key := range keys {
			w.batch[at].Delete(key)
		}
	} else {
		w.batch[at].DeleteRange(span)
	}
	w.own.gone = append(w.own.gone, span)
	w.spans = append(w.spans, span, under(appendPart([]byte(indexSpace), p.Table)))
}
