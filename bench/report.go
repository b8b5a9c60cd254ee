package bench

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Report is what a scenario measured.
type Report struct {
	Scenario string
	Setting  string // what was done, in one line
	Rows     []Row
}

// Row is one measured value. Goal is "" where there is none.
type Row struct {
	What, Value, Goal string
	Missed            bool
}

func (r *Report) add(what, format string, args ...any) {
	r.Rows = append(r.Rows, Row{What: what, Value: fmt.Sprintf(format, args...)})
}

// goal adds a value that should be below a bound.
func (r *Report) goal(what string, v, below time.Duration) {
	r.Rows = append(r.Rows, Row{What: what, Value: show(v), Goal: "< " + show(below), Missed: v >= below})
}

func (r *Report) goalMB(what string, v, below float64) {
	r.Rows = append(r.Rows, Row{What: what, Value: fmt.Sprintf("%.2f MB", v), Goal: fmt.Sprintf("< %g MB", below), Missed: v >= below})
}

func (r *Report) goalNone(what string, n int, detail string) {
	value := fmt.Sprint(n)
	if n > 0 && detail != "" {
		value += " (first: " + detail + ")"
	}
	r.Rows = append(r.Rows, Row{What: what, Value: value, Goal: "0", Missed: n > 0})
}

// spread adds median and 99th percentile of s.
func (r *Report) spread(what string, s Samples) {
	r.add(what+", median / p99", "%s / %s", show(s.Median()), show(s.Percentile(99)))
}

// Missed are the rows whose goal was not met.
func (r Report) Missed() (list []Row) {
	for _, row := range r.Rows {
		if row.Missed {
			list = append(list, row)
		}
	}
	return list
}

// Write prints the report as a Markdown table.
func (r Report) Write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n### %s\n%s\n\n| what | measured | goal |\n|---|---|---|\n", r.Scenario, r.Setting)
	for _, row := range r.Rows {
		goal := row.Goal
		if row.Missed {
			goal += " **missed**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", row.What, row.Value, goal)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// show writes a duration with a sensible number of digits.
func show(d time.Duration) string {
	switch abs := d.Abs(); {
	case abs >= 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case abs >= time.Second:
		return fmt.Sprintf("%.3f s", d.Seconds())
	case abs >= 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/1e6)
	default:
		return fmt.Sprintf("%.2f ms", float64(d)/1e6)
	}
}
