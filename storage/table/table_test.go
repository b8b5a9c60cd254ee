package table_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
	"pgregory.net/rapid"

	"sentient/storage/journal"
	"sentient/storage/memstore"
	"sentient/storage/table"
)

type chat struct {
	id, folder string
	at         time.Time
}

func chats() *table.Table[chat] {
	return table.New(table.Options[chat]{
		Name:   "chats",
		Key:    func(c chat) []byte { return []byte(c.id) },
		Encode: func(c chat) []byte { return fmt.Appendf(nil, "%s|%d", c.folder, c.at.Unix()) },
		Decode: func(b []byte) (c chat, err error) {
			folder, at, ok := bytes.Cut(b, []byte("|"))
			if !ok {
				return c, errors.New("no bar")
			}
			var sec int64
			_, err = fmt.Sscan(string(at), &sec)
			return chat{folder: string(folder), at: time.Unix(sec, 0)}, err
		},
		Indexes: []table.Index[chat]{
			{Name: "newest", Keys: func(c chat) [][]byte {
				return [][]byte{table.AppendTimeDesc(table.AppendString(nil, c.folder), c.at)}
			}},
			{Name: "archived", Keys: func(c chat) [][]byte {
				if c.folder != "archive" {
					return nil
				}
				return [][]byte{{}}
			}},
		},
	})
}

func open(t *testing.T) *journal.Committer {
	c, err := journal.Open(context.Background(), journal.Options{Disk: memstore.New(), Memory: memstore.New()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

func put(t *testing.T, c *journal.Committer, version *uint64, a journal.Append) {
	t.Helper()
	a.Stream, a.Expected, a.Events = "s/a", *version, [][]byte{nil}
	got, err := c.Append(context.Background(), a)
	if err != nil {
		t.Fatal(err)
	}
	*version = got.Version
}

func TestTable(t *testing.T) {
	c, chats, version := open(t), chats(), uint64(0)
	var rows []journal.Row
	for i, folder := range []string{"a", "ab", "a", "archive", "a"} {
		rows = append(rows, chats.Put(chat{id: fmt.Sprint("c", i), folder: folder, at: time.Unix(int64(100+i), 0)}))
	}
	put(t, c, &version, journal.Append{Rows: rows})
	put(t, c, &version, journal.Append{Rows: []journal.Row{chats.Delete([]byte("c2"))}})
	r, err := c.Read()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	list := func(q table.Query) (out []string) {
		for f, err := range chats.Find(r, q) {
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, string(f.Key))
		}
		return out
	}
	for _, test := range []struct {
		q    table.Query
		want []string
	}{
		{table.Query{}, []string{"c0", "c1", "c3", "c4"}},
		{table.Query{Index: "newest", Prefix: table.AppendString(nil, "a")}, []string{"c4", "c0"}},
		{table.Query{Index: "newest", Prefix: table.AppendStringPrefix(nil, "a")}, []string{"c4", "c0", "c1", "c3"}},
		{table.Query{Index: "archived"}, []string{"c3"}},
		{table.Query{Reverse: true, Limit: 1}, []string{"c4"}},
		{table.Query{From: []byte("c1"), After: true, Limit: 1}, []string{"c3"}},
	} {
		if got := list(test.q); !slices.Equal(got, test.want) {
			t.Errorf("%+v: %q, want %q", test.q, got, test.want)
		}
	}
	got, ok, err := chats.Get(r, []byte("c3"))
	if !ok || err != nil || got.folder != "archive" || got.at.Unix() != 103 {
		t.Errorf("%+v %v %v", got, ok, err)
	}
	if _, ok, err := chats.Get(r, []byte("c2")); ok || err != nil {
		t.Error(ok, err)
	}
}

// A row that its table cannot decode is left out and reported; a scan of the whole has its error and goes on.
func TestUndecodable(t *testing.T) {
	c, chats, version := open(t), chats(), uint64(0)
	put(t, c, &version, journal.Append{Rows: []journal.Row{{Table: "chats", Key: []byte("a"), Value: []byte("?")}, chats.Put(chat{id: "b"})}})
	r, err := c.Read()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var damage *journal.CorruptError
	if _, ok, err := chats.Get(r, []byte("a")); ok || !errors.As(err, &damage) || damage.Key != `chats/"a"` {
		t.Error(ok, err)
	}
	for whole, want := range map[bool]int{true: 1, false: 0} {
		good, bad := 0, 0
		for _, err := range chats.Scan(r, table.Query{Whole: whole}) {
			if err == nil {
				good++
			} else {
				bad++
			}
		}
		if good != 1 || bad != want {
			t.Error(whole, good, bad)
		}
	}
	if got := c.Damage(); !slices.Equal(got, []journal.Damage{{Part: "chats", Places: 1}}) {
		t.Error(got)
	}
}

func TestOptions(t *testing.T) {
	fine := func() table.Options[int] {
		return table.Options[int]{Name: "t", Key: func(int) []byte { return nil }, Encode: func(int) []byte { return nil },
			Decode: func([]byte) (int, error) { return 0, nil }, Indexes: []table.Index[int]{{Name: "i", Keys: func(int) [][]byte { return nil }}}}
	}
	o := fine()
	if err := o.Validate(); err != nil {
		t.Error(err)
	}
	if row := table.New(o).Put(1); row.Value == nil {
		t.Error("a value of no bytes would delete its row")
	}
	for name, spoil := range map[string]func(*table.Options[int]){
		"name":        func(o *table.Options[int]) { o.Name = "" },
		"key":         func(o *table.Options[int]) { o.Key = nil },
		"codec":       func(o *table.Options[int]) { o.Decode = nil },
		"index name":  func(o *table.Options[int]) { o.Indexes[0].Name = "" },
		"index twice": func(o *table.Options[int]) { o.Indexes = append(o.Indexes, o.Indexes[0]) },
		"index keys":  func(o *table.Options[int]) { o.Indexes[0].Keys = nil },
	} {
		o := fine()
		spoil(&o)
		if o.Validate() == nil {
			t.Error(name)
		}
	}
}

func TestProto(t *testing.T) {
	encode, decode := table.Proto[structpb.Struct]()
	in, err := structpb.NewStruct(map[string]any{"a": "x", "l": []any{"y", map[string]any{"n": 1.5}}})
	if err != nil {
		t.Fatal(err)
	}
	out, err := decode(encode(in))
	if err != nil || !proto.Equal(in, out) {
		t.Errorf("%v %v", out, err)
	}
	in.Fields["bad\xff"] = structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{{Kind: &structpb.Value_StringValue{StringValue: "te\xffxt"}}}})
	out, err = decode(encode(in))
	if err != nil || out.Fields["bad\uFFFD"].GetListValue().GetValues()[0].GetStringValue() != "te\uFFFDxt" || out.Fields["a"].GetStringValue() != "x" {
		t.Errorf("invalid text: %v %v", out, err)
	}
	if in.Fields["bad\xff"] == nil {
		t.Error("the caller's message was changed")
	}
	encodeText, _ := table.Proto[wrapperspb.StringValue]()
	if b := encodeText(&wrapperspb.StringValue{}); len(b) != 0 {
		t.Error(b)
	}
	if _, err := decode([]byte{0xff}); err == nil {
		t.Error("garbage was decoded")
	}
}

// part is one drawn part of a key.
type part struct {
	s     string
	n     uint64
	t     time.Time
	early bool
}

func drawPart(t *rapid.T) part {
	at := func(label string) time.Time { return time.Unix(0, rapid.Int64().Draw(t, label)).UTC() }
	return part{s: rapid.StringOfN(rapid.SampledFrom([]rune{0, 1, 'a', 'b', 255}), 0, 3, -1).Draw(t, "s"), n: rapid.Uint64().Draw(t, "n"), t: at("t"), early: rapid.Bool().Draw(t, "early")}
}

func (p part) key() []byte {
	return table.AppendTime(table.AppendTimeDesc(table.AppendUint64(table.AppendString(nil, p.s), p.n), p.t), p.t)
}

// Composite keys sort part by part and can be taken apart again.
func TestKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawPart(t), drawPart(t)
		if rapid.Bool().Draw(t, "same string") {
			b.s = a.s
			if rapid.Bool().Draw(t, "same number") {
				b.n = a.n
			}
		}
		want := bytes.Compare([]byte(a.s), []byte(b.s))
		if want == 0 && a.n != b.n {
			want = map[bool]int{true: -1, false: 1}[a.n < b.n]
		} else if want == 0 {
			want = -a.t.Compare(b.t)
		}
		if got := bytes.Compare(a.key(), b.key()); got != want {
			t.Fatalf("%+v, %+v: %d, want %d", a, b, got, want)
		}
		s, rest, ok := table.CutString(a.key())
		n, rest, ok2 := table.CutUint64(rest)
		late, rest, ok3 := table.CutTimeDesc(rest)
		early, rest, ok4 := table.CutTime(rest)
		if !ok || !ok2 || !ok3 || !ok4 || len(rest) > 0 || s != a.s || n != a.n || !late.Equal(a.t) || !early.Equal(a.t) {
			t.Fatalf("%+v: %q %d %v %v %v", a, s, n, late, early, rest)
		}
		if bytes.HasPrefix(table.AppendString(nil, a.s), table.AppendString(nil, b.s)) != (a.s == b.s) {
			t.Fatalf("%q and %q", a.s, b.s)
		}
	})
}

func TestFarTimes(t *testing.T) {
	last := []byte(nil)
	for _, at := range []time.Time{{}, time.Unix(-1, 0), time.Unix(0, 0), time.Unix(1, 0), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)} {
		key := table.AppendTime(nil, at)
		if bytes.Compare(last, key) >= 0 {
			t.Errorf("%v does not sort", at)
		}
		last = key
	}
}

func FuzzCut(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(table.AppendString([]byte(nil), "a\x00b"))
	f.Add([]byte{'a', 0})
	f.Add([]byte{0, 2})
	f.Fuzz(func(t *testing.T, key []byte) {
		s, rest, ok := table.CutString(key)
		if ok && !bytes.Equal(append(table.AppendString(nil, s), rest...), key) {
			t.Errorf("%q: %q %q", key, s, rest)
		}
		if n, rest, ok := table.CutUint64(key); ok && !bytes.Equal(append(table.AppendUint64(nil, n), rest...), key) {
			t.Errorf("%q: %d", key, n)
		}
	})
}
