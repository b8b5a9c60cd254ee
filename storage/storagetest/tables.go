package storagetest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	"pgregory.net/rapid"

	"sentient/storage/journal"
)

func row(key, value string, index ...string) journal.Row {
	r := journal.Row{Table: "t", Key: []byte(key), Value: []byte(value)}
	for _, e := range index {
		name, k, _ := strings.Cut(e, ":")
		r.Index = append(r.Index, journal.IndexEntry{Index: name, Key: []byte(k)})
	}
	return r
}

func gone(key string) journal.Row { return journal.Row{Table: "t", Key: []byte(key)} }

// writer appends to one stream, counting versions.
type streamWriter struct {
	r       *rig
	stream  journal.Stream
	version uint64
}

func (w *streamWriter) put(a journal.Append) journal.Receipt {
	w.r.Helper()
	a.Stream, a.Expected = w.stream, w.version
	got := w.r.append(a)
	w.version = got.Version
	return got
}

func (w *streamWriter) rows(rows ...journal.Row) { w.r.Helper(); w.put(journal.Append{Rows: rows}) }

func rows(r *rig) {
	r.open()
	w := &streamWriter{r: r, stream: "s/a"}
	w.rows(row("b", "2"), row("a", "1"), row("a\x00", "1.5"), row("", "root"), row("c", ""))
	w.rows(row("b", "two"), gone("never"))
	for range 2 {
		same(r, "all", r.scan(journal.Scan{Table: "t"}), []string{"=root", "a=1", "a\x00=1.5", "b=two", "c="})
		same(r, "reverse", r.scan(journal.Scan{Table: "t", Reverse: true, Limit: 2}), []string{"c=", "b=two"})
		same(r, "prefix", r.scan(journal.Scan{Table: "t", Prefix: []byte("a")}), []string{"a=1", "a\x00=1.5"})
		same(r, "other table", r.scan(journal.Scan{Table: "t\x00"}), []string{})
		r.reopen()
	}
	v := r.read()
	value, ok, err := v.Get("t", []byte("c"))
	if value == nil || len(value) != 0 || !ok || err != nil {
		r.Errorf("an empty value is a value: %v %v %v", value, ok, err)
	}
	_, ok, err = v.Get("t", []byte("x"))
	if ok || err != nil {
		r.Error("no such row:", ok, err)
	}
	_ = v.Close()
	w.put(journal.Append{Prefixes: []journal.Prefix{{Table: "t", Key: []byte("a")}}, Rows: []journal.Row{row("a2", "new")}})
	same(r, "prefix deleted", r.scan(journal.Scan{Table: "t"}), []string{"=root", "a2=new", "b=two", "c="})
}

// indexUpkeep: entries a row no longer has are gone, whoever forgot to mention them, within one append too.
func indexUpkeep(r *rig) {
	r.open()
	w := &streamWriter{r: r, stream: "s/a"}
	by := func(index, prefix string) []string {
		return r.scan(journal.Scan{Table: "t", Index: index, Prefix: []byte(prefix)})
	}
	w.rows(row("k1", "a", "i:x", "j:1"), row("k2", "b", "i:x"), row("k3", "c", "i:x\x00", "i:w"))
	same(r, "by i", by("i", ""), []string{"k3=c", "k1=a", "k2=b", "k3=c"})
	same(r, "by i x", by("i", "x"), []string{"k1=a", "k2=b", "k3=c"})
	w.rows(row("k1", "a2", "i:y"))
	same(r, "moved", by("i", ""), []string{"k3=c", "k2=b", "k3=c", "k1=a2"})
	same(r, "dropped", by("j", ""), []string{})
	w.rows(row("k2", "b2", "i:q"), row("k2", "b3", "i:r"), gone("k3"))
	same(r, "within an append", by("i", ""), []string{"k2=b3", "k1=a2"})
	w.put(journal.Append{Prefixes: []journal.Prefix{{Table: "t"}}, Rows: []journal.Row{row("k2", "b4", "i:r")}})
	same(r, "after a prefix", by("i", ""), []string{"k2=b4"})
	w.put(journal.Append{Prefixes: []journal.Prefix{{Table: "t"}}})
	span := journal.Span{Lo: []byte("i/"), Hi: []byte("j")}
	if left := keys(r, r.disk, span, false); len(left) > 0 {
		r.Errorf("stale entries: %q", left)
	}
}

// scanPages: going on from an Item's At visits everything once, in both directions, with equal index keys too.
func scanPages(r *rig) {
	r.open()
	w := &streamWriter{r: r, stream: "s/a"}
	for i := range 23 {
		w.rows(row(fmt.Sprintf("k%02d", i), "v", fmt.Sprintf("i:%d\x00", i/7)))
	}
	v := r.read()
	defer v.Close()
	for _, index := range []string{"", "i"} {
		for _, reverse := range []bool{false, true} {
			q := journal.Scan{Table: "t", Index: index, Reverse: reverse, Limit: 4}
			var got []string
			for {
				n := 0
				for item, err := range v.Scan(q) {
					if err != nil {
						r.Fatal(err)
					}
					got = append(got, string(item.Key))
					q.From, q.After = item.At, true
					n++
				}
				if n < 4 {
					break
				}
			}
			want := slices.Sorted(slices.Values(got))
			if reverse {
				slices.Reverse(want)
			}
			if len(got) != 23 || !slices.Equal(got, want) {
				r.Errorf("index %q reverse %v: %q", index, reverse, got)
			}
		}
	}
	from := journal.Scan{Table: "t", Index: "i", From: journal.IndexFrom([]byte("2\x00")), Limit: 1}
	same(r, "from a key", r.scan(from), []string{"k14=v"})
	from.Reverse = true
	same(r, "back from a key", r.scan(from), []string{"k13=v"})
	same(r, "inclusive", r.scan(journal.Scan{Table: "t", From: []byte("k21")}), []string{"k21=v", "k22=v"})
	same(r, "exclusive", r.scan(journal.Scan{Table: "t", From: []byte("k21"), After: true}), []string{"k22=v"})
	same(r, "back inclusive", r.scan(journal.Scan{Table: "t", From: []byte("k01"), Reverse: true}), []string{"k01=v", "k00=v"})
	same(r, "back exclusive", r.scan(journal.Scan{Table: "t", From: []byte("k01"), Reverse: true, After: true}), []string{"k00=v"})
}

// rowModel compares random changes with a map, over reopens.
func rowModel(r *rig) {
	rapid.Check(r.T, func(t *rapid.T) {
		sub := &rig{T: r.T, f: r.f, place: r.f.Place(r.T)}
		sub.open()
		defer sub.close()
		m := model{}
		stream, version := journal.Stream("s/a"), uint64(0)
		part := rapid.StringOfN(rapid.SampledFrom([]rune{'a', 'b', 0, 1, 255}), 0, 3, -1)
		for range rapid.IntRange(1, 12).Draw(t, "appends") {
			a := journal.Append{Stream: stream, Expected: version, Events: bytesOf("e")}
			for range rapid.IntRange(0, 2).Draw(t, "prefixes") {
				p := journal.Prefix{Table: part.Draw(t, "table"), Key: []byte(part.Draw(t, "prefix"))}
				a.Prefixes = append(a.Prefixes, p)
				m.drop(p)
			}
			for range rapid.IntRange(0, 5).Draw(t, "rows") {
				w := journal.Row{Table: part.Draw(t, "table"), Key: []byte(part.Draw(t, "key"))}
				if rapid.IntRange(0, 3).Draw(t, "delete") > 0 {
					w.Value = []byte(part.Draw(t, "value"))
					for range rapid.IntRange(0, 3).Draw(t, "entries") {
						w.Index = append(w.Index, journal.IndexEntry{Index: part.Draw(t, "index"), Key: []byte(part.Draw(t, "ikey"))})
					}
				}
				a.Rows = append(a.Rows, w)
				m.put(w)
			}
			got, err := sub.c.Append(context.Background(), a)
			if err != nil {
				t.Fatal(err)
			}
			version = got.Version
			if rapid.IntRange(0, 5).Draw(t, "reopen") == 0 {
				sub.reopen()
			}
			m.check(t, sub)
		}
	})
}

// model is the tables as a map: table, then key.
type model map[string]map[string]journal.Row

func (m model) put(w journal.Row) {
	if m[w.Table] == nil {
		m[w.Table] = map[string]journal.Row{}
	}
	if w.Value == nil {
		delete(m[w.Table], string(w.Key))
	} else {
		m[w.Table][string(w.Key)] = w
	}
}

func (m model) drop(p journal.Prefix) {
	for key := range m[p.Table] {
		if strings.HasPrefix(key, string(p.Key)) {
			delete(m[p.Table], key)
		}
	}
}

func (m model) check(t *rapid.T, r *rig) {
	v := r.read()
	defer v.Close()
	for table, rows := range m {
		var want []string
		entries := map[string][]journal.Item{}
		for key, w := range rows {
			want = append(want, key+"="+string(w.Value))
			seen := map[string]bool{}
			for _, e := range w.Index {
				if id := e.Index + "|" + string(e.Key); !seen[id] {
					seen[id] = true
					entries[e.Index] = append(entries[e.Index], journal.Item{Key: w.Key, At: e.Key, Value: w.Value})
				}
			}
		}
		sort.Slice(want, func(i, j int) bool { return strings.Split(want[i], "=")[0] < strings.Split(want[j], "=")[0] })
		if got := collect(t, v, journal.Scan{Table: table}); !slices.Equal(got, want) {
			t.Fatalf("table %q:\n got %q\nwant %q", table, got, want)
		}
		for _, index := range []string{"", "a", "b", "\x00", "ab"} {
			items := entries[index]
			if index == "" {
				continue // an empty index name means the primary key
			}
			sort.Slice(items, func(i, j int) bool {
				if c := bytes.Compare(items[i].At, items[j].At); c != 0 {
					return c < 0
				}
				return bytes.Compare(items[i].Key, items[j].Key) < 0
			})
			var want []string
			for _, it := range items {
				want = append(want, string(it.Key)+"="+string(it.Value))
			}
			if got := collect(t, v, journal.Scan{Table: table, Index: index}); !slices.Equal(got, want) {
				t.Fatalf("index %q of %q:\n got %q\nwant %q", index, table, got, want)
			}
		}
	}
}

func collect(t *rapid.T, v journal.Reader, q journal.Scan) (out []string) {
	for item, err := range v.Scan(q) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(item.Key)+"="+string(item.Value))
	}
	return out
}
