package journal

import (
	"bytes"
	"errors"
	"iter"
	"sync"
)

// Read implements Journal.
func (c *Committer) Read() (Reader, error) {
	p, err := c.views.acquire()
	if err != nil {
		return nil, err
	}
	return &reader{views: c.views, pair: p, dec: c.dec, damages: &c.damages}, nil
}

// reader merges the two engines. mu lets Close wait for a call that still uses the view.
type reader struct {
	views   *views
	dec     decoder
	damages *damages
	mu      sync.RWMutex
	pair    *pair
}

func (r *reader) Close() error {
	r.mu.Lock()
	p := r.pair
	r.pair = nil
	r.mu.Unlock()
	if p != nil {
		r.views.release(p)
	}
	return nil
}

func (r *reader) Get(table string, key []byte) ([]byte, bool, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.pair == nil {
		return nil, false, ErrClosed
	}
	k := rowKey(nil, table, key)
	for _, v := range r.pair.of {
		record, ok, err := v.Get(k)
		if err != nil {
			return nil, false, err
		}
		if ok {
			value, err := r.dec.row(k, record, table)
			return value, err == nil, err
		}
	}
	return nil, false, nil
}

// use keeps the view open while f runs, also when f's consumer closes the reader from within the loop.
func (r *reader) use(f func(p *pair)) error {
	r.mu.RLock()
	p := r.pair
	if p != nil {
		r.views.retain(p)
	}
	r.mu.RUnlock()
	if p == nil {
		return ErrClosed
	}
	defer r.views.release(p)
	f(p)
	return nil
}

func (r *reader) Scan(q Scan) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		if err := r.use(func(p *pair) { r.scan(p, q, yield) }); err != nil {
			yield(Item{}, err)
		}
	}
}

func (r *reader) scan(p *pair, q Scan, yield func(Item, error) bool) {
	base, span := scanSpan(q)
	cur := mergeScan(p, span, q.Reverse)
	// An index that cannot be read is not gone around: the rows themselves know what it says.
	cur.around = !q.Whole && q.Index == ""
	defer cur.close()
	defer func() { r.report(q.Table, cur) }()
	n := 0
	for (q.Limit <= 0 || n < q.Limit) && cur.next() {
		item, ok, err := r.item(p, q, base, cur)
		q.From, q.After = item.At, true
		if !ok && (err == nil || r.leaves(q, err)) {
			continue
		}
		n++
		if !yield(item, err) {
			return
		}
	}
	err := cur.err()
	switch {
	case err == nil:
	case q.Index != "" && isDamage(err) && r.leaves(q, &CorruptError{Key: "index " + q.Index, Err: err}):
		if q.Limit > 0 {
			q.Limit -= n
		}
		r.scanByRows(p, q, yield)
	default:
		yield(Item{}, err)
	}
}

// leaves says whether a scan goes on without a row that gave err, and reports it.
func (r *reader) leaves(q Scan, err error) bool {
	var damage *CorruptError
	if q.Whole || !errors.As(err, &damage) {
		return false
	}
	r.damages.note(q.Table, damage.Key)
	return true
}

func isDamage(err error) bool {
	var damage *CorruptError
	return errors.As(err, &damage)
}

// Damaged implements Damaged.
func (r *reader) Damaged(table string, err *CorruptError) { r.damages.note(table, err.Key) }

// report notes what cur went around.
func (r *reader) report(part string, cur *merged) {
	for _, c := range cur.cur {
		if s, ok := c.(Skipper); ok {
			for _, place := range s.Left() {
				r.damages.note(part, place)
			}
		}
	}
}

// scanSpan is where a scan looks. base is what its keys begin with before the part the caller knows.
func scanSpan(q Scan) (base int, span Span) {
	var start []byte
	prefix := q.Prefix
	if q.Index == "" {
		start = rowKey(nil, q.Table, nil)
	} else {
		start = indexBase(nil, q.Table, q.Index)
		prefix = appendEscaped(nil, q.Prefix)
	}
	base = len(start)
	span = under(append(bytes.Clone(start), prefix...))
	if q.From == nil {
		return base, span
	}
	from := append(bytes.Clone(start), q.From...)
	if q.Reverse != q.After {
		from = append(from, 0) // the first key after it
	}
	if q.Reverse && bytes.Compare(from, span.Hi) < 0 {
		span.Hi = from
	} else if !q.Reverse && bytes.Compare(from, span.Lo) > 0 {
		span.Lo = from
	}
	return base, span
}

// item is the row a scan's cursor is at. ok is false for an index entry whose row is gone (a damaged row was deleted).
func (r *reader) item(p *pair, q Scan, base int, cur *merged) (item Item, ok bool, err error) {
	item.At = bytes.Clone(cur.key()[base:])
	var key, record []byte
	if q.Index == "" {
		item.Key = item.At
		key, record = cur.key(), bytes.Clone(cur.value())
	} else {
		at, primary, whole := cutPart(item.At)
		if !whole {
			return item, false, &CorruptError{Printable(cur.key()), errShape}
		}
		item.Key = primary
		key = rowKey(nil, q.Table, primary)
		if record, ok, err = p.of[cur.at()].Get(key); err != nil || !ok {
			return item, false, err
		}
		if listed, err := r.dec.lists(key, record, IndexEntry{q.Index, at}); err != nil || !listed {
			return item, false, err // the entry of an older row, whose going could not be read
		}
	}
	item.Value, err = r.dec.row(key, record, q.Table)
	return item, err == nil, err
}

func (r *reader) Log(after uint64) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if after == ^uint64(0) {
			return
		}
		err := r.use(func(p *pair) {
			span := under([]byte(noteSpace))
			span.Lo = noteKey(nil, after+1)
			cur := mergeScan(p, span, false)
			cur.around = true
			defer cur.close()
			defer func() { r.report(partNotes, cur) }()
			for cur.next() {
				note, err := r.dec.note(cur.key(), bytes.Clone(cur.value()))
				if r.leaves(Scan{Table: partNotes}, err) {
					continue
				}
				if !yield(Entry{tailNumber(cur.key()), note}, err) {
					return
				}
			}
			if err := cur.err(); err != nil {
				yield(Entry{}, err)
			}
		})
		if err != nil {
			yield(Entry{}, err)
		}
	}
}

func (r *reader) Oldest() (seq uint64) {
	_ = r.use(func(p *pair) {
		cur := mergeScan(p, under([]byte(noteSpace)), false)
		cur.around = true
		defer cur.close()
		if cur.next() {
			seq = tailNumber(cur.key())
		}
	})
	return seq
}
