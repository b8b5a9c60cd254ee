package usage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"sentient/actors/count"
	"sentient/actors/msg"
	"sentient/storage/journal"
	"sentient/storage/memstore"
)

// A month with a budget of ten dollars: 80%, 100%, refused, kept going, the next month.
func TestAMonth(t *testing.T) {
	inTill(t, func(t *testing.T, d *till) {
		d.limits.MonthlyUSD = 10 * msg.Dollar
		c := d.chat(false)
		ctx := t.Context()
		c.call("openai/a", 79*msg.Dollar/10)
		folded()
		if b := d.budget(); b.State != "ok" || len(d.events) != 0 || len(d.notices()) != 0 {
			t.Fatalf("%+v %v", b, d.events)
		}
		c.call("openai/a", msg.Dollar/10)
		folded()
		if b := d.budget(); b.State != "warning" || b.Percent != 80 || b.SpentUSD != 8*msg.Dollar {
			t.Fatalf("%+v", b)
		}
		if len(d.events) != 1 || !strings.HasPrefix(d.events[0], `{"type":"budget.updated","data":{"monthly_usd":10,"at_limit":"ask","spent_usd":8,"month":"2026-12","percent":80,"state":"warning","kept_going":false,"message":"You have used`) {
			t.Fatal(d.events)
		}
		if got := d.notices(); !slices.Equal(got, []string{"Model budget: 80% used"}) {
			t.Fatal(got)
		}
		c.call("claude-code/sonnet", 50*msg.Dollar) // whatever a plan or a local model says it cost
		c.call("ollama_chat/q", 50*msg.Dollar)
		if err := d.s.Allow(ctx, "openai/a"); err != nil { // below the budget
			t.Fatal(err)
		}
		c.call("openai/a", 5*msg.Dollar)
		err := d.s.Allow(ctx, "openai/a") // at once: nobody has to wait for the sums
		if me, ok := msg.AsModelError(err); !ok || me.Fault != msg.FaultBudget || me.Model != "openai/a" ||
			me.Message != "This month's model budget of $10.00 is used up, so OPENAI/A was not asked. Choose Keep going this month, raise the budget in Settings > Models, or pick a model on this computer there." {
			t.Fatal(err)
		}
		for _, free := range []string{"claude-code/sonnet", "ollama_chat/q"} {
			if err := d.s.Allow(ctx, free); err != nil {
				t.Fatal(free, err)
			}
		}
		folded()
		if got := d.notices(); !slices.Equal(got, []string{"Model budget: 80% used", "Model budget used up"}) || len(d.events) != 2 {
			t.Fatal(got, d.events)
		}
		d.kill()
		folded()
		c.version = 0
		c = d.chat(false)
		c.call("openai/a", msg.Dollar)
		folded()
		if got := d.notices(); len(got) != 2 || len(d.events) != 2 {
			t.Fatal("told again after a restart", got, d.events)
		}
		b, err := d.s.KeepGoing(ctx)
		if err != nil || !b.KeptGoing || b.State != "reached" || len(d.events) != 3 || !strings.Contains(d.events[2], `"kept_going":true`) {
			t.Fatalf("%+v %v %v", b, err, d.events)
		}
		if _, err := d.s.KeepGoing(ctx); err != nil || len(d.events) != 3 {
			t.Fatal("a second wish is the same", err, d.events)
		}
		if err := d.s.Allow(ctx, "openai/a"); err != nil {
			t.Fatal(err)
		}
		d.set(func() { d.limits.AtLimit = "stop" })
		if d.s.Allow(ctx, "openai/a") == nil {
			t.Fatal("set to stop, and it went on")
		}
		d.set(func() { d.limits.AtLimit, d.now = "ask", time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC) })
		if b := d.budget(); b.State != "ok" || b.KeptGoing || b.Month != "2027-01" || b.SpentUSD != 0 {
			t.Fatalf("%+v", b)
		}
		c.call("openai/a", 11*msg.Dollar)
		folded()
		if err := d.s.Allow(ctx, "openai/a"); err == nil {
			t.Fatal("the wish of December counts in January")
		}
		if got := d.notices(); len(got) != 3 || got[2] != "Model budget used up" {
			t.Fatal(got)
		}
	})
}

func TestKeepGoingIsRefused(t *testing.T) {
	inTill(t, func(t *testing.T, d *till) {
		for _, l := range []Limits{{0, "ask"}, {10 * msg.Dollar, "stop"}} {
			d.set(func() { d.limits = l })
			_, err := d.s.KeepGoing(t.Context())
			if f, ok := msg.AsFault(err); !ok || f.Kind != msg.Conflict || !strings.Contains(f.Text, "Settings > Models") {
				t.Errorf("%+v: %v", l, err)
			}
		}
		if len(d.events) != 0 || d.budget().KeptGoing {
			t.Error(d.events)
		}
	})
}

// The month is the person's: a call at its end is in the one or the other as the zone says, and a changed zone needs no new sums.
func TestTheMonthsEndInAnotherZone(t *testing.T) {
	inTill(t, func(t *testing.T, d *till) {
		d.limits.MonthlyUSD = 10 * msg.Dollar
		d.set(func() { d.now = time.Date(2026, 12, 31, 20, 0, 0, 0, time.UTC) })
		d.chat(false).call("openai/a", 9*msg.Dollar)
		folded()
		for zone, want := range map[string]string{"UTC": "2026-12 9", "Asia/Kolkata": "2027-01 9", "America/New_York": "2026-12 9"} {
			d.set(func() { d.zone = zoned(t, zone) })
			b := d.budget()
			usd, _ := json.Marshal(b.SpentUSD)
			if got := fmt.Sprintf("%s %s", b.Month, usd); got != want {
				t.Errorf("%s: %s, want %s", zone, got, want)
			}
			r, err := d.s.Report(1)
			day := map[string]string{"UTC": "2026-12-31", "Asia/Kolkata": "2027-01-01", "America/New_York": "2026-12-31"}[zone]
			if err != nil || len(r.ByDay) != 1 || r.ByDay[0].Day != day {
				t.Errorf("%s: %+v %v", zone, r, err)
			}
		}
		d.set(func() { d.zone, d.now = time.UTC, d.now.Add(4*time.Hour) })
		if b := d.budget(); b.SpentUSD != 0 || b.Month != "2027-01" {
			t.Errorf("%+v", b)
		}
	})
}

// A notification that could not be made is made later, also after a kill, and then once.
func TestNoticesAreNotLost(t *testing.T) {
	inTill(t, func(t *testing.T, d *till) {
		d.limits.MonthlyUSD = 10 * msg.Dollar
		d.set(func() { d.mute = true })
		d.chat(false).call("openai/a", 9*msg.Dollar)
		time.Sleep(2 * retryAfter)
		folded()
		if got := d.notices(); len(got) != 0 {
			t.Fatal(got)
		}
		d.kill()
		d.set(func() { d.mute = false })
		time.Sleep(2 * retryAfter)
		folded()
		if got := d.notices(); len(got) != 1 {
			t.Fatal(got)
		}
		d.kill()
		time.Sleep(2 * retryAfter)
		folded()
		if v, _ := d.s.open(); len(d.notices()) != 1 || len(v.state.Due) != 0 {
			t.Fatal(d.notices(), v.state)
		} else {
			v.Close()
		}
	})
}

// failing is a journal that cannot append for a while.
type failing struct {
	journal.Journal
	err func() error
}

func (f failing) Append(ctx context.Context, a journal.Append) (journal.Receipt, error) {
	if err := f.err(); err != nil {
		return journal.Receipt{}, err
	}
	return f.Journal.Append(ctx, a)
}

// While the disk is full what is read is right all the same, and the sums follow when there is room.
func TestAFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTill(t)
		defer time.Sleep(2 * time.Second)
		defer func() { d.close() }()
		var full error
		d.wrap = func(j journal.Journal) journal.Journal {
			return failing{j, func() error { d.mu.Lock(); defer d.mu.Unlock(); return full }}
		}
		d.kill()
		d.set(func() { full, d.limits.MonthlyUSD = journal.ErrFull, 10*msg.Dollar })
		d.chat(false).call("openai/a", 9*msg.Dollar)
		folded()
		if b := d.budget(); b.SpentUSD != 9*msg.Dollar || len(d.notices()) != 0 {
			t.Fatalf("%+v", b)
		}
		if _, err := d.s.KeepGoing(t.Context()); !errors.Is(plainly(err), msg.ErrDiskFull) {
			t.Fatal(err)
		}
		d.set(func() { full = nil })
		time.Sleep(2 * retryAfter)
		folded()
		if b := d.budget(); b.SpentUSD != 9*msg.Dollar || len(d.notices()) != 1 {
			t.Fatalf("%+v %v", b, d.notices())
		}
	})
}

// An incognito chat leaves its count and nothing else, also when the engine ends at once.
func TestIncognitoCalls(t *testing.T) {
	inTill(t, func(t *testing.T, d *till) {
		c := d.chat(true)
		c.call("openai/a", msg.Dollar)
		if r := d.report(); *r.Totals.CostUSD != msg.Dollar {
			t.Fatalf("%+v", r)
		}
		store := d.store
		d.close()
		d.store = store.Reopen()
		d.open()
		folded()
		if r := d.report(); r.Totals.CostUSD == nil || *r.Totals.CostUSD != msg.Dollar || len(r.ByModel) != 1 || r.ByModel[0].Calls != 1 {
			t.Fatalf("%+v", r)
		}
		r, _ := d.j.Read()
		defer r.Close()
		n := 0
		for item, err := range r.Scan(journal.Scan{Table: "usage"}) {
			if n++; err != nil || strings.Contains(string(item.Value), c.id) {
				t.Errorf("%v %q", err, item.Value)
			}
		}
		if n != 1 {
			t.Errorf("%d rows", n)
		}
	})
}

// Calls that nobody else counts are counted here.
func TestCount(t *testing.T) {
	inTill(t, func(t *testing.T, d *till) {
		d.s.Count(msg.CountedCall{Model: "openai/a", Source: "background", Usage: msg.ModelUsage{PromptTokens: 3, CompletionTokens: -1}})
		folded()
		r := d.report()
		if len(r.BySource) != 1 || r.BySource[0].Source != "background" || r.Totals.PromptTokens != 3 || r.Totals.CompletionTokens != 0 || r.Totals.CostUSD != nil {
			t.Errorf("%+v", r)
		}
	})
}

// When the log no longer reaches back to what the sums hold, they are made anew from the calls, and come out the same.
func TestSumsAreMadeAnew(t *testing.T) {
	inTill(t, func(t *testing.T, d *till) {
		c := d.chat(false)
		for i := range 20 {
			d.set(func() { d.now = d.now.Add(7 * time.Minute) })
			c.call([]string{"openai/a", "ollama_chat/q"}[i%2], msg.USD(i))
		}
		folded()
		want, _ := json.Marshal(d.report())
		d.close()
		d.store = d.store.Reopen()
		j, err := journal.Open(t.Context(), journal.Options{Disk: d.store, Memory: memstore.New()})
		if err != nil {
			t.Fatal(err)
		}
		// Somebody lost the state, and the log goes on without the room.
		tables := newTables(count.Table())
		if _, err := j.Append(t.Context(), journal.Append{Stream: stream, Expected: 0, Prefixes: []journal.Prefix{tables.state.Prefix(nil)}}); err != nil {
			t.Fatal(err)
		}
		for i := range journal.KeptNotes/1000 + 2 {
			notes := make([]journal.Note, 1000)
			for k := range notes {
				notes[k] = journal.Note{Type: "x"}
			}
			if _, err := j.Append(t.Context(), journal.Append{Stream: "filler/a", Expected: uint64(i), Events: [][]byte{{1}}, Publish: notes}); err != nil {
				t.Fatal(err)
			}
		}
		if err := j.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		d.store = d.store.Reopen()
		d.open()
		folded()
		if got, _ := json.Marshal(d.report()); string(got) != string(want) {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
		v, _ := d.s.open()
		defer v.Close()
		if v.state.Folded < journal.KeptNotes {
			t.Fatal("it was not made anew")
		}
	})
}

// Whatever is called in whatever order, on disk or incognito, with kills between: the report is what a plain sum would be.
func TestAsAPlainSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newTill(t)
		defer func() { d.close() }()
		chats := []*chat{d.chat(false), d.chat(false)}
		var cost msg.USD
		var calls int64
		days := map[string]int64{}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "op") {
			case 0:
				d.kill()
			case 1:
				d.set(func() { d.now = d.now.Add(time.Duration(rapid.IntRange(-3000, 5000).Draw(t, "minutes")) * time.Minute) })
			case 2:
				d.chat(true).call("ollama_chat/q", -1)
				d.settle() // a kill would take an incognito chat's count along with the chat
				d.set(func() { days[d.now.Format(time.DateOnly)]++ })
				calls++
			default:
				usd := msg.USD(rapid.Int64Range(0, 1e10).Draw(t, "cost"))
				rapid.SampledFrom(chats).Draw(t, "chat").call("openai/a", usd)
				d.set(func() { days[d.now.Format(time.DateOnly)]++ })
				cost += usd
				calls++
			}
			if rapid.Bool().Draw(t, "look") {
				d.same(t, calls, cost, days)
			}
		}
		d.same(t, calls, cost, days)
		d.kill()
		d.same(t, calls, cost, days)
	})
}

// settle waits until the sums hold every call.
func (d *till) settle() {
	d.t.Helper()
	for newest := d.j.Newest(); ; {
		d.s.ref.Tell(due{})
		_, _ = d.s.KeepGoing(context.Background()) // behind all that the actor was told
		v, err := d.s.open()
		if err != nil {
			d.t.Fatal(err)
		}
		done := v.state.Folded >= newest
		v.Close()
		if done {
			return
		}
	}
}

func (d *till) same(t *rapid.T, calls int64, cost msg.USD, days map[string]int64) {
	t.Helper()
	d.mu.Lock()
	last := d.now
	d.now = d.now.AddDate(0, 2, 0) // later than any call
	d.mu.Unlock()
	r := d.report()
	d.set(func() { d.now = last })
	var n int64
	var sum msg.USD
	for _, m := range r.ByModel {
		n += m.Calls
		if m.CostUSD != nil {
			sum += *m.CostUSD
		}
	}
	if n != calls || sum != cost {
		t.Fatalf("%d calls for %d, want %d for %d", n, sum, calls, cost)
	}
	for _, x := range r.ByDay {
		if days[x.Day] != x.Calls {
			t.Fatalf("%s: %d, want %d", x.Day, x.Calls, days[x.Day])
		}
	}
	if len(r.ByDay) != len(days) {
		t.Fatalf("%d days, want %d", len(r.ByDay), len(days))
	}
}
