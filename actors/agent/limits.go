package agent

import (
	"crypto/sha256"
	"fmt"

	"sentient/actors/msg"
)

// repeats is the loop breaker: how often the same call came to the same result.
type repeats map[[32]byte]*repeat

type repeat struct {
	tool   string
	result [32]byte
	n      int
	nudged bool
}

func (r repeats) add(s Settled) {
	key := sha256.Sum256([]byte(s.Call.Name + "\x00" + canonical(s.Call.Arguments)))
	result := sha256.Sum256([]byte(s.Outcome.Content))
	e := r[key]
	if e == nil || e.result != result {
		e = &repeat{tool: s.Call.Name, result: result}
		r[key] = e
	}
	e.n++
}

// worst is the call that reached the limit most often, of several the first by name: the same turn always ends in the same words.
// n is 0 when none did.
func (r repeats) worst(limit int) (tool string, n int) {
	for _, e := range r {
		reached := e.n >= limit
		if e.nudged {
			reached = e.n > limit
		}
		if limit > 0 && reached && (e.n > n || e.n == n && e.tool < tool) {
			tool, n = e.tool, e.n
		}
	}
	return tool, n
}

func (r repeats) nudged() bool {
	for _, e := range r {
		if e.nudged {
			return true
		}
	}
	return false
}

func (r repeats) nudge() {
	for _, e := range r {
		e.nudged = true
	}
}

func (s spent) over(b Budget) string {
	switch {
	case b.MaxTokens > 0 && s.tokens >= b.MaxTokens:
		return fmt.Sprintf("Stopped after using %s tokens without finishing.", thousands(s.tokens))
	case b.MaxCostUSD > 0 && s.cost >= msg.DollarsOf(b.MaxCostUSD):
		return "Stopped after spending about " + s.cost.String() + " on the model without finishing."
	}
	return ""
}

func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// What the engine itself says in a reply or to a model.
const (
	emptyNudge    = "Your last answer was empty. Call a tool or answer now."
	emptyReply    = "The model gave no answer. Ask again, or pick another model in Settings > Models."
	noToolsNote   = "%s can't use tools, so it answers without them."
	repeatNudge   = "You made the same call again and it gave the same result. Try something else, or answer with what you have."
	stoppedCall   = "Not done: the user stopped this reply before this ran."
	stoppedChange = "The user stopped this reply while this was being done, so it is not known whether it went through. Check before doing it again."
	// InterruptedCall and InterruptedChange are the results of calls that a crash of the engine left open.
	InterruptedCall   = "Not done: Sentient stopped before this finished."
	InterruptedChange = "Sentient stopped while doing this, so it is not known whether it went through. Check before doing it again."
)

func stepLimit(rounds int) string {
	return fmt.Sprintf("I've used all %d steps I have for one reply and I'm not finished. Say \"continue\" and I'll carry on from here.", rounds)
}

func repeatReply(tool string, n int) string {
	return fmt.Sprintf("I stopped because I kept repeating the same step: %s ran %d times with the same details and got the same result each time. Tell me what to do differently.", tool, n)
}
