package journal

import (
	"bytes"
	"iter"
	"sync"
)

// Read implements Journal.
func (c *Committer) Read() (Reader, error) {
	p, err := c.views.acquire()
	if err != nil {
		return nil, err
	}
	return &reader{views: c.views, pair: p, dec: c.dec}, nil
}

// reader merges the two engines. mu lets Close wait for a call that still uses the view.
type reader struct {
	views *views
	dec   decoder
	mu    sync.RWMutex
	pair  *pair
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
	defer cur.close()
	for n := 0; (q.Limit <= 0 || n < q.Limit) && cur.next(); {
		item, ok, err := r.item(p, q, base, cur)
		if !ok && err == nil {
			continue
		}
		n++
		if !yield(item, err) {
			return
		}
	}
	if err := cur.err(); err != nil {
		yield(Item{}, err)
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
		_, primary, whole := cutPart(item.At)
		if !whole {
			return item, false, &CorruptError{printable(cur.key()), errShape}
		}
		item.Key = primary
		key = rowKey(nil, q.Table, primary)
		if record, ok, err = p.of[cur.at()].Get(key); err != nil || !ok {
			return item, false, err
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
			defer cur.close()
			for cur.next() {
				note, err := r.dec.note(cur.key(), bytes.Clone(cur.value()))
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
		defer cur.close()
		if cur.next() {
			seq = tailNumber(cur.key())
		}
	})
	return seq
}

// merged walks the same span of both engines in one order. No key is in both: a stream lives in one of them.
type merged struct {
	cur     [sides]Cursor
	has     [sides]bool
	reverse bool
	now     side
	started bool
}

func mergeScan(p *pair, span Span, reverse bool) *merged {
	m := &merged{reverse: reverse}
	for i, v := range p.of {
		m.cur[i] = v.Scan(span, reverse)
	}
	return m
}

func (m *merged) next() bool {
	for i := range m.cur {
		if !m.started || side(i) == m.now {
			m.has[i] = m.cur[i].Next()
		}
	}
	m.started = true
	switch {
	case m.has[onDisk] && m.has[inMemory]:
		first := bytes.Compare(m.cur[onDisk].Key(), m.cur[inMemory].Key()) < 0
		m.now = inMemory
		if first != m.reverse {
			m.now = onDisk
		}
	case m.has[onDisk]:
		m.now = onDisk
	case m.has[inMemory]:
		m.now = inMemory
	default:
		return false
	}
	return true
}

func (m *merged) key() []byte   { return m.cur[m.now].Key() }
func (m *merged) value() []byte { return m.cur[m.now].Value() }
func (m *merged) at() side      { return m.now }

func (m *merged) err() error {
	for _, c := range m.cur {
		if err := c.Err(); err != nil {
			return err
		}
	}
	return nil
}

func (m *merged) close() {
	for _, c := range m.cur {
		_ = c.Close()
	}
}
