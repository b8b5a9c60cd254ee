package pebblestore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"

	"sentient/storage/journal"
	"sentient/storage/pebblestore"
)

func benchAppend(s journal.Stream, version uint64, value []byte) journal.Append {
	return journal.Append{Stream: s, Expected: version, Events: [][]byte{value},
		Rows:    []journal.Row{{Table: "t", Key: []byte(s), Value: value, Index: []journal.IndexEntry{{Index: "i", Key: []byte("same")}}}},
		Publish: []journal.Note{{Type: "n", Topic: "t", Data: []byte("small")}}}
}

// BenchmarkAppend is one synced append at a time: an event, a row with an index entry and a note, of 200 bytes.
func BenchmarkAppend(b *testing.B) {
	c := mustOpen(b, nil, filepath.Join(b.TempDir(), "store"))
	defer mustClose(b, c)
	value := make([]byte, 200)
	b.ReportAllocs()
	for v := uint64(0); b.Loop(); v++ {
		if _, err := c.Append(context.Background(), benchAppend("session/a", v, value)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAppend64 is 64 writers, each with streams of its own, sharing syncs.
func BenchmarkAppend64(b *testing.B) {
	for _, full := range []bool{false, true} {
		b.Run(map[bool]string{false: "event", true: "event+row+note"}[full], func(b *testing.B) {
			c := mustOpen(b, nil, filepath.Join(b.TempDir(), "store"))
			defer mustClose(b, c)
			value := make([]byte, 200)
			b.ReportAllocs()
			b.ResetTimer()
			var wg sync.WaitGroup
			for w := range 64 {
				wg.Go(func() {
					s := journal.Stream(fmt.Sprint("session/", w))
					events := [][]byte{value}
					for v := range uint64(b.N/64 + 1) {
						a := journal.Append{Stream: s, Expected: v, Events: events}
						if full {
							a = benchAppend(s, v, value)
						}
						if _, err := c.Append(context.Background(), a); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
		})
	}
}

// BenchmarkOpenAfterKill opens a store with 100,000 events of 500 bytes in 1,000 streams as a kill left it.
func BenchmarkOpenAfterKill(b *testing.B) {
	src := filepath.Join(b.TempDir(), "src")
	c := mustOpen(b, nil, src)
	r := rand.New(rand.NewPCG(1, 1))
	for e := range uint64(10) {
		for s := range 1000 {
			a := journal.Append{Stream: journal.Stream(fmt.Sprintf("session/%06d", s)), Expected: e * 10, Publish: []journal.Note{{Type: "n"}}}
			for range 10 {
				v := make([]byte, 500)
				for i := range v[:250] {
					v[i] = byte(r.Uint32())
				}
				a.Events = append(a.Events, v)
			}
			if _, err := c.Append(context.Background(), a); err != nil {
				b.Fatal(err)
			}
		}
	}
	killed := filepath.Join(b.TempDir(), "killed")
	copyDir(b, src, killed)
	mustClose(b, c)
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		dir := filepath.Join(b.TempDir(), fmt.Sprint(i))
		copyDir(b, killed, dir)
		b.StartTimer()
		disk, err := pebblestore.Open(pebblestore.Options{Dir: dir, Reserve: 1})
		if err != nil {
			b.Fatal(err)
		}
		c, err := journal.Open(context.Background(), journal.Options{Disk: disk, Memory: memory()})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		mustClose(b, c)
		b.StartTimer()
	}
}
