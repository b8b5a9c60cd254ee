// Package policy decides in code whether a call may run, must be asked about, or is refused. It is pure: facts in, a ruling
// out, and no model output can widen it (law 5).
package policy

import (
	"fmt"

	"sentient/actors/msg"
)

// Levels of a lasting rule (section 2), and the approvals modes (DECISIONS 3).
const (
	RuleAllow   = "allow"
	RuleIfAsked = "if_asked"
	RuleAsk     = "ask"
	RuleHandOff = "hand_off"
	RuleNever   = "never"

	ModeOff    = "off"
	ModeAsk    = "ask"
	ModeAlways = "always"
)

// Facts are everything a ruling depends on.
type Facts struct {
	Tool     string // the tool's name
	ToolName string // for people
	App      string // its plugin's display name
	Risk     msg.Risk
	Raised   bool // a per-call risk function raised it to send or exec
	Internal bool
	Label    string // approval wording, such as "Purchase"

	Mode      string
	Rule      string // the tool's own rule, else its plugin's, else ""
	RuleOfApp bool   // Rule is the plugin's

	Unprompted bool // nobody asked for this work
	CanAsk     bool // somebody can answer
	Approved   bool // a person said yes to this very call

	Remember       bool     // "Allow for this chat" counts
	NoSessionAllow bool     // the tool asks every time
	Allowed        msg.Risk // with HasAllowed: what this chat allows the tool
	HasAllowed     bool

	Untrusted   string // the app whose content this chat read, "" none
	SendsOut    bool   // the call can move data out
	CarriesData bool   // it loads an address on an unvisited host that could carry data
	Host        string
}

// Ruling is what happens to a call.
type Ruling struct {
	Do        Deed
	Refusal   string   // with Refuse: what the model reads
	Choices   []string // with Ask
	Untrusted string   // with Ask: the sentence about outside content
	Rule      string   // with Ask: the rule that asks
}

// Deed is the kind of a ruling.
type Deed int

const (
	Refuse Deed = iota
	Run
	Ask
	HandOff
)

// Judge rules on one call. The order is the contract's: never, unprompted, hand-off, outside content, rules, mode.
func Judge(f Facts) Ruling {
	switch {
	case f.Rule == RuleNever:
		return Ruling{Do: Refuse, Refusal: fmt.Sprintf("You've set Sentient to never use %s. Change this in Settings > Approvals & safety.", f.subject())}
	case f.Unprompted && !unpromptedAllows(f):
		return Ruling{Do: Refuse, Refusal: fmt.Sprintf("Nobody asked for this work, so Sentient can only look things up. %s was not done. If it would help, suggest it to the user instead.", f.Tool)}
	case f.Rule == RuleHandOff && f.Risk > msg.RiskRead:
		return Ruling{Do: HandOff}
	case f.Approved:
		return Ruling{Do: Run}
	}
	r := f.needsYes()
	if r.Do == Ask && !f.CanAsk {
		return Ruling{Do: Refuse, Refusal: f.cannotAsk(r)}
	}
	return r
}

func unpromptedAllows(f Facts) bool {
	return f.Risk == msg.RiskRead || f.Internal && f.Risk == msg.RiskWrite
}

// subject names what a rule is about: the app for an app's rule, else the tool in its app.
func (f Facts) subject() string {
	if f.RuleOfApp {
		return f.App
	}
	return fmt.Sprintf("%q in %s", f.ToolName, f.App)
}

func (f Facts) needsYes() Ruling {
	ask := Ruling{Do: Ask, Choices: f.choices()}
	switch {
	case f.Untrusted != "" && f.SendsOut:
		ask.Untrusted = fmt.Sprintf("Sentient read content from %s in this chat, so it checks with you before sending anything.", f.Untrusted)
		ask.Choices = onlyOnce()
		return ask
	case f.Untrusted != "" && f.CarriesData:
		ask.Untrusted = fmt.Sprintf("Sentient read content from %s in this chat, and this address could carry your data to %s, so it checks with you first.", f.Untrusted, f.Host)
		ask.Choices = onlyOnce()
		return ask
	case f.Rule == RuleAsk || f.Rule == RuleIfAsked:
		ask.Rule = f.Rule
		return ask
	case f.purchase():
		return ask
	case f.Rule == RuleAllow || !f.modeAsks() || f.sessionCovers():
		return Ruling{Do: Run}
	}
	return ask
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

func (f Facts) sessionCovers() bool {
	return f.Remember && f.HasAllowed && f.Risk <= f.Allowed && !f.onceOnly()
}

func (f Facts) purchase() bool { return f.Label == "Purchase" && f.Risk >= msg.RiskSend }

// onceOnly: no yes is wider than this call.
func (f Facts) onceOnly() bool {
	return f.purchase() || f.NoSessionAllow || f.Raised && f.Risk >= msg.RiskSend || f.Risk >= msg.RiskExec
}

func (f Facts) choices() []string {
	if f.onceOnly() || !f.Remember {
		return onlyOnce()
	}
	return []string{"allow", "allow_session", "deny"}
}

func onlyOnce() []string { return []string{"allow", "deny"} }

func (f Facts) cannotAsk(r Ruling) string {
	switch {
	case r.Untrusted != "":
		return fmt.Sprintf("Not done: this run read content from %s, so %s needs the user's OK first. Nobody can be asked here, so go on without it.", f.Untrusted, f.Tool)
	case r.Rule != "":
		return fmt.Sprintf("%s is set to Ask, and this work can't stop to ask. Change it in Settings > Approvals & safety.", f.subject())
	}
	return fmt.Sprintf("Not done: %s needs the user's OK, and this work can't stop to ask.", f.Tool)
}
