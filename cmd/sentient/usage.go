package main

import (
	"context"
	"time"

	"sentient/actors/msg"
	"sentient/actors/notify"
	"sentient/actors/usage"
	"sentient/runtime/app"
	"sentient/storage/journal"
)

// openUsage starts the notifications and the usage, in this order and before the rooms that call models: they end in the
// opposite one, and what was called at the very end is counted.
func (e *engine) openUsage(newID func() string) error {
	var err error
	if e.notices, err = notify.New(e.actors, notify.Options{Journal: e.journal, NewID: newID, Logger: e.log}); err != nil {
		return err
	}
	u, err := usage.New(e.actors, usage.Options{Journal: e.journal, Work: e.work, Notify: e.notices, Billing: e.models.Billing, Name: e.models.DisplayName,
		Limits: e.limits, Zone: e.zone, NewID: newID, Logger: e.log})
	if err != nil {
		return err
	}
	e.usage.Store(u)
	e.live.Join("the budget", budgetSettings{u})
	return nil
}

// limits are the budget's settings in force.
func (e *engine) limits() usage.Limits {
	c := e.live.Get().Models
	return usage.Limits{MonthlyUSD: msg.DollarsOf(c.MonthlyBudgetUSD), AtLimit: c.BudgetAtLimit}
}

// zone is the person's; the computer's when they named none.
func (e *engine) zone() *time.Location {
	if name := e.live.Get().Assistant.Timezone; name != "" && name != "auto" {
		if z, err := time.LoadLocation(name); err == nil {
			return z
		}
	}
	return time.Local
}

// mayAsk refuses paid models while the month's budget is used up.
func (e *engine) mayAsk(ctx context.Context, model string) error {
	if u := e.usage.Load(); u != nil {
		return u.Allow(ctx, model)
	}
	return nil
}

// count counts a model call that belongs to no chat.
func (e *engine) count(c msg.CountedCall) {
	if u := e.usage.Load(); u != nil {
		u.Count(c)
	}
}

// budgetSettings lets the budget look again at once when the settings change.
type budgetSettings struct{ u *usage.Service }

func (budgetSettings) Verify(_, _ *app.Config) error { return nil }
func (s budgetSettings) Commit(*app.Config)          { s.u.Changed() }

// usageOf is the usage as the gateway sees it.
type usageOf struct{ e *engine }

func (u usageOf) Report(_ context.Context, days int) (any, error) {
	return u.e.usage.Load().Report(days)
}

func (u usageOf) Cost(context.Context) (any, error) {
	c, err := u.e.usage.Load().Cost()
	return struct {
		LocalOnly bool `json:"local_only"`
		usage.Cost
	}{u.e.live.Get().Models.LocalOnly, c}, err
}

func (u usageOf) KeepGoing(ctx context.Context) (any, error) { return u.e.usage.Load().KeepGoing(ctx) }

// Render writes a kept note as its wire event: notifications by their own room, all else by the chats'.
func (c chatsOf) Render(r journal.Reader, n journal.Entry) ([]byte, bool) {
	if body, shown, mine := c.notices.Render(r, n); mine {
		return body, shown
	}
	return c.Service.Render(r, n)
}
