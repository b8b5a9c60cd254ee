package journal

import (
	"encoding/binary"
	"errors"
)

// writer is the state of the committer's goroutine: what it knows of the store, and the batch it is making.
//
// Invariant: between begin and apply nothing but the fields of the batch changes; apply either makes all of it true (and
// the caches follow) or leaves the writer as it was.
type writer struct {
	c     *Committer
	reqs  []*request
	cache stateCache
	// stored lists the checkpoint numbers in the engines, by stream.
	stored      map[Stream][]uint64
	num         numbering
	nextCheck   uint64 // at open only
	hasErasures bool   // at open only
	eraseID     uint64
	broken      error // the disk engine failed for good

	// The batch.
	view     *pair
	noRoom   error
	batch    [sides]Batch
	states   map[Stream]state
	rows     [sides]overlay
	own      overlay // the append that is being staged
	before   numbering
	entries  []Entry
	entrySet []side // where entries[i] is stored; sides when it was deleted again
	topics   map[string][]noteAt
	checkOps []checkOp
	erasures bool
	spans    []Span

	key, idx, val, head []byte // scratch
}

// state is what an append must know of a stream.
type state struct {
	version  uint64
	volatile bool
	deleted  bool
}

func (s state) side() side {
	if s.volatile {
		return inMemory
	}
	return onDisk
}

// stateCache remembers recently used streams in two generations, so its size is bounded by twice cachedStreams.
type stateCache struct{ young, old map[Stream]state }

const cachedStreams = 4096

func (k *stateCache) get(s Stream) (state, bool) {
	st, ok := k.young[s]
	if !ok {
		if st, ok = k.old[s]; ok {
			k.put(s, st)
		}
	}
	return st, ok
}

func (k *stateCache) put(s Stream, st state) {
	if len(k.young) >= cachedStreams || k.young == nil {
		k.old, k.young = k.young, make(map[Stream]state)
	}
	k.young[s] = st
}

// begin starts an empty batch on the present state.
func (w *writer) begin() {
	w.view = w.c.views.cur // the keeper's reference is enough: only this goroutine swaps
	w.noRoom = w.c.opt.Disk.Room()
	w.before = w.num
	w.entries = nil // handed out to Deliver
	w.entrySet = w.entrySet[:0]
	w.checkOps = w.checkOps[:0]
	w.topics = nil
	w.erasures = false
	for i := range w.batch {
		w.batch[i].Reset()
		w.rows[i].reset()
	}
	clear(w.states)
}

// set adds a record of today's schema with payload to the batch.
func (w *writer) set(at side, key, payload []byte) {
	w.val = appendRecord(w.val, key, w.c.opt.Schema, payload)
	w.batch[at].Set(key, w.val)
}

// stateOf is the stream as the batch so far leaves it.
func (w *writer) stateOf(s Stream) (state, error) {
	if st, ok := w.states[s]; ok {
		return st, nil
	}
	if st, ok := w.cache.get(s); ok {
		return st, nil
	}
	st, err := w.c.dec.stateIn(w.view, s)
	if err == nil {
		w.cache.put(s, st)
	}
	return st, err
}

// admit says whether the append fits the stream as it is. born is true when it makes the stream a volatile one.
func (w *writer) admit(a *Append) (st state, born bool, err error) {
	st, err = w.stateOf(a.Stream)
	switch {
	case err != nil:
		return st, false, err
	case st.deleted:
		return st, false, ErrDeleted
	case st.version != a.Expected:
		return st, false, &ConflictError{a.Stream, a.Expected, st.version}
	}
	born = a.Volatile && !st.volatile && st.version == 0
	st.volatile = st.volatile || born
	if st.side() == onDisk {
		if err = w.broken; err == nil {
			err = w.noRoom
		}
		if (a.Delete || a.Essential) && errors.Is(err, ErrReserve) {
			err = nil
		}
	}
	return st, born, err
}

// stage adds one append to the batch. After an error the batch is as before.
func (w *writer) stage(a *Append) (Receipt, error) {
	st, born, err := w.admit(a)
	if err != nil {
		return Receipt{}, err
	}
	at := st.side()
	mark := w.batch[at].Mark()
	w.own.reset()
	w.spans = w.spans[:0]
	if err := w.stageRows(at, a); err != nil {
		w.batch[at].Rollback(mark)
		return Receipt{}, err
	}
	w.rows[at].merge(&w.own)
	if born {
		w.key = streamKey(w.key, markSpace, a.Stream)
		w.set(at, w.key, []byte{markVolatile})
	}
	st.version = w.stageEvents(at, a)
	if a.DropCheckpoints || a.Delete {
		w.dropCheckpoints(at, a.Stream)
	}
	if a.Delete {
		st.deleted = true
		w.stageDelete(at, a.Stream)
	}
	if at == onDisk && len(w.spans) > 0 {
		w.queueErasure()
	}
	receipt := Receipt{Version: st.version, Seq: w.stageNotes(at, a.Publish)}
	w.states[a.Stream] = st
	return receipt, nil
}

// stageEvents adds events and snapshot and returns the version after them.
func (w *writer) stageEvents(at side, a *Append) uint64 {
	version := a.Expected
	if a.Delete {
		return version + uint64(len(a.Events)) // they would go in the same batch
	}
	for _, e := range a.Events {
		version++
		w.key = numberedKey(w.key, eventSpace, a.Stream, version)
		w.set(at, w.key, e)
	}
	if a.Snapshot != nil {
		w.key = streamKey(w.key, snapshotSpace, a.Stream)
		w.val = binary.AppendUvarint(binary.AppendUvarint(w.val[:0], w.c.opt.Schema), version)
		w.val = seal(w.key, append(w.val, a.Snapshot...))
		w.batch[at].Set(w.key, w.val)
	}
	return version
}

// The marks of a stream.
const (
	markDeleted  = 'd'
	markVolatile = 'v'
)

// stageDelete removes all that belongs to the stream but its rows, and leaves a tombstone.
func (w *writer) stageDelete(at side, s Stream) {
	w.key = streamKey(w.key, eventSpace, s)
	events := under(w.key)
	w.batch[at].DeleteRange(events)
	w.key = streamKey(w.key, snapshotSpace, s)
	w.batch[at].Delete(w.key)
	snapshot := under(w.key)
	checks := under(streamKey(nil, checkpointSpace, s))
	w.dropTopic(topicOf(s))
	w.key = streamKey(w.key, markSpace, s)
	w.set(at, w.key, []byte{markDeleted})
	w.spans = append(w.spans, events, snapshot, checks, under([]byte(noteSpace)))
}

// queueErasure writes w.spans down for the eraser, in the batch that makes them unreachable.
func (w *writer) queueErasure() {
	w.eraseID++
	w.head = w.head[:0]
	for _, s := range w.spans {
		w.head = appendBytes(appendBytes(w.head, s.Lo), s.Hi)
	}
	w.key = binary.BigEndian.AppendUint64(append(w.key[:0], eraseSpace...), w.eraseID)
	w.set(onDisk, w.key, w.head)
	w.erasures = true
}

// apply commits the batch: the disk first, because only it can fail.
func (w *writer) apply() error {
	w.trimNotes()
	if w.num != w.before {
		w.stageNumbering()
	}
	err := w.applyEngines()
	if err != nil {
		w.num = w.before
		w.entries = nil
		return err
	}
	for s, st := range w.states {
		w.cache.put(s, st)
	}
	w.settleStored()
	return nil
}

func (w *writer) applyEngines() error {
	changed := false
	if w.batch[onDisk].Len() > 0 {
		if w.broken != nil {
			return w.broken
		}
		if err := w.c.opt.Disk.Apply(&w.batch[onDisk], true); err != nil {
			if !errors.Is(err, ErrFull) {
				w.broken = err
				w.c.opt.Logger.Error("the store cannot be written any more: restart", "error", err)
			}
			return err
		}
		changed = true
	}
	if w.batch[inMemory].Len() > 0 {
		if err := w.c.opt.Memory.Apply(&w.batch[inMemory], false); err != nil {
			return err
		}
		changed = true
	}
	if changed {
		w.c.views.swap(w.c.opt.Disk, w.c.opt.Memory)
	}
	return nil
}

// finish gives back the numbers that were reserved and not used.
func (w *writer) finish() {
	if w.num.reserved <= w.num.seq || w.broken != nil {
		return
	}
	w.begin()
	w.num.reserved = w.num.seq
	if err := w.apply(); err != nil {
		w.c.opt.Logger.Warn("some note numbers stay unused", "error", err)
	}
}
