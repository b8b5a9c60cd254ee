package journal

import (
	"bytes"
	"slices"
)

// entry is where a row is in an index.
type entry struct {
	at, primary []byte
	side        side
}

// scanByRows is a scan of an index that does not read it: every row lists its own entries.
func (r *reader) scanByRows(p *pair, q Scan, yield func(Item, error) bool) {
	base, span := scanSpan(q)
	var found []entry
	rows := rowKey(nil, q.Table, nil)
	prefix := indexBase(nil, q.Table, q.Index)[:base]
	cur := mergeScan(p, under(rows), false)
	cur.around = true
	defer cur.close()
	defer func() { r.report(q.Table, cur) }()
	for cur.next() {
		header, err := r.dec.header(cur.key(), cur.value())
		if err != nil && !r.leaves(q, err) {
			yield(Item{}, err)
			return
		}
		primary := bytes.Clone(cur.key()[len(rows):])
		eachEntry(header, func(index, key []byte) {
			at := append(appendPart(nil, key), primary...)
			if string(index) == q.Index && span.holds(append(bytes.Clone(prefix), at...)) {
				found = append(found, entry{at, primary, cur.at()})
			}
		})
	}
	slices.SortFunc(found, func(a, b entry) int {
		if q.Reverse {
			a, b = b, a
		}
		return bytes.Compare(a.at, b.at)
	})
	for n, e := range found {
		if q.Limit > 0 && n == q.Limit {
			return
		}
		item := Item{Key: e.primary, At: e.at}
		key := rowKey(nil, q.Table, e.primary)
		record, _, err := p.of[e.side].Get(key)
		if err == nil {
			item.Value, err = r.dec.row(key, record, q.Table)
		}
		if (err == nil || !r.leaves(q, err)) && !yield(item, err) {
			return
		}
	}
}
