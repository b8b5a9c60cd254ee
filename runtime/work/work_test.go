package work

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newTable() *Table { return New(Options{Logger: slog.New(slog.DiscardHandler)}) }

// untilCancelled waits for its context and hands the cause on.
func untilCancelled(cause chan<- error) func(context.Context) {
	return func(ctx context.Context) {
		<-ctx.Done()
		cause <- context.Cause(ctx)
	}
}

func TestRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tab := New(Options{Logger: slog.New(slog.DiscardHandler), Epoch: 5})
		causes := make(chan error, 9)
		start := func(s Spec) error { return tab.Go(t.Context(), s, untilCancelled(causes)) }
		ended, cancel := context.WithCancelCause(t.Context())
		boom := errors.New("boom")
		cancel(boom)
		if err := tab.Go(ended, Spec{ID: "x"}, func(context.Context) { t.Error("ran") }); err != boom {
			t.Errorf("ended parent: %v", err)
		}
		if err := start(Spec{}); err == nil {
			t.Error("a run without an id was taken")
		}
		if err := start(Spec{ID: "old", Origin: User, Epoch: 4}); err != ErrStaleEpoch {
			t.Errorf("stale: %v", err)
		}
		for _, s := range []Spec{{ID: "a", Origin: User, Epoch: 5}, {ID: "b", Origin: Dreaming}, {ID: "l", Kind: Link, Origin: Background}} {
			if err := start(s); err != nil {
				t.Errorf("%s: %v", s.ID, err)
			}
		}
		if err := start(Spec{ID: "a"}); err == nil {
			t.Error("an id in use was taken")
		}
		rep := tab.StopAll(t.Context(), 6)
		if rep.Cancelled != 2 || len(rep.Late) != 0 || !tab.Stopped() || tab.Epoch() != 6 {
			t.Errorf("stop: %+v stopped %v epoch %d", rep, tab.Stopped(), tab.Epoch())
		}
		for range 2 {
			if err := <-causes; err != ErrStopped {
				t.Errorf("cause %v", err)
			}
		}
		for _, c := range []struct {
			spec Spec
			want error
		}{
			{Spec{ID: "c", Origin: Heartbeat}, ErrStopped},
			{Spec{ID: "d"}, ErrStopped},
			{Spec{ID: "e", Origin: User, Epoch: 5}, ErrStaleEpoch},
			{Spec{ID: "f", Origin: User, Epoch: 6}, nil},
			{Spec{ID: "g", Origin: Background, Kind: Link}, nil},
		} {
			if err := start(c.spec); err != c.want {
				t.Errorf("while stopped, %s: %v, want %v", c.spec.ID, err, c.want)
			}
		}
		tab.StopAll(t.Context(), 2)
		if tab.Epoch() != 6 {
			t.Error("the epoch went back")
		}
		tab.Resume()
		if err := start(Spec{ID: "c", Origin: Heartbeat}); err != nil || tab.Stopped() {
			t.Errorf("after resume: %v", err)
		}
		if err := tab.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err := start(Spec{ID: "z", Origin: User}); err != ErrClosed {
			t.Errorf("closed: %v", err)
		}
		if n := len(tab.Running()); n != 0 {
			t.Errorf("%d still in the table", n)
		}
	})
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tab := newTable()
		causes := make(chan error, 9)
		for i, owner := range []string{"s/1", "s/1", "s/2"} {
			if err := tab.Go(t.Context(), Spec{ID: fmt.Sprint(i), Owner: owner}, untilCancelled(causes)); err != nil {
				t.Fatal(err)
			}
		}
		if run := tab.Running(); len(run) != 3 || run[0].ID != "0" || run[2].ID != "2" {
			t.Errorf("running %+v", run)
		}
		boom := errors.New("boom")
		if n := tab.CancelOwner("s/1", boom); n != 2 {
			t.Errorf("cancelled %d", n)
		}
		synctest.Wait()
		if a, b := <-causes, <-causes; a != boom || b != boom {
			t.Errorf("causes %v %v", a, b)
		}
		if tab.Cancel("0", nil) || tab.Cancel("", nil) || !tab.Cancel("2", nil) {
			t.Error("Cancel does not tell what is going")
		}
		if err := <-causes; err != ErrCancelled {
			t.Errorf("cause %v", err)
		}
	})
}

func TestLateRunsAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tab := newTable()
		if err := tab.Go(t.Context(), Spec{ID: "deaf", Owner: "s/1"}, func(context.Context) { time.Sleep(time.Minute) }); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if rep := tab.StopAll(ctx, 1); rep.Cancelled != 1 || len(rep.Late) != 1 || rep.Late[0].ID != "deaf" {
			t.Errorf("%+v", rep)
		}
		var late *UnendedError
		if err := tab.Close(ctx); !errors.As(err, &late) || late.Error() != "this work did not end in time: s/1#deaf" {
			t.Errorf("close: %v", err)
		}
		if err := tab.Close(t.Context()); err != nil {
			t.Errorf("second close: %v", err)
		}
	})
}

func TestPanicIsToldAndContained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tab := newTable()
		told := make(chan error, 1)
		for _, c := range []struct {
			value any
			want  string
		}{
			{"bad", "the work failed unexpectedly: bad"},
			{errors.New("worse"), "the work failed unexpectedly: worse"},
			{[]string{"private"}, "the work failed unexpectedly ([]string)"},
		} {
			err := tab.Go(t.Context(), Spec{ID: "x", OnPanic: func(err error) { told <- err; panic("again") }}, func(context.Context) { panic(c.value) })
			if err != nil {
				t.Fatal(err)
			}
			if got := <-told; got.Error() != c.want {
				t.Errorf("%v, want %s", got, c.want)
			}
			synctest.Wait()
		}
		if err := tab.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A job that races with StopAll is either refused or cancelled, never missed.
func TestStopAllRacesWithGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tab := newTable()
		var started, ended atomic.Int64
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				for i := range 500 {
					_ = tab.Go(t.Context(), Spec{ID: fmt.Sprint(g, "-", i), Origin: Background}, func(ctx context.Context) {
						started.Add(1)
						<-ctx.Done()
						ended.Add(1)
					})
				}
			})
		}
		tab.StopAll(t.Context(), 1)
		wg.Wait()
		synctest.Wait()
		if started.Load() != ended.Load() || len(tab.Running()) != 0 {
			t.Errorf("started %d, ended %d, left %d", started.Load(), ended.Load(), len(tab.Running()))
		}
	})
}

// mailbox counts the doorbells that are outstanding.
type mailbox struct {
	bells chan struct{}
	most  atomic.Int64
}

func (m *mailbox) ring() {
	m.bells <- struct{}{}
	m.most.Store(max(m.most.Load(), int64(len(m.bells))))
}

func TestPipe(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.IntRange(1, 20).Draw(rt, "size")
		most := rapid.IntRange(0, 25).Draw(rt, "max")
		senders := rapid.IntRange(1, 3).Draw(rt, "senders")
		each := rapid.IntRange(0, 300).Draw(rt, "each")
		m := &mailbox{bells: make(chan struct{}, 16)}
		p := NewPipe[[2]int](size, m.ring)
		boom := errors.New("boom")
		var wg sync.WaitGroup
		for s := range senders {
			wg.Go(func() {
				for i := range each {
					if err := p.Send(context.Background(), [2]int{s, i}); err != nil {
						rt.Errorf("send: %v", err)
					}
				}
			})
		}
		go func() { wg.Wait(); p.Close(boom) }()
		next := make([]int, senders)
		for {
			<-m.bells // a lost doorbell hangs here
			items, more, closed, err := p.Drain(most, time.Hour)
			if len(items) > size || most > 0 && len(items) > most {
				rt.Fatalf("%d items", len(items))
			}
			for _, it := range items {
				if it[1] != next[it[0]] {
					rt.Fatalf("sender %d: item %d, want %d", it[0], it[1], next[it[0]])
				}
				next[it[0]]++
			}
			if closed {
				if more || err != boom {
					rt.Fatalf("closed with more %v, err %v", more, err)
				}
				break
			}
		}
		for s, n := range next {
			if n != each {
				rt.Fatalf("sender %d: %d of %d", s, n, each)
			}
		}
		if m.most.Load() > 1 || len(m.bells) != 0 {
			rt.Fatalf("doorbells outstanding: %d, left %d", m.most.Load(), len(m.bells))
		}
		if err := p.Send(context.Background(), [2]int{}); err != ErrPipeClosed {
			rt.Fatalf("send after close: %v", err)
		}
	})
}

func TestPipeSlowConsumerSlowsTheProducer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPipe[int](4, func() {})
		ctx, cancel := context.WithCancelCause(t.Context())
		var sent atomic.Int64
		outcome := make(chan error)
		go func() {
			for i := 0; ; i++ {
				if err := p.Send(ctx, i); err != nil {
					outcome <- err
					return
				}
				sent.Add(1)
			}
		}()
		synctest.Wait()
		if sent.Load() != 4 {
			t.Fatalf("sent %d into 4 places", sent.Load())
		}
		if items, more, _, _ := p.Drain(3, 0); len(items) != 3 || !more {
			t.Fatalf("drained %d, more %v", len(items), more)
		}
		synctest.Wait()
		if sent.Load() != 7 {
			t.Fatalf("sent %d after three places came free", sent.Load())
		}
		boom := errors.New("boom")
		cancel(boom)
		if err := <-outcome; err != boom {
			t.Errorf("cancelled: %v", err)
		}
		go func() { outcome <- p.Send(t.Context(), 1) }()
		synctest.Wait()
		p.Close(nil)
		if err := <-outcome; err != ErrPipeClosed {
			t.Errorf("closed while waiting: %v", err)
		}
	})
}

func BenchmarkPipe1M(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		bells := make(chan struct{}, 4)
		p := NewPipe[string](256, func() { bells <- struct{}{} })
		go func() {
			for range 1_000_000 {
				_ = p.Send(context.Background(), "tok")
			}
			p.Close(nil)
		}()
		for closed := false; !closed; {
			<-bells
			_, _, closed, _ = p.Drain(0, time.Millisecond)
		}
	}
}
