package policy

import (
	"fmt"
	"slices"
	"time"

	"sentient/actors/msg"
)

// needsYes gives the first reason to ask, or Run. Reasons that no wider yes covers come first.
func (f Facts) needsYes() Ruling {
	ask := Ruling{Do: Ask, Choices: onlyOnce(), Warning: f.Warning}
	switch {
	case f.Untrusted != "" && f.SendsOut:
		ask.Untrusted = fmt.Sprintf("Sentient read content from %s in this chat, so it checks with you before sending anything.", f.Untrusted)
		return ask
	case f.Untrusted != "" && f.CarriesData:
		ask.Untrusted = fmt.Sprintf("Sentient read content from %s in this chat, and this address could carry your data to %s, so it checks with you first.", f.Untrusted, f.Host)
		return ask
	case f.Warning != "":
		return ask
	case f.purchase(), f.OpensHome(), f.Surface.foreign() && f.Deletes:
		return ask
	}
	ask.Choices = f.choices()
	switch {
	case f.Weighed && (f.Mode != ModeOff || f.Risk > msg.RiskRead):
		return ask
	case f.ruleAsks():
		ask.Rule = f.Rule
		if f.Granted && !f.onceOnly() {
			return Ruling{Do: Run}
		}
		return ask
	case f.Rule == RuleAllow || f.Rule == RuleIfAsked || !f.modeAsks() || f.remembered():
		return Ruling{Do: Run}
	}
	return ask
}

// ruleAsks: the rule wants a question for this call, whatever the mode and "Allow for this chat" say.
func (f Facts) ruleAsks() bool {
	return f.Rule == RuleAsk || f.Rule == RuleIfAsked && !(f.AskedFor && f.Surface.HasWords())
}

func (f Facts) modeAsks() bool {
	switch f.Mode {
	case ModeOff:
		return false
	case ModeAlways:
		return f.Risk > msg.RiskRead
	default:
		return f.Risk > msg.RiskWrite || f.Risk == msg.RiskWrite && !f.Internal
	}
}

// remembered: an earlier, wider yes covers it.
func (f Facts) remembered() bool {
	if f.onceOnly() {
		return false
	}
	return f.Granted || f.Surface.chat() && f.Remember && f.HasAllowed && f.Risk <= f.Allowed
}

// covered: the person said yes to this very call, and it is still the call they saw. A reason that was not there when they
// were asked asks again.
func (f Facts) covered(r Ruling) bool {
	a := f.Approved
	return a != nil && f.Risk <= a.Risk && (f.Label == a.Label || !f.purchase() && !f.OpensHome()) &&
		(r.Warning == "" || a.Warned) && (r.Untrusted == "" || a.Untrusted)
}

const purchaseLabel = "Purchase"

func (f Facts) purchase() bool {
	return f.Label == purchaseLabel && f.Risk >= msg.RiskSend && !f.FreePurchases
}

// OpensHomeLabels are the wordings of calls that open the user's home (section 2, ADR 0028).
var opensHomeLabels = []string{"Unlocks a door", "Turns off your alarm", "Opens a garage door or gate", "Controls a door, lock or alarm"}

// OpensHome: a hard stop, like a purchase.
func (f Facts) OpensHome() bool {
	return f.Risk >= msg.RiskSend && slices.Contains(opensHomeLabels, f.Label)
}

// Purchase says whether the label and risk are those of a purchase, however purchases are set.
func Purchase(label string, risk msg.Risk) bool {
	return label == purchaseLabel && risk >= msg.RiskSend
}

// onceOnly: no yes is wider than this call.
func (f Facts) onceOnly() bool {
	return f.purchase() || f.OpensHome() || f.NoSessionAllow || f.Raised && f.Risk >= msg.RiskSend || f.Risk >= msg.RiskExec
}

// Answers a request can offer (section 2, "Scoped answers").
const (
	Allow        = "allow"
	AllowSession = "allow_session"
	AllowTask    = "allow_task"
	AllowTimed   = "allow_timed"
	AllowAlways  = "allow_always"
	Deny         = "deny"
)

func (f Facts) choices() []string {
	switch {
	case f.onceOnly() || f.Surface.foreign():
		return onlyOnce()
	case f.Surface == Task:
		return []string{Allow, AllowTask, AllowTimed, AllowAlways, Deny}
	case !f.Remember:
		return []string{Allow, AllowTimed, AllowAlways, Deny}
	}
	return []string{Allow, AllowSession, AllowTimed, AllowAlways, Deny}
}

func onlyOnce() []string { return []string{Allow, Deny} }

// Covered says whether a grant covers a call of tool at risk, in task ("" for a chat), at now.
func Covered(grants []msg.Grant, tool, task string, risk msg.Risk, now time.Time) bool {
	for i := range grants {
		g := &grants[i]
		if g.Tool != tool || g.ExpiresAt != nil && !now.Before(g.ExpiresAt.Time) || risk > RiskOf(g.Risk) {
			continue
		}
		if g.Scope == msg.GrantTimed && g.ExpiresAt != nil || g.Scope == msg.GrantTask && task != "" && g.TaskID != nil && *g.TaskID == task {
			return true
		}
	}
	return false
}

// RiskOf reads a risk's name; an unknown one covers nothing but look-ups.
func RiskOf(name string) msg.Risk {
	for r := msg.RiskRead; r <= msg.RiskExec; r++ {
		if r.String() == name {
			return r
		}
	}
	return msg.RiskRead
}
