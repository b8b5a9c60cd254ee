package storagetest

import (
	"context"
	"fmt"
	"slices"
	"testing/synctest"
	"time"

	"sentient/storage/journal"
)

// notesOrder: numbers grow in commit order; a note is delivered, with its Live value, before its append returns.
func notesOrder(r *rig) {
	r.open()
	live := new(int)
	got := r.append(journal.Append{Stream: "s/a", Publish: []journal.Note{{Type: "x", Topic: "a", Data: []byte("d"), Live: live}, {Type: "y"}}})
	same(r, "receipt", got, journal.Receipt{Seq: 2})
	r.mu.Lock()
	if len(r.delivered) != 2 || r.delivered[0].Seq != 1 || r.delivered[0].Live != any(live) || r.delivered[1].Type != "y" {
		r.Errorf("delivered %+v", r.delivered)
	}
	r.mu.Unlock()
	r.append(journal.Append{Stream: "s/b", Publish: []journal.Note{{Type: "z"}}})
	same(r, "newest", r.c.Newest(), 3)
	r.reopen()
	same(r, "newest after a reopen", r.c.Newest(), 3)
	same(r, "log", r.log(0), []string{"1 x", "2 y", "3 z"})
	same(r, "log after 2", r.log(2), []string{"3 z"})
	same(r, "log after all", r.log(^uint64(0)), []string{})
	v := r.read()
	defer v.Close()
	for e := range v.Log(0) {
		if string(e.Data) != "d" || e.Topic != "a" || e.Live != nil {
			r.Errorf("stored %+v", e)
		}
		break
	}
	same(r, "oldest", v.Oldest(), 1)
}

// notesTrim: the newest KeptNotes stay, the rest goes in chunks, over reopens.
func notesTrim(r *rig) {
	r.open()
	w := &streamWriter{r: r, stream: "s/a"}
	x := &streamWriter{r: r, stream: "s/v"}
	notes := make([]journal.Note, 100)
	for i := range journal.KeptNotes/100 + 40 {
		w.put(journal.Append{Publish: notes})
		x.put(journal.Append{Volatile: true, Publish: notes[:1]})
		if i == 70 {
			r.reopen()
			x.version = 0
		}
	}
	n := len(r.log(0))
	if n < journal.KeptNotes || n > journal.KeptNotes+journal.KeptNotes/10+200 {
		r.Errorf("%d notes are kept", n)
	}
	v := r.read()
	oldest := v.Oldest()
	_ = v.Close()
	if oldest <= 1 {
		r.Errorf("oldest %d", oldest)
	}
	r.reopen()
	if again := len(r.log(0)); again > n || again < n-200 {
		r.Errorf("%d notes after a reopen, %d before", again, n)
	}
}

// notesTopic: deleting a stream deletes the notes about it, whoever published them and even in the same batch, but not
// those that tell of the deletion.
func notesTopic(r *rig) {
	r.open()
	about := func(topic, kind string) []journal.Note { return []journal.Note{{Type: kind, Topic: topic}} }
	r.append(journal.Append{Stream: "session/x", Publish: about("x", "gone")})
	r.append(journal.Append{Stream: "run/1", Publish: about("x", "gone too")})
	r.append(journal.Append{Stream: "session/y", Publish: about("y", "stays")})
	r.append(journal.Append{Stream: "session/v", Volatile: true, Publish: about("x", "gone in memory")})
	r.append(journal.Append{Stream: "session/x", Delete: true, Publish: about("x", "session.deleted")})
	same(r, "log", r.log(0), []string{"3 stays", "5 session.deleted"})
	release := func() func() { r.close(); return r.hold() }()
	var done []chan struct{}
	for i, a := range []journal.Append{{Stream: "run/2", Publish: about("y", "same batch")}, {Stream: "session/y", Delete: true}} {
		done = append(done, make(chan struct{}))
		go func() {
			defer close(done[i])
			if _, err := r.c.Append(context.Background(), a); err != nil {
				r.Error(err)
			}
		}()
		synctest.Wait()
	}
	release()
	<-done[0]
	<-done[1]
	if got := r.log(0); len(got) != 2 || got[0] != "5 session.deleted" {
		r.Errorf("log %q", got)
	}
}

// volatile: an incognito chat works like any other, and a restart knows nothing of it.
func volatile(r *rig) {
	r.open()
	r.append(journal.Append{Stream: "session/d", Events: bytesOf("1"), Rows: []journal.Row{row("b", "disk", "i:2")}, Publish: []journal.Note{{Type: "d"}}})
	before := r.disk.Applies()
	a := journal.Append{Stream: "session/v", Volatile: true, Events: bytesOf("1"), Snapshot: []byte("s"),
		Rows: []journal.Row{row("a", "mem", "i:1"), row("c", "mem", "i:3")}, Publish: []journal.Note{{Type: "v", Topic: "v"}}}
	r.append(a)
	r.append(journal.Append{Stream: "session/v", Expected: 1, Events: bytesOf("2"), Publish: []journal.Note{{Type: "v2", Topic: "v"}}})
	r.c.Checkpoint("session/v", []byte("c"))
	time.Sleep(2 * time.Second)
	if n := r.disk.Applies() - before; n != 1 {
		r.Errorf("a volatile stream wrote to disk %d times; only the reservation of numbers may be", n)
	}
	same(r, "loaded", r.load("session/v"), journal.Loaded{Version: 2, Snapshot: []byte("s"), Events: bytesOf("2"), Checkpoints: bytesOf("c"), Volatile: true})
	same(r, "merged", r.scan(journal.Scan{Table: "t"}), []string{"a=mem", "b=disk", "c=mem"})
	same(r, "merged index", r.scan(journal.Scan{Table: "t", Index: "i", Reverse: true}), []string{"c=mem", "b=disk", "a=mem"})
	same(r, "merged log", r.log(0), []string{"1 d", "2 v", "3 v2"})
	r.append(journal.Append{Stream: "session/v", Expected: 2, Delete: true, Prefixes: []journal.Prefix{{Table: "t"}}})
	same(r, "its rows are gone, the disk's stay", r.scan(journal.Scan{Table: "t"}), []string{"b=disk"})
	same(r, "its notes too", r.log(0), []string{"1 d"})
	same(r, "deleted", r.load("session/v"), journal.Loaded{Deleted: true})
	a.Stream = "session/w"
	r.append(a)
	all := journal.Span{Lo: []byte{0}, Hi: []byte{0xFF}}
	for _, k := range keys(r, r.disk, all, false) {
		if slices.Contains([]string{"e/session/v", "m/h/session/v", "e/session/w"}, k[:min(len(k), 13)]) {
			r.Errorf("on disk: %q", k)
		}
	}
	r.reopen()
	same(r, "after a restart", r.load("session/w"), journal.Loaded{})
	same(r, "rows after a restart", r.scan(journal.Scan{Table: "t"}), []string{"b=disk"})
}

// numbersNeverAgain: no number is given out twice, over clean and hard restarts, whichever stream took it.
func numbersNeverAgain(r *rig) {
	seen := uint64(0)
	for round := range 6 {
		r.open()
		if r.c.Newest() < seen {
			r.Fatalf("round %d: newest %d after %d", round, r.c.Newest(), seen)
		}
		w := &streamWriter{r: r, stream: journal.Stream(fmt.Sprint("s/", round))}
		x := &streamWriter{r: r, stream: "s/v"}
		for i := range 8 {
			notes := make([]journal.Note, 1+i*40)
			for _, p := range []*streamWriter{x, w, x} {
				got := p.put(journal.Append{Volatile: p == x, Publish: notes})
				if first := got.Seq - uint64(len(notes)) + 1; first <= seen {
					r.Fatalf("round %d: number %d again, %d was given", round, first, seen)
				}
				seen = got.Seq
			}
		}
		w.put(journal.Append{Delete: true}) // the newest note may go: its number must not come back
		if round%3 > 0 {
			seen = x.put(journal.Append{Publish: make([]journal.Note, 300)}).Seq // nothing on disk tells of these
		}
		if round%2 == 1 {
			r.crash()
		} else {
			r.close()
		}
	}
}

// crash ends the committer without letting it write anything more.
func (r *rig) crash() {
	r.disk.Fail(fmt.Errorf("crashed"), nil)
	r.close()
}

// checkpoints: they are seen at once, are stored within a second, and last over a restart in order.
func checkpoints(r *rig) {
	r.open()
	r.append(journal.Append{Stream: "s/a", Events: bytesOf("1")})
	r.c.Checkpoint("s/a", []byte("one"))
	r.c.Checkpoint("s/b", []byte("of a stream without events"))
	same(r, "queued", r.load("s/a").Checkpoints, bytesOf("one"))
	time.Sleep(1001 * time.Millisecond)
	r.c.Checkpoint("s/a", []byte("two"))
	same(r, "stored and queued", r.load("s/a").Checkpoints, bytesOf("one", "two"))
	time.Sleep(1001 * time.Millisecond)
	r.c.Checkpoint("s/a", []byte("lost in the crash"))
	r.crash()
	r.open()
	r.c.Checkpoint("s/a", []byte("three"))
	same(r, "after a crash", r.load("s/a").Checkpoints, bytesOf("one", "two", "three"))
	same(r, "the other", r.load("s/b").Checkpoints, bytesOf("of a stream without events"))
}

// checkpointsShareSync: all streams' checkpoints are one batch a second, or ride with an append; an idle store writes nothing.
func checkpointsShareSync(r *rig) {
	r.open()
	for i := range 50 {
		r.append(journal.Append{Stream: journal.Stream(fmt.Sprint("s/", i)), Events: bytesOf("1")})
	}
	before := r.disk.Applies()
	for range 100 { // ten seconds
		for i := range 50 {
			r.c.Checkpoint(journal.Stream(fmt.Sprint("s/", i)), []byte("x"))
		}
		time.Sleep(100 * time.Millisecond)
	}
	time.Sleep(time.Second)
	if n := r.disk.Applies() - before; n < 9 || n > 11 {
		r.Errorf("%d batches in ten seconds", n)
	}
	before = r.disk.Applies()
	time.Sleep(time.Hour)
	same(r, "idle", r.disk.Applies()-before, 0)
	r.c.Checkpoint("s/1", []byte("rides"))
	r.append(journal.Append{Stream: "s/2", Expected: 1, Events: bytesOf("2")})
	time.Sleep(time.Hour)
	same(r, "riding along", r.disk.Applies()-before, 1)
}

// checkpointsDrop: an append forgets what was stored, what rides in its batch, and what waits, of its stream only.
func checkpointsDrop(r *rig) {
	r.open()
	r.c.Checkpoint("s/a", []byte("stored"))
	r.c.Checkpoint("s/b", []byte("other"))
	time.Sleep(2 * time.Second)
	r.c.Checkpoint("s/a", []byte("waits"))
	r.append(journal.Append{Stream: "s/a", Events: bytesOf("all of it"), DropCheckpoints: true})
	r.c.Checkpoint("s/a", []byte("next turn"))
	for range 2 {
		same(r, "a", r.load("s/a").Checkpoints, bytesOf("next turn"))
		same(r, "b", r.load("s/b").Checkpoints, bytesOf("other"))
		r.reopen()
	}
	r.append(journal.Append{Stream: "s/a", Expected: 1, Events: bytesOf("2"), DropCheckpoints: true})
	r.reopen()
	same(r, "dropped after a reopen", r.load("s/a").Checkpoints, nil)
}
