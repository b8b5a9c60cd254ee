package journal

import (
	"encoding/binary"
)

// numbering is what the store must know to give every note a number that no other note ever had. Notes of volatile streams
// leave nothing on disk, so their numbers are covered by a reservation that is synced before the first of them is used.
type numbering struct {
	seq      uint64     // the newest number given out
	reserved uint64     // numbers up to here may have been given out
	kept     [sides]int // notes stored
}

// reserveBlock is how many numbers one reservation covers.
const reserveBlock = 1000

// trimChunk is how many notes too many are stored before the oldest go.
const trimChunk = KeptNotes / 10

func (n numbering) encode(dst []byte) []byte {
	dst = binary.AppendUvarint(dst[:0], n.seq)
	dst = binary.AppendUvarint(dst, n.reserved)
	return binary.AppendUvarint(dst, uint64(n.kept[onDisk]))
}

func decodeNumbering(b []byte) (n numbering, ok bool) {
	var f [3]uint64
	for i := range f {
		v, size := binary.Uvarint(b)
		if size <= 0 {
			return n, false
		}
		f[i], b = v, b[size:]
	}
	n = numbering{seq: f[0], reserved: f[1]}
	n.kept[onDisk] = int(f[2])
	return n, true
}

// noteAt is where a stored note is.
type noteAt struct {
	seq uint64
	at  side
}

// stageNotes numbers and stores an append's notes. It returns the newest number, 0 when there is no note.
func (w *writer) stageNotes(at side, notes []Note) uint64 {
	if len(notes) == 0 {
		return 0
	}
	for _, n := range notes {
		w.num.seq++
		w.num.kept[at]++
		if at == inMemory && w.num.seq > w.num.reserved {
			w.num.reserved = w.num.seq + reserveBlock
		}
		w.head = appendNote(w.head[:0], n)
		w.key = noteKey(w.key, w.num.seq)
		w.set(at, w.key, w.head)
		w.entries = append(w.entries, Entry{w.num.seq, n})
		w.entrySet = append(w.entrySet, at)
	}
	return w.num.seq
}

// stageNumbering writes w.num down when the disk's part of it changed. Numbers of volatile notes are covered by the
// reservation, so they alone need no write.
func (w *writer) stageNumbering() {
	a, b := w.before, w.num
	onlyVolatile := a.kept[onDisk] == b.kept[onDisk] && a.reserved == b.reserved && w.batch[onDisk].Len() == 0
	if onlyVolatile && b.seq <= b.reserved {
		return
	}
	w.head = w.num.encode(w.head)
	w.key = append(w.key[:0], seqKey...)
	w.set(onDisk, w.key, w.head)
}

// dropTopic deletes all stored notes of a topic, those of earlier appends in this batch too. What cannot be read goes as
// well: it cannot be replayed, and nobody could say whose it was.
func (w *writer) dropTopic(topic string) {
	if w.topics == nil {
		w.topics = w.readTopics()
	}
	for _, unread := range w.topics[unreadable] {
		w.dropNote(unread)
	}
	for _, n := range w.topics[topic] {
		w.dropNote(n)
	}
	delete(w.topics, unreadable)
	delete(w.topics, topic)
	for i, e := range w.entries {
		if e.Topic == topic && w.entrySet[i] != sides {
			w.dropNote(noteAt{e.Seq, w.entrySet[i]})
			w.entrySet[i] = sides
		}
	}
}

// unreadable is where readTopics files damaged notes; no stream id contains a zero byte.
const unreadable = "\x00"

func (w *writer) dropNote(n noteAt) {
	w.key = noteKey(w.key, n.seq)
	w.batch[n.at].Delete(w.key)
	w.num.kept[n.at]--
}

// readTopics lists the stored notes by topic, once per batch that deletes.
func (w *writer) readTopics() map[string][]noteAt {
	topics := map[string][]noteAt{}
	for at, v := range w.view.of {
		cur := v.Scan(under([]byte(noteSpace)), false)
		for nextReadable(cur) {
			topic := unreadable
			if _, payload, err := open(cur.Key(), cur.Value()); err == nil {
				if n, ok := cutNote(payload); ok {
					topic = n.Topic
				}
			}
			if topic != "" {
				topics[topic] = append(topics[topic], noteAt{tailNumber(cur.Key()), side(at)})
			}
		}
		if err := cur.Err(); err != nil {
			w.c.opt.Logger.Error("the log of notes is damaged; some notes of a deleted chat may stay until they are too old", "error", err)
		}
		_ = cur.Close()
	}
	return topics
}

// trimNotes deletes the oldest notes once there are trimChunk too many. A batch that deletes topics leaves it to the next,
// a full disk to later.
func (w *writer) trimNotes() {
	excess := w.num.kept[onDisk] + w.num.kept[inMemory] - KeptNotes
	if excess < trimChunk || w.topics != nil || w.noRoom != nil {
		return
	}
	all := under([]byte(noteSpace))
	cur := mergeScan(w.view, all, false)
	cur.around = true
	defer cur.close()
	var cut [sides]int
	var last uint64
	for excess > 0 && cur.next() {
		last = tailNumber(cur.key())
		cut[cur.at()]++
		excess--
	}
	if last == 0 {
		return
	}
	gone := Span{all.Lo, noteKey(nil, last+1)}
	for at, n := range cut {
		if n > 0 {
			w.batch[at].DeleteRange(gone)
			w.num.kept[at] -= n
		}
	}
}
