package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
)

// stateIn reads what an append must know of a stream.
func (d decoder) stateIn(p *pair, s Stream) (st state, err error) {
	mark := streamKey(nil, markSpace, s)
	for _, v := range p.of {
		record, ok, err := v.Get(mark)
		if err != nil {
			return st, err
		}
		if !ok {
			continue
		}
		_, payload, err := d.payload(mark, record)
		if err != nil {
			return st, err
		}
		if len(payload) != 1 {
			return st, &CorruptError{Printable(mark), errShape}
		}
		if payload[0] == markDeleted {
			return state{deleted: true}, nil
		}
		st.volatile = true
	}
	st.version, err = d.versionIn(p.of[st.side()], s)
	return st, err
}

// versionIn is the number of the newest event, or the snapshot's when no event is left.
func (d decoder) versionIn(v View, s Stream) (uint64, error) {
	key := streamKey(nil, eventSpace, s)
	cur := v.Scan(under(key), true)
	defer cur.Close()
	if cur.Next() {
		return tailNumber(cur.Key()), nil
	}
	if err := cur.Err(); err != nil {
		return d.versionAside(v, s, err)
	}
	return d.snapshotVersion(v, s)
}

func (d decoder) snapshotVersion(v View, s Stream) (uint64, error) {
	key := streamKey(nil, snapshotSpace, s)
	record, ok, err := v.Get(key)
	if err != nil || !ok {
		return 0, err
	}
	version, _, err := d.snapshot(key, record, s)
	return version, err
}

// versionAside finds the newest event when a damaged block is met, which may be a neighbour's: single keys can still be asked
// for. When one of the stream's own cannot be read, why is the answer.
func (d decoder) versionAside(v View, s Stream, why error) (uint64, error) {
	var damage *CorruptError
	if !errors.As(why, &damage) {
		return 0, why
	}
	newest, err := d.snapshotVersion(v, s)
	if err != nil {
		return 0, err
	}
	has := func(n uint64) bool {
		_, ok, e := v.Get(numberedKey(nil, eventSpace, s, n))
		if e != nil {
			err = why
		}
		return ok && e == nil
	}
	// The numbers have no gaps: further and further, then ever closer.
	step := uint64(1)
	for has(newest + step) {
		newest += step
		step *= 2
	}
	for ; step > 0; step /= 2 {
		if has(newest + step) {
			newest += step
		}
	}
	return newest, err
}

// Load implements Journal.
func (c *Committer) Load(ctx context.Context, s Stream) (Loaded, error) {
	if err := ctx.Err(); err != nil {
		return Loaded{}, err
	}
	queued := c.waitingOf(s) // before the view: what leaves the queue in between is in the view
	p, err := c.views.acquire()
	if err != nil {
		return Loaded{}, err
	}
	defer c.views.release(p)
	st, err := c.dec.stateIn(p, s)
	if err != nil || st.deleted {
		return Loaded{Deleted: st.deleted}, c.hurt(err)
	}
	l := Loaded{Version: st.version, Volatile: st.volatile}
	v := p.of[st.side()]
	if err := c.dec.loadEvents(ctx, v, s, &l); err != nil {
		return Loaded{}, c.hurt(err)
	}
	if err := c.dec.loadCheckpoints(v, s, queued, &l); err != nil {
		return Loaded{}, c.hurt(err)
	}
	return l, nil
}

// hurt reports a stream that cannot be loaded.
func (c *Committer) hurt(err error) error {
	var damage *CorruptError
	if errors.As(err, &damage) {
		c.damages.note(partStreams, damage.Key)
	}
	return err
}

// loadEvents reads the snapshot and what came after it, and checks that no event is missing.
func (d decoder) loadEvents(ctx context.Context, v View, s Stream, l *Loaded) error {
	key := streamKey(nil, snapshotSpace, s)
	record, ok, err := v.Get(key)
	if err != nil {
		return err
	}
	at := uint64(0)
	if ok {
		if at, l.Snapshot, err = d.snapshot(key, record, s); err != nil {
			return err
		}
		if l.Snapshot == nil {
			l.Snapshot = []byte{}
		}
	}
	l.Events, err = d.eventsAfter(ctx, v, s, at, l.Version)
	return err
}

// eventsAfter reads the events after one up to another, and checks that none is missing.
func (d decoder) eventsAfter(ctx context.Context, v View, s Stream, at, last uint64) (events [][]byte, err error) {
	base := streamKey(nil, eventSpace, s)
	span := under(base)
	span.Lo = numberedKey(nil, eventSpace, s, at+1)
	cur := v.Scan(span, false)
	defer cur.Close()
	for at < last && cur.Next() {
		at++
		if found := tailNumber(cur.Key()); found != at {
			return nil, &CorruptError{Printable(cur.Key()), fmt.Errorf("event %d before it is missing", at)}
		}
		data, err := d.whole(cur.Key(), bytes.Clone(cur.Value()), KindEvent, string(s))
		if err != nil {
			return nil, err
		}
		events = append(events, data)
		if at%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	if err := cur.Err(); err != nil && at < last {
		return nil, err
	}
	if at != last {
		return nil, &CorruptError{Printable(base), fmt.Errorf("it ends at event %d, not %d", at, last)}
	}
	return events, nil
}

// History reads all events of a stream, from its first on, whatever snapshots stand for since. Errors as for Load; ErrDeleted.
func (c *Committer) History(ctx context.Context, s Stream) ([][]byte, error) {
	p, err := c.views.acquire()
	if err != nil {
		return nil, err
	}
	defer c.views.release(p)
	st, err := c.dec.stateIn(p, s)
	if err != nil {
		return nil, c.hurt(err)
	}
	if st.deleted {
		return nil, ErrDeleted
	}
	events, err := c.dec.eventsAfter(ctx, p.of[st.side()], s, 0, st.version)
	return events, c.hurt(err)
}

// loadCheckpoints reads what is stored and then what is queued; something may be in both.
func (d decoder) loadCheckpoints(v View, s Stream, queued []checkpoint, l *Loaded) error {
	cur := v.Scan(under(streamKey(nil, checkpointSpace, s)), false)
	defer cur.Close()
	var last uint64
	for nextReadable(cur) { // without one, some of the newest text is missing
		data, err := d.whole(cur.Key(), bytes.Clone(cur.Value()), KindCheckpoint, string(s))
		if err != nil {
			return err
		}
		last = tailNumber(cur.Key())
		l.Checkpoints = append(l.Checkpoints, data)
	}
	for _, k := range queued {
		if k.number > last {
			l.Checkpoints = append(l.Checkpoints, bytes.Clone(k.data))
		}
	}
	return cur.Err()
}
