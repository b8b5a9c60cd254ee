package pebblestore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"math/big"
	"strconv"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"sentient/storage/journal"
)

// One damaged block would end every scan that comes to it. So each block of a table gets a mark of its own in the table's index,
// and a scan that may go on (journal.Skipper) leaves blocks with known bad marks out: Pebble then does not read them. It is as
// if such a block were empty; an older value or a deleted row that it covered can show again, which is why scans that decide
// over deletions do not skip.

// markName is the marks' name in a table's properties, for ever.
const markName = "sentient.block"

// marks is Pebble's collector for one table that is being written: a block's mark is the hash of its first key and version,
// which no other block has.
type marks struct {
	mark  uint64
	begun bool
}

// Name implements pebble.BlockPropertyCollector.
func (m *marks) Name() string { return markName }

// AddPointKey implements pebble.BlockPropertyCollector.
func (m *marks) AddPointKey(key pebble.InternalKey, _ []byte) error {
	if !m.begun {
		h := fnv.New64a()
		_, _ = h.Write(key.UserKey)
		var version [8]byte
		binary.LittleEndian.PutUint64(version[:], uint64(key.Trailer))
		_, _ = h.Write(version[:])
		m.mark, m.begun = h.Sum64(), true
	}
	return nil
}

// AddRangeKeys implements pebble.BlockPropertyCollector.
func (m *marks) AddRangeKeys(sstable.Span) error { return nil }

// AddCollectedWithSuffixReplacement implements pebble.BlockPropertyCollector.
func (m *marks) AddCollectedWithSuffixReplacement(_, _, _ []byte) error {
	return errors.New("keys have no suffixes here")
}

// SupportsSuffixReplacement implements pebble.BlockPropertyCollector.
func (m *marks) SupportsSuffixReplacement() bool { return false }

// FinishDataBlock implements pebble.BlockPropertyCollector.
func (m *marks) FinishDataBlock(buf []byte) ([]byte, error) {
	m.begun = false
	return binary.LittleEndian.AppendUint64(buf, m.mark), nil
}

// AddPrevDataBlockToIndexBlock implements pebble.BlockPropertyCollector.
func (m *marks) AddPrevDataBlockToIndexBlock() {}

// FinishIndexBlock implements pebble.BlockPropertyCollector. Blocks of the index and whole tables are never left out by a mark.
func (m *marks) FinishIndexBlock(buf []byte) ([]byte, error) { return append(buf, 0), nil }

// FinishTable implements pebble.BlockPropertyCollector.
func (m *marks) FinishTable(buf []byte) ([]byte, error) { return append(buf, 0), nil }

// around is the filter of one cursor.
type around struct {
	bad  map[uint64]bool
	left map[string]bool // the places that were left out
	last uint64          // the mark of the block that is read now
	any  bool
}

// Name implements pebble.BlockPropertyFilter.
func (a *around) Name() string { return markName }

// Intersects implements pebble.BlockPropertyFilter: false leaves the block out.
func (a *around) Intersects(prop []byte) (bool, error) {
	if len(prop) != 8 {
		return true, nil
	}
	mark := binary.LittleEndian.Uint64(prop)
	if a.bad[mark] {
		a.left[placeOf(mark)] = true
		return false, nil
	}
	a.last, a.any = mark, true
	return true, nil
}

// SyntheticSuffixIntersects implements pebble.BlockPropertyFilter.
func (a *around) SyntheticSuffixIntersects(prop, _ []byte) (bool, error) { return a.Intersects(prop) }

// badBlocks is what cursors have found so far. It is guarded by Store.damageMu.
type badBlocks struct {
	marks  map[uint64]bool
	marked map[string]bool // whether a table, by its path, has marks
	path   string          // the table that was found damaged last
}

// damaged hears from Pebble which file an error is about, before the reader gets the error.
func (s *Store) damaged(info pebble.DataCorruptionInfo) {
	s.damageMu.Lock()
	defer s.damageMu.Unlock()
	s.bad.path = info.Path
}

// mostSkips bounds how many places one scan goes around.
const mostSkips = 10_000

// Skip implements journal.Skipper.
func (c *cursor) Skip() bool {
	var damage *journal.CorruptError
	if c.it == nil || !errors.As(c.err, &damage) {
		return false
	}
	if c.around == nil {
		c.around = &around{bad: c.view.store.knownBad(), left: map[string]bool{}}
		if !c.again() { // what is known by now was enough
			return c.err == nil
		}
	}
	for range mostSkips {
		if mark, ok := c.culprit(); ok {
			c.around.bad[mark] = true
			c.view.store.remember(mark)
		} else if !c.jump() { // nothing can be read between here and the end
			err := c.it.Close()
			c.it, c.err = nil, nil
			var close *journal.CorruptError
			if err = readError(nil, err); err != nil && !errors.As(err, &close) {
				c.err = err
			}
			return c.err == nil
		}
		if !c.again() {
			return c.err == nil
		}
	}
	return false
}

// Left implements journal.Skipper.
func (c *cursor) Left() (places []string) {
	if c.around != nil {
		for place := range c.around.left {
			places = append(places, place)
		}
	}
	return places
}

func placeOf(mark uint64) string { return strconv.FormatUint(mark, 36) }

func (s *Store) knownBad() map[uint64]bool {
	s.damageMu.Lock()
	defer s.damageMu.Unlock()
	known := make(map[uint64]bool, len(s.bad.marks))
	for m := range s.bad.marks {
		known[m] = true
	}
	return known
}

func (s *Store) remember(mark uint64) {
	s.damageMu.Lock()
	defer s.damageMu.Unlock()
	if s.bad.marks == nil {
		s.bad.marks = map[uint64]bool{}
	}
	s.bad.marks[mark] = true
}

// again opens the iterator anew behind the last good key. It says whether that failed on damage as well; any other end of it
// is in c.err.
func (c *cursor) again() (damaged bool) {
	_ = c.it.Close() // with the error that is being gone around
	c.around.any = false
	var ok bool
	c.it, c.err = c.iterator()
	if c.err != nil {
		c.it = nil
		return false
	}
	switch {
	case c.resume != nil && c.reverse:
		ok = c.it.SeekLT(c.resume)
	case c.resume != nil:
		ok = c.it.SeekGE(c.resume)
	case c.last == nil && c.reverse:
		ok = c.it.Last()
	case c.last == nil:
		ok = c.it.First()
	case c.reverse:
		ok = c.it.SeekLT(c.last)
	default:
		ok = c.it.SeekGE(append(bytes.Clone(c.last), 0))
	}
	if err := c.it.Error(); err != nil {
		c.err = readError(c.near(), err)
		var damage *journal.CorruptError
		return errors.As(c.err, &damage)
	}
	c.began, c.ready = true, ok
	return false
}

// culprit is the mark of the block that could not be read, when its table has marks.
func (c *cursor) culprit() (uint64, bool) {
	if !c.around.any || c.around.bad[c.around.last] || !c.view.store.lastHasMarks() {
		return 0, false
	}
	return c.around.last, true
}

// lastHasMarks looks into the table that was found damaged last: one of an older version has no marks, and one whose index is
// damaged cannot be read at all.
func (s *Store) lastHasMarks() bool {
	s.damageMu.Lock()
	defer s.damageMu.Unlock()
	path := s.bad.path
	if known, ok := s.bad.marked[path]; ok || path == "" {
		return known
	}
	if s.bad.marked == nil {
		s.bad.marked = map[string]bool{}
	}
	s.bad.marked[path] = hasMarks(s.fs, path)
	return s.bad.marked[path]
}

func hasMarks(fs vfs.FS, path string) bool {
	marked, err := inspect(fs, path)
	return marked && err == nil
}

// inspect reads a table's index and properties.
func inspect(fs vfs.FS, path string) (marked bool, err error) {
	f, err := fs.Open(path)
	if err != nil {
		return false, err
	}
	readable, err := sstable.NewSimpleReadable(f)
	if err != nil {
		return false, errors.Join(err, f.Close())
	}
	r, err := sstable.NewReader(context.Background(), readable, sstable.ReaderOptions{})
	if err != nil {
		return false, errors.Join(err, readable.Close())
	}
	defer r.Close()
	if _, err := r.Layout(); err != nil {
		return false, err
	}
	p, err := r.ReadPropertiesBlock(context.Background(), nil)
	if err != nil {
		return false, err
	}
	_, marked = p.UserProperties[markName]
	return marked, nil
}

// jump finds the nearest place behind the damage from where reading works, for tables without marks: it tries keys that are
// further and further away, then halves the way back.
func (c *cursor) jump() bool {
	from := c.near()
	c.around.left[journal.Printable(from)] = true
	good, found := c.gallop(from)
	if found {
		c.resume = halve(from, good, c.readable)
	}
	return found
}

// gallop finds a key in the direction of the cursor from where reading works.
func (c *cursor) gallop(from []byte) (good []byte, found bool) {
	for n := len(from); n > 0; n-- {
		k := bytes.Clone(from[:n])
		if c.reverse {
			if n == len(from) {
				continue
			}
			if bytes.Compare(k, c.span.Lo) <= 0 {
				return nil, false
			}
		} else {
			if k = after(k); k == nil || c.span.Hi != nil && bytes.Compare(k, c.span.Hi) >= 0 {
				return nil, false
			}
		}
		if c.readable(k) {
			return k, true
		}
	}
	return nil, false
}

// after is the first key behind all that begin with prefix.
func after(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i]++; prefix[i] != 0 {
			return prefix[:i+1]
		}
	}
	return nil
}

// readable says whether a scan can begin at k.
func (c *cursor) readable(k []byte) bool {
	it, err := c.iterator()
	if err != nil {
		return false
	}
	if c.reverse {
		it.SeekLT(k)
	} else {
		it.SeekGE(k)
	}
	err = it.Error()
	return errors.Join(err, it.Close()) == nil
}

// halve brings good as near to bad as it stays good.
func halve(bad, good []byte, ok func([]byte) bool) []byte {
	size := max(len(bad), len(good)) + 1
	number := func(k []byte) *big.Int {
		return new(big.Int).SetBytes(append(bytes.Clone(k), make([]byte, size-len(k))...))
	}
	b, g := number(bad), number(good)
	one := big.NewInt(1)
	for {
		gap := new(big.Int).Sub(g, b)
		if gap.CmpAbs(one) <= 0 {
			return good
		}
		mid := new(big.Int).Add(b, g)
		mid.Rsh(mid, 1)
		k := mid.FillBytes(make([]byte, size))
		if ok(k) {
			g, good = mid, k
		} else {
			b = mid
		}
	}
}
