package outcome

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"sentient/actors/msg"
)

// Settle ends the checks of a run or reply, oldest first: a failure that a later good call of the same tool covers is settled,
// and every other one gets a message, worded from what the final answer claims. A failure that names nothing is settled only by
// the very next call of its tool, when that worked.
func Settle(checks []msg.OutcomeCheck, answer string) []msg.OutcomeCheck {
	out := slices.Clone(checks)
	for i := range out {
		c := &out[i]
		c.Settled, c.Message = false, ""
		if c.OK {
			continue
		}
		if c.Settled = settledBy(*c, out[i+1:]); !c.Settled {
			c.Message = message(*c, answer)
		}
	}
	return out
}

func settledBy(c msg.OutcomeCheck, later []msg.OutcomeCheck) bool {
	open := slices.Clone(c.Missed)
	for _, l := range later {
		if l.Tool != c.Tool {
			continue
		}
		if len(c.Missed) == 0 {
			return l.OK
		}
		open = slices.DeleteFunc(open, func(m string) bool { return reached(l, m) })
		if len(open) == 0 {
			return true
		}
	}
	return false
}

// reached: a later call acted on the same thing, and did not miss it.
func reached(l msg.OutcomeCheck, target string) bool {
	has := func(list []string) bool {
		return slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(strings.TrimSpace(s), strings.TrimSpace(target)) })
	}
	return has(l.Targets) && !has(l.Missed) && (l.OK || len(l.Missed) > 0)
}

// claims are words with which an answer says that a kind of thing was done, and how that is told.
var claims = map[string]struct {
	words    []string
	did, try string
}{
	Email:   {[]string{"sent", "emailed", "replied", "forwarded", "mailed"}, "sent the email", "send the email"},
	Message: {[]string{"sent", "posted", "messaged", "replied", "shared"}, "sent the message", "send the message"},
	File:    {[]string{"wrote", "written", "saved", "created", "updated", "stored"}, "wrote the file", "write the file"},
	Event:   {[]string{"created", "added", "scheduled", "booked", "saved", "put"}, "saved the event", "save the event"},
	Home:    {[]string{"turned", "switched", "locked", "unlocked", "opened", "closed", "set", "armed", "disarmed", "activated", "dimmed"}, "did it", "do it"},
	"":      {[]string{"done", "did", "finished", "completed", "sent", "created", "added", "updated", "saved", "removed", "deleted", "set", "ordered", "bought", "moved"}, "did it", "do it"},
}

func message(c msg.OutcomeCheck, answer string) string {
	kind := ""
	if c.Kind != nil {
		kind = *c.Kind
	}
	k, ok := claims[kind]
	if !ok {
		k = claims[""]
	}
	why := strings.TrimRight(c.Detail, ". ")
	if why == "" {
		why = "it did not work"
	}
	if claimed(answer, k.words) {
		return fmt.Sprintf("Sentient said it %s, but %s.", k.did, why)
	}
	return fmt.Sprintf("Sentient tried to %s, but %s.", k.try, why)
}

// claimed: a sentence of the answer says that it was done, and not that it was not.
func claimed(answer string, ws []string) bool {
	for _, s := range strings.FieldsFunc(strings.ToLower(answer), func(r rune) bool { return r == '.' || r == '!' || r == '\n' || r == ';' }) {
		found, denied := false, false
		for _, w := range strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' && r != '’' }) {
			w = strings.ReplaceAll(w, "’", "'")
			found = found || slices.Contains(ws, w)
			denied = denied || slices.Contains([]string{"not", "couldn't", "can't", "cannot", "didn't", "wasn't", "weren't", "unable", "failed", "tried", "hasn't", "haven't", "won't", "isn't", "no"}, w)
		}
		if found && !denied {
			return true
		}
	}
	return false
}
