package usage

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"sentient/actors/msg"
)

// Counted is what calls came to, as GET /api/usage lists it. CostUSD is nil without a priced call.
type Counted struct {
	PromptTokens     int64    `json:"prompt_tokens"`
	CompletionTokens int64    `json:"completion_tokens"`
	Calls            int64    `json:"calls"`
	CostUSD          *msg.USD `json:"cost_usd"`
}

func countedOf(t tally) Counted { return Counted{t.prompt, t.completion, t.calls, t.usd()} }

// Report is GET /api/usage.
type Report struct {
	Totals struct {
		PromptTokens     int64    `json:"prompt_tokens"`
		CompletionTokens int64    `json:"completion_tokens"`
		CostUSD          *msg.USD `json:"cost_usd"`
	} `json:"totals"`
	ByModel  []ModelCount  `json:"by_model"`
	BySource []SourceCount `json:"by_source"`
	ByDay    []DayCount    `json:"by_day"`
}

// ModelCount, SourceCount and DayCount are the rows of a Report. Day is YYYY-MM-DD in the person's zone; days without a call are
// left out.
type (
	ModelCount struct {
		Model string `json:"model"`
		Counted
	}
	SourceCount struct {
		Source string `json:"source"`
		Counted
	}
	DayCount struct {
		Day string `json:"day"`
		Counted
	}
)

// reporter gathers a Report.
type reporter struct {
	models, sources, days map[string]tally
	all                   tally
	names                 dayNames
}

func newReporter(zone *time.Location) *reporter {
	return &reporter{models: map[string]tally{}, sources: map[string]tally{}, days: map[string]tally{}, names: dayNames{zone: zone}}
}

func (r *reporter) add(q int64, l line, t tally) {
	r.all = r.all.plus(t)
	r.models[l.model] = r.models[l.model].plus(t)
	r.sources[l.source] = r.sources[l.source].plus(t)
	day := r.names.day(q)
	r.days[day] = r.days[day].plus(t)
}

func (r *reporter) report() Report {
	out := Report{ByModel: []ModelCount{}, BySource: []SourceCount{}, ByDay: []DayCount{}}
	out.Totals.PromptTokens, out.Totals.CompletionTokens, out.Totals.CostUSD = r.all.prompt, r.all.completion, r.all.usd()
	for _, k := range most(r.models) {
		out.ByModel = append(out.ByModel, ModelCount{k, countedOf(r.models[k])})
	}
	for _, k := range most(r.sources) {
		out.BySource = append(out.BySource, SourceCount{k, countedOf(r.sources[k])})
	}
	for k, t := range r.days {
		out.ByDay = append(out.ByDay, DayCount{k, countedOf(t)})
	}
	slices.SortFunc(out.ByDay, func(a, b DayCount) int { return cmp.Compare(a.Day, b.Day) })
	return out
}

// most orders by tokens, the most first.
func most(m map[string]tally) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int { return cmp.Or(cmp.Compare(m[b].tokens(), m[a].tokens()), cmp.Compare(a, b)) })
	return keys
}

// Period is the contract's CostPeriod.
type Period struct {
	Key           string        `json:"key"` // today, week, month
	Label         string        `json:"label"`
	Since         msg.Time      `json:"since"`
	CostUSD       msg.USD       `json:"cost_usd"`
	Calls         int64         `json:"calls"`
	Tokens        int64         `json:"tokens"`
	PaidCalls     int64         `json:"paid_calls"`
	UnpricedCalls int64         `json:"unpriced_calls"` // paid, and the price is not known
	PlanCalls     int64         `json:"plan_calls"`
	PlanTokens    int64         `json:"plan_tokens"`
	LocalCalls    int64         `json:"local_calls"`
	LocalTokens   int64         `json:"local_tokens"`
	ByModel       []ModelPeriod `json:"by_model"`
	ByRole        []RolePeriod  `json:"by_role"`
	ClaudeCode    []ClaudeCode  `json:"claude_code_by_role"`
}

// ModelPeriod, RolePeriod and ClaudeCode are the rows of a Period.
type (
	ModelPeriod struct {
		Model            string   `json:"model"`
		Billing          string   `json:"billing"` // local, plan, paid
		Calls            int64    `json:"calls"`
		PromptTokens     int64    `json:"prompt_tokens"`
		CompletionTokens int64    `json:"completion_tokens"`
		CostUSD          *msg.USD `json:"cost_usd"`
		UnpricedCalls    int64    `json:"unpriced_calls"`
	}
	RolePeriod struct {
		Role             string   `json:"role"`
		Calls            int64    `json:"calls"`
		PromptTokens     int64    `json:"prompt_tokens"`
		CompletionTokens int64    `json:"completion_tokens"`
		CostUSD          *msg.USD `json:"cost_usd"`
		UnpricedCalls    int64    `json:"unpriced_calls"`
		PlanCalls        int64    `json:"plan_calls"`
		LocalCalls       int64    `json:"local_calls"`
	}
	ClaudeCode struct {
		Role             string `json:"role"`
		Calls            int64  `json:"calls"`
		PromptTokens     int64  `json:"prompt_tokens"`
		CompletionTokens int64  `json:"completion_tokens"`
	}
)

// meter gathers one Period.
type meter struct {
	key, label string
	in         span
	sums       sums // source is left out
}

// periodsAt are the periods of the cost meter.
func periodsAt(now time.Time) []*meter {
	return []*meter{{"today", "Today", daysBack(now, 1), sums{}}, {"week", "This week", week(now), sums{}}, {"month", "This month", month(now), sums{}}}
}

func (m *meter) add(q int64, l line, t tally) {
	if m.in.holds(q) {
		m.sums.add(line{model: l.model, role: l.role}, t)
	}
}

func (m *meter) period(billing billingOf) Period {
	p := Period{Key: m.key, Label: m.label, Since: msg.Time{Time: m.in.start}, ByModel: []ModelPeriod{}, ByRole: []RolePeriod{}, ClaudeCode: []ClaudeCode{}}
	models, roles, claude := map[string]tally{}, map[string]tally{}, map[string]tally{}
	byRole := map[string]*RolePeriod{}
	for l, t := range m.sums {
		role := cmp.Or(l.role, "other")
		models[l.model] = models[l.model].plus(t)
		roles[role] = roles[role].plus(t)
		if byRole[role] == nil {
			byRole[role] = &RolePeriod{Role: role}
		}
		p.take(byRole[role], billing(l.model), t)
		if strings.HasPrefix(l.model, "claude-code/") {
			claude[role] = claude[role].plus(t)
		}
	}
	for _, k := range most(models) {
		t, b := models[k], billing(k)
		row := ModelPeriod{k, b, t.calls, t.prompt, t.completion, t.usd(), 0}
		if b == "paid" {
			row.UnpricedCalls = t.calls - t.priced
		}
		p.ByModel = append(p.ByModel, row)
	}
	for _, k := range most(roles) {
		t, row := roles[k], byRole[k]
		row.Calls, row.PromptTokens, row.CompletionTokens, row.CostUSD = t.calls, t.prompt, t.completion, t.usd()
		p.ByRole = append(p.ByRole, *row)
	}
	for _, k := range most(claude) {
		p.ClaudeCode = append(p.ClaudeCode, ClaudeCode{k, claude[k].calls, claude[k].prompt, claude[k].completion})
	}
	return p
}

// take adds a line to the period and to its role, by who pays.
func (p *Period) take(role *RolePeriod, billing string, t tally) {
	p.Calls += t.calls
	p.Tokens += t.tokens()
	p.CostUSD = p.CostUSD.Plus(t.cost)
	switch billing {
	case "local":
		p.LocalCalls += t.calls
		p.LocalTokens += t.tokens()
		role.LocalCalls += t.calls
	case "plan":
		p.PlanCalls += t.calls
		p.PlanTokens += t.tokens()
		role.PlanCalls += t.calls
	default:
		p.PaidCalls += t.calls
		p.UnpricedCalls += t.calls - t.priced
		role.UnpricedCalls += t.calls - t.priced
	}
}
