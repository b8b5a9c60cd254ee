package pebblestore

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"sentient/storage/journal"
)

// view is a Pebble snapshot: it pins what it can see against compactions, so it is closed soon.
type view struct{ snap *pebble.Snapshot }

// View implements journal.Engine.
func (s *Store) View() journal.View { return view{s.db.NewSnapshot()} }

func (v view) Get(key []byte) ([]byte, bool, error) {
	value, closer, err := v.snap.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, readError(key, err)
	}
	out := append(make([]byte, 0, len(value)), value...)
	return out, true, closer.Close()
}

func (v view) Close() error { return v.snap.Close() }

func (v view) Scan(span journal.Span, reverse bool) journal.Cursor {
	it, err := v.snap.NewIter(&pebble.IterOptions{LowerBound: span.Lo, UpperBound: span.Hi})
	return &cursor{it: it, err: err, span: span, reverse: reverse}
}

// readError names the key that cannot be read when its block is damaged.
func readError(key []byte, err error) error {
	if pebble.IsCorruptionError(err) {
		return &journal.CorruptError{Key: strings.Trim(strconv.QuoteToASCII(string(key)), `"`), Err: err}
	}
	return err
}

type cursor struct {
	it      *pebble.Iterator
	err     error
	span    journal.Span
	reverse bool
	began   bool
	last    []byte // the last good key, to name the place of damage
}

func (c *cursor) Next() bool {
	if c.it == nil || c.err != nil {
		return false
	}
	ok := false
	switch {
	case !c.began && c.reverse:
		ok = c.it.Last()
	case !c.began:
		ok = c.it.First()
	case c.reverse:
		ok = c.it.Prev()
	default:
		ok = c.it.Next()
	}
	c.began = true
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
	c.last = append(c.last[:0], c.it.Key()...)
	return true
}

// near is the key next to which reading failed.
func (c *cursor) near() []byte {
	if len(c.last) > 0 {
		return bytes.Clone(c.last)
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
