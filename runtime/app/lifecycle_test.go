package app

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

type journal struct {
	mu  sync.Mutex
	log []string
}

func (j *journal) add(s string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.log = append(j.log, s)
}

func (j *journal) part(name string) Part {
	return Part{Name: name,
		Start: func(context.Context) error { j.add("start " + name); return nil },
		Serve: func(ctx context.Context) error { <-ctx.Done(); j.add("ended " + name); return nil },
		Stop:  func(context.Context) error { j.add("stop " + name); return nil }}
}

func TestLifecycleStopsInReverse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j journal
		ctx, cancel := context.WithCancel(t.Context())
		l := &Lifecycle{Parts: []Part{j.part("store"), j.part("actors"), j.part("edge")}, Ready: func() { j.add("ready"); cancel() }}
		if err := l.Run(ctx); err != nil {
			t.Fatal(err)
		}
		want := []string{"start store", "start actors", "start edge", "ready", "ended edge", "stop edge", "ended actors", "stop actors", "ended store", "stop store"}
		if !reflect.DeepEqual(j.log, want) {
			t.Fatal(j.log)
		}
	})
}

func TestLifecycleStopsWhatStartedWhenOneDoesNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j journal
		bad := Part{Name: "edge", Start: func(context.Context) error { return errors.New("the port is taken") }, Stop: func(context.Context) error { t.Error("stopped"); return nil }}
		err := (&Lifecycle{Parts: []Part{j.part("store"), bad, j.part("late")}}).Run(t.Context())
		if err == nil || err.Error() != "edge did not start: the port is taken" {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(j.log, []string{"start store", "ended store", "stop store"}) {
			t.Fatal(j.log)
		}
	})
}

func TestLifecycleEndsWithAPartThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j journal
		bad := Part{Name: "edge", Serve: func(ctx context.Context) error { time.Sleep(time.Minute); panic("oh") }}
		err := (&Lifecycle{Parts: []Part{j.part("store"), bad}}).Run(t.Context())
		if err == nil || !strings.HasPrefix(err.Error(), "edge failed: panic: oh\n") {
			t.Fatal(err)
		}
		if j.log[len(j.log)-1] != "stop store" {
			t.Fatal(j.log)
		}
	})
}

func TestLifecycleNamesWhatDidNotStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j journal
		release := make(chan struct{})
		stuck := Part{Name: "voice", StopWithin: 3 * time.Second, Serve: func(context.Context) error { <-release; return nil }, Stop: func(context.Context) error { j.add("stop voice"); return nil }}
		hung := Part{Name: "edge", StopWithin: 2 * time.Second, Stop: func(context.Context) error { <-release; return nil }}
		ctx, cancel := context.WithCancel(t.Context())
		begun := time.Now()
		err := (&Lifecycle{Parts: []Part{j.part("store"), stuck, hung}, Ready: cancel}).Run(ctx)
		var late *UnstoppedError
		if !errors.As(err, &late) || !reflect.DeepEqual(late.Parts, []string{"edge", "voice"}) {
			t.Fatal(err)
		}
		if took := time.Since(begun); took > 6*time.Second {
			t.Error("the bounds did not hold", took)
		}
		if got := j.log[len(j.log)-1]; got != "stop store" {
			t.Error("the others still stop", j.log)
		}
		close(release)
	})
}

func TestLifecycleBoundsAStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		deaf := Part{Name: "deaf", StartWithin: time.Second, Start: func(context.Context) error { <-release; return nil }}
		if err := (&Lifecycle{Parts: []Part{deaf}}).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "deaf did not start within 1s") {
			t.Fatal(err)
		}
		close(release)
		heeds := Part{Name: "heeds", StartWithin: time.Second, Start: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
		if err := (&Lifecycle{Parts: []Part{heeds}}).Run(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
	})
}

func TestHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h Health
		release := make(chan struct{})
		h.Register("store", func(context.Context) (any, error) { return map[string]int{"streams": 3}, nil })
		remove := h.Register("bad", func(context.Context) (any, error) { return nil, errors.New("gone: Bearer abcdefghijkl") })
		h.Register("panics", func(context.Context) (any, error) { panic("x") })
		var starts atomic.Int32
		h.Register("hangs", func(context.Context) (any, error) { starts.Add(1); <-release; return nil, nil })
		ok, got := h.Report(t.Context())
		if ok || !got["store"].OK || got["bad"].OK || strings.Contains(got["bad"].Error, "abcdef") || got["panics"].OK || got["hangs"].Error != "It did not answer in time." {
			t.Fatal(got)
		}
		if _, got = h.Report(t.Context()); starts.Load() != 1 || got["hangs"].OK {
			t.Error("a check that hangs was started again")
		}
		close(release)
		synctest.Wait()
		remove()
		if _, got = h.Report(t.Context()); !got["hangs"].OK || len(got) != 3 {
			t.Fatal(got)
		}
	})
}
