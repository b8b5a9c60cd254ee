package storagetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing/synctest"

	"sentient/storage/journal"
)

func engineOrder(r *rig) {
	e := r.engine()
	defer e.Close()
	var b journal.Batch
	for _, k := range []string{"b", "a", "c\x00", "c", "c\x00\xff", "d", "\xff\xfe"} {
		b.Set([]byte(k), []byte("old"))
		b.Set([]byte(k), []byte("v"+k))
	}
	b.Delete([]byte("never there"))
	mark := b.Mark()
	b.Set([]byte("rolled back"), nil)
	b.Rollback(mark)
	if err := e.Apply(&b, true); err != nil {
		r.Fatal(err)
	}
	all := journal.Span{Lo: []byte("a"), Hi: []byte("\xff\xff")}
	want := []string{"a", "b", "c", "c\x00", "c\x00\xff", "d", "\xff\xfe"}
	same(r, "forward", keys(r, e, all, false), want)
	slices.Reverse(want)
	same(r, "backward", keys(r, e, all, true), want)
	part := journal.Span{Lo: []byte("b"), Hi: []byte("c\x00")}
	same(r, "part", keys(r, e, part, false), []string{"b", "c"})
	same(r, "part backward", keys(r, e, part, true), []string{"c", "b"})
	b.Reset()
	b.DeleteRange(part)
	b.Set([]byte("c"), []byte("again"))
	if err := e.Apply(&b, true); err != nil {
		r.Fatal(err)
	}
	same(r, "after a range", keys(r, e, part, false), []string{"c"})
}

func keys(r *rig, e journal.Engine, s journal.Span, reverse bool) (out []string) {
	v := e.View()
	defer v.Close()
	cur := v.Scan(s, reverse)
	defer cur.Close()
	for cur.Next() {
		got, ok, err := v.Get(cur.Key())
		if err != nil || !ok || !bytes.Equal(got, cur.Value()) {
			r.Errorf("get %q: %q %v %v", cur.Key(), got, ok, err)
		}
		out = append(out, string(cur.Key()))
	}
	if cur.Err() != nil {
		r.Error(cur.Err())
	}
	return out
}

func engineView(r *rig) {
	e := r.engine()
	defer e.Close()
	put := func(k, value string) {
		var b journal.Batch
		b.Set([]byte(k), []byte(value))
		if err := e.Apply(&b, true); err != nil {
			r.Fatal(err)
		}
	}
	put("a", "1")
	v := e.View()
	put("a", "2")
	put("b", "2")
	if got, _, _ := v.Get([]byte("a")); string(got) != "1" {
		r.Errorf("the view moved: %q", got)
	}
	if _, ok, _ := v.Get([]byte("b")); ok {
		r.Error("the view sees a later key")
	}
	_ = v.Close()
}

func appendLoad(r *rig) {
	r.open()
	same(r, "nothing there", r.load("session/none"), journal.Loaded{})
	got := r.append(journal.Append{Stream: "session/a", Events: bytesOf("e1", "e2")})
	same(r, "receipt", got, journal.Receipt{Version: 2})
	r.append(journal.Append{Stream: "session/a", Expected: 2, Events: bytesOf("e3"), Snapshot: []byte("at3")})
	r.append(journal.Append{Stream: "session/a", Expected: 3, Events: bytesOf("e4", "")})
	r.append(journal.Append{Stream: "session/a\x00", Events: bytesOf("other")})
	r.append(journal.Append{Stream: "session/ab", Events: bytesOf("other")})
	for range 2 {
		same(r, "loaded", r.load("session/a"), journal.Loaded{Version: 5, Snapshot: []byte("at3"), Events: bytesOf("e4", "")})
		same(r, "neighbour", r.load("session/a\x00"), journal.Loaded{Version: 1, Events: bytesOf("other")})
		r.reopen()
	}
	r.append(journal.Append{Stream: "session/a", Expected: 5, Snapshot: []byte{}})
	l := r.load("session/a")
	if l.Version != 5 || l.Snapshot == nil || len(l.Events) != 0 {
		r.Errorf("an empty snapshot replaces: %+v", l)
	}
}

func conflict(r *rig) {
	r.open()
	r.append(journal.Append{Stream: "s/a", Events: bytesOf("1")})
	for _, expected := range []uint64{0, 2} {
		_, err := r.c.Append(context.Background(), journal.Append{Stream: "s/a", Expected: expected, Events: bytesOf("x"),
			Rows: []journal.Row{{Table: "t", Key: []byte("k"), Value: []byte("v")}}, Publish: []journal.Note{{Type: "n"}}})
		var c *journal.ConflictError
		if !errors.As(err, &c) || c.Actual != 1 || c.Expected != expected || c.Stream != "s/a" {
			r.Fatalf("expected %d: %v", expected, err)
		}
	}
	same(r, "rows", r.scan(journal.Scan{Table: "t"}), []string{})
	same(r, "notes", r.log(0), []string{})
	r.reopen()
	_, err := r.c.Append(context.Background(), journal.Append{Stream: "s/a", Events: bytesOf("x")})
	if c := new(journal.ConflictError); !errors.As(err, &c) {
		r.Fatal("after a reopen:", err)
	}
}

// hold makes the committer stop in Deliver until the returned function is called.
func (r *rig) hold() (release func()) {
	gate := make(chan struct{})
	var once sync.Once
	r.opt.Deliver = func(e []journal.Entry) {
		once.Do(func() { <-gate })
		r.mu.Lock()
		defer r.mu.Unlock()
		r.delivered = append(r.delivered, e...)
	}
	r.open()
	go func() {
		_, _ = r.c.Append(context.Background(), journal.Append{Stream: "s/holder", Publish: []journal.Note{{Type: "hold"}}})
	}()
	synctest.Wait()
	return func() { close(gate) }
}

// essentialFirst: an essential append is written before what waits, and alone, unless its own stream waits too.
func essentialFirst(r *rig) {
	release := r.hold()
	before := r.disk.Applies()
	var wg sync.WaitGroup
	queue := func(a journal.Append, note string) {
		a.Publish = []journal.Note{{Type: note}}
		wg.Go(func() {
			if _, err := r.c.Append(context.Background(), a); err != nil {
				r.Error(note, err)
			}
		})
		synctest.Wait() // it is in the queue
	}
	queue(journal.Append{Stream: "s/a", Events: bytesOf("1")}, "a")
	queue(journal.Append{Stream: "s/b", Events: bytesOf("1")}, "b1")
	queue(journal.Append{Stream: "s/b", Expected: 1, Events: bytesOf("2"), Essential: true}, "b2")
	queue(journal.Append{Stream: "s/stop", Events: bytesOf("1"), Essential: true}, "stop")
	release()
	wg.Wait()
	queue(journal.Append{Stream: "s/stop", Expected: 1, Events: bytesOf("2"), Essential: true}, "again")
	wg.Wait()
	var order []string
	for _, e := range r.delivered {
		order = append(order, e.Type)
	}
	same(r, "order", order, []string{"hold", "stop", "a", "b1", "b2", "again"})
	same(r, "batches", r.disk.Applies()-before, 3)
}

// oneBatch: what waits is one batch; versions chain within it, a conflict fails alone, stale index entries go within it.
func oneBatch(r *rig) {
	release := r.hold()
	before := r.disk.Applies()
	errs := make([]error, 6)
	var wg sync.WaitGroup
	queue := func(i int, a journal.Append) {
		wg.Go(func() { _, errs[i] = r.c.Append(context.Background(), a) })
		synctest.Wait() // it is in the queue
	}
	row := func(value, idx string) []journal.Row {
		return []journal.Row{{Table: "t", Key: []byte("k"), Value: []byte(value), Index: []journal.IndexEntry{{Index: "i", Key: []byte(idx)}}}}
	}
	queue(0, journal.Append{Stream: "s/a", Events: bytesOf("1"), Rows: row("v1", "x")})
	queue(1, journal.Append{Stream: "s/a", Expected: 1, Events: bytesOf("2"), Rows: row("v2", "y")})
	queue(2, journal.Append{Stream: "s/a", Expected: 1, Events: bytesOf("bad"), Rows: row("bad", "z")})
	queue(3, journal.Append{Stream: "s/b", Events: bytesOf("1")})
	queue(4, journal.Append{Stream: "s/b", Expected: 1, Delete: true})
	queue(5, journal.Append{Stream: "s/b", Expected: 1, Events: bytesOf("2")})
	release()
	wg.Wait()
	for i, want := range []string{"<nil>", "<nil>", "journal: s/a is at version 2, not 1", "<nil>", "<nil>", "it was deleted"} {
		if got := fmt.Sprint(errs[i]); got != want {
			r.Errorf("append %d: %s, want %s", i, got, want)
		}
	}
	if n := r.disk.Applies() - before; n != 1 {
		r.Errorf("%d batches", n)
	}
	same(r, "events", r.load("s/a").Events, bytesOf("1", "2"))
	same(r, "index", r.scan(journal.Scan{Table: "t", Index: "i"}), []string{"k=v2"})
	if !r.load("s/b").Deleted {
		r.Error("s/b is not deleted")
	}
}

func deleted(r *rig) {
	r.open()
	r.append(journal.Append{Stream: "session/x", Events: bytesOf("1"), Snapshot: []byte("s")})
	r.append(journal.Append{Stream: "session/x2", Events: bytesOf("1")})
	r.c.Checkpoint("session/x", []byte("c"))
	r.append(journal.Append{Stream: "session/x", Expected: 1, Delete: true})
	for range 2 {
		same(r, "loaded", r.load("session/x"), journal.Loaded{Deleted: true})
		for _, expected := range []uint64{0, 1} {
			_, err := r.c.Append(context.Background(), journal.Append{Stream: "session/x", Expected: expected})
			if !errors.Is(err, journal.ErrDeleted) {
				r.Error("append to a deleted stream:", err)
			}
		}
		same(r, "the neighbour", r.load("session/x2").Version, 1)
		r.reopen()
	}
	for _, space := range []string{"e/session/x\x00\x01", "s/session/x\x00\x01", "c/session/x"} {
		if left := keys(r, r.disk, journal.Span{Lo: []byte(space), Hi: append([]byte(space), 0xFF)}, false); len(left) > 0 {
			r.Errorf("left: %q", left)
		}
	}
}

// cancelQueued: what is cancelled while it waits is not written; what is in a batch gets that batch's outcome.
func cancelQueued(r *rig) {
	release := r.hold()
	ctx, cancel := context.WithCancel(context.Background())
	var err error
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err = r.c.Append(ctx, journal.Append{Stream: "s/a", Events: bytesOf("1")})
	})
	synctest.Wait()
	cancel()
	wg.Wait()
	if !errors.Is(err, context.Canceled) {
		r.Error("cancelled while queued:", err)
	}
	release()
	synctest.Wait()
	same(r, "nothing written", r.load("s/a"), journal.Loaded{})
	if _, err := r.c.Append(ctx, journal.Append{Stream: "s/a", Events: bytesOf("1")}); !errors.Is(err, context.Canceled) {
		r.Error("cancelled before:", err)
	}
	same(r, "it goes on", r.append(journal.Append{Stream: "s/a", Events: bytesOf("1")}).Version, 1)
}

func closeDrains(r *rig) {
	release := r.hold()
	var wg sync.WaitGroup
	errs := make([]error, 3)
	for i := range errs {
		wg.Go(func() {
			_, errs[i] = r.c.Append(context.Background(), journal.Append{Stream: journal.Stream(fmt.Sprint("s/", i)), Events: bytesOf("1")})
		})
	}
	r.c.Checkpoint("s/0", []byte("last words"))
	synctest.Wait()
	closed := make(chan error)
	go func() { closed <- r.c.Close(context.Background()) }()
	synctest.Wait()
	if _, err := r.c.Append(context.Background(), journal.Append{Stream: "s/late"}); !errors.Is(err, journal.ErrClosed) {
		r.Error("append after close:", err)
	}
	release()
	if err := <-closed; err != nil {
		r.Error(err)
	}
	wg.Wait()
	if _, err := r.c.Load(context.Background(), "s/0"); !errors.Is(err, journal.ErrClosed) {
		r.Error("load after close:", err)
	}
	if _, err := r.c.Read(); !errors.Is(err, journal.ErrClosed) {
		r.Error("read after close:", err)
	}
	r.opt.Deliver = nil
	r.open()
	for i, err := range errs {
		if l := r.load(journal.Stream(fmt.Sprint("s/", i))); err != nil || l.Version != 1 {
			r.Errorf("%d: %v, %+v", i, err, l)
		}
	}
	same(r, "checkpoint", r.load("s/0").Checkpoints, bytesOf("last words"))
}

// isolation: a reader sees one state, and the next reader the next.
func isolation(r *rig) {
	r.open()
	put := func(version uint64, value string) {
		r.append(journal.Append{Stream: "s/a", Expected: version, Events: bytesOf(value), Publish: []journal.Note{{Type: value}},
			Rows: []journal.Row{{Table: "t", Key: []byte("k"), Value: []byte(value)}}})
	}
	put(0, "1")
	v := r.read()
	defer v.Close()
	put(1, "2")
	if got, ok, err := v.Get("t", []byte("k")); string(got) != "1" || !ok || err != nil {
		r.Errorf("the old reader: %q %v %v", got, ok, err)
	}
	n := 0
	for range v.Log(0) {
		n++
	}
	same(r, "old notes", n, 1)
	same(r, "new row", r.scan(journal.Scan{Table: "t"}), []string{"k=2"})
	same(r, "new notes", r.log(0), []string{"1 1", "2 2"})
	_ = v.Close()
	if _, _, err := v.Get("t", []byte("k")); !errors.Is(err, journal.ErrClosed) {
		r.Error("a closed reader:", err)
	}
	for _, err := range v.Scan(journal.Scan{Table: "t"}) {
		if !errors.Is(err, journal.ErrClosed) {
			r.Error("a closed reader's scan:", err)
		}
	}
}

// unseenBeforeSync: what is not confirmed by the disk is seen by nobody, and reading does not wait for it.
func unseenBeforeSync(r *rig) {
	r.open()
	r.append(journal.Append{Stream: "s/a", Events: bytesOf("1"), Publish: []journal.Note{{Type: "1"}}})
	gate := make(chan struct{})
	r.disk.After(func() { <-gate })
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, err := r.c.Append(context.Background(), journal.Append{Stream: "s/a", Expected: 1, Events: bytesOf("2"),
			Rows: []journal.Row{row("k", "v")}, Publish: []journal.Note{{Type: "2"}}})
		if err != nil {
			r.Error(err)
		}
	}()
	synctest.Wait()
	same(r, "events", r.load("s/a").Events, bytesOf("1"))
	same(r, "rows", r.scan(journal.Scan{Table: "t"}), []string{})
	same(r, "notes", r.log(0), []string{"1 1"})
	same(r, "newest", r.c.Newest(), 1)
	r.mu.Lock()
	same(r, "delivered", len(r.delivered), 1)
	r.mu.Unlock()
	r.disk.After(nil)
	close(gate)
	<-done
	same(r, "events after the sync", r.load("s/a").Events, bytesOf("1", "2"))
}

// prefixThenPut: a row that one append deletes by its prefix and a later one of the same batch puts again has its entries.
func prefixThenPut(r *rig) {
	r.open()
	r.append(journal.Append{Stream: "s/a", Rows: []journal.Row{row("k", "v1", "i:x"), row("k2", "v1", "i:x")}})
	r.close()
	release := r.hold()
	var wg sync.WaitGroup
	before := r.disk.Applies()
	for _, a := range []journal.Append{
		{Stream: "s/a", Prefixes: []journal.Prefix{{Table: "t", Key: []byte("k")}}},
		{Stream: "s/b", Rows: []journal.Row{row("k", "v2", "i:x"), row("q", "v2", "i:x")}},
		{Stream: "s/c", Prefixes: []journal.Prefix{{Table: "t", Key: []byte("q")}}},
		{Stream: "s/b", Rows: []journal.Row{row("k", "v3", "i:x"), row("q", "v3", "i:x")}},
	} {
		wg.Go(func() {
			if _, err := r.c.Append(context.Background(), a); err != nil {
				r.Error(err)
			}
		})
		synctest.Wait()
	}
	release()
	wg.Wait()
	same(r, "batches", r.disk.Applies()-before, 1)
	same(r, "rows", r.scan(journal.Scan{Table: "t"}), []string{"k=v3", "q=v3"})
	same(r, "index", r.scan(journal.Scan{Table: "t", Index: "i"}), []string{"k=v3", "q=v3"})
}
