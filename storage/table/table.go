// Package table owns typed rows with secondary indexes: it turns values into the journal's rows, which their stream's owner
// writes in the same batch as its events, and reads them from any consistent view without a mailbox.
package table

import (
	"errors"
	"fmt"
	"iter"

	"sentient/storage/journal"
)

// Options describes a table of T.
type Options[T any] struct {
	Name    string                  // the table's name in the store, for ever
	Key     func(T) []byte          // the primary key; never a person's text
	Encode  func(T) []byte          // for protobuf messages: Proto
	Decode  func([]byte) (T, error) // must refuse what Encode cannot have made
	Indexes []Index[T]
}

// Index finds rows by something else than the primary key. Rows with equal keys sort by primary key. A changed meaning of
// Keys needs a new Name: the entries of rows that are not written again stay as they are.
type Index[T any] struct {
	Name string
	Keys func(T) [][]byte // the entries of a row, none to leave it out; never a person's text
}

// Table is one table of T. It has no state and may be used from any goroutine.
type Table[T any] struct{ o Options[T] }

// Validate says what is wrong with o, nil when it can be used.
func (o Options[T]) Validate() error {
	if o.Name == "" || o.Key == nil || o.Encode == nil || o.Decode == nil {
		return errors.New("table: Name, Key, Encode and Decode are needed")
	}
	seen := map[string]bool{"": true} // the empty name means the primary key
	for _, ix := range o.Indexes {
		if seen[ix.Name] || ix.Keys == nil {
			return fmt.Errorf("table %s: index %q needs a name of its own and Keys", o.Name, ix.Name)
		}
		seen[ix.Name] = true
	}
	return nil
}

// New makes a table. It panics on options that do not validate: tables are wired at start, with constants.
func New[T any](o Options[T]) *Table[T] {
	if err := o.Validate(); err != nil {
		panic(err)
	}
	return &Table[T]{o}
}

// Name is the table's name in the store.
func (t *Table[T]) Name() string { return t.o.Name }

// Put is the row that stores v, for an Append's Rows.
func (t *Table[T]) Put(v T) journal.Row {
	row := journal.Row{Table: t.o.Name, Key: t.o.Key(v), Value: t.o.Encode(v)}
	if row.Value == nil {
		row.Value = []byte{} // nil would delete
	}
	for _, ix := range t.o.Indexes {
		for _, key := range ix.Keys(v) {
			row.Index = append(row.Index, journal.IndexEntry{Index: ix.Name, Key: key})
		}
	}
	return row
}

// Delete is the row that deletes what is stored under key.
func (t *Table[T]) Delete(key []byte) journal.Row { return journal.Row{Table: t.o.Name, Key: key} }

// Prefix names all rows whose primary key starts with key, for an Append's Prefixes.
func (t *Table[T]) Prefix(key []byte) journal.Prefix {
	return journal.Prefix{Table: t.o.Name, Key: key}
}

// Get reads one row. Errors: *journal.CorruptError, journal.ErrClosed.
func (t *Table[T]) Get(r journal.Reader, key []byte) (v T, ok bool, err error) {
	value, ok, err := r.Get(t.o.Name, key)
	if err != nil || !ok {
		return v, false, err
	}
	v, err = t.decode(key, value)
	return v, err == nil, err
}

func (t *Table[T]) decode(key, value []byte) (T, error) {
	v, err := t.o.Decode(value)
	if err != nil {
		return v, &journal.CorruptError{Key: fmt.Sprintf("%s/%q", t.o.Name, key), Err: err}
	}
	return v, nil
}

// leaves says whether a scan goes on without a row that gave err, and has it reported.
func (t *Table[T]) leaves(r journal.Reader, err error) bool {
	var damage *journal.CorruptError
	if !errors.As(err, &damage) {
		return false
	}
	if d, ok := r.(journal.Damaged); ok {
		d.Damaged(t.o.Name, damage)
	}
	return true
}

// Query selects rows; its fields are those of journal.Scan.
type Query struct {
	Index   string // "": by primary key
	Prefix  []byte
	From    []byte // a Found.At, or journal.IndexFrom of an index key
	After   bool
	Reverse bool
	Limit   int
	Whole   bool // a row that cannot be read is an error; otherwise it is left out and reported
}

// Found is a row and where a scan found it.
type Found[T any] struct {
	Value T
	Key   []byte // the primary key
	At    []byte // for Query.From, to go on from here
}

// Scan yields the values that q selects. With Whole, after an error for one damaged row it goes on when the consumer does.
func (t *Table[T]) Scan(r journal.Reader, q Query) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for f, err := range t.Find(r, q) {
			if !yield(f.Value, err) {
				return
			}
		}
	}
}

// Find is Scan with the keys, for pages.
func (t *Table[T]) Find(r journal.Reader, q Query) iter.Seq2[Found[T], error] {
	return func(yield func(Found[T], error) bool) {
		scan := journal.Scan{Table: t.o.Name, Index: q.Index, Prefix: q.Prefix, From: q.From, After: q.After, Reverse: q.Reverse, Limit: q.Limit, Whole: q.Whole}
		for item, err := range r.Scan(scan) {
			f := Found[T]{Key: item.Key, At: item.At}
			if err == nil {
				f.Value, err = t.decode(item.Key, item.Value)
			}
			if !q.Whole && t.leaves(r, err) {
				continue
			}
			if !yield(f, err) {
				return
			}
		}
	}
}
