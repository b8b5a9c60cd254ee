package session

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// step is one thing that a person, a client or the world does to a chat.
type step struct {
	Do   string
	Tag  int           // of a message: its number; of "again", "answer" and "undo": which earlier one; of "killwrite": after how many writes
	Text string        // what a message asks for, a title
	With string        // an attachment, a decision, an action; of a cut: "quiet" does it only where nothing is in flight
	ID   bool          // the message has a client_id
	D    time.Duration // of a wait, and how long a person thinks before "react"
}

func (s step) String() string {
	b := strings.Builder{}
	fmt.Fprintf(&b, "{Do: %q", s.Do)
	if s.Tag != 0 {
		fmt.Fprintf(&b, ", Tag: %d", s.Tag)
	}
	if s.Text != "" {
		fmt.Fprintf(&b, ", Text: %q", s.Text)
	}
	if s.With != "" {
		fmt.Fprintf(&b, ", With: %q", s.With)
	}
	if s.ID {
		b.WriteString(", ID: true")
	}
	if s.D != 0 {
		fmt.Fprintf(&b, ", D: %d", s.D)
	}
	return b.String() + "},"
}

func printed(steps []step) string {
	var b strings.Builder
	for _, s := range steps {
		fmt.Fprintf(&b, "\t%v\n", s)
	}
	return b.String()
}

// kind is one kind of step: how often it comes, what it is made of, and what it does. A new one is one line here.
type kind struct {
	do     string
	weight int
	make   func(r *rand.Rand, s *step)
	act    func(p *player, s step) string // the answer, as it is compared
}

var kinds []kind

func init() { // the players of the steps use the table
	kinds = []kind{
		{"send", 7, func(r *rand.Rand, s *step) {
			s.Text, s.ID = someWishes(r), r.IntN(2) == 0
			s.With = pick(r, "", "", "", "", "f.txt", "screens/s.png")
		}, (*player).send},
		{"steer", 3, func(r *rand.Rand, s *step) { s.Text, s.ID = someWishes(r), r.IntN(2) == 0 }, (*player).steer},
		{"again", 2, func(r *rand.Rand, s *step) { s.Tag = 1 + r.IntN(s.Tag) }, (*player).again},
		{"cancel", 2, nil, (*player).cancel},
		{"answer", 6, func(r *rand.Rand, s *step) {
			s.Tag = pick(r, 0, 0, 0, 0, 1, 99)
			s.With = pick(r, "allow", "allow", "allow_session", "allow_always", "deny", "perhaps")
		}, (*player).answer},
		{"react", 8, func(r *rand.Rand, s *step) {
			s.D = time.Duration(r.Int64N(int64(1500*time.Millisecond))) + 1
			s.With = pick(r, "allow", "allow", "allow", "allow_session", "allow_session", "deny", "perhaps")
		}, (*player).react},
		{"undo", 4, func(r *rand.Rand, s *step) {
			s.Tag, s.With = pick(r, 0, 0, 0, 1, 99), pick(r, "undo", "send_now", "send_now")
		}, (*player).undo},
		{"wait", 14, func(r *rand.Rand, s *step) { s.D = someTime(r) }, nil},
		{"patch", 1, func(r *rand.Rand, s *step) { s.Text = pick(r, "", "A title", "Another title") }, (*player).patch},
		{"trust", 1, func(r *rand.Rand, s *step) { s.Tag = r.IntN(2) }, (*player).trust},
		{"stopAll", 1, nil, (*player).stopAll},
		{"resume", 2, nil, (*player).resume},
	}
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func someWishes(r *rand.Rand) string {
	var w []string
	for range pick(r, 0, 1, 1, 1, 2, 2, 3) {
		w = append(w, "#"+pick(r, wishNames...))
	}
	return strings.Join(w, " ")
}

// someTime is short, long enough for a reply, or longer than all that a chat waits for; odd to the nanosecond.
func someTime(r *rand.Rand) time.Duration {
	high := pick(r, 300*time.Millisecond, time.Second, 2*time.Second, 4*time.Second, 15*time.Second, 25*time.Minute)
	return time.Duration(r.Int64N(int64(high))) + 1
}

// someScript starts with a message; the steps that follow have n messages at most about half as many as they are.
func someScript(r *rand.Rand, n int) []step {
	total := 0
	for _, k := range kinds {
		total += k.weight
	}
	script := []step{{Do: "send", Tag: 1, Text: someWishes(r), ID: true}}
	messages := 1
	for len(script) < n {
		at := r.IntN(total)
		for _, k := range kinds {
			if at -= k.weight; at >= 0 {
				continue
			}
			s := step{Do: k.do}
			switch k.do {
			case "send", "steer":
				messages++
				s.Tag = messages
			case "again":
				s.Tag = messages
			}
			if k.make != nil {
				k.make(r, &s)
			}
			script = append(script, s)
			break
		}
	}
	return script
}

// insert puts extra steps between those of a script: each gap gets one with the probability.
func insert(r *rand.Rand, script []step, p float64, extra func() step) (out []step) {
	for _, s := range script {
		out = append(out, s)
		if r.Float64() < p {
			out = append(out, extra())
		}
	}
	return out
}

// inWait puts a step into the middle of a random wait, so that what is in flight is cut; without one it comes last.
func inWait(r *rand.Rand, script []step, extra step) (out []step) {
	var waits []int
	for i, s := range script {
		if s.Do == "wait" && s.D < 20*time.Second {
			waits = append(waits, i)
		}
	}
	if len(waits) == 0 {
		return append(script, extra)
	}
	i := pick(r, waits...)
	first, rest := script[i], script[i]
	first.D = 1 + time.Duration(r.Int64N(int64(rest.D)))
	rest.D -= first.D - 1
	out = append(out, script[:i]...)
	out = append(out, first, extra, rest)
	return append(out, script[i+1:]...)
}

// splitWaits makes each wait several that take as long together.
func splitWaits(r *rand.Rand, script []step) (out []step) {
	for _, s := range script {
		for s.Do == "wait" && s.D > 1 && r.IntN(3) > 0 {
			part := s
			part.D = 1 + time.Duration(r.Int64N(int64(s.D)-1))
			s.D -= part.D
			out = append(out, part)
		}
		out = append(out, s)
	}
	return out
}

// without leaves out the steps of some kinds.
func without(script []step, drop func(step) bool) (out []step) {
	for _, s := range script {
		if !drop(s) {
			out = append(out, s)
		}
	}
	return out
}

func isCut(s step) bool {
	return slices.Contains([]string{"restart", "kill", "killwrite", "idle", "full", "room"}, s.Do)
}

// isHalt: it reaches every chat, not only that of its script.
func isHalt(s step) bool { return s.Do == "stopAll" || s.Do == "resume" }

func isExtra(s step) bool { return s.With == "extra" }

// shrink drops steps, in ever smaller pieces, as long as what is left still fails and there is time.
func shrink(script []step, problem string, until time.Time, fails func([]step) string) ([]step, string) {
	for size := len(script) / 2; size > 0; {
		smaller := false
		for i := 0; i+size <= len(script) && time.Now().Before(until); {
			try := append(append([]step{}, script[:i]...), script[i+size:]...)
			if p := fails(try); p != "" {
				script, problem, smaller = try, p, true
			} else {
				i += size
			}
		}
		if !smaller || size > 1 {
			size /= 2
		}
	}
	return script, problem
}

// newRand draws what a script does not say, the same for the same script.
func newRand(script []step) *rand.Rand { return rand.New(rand.NewPCG(uint64(len(script)), 5)) }
