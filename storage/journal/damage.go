package journal

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
)

// Damage is a part of the store of which something could not be read since the start. It was left out of what was read, and
// nothing of it was removed.
type Damage struct {
	Part   string `json:"part"`   // the name of a table, "notes", "streams" (which are not opened) or "bookkeeping"
	Places int    `json:"places"` // how many records or blocks of records
}

// damages is what readers came upon.
type damages struct {
	log *slog.Logger

	mu    sync.Mutex
	seen  map[[2]string]bool
	parts map[string]int
}

// The parts that are not tables.
const (
	partNotes   = "notes"
	partStreams = "streams"
	partOwn     = "bookkeeping"
)

// Damaged is a Reader that takes note of a row whose value its table cannot read.
type Damaged interface {
	Damaged(table string, err *CorruptError)
}

// mostPlaces bounds what is remembered; further places are not counted.
const mostPlaces = 10_000

// note remembers one place. The first of a part is logged.
func (d *damages) note(part, place string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	id := [2]string{part, place}
	if d.seen[id] || len(d.seen) >= mostPlaces {
		return
	}
	if d.seen == nil {
		d.seen, d.parts = map[[2]string]bool{}, map[string]int{}
	}
	d.seen[id] = true
	d.parts[part]++
	if d.parts[part] == 1 {
		d.log.Error("something of the store cannot be read and is left out; the rest is used and nothing was removed", "part", part)
	}
}

func (d *damages) list() (all []Damage) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for part, n := range d.parts {
		all = append(all, Damage{part, n})
	}
	slices.SortFunc(all, func(a, b Damage) int { return strings.Compare(a.Part, b.Part) })
	return all
}

// Damage says what could not be read since the start, by part.
func (c *Committer) Damage() []Damage { return c.damages.list() }

// Examine reads all that an engine holds and says what cannot be read, by part. It changes nothing. Errors: *NewerError when the
// store is of a newer format than schema (0: 1), the context's, and what the disk says.
func Examine(ctx context.Context, e Engine, schema uint64) ([]Damage, error) {
	d := damages{log: slog.New(slog.DiscardHandler)}
	v := e.View()
	defer v.Close()
	found, _, err := storedSchema(v)
	if err = d.tell(partOwn, err); err != nil {
		return nil, err
	}
	if known := max(schema, 1); found > known {
		return nil, &NewerError{Found: found, Known: known}
	}
	cur := v.Scan(Span{[]byte{0}, []byte{0xFF}}, false)
	defer cur.Close()
	part := partOwn
	for n := 0; ; n++ {
		if !cur.Next() {
			if err := d.tell(part, cur.Err()); err != nil || !goAround(cur) {
				return d.list(), err
			}
			continue
		}
		part = partOf(cur.Key())
		if !bytes.HasPrefix(cur.Key(), []byte(indexSpace)) { // an index entry has no value
			_, _, err := open(cur.Key(), cur.Value())
			_ = d.tell(part, err)
		}
		if n%1024 == 0 && ctx.Err() != nil {
			return d.list(), ctx.Err()
		}
	}
}

// tell notes err when it is damage, and returns it when it is not.
func (d *damages) tell(part string, err error) error {
	var damage *CorruptError
	if !errors.As(err, &damage) {
		return err
	}
	d.note(part, damage.Key)
	return nil
}

// partOf is the part a key belongs to.
func partOf(key []byte) string {
	for space, part := range map[string]string{noteSpace: partNotes, eventSpace: partStreams, snapshotSpace: partStreams, checkpointSpace: partStreams} {
		if bytes.HasPrefix(key, []byte(space)) {
			return part
		}
	}
	for _, space := range []string{rowSpace, indexSpace} {
		if rest, ok := bytes.CutPrefix(key, []byte(space)); ok {
			if table, _, ok := cutPart(rest); ok {
				return string(table)
			}
		}
	}
	return partOwn
}

// goAround goes on behind what cur could not read, and says whether it did.
func goAround(cur Cursor) bool {
	var damage *CorruptError
	s, ok := cur.(Skipper)
	return ok && errors.As(cur.Err(), &damage) && s.Skip()
}

// nextReadable is Next for those who can do without what cannot be read.
func nextReadable(cur Cursor) bool {
	for {
		if cur.Next() {
			return true
		}
		if !goAround(cur) {
			return false
		}
	}
}

// StoreError: the store as a whole is damaged and was not opened. Nothing was removed.
type StoreError struct {
	Dir  string // the store's folder
	What string // what is wrong, a clause that names the file
	Do   string // what else can be done than to put a backup back, a sentence; may be empty
	Err  error
}

func (e *StoreError) Error() string {
	s := "the store in " + e.Dir + " is damaged: " + e.What + ". Nothing was removed. Put a backup of this folder in its place"
	if e.Do != "" {
		s += ". " + e.Do
	}
	return s
}
func (e *StoreError) Unwrap() error { return e.Err }

func wentAround(cur Cursor) bool {
	s, ok := cur.(Skipper)
	return ok && len(s.Left()) > 0
}
