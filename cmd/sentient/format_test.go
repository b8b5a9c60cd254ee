package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"google.golang.org/protobuf/proto"

	pb "sentient/proto/session"
	"sentient/storage/journal"
)

// nextFormat is a version after this one, whose rows of chats mean something else: a title says which version wrote it.
func nextFormat() storeFormat {
	return storeFormat{2, func(kind journal.Kind, name string, schema uint64, data []byte) ([]byte, error) {
		if kind != journal.KindRow || name != "sessions" {
			return data, nil
		}
		if schema != 1 {
			return nil, errors.New("it is not of the first version")
		}
		var row pb.SessionRow
		if err := proto.Unmarshal(data, &row); err != nil {
			return nil, err
		}
		row.Title = "of the first version"
		return proto.Marshal(&row)
	}}
}

type titled struct{ ID, Title string }

// TestVersions: a newer version upgrades the store of an older one and loses nothing; the older version then refuses the store
// with a sentence, changes nothing, and the newer one goes on.
func TestVersions(t *testing.T) {
	home, ids := livedIn(t, 4)
	titles := func(p *process) map[string]string {
		all := map[string]string{}
		for _, c := range call[[]titled](p, "GET", "/api/sessions", nil) {
			all[c.ID] = c.Title
		}
		return all
	}
	first := start(t, home)
	before := map[string]string{}
	for _, id := range ids {
		before[id] = first.transcript(id)
	}
	first.stop()

	next := startWith(t, home, theNext, "serve")
	for id, title := range titles(next) {
		if title != "of the first version" {
			t.Errorf("%s was not upgraded: %q", id, title)
		}
		if got := next.transcript(id); got != before[id] || got == "" {
			t.Errorf("%s is %q, was %q", id, got, before[id])
		}
	}
	made := next.chat(map[string]any{"text": "Said to the next version"})[0]["session_id"].(string)
	next.chat(map[string]any{"session_id": ids[0], "text": "One more"})
	next.stop()

	for range 2 {
		refused(t, home, "newer Sentient", "start the newer version")
	}

	next = startWith(t, home, theNext, "serve")
	got := titles(next)
	if len(got) != len(ids)+1 || got[made] == "of the first version" || got[ids[0]] == "of the first version" || got[ids[1]] != "of the first version" {
		t.Errorf("the next version has %v", got)
	}
	if got := next.transcript(ids[0]); !strings.HasPrefix(got, before[ids[0]]) || !strings.Contains(got, "One more") {
		t.Errorf("%q", got)
	}
	next.stop()
}

// TestNewerFiles: a store whose files a newer version wrote is refused with a sentence too.
func TestNewerFiles(t *testing.T) {
	home, _ := livedIn(t, 2)
	marker := storeFiles(t, home, "marker.format-version.*")[0]
	if err := os.Rename(marker, marker[:len(marker)-3]+"999"); err != nil {
		t.Fatal(err)
	}
	refused(t, home, "newer Sentient", "start the newer version")
}

// TestOlderFiles: a store whose files an older version wrote, without a witness and in an older form, is taken over whole.
func TestOlderFiles(t *testing.T) {
	home, ids := livedIn(t, 4)
	today, older := filepath.Join(home, "store"), filepath.Join(home, "older")
	if err := errors.Join(rewriteOlder(today, older), os.RemoveAll(today), os.Rename(older, today)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		p := start(t, home)
		for _, id := range ids {
			if got := p.transcript(id); !strings.Contains(got, "Hello") {
				t.Errorf("%q", got)
			}
		}
		if n := len(call[[]titled](p, "GET", "/api/sessions", nil)); n != len(ids) {
			t.Errorf("%d chats", n)
		}
		p.stop()
	}
}

// rewriteOlder copies a store's records into one of the oldest form.
func rewriteOlder(from, to string) error {
	src, err := pebble.Open(from, &pebble.Options{ReadOnly: true, FormatMajorVersion: pebble.FormatNewest, Logger: silent{}})
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := pebble.Open(to, &pebble.Options{FormatMajorVersion: pebble.FormatMinSupported, Logger: silent{}})
	if err != nil {
		return err
	}
	it, err := src.NewIter(nil)
	if err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		if err := dst.Set(it.Key(), it.Value(), pebble.NoSync); err != nil {
			return err
		}
	}
	return errors.Join(it.Close(), dst.Flush(), dst.Compact(context.Background(), []byte("a"), []byte("z"), false), dst.Close())
}

// silent is a logger for Pebble.
type silent struct{}

func (silent) Infof(string, ...any)           {}
func (silent) Errorf(string, ...any)          {}
func (silent) Fatalf(format string, _ ...any) { panic(format) }
