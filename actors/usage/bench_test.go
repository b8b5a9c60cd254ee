package usage

import (
	"context"
	"fmt"
	"testing"
	"time"

	"sentient/actors/msg"
	"sentient/storage/journal"
)

// What a year with a million calls costs to read: the sums of every quarter of an hour, about 29 calls in each.
func BenchmarkAMillionCalls(b *testing.B) {
	d := newTill(b)
	defer d.close()
	now := d.clock()
	var rows []journal.Row
	for q := quarterOf(now.AddDate(-1, 0, 0)); q <= quarterOf(now); q++ {
		s := sums{}
		for i := range 3 {
			s.add(line{fmt.Sprintf("openai/model-%d", i), "primary", "chat"}, tally{calls: 10, prompt: 1000, completion: 100, priced: 10, cost: 1000})
		}
		rows = append(rows, d.s.t.sumsRow(q, s))
	}
	if _, err := d.j.Append(context.Background(), journal.Append{Stream: "filler/a", Rows: rows}); err != nil {
		b.Fatal(err)
	}
	d.set(func() { d.limits.MonthlyUSD, d.zone = 1e6*msg.Dollar, time.FixedZone("x", 5*3600+1800) })
	for name, read := range map[string]func() error{
		"30-days":  func() error { _, err := d.s.Report(30); return err },
		"365-days": func() error { _, err := d.s.Report(365); return err },
		"meter":    func() error { _, err := d.s.Cost(); return err },
		"allow":    func() error { return d.s.Allow(context.Background(), "openai/model-1") },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := read(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
