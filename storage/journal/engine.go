package journal

import "context"

// Engine holds ordered bytes: pebblestore on disk, memstore in memory. It knows nothing of streams, rows or notes; every
// rule about those is the Committer's. Apply is called by one goroutine at a time, everything else by any.
type Engine interface {
	// Apply makes all of b visible, or nothing of it. With sync it returns once b would survive a power cut. ErrFull means
	// that nothing was applied and a later try may succeed; after any other error the engine is not used for writes again.
	Apply(b *Batch, sync bool) error
	// View is what was applied so far and stays as it is until it is closed. Close it before the engine.
	View() View
	// Room is nil, or ErrFull while the disk has no room for a batch. It is cheap enough to be asked before each batch.
	Room() error
	// Release says that the start is over: background work (compactions) may begin.
	Release()
	// Erase rewrites what it holds of spans, so that deleted values are in no file any more (some files go shortly after
	// it returns). An open View may keep them.
	Erase(ctx context.Context, spans []Span) error
	// Close flushes and ends the engine.
	Close() error
}

// View is a consistent view of an Engine. Errors that are a *CorruptError concern the one key only.
type View interface {
	// Get returns a value that the caller may keep.
	Get(key []byte) (value []byte, ok bool, err error)
	// Scan walks span in key order, or backwards.
	Scan(span Span, reverse bool) Cursor
	Close() error
}

// Cursor walks one span. It begins before the first key; Key and Value are valid until the next Next or Close.
type Cursor interface {
	Next() bool
	Key() []byte
	Value() []byte
	// Err says why Next was false, nil at the end of the span.
	Err() error
	Close() error
}

// Skipper is a Cursor that can go on behind a part of the store that cannot be read. Skip is asked when Next was false and Err
// is a *CorruptError; after true, Next goes on, and what could not be read is left out. Left names the places that were left
// out so far, so that one that is met again is known to be the same.
type Skipper interface {
	Cursor
	Skip() bool
	Left() []string
}

// Span is the keys from Lo up to, not including, Hi.
type Span struct{ Lo, Hi []byte }

// OpKind is what one operation of a Batch does.
type OpKind uint8

// The kinds of operation.
const (
	OpSet         OpKind = iota // key gets value
	OpDelete                    // key goes
	OpDeleteRange               // the keys from key up to, not including, value go
)

// Batch is a list of operations that apply in order. All bytes are copied into one arena, so a batch that is used again
// allocates nothing.
type Batch struct {
	arena []byte
	ops   []op
}

type op struct {
	kind            OpKind
	start, mid, end int // key is arena[start:mid], value arena[mid:end]
}

// Mark is a point of a Batch to go back to.
type Mark struct{ bytes, ops int }

// keptArena bounds the memory a reused batch holds on to, in bytes.
const keptArena = 1 << 20

func (b *Batch) add(kind OpKind, key, value []byte) {
	start := len(b.arena)
	b.arena = append(b.arena, key...)
	mid := len(b.arena)
	b.arena = append(b.arena, value...)
	b.ops = append(b.ops, op{kind, start, mid, len(b.arena)})
}

// Set gives key a value.
func (b *Batch) Set(key, value []byte) { b.add(OpSet, key, value) }

// Delete removes key.
func (b *Batch) Delete(key []byte) { b.add(OpDelete, key, nil) }

// DeleteRange removes the keys of s.
func (b *Batch) DeleteRange(s Span) { b.add(OpDeleteRange, s.Lo, s.Hi) }

// Len is the number of operations.
func (b *Batch) Len() int { return len(b.ops) }

// Bytes is the size of all keys and values.
func (b *Batch) Bytes() int { return len(b.arena) }

// Each calls f for every operation in order; the slices are valid until the batch changes.
func (b *Batch) Each(f func(kind OpKind, key, value []byte)) {
	for _, o := range b.ops {
		f(o.kind, b.arena[o.start:o.mid:o.mid], b.arena[o.mid:o.end:o.end])
	}
}

// Mark remembers the batch as it is now.
func (b *Batch) Mark() Mark { return Mark{len(b.arena), len(b.ops)} }

// Rollback forgets what was added after m.
func (b *Batch) Rollback(m Mark) { b.arena, b.ops = b.arena[:m.bytes], b.ops[:m.ops] }

// Reset empties the batch.
func (b *Batch) Reset() {
	if cap(b.arena) > keptArena {
		b.arena = nil
	}
	b.Rollback(Mark{})
}
