package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"sentient/actors/msg"
	"sentient/runtime/act"
	"sentient/runtime/bus"
	"sentient/storage/journal"
	"sentient/storage/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// desk is the room on a store that survives a kill.
type desk struct {
	t      interface{ Fatal(...any) }
	store  *memstore.Store
	j      *journal.Committer
	sys    *act.System
	s      *Service
	events []map[string]any
	clock  time.Time
}

func newDesk(t interface{ Fatal(...any) }) *desk {
	d := &desk{t: t, store: memstore.New(), clock: time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC)}
	d.open()
	return d
}

func (d *desk) open() {
	j, err := journal.Open(context.Background(), journal.Options{Disk: d.store, Memory: memstore.New(), Deliver: func(es []journal.Entry) {
		for _, e := range es {
			ev := e.Live.(bus.Event)
			var m map[string]any
			if err := json.Unmarshal(append(slices.Clip(ev.Body), '}'), &m); err != nil {
				d.t.Fatal(err)
			}
			d.events = append(d.events, m)
		}
	}})
	if err != nil {
		d.t.Fatal(err)
	}
	d.j, d.sys = j, act.New(act.Options{})
	d.s, err = New(d.sys, Options{Journal: j, NewID: func() string { return ulid.Make().String() }, Now: func() time.Time { d.clock = d.clock.Add(time.Second); return d.clock }})
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := errors.Join(d.sys.Close(ctx), d.j.Close(ctx)); err != nil {
		d.t.Fatal(err)
	}
}

// kill keeps what was synced.
func (d *desk) kill() {
	next := d.store.Reopen()
	d.close()
	d.store = next
	d.open()
}

func (d *desk) note(n msg.Notification) msg.Notification {
	if n.Kind == "" {
		n.Kind = "info"
	}
	made, err := d.s.Notify(context.Background(), n)
	if err != nil {
		d.t.Fatal(err)
	}
	return made
}

func (d *desk) list(unreadOnly bool) ([]string, int) {
	list, unread, err := d.s.List(100, unreadOnly)
	if err != nil {
		d.t.Fatal(err)
	}
	var titles []string
	for _, n := range list {
		titles = append(titles, n.Title)
	}
	return titles, unread
}

func (d *desk) last() string {
	e := d.events[len(d.events)-1]
	b, _ := json.Marshal(e["data"])
	return fmt.Sprint(e["type"], " ", string(b))
}

func TestALife(t *testing.T) {
	d := newDesk(t)
	defer d.close()
	task := "01TASK"
	a := d.note(msg.Notification{Title: "A", Message: "**a**", Payload: json.RawMessage(` {"n": 12345678901234567890} `), TaskID: &task})
	d.note(msg.Notification{Title: "B", Kind: "backup"})
	c := d.note(msg.Notification{Title: "C", Kind: "budget"})
	b, _ := json.Marshal(a)
	for _, part := range []string{`"kind":"info"`, `"message":"**a**"`, `"payload":{"n":12345678901234567890}`, `"task_id":"01TASK"`, `"read":false`, `"created_at":"2026-12-01T08:00:01.000000+00:00"`} {
		if !strings.Contains(string(b), part) {
			t.Errorf("%s is not in %s", part, b)
		}
	}
	if got, _ := json.Marshal(d.events[0]["data"]); d.events[0]["type"] != "notification.new" || d.events[0]["ts"] == nil || len(got) < 50 {
		t.Errorf("%v", d.events[0])
	}
	if titles, unread := d.list(false); !slices.Equal(titles, []string{"C", "B", "A"}) || unread != 3 {
		t.Errorf("%v %d", titles, unread)
	}
	ctx := t.Context()
	if n, err := d.s.MarkRead(ctx, c.ID); n != 2 || err != nil || d.last() != `notification.read {"id":"`+c.ID+`"}` {
		t.Errorf("%d %v %s", n, err, d.last())
	}
	if titles, _ := d.list(true); !slices.Equal(titles, []string{"B", "A"}) {
		t.Errorf("%v", titles)
	}
	n, err := d.s.Update(ctx, a.ID, map[string]any{"status": "approved"}, true)
	if err != nil || !n.Read || string(n.Payload) != `{"n":12345678901234567890,"status":"approved"}` || !strings.HasPrefix(d.last(), "notification.updated ") {
		t.Errorf("%+v %v %s", n, err, d.last())
	}
	if n, err := d.s.MarkAllRead(ctx); n != 0 || err != nil || d.last() != `notification.read {"id":null}` {
		t.Errorf("%d %v %s", n, err, d.last())
	}
	before := len(d.events)
	if n, err := d.s.MarkAllRead(ctx); n != 0 || err != nil || len(d.events) != before {
		t.Error("nothing was unread, and something was told")
	}
	d.note(msg.Notification{Title: "D"})
	if n, err := d.s.Delete(ctx, a.ID); n != 1 || err != nil || d.last() != `notification.deleted {"id":"`+a.ID+`"}` {
		t.Errorf("%d %v %s", n, err, d.last())
	}
	if n, err := d.s.DeleteAll(ctx); n != 0 || err != nil || d.last() != `notification.deleted {"id":null}` {
		t.Errorf("%d %v %s", n, err, d.last())
	}
	if titles, unread := d.list(false); len(titles) != 0 || unread != 0 {
		t.Errorf("%v %d", titles, unread)
	}
}

func TestRefusals(t *testing.T) {
	d := newDesk(t)
	defer d.close()
	ctx := t.Context()
	for _, n := range []msg.Notification{{Title: "x"}, {Kind: "alarm", Title: "x"}, {Kind: "info"}, {Kind: "info", Title: "x", Payload: json.RawMessage(`[1]`)}, {Kind: "info", Title: "x", Payload: json.RawMessage(`null`)}} {
		if _, err := d.s.Notify(ctx, n); err == nil {
			t.Errorf("%+v was made", n)
		}
		var later error
		d.s.Later(n, func(err error) { later = err })
		if later == nil {
			t.Errorf("%+v was made later", n)
		}
	}
	for name, do := range map[string]func() error{
		"read":   func() error { _, err := d.s.MarkRead(ctx, "01NOBODY"); return err },
		"delete": func() error { _, err := d.s.Delete(ctx, "01NOBODY"); return err },
		"update": func() error { _, err := d.s.Update(ctx, "01NOBODY", nil, true); return err },
	} {
		if f, ok := msg.AsFault(do()); !ok || f.Kind != msg.NotFound {
			t.Errorf("%s: %v", name, do())
		}
	}
	if len(d.events) != 0 {
		t.Errorf("%v", d.events)
	}
	if _, err := New(d.sys, Options{}); err == nil {
		t.Error("a room without a journal was made")
	}
}

// One key makes one notification, also after it was deleted and after a kill, and whoever asks again hears which it was.
func TestOncePerKey(t *testing.T) {
	d := newDesk(t)
	defer func() { d.close() }()
	first := d.note(msg.Notification{Title: "Once", Key: "budget/2026-12/80"})
	d.kill()
	if again := d.note(msg.Notification{Title: "Twice", Key: "budget/2026-12/80"}); again.ID != first.ID || again.Title != "Once" {
		t.Errorf("%+v", again)
	}
	if _, err := d.s.DeleteAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	d.s.Later(msg.Notification{Kind: "info", Title: "Thrice", Key: "budget/2026-12/80"}, func(err error) { done <- err })
	if err := <-done; err != nil {
		t.Error(err)
	}
	if again := d.note(msg.Notification{Title: "x", Key: "budget/2026-12/80"}); again.ID != first.ID {
		t.Errorf("%+v", again)
	}
	if titles, _ := d.list(false); len(titles) != 0 {
		t.Errorf("%v", titles)
	}
	d.note(msg.Notification{Title: "Other", Key: "budget/2026-12/100"})
	if titles, _ := d.list(false); !slices.Equal(titles, []string{"Other"}) {
		t.Errorf("%v", titles)
	}
}

// The log keeps no text: an event is replayed from its row, and not at all when that is gone.
func TestReplay(t *testing.T) {
	d := newDesk(t)
	defer func() { d.close() }()
	n := d.note(msg.Notification{Title: "A", Message: "a private word"})
	if _, err := d.s.Update(t.Context(), n.ID, map[string]any{"a": 1}, false); err != nil {
		t.Fatal(err)
	}
	if _, err := d.s.MarkRead(t.Context(), n.ID); err != nil {
		t.Fatal(err)
	}
	live := d.events
	d.kill()
	replay := func() (list []string) {
		r, err := d.j.Read()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for e, err := range r.Log(0) {
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(e.Data), "private") {
				t.Error("the log keeps the text")
			}
			body, shown, mine := d.s.Render(r, e)
			if mine != (e.Type == "notification.new" || e.Type == "notification.updated") {
				t.Errorf("%s: %v", e.Type, mine)
			}
			if shown {
				list = append(list, string(body)+"}")
			}
		}
		return list
	}
	got := replay()
	if len(got) != 2 {
		t.Fatalf("%v", got)
	}
	var m map[string]any
	if err := json.Unmarshal([]byte(got[0]), &m); err != nil || m["type"] != "notification.new" || m["ts"] != live[0]["ts"] || m["data"].(map[string]any)["message"] != "a private word" {
		t.Errorf("%s %v", got[0], err)
	}
	if _, err := d.s.Delete(t.Context(), n.ID); err != nil {
		t.Fatal(err)
	}
	if got := replay(); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

func TestMarkAllReadOfMany(t *testing.T) {
	d := newDesk(t)
	defer d.close()
	for i := range 2*readBatch + 1 {
		d.note(msg.Notification{Title: fmt.Sprint(i)})
	}
	if n, err := d.s.MarkAllRead(t.Context()); n != 0 || err != nil || d.last() != `notification.read {"id":null}` {
		t.Fatal(n, err, d.last())
	}
	if _, unread := d.list(true); unread != 0 {
		t.Fatal(unread)
	}
	reads := 0
	for _, e := range d.events {
		if e["type"] == "notification.read" {
			reads++
		}
	}
	if reads != 1 {
		t.Errorf("%d events", reads)
	}
}

// Whatever happens in whatever order, kills included, the list is what a plain list would be and the count is right.
func TestAsAPlainList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newDesk(t)
		defer func() { d.close() }()
		type item struct {
			id   string
			read bool
		}
		var want []item
		keys := map[string]bool{}
		pick := func() int { return rapid.IntRange(0, len(want)-1).Draw(t, "which") }
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			var err error
			switch op := rapid.IntRange(0, 6).Draw(t, "op"); {
			case op <= 1 || len(want) == 0:
				key := rapid.SampledFrom([]string{"", "k1", "k2"}).Draw(t, "key")
				n := d.note(msg.Notification{Title: "t", Key: key})
				if key == "" || !keys[key] {
					want = append(want, item{id: n.ID})
				}
				keys[key] = true
			case op == 2:
				i := pick()
				want[i].read = true
				_, err = d.s.MarkRead(context.Background(), want[i].id)
			case op == 3:
				i := pick()
				_, err = d.s.Delete(context.Background(), want[i].id)
				want = slices.Delete(want, i, i+1)
			case op == 4:
				for i := range want {
					want[i].read = true
				}
				_, err = d.s.MarkAllRead(context.Background())
			case op == 5 && rapid.Bool().Draw(t, "all"):
				want = nil
				_, err = d.s.DeleteAll(context.Background())
			default:
				d.kill()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		got, unread, err := d.s.List(100, false)
		if err != nil || len(got) != len(want) {
			t.Fatalf("%d, want %d: %v", len(got), len(want), err)
		}
		for i, w := range want {
			g := got[len(got)-1-i]
			if g.ID != w.id || g.Read != w.read {
				t.Fatalf("%+v, want %+v", g, w)
			}
			if !w.read {
				unread--
			}
		}
		if unread != 0 {
			t.Fatalf("the count is off by %d", unread)
		}
	})
}
