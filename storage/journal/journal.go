// Package journal owns the engine's one way to disk: an append of a stream's events, its table rows and its durable wire
// notes in one atomic batch, and the consistent reads of what was committed. Storage engines (pebblestore, memstore) hold
// bytes; the Committer here decides order, numbering, group commit and failure, so the event log, the tables and the
// sockets can never disagree.
package journal

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

// Stream names one owner's sequence of events: a kind, a slash and an id ("session/01J..."). It never holds a person's text.
type Stream string

// Append is one atomic change of one stream. Nothing of it is visible before all of it is synced.
type Append struct {
	Stream   Stream
	Expected uint64   // the stream's version the writer knows; the events become Expected+1, Expected+2, ...
	Events   [][]byte // encoded domain events, kept for ever (they are the replay)
	Snapshot []byte   // when not nil: the state after these events, replaces the stream's snapshot
	Rows     []Row    // table rows to put or delete; a row belongs to one stream for ever
	Prefixes []Prefix // tables' rows to delete by the beginning of their primary key, with their index entries
	Publish  []Note   // durable wire events, numbered in commit order and handed to the deliverer after the sync

	Essential       bool // it is taken before what waits, in a batch of its own, and below the disk's reserve too, as a delete is: it makes everything quieter, and is small
	DropCheckpoints bool // the checkpoints of this stream are part of what this append stores: forget them
	Volatile        bool // at a stream's first append: it lives in memory only (an incognito chat)
	Delete          bool // the stream ends: its events, snapshot, checkpoints and log notes go; later appends get ErrDeleted
}

// Row is one change of a table. Keys never hold a person's text (deleted keys stay in the store's manifest).
type Row struct {
	Table string
	Key   []byte
	Value []byte       // nil deletes the row and its index entries
	Index []IndexEntry // every index entry of the row as it is now; entries it had before and no longer has are removed
}

// IndexEntry is one way to find a row by something other than its primary key. Entries sort by Key, then by primary key.
type IndexEntry struct {
	Index string
	Key   []byte
}

// Prefix names all rows of Table whose primary key starts with Key.
type Prefix struct {
	Table string
	Key   []byte
}

// Note is one durable event for the outside (a socket, the search index).
type Note struct {
	Type  string // the wire type ("done", "session.updated") or an internal one ("message.stored")
	Topic string // the chat it belongs to, "" for none; deleting a stream deletes the notes of its Topic
	Data  []byte // what is kept for a replay: keys of rows and small facts, never text that a row holds
	Live  any    // handed to the deliverer with the note, never stored
}

// Entry is a committed note. Seq is unique and grows in commit order, over restarts too.
type Entry struct {
	Seq uint64
	Note
}

// Receipt says what an append became.
type Receipt struct {
	Version uint64 // the stream's version now
	Seq     uint64 // the newest note number given out, 0 when the append published nothing
}

// Loaded is a stream as it is on disk.
type Loaded struct {
	Version     uint64   // 0: the stream does not exist
	Snapshot    []byte   // nil: none
	Events      [][]byte // those after the snapshot, oldest first
	Checkpoints [][]byte // what was checkpointed since the last DropCheckpoints, oldest first
	Volatile    bool
	Deleted     bool
}

// Journal is what the actors see of the store.
type Journal interface {
	// Append commits a and returns when it is synced and its notes were handed to the deliverer. Errors: *ConflictError,
	// ErrDeleted, ErrFull (nothing was written, try again when there is room), ErrClosed, *CorruptError, ctx's error while
	// it still waits in the queue (then it was not written).
	Append(ctx context.Context, a Append) (Receipt, error)
	// Checkpoint keeps data for s until its next DropCheckpoints. It does not wait: all checkpoints share one synced batch
	// a second, or ride in the next append's batch. What is checkpointed and lost is at most the last second.
	Checkpoint(s Stream, data []byte)
	// Load reads a stream, whichever store holds it. Errors: *CorruptError (that stream only), ErrClosed.
	Load(ctx context.Context, s Stream) (Loaded, error)
	// Read opens a consistent view of the tables and the log, of what is on disk and what is in memory. Close it soon.
	Read() (Reader, error)
	// Newest is the number of the newest note.
	Newest() uint64
}

// Reader is one consistent view.
type Reader interface {
	// Get returns the row's value; ok is false when there is none.
	Get(table string, key []byte) (value []byte, ok bool, err error)
	// Scan yields rows in the order of the index (or of the primary key when Index is empty). Log leaves out notes that cannot
	// be read, as a Scan without Whole does rows.
	Scan(q Scan) iter.Seq2[Item, error]
	// Log yields the kept notes with Seq > after, oldest first. Oldest says the first number still kept (0: none).
	Log(after uint64) iter.Seq2[Entry, error]
	Oldest() uint64
	Close() error
}

// Scan selects rows. Prefix narrows by the beginning of the (index or primary) key; From starts at that full key (in the
// direction of the scan, exclusive when After is set); Limit 0 means all. What cannot be read is left out and reported
// (Committer.Damage), so that one damaged place does not take everything with it; with Whole it is an error, for those who
// delete what they do not find.
type Scan struct {
	Table   string
	Index   string
	Prefix  []byte
	From    []byte
	After   bool
	Reverse bool
	Limit   int
	Whole   bool
}

// Item is one row of a scan. At is the (index or primary) key it was found at, to go on from.
type Item struct {
	Key   []byte
	At    []byte
	Value []byte
}

// KeptNotes is how many of the newest durable notes stay for ?after= (DECISIONS 22).
const KeptNotes = 10_000

var (
	ErrClosed  = errors.New("the store is closed")
	ErrDeleted = errors.New("it was deleted")
	ErrFull    = errors.New("the disk is full: free some space, then try again")
)

// ErrReserve is the ErrFull of a disk that is below its reserve and still has that: a delete is taken, because it makes room, and what is essential.
var ErrReserve = fmt.Errorf("%w", ErrFull)

// ConflictError: somebody else appended to the stream. The writer must reload; it is never retried blindly.
type ConflictError struct {
	Stream           Stream
	Expected, Actual uint64
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("journal: %s is at version %d, not %d", e.Stream, e.Actual, e.Expected)
}

// CorruptError: a record that cannot be read. Key is the record's key, printable.
type CorruptError struct {
	Key string
	Err error
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("the store's record %s cannot be read: %v", e.Key, e.Err)
}
func (e *CorruptError) Unwrap() error { return e.Err }

// NewerError: the store was written by a newer version of the engine.
type NewerError struct{ Found, Known uint64 }

func (e *NewerError) Error() string {
	return fmt.Sprintf("this store was written by a newer Sentient (format %d, this one reads up to %d): start the newer version", e.Found, e.Known)
}

// HeldError: another engine has the store open.
type HeldError struct {
	Path string
	PID  int // 0 when the system does not say
}

func (e *HeldError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("another Sentient is using %s: stop it first, or set SENTIENT_HOME to another folder", e.Path)
	}
	return fmt.Sprintf("another Sentient (process %d) is using %s: stop it first, or set SENTIENT_HOME to another folder", e.PID, e.Path)
}
