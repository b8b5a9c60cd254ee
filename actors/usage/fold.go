package usage

import (
	"context"

	"google.golang.org/protobuf/proto"

	"sentient/actors/count"
	session "sentient/proto/session"
	pb "sentient/proto/usage"
	"sentient/storage/journal"
	"sentient/storage/table"
)

// fold is what a stretch of the log adds to the sums.
type fold struct {
	upto  uint64 // the newest note looked at
	fresh buckets
	rows  []*session.UsageRow // calls that no table holds yet
	more  bool                // there are notes behind upto
}

// foldSlice bounds one visit to the log.
const foldSlice = 2000

// foldAfter reads the log behind after, at most limit notes (0: all).
func (v *view) foldAfter(after uint64, limit int) (fold, error) {
	f := fold{upto: after, fresh: buckets{}}
	n := 0
	for e, err := range v.Log(after) {
		if err != nil {
			return f, err
		}
		if n++; limit > 0 && n > limit {
			f.more = true
			break
		}
		f.upto = e.Seq
		if r, ok := count.Read(e); ok {
			f.take(v.billing, r)
		}
	}
	return f, nil
}

func (f *fold) take(billing billingOf, r *session.UsageRow) {
	l, t := billing.counted(r)
	f.fresh.add(quarter(r.At), l, t)
	if r.Unkept {
		r = proto.CloneOf(r)
		r.Unkept = false
		f.rows = append(f.rows, r)
	}
}

// change is the rows of a fold: the sums of the quarters it touches, the calls it keeps, and how far it got.
func (v *view) change(f fold) (rows []journal.Row, next *pb.State, err error) {
	for q, fresh := range f.fresh {
		old, ok, err := v.t.sums.Get(v, quarterKey(q))
		if err != nil {
			return nil, nil, err
		}
		if ok {
			eachSum(old, fresh.add)
		}
		rows = append(rows, v.t.sumsRow(q, fresh))
	}
	for _, r := range f.rows {
		rows = append(rows, v.t.calls.Put(r))
	}
	next = proto.CloneOf(v.state)
	next.Folded = f.upto
	return append(rows, v.t.state.Put(next)), next, nil
}

// lost says whether notes behind after are no longer in the log.
func (v *view) lost(after uint64) bool {
	oldest := v.Oldest()
	return oldest > after+1
}

// rebuild makes all sums anew from the calls themselves, which is needed when the log no longer reaches back to what the sums
// hold. It reads every call, so it runs beside the mailbox.
func (v *view) rebuild(ctx context.Context) (fold, error) {
	f, err := v.foldAfter(0, 0)
	if err != nil {
		return f, err
	}
	f.fresh = buckets{} // what is in the log is in the table as well, but for what the fold keeps
	fresh := f.rows[:0]
	for _, r := range f.rows {
		if _, ok, err := v.t.calls.Get(v, []byte(r.Id)); err != nil {
			return f, err
		} else if ok { // an earlier fold kept it
			continue
		}
		fresh = append(fresh, r)
		l, t := v.billing.counted(r)
		f.fresh.add(quarter(r.At), l, t)
	}
	f.rows = fresh
	n := 0
	for r, err := range v.t.calls.Scan(v, table.Query{}) {
		if err != nil {
			return f, err
		}
		if n++; n%1000 == 0 && ctx.Err() != nil {
			return f, ctx.Err()
		}
		l, t := v.billing.counted(r)
		f.fresh.add(quarter(r.At), l, t)
	}
	return f, nil
}

// replace is the rows of a rebuilt fold; they come after all sums were deleted.
func (v *view) replace(f fold) (rows []journal.Row, next *pb.State) {
	for q, s := range f.fresh {
		rows = append(rows, v.t.sumsRow(q, s))
	}
	for _, r := range f.rows {
		rows = append(rows, v.t.calls.Put(r))
	}
	next = proto.CloneOf(v.state)
	next.Folded = f.upto
	return append(rows, v.t.state.Put(next)), next
}
