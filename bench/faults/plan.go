package faults

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// What a message makes the scripted model do. The first group is the engine's daily work, the second a provider's faults.
const (
	doSay    = "say"    // words
	doWrite  = "write"  // a change whose tool takes a while after its effect
	doSend   = "send"   // a public post: asked for, then an undo window
	doBoth   = "both"   // two changes in one reply
	doLook   = "look"   // a read, then words
	doRepeat = "repeat" // two changes, one after the other

	doStall   = "stall"
	doGarble  = "garble"
	doCut     = "cut"
	doFlood   = "flood"
	doFail    = "fail"
	doLimited = "limited"

	doPanic = "panic" // a tool that panics after its effect
	doChild = "child" // a tool whose child process ignores signals
)

// A step is one thing a client does after a wait.
type step struct {
	wait   time.Duration
	kind   string // send, steer, post (REST), cancel
	id     string // of the message, unique in the run
	do     string
	expect bool // waits for the acknowledgement before the next step
}

// text is the message as the person writes it; the model reads it back.
func (s step) text() string { return fmt.Sprintf("Please go on [%s %s]", s.id, s.do) }

// plan is the script of a round.
type plan struct {
	seed  uint64
	chats [][]step
	after time.Duration // when the fault comes
	aim   string        // for kills: ack, effect or any
	dice  uint64        // randomness of the fault itself
}

// scriptedChats is how many chats follow a script in a round; one more does quiet work beside them.
const scriptedChats = 3

// draw makes the plan of a round: the same seed, scenario and round give the same plan.
func draw(seed uint64, s scenario, round int) plan {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%d", s.name, round)
	r := rand.New(rand.NewPCG(seed, h.Sum64()))
	p := plan{seed: seed, after: time.Duration(100+r.IntN(1400)) * time.Millisecond, aim: []string{"ack", "ack", "effect", "effect", "any"}[r.IntN(5)], dice: r.Uint64()}
	for c := range scriptedChats {
		var steps []step
		for i := range 3 + r.IntN(4) {
			steps = append(steps, drawStep(r, s, fmt.Sprintf("%s-%d-%d-%d", s.name, round, c, i)))
		}
		p.chats = append(p.chats, steps)
	}
	return p
}

func drawStep(r *rand.Rand, s scenario, id string) step {
	st := step{wait: time.Duration(r.IntN(250)) * time.Millisecond, id: id, expect: r.IntN(3) > 0}
	switch n := r.IntN(20); {
	case n < 11:
		st.kind = "send"
	case n < 15:
		st.kind = "steer"
	case n < 18:
		st.kind = "post"
	default:
		st.kind = "cancel"
	}
	daily := []string{doSay, doSay, doWrite, doWrite, doSend, doBoth, doLook, doRepeat}
	st.do = daily[r.IntN(len(daily))]
	if len(s.verbs) > 0 && r.IntN(2) == 0 {
		st.do = s.verbs[r.IntN(len(s.verbs))]
	}
	return st
}

// allowed is how the person answers a question about a call: by its id, so that the same call always gets the same answer.
func allowed(call string) bool { return dice(call)%4 != 0 }

// dice is a number that only depends on s.
func dice(s string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(s)) // it never fails
	return h.Sum32()
}
