package usage

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"

	"sentient/actors/msg"
	session "sentient/proto/session"
	pb "sentient/proto/usage"
	"sentient/storage/journal"
	"sentient/storage/table"
)

// line is what calls are told apart by.
type line struct{ model, role, source string }

// tally is what calls came to. Adding is exact and in any order.
type tally struct {
	calls, prompt, completion int64
	priced                    int64 // calls with a price
	cost                      msg.USD
}

func (t tally) plus(o tally) tally {
	return tally{t.calls + o.calls, t.prompt + o.prompt, t.completion + o.completion, t.priced + o.priced, t.cost.Plus(o.cost)}
}

func (t tally) tokens() int64 { return t.prompt + t.completion }

// usd is nil without a priced call.
func (t tally) usd() *msg.USD {
	if t.priced == 0 {
		return nil
	}
	return &t.cost
}

// sums are tallies by line.
type sums map[line]tally

func (s sums) add(l line, t tally) { s[l] = s[l].plus(t) }

// buckets are sums by quarter of an hour.
type buckets map[int64]sums

func (b buckets) add(q int64, l line, t tally) {
	if b[q] == nil {
		b[q] = sums{}
	}
	b[q].add(l, t)
}

// billingOf says who pays for a model: local, plan or paid.
type billingOf func(model string) string

// counted is a call as a line and its tally. Only what is paid by the token has a price.
func (billing billingOf) counted(r *session.UsageRow) (line, tally) {
	t := tally{calls: 1, prompt: r.PromptTokens, completion: r.CompletionTokens}
	if r.CostNano != nil && billing(r.Model) == "paid" {
		t.priced, t.cost = 1, msg.USD(*r.CostNano)
	}
	return line{r.Model, r.Role, r.Source}, t
}

// tables of the room. Calls are written by whoever called; this room writes only those that nobody else can.
type tables struct {
	calls *table.Table[*session.UsageRow]
	sums  *table.Table[*pb.Sums]
	state *table.Table[*pb.State]
}

const (
	tableSums  = "usage_sums"
	tableState = "usage_state"
)

var stateKey = []byte("all")

func newTables(calls *table.Table[*session.UsageRow]) *tables {
	encode, decode := table.Proto[pb.Sums]()
	encodeState, decodeState := table.Proto[pb.State]()
	return &tables{calls: calls,
		sums:  table.New(table.Options[*pb.Sums]{Name: tableSums, Encode: encode, Decode: decode, Key: func(*pb.Sums) []byte { return nil }}),
		state: table.New(table.Options[*pb.State]{Name: tableState, Encode: encodeState, Decode: decodeState, Key: func(*pb.State) []byte { return stateKey }})}
}

func quarterKey(q int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(q)) }

// sumsRow is the row of a quarter.
func (t *tables) sumsRow(q int64, s sums) journal.Row {
	out := &pb.Sums{}
	for _, l := range slices.SortedFunc(maps.Keys(s), compareLines) {
		v := s[l]
		out.Sums = append(out.Sums, &pb.Sum{Model: l.model, Role: l.role, Source: l.source, Calls: v.calls, PromptTokens: v.prompt, CompletionTokens: v.completion,
			PricedCalls: v.priced, CostNano: int64(v.cost)})
	}
	row := t.sums.Put(out)
	row.Key = quarterKey(q)
	return row
}

func compareLines(a, b line) int {
	return cmp.Or(cmp.Compare(a.model, b.model), cmp.Compare(a.role, b.role), cmp.Compare(a.source, b.source))
}

func eachSum(p *pb.Sums, fn func(line, tally)) {
	for _, x := range p.Sums {
		fn(line{x.Model, x.Role, x.Source}, tally{x.Calls, x.PromptTokens, x.CompletionTokens, x.PricedCalls, msg.USD(x.CostNano)})
	}
}
