package usage

import (
	"fmt"
	"math/bits"
	"time"

	"google.golang.org/protobuf/proto"

	"sentient/actors/msg"
	"sentient/actors/wire"
	pb "sentient/proto/usage"
)

// Budget is the contract's BudgetState.
type Budget struct {
	MonthlyUSD msg.USD `json:"monthly_usd"`
	AtLimit    string  `json:"at_limit"` // ask, stop
	SpentUSD   msg.USD `json:"spent_usd"`
	Month      string  `json:"month"` // YYYY-MM
	Percent    float64 `json:"percent"`
	State      string  `json:"state"` // off, ok, warning, reached
	KeptGoing  bool    `json:"kept_going"`
	Message    string  `json:"message"`
}

// Limits are the settings of the budget.
type Limits struct {
	MonthlyUSD msg.USD // 0: none
	AtLimit    string  // ask, stop
}

// budgetOf is the state of a month that ends at end.
func budgetOf(l Limits, spent msg.USD, now, end time.Time, kept bool) Budget {
	b := Budget{MonthlyUSD: l.MonthlyUSD, AtLimit: l.AtLimit, SpentUSD: spent, Month: monthName(now), State: "off"}
	if l.MonthlyUSD <= 0 {
		return b
	}
	b.KeptGoing = kept && l.AtLimit != "stop" // what is set to stop now is not kept going by an earlier wish
	b.Percent = percent(spent, l.MonthlyUSD)
	until := end.Format("January 2")
	used := fmt.Sprintf("This month's model budget of %s is used up (%s spent). ", l.MonthlyUSD, spent)
	switch level := b.level(); {
	case level < 80:
		b.State = "ok"
	case level < 100:
		b.State = "warning"
		b.Message = fmt.Sprintf("You have used %s of this month's model budget of %s (%d%%). When it is used up, paid cloud models stop", spent, l.MonthlyUSD, int(b.Percent))
		switch {
		case b.KeptGoing:
			b.Message = fmt.Sprintf("You have used %s of this month's model budget of %s (%d%%). You chose to keep going when it is used up.", spent, l.MonthlyUSD, int(b.Percent))
		case l.AtLimit == "stop":
			b.Message += " until " + until + "; models on this computer and plans go on."
		default:
			b.Message += " until you choose to keep going; models on this computer and plans go on."
		}
	case b.KeptGoing:
		b.State = "reached"
		b.Message = used + "You chose to keep going, so paid cloud models go on until " + until + "."
	case l.AtLimit == "stop":
		b.State = "reached"
		b.Message = used + "Paid cloud models stop until " + until + ", or until you raise the budget in Settings > Models. Models on this computer and plans go on."
	default:
		b.State = "reached"
		b.Message = used + "Paid cloud models stop until " + until + ". Keep going this month, or raise the budget in Settings > Models. Models on this computer and plans go on."
	}
	return b
}

// level is how far the spending is: 0, 80 or 100.
func (b Budget) level() int32 {
	switch {
	case b.MonthlyUSD <= 0:
		return 0
	case b.SpentUSD >= b.MonthlyUSD:
		return 100
	case b.SpentUSD >= b.MonthlyUSD-b.MonthlyUSD/5:
		return 80
	}
	return 0
}

// percent has one decimal and is rounded down, so it says 100 only when the budget is used up.
func percent(spent, of msg.USD) float64 {
	hi, lo := bits.Mul64(uint64(spent), 1000)
	if hi >= uint64(of) {
		return 1e9
	}
	q, _ := bits.Div64(hi, lo, uint64(of))
	return float64(min(q, 1e10)) / 10
}

// refusal says why a paid model is not asked; nil when it may be.
func (b Budget) refusal(model, name string) error {
	if b.State != "reached" || b.KeptGoing {
		return nil
	}
	what := "Choose Keep going this month, raise the budget in Settings > Models, or pick a model on this computer there."
	if b.AtLimit == "stop" {
		what = "Raise the budget in Settings > Models, or pick a model on this computer there."
	}
	return &msg.ModelError{Fault: msg.FaultBudget, Model: model,
		Message: fmt.Sprintf("This month's model budget of %s is used up, so %s was not asked. %s", b.MonthlyUSD, name, what)}
}

// keptMonths is for how many months it is remembered what was told.
const keptMonths = 24

// monthIn finds a month in the state; nil when nothing happened in it yet.
func monthIn(s *pb.State, name string) *pb.Month {
	for _, m := range s.Months {
		if m.Month == name {
			return m
		}
	}
	return nil
}

// withMonth is a copy of the state that has the month.
func withMonth(s *pb.State, name string) (*pb.State, *pb.Month) {
	s = proto.CloneOf(s)
	m := monthIn(s, name)
	if m == nil {
		m = &pb.Month{Month: name}
		s.Months = append(s.Months, m)
		if len(s.Months) > keptMonths {
			s.Months = s.Months[1:]
		}
	}
	return s, m
}

// decide is what follows from the budget being as it is: the state afterwards (nil: nothing follows), and whether clients hear of
// it. A notification is decided once for each month and level; one at 100% says all that the one at 80% would have.
func decide(s *pb.State, b Budget) (next *pb.State, tell bool) {
	level := b.level()
	if m := monthIn(s, b.Month); level == 0 && (m == nil || m.Told == 0) {
		return nil, false
	}
	next, m := withMonth(s, b.Month)
	if level != m.Told {
		tell, m.Told = level > m.Told, level
	}
	switch {
	case level == 100 && !m.Reached:
		m.Reached, m.Warned = true, true
		next.Due = append(next.Due, notice(b, 100, "Model budget used up"))
	case level == 80 && !m.Warned:
		m.Warned = true
		next.Due = append(next.Due, notice(b, 80, "Model budget: 80% used"))
	}
	if proto.Equal(next, s) {
		return nil, false
	}
	return next, tell
}

func notice(b Budget, level int, title string) *pb.Notice {
	return &pb.Notice{Key: fmt.Sprintf("budget/%s/%d", b.Month, level), Title: title, Message: b.Message,
		Payload: wire.Marshal(map[string]any{"level": level, "month": b.Month, "budget": b})}
}

var (
	errNoBudget = msg.NewFault(msg.Conflict, "There is no monthly budget that could be lifted. Set one in Settings > Models first.")
	errStops    = msg.NewFault(msg.Conflict, "The monthly budget is set to stop at its limit. Raise it, or let it ask instead, in Settings > Models.")
)

// keepGoing lifts the stop for the month. Next is nil when that was so already.
func keepGoing(s *pb.State, b Budget) (next *pb.State, err error) {
	switch {
	case b.MonthlyUSD <= 0:
		return nil, errNoBudget
	case b.AtLimit == "stop":
		return nil, errStops
	}
	next, m := withMonth(s, b.Month)
	if m.KeptGoing {
		return nil, nil
	}
	m.KeptGoing = true
	return next, nil
}
