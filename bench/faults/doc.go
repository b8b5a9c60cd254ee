// Package faults owns the fault runs: it starts the real engine with a pretend world to act on, lets several chats follow a
// random script while things go wrong around them, and then asks an independent checker whether the engine kept its word.
//
// A scenario is one line of the table in scenarios.go: what goes wrong. A plan (plan.go) is drawn from a seed alone: who says what,
// when, and when the fault comes; so a seed repeats its script, though not the machine's timing. The book (book.go) is the
// checker's own record of what was promised, made from the clients' side only; check.go holds it against the transcripts, the
// event log and the pretend world's list of effects.
package faults

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

// Options of a run.
type Options struct {
	Engine    string        // an engine built with the tag demo
	Dir       string        // where homes are made; "": the system's temporary folder
	Seed      uint64        // of the first round; 0: 1
	Scenarios []string      // names; none: all
	From      int           // the first round; the scripts of the others do not depend on it
	Rounds    int           // of each scenario; default 4
	For       time.Duration // no new round begins after this; 0: all rounds
	Progress  func(format string, args ...any)
}

// Validate fills the defaults and says what is wrong.
func (o *Options) Validate() error {
	if st, err := os.Stat(o.Engine); o.Engine == "" || err != nil || st.IsDir() {
		return fmt.Errorf("faults: there is no engine at %q. Build it with \"make bin/sentient-demo\"", o.Engine)
	}
	if o.Seed == 0 {
		o.Seed = 1
	}
	if o.Rounds == 0 {
		o.Rounds = 4
	}
	if o.From < 0 || o.Rounds < 0 || o.For < 0 {
		return errors.New("faults: From, Rounds and For must not be negative")
	}
	for _, name := range o.Scenarios {
		if !slices.ContainsFunc(scenarios, func(s scenario) bool { return s.name == name }) {
			return fmt.Errorf("faults: there is no scenario %q; there are %v", name, Names())
		}
	}
	if o.Progress == nil {
		o.Progress = func(string, ...any) {}
	}
	return nil
}

// Names are the scenarios, in the order they run.
func Names() (list []string) {
	for _, s := range scenarios {
		list = append(list, s.name)
	}
	return list
}
