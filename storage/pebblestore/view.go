package pebblestore

import (
	"bytes"
	"errors"
	"syscall"

	"github.com/cockroachdb/pebble/v2"

	"sentient/storage/journal"
)

// view is a Pebble snapshot: it pins what it can see against compactions, so it is closed soon.
type view struct {
	store *Store
	snap  *pebble.Snapshot
}

// View implements journal.Engine.
func (s *Store) View() journal.View { return view{s, s.db.NewSnapshot()} }

func (v view) Get(key []byte) ([]byte, bool, error) {
	value, closer, err := v.snap.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return v.getAside(key, readError(key, err))
	}
	out := append(make([]byte, 0, len(value)), value...)
	return out, true, closer.Close()
}

// getAside asks for a key again whose place is in a damaged block, which may be there and not hold it: unlike Get, an iterator
// can ask the lowest level's filter as well. When that does not rule it out, why is the answer.
func (v view) getAside(key []byte, why error) ([]byte, bool, error) {
	it, err := v.snap.NewIter(&pebble.IterOptions{UseL6Filters: true})
	if err != nil {
		return nil, false, why
	}
	var value []byte
	ok := it.SeekPrefixGE(key) && bytes.Equal(it.Key(), key)
	if ok {
		if value, err = it.ValueAndErr(); err == nil {
			value = append(make([]byte, 0, len(value)), value...)
		}
	}
	if errors.Join(err, it.Error(), it.Close()) != nil {
		return nil, false, why
	}
	return value, ok, nil
}

func (v view) Close() error { return v.snap.Close() }

func (v view) Scan(span journal.Span, reverse bool) journal.Cursor {
	c := &cursor{view: v, span: span, reverse: reverse}
	c.it, c.err = c.iterator()
	return c
}

// errBlock is what is said of a damaged block: Pebble's own words may hold keys and paths.
var errBlock = errors.New("the part of the file that holds it is damaged")

// readError names the key that cannot be read when its block is damaged, or the disk fails under it.
func readError(key []byte, err error) error {
	if pebble.IsCorruptionError(err) || errors.Is(err, syscall.EIO) {
		return &journal.CorruptError{Key: journal.Printable(key), Err: errBlock}
	}
	return err
}

type cursor struct {
	view    view
	it      *pebble.Iterator
	err     error
	span    journal.Span
	reverse bool
	began   bool
	ready   bool    // it is at an entry that Next has not told of
	around  *around // leaves out what cannot be read; nil until Skip was called
	resume  []byte  // where to go on from instead of the last good key: there or behind it, backwards before it
	last    []byte  // the last good key, to name the place of damage
}

func (c *cursor) iterator() (*pebble.Iterator, error) {
	o := &pebble.IterOptions{LowerBound: c.span.Lo, UpperBound: c.span.Hi}
	if c.around != nil {
		o.PointKeyFilters = []pebble.BlockPropertyFilter{c.around}
	}
	return c.view.snap.NewIter(o)
}

func (c *cursor) Next() bool {
	if c.it == nil || c.err != nil {
		return false
	}
	ok := false
	switch {
	case c.ready:
		ok = true
	case !c.began && c.reverse:
		ok = c.it.Last()
	case !c.began:
		ok = c.it.First()
	case c.reverse:
		ok = c.it.Prev()
	default:
		ok = c.it.Next()
	}
	c.began, c.ready = true, false
	if !ok {
		if err := c.it.Error(); err != nil {
			c.err = readError(c.near(), err)
		}
		return false
	}
	if _, err := c.it.ValueAndErr(); err != nil {
		c.err = readError(c.it.Key(), err)
		return false
	}
	c.last, c.resume = append(c.last[:0], c.it.Key()...), nil
	return true
}

// near is the key next to which reading failed.
func (c *cursor) near() []byte {
	switch {
	case c.resume != nil:
		return c.resume
	case len(c.last) > 0:
		return bytes.Clone(c.last)
	case c.reverse:
		return c.span.Hi
	}
	return c.span.Lo
}

func (c *cursor) Key() []byte   { return c.it.Key() }
func (c *cursor) Value() []byte { return c.it.Value() }
func (c *cursor) Err() error    { return c.err }

func (c *cursor) Close() error {
	if c.it == nil {
		return nil
	}
	err := c.it.Close()
	c.it = nil
	return err
}
