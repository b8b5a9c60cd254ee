package usage

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oklog/ulid/v2"
	"go.uber.org/goleak"

	"sentient/actors/count"
	"sentient/actors/msg"
	"sentient/actors/notify"
	"sentient/runtime/act"
	"sentient/runtime/bus"
	"sentient/runtime/work"
	"sentient/storage/journal"
	"sentient/storage/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type fatal interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

// till is the room with the notifications, on a store that survives a kill, and chats that call models.
type till struct {
	t      fatal
	store  *memstore.Store
	j      *journal.Committer
	sys    *act.System
	work   *work.Table
	notes  *notify.Service
	s      *Service
	mu     sync.Mutex
	now    time.Time
	zone   *time.Location
	limits Limits
	events []string
	wrap   func(journal.Journal) journal.Journal
	mute   bool // notifications cannot be made
}

func newTill(t fatal) *till {
	d := &till{t: t, store: memstore.New(), now: time.Date(2026, 12, 10, 8, 0, 0, 0, time.UTC), zone: time.UTC, limits: Limits{AtLimit: "ask"}}
	d.open()
	return d
}

func (d *till) clock() time.Time { d.mu.Lock(); defer d.mu.Unlock(); return d.now }

func (d *till) set(fn func()) { d.mu.Lock(); defer d.mu.Unlock(); fn() }

func (d *till) open() {
	var err error
	d.work, d.sys = work.New(work.Options{}), act.New(act.Options{})
	var room *Service
	d.j, err = journal.Open(context.Background(), journal.Options{Disk: d.store, Memory: memstore.New(), Deliver: func(es []journal.Entry) {
		for _, e := range es {
			if ev, ok := e.Live.(bus.Event); ok && e.Type != "notification.new" {
				d.set(func() { d.events = append(d.events, string(ev.Body)+"}") })
			}
		}
		room.Delivered(es)
	}})
	if err != nil {
		d.t.Fatal(err)
	}
	var j journal.Journal = d.j
	if d.wrap != nil {
		j = d.wrap(j)
	}
	id := func() string { return ulid.Make().String() }
	if d.notes, err = notify.New(d.sys, notify.Options{Journal: d.j, NewID: id, Now: d.clock}); err != nil {
		d.t.Fatal(err)
	}
	room, err = New(d.sys, Options{Journal: j, Work: d.work, Notify: d, Billing: billing, Name: func(m string) string { return strings.ToUpper(m) },
		Limits: func() Limits { d.mu.Lock(); defer d.mu.Unlock(); return d.limits }, Zone: func() *time.Location { d.mu.Lock(); defer d.mu.Unlock(); return d.zone },
		NewID: id, Now: d.clock})
	if err != nil {
		d.t.Fatal(err)
	}
	d.s = room
}

// Later implements Notifier.
func (d *till) Later(n msg.Notification, done func(error)) {
	d.mu.Lock()
	mute := d.mute
	d.mu.Unlock()
	if mute {
		done(errors.New("not now"))
		return
	}
	d.notes.Later(n, done)
}

func (d *till) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := errors.Join(d.work.Close(ctx), d.sys.Close(ctx), d.j.Close(ctx)); err != nil {
		d.t.Fatal(err)
	}
}

func (d *till) kill() {
	next := d.store.Reopen()
	d.close()
	d.store = next
	d.open()
}

// chat is a stream that calls models. An incognito one is in memory only.
type chat struct {
	d         *till
	id        string
	version   uint64
	incognito bool
}

func (d *till) chat(incognito bool) *chat {
	return &chat{d: d, id: ulid.Make().String(), incognito: incognito}
}

func (c *chat) call(model string, cost msg.USD) {
	c.d.t.Helper()
	u := msg.ModelUsage{Known: true, PromptTokens: 100, CompletionTokens: 10}
	if cost >= 0 {
		u.CostUSD = &cost
	}
	row := count.Row(ulid.Make().String(), c.d.clock(), c.id, msg.CountedCall{Model: model, Role: "primary", Source: "chat", Usage: u})
	in := journal.Append{Stream: journal.Stream("session/" + c.id), Expected: c.version, Events: [][]byte{{1}}, Volatile: c.incognito}
	if c.incognito {
		in.Publish = []journal.Note{count.Unkept(row)}
	} else {
		in.Rows, in.Publish = []journal.Row{count.Table().Put(row)}, []journal.Note{count.Kept(row)}
	}
	r, err := c.d.j.Append(context.Background(), in)
	if err != nil {
		c.d.t.Fatal(err)
	}
	c.version = r.Version
}

func (d *till) report() Report {
	d.t.Helper()
	r, err := d.s.Report(3650)
	if err != nil {
		d.t.Fatal(err)
	}
	return r
}

func (d *till) budget() Budget {
	d.t.Helper()
	b, err := d.s.Budget()
	if err != nil {
		d.t.Fatal(err)
	}
	return b
}

func (d *till) notices() (titles []string) {
	d.t.Helper()
	list, _, err := d.notes.List(100, false)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, n := range list {
		if n.Kind != "budget" {
			d.t.Fatalf("%+v", n)
		}
		titles = append(titles, n.Title)
	}
	slices.Reverse(titles)
	return titles
}

// inTill runs fn in fake time.
func inTill(t *testing.T, fn func(*testing.T, *till)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := newTill(t)
		defer time.Sleep(2 * time.Second)
		defer func() { d.close() }()
		synctest.Wait()
		fn(t, d)
	})
}

// folded waits until the calls so far are in the sums.
func folded() {
	time.Sleep(foldWithin)
	synctest.Wait()
}
