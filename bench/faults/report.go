package faults

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Write prints the result in Markdown; commit and command say what was run.
func (r Result) Write(w io.Writer, commit, command string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## The last run\n\n- when: %s, %s\n- machine: %s, %d cores, %s\n- commit: %s\n- repeat it: `%s`\n\n", r.Began.UTC().Format("2 January 2006, 15:04 UTC"),
		show(r.Took), machine(), runtime.NumCPU(), runtime.Version(), commit, command)
	fmt.Fprintf(&b, "Seed %d. A round is four chats at once, three of which follow a script.\n\n", r.Seed)
	b.WriteString("| scenario | what goes wrong | rounds | faults | starts after an end | messages (acknowledged) | turns | effects | exec to ready, median / slowest | violations |\n|---|---|---|---|---|---|---|---|---|---|\n")
	var sum Outcome
	for _, o := range r.Scenarios {
		sum.Rounds, sum.Faults, sum.Kills, sum.Messages, sum.Acked = sum.Rounds+o.Rounds, sum.Faults+o.Faults, sum.Kills+o.Kills, sum.Messages+o.Messages, sum.Acked+o.Acked
		sum.Turns, sum.Effects = sum.Turns+o.Turns, sum.Effects+o.Effects
		what := o.What
		if o.Skipped != "" {
			what = "left out: " + o.Skipped
		}
		fmt.Fprintf(&b, "| %s | %s | %d | %d | %d | %d (%d) | %d | %d | %s | %d |\n", o.Name, what, o.Rounds, o.Faults, o.Kills, o.Messages, o.Acked, o.Turns, o.Effects, starts(o.Starts), len(o.Violations))
	}
	fmt.Fprintf(&b, "| all | | %d | %d | %d | %d (%d) | %d | %d | | %d |\n\n", sum.Rounds, sum.Faults, sum.Kills, sum.Messages, sum.Acked, sum.Turns, sum.Effects, len(r.Violations()))
	b.WriteString("Checked after every round, by a checker that only knows what the clients were told and what the pretend world saw:\n\n")
	for _, i := range invariants {
		fmt.Fprintf(&b, "- %s\n", i)
	}
	b.WriteString("\nViolations:")
	if len(r.Violations()) == 0 {
		b.WriteString(" none.\n")
	}
	for _, v := range r.Violations() {
		fmt.Fprintf(&b, "\n- %s", v)
	}
	_, err := io.WriteString(w, strings.TrimRight(b.String(), "\n")+"\n")
	return err
}

func starts(list []time.Duration) string {
	if len(list) == 0 {
		return "-"
	}
	s := slices.Sorted(slices.Values(list))
	return show(s[len(s)/2]) + " / " + show(s[len(s)-1])
}

func show(d time.Duration) string {
	if d >= time.Second {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f ms", float64(d)/1e6)
}
