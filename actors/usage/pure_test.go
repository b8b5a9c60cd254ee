package usage

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"sentient/actors/msg"
	pb "sentient/proto/usage"
)

var zones = []string{"UTC", "Asia/Kolkata", "Asia/Kathmandu", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Pacific/Kiritimati", "Pacific/Pago_Pago", "America/Havana", "Asia/Beirut", "Africa/Cairo", "America/St_Johns"}

func zoned(t interface{ Fatal(...any) }, name string) *time.Location {
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// A period begins with the first instant of its first day, on a quarter of an hour, and the next period begins where it ends.
func TestPeriods(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		zone := zoned(t, rapid.SampledFrom(zones).Draw(t, "zone"))
		now := time.Unix(rapid.Int64Range(1_600_000_000, 2_400_000_000).Draw(t, "now"), 0).In(zone)
		for name, s := range map[string]span{"day": daysBack(now, 1), "week": week(now), "month": month(now), "days": daysBack(now, 30)} {
			before := s.start.Add(-time.Second)
			if before.Format(time.DateOnly) == s.start.Format(time.DateOnly) || s.start.Unix()%900 != 0 || now.Before(s.start) || !now.Before(s.end) {
				t.Fatalf("%s of %v: %v to %v", name, now, s.start, s.end)
			}
		}
		if w := week(now); w.start.Weekday() != time.Monday || w.end.Weekday() != time.Monday {
			t.Fatalf("the week of %v is %v", now, w)
		}
		if m := month(now); m.start.Day() != 1 || m.end.Day() != 1 || month(m.end).start != m.end || monthName(m.start) != monthName(now) {
			t.Fatalf("the month of %v is %v", now, m)
		}
		q := quarterOf(now)
		if n := (&dayNames{zone: zone}).day(q); n != now.Format(time.DateOnly) {
			t.Fatalf("%v is in %s", now, n)
		}
	})
}

func drawCalls(t *rapid.T) (out []struct {
	q int64
	l line
	t tally
}) {
	base := time.Date(2026, 10, 28, 0, 0, 0, 0, time.UTC)
	for range rapid.IntRange(0, 40).Draw(t, "calls") {
		c := struct {
			q int64
			l line
			t tally
		}{q: quarterOf(base.Add(time.Duration(rapid.IntRange(0, 10*24*60).Draw(t, "minute")) * time.Minute))}
		c.l = line{rapid.SampledFrom([]string{"ollama_chat/q", "claude-code/sonnet", "openai/a", "openai/b"}).Draw(t, "model"), rapid.SampledFrom([]string{"", "primary", "fast"}).Draw(t, "role"),
			rapid.SampledFrom([]string{"chat", "background"}).Draw(t, "source")}
		c.t = tally{calls: 1, prompt: rapid.Int64Range(0, 1e6).Draw(t, "prompt"), completion: rapid.Int64Range(0, 1e6).Draw(t, "completion")}
		if strings.HasPrefix(c.l.model, "openai/") && rapid.Bool().Draw(t, "priced") {
			c.t.priced, c.t.cost = 1, msg.USD(rapid.Int64Range(0, 1e12).Draw(t, "cost"))
		}
		out = append(out, c)
	}
	return out
}

func billing(model string) string {
	switch p, _, _ := strings.Cut(model, "/"); p {
	case "ollama_chat":
		return "local"
	case "claude-code":
		return "plan"
	}
	return "paid"
}

// The parts of a report are the whole, in whatever order calls are added: money to the billionth.
func TestPartsAreTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		calls := drawCalls(t)
		zone := zoned(t, rapid.SampledFrom(zones).Draw(t, "zone"))
		now := time.Date(2026, 11, 3, 12, 0, 0, 0, zone)
		run := func() string {
			r, ms := newReporter(zone), periodsAt(now)
			for _, c := range calls {
				r.add(c.q, c.l, c.t)
				for _, m := range ms {
					m.add(c.q, c.l, c.t)
				}
			}
			rep := r.report()
			var whole tally
			for _, c := range calls {
				whole = whole.plus(c.t)
			}
			checkParts(t, rep, whole)
			var periods []Period
			for _, m := range ms {
				p := m.period(billing)
				checkPeriod(t, p)
				periods = append(periods, p)
			}
			b, _ := json.Marshal([]any{rep, periods})
			return string(b)
		}
		one := run()
		rand.New(rand.NewPCG(1, uint64(len(calls)))).Shuffle(len(calls), func(i, j int) { calls[i], calls[j] = calls[j], calls[i] })
		if two := run(); one != two {
			t.Fatalf("%s\n%s", one, two)
		}
	})
}

func checkParts(t *rapid.T, r Report, whole tally) {
	sum := func(list []Counted) (s tally) {
		for _, c := range list {
			s.calls, s.prompt, s.completion = s.calls+c.Calls, s.prompt+c.PromptTokens, s.completion+c.CompletionTokens
			if c.CostUSD != nil {
				s.cost += *c.CostUSD
				s.priced++
			}
		}
		return s
	}
	var models, sources, days []Counted
	for _, m := range r.ByModel {
		models = append(models, m.Counted)
	}
	for _, m := range r.BySource {
		sources = append(sources, m.Counted)
	}
	for _, m := range r.ByDay {
		days = append(days, m.Counted)
	}
	for name, list := range map[string][]Counted{"models": models, "sources": sources, "days": days} {
		s := sum(list)
		if s.calls != whole.calls || s.prompt != whole.prompt || s.completion != whole.completion || s.cost != whole.cost || (s.priced > 0) != (r.Totals.CostUSD != nil) {
			t.Fatalf("%s: %+v, want %+v", name, s, whole)
		}
	}
	if r.Totals.CostUSD != nil && *r.Totals.CostUSD != whole.cost || r.Totals.PromptTokens != whole.prompt {
		t.Fatalf("%+v", r.Totals)
	}
}

func checkPeriod(t *rapid.T, p Period) {
	var byModel, byRole tally
	var unpriced int64
	for _, m := range p.ByModel {
		byModel = byModel.plus(tally{calls: m.Calls, prompt: m.PromptTokens, completion: m.CompletionTokens})
		if m.CostUSD != nil {
			byModel.cost += *m.CostUSD
		}
		unpriced += m.UnpricedCalls
	}
	for _, m := range p.ByRole {
		byRole = byRole.plus(tally{calls: m.Calls, prompt: m.PromptTokens, completion: m.CompletionTokens})
		if m.CostUSD != nil {
			byRole.cost += *m.CostUSD
		}
	}
	if byModel != byRole || byModel.calls != p.Calls || byModel.tokens() != p.Tokens || byModel.cost != p.CostUSD || unpriced != p.UnpricedCalls ||
		p.Calls != p.PaidCalls+p.PlanCalls+p.LocalCalls {
		t.Fatalf("%+v\nmodels %+v\nroles %+v", p, byModel, byRole)
	}
}

// what has no price is null, and who pays is told apart.
func TestPeriodRows(t *testing.T) {
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	m := periodsAt(now)[0]
	add := func(model, role string, prompt int64, cost msg.USD) {
		tl := tally{calls: 1, prompt: prompt}
		if cost >= 0 {
			tl.priced, tl.cost = 1, cost
		}
		m.add(quarterOf(now), line{model, role, "chat"}, tl)
	}
	add("openai/a", "primary", 10, msg.Dollar)
	add("openai/unheard-of", "primary", 5, -1)
	add("openai/unheard-of", "voice", 3, -1)
	add("ollama_chat/q", "fast", 7, -1)
	add("claude-code/sonnet", "", 2, -1)
	add("claude-code/sonnet", "primary", 4, -1)
	m.add(quarterOf(now.AddDate(0, 0, -1)), line{"openai/a", "primary", "chat"}, tally{calls: 1})
	got, _ := json.Marshal(m.period(billing))
	want := `{"key":"today","label":"Today","since":"2026-12-01T00:00:00.000000+00:00","cost_usd":1,"calls":6,"tokens":31,"paid_calls":3,"unpriced_calls":2,"plan_calls":2,"plan_tokens":6,"local_calls":1,"local_tokens":7,` +
		`"by_model":[{"model":"openai/a","billing":"paid","calls":1,"prompt_tokens":10,"completion_tokens":0,"cost_usd":1,"unpriced_calls":0},` +
		`{"model":"openai/unheard-of","billing":"paid","calls":2,"prompt_tokens":8,"completion_tokens":0,"cost_usd":null,"unpriced_calls":2},` +
		`{"model":"ollama_chat/q","billing":"local","calls":1,"prompt_tokens":7,"completion_tokens":0,"cost_usd":null,"unpriced_calls":0},` +
		`{"model":"claude-code/sonnet","billing":"plan","calls":2,"prompt_tokens":6,"completion_tokens":0,"cost_usd":null,"unpriced_calls":0}],` +
		`"by_role":[{"role":"primary","calls":3,"prompt_tokens":19,"completion_tokens":0,"cost_usd":1,"unpriced_calls":1,"plan_calls":1,"local_calls":0},` +
		`{"role":"fast","calls":1,"prompt_tokens":7,"completion_tokens":0,"cost_usd":null,"unpriced_calls":0,"plan_calls":0,"local_calls":1},` +
		`{"role":"voice","calls":1,"prompt_tokens":3,"completion_tokens":0,"cost_usd":null,"unpriced_calls":1,"plan_calls":0,"local_calls":0},` +
		`{"role":"other","calls":1,"prompt_tokens":2,"completion_tokens":0,"cost_usd":null,"unpriced_calls":0,"plan_calls":1,"local_calls":0}],` +
		`"claude_code_by_role":[{"role":"primary","calls":1,"prompt_tokens":4,"completion_tokens":0},{"role":"other","calls":1,"prompt_tokens":2,"completion_tokens":0}]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestBudgetStates(t *testing.T) {
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	end := month(now).end
	for _, c := range []struct {
		limit, spent msg.USD
		at           string
		kept         bool
		state        string
		percent      float64
		says         string
	}{
		{0, 5 * msg.Dollar, "ask", false, "off", 0, ""},
		{10 * msg.Dollar, 8*msg.Dollar - 1, "ask", false, "ok", 79.9, ""},
		{10 * msg.Dollar, 8 * msg.Dollar, "ask", false, "warning", 80, "You have used $8.00 of this month's model budget of $10.00 (80%). When it is used up, paid cloud models stop until you choose to keep going"}, // A-198
		{10 * msg.Dollar, 8 * msg.Dollar, "stop", false, "warning", 80, "paid cloud models stop until January 1"},
		{10 * msg.Dollar, 10*msg.Dollar - 1, "ask", true, "warning", 99.9, "You chose to keep going"},
		{10 * msg.Dollar, 10 * msg.Dollar, "ask", false, "reached", 100, "This month's model budget of $10.00 is used up ($10.00 spent). Paid cloud models stop until January 1. Keep going this month"},
		{10 * msg.Dollar, 12 * msg.Dollar, "stop", true, "reached", 120, "or until you raise the budget"},
		{10 * msg.Dollar, 12 * msg.Dollar, "ask", true, "reached", 120, "paid cloud models go on until January 1"},
		{1, 1 << 62, "ask", false, "reached", 1e9, "is used up"},
	} {
		b := budgetOf(Limits{c.limit, c.at}, c.spent, now, end, c.kept)
		if b.State != c.state || b.Percent != c.percent || !strings.Contains(b.Message, c.says) || (c.says == "") != (b.Message == "") || b.Month != "2026-12" {
			t.Errorf("%+v: %+v", c, b)
		}
		refused := b.refusal("openai/a", "A") != nil
		if want := c.state == "reached" && (!c.kept || c.at == "stop"); refused != want {
			t.Errorf("%+v: refused %v", c, refused)
		}
	}
}

// whatever the spending and the budget do, a month has one notification for each level, and clients hear of each crossing.
func TestNoticesOfAMonth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		state := &pb.State{}
		sent, told := map[string]int{}, map[string]int32{}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			now := time.Date(2026, time.Month(rapid.IntRange(10, 12).Draw(t, "month")), 5, 0, 0, 0, 0, time.UTC) // a changed zone or clock goes back too
			b := budgetOf(Limits{msg.USD(rapid.IntRange(0, 3).Draw(t, "budget")) * 10, "ask"}, msg.USD(rapid.IntRange(0, 40).Draw(t, "spent")), now, month(now).end, false)
			before := proto.CloneOf(state)
			next, tell := decide(state, b)
			if !proto.Equal(before, state) {
				t.Fatal("the old state was changed")
			}
			if tell != (b.level() > told[b.Month]) {
				t.Fatalf("told %v at %d after %d", tell, b.level(), told[b.Month])
			}
			told[b.Month] = b.level()
			if next == nil {
				continue
			}
			for _, n := range next.Due[len(state.Due):] {
				sent[n.Key]++
				if n.Key != fmt.Sprintf("budget/%s/%d", b.Month, b.level()) || n.Message != b.Message || !json.Valid(n.Payload) {
					t.Fatalf("%+v at %+v", n, b)
				}
			}
			state = next
			if again, tell := decide(state, b); again != nil || tell {
				t.Fatal("it was decided twice")
			}
		}
		for key, n := range sent {
			if n > 1 {
				t.Fatalf("%s came %d times", key, n)
			}
		}
	})
}

func TestMonthsAreForgottenInTheEnd(t *testing.T) {
	s := &pb.State{}
	for i := range 40 {
		s, _ = withMonth(s, fmt.Sprintf("%04d-01", 2000+i))
	}
	if len(s.Months) != keptMonths || s.Months[keptMonths-1].Month != "2039-01" || !slices.IsSortedFunc(s.Months, func(a, b *pb.Month) int { return strings.Compare(a.Month, b.Month) }) {
		t.Error(s.Months)
	}
}
