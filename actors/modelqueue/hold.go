package modelqueue

import (
	"time"

	"sentient/runtime/app"
)

// Power is what the computer runs on.
type Power struct {
	OnBattery bool
	Percent   int // of the battery, 0 to 100; -1 when not known: then only the idle and burst limits hold upkeep back
}

// rules are the settings that hold work back (models.*).
type rules struct {
	quiet     time.Duration // background_quiet_s
	onBattery bool          // background_on_battery: lifts level, idle and burst limits
	above     int           // battery_min_percent
	critical  int           // battery_critical_percent
	idle      time.Duration // battery_idle_s
	every     time.Duration // battery_upkeep_every_s
	maxWait   time.Duration // battery_max_wait_s
}

func rulesOf(m app.Models) rules {
	s := func(n int) time.Duration { return app.Span(n, time.Second) }
	return rules{quiet: s(m.BackgroundQuietS), onBattery: m.BackgroundOnBattery, above: m.BatteryMinPercent, critical: m.BatteryCriticalPercent,
		idle: s(m.BatteryIdleS), every: s(m.BatteryUpkeepEveryS), maxWait: s(m.BatteryMaxWaitS)}
}

// hold says why a call waits although the model may be free. The larger one is the more telling.
type hold int

const (
	free hold = iota
	byChat
	byBattery
	byLowBattery
)

func (h hold) String() string { return [...]string{"", "chat", "battery", "battery_low"}[h] }

const (
	// burstLength is the longest a burst of upkeep on battery lasts; what runs then is not cut.
	burstLength = 5 * time.Minute
	// burstGap is how long upkeep may leave the model alone and still be in the same burst: the time a pass needs between two calls.
	burstGap = 10 * time.Second
)

// burst is a time in which upkeep goes on battery. The zero value and nil have never been open.
type burst struct {
	start  time.Time
	used   time.Time // when a call of it last ended
	calls  int       // that run now
	capped bool      // opened by a call that had waited as long as it may: the rest of its pass follows whatever the battery says
}

func (b *burst) open(now time.Time) bool {
	return b != nil && !b.start.IsZero() && now.Before(b.start.Add(burstLength)) && (b.calls > 0 || now.Before(b.used.Add(burstGap)))
}

// due reports whether the next burst may begin.
func (b *burst) due(now time.Time, every time.Duration) bool {
	return b.start.IsZero() || !now.Before(b.start.Add(every))
}

func (b *burst) ended(now time.Time) {
	if b != nil {
		b.calls--
		b.used = now
	}
}

func (q *queue) burstOf(e *entry) **burst {
	if e.Asked {
		return &q.asked
	}
	return &q.scheduled
}

// hold says what keeps e from going when the model is free.
func (q *queue) hold(e *entry, f facts) hold {
	if !f.holds || e.lane < laneTask {
		return free
	}
	if !e.capped(f) {
		if h := q.batteryHold(e, f); h != free {
			return h
		}
	}
	if f.chat.holds(f.now, f.rules.quiet) {
		return byChat
	}
	return free
}

// capped: the battery has held this call for as long as it may.
func (e *entry) capped(f facts) bool {
	return !e.held.IsZero() && f.now.Sub(e.held) >= f.rules.maxWait
}

// batteryHold is what the battery says, whatever the call has waited. Tasks are never held by it.
func (q *queue) batteryHold(e *entry, f facts) hold {
	if e.lane < laneUpkeep || !f.power.OnBattery {
		return free
	}
	b, known := *q.burstOf(e), f.power.Percent >= 0
	switch {
	case f.rules.maxWait == 0, b.capped && b.open(f.now):
		return free
	case known && f.power.Percent <= f.rules.critical:
		return byLowBattery
	case e.Asked, f.rules.onBattery:
		return free
	case known && f.power.Percent <= f.rules.above:
		return byBattery
	case f.now.Before(f.chat.lastSeen(f.now).Add(f.rules.idle)):
		return byBattery
	case b.open(f.now), b.due(f.now, f.rules.every):
		return free
	}
	return byBattery
}

// mark notes since when the battery holds each call: the cap counts from there.
func (q *queue) mark(f facts) {
	if !f.holds || !f.power.OnBattery {
		return
	}
	for _, lane := range q.lanes[laneUpkeep:] {
		for _, e := range lane {
			if e.held.IsZero() && q.batteryHold(e, f) != free {
				e.held = f.now
			}
		}
	}
}

// joinBurst is called for a call that begins. On battery, scheduled upkeep runs in bursts, and a call that only the cap let go
// opens one for its own kind: scheduled upkeep never rides along with what a person asked for.
func (q *queue) joinBurst(e *entry, f facts) {
	if !f.holds || e.lane < laneUpkeep || !f.power.OnBattery {
		return
	}
	b := q.burstOf(e)
	switch overdue := q.batteryHold(e, f) != free; {
	case overdue:
		*b = &burst{start: f.now, capped: true}
	case (*b).open(f.now):
	case e.Asked, f.rules.onBattery, f.rules.maxWait == 0:
		return
	default:
		*b = &burst{start: f.now}
	}
	e.burst = *b
	e.burst.calls++
}

// lookAgain is when, without any news, a call that waits may be held for another reason or not at all; zero: never.
func (q *queue) lookAgain(f facts) time.Time {
	var at time.Time
	if !f.holds {
		return at
	}
	consider := func(t time.Time) {
		if t.After(f.now) && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	background, upkeep := false, false
	for e := range q.waiting {
		background = background || e.lane >= laneTask
		upkeep = upkeep || e.lane >= laneUpkeep
		if !e.held.IsZero() {
			consider(e.held.Add(f.rules.maxWait))
		}
	}
	if background {
		consider(f.chat.until)
		consider(f.chat.ended.Add(f.rules.quiet))
	}
	if upkeep && f.power.OnBattery {
		consider(f.chat.seen.Add(f.rules.idle))
		for _, b := range []*burst{q.scheduled, q.asked} {
			consider(b.start.Add(f.rules.every))
			consider(b.start.Add(burstLength))
			consider(b.used.Add(burstGap))
		}
	}
	return at
}
