package journal

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
)

// recoverWriter reads from the disk engine what the committer goes on from.
func recoverWriter(ctx context.Context, c *Committer) (*writer, error) {
	w := &writer{c: c, stored: map[Stream][]uint64{}, states: map[Stream]state{}}
	view := c.opt.Disk.View()
	defer view.Close()
	fresh, err := w.checkSchema(view)
	if err != nil {
		return nil, err
	}
	for _, read := range []func(View) error{w.readNumbering, w.readCheckpoints, w.readErasures} {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := read(view); err != nil {
			return nil, err
		}
	}
	if fresh {
		err = w.writeSchema()
	}
	return w, err
}

// checkSchema refuses a store of a newer format. It says whether the store must learn today's number, which happens
// before the first record of that number is written.
func (w *writer) checkSchema(view View) (write bool, err error) {
	found, ok, err := storedSchema(view)
	if err != nil {
		return false, w.tolerate(err) // each record tells its own number as well; a newer one is refused when it is read
	}
	if !ok {
		return true, nil
	}
	if found > w.c.opt.Schema {
		return false, &NewerError{Found: found, Known: w.c.opt.Schema}
	}
	return found < w.c.opt.Schema, nil
}

// storedSchema is the store's own word for its format; ok is false when it has none yet.
func storedSchema(view View) (found uint64, ok bool, err error) {
	raw, ok, err := view.Get([]byte(schemaKey))
	if err != nil || !ok {
		return 0, false, err
	}
	_, payload, err := open([]byte(schemaKey), raw)
	if err != nil {
		return 0, false, err
	}
	found, n := binary.Uvarint(payload)
	if n <= 0 {
		return 0, false, &CorruptError{schemaKey, errShape}
	}
	return found, true, nil
}

func (w *writer) writeSchema() error {
	var b Batch
	key := []byte(schemaKey)
	b.Set(key, appendRecord(nil, key, w.c.opt.Schema, binary.AppendUvarint(nil, w.c.opt.Schema)))
	if err := w.c.opt.Disk.Apply(&b, true); err != nil {
		return fmt.Errorf("the store's format could not be written: %w", err)
	}
	return nil
}

// lostNumbers is how far the numbering jumps when its record is damaged: further than any reservation.
const lostNumbers = 1_000_000

func (w *writer) readNumbering(view View) error {
	key := []byte(seqKey)
	raw, ok, err := view.Get(key)
	if err == nil && !ok {
		return nil
	}
	var payload []byte
	if err == nil {
		_, payload, err = open(key, raw)
	}
	if err == nil {
		if w.num, ok = decodeNumbering(payload); !ok {
			err = &CorruptError{seqKey, errShape}
		}
	}
	if err != nil {
		return w.guessNumbering(view, err)
	}
	w.num.seq = max(w.num.seq, w.num.reserved)
	return nil
}

// guessNumbering makes a numbering that cannot collide out of the notes that are left.
func (w *writer) guessNumbering(view View, why error) error {
	if err := w.tolerate(why); err != nil {
		return err
	}
	_, err := w.each(view, noteSpace, func(key []byte) {
		w.num.seq = tailNumber(key)
		w.num.kept[onDisk]++
	})
	if err != nil {
		return err
	}
	w.num.seq += lostNumbers
	w.num.reserved = w.num.seq
	w.c.opt.Logger.Error("the store's numbering was damaged; it goes on from a later number", "from", w.num.seq)
	return nil
}

func (w *writer) readCheckpoints(view View) error {
	damaged, err := w.each(view, checkpointSpace, func(key []byte) {
		stream, rest, ok := cutPart(key[len(checkpointSpace):])
		if !ok || len(rest) != 8 {
			return
		}
		n := tailNumber(rest)
		w.nextCheck = max(w.nextCheck, n)
		w.stored[Stream(stream)] = append(w.stored[Stream(stream)], n)
	})
	if damaged {
		w.nextCheck += lostNumbers
	}
	return err
}

func (w *writer) readErasures(view View) error {
	damaged, err := w.each(view, eraseSpace, func(key []byte) {
		w.eraseID = tailNumber(key)
		w.hasErasures = true
	})
	if damaged {
		w.eraseID += lostNumbers
	}
	return err
}

// each calls f for the keys of a space that can be read, and says whether some cannot.
func (w *writer) each(view View, space string, f func(key []byte)) (damaged bool, err error) {
	cur := view.Scan(under([]byte(space)), false)
	defer cur.Close()
	for {
		for cur.Next() {
			f(cur.Key())
		}
		if cur.Err() == nil {
			return damaged, nil
		}
		damaged = true
		why := cur.Err()
		if !goAround(cur) {
			return damaged, w.tolerate(why)
		}
		_ = w.tolerate(why)
	}
}

// tolerate lets the store open when something is damaged that only some streams need.
func (w *writer) tolerate(err error) error {
	var damage *CorruptError
	if errors.As(err, &damage) {
		w.c.damages.note(partOwn, damage.Key)
		return nil
	}
	return err
}
