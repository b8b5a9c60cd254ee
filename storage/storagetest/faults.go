package storagetest

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing/synctest"
	"time"

	"sentient/storage/journal"
)

// full: a full disk refuses appends and leaves nothing of them, and the journal goes on when there is room.
func full(r *rig) {
	r.open()
	r.append(journal.Append{Stream: "s/a", Events: bytesOf("1"), Publish: []journal.Note{{Type: "n"}}})
	try := func() error {
		_, err := r.c.Append(context.Background(), journal.Append{Stream: "s/a", Expected: 1, Events: bytesOf("2"),
			Rows: []journal.Row{row("k", "v", "i:1")}, Publish: []journal.Note{{Type: "n2"}}})
		return err
	}
	r.disk.Fail(journal.ErrFull, nil) // found out while writing
	if err := try(); !errors.Is(err, journal.ErrFull) {
		r.Error(err)
	}
	r.disk.Fail(nil, journal.ErrFull) // known before
	if err := try(); !errors.Is(err, journal.ErrFull) {
		r.Error(err)
	}
	r.c.Checkpoint("s/a", []byte("waits for room"))
	time.Sleep(10 * time.Second)
	same(r, "nothing of it", r.load("s/a").Events, bytesOf("1"))
	same(r, "no row", r.scan(journal.Scan{Table: "t"}), []string{})
	same(r, "no note", r.log(0), []string{"1 n"})
	r.append(journal.Append{Stream: "s/v", Volatile: true, Events: bytesOf("memory has room")})
	r.disk.Fail(nil, nil)
	if err := try(); err != nil {
		r.Error("with room again:", err)
	}
	r.reopen()
	same(r, "events", r.load("s/a").Events, bytesOf("1", "2"))
	same(r, "no number was lost to the failures", r.log(0), []string{"1 n", "2 n2"})
	same(r, "the checkpoint waited", r.load("s/a").Checkpoints, bytesOf("waits for room"))
	same(r, "index", r.scan(journal.Scan{Table: "t", Index: "i"}), []string{"k=v"})
}

// broken: after a failure of unknown outcome nothing more is written, and all that was acknowledged is there.
func broken(r *rig) {
	r.open()
	r.append(journal.Append{Stream: "s/a", Events: bytesOf("1")})
	bad := errors.New("i/o error")
	r.disk.Fail(bad, nil)
	_, err := r.c.Append(context.Background(), journal.Append{Stream: "s/a", Expected: 1, Events: bytesOf("2")})
	if !errors.Is(err, bad) {
		r.Error(err)
	}
	r.disk.Fail(nil, nil)
	if _, err = r.c.Append(context.Background(), journal.Append{Stream: "s/b", Events: bytesOf("1")}); !errors.Is(err, bad) {
		r.Error("it went on after a failed write:", err)
	}
	r.reopen()
	same(r, "events", r.load("s/a").Events, bytesOf("1"))
}

// corrupt: a flipped bit is reported with its key and refuses that stream or row only.
func corrupt(r *rig) {
	r.open()
	r.append(journal.Append{Stream: "s/bad", Events: bytesOf("one", "two"), Rows: []journal.Row{row("bad", "value", "i:1"), row("fine", "value", "i:2")}})
	r.append(journal.Append{Stream: "s/good", Events: bytesOf("one")})
	r.append(journal.Append{Stream: "s/snap", Events: bytesOf("one"), Snapshot: []byte("state")})
	r.close()
	r.flip("e/s/bad", 5)
	r.flip("s/s/snap", 5)
	r.flip("r/t\x00\x01bad", 5)
	r.open()
	for stream, key := range map[journal.Stream]string{"s/bad": "e/s/bad", "s/snap": "s/s/snap"} {
		_, err := r.c.Load(context.Background(), stream)
		var c *journal.CorruptError
		if !errors.As(err, &c) || !strings.HasPrefix(c.Key, key) {
			r.Errorf("%s: %v", stream, err)
		}
	}
	same(r, "the others", r.load("s/good").Events, bytesOf("one"))
	v := r.read()
	defer v.Close()
	for _, index := range []string{"", "i"} {
		for whole, want := range map[bool]int{true: 1, false: 0} {
			var good, bad int
			for item, err := range v.Scan(journal.Scan{Table: "t", Index: index, Whole: whole}) {
				if c := new(journal.CorruptError); errors.As(err, &c) {
					bad++
				} else if err == nil && string(item.Key) == "fine" {
					good++
				}
			}
			if good != 1 || bad != want {
				r.Errorf("index %q, whole %v: %d good, %d damaged", index, whole, good, bad)
			}
		}
	}
	same(r, "what is said of it", r.c.Damage(), []journal.Damage{{Part: "streams", Places: 2}, {Part: "t", Places: 1}})
}

// corruptNotes: a note that cannot be read is left out of the log, and the numbers go on.
func corruptNotes(r *rig) {
	r.open()
	r.append(journal.Append{Stream: "s/a", Publish: []journal.Note{{Type: "1"}, {Type: "2"}, {Type: "3"}}})
	r.close()
	r.flip("n/\x00\x00\x00\x00\x00\x00\x00\x02", 5)
	r.open()
	same(r, "the log", r.log(0), []string{"1 1", "3 3"})
	same(r, "what is said of it", r.c.Damage(), []journal.Damage{{Part: "notes", Places: 1}})
	if got := r.append(journal.Append{Stream: "s/a", Publish: []journal.Note{{Type: "4"}}}); got.Seq != 4 {
		r.Errorf("number %d", got.Seq)
	}
}

// corruptOwn: the store opens whatever of its own records is damaged, and goes on with numbers that were never given out.
func corruptOwn(r *rig) {
	for _, prefix := range []string{"m/schema", "m/seq", "n/", "m/q/", "c/"} {
		r.open()
		version := r.load("s/a").Version
		got := r.append(journal.Append{Stream: "s/a", Expected: version, Events: bytesOf("x"), Publish: []journal.Note{{Type: "n"}}})
		gone := journal.Stream("s/gone" + prefix)
		r.append(journal.Append{Stream: gone, Events: bytesOf("x")})
		r.append(journal.Append{Stream: gone, Expected: 1, Delete: true})
		r.c.Checkpoint("s/b", []byte("so far"))
		r.close()
		r.flip(prefix, 5)
		r.open()
		next := r.append(journal.Append{Stream: "s/a", Expected: version + 1, Events: bytesOf("y"), Publish: []journal.Note{{Type: "n"}}})
		if next.Seq <= got.Seq {
			r.Errorf("%s: number %d after %d", prefix, next.Seq, got.Seq)
		}
		r.close()
	}
}

func (r *rig) flip(prefix string, n int) {
	r.Helper()
	e := r.engine()
	changed, err := Flip(e, prefix, n)
	if err != nil || changed == 0 {
		r.Fatalf("flip %q: %d, %v", prefix, changed, err)
	}
	if err := e.Close(); err != nil {
		r.Fatal(err)
	}
}

// damagedRowGoes: a damaged row can be replaced or deleted, with its index entries.
func damagedRowGoes(r *rig) {
	for _, byPrefix := range []bool{false, true} {
		r.open()
		w := &streamWriter{r: r, stream: "s/a", version: r.load("s/a").Version}
		harmed := func() {
			w.rows(row("bad", "value", "i:1", "j:2"), row("fine", "value", "i:2"))
			r.close()
			r.flip("r/t\x00\x01bad", 5)
			r.open()
		}
		harmed()
		w.rows(row("bad", "new", "i:3"))
		same(r, "the new row", r.scan(journal.Scan{Table: "t", Index: "i"}), []string{"fine=value", "bad=new"})
		same(r, "the old row's entries", r.scan(journal.Scan{Table: "t", Index: "j"}), []string{})
		same(r, "entries", len(keys(r, r.disk, journal.Span{Lo: []byte("i/"), Hi: []byte("j")}, false)), 2)
		harmed()
		if byPrefix {
			w.put(journal.Append{Prefixes: []journal.Prefix{{Table: "t", Key: []byte("b")}}})
		} else {
			w.rows(gone("bad"))
		}
		same(r, "rows", r.scan(journal.Scan{Table: "t"}), []string{"fine=value"})
		same(r, "index", r.scan(journal.Scan{Table: "t", Index: "i"}), []string{"fine=value"})
		same(r, "other index", r.scan(journal.Scan{Table: "t", Index: "j"}), []string{})
		same(r, "entries", len(keys(r, r.disk, journal.Span{Lo: []byte("i/"), Hi: []byte("j")}, false)), 1)
		r.close()
	}
}

func damagedNumbering(r *rig) {
	r.open()
	r.append(journal.Append{Stream: "s/a", Publish: []journal.Note{{Type: "1"}, {Type: "2"}}})
	r.close()
	r.flip("m/seq", 5)
	r.open()
	if got := r.append(journal.Append{Stream: "s/a", Publish: []journal.Note{{Type: "3"}}}); got.Seq < 1000 {
		r.Errorf("number %d could have been given out before", got.Seq)
	}
}

func newer(r *rig) {
	r.opt.Schema = 3
	r.open()
	r.append(journal.Append{Stream: "s/a", Events: bytesOf("1")})
	r.close()
	r.opt.Schema = 2
	err := r.tryOpen()
	var n *journal.NewerError
	if !errors.As(err, &n) || n.Found != 3 || n.Known != 2 {
		r.Fatal("a newer store:", err)
	}
	r.c = nil
	e := r.engine() // the same without the store's own word for it: each record tells
	var b journal.Batch
	b.Delete([]byte("m/schema"))
	if err := errors.Join(e.Apply(&b, true), e.Close()); err != nil {
		r.Fatal(err)
	}
	r.open()
	if _, err := r.c.Load(context.Background(), "s/a"); !errors.As(err, &n) || n.Found != 3 {
		r.Error("a newer record:", err)
	}
	r.close()
	r.opt.Schema = 4
	r.open()
	same(r, "an older store", r.load("s/a").Events, bytesOf("1"))
}

// upgrade: each kind of record is upgraded when read, and only what is older.
func upgrade(r *rig) {
	r.open()
	r.append(journal.Append{Stream: "s/a", Events: bytesOf("e"), Rows: []journal.Row{row("k", "r", "i:1")}, Publish: []journal.Note{{Type: "n", Data: []byte("d")}}})
	r.append(journal.Append{Stream: "s/b", Events: bytesOf("e"), Snapshot: []byte("s")})
	r.c.Checkpoint("s/a", []byte("c"))
	r.close()
	r.opt.Schema = 2
	r.opt.Upgrade = func(kind journal.Kind, name string, schema uint64, data []byte) ([]byte, error) {
		if schema != 1 {
			return nil, errors.New("not old")
		}
		if string(data) == "broken" {
			return nil, errors.New("what is this?")
		}
		return []byte(string(data) + " of " + name), nil
	}
	r.open()
	r.append(journal.Append{Stream: "s/a", Expected: 1, Events: bytesOf("new"), Rows: []journal.Row{row("k2", "new")}})
	same(r, "stream", r.load("s/a"), journal.Loaded{Version: 2, Events: bytesOf("e of s/a", "new"), Checkpoints: bytesOf("c of s/a")})
	same(r, "snapshot", r.load("s/b").Snapshot, []byte("s of s/b"))
	same(r, "rows", r.scan(journal.Scan{Table: "t"}), []string{"k=r of t", "k2=new"})
	same(r, "index", r.scan(journal.Scan{Table: "t", Index: "i"}), []string{"k=r of t"})
	v := r.read()
	defer v.Close()
	for e, err := range v.Log(0) {
		if err != nil || string(e.Data) != "d of n" {
			r.Errorf("note %+v %v", e, err)
		}
	}
}

// eraserResumes: a deletion is erased within a minute, a failed or interrupted erasure is tried again, after a restart too.
func eraserResumes(r *rig) {
	var calls atomic.Int64
	var fail atomic.Bool
	fail.Store(true)
	r.opt.OnErase = []func(context.Context) error{func(context.Context) error {
		calls.Add(1)
		if fail.Load() {
			return errors.New("the index is busy")
		}
		return nil
	}}
	r.open()
	for _, s := range []journal.Stream{"s/a", "s/b"} {
		r.append(journal.Append{Stream: s, Events: bytesOf("1")})
		r.append(journal.Append{Stream: s, Expected: 1, Delete: true})
	}
	synctest.Wait()
	same(r, "it gathers", r.disk.Erased(), 0)
	time.Sleep(59 * time.Second)
	synctest.Wait()
	same(r, "one erasure for both, failed at the hook", []int64{int64(r.disk.Erased()), calls.Load()}, []int64{1, 1})
	r.reopen()
	time.Sleep(59 * time.Second)
	synctest.Wait()
	same(r, "resumed after a restart", calls.Load(), 2)
	fail.Store(false)
	time.Sleep(time.Minute)
	synctest.Wait()
	same(r, "done", calls.Load(), 3)
	time.Sleep(time.Hour)
	r.reopen()
	time.Sleep(time.Hour)
	same(r, "and forgotten", calls.Load(), 3)
	if err := r.c.Erase(context.Background()); err != nil {
		r.Error("with nothing to do:", err)
	}
}

// eraserWaits: what a reader still sees cannot be erased, so the eraser waits for it.
func eraserWaits(r *rig) {
	r.open()
	r.append(journal.Append{Stream: "s/a", Events: bytesOf("1")})
	v := r.read()
	r.append(journal.Append{Stream: "s/a", Expected: 1, Delete: true})
	done := make(chan error, 1)
	go func() { done <- r.c.Erase(context.Background()) }()
	time.Sleep(10 * time.Second)
	synctest.Wait()
	same(r, "waits", r.disk.Erased(), 0)
	_ = v.Close()
	if err := <-done; err != nil {
		r.Error(err)
	}
	same(r, "erased", r.disk.Erased(), 1)
}
