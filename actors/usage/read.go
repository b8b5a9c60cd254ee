package usage

import (
	"encoding/binary"

	"sentient/actors/count"
	"sentient/actors/msg"
	pb "sentient/proto/usage"
	"sentient/storage/journal"
	"sentient/storage/table"
)

// view is one consistent state: the sums, and the calls behind them that are not in the sums yet. So what is read is right even
// while the actor is behind, and no reader waits for it.
type view struct {
	journal.Reader
	t       *tables
	billing billingOf
	state   *pb.State
}

// view is open for readers outside the room.
func (s *Service) view() (*view, error) {
	v, err := s.open()
	return v, plainly(err)
}

func (s *Service) open() (*view, error) {
	r, err := s.o.Journal.Read()
	if err != nil {
		return nil, err
	}
	state, _, err := s.t.state.Get(r, stateKey)
	if err != nil {
		_ = r.Close()
		return nil, err
	}
	if state == nil {
		state = &pb.State{}
	}
	return &view{r, s.t, s.o.Billing, state}, nil
}

// each yields what s holds, in the order of time as far as it is summed; it reads only those rows.
func (v *view) each(s span, fn func(q int64, l line, t tally)) error {
	if err := v.folded(s, fn); err != nil {
		return err
	}
	return v.tail(s, fn)
}

func (v *view) folded(s span, fn func(q int64, l line, t tally)) error {
	for f, err := range v.t.sums.Find(v, table.Query{From: quarterKey(quarterOf(s.start))}) {
		if err != nil {
			return err
		}
		q := int64(binary.BigEndian.Uint64(f.Key))
		if !s.holds(q) {
			break
		}
		eachSum(f.Value, func(l line, t tally) { fn(q, l, t) })
	}
	return nil
}

// tail is the calls that are counted and not yet in the sums.
func (v *view) tail(s span, fn func(q int64, l line, t tally)) error {
	for e, err := range v.Log(v.state.Folded) {
		if err != nil {
			return err
		}
		if r, ok := count.Read(e); ok {
			if q := quarter(r.At); s.holds(q) {
				l, t := v.billing.counted(r)
				fn(q, l, t)
			}
		}
	}
	return nil
}

// spent is what paid models cost in s. The summed part is remembered: it changes only with the sums.
func (s *Service) spent(v *view, in span) (msg.USD, error) {
	known := s.known.Load()
	if known == nil || known.folded != v.state.Folded || !known.in.start.Equal(in.start) || !known.in.end.Equal(in.end) {
		known = &knownSpent{in: in, folded: v.state.Folded}
		err := v.folded(in, func(_ int64, _ line, t tally) { known.cost = known.cost.Plus(t.cost) })
		if err != nil {
			return 0, err
		}
		s.known.Store(known)
	}
	sum := known.cost
	err := v.tail(in, func(_ int64, _ line, t tally) { sum = sum.Plus(t.cost) })
	return sum, err
}

// moved is what is remembered of the spending once f is in the sums; nil when nothing is. It must be asked before f is changed.
func (s *Service) moved(folded uint64, f fold) *knownSpent {
	known := s.known.Load()
	if known == nil || known.folded != folded {
		return nil
	}
	next := &knownSpent{in: known.in, folded: f.upto, cost: known.cost}
	for q, sums := range f.fresh {
		if !known.in.holds(q) {
			continue
		}
		for _, t := range sums {
			next.cost = next.cost.Plus(t.cost)
		}
	}
	return next
}

type knownSpent struct {
	in     span
	folded uint64
	cost   msg.USD
}
