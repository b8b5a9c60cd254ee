package usage

import "time"

// The person's calendar. Periods begin at midnight in their zone; sums are kept by quarters of an hour in UTC, which every zone's
// midnight falls on, so a change of zone needs no new sums.

const quarterMicros = 15 * 60 * 1_000_000

// quarter is the number of the quarter of an hour, since 1970, that a time in microseconds is in. Times before that count as 0.
func quarter(micros int64) int64 { return max(0, micros) / quarterMicros }

func quarterOf(t time.Time) int64 { return quarter(t.UnixMicro()) }

// midnight is the first instant of that day. Where a clock is put forward at midnight the day begins later than 0:00.
func midnight(y int, m time.Month, d int, zone *time.Location) time.Time {
	want := time.Date(y, m, d, 12, 0, 0, 0, zone).Day()
	t := time.Date(y, m, d, 0, 0, 0, 0, zone)
	for range 4 * 26 { // more than a day: a zone that skips a whole day begins with the next
		if t.Day() == want {
			break
		}
		t = t.Add(15 * time.Minute)
	}
	return t
}

// span is a time from its start to before its end.
type span struct{ start, end time.Time }

func (s span) holds(q int64) bool { return q >= quarterOf(s.start) && q < quarterOf(s.end) }

// daysBack is the last n days, today's included.
func daysBack(now time.Time, n int) span {
	y, m, d := now.Date()
	return span{midnight(y, m, d-n+1, now.Location()), midnight(y, m, d+1, now.Location())}
}

// week begins on Monday.
func week(now time.Time) span {
	y, m, d := now.Date()
	monday := d - (int(now.Weekday())+6)%7
	return span{midnight(y, m, monday, now.Location()), midnight(y, m, monday+7, now.Location())}
}

func month(now time.Time) span {
	y, m, _ := now.Date()
	return span{midnight(y, m, 1, now.Location()), midnight(y, m+1, 1, now.Location())}
}

// monthName is YYYY-MM.
func monthName(now time.Time) string { return now.Format("2006-01") }

// dayNames names the day of a quarter; it remembers the last one, because sums come in order.
type dayNames struct {
	zone *time.Location
	of   span
	name string
}

func (n *dayNames) day(q int64) string {
	if n.name == "" || !n.of.holds(q) {
		t := time.UnixMicro(q * quarterMicros).In(n.zone)
		n.of, n.name = daysBack(t, 1), t.Format(time.DateOnly)
	}
	return n.name
}
