package plans

import (
	"context"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"sentient/runtime/act"
	"sentient/runtime/bus"
	"sentient/storage/journal"
	"sentient/storage/memstore"
	"sentient/storage/pebblestore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// what is remembered outlives a restart; A-342: a change is told as config.updated with the section secrets.
func TestRememberAndTell(t *testing.T) {
	dir := t.TempDir()
	var mu sync.Mutex
	var told []string
	open := func() (*Service, func()) {
		disk, err := pebblestore.Open(pebblestore.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		j, err := journal.Open(t.Context(), journal.Options{Disk: disk, Memory: memstore.New(), Deliver: func(es []journal.Entry) {
			mu.Lock()
			defer mu.Unlock()
			for _, e := range es {
				told = append(told, string(e.Live.(bus.Event).Body))
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		sys := act.New(act.Options{})
		s, err := New(sys, Options{Journal: j})
		if err != nil {
			t.Fatal(err)
		}
		return s, func() { _ = sys.Close(context.Background()); _ = j.Close(context.Background()) }
	}
	s, end := open()
	ctx := t.Context()
	if v, err := s.Recall(ctx, "chatgpt.host_id"); err != nil || v != "" {
		t.Fatal(v, err)
	}
	for _, v := range []string{"urn:uuid:1", "urn:uuid:2"} {
		if err := s.Remember(ctx, "chatgpt.host_id", v); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Remember(ctx, "", "x"); err == nil {
		t.Error("no key")
	}
	if err := s.Remember(ctx, "k", strings.Repeat("x", 600)); err == nil {
		t.Error("too long")
	}
	if err := s.Changed(ctx); err != nil {
		t.Fatal(err)
	}
	if len(told) != 1 || !strings.HasPrefix(told[0], `{"type":"config.updated","data":{"sections":["secrets"]},"ts":"`) {
		t.Errorf("%q", told)
	}
	end()
	s, end = open()
	defer end()
	if v, err := s.Recall(ctx, "chatgpt.host_id"); err != nil || v != "urn:uuid:2" {
		t.Fatal(v, err)
	}
	if err := s.Remember(ctx, "chatgpt.host_id", "urn:uuid:3"); err != nil {
		t.Fatal(err)
	}
}
