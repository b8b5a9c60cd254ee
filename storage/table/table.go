// Package table owns typed rows with secondary indexes. A row is written in the same batch as the events that change it,
// and read from a consistent view without any mailbox.
package table

import (
	"errors"
	"fmt"
	"iter"

	"sentient/storage/journal"
)

// Index is one way to find rows besides their primary key. Keys gives the entries of a row, in no order; none leaves it out.
type Index[T any] struct {
	Name string
	Keys func(T) [][]byte
}

// Options describe a table.
type Options[T any] struct {
	Name    string
	Encode  func(T) ([]byte, error)
	Decode  func([]byte) (T, error)
	Key     func(T) []byte // the primary key; it never holds a person's text
	Indexes []Index[T]
}

// Validate says what is missing.
func (o Options[T]) Validate() error {
	if o.Name == "" || o.Encode == nil || o.Decode == nil || o.Key == nil {
		return errors.New("table: Name, Encode, Decode and Key are needed")
	}
	for _, i := range o.Indexes {
		if i.Name == "" || i.Keys == nil {
			return fmt.Errorf("table %s: an index needs a Name and Keys", o.Name)
		}
	}
	return nil
}

// Table writes and reads the rows of one type. It holds no data and is safe for concurrent use.
type Table[T any] struct{ o Options[T] }

// New makes a table. It panics when o is not valid: a table is declared in code, not by input.
func New[T any](o Options[T]) *Table[T] {
	if err := o.Validate(); err != nil {
		panic(err)
	}
	return &Table[T]{o}
}

// Name is the table's name.
func (t *Table[T]) Name() string { return t.o.Name }

// Put is the change that writes v with all its index entries. A row that cannot be encoded is a fault of the code, and panics.
func (t *Table[T]) Put(v T) journal.Row {
	b, err := t.o.Encode(v)
	if err != nil {
		panic(fmt.Errorf("table %s: a row cannot be encoded: %w", t.o.Name, err))
	}
	if b == nil {
		b = []byte{} // nil would delete
	}
	row := journal.Row{Table: t.o.Name, Key: t.o.Key(v), Value: b}
	for _, i := range t.o.Indexes {
		for _, k := range i.Keys(v) {
			row.Index = append(row.Index, journal.IndexEntry{Index: i.Name, Key: k})
		}
	}
	return row
}

// Delete is the change that removes a row and its index entries.
func (t *Table[T]) Delete(key []byte) journal.Row { return journal.Row{Table: t.o.Name, Key: key} }

// Get reads one row.
func (t *Table[T]) Get(r journal.Reader, key []byte) (v T, ok bool, err error) {
	b, ok, err := r.Get(t.o.Name, key)
	if err != nil || !ok {
		return v, false, err
	}
	v, err = t.decode(key, b)
	return v, err == nil, err
}

// Scan reads rows; q.Table is filled in. After an error the scan ends.
func (t *Table[T]) Scan(r journal.Reader, q journal.Scan) iter.Seq2[T, error] {
	q.Table = t.o.Name
	return func(yield func(T, error) bool) {
		for item, err := range r.Scan(q) {
			var v T
			if err == nil {
				v, err = t.decode(item.Key, item.Value)
			}
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

func (t *Table[T]) decode(key, b []byte) (T, error) {
	v, err := t.o.Decode(b)
	if err != nil {
		return v, &journal.CorruptError{Key: fmt.Sprintf("%s/%x", t.o.Name, key), Err: err}
	}
	return v, nil
}
