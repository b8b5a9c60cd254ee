// Package policy is the one gate in front of every tool. It decides in code whether a call runs, is asked about, is handed to
// the person or is refused. It is pure: facts in, a ruling out; nothing a model writes can widen it (law 5), and nothing is
// decided elsewhere. The gate is asked when a call is made and again right before it runs, on what will really run.
//
// Its sub-rooms find the facts: words (what the person's own words ask for), look (the second look), preview (what a call
// would do, as a person reads it), outcome (what it really did).
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
	Surface  Surface
	Tool     string // the tool's name
	ToolName string // for people
	Plugin   string
	App      string // its plugin's display name
	Risk     msg.Risk
	Raised   bool // a per-call risk function raised it
	Internal bool
	Deletes  bool   // it deletes, or moves to the trash
	Label    string // approval wording, such as "Purchase"

	Mode      string // of a task whose plan was approved: off; of one that is set to ask first: ask
	Rule      string // the tool's own rule, else its plugin's, else ""
	RuleOfApp bool   // Rule is the plugin's
	AskedFor  bool   // the person's own words in this turn ask for the call
	ReadOnly  bool   // the connection is Read only
	Weighed   bool   // an undecided rule proposal, or a check that still runs, covers the tool in this chat

	Unprompted    bool // nobody asked for this work
	FreePurchases bool // browser.confirm_purchases is off

	Remember       bool // "Allow for this chat" counts
	NoSessionAllow bool // the tool asks every time
	HasAllowed     bool
	Allowed        msg.Risk // with HasAllowed: what this chat allows the tool
	Granted        bool     // a task or timed grant covers the tool at this risk

	Untrusted   string // the app whose content this run read, "" none
	SendsOut    bool   // the call can move data out
	CarriesData bool   // it loads an address on an unvisited host that could carry data
	Host        string
	Warning     string // what the second look found, "" nothing

	Approved *Approval // what a person said yes to, for this very call
}

// Approval is what a yes was given to. It covers the call only while that is what will run.
type Approval struct {
	Risk      msg.Risk
	Label     string
	Untrusted bool // it was asked because of outside content
	Warned    bool // it was asked because of a second look
}

// Ruling is what happens to a call.
type Ruling struct {
	Do        Deed
	Refusal   string   // with Refuse: what the model reads
	Held      bool     // with Refuse: a person's yes would let it run (LoopResult.needs_ok)
	EndsRun   bool     // with Refuse: the run fails with Refusal (a swarm worker at a rule, A-082)
	Choices   []string // with Ask
	Untrusted string   // with Ask: the sentence about outside content
	Warning   string   // with Ask: what the second look found
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

// Judge rules on one call. The order is the contract's: what no yes can lift (never, Read only, unprompted work, the limits of
// helpers and scripts), hand-offs, then the reasons to ask, then what lets it run.
func Judge(f Facts) Ruling {
	if no := f.forbidden(); no != "" {
		return Ruling{Do: Refuse, Refusal: no}
	}
	if f.Rule == RuleHandOff && f.Risk > msg.RiskRead {
		return f.handedOver()
	}
	if no := f.outOfReach(); no != "" {
		return Ruling{Do: Refuse, Refusal: no}
	}
	r := f.needsYes()
	if r.Do != Ask || f.covered(r) {
		return Ruling{Do: Run}
	}
	if !f.Surface.asks() {
		return f.cannotAsk(r)
	}
	return r
}

// forbidden is what no answer, grant or mode lifts, on any surface.
func (f Facts) forbidden() string {
	switch {
	case f.Rule == RuleNever:
		return fmt.Sprintf("You've set Sentient to never use %s. Change this in Settings > Approvals & safety.", f.subject())
	case f.ReadOnly && f.Risk > msg.RiskRead:
		return fmt.Sprintf("%s is set to Read only, so Sentient can look things up there but can't change, send or delete anything. %q was not done. Change this in Integrations.", f.App, f.ToolName)
	case f.Unprompted && !f.unpromptedAllows():
		return fmt.Sprintf("Nobody asked for this work, so Sentient can only look things up. %s was not done. If it would help, suggest it to the user instead.", f.Tool)
	}
	return ""
}

// unpromptedAllows: look-ups, and writes inside the engine but for tasks.
func (f Facts) unpromptedAllows() bool {
	return f.Risk == msg.RiskRead || f.Internal && f.Risk == msg.RiskWrite && f.Plugin != "tasks"
}

func (f Facts) handedOver() Ruling {
	switch f.Surface {
	case Script:
		return Ruling{Do: Refuse, Refusal: fmt.Sprintf("%s is set to \"Hand it to me\", so a script can't do it. Call %s directly instead, and Sentient hands it to the user.", f.subject(), f.Tool)}
	case Helper:
		return Ruling{Do: Refuse, Refusal: helperRefusal(f.Tool)}
	}
	return Ruling{Do: HandOff}
}

// subject names what a rule is about: the app for an app's rule, else the tool in its app.
func (f Facts) subject() string {
	if f.RuleOfApp {
		return f.App
	}
	return fmt.Sprintf("%q in %s", f.ToolName, f.App)
}
