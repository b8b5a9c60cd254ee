package snapshots

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// Models number their calls as they like: the same id in two chats, or one that is no name for a folder. Each call's copies are
// kept, and a name that could mean two changes puts nothing back.
func TestCallsWithTheSameID(t *testing.T) {
	r := newRig(t)
	one, two := filepath.Join(r.root, "one"), filepath.Join(r.root, "two")
	write := func(chat, id, path, text string) {
		finish := r.Guard(Call{ID: id, Session: chat, Source: Files, Files: []string{path}})
		r.put(filepath.Base(path), text)
		finish()
		r.now = r.now.Add(time.Second)
	}
	r.put("one", "1")
	r.put("two", "2")
	write("A", "call_0", one, "1!")
	write("B", "call_0", two, "2!")
	if _, err := r.Restore(t.Context(), "call_0"); refusal(err) != "Several changes go by this name, so nothing was put back." || r.tree() != "one=1! two=2!" {
		t.Fatal(err, r.tree())
	}
	if n, err := r.Restore(t.Context(), "B:call_0"); n != 1 || err != nil || r.tree() != "one=1! two=2" {
		t.Fatal(n, err, r.tree())
	}
	if _, err := r.Restore(t.Context(), "C:call_0"); refusal(err) != "There is nothing to put back." {
		t.Fatal(err)
	}
	write("A", "call_0", one, "1!!") // again in the same chat: the newest counts
	if n, err := r.Restore(t.Context(), "A:call_0"); n != 1 || err != nil || r.tree() != "one=1! two=2" {
		t.Fatal(n, err, r.tree())
	}
	for _, id := range []string{"a/b", "../up", strings.Repeat("x", 300), "a:b", "é"} {
		write("A", id, one, "by "+id)
		if n, err := r.Restore(t.Context(), id); n != 1 || err != nil || r.tree() != "one=1! two=2" {
			t.Fatal(id, n, err, r.tree())
		}
	}
	r.whole()
}

// A-1140: what a restore replaces is copied first, also when it is big or no text and when copies are switched off by now.
func TestWhatARestoreReplacesIsKept(t *testing.T) {
	r := newRig(t)
	r.write("one")
	r.change("c1", "two")
	big := "\x00" + strings.Repeat("x", 6<<20)
	r.write(big)
	r.cfg.Enabled = false
	if n, err := r.Restore(t.Context(), "c1"); n != 1 || err != nil || r.read() != "one" {
		t.Fatal(n, err)
	}
	r.undoAll()
	if r.read() != big {
		t.Error("what was replaced is lost")
	}
}

// Where that copy cannot be made nothing is put back, and it can be tried again.
func TestNothingIsReplacedWithoutACopy(t *testing.T) {
	r := newRig(t)
	r.write("one")
	r.change("c1", "two")
	r.keep.Step = func(what string) {
		if what == "copy" {
			_ = os.Rename(r.file(), r.file()+".away")
		}
	}
	if _, err := r.Restore(t.Context(), "c1"); !strings.HasPrefix(refusal(err), "What is there now could not be copied first") {
		t.Fatal(err)
	}
	r.keep.Step = nil
	if r.tree() != "a.txt.away=two" {
		t.Fatal(r.tree())
	}
	r.whole()
	if n, err := r.Restore(t.Context(), "c1"); n != 1 || err != nil {
		t.Fatal(n, err)
	}
}

// A window that goes away while files are put back leaves nothing half done.
func TestTheWindowGoesAway(t *testing.T) {
	r := newRig(t)
	r.write("one")
	r.change("c1", "two")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if n, err := r.Restore(ctx, "c1"); n != 1 || err != nil || r.read() != "one" {
		t.Fatal(n, err)
	}
	r.whole()
}

// The log never names a person's files, and a failure is a plain sentence.
func TestFailuresArePlain(t *testing.T) {
	r := newRig(t)
	var logs bytes.Buffer
	r.o.Logger = slog.New(slog.NewTextHandler(&logs, nil))
	if err := os.Mkdir(filepath.Join(r.root, "secret-plan"), 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(r.root, "secret-plan", "a.txt")
	_ = os.WriteFile(path, []byte("one"), 0o600)
	finish := r.Guard(Call{ID: "c1", Files: []string{path}})
	_ = os.RemoveAll(filepath.Dir(path))
	r.put("secret-plan", "a file where its folder was")
	finish()
	if _, err := r.Restore(t.Context(), "c1"); refusal(err) != errPart.Text {
		t.Fatal(err)
	}
	if logs.Len() == 0 || strings.Contains(logs.String(), "secret") {
		t.Error(logs.String())
	}
	_ = os.RemoveAll(filepath.Join(r.dir, "c1"))
	if _, err := r.Restore(t.Context(), "c1"); refusal(err) != "The copies are gone, so this can't be put back anymore." {
		t.Fatal(err)
	}
}

// Whatever calls and restores do in whatever order, and wherever the engine starts again between them, each restore makes the file
// what it was before its call, and undoing it makes it what it was before the restore.
func TestAnyOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t)
		text := rapid.SampledFrom([]string{"", "a", "b", "a\x00b", "long " + strings.Repeat("x", 9000)})
		r.write(text.Draw(rt, "first"))
		before := map[string]string{}
		for i := range rapid.IntRange(1, 8).Draw(rt, "calls") {
			r.now = r.now.Add(time.Second)
			switch rapid.IntRange(0, 3).Draw(rt, "do") {
			case 0:
				r.again()
			case 1:
				r.write(text.Draw(rt, "by hand"))
			default:
				id := "c" + string(rune('a'+i))
				before[id] = r.read()
				r.change(id, text.Draw(rt, id))
			}
		}
		for id, want := range before {
			now := r.read()
			row, _ := r.Get(id)
			if row == nil || filesOf(row)[0].Copy == "" {
				if _, err := r.Restore(t.Context(), id); refusal(err) == "" || r.read() != now {
					rt.Fatalf("%v %q", err, r.read())
				}
				continue
			}
			if n, err := r.Restore(t.Context(), id); n != 1 || err != nil || r.read() != want {
				rt.Fatalf("%d %v: %q, wanted %q", n, err, r.read(), want)
			}
			rows, _ := r.all()
			for _, undo := range rows {
				if undo.Source == Restored && undo.RestoredAt == 0 {
					if _, err := r.Restore(t.Context(), undo.Id); err != nil {
						rt.Fatal(err)
					}
				}
			}
			if r.read() != now {
				rt.Fatalf("undone: %q, wanted %q", r.read(), now)
			}
			// That undo can be undone too; take its row as done, so that the next round undoes its own.
			rows, _ = r.all()
			for _, undo := range rows {
				if undo.Source == Restored && undo.RestoredAt == 0 {
					if err := r.remove(t.Context(), undo.Id); err != nil {
						rt.Fatal(err)
					}
				}
			}
		}
		r.whole()
	})
}

// the clean-up runs at once and then every six hours, until it is stopped.
func TestServe(t *testing.T) {
	dir, root := t.TempDir(), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := rigIn(t, dir, root)
		defer r.close()
		r.o.Now = time.Now
		r.cfg.KeepDays = 1
		r.write("one")
		r.change("c1", "two")
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); r.Serve(ctx) }()
		left := func() int { synctest.Wait(); ids, _ := r.keep.IDs(); return len(ids) }
		time.Sleep(30*time.Hour - time.Second) // the clean-up of 24 hours found it just not old enough
		if left() != 1 {
			t.Error("too early")
		}
		time.Sleep(2 * time.Second)
		if left() != 0 {
			t.Error("too late")
		}
		cancel()
		<-done
	})
}
