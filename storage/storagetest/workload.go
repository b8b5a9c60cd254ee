package storagetest

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"sentient/storage/journal"
)

// Progress says how far a workload is: every step up to Acked is acknowledged, none after Sent has begun.
type Progress struct{ Acked, Sent atomic.Uint64 }

// streams is how many streams the workload writes.
const streams = 5

func stepStream(i uint64) journal.Stream { return journal.Stream(fmt.Sprint("session/", i%streams)) }

// stepValue is a value that no other step has.
func stepValue(i uint64) []byte {
	b := fmt.Appendf(nil, "step %d ", i)
	for len(b) < 300 {
		b = append(b, byte('a'+(uint64(len(b))*31+i*17)%26))
	}
	return b
}

// step is the i-th append, i from 1. Step i makes event (i-1)/streams+1 of its stream, a row of its own, a row that moves in
// its index with each step, and a note.
func step(i uint64) journal.Append {
	return journal.Append{
		Stream: stepStream(i), Expected: (i - 1) / streams, Events: [][]byte{stepValue(i)},
		Rows: []journal.Row{
			{Table: "steps", Key: fmt.Appendf(nil, "%08d", i), Value: stepValue(i), Index: []journal.IndexEntry{{Index: "stream", Key: []byte(stepStream(i))}}},
			{Table: "last", Key: []byte(stepStream(i)), Value: fmt.Append(nil, i), Index: []journal.IndexEntry{{Index: "at", Key: fmt.Appendf(nil, "%08d", i)}}},
		},
		Publish: []journal.Note{{Type: "step", Topic: fmt.Sprint(i % streams), Data: fmt.Append(nil, i)}},
	}
}

// Work does the steps up to last, one after the other.
func Work(c *journal.Committer, last uint64, p *Progress) error {
	for i := p.Acked.Load() + 1; i <= last; i++ {
		p.Sent.Store(i)
		if i%3 == 0 {
			c.Checkpoint(stepStream(i), stepValue(i))
		}
		if _, err := c.Append(context.Background(), step(i)); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		p.Acked.Store(i)
	}
	return nil
}

// Verify checks that a store holds the first k steps and nothing else, with acked <= k <= sent, and returns k.
func Verify(c *journal.Committer, acked, sent uint64) (uint64, error) {
	v, err := c.Read()
	if err != nil {
		return 0, err
	}
	defer v.Close()
	k := uint64(0)
	for item, err := range v.Scan(journal.Scan{Table: "steps"}) {
		if err != nil {
			return 0, err
		}
		k++
		if string(item.Key) != fmt.Sprintf("%08d", k) || !slices.Equal(item.Value, stepValue(k)) {
			return 0, fmt.Errorf("row %d is %q", k, item.Key)
		}
	}
	if k < acked || k > sent {
		return k, fmt.Errorf("%d steps are stored, %d were acknowledged and %d sent", k, acked, sent)
	}
	if err := verifyRows(v, k); err != nil {
		return k, err
	}
	if err := verifyNotes(v, k); err != nil {
		return k, err
	}
	return k, verifyStreams(c, k)
}

func verifyRows(v journal.Reader, k uint64) error {
	want := min(k, streams)
	n := uint64(0)
	for item, err := range v.Scan(journal.Scan{Table: "last", Index: "at", Reverse: true}) {
		if err != nil {
			return err
		}
		if string(item.Value) != fmt.Sprint(k-n) {
			return fmt.Errorf("the index says step %s, not %d", item.Value, k-n)
		}
		n++
	}
	if n != want {
		return fmt.Errorf("the index has %d entries, not %d", n, want)
	}
	n = 0
	for _, err := range v.Scan(journal.Scan{Table: "steps", Index: "stream"}) {
		if err != nil {
			return err
		}
		n++
	}
	if n != k {
		return fmt.Errorf("the steps' index has %d entries, not %d", n, k)
	}
	return nil
}

func verifyNotes(v journal.Reader, k uint64) error {
	n := uint64(0)
	for e, err := range v.Log(0) {
		if err != nil {
			return err
		}
		n++
		if e.Seq != n || string(e.Data) != fmt.Sprint(n) {
			return fmt.Errorf("note %d has number %d and says %q", n, e.Seq, e.Data)
		}
	}
	if n != k {
		return fmt.Errorf("%d notes, not %d", n, k)
	}
	return nil
}

func verifyStreams(c *journal.Committer, k uint64) error {
	for s := range uint64(streams) {
		l, err := c.Load(context.Background(), stepStream(s))
		if err != nil {
			return err
		}
		first := s
		if s == 0 {
			first = streams
		}
		n := uint64(0)
		for i := first; i <= k; i += streams {
			if n >= l.Version || !slices.Equal(l.Events[n], stepValue(i)) {
				return fmt.Errorf("%s: event %d is not step %d", stepStream(s), n+1, i)
			}
			n++
		}
		if n != l.Version {
			return fmt.Errorf("%s is at version %d, not %d", stepStream(s), l.Version, n)
		}
	}
	return nil
}

func workload(r *rig) {
	r.open()
	var p Progress
	for _, last := range []uint64{40, 90} {
		if err := Work(r.c, last, &p); err != nil {
			r.Fatal(err)
		}
		r.reopen()
		if _, err := Verify(r.c, last, last); err != nil {
			r.Fatal(err)
		}
	}
	if _, err := Verify(r.c, 91, 91); err == nil {
		r.Error("Verify does not notice a lost step")
	}
}
