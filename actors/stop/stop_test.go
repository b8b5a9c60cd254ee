package stop

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sentient/actors/msg"
	"sentient/runtime/act"
	"sentient/runtime/bus"
	"sentient/runtime/work"
	"sentient/storage/journal"
	"sentient/storage/memstore"
)

// engine is what the room needs, on a store that survives a restart.
type engine struct {
	*Service
	t     *testing.T
	store *memstore.Store
	j     *journal.Committer
	sys   *act.System
	work  *work.Table
	told  *[]string
	fail  *error // what the store answers when it is not nil
}

// failing is a journal that cannot write for a while.
type failing struct {
	journal.Journal
	err *error
}

func (f failing) Append(ctx context.Context, a journal.Append) (journal.Receipt, error) {
	if *f.err != nil {
		return journal.Receipt{}, *f.err
	}
	return f.Journal.Append(ctx, a)
}

func open(t *testing.T, store *memstore.Store, told *[]string) *engine {
	t.Helper()
	e := &engine{t: t, store: store, told: told, work: work.New(work.Options{}), sys: act.New(act.Options{}), fail: new(error)}
	var err error
	e.j, err = journal.Open(context.Background(), journal.Options{Disk: store, Memory: memstore.New(), Deliver: func(es []journal.Entry) {
		for _, n := range es {
			*told = append(*told, string(n.Live.(bus.Event).Body))
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	e.Service, err = New(e.sys, Options{Journal: failing{e.j, e.fail}, Bus: bus.New(bus.Options{}), Work: e.work})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func (e *engine) close() {
	ctx := context.Background()
	_ = e.work.Close(ctx)
	_ = e.sys.Close(ctx)
	_ = e.j.Close(ctx)
}

func (e *engine) restart() *engine {
	next := e.store.Reopen()
	e.close()
	return open(e.t, next, e.told)
}

func inEngine(t *testing.T, fn func(*testing.T, *engine)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		e := open(t, memstore.New(), &[]string{})
		defer func() { e.close() }()
		fn(t, e)
		synctest.Wait()
	})
}

func (e *engine) stopAll(source string) msg.StopReport {
	e.t.Helper()
	r, err := e.StopAll(context.Background(), source)
	if err != nil {
		e.t.Fatal(err)
	}
	return r
}

func (e *engine) resume(source string) msg.StopState {
	e.t.Helper()
	s, err := e.Resume(context.Background(), source)
	if err != nil {
		e.t.Fatal(err)
	}
	return s
}

// job runs until it is cancelled, and returns late by slow.
func (e *engine) job(id string, s work.Spec, slow time.Duration) {
	e.t.Helper()
	s.ID, s.Owner = id, "test"
	if err := e.work.Go(context.Background(), s, func(ctx context.Context) { <-ctx.Done(); time.Sleep(slow) }); err != nil {
		e.t.Fatal(err)
	}
}

func show(s msg.StopState) string {
	at, source := "never", "nobody"
	if s.StoppedAt != nil {
		at = s.StoppedAt.UTC().Format(time.TimeOnly)
	}
	if s.Source != nil {
		source = *s.Source
	}
	return fmt.Sprintf("%v %s %s", s.Stopped, at, source)
}

// A-1078, A-1080: the first stop says when and by whom, a second one keeps that and cancels what began since; a job is counted
// once however many runs it has.
func TestStopTwice(t *testing.T) {
	inEngine(t, func(t *testing.T, e *engine) {
		e.job("a1", work.Spec{Unit: "a", Origin: work.User}, 0)
		e.job("a2", work.Spec{Unit: "a", Origin: work.User}, 0)
		e.job("b", work.Spec{Origin: work.Background}, 0)
		e.job("link", work.Spec{Kind: work.Link}, 0)
		first := e.stopAll("tray")
		if first.Cancelled != 2 || len(first.NotEnded) != 0 || show(first.StopState) != "true "+now()+" tray" {
			t.Fatalf("%+v %s", first, show(first.StopState))
		}
		was := show(first.StopState)
		time.Sleep(time.Hour)
		if err := e.work.Go(context.Background(), work.Spec{ID: "engine", Origin: work.Background}, func(context.Context) {}); !errors.Is(err, work.ErrStopped) {
			t.Fatal(err)
		}
		e.job("person", work.Spec{Origin: work.User}, 0)
		second := e.stopAll("device")
		if second.Cancelled != 1 || show(second.StopState) != was || show(e.State()) != was {
			t.Fatalf("%+v %s", second, show(second.StopState))
		}
		if running := e.work.Running(); len(running) != 1 || running[0].ID != "link" {
			t.Fatal(running)
		}
		if n := len(*e.told); n != 1 || !strings.Contains((*e.told)[0], `"type":"stop.updated"`) || !strings.Contains((*e.told)[0], `"source":"tray"`) {
			t.Fatal(*e.told)
		}
		if s := e.resume("telegram"); show(s) != "false never telegram" {
			t.Fatal(show(s))
		}
		e.resume("desktop")
		if len(*e.told) != 2 || show(e.State()) != "false never telegram" {
			t.Fatal(*e.told, show(e.State()))
		}
		e.job("engine", work.Spec{Origin: work.Background}, 0)
	})
}

func now() string { return time.Now().UTC().Format(time.TimeOnly) }

// A-1085, A-1086: the source is optional, and one of the known ones.
func TestSource(t *testing.T) {
	inEngine(t, func(t *testing.T, e *engine) {
		if got := e.State(); show(got) != "false never nobody" {
			t.Fatal(show(got))
		}
		for _, bad := range []string{"nobody", "Desktop", strings.Repeat("x", 1<<20), "desktop\x00"} {
			_, err := e.StopAll(context.Background(), bad)
			_, err2 := e.Resume(context.Background(), bad)
			for _, err := range []error{err, err2} {
				if f, ok := msg.AsFault(err); !ok || f.Kind != msg.Invalid || !strings.HasPrefix(f.Text, "source must be one of desktop, ") {
					t.Fatal(err)
				}
			}
		}
		if e.State().Stopped || e.work.Stopped() {
			t.Fatal("stopped by a refused request")
		}
		for _, ok := range append([]string{""}, Sources...) {
			want := ok
			if ok == "" {
				want = "desktop"
			}
			if s := e.stopAll(ok); *s.Source != want {
				t.Fatal(*s.Source)
			}
			if s := e.resume(ok); *s.Source != want {
				t.Fatal(*s.Source)
			}
		}
	})
}

// A-1082: a restart keeps everything stopped, and the epoch goes on from there.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := open(t, memstore.New(), &[]string{})
		defer func() { e.close() }()
		e.stopAll("hotkey")
		was, epoch := show(e.State()), e.Epoch()
		time.Sleep(time.Minute)
		e = e.restart()
		if show(e.State()) != was || e.Epoch() != epoch || !e.work.Stopped() {
			t.Fatal(show(e.State()), e.Epoch())
		}
		e.resume("cli")
		e = e.restart()
		if show(e.State()) != "false never cli" || e.Epoch() != epoch || e.work.Stopped() {
			t.Fatal(show(e.State()), e.Epoch())
		}
		e.stopAll("cli")
		if e.Epoch() != epoch+1 {
			t.Fatal(e.Epoch())
		}
	})
}

// A stop that cannot be saved stops all the same, and says that the next start would not know.
func TestUnsaved(t *testing.T) {
	for _, fault := range []error{journal.ErrFull, journal.ErrClosed, errors.New("a fault of the disk")} {
		inEngine(t, func(t *testing.T, e *engine) {
			e.job("a", work.Spec{Origin: work.User}, 0)
			*e.fail = fault
			r, err := e.StopAll(context.Background(), "tray")
			if !errors.Is(err, errUnsaved) || r.Cancelled != 1 || !e.work.Stopped() || !e.State().Stopped || len(e.work.Running()) != 0 {
				t.Fatalf("%+v %v", r, err)
			}
			if _, err := e.Resume(context.Background(), ""); err == nil || !e.work.Stopped() || !e.State().Stopped {
				t.Fatal("resumed without saying so on disk:", err)
			}
			*e.fail = nil
			e.stopAll("cli")
			if e = e.restart(); !e.State().Stopped {
				t.Fatal("not saved")
			}
			e.close()
		})
	}
}

// The owner of the flag is gone (it crashed too often, or the engine ends): stopping does not depend on it.
func TestWithoutOwner(t *testing.T) {
	inEngine(t, func(t *testing.T, e *engine) {
		e.job("a", work.Spec{Origin: work.User}, 0)
		_ = e.sys.Close(context.Background())
		before := e.Epoch()
		r, err := e.StopAll(context.Background(), "")
		if !errors.Is(err, errUnsaved) || r.Cancelled != 1 || !e.work.Stopped() || e.Epoch() != before+1 {
			t.Fatalf("%+v %v", r, err)
		}
	})
}

// halter is an owner of work.
type halter struct {
	mu      sync.Mutex
	epochs  []uint64
	resumes int
	ended   []string
	late    string
	slow    time.Duration
}

func (h *halter) Halt(ctx context.Context, epoch uint64) (ended, late []string) {
	h.mu.Lock()
	h.epochs = append(h.epochs, epoch)
	h.mu.Unlock()
	select {
	case <-time.After(h.slow):
		return h.ended, nil
	case <-ctx.Done():
		return nil, []string{h.late}
	}
}

func (h *halter) Resume() { h.mu.Lock(); h.resumes++; h.mu.Unlock() }

// What has not ended in 2 s is named; owners are asked side by side, and what both the kill table and an owner report counts once.
func TestNamesWhatIsLate(t *testing.T) {
	inEngine(t, func(t *testing.T, e *engine) {
		quick, deaf := &halter{ended: []string{"turn", "asked"}, slow: time.Second}, &halter{late: "the deaf one", slow: time.Hour}
		e.Join(quick)
		e.Join(deaf)
		e.job("run", work.Spec{Unit: "turn", Origin: work.User}, 0)
		e.job("slow", work.Spec{Label: "tool sleep", Origin: work.User}, 10*time.Second)
		start := time.Now()
		r := e.stopAll("")
		if took := time.Since(start); took != 2*time.Second {
			t.Fatal(took)
		}
		if r.Cancelled != 3 || strings.Join(r.NotEnded, ", ") != "the deaf one, tool sleep" {
			t.Fatalf("%+v", r)
		}
		if len(quick.epochs) != 1 || quick.epochs[0] != e.Epoch() {
			t.Fatal(quick.epochs, e.Epoch())
		}
		e.resume("")
		if quick.resumes != 1 || deaf.resumes != 1 {
			t.Fatal(quick.resumes, deaf.resumes)
		}
		time.Sleep(10 * time.Second)
	})
}

// Whatever the order in which stops and resumes of many clients arrive, the store, the room and the kill table agree, also after
// a restart.
func TestManyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := open(t, memstore.New(), &[]string{})
		defer func() { e.close() }()
		var all sync.WaitGroup
		for i := range 200 {
			all.Go(func() {
				time.Sleep(time.Duration(i%7) * time.Millisecond)
				var err error
				if i%3 == 0 {
					_, err = e.Resume(context.Background(), Sources[i%len(Sources)])
				} else {
					_, err = e.StopAll(context.Background(), Sources[i%len(Sources)])
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		was, epoch := show(e.State()), e.Epoch()
		if e.State().Stopped != e.work.Stopped() {
			t.Fatal("the room and the kill table disagree")
		}
		e = e.restart()
		if show(e.State()) != was || e.Epoch() != epoch || e.work.Stopped() != e.State().Stopped {
			t.Fatal(show(e.State()), was)
		}
	})
}
