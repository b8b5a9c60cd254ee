// Package storagetest owns the one suite that every storage engine passes through the journal's Committer: conformance
// (Run), a deterministic workload with a checker for crash tests (Workload, Verify), and an engine that fails on demand.
package storagetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"sentient/storage/journal"
)

// Place is where one store lies: it can be opened again after a close.
type Place func() (journal.Engine, error)

// Factory makes what the suite needs.
type Factory struct {
	Place  func(t testing.TB) Place // a new, empty place
	Memory func() journal.Engine    // a new engine for volatile streams
}

// Run runs the conformance suite. Each test lives in a bubble of fake time.
func Run(t *testing.T, f Factory) {
	tests := []struct {
		name string
		run  func(*rig)
	}{
		{"EngineOrder", engineOrder}, {"EngineView", engineView},
		{"AppendLoad", appendLoad}, {"Conflict", conflict}, {"OneBatch", oneBatch}, {"EssentialFirst", essentialFirst}, {"PrefixThenPut", prefixThenPut}, {"Deleted", deleted},
		{"CancelQueued", cancelQueued}, {"CloseDrains", closeDrains}, {"Isolation", isolation}, {"UnseenBeforeSync", unseenBeforeSync},
		{"Rows", rows}, {"IndexUpkeep", indexUpkeep}, {"ScanPages", scanPages},
		{"NotesOrder", notesOrder}, {"NotesTrim", notesTrim}, {"NotesTopic", notesTopic},
		{"Volatile", volatile}, {"NumbersNeverAgain", numbersNeverAgain},
		{"Checkpoints", checkpoints}, {"CheckpointsShareSync", checkpointsShareSync}, {"CheckpointsDrop", checkpointsDrop},
		{"Full", full}, {"Broken", broken}, {"Corrupt", corrupt}, {"CorruptNotes", corruptNotes}, {"CorruptOwn", corruptOwn}, {"DamagedRowGoes", damagedRowGoes},
		{"DamagedNumbering", damagedNumbering}, {"Newer", newer}, {"Upgrade", upgrade},
		{"EraserResumes", eraserResumes}, {"EraserWaitsForReaders", eraserWaits},
		{"Workload", workload},
	}
	t.Run("RowModel", func(t *testing.T) { rowModel(&rig{T: t, f: f}) }) // rapid has a clock of its own
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &rig{T: t, f: f, place: f.Place(t)}
				defer r.close()
				test.run(r)
			})
		})
	}
}

// rig is one test's store.
type rig struct {
	*testing.T
	f         Factory
	place     Place
	disk      *Faulty
	c         *journal.Committer
	opt       journal.Options
	mu        sync.Mutex
	delivered []journal.Entry
}

func (r *rig) engine() *Faulty {
	r.Helper()
	e, err := r.place()
	if err != nil {
		r.Fatal("open the engine:", err)
	}
	return NewFaulty(e)
}

func (r *rig) tryOpen() error {
	r.disk = r.engine()
	opt := r.opt
	opt.Disk, opt.Memory = r.disk, r.f.Memory()
	if opt.Deliver == nil {
		opt.Deliver = func(e []journal.Entry) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.delivered = append(r.delivered, e...)
		}
	}
	var err error
	r.c, err = journal.Open(context.Background(), opt)
	return err
}

func (r *rig) open() {
	r.Helper()
	if err := r.tryOpen(); err != nil {
		r.Fatal("open:", err)
	}
	r.c.Release()
}

func (r *rig) close() {
	if r.c == nil {
		return
	}
	if err := r.c.Close(context.Background()); err != nil {
		r.Error("close:", err)
	}
	r.c = nil
}

func (r *rig) reopen() {
	r.Helper()
	r.close()
	r.open()
}

func (r *rig) append(a journal.Append) journal.Receipt {
	r.Helper()
	got, err := r.c.Append(context.Background(), a)
	if err != nil {
		r.Fatalf("append to %s: %v", a.Stream, err)
	}
	return got
}

func (r *rig) load(s journal.Stream) journal.Loaded {
	r.Helper()
	l, err := r.c.Load(context.Background(), s)
	if err != nil {
		r.Fatalf("load %s: %v", s, err)
	}
	return l
}

// read opens a reader that is closed with the returned function.
func (r *rig) read() journal.Reader {
	r.Helper()
	v, err := r.c.Read()
	if err != nil {
		r.Fatal("read:", err)
	}
	return v
}

// scan lists a scan as "key=value".
func (r *rig) scan(q journal.Scan) []string {
	r.Helper()
	v := r.read()
	defer v.Close()
	out := []string{}
	for item, err := range v.Scan(q) {
		if err != nil {
			r.Fatalf("scan %+v: %v", q, err)
		}
		out = append(out, string(item.Key)+"="+string(item.Value))
	}
	return out
}

// log lists the kept notes after seq as "seq type".
func (r *rig) log(after uint64) []string {
	r.Helper()
	v := r.read()
	defer v.Close()
	out := []string{}
	for e, err := range v.Log(after) {
		if err != nil {
			r.Fatal("log:", err)
		}
		out = append(out, fmt.Sprintf("%d %s", e.Seq, e.Type))
	}
	return out
}

func same[T any](r *rig, what string, got, want T) {
	r.Helper()
	if g, w := fmt.Sprintf("%q", any(got)), fmt.Sprintf("%q", any(want)); g != w {
		r.Fatalf("%s:\n got %.2000s\nwant %.2000s", what, g, w)
	}
}

func bytesOf(texts ...string) (out [][]byte) {
	for _, s := range texts {
		out = append(out, []byte(s))
	}
	return out
}
