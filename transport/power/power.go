// Package power owns the reading of what the computer runs on: mains or battery, and how full the battery is. Linux is read
// from /sys/class/power_supply, macOS from pmset, Windows from its power status; elsewhere, and when nothing can be read, the
// computer counts as plugged in.
package power

import (
	"context"
	"strconv"
	"strings"
)

// Reading is what the computer runs on.
type Reading struct {
	OnBattery bool
	Percent   int // of the battery, 0 to 100; Unknown when there is none or it cannot be read
}

// Unknown is the Percent of a level that is not known.
const Unknown = -1

// mains is a computer that is plugged in, or of which nothing is known.
var mains = Reading{Percent: Unknown}

// debugVariable fakes the reading, for tests and debugging only.
const debugVariable = "SENTIENT_DEBUG_BATTERY"

// Reader reads the power. The zero value reads this computer's.
type Reader struct {
	Getenv func(string) string // nil: nothing is faked
	Dir    string              // Linux: stands for /sys/class/power_supply when set
}

// Read never fails: what cannot be read counts as plugged in. It may take some time, so it is not for a mailbox.
func (r Reader) Read(ctx context.Context) Reading {
	if r.Getenv != nil {
		if faked, ok := parseDebug(r.Getenv(debugVariable)); ok {
			return faked
		}
	}
	return r.system(ctx)
}

// parseDebug reads "ac", "battery" (on battery, level unknown) or a percent (on battery at that level). Anything else fakes
// nothing.
func parseDebug(s string) (Reading, bool) {
	switch s = strings.ToLower(strings.TrimSpace(s)); s {
	case "":
		return mains, false
	case "ac":
		return mains, true
	case "battery":
		return Reading{OnBattery: true, Percent: Unknown}, true
	}
	n, err := strconv.Atoi(strings.TrimSuffix(s, "%"))
	if err != nil || n < 0 || n > 100 {
		return mains, false
	}
	return Reading{OnBattery: true, Percent: n}, true
}

// parsePmset reads the answer of macOS's `pmset -g batt`:
//
//	Now drawing from 'Battery Power'
//	 -InternalBattery-0 (id=1234)	87%; discharging; 4:12 remaining present: true
func parsePmset(out string) Reading {
	r := Reading{OnBattery: strings.Contains(out, "'Battery Power'"), Percent: Unknown}
	for _, line := range strings.Split(out, "\n") {
		if !strings.Contains(line, "Battery-") {
			continue
		}
		before, _, found := strings.Cut(line, "%")
		if !found {
			continue
		}
		if n, err := strconv.Atoi(before[strings.LastIndexAny(before, " \t)")+1:]); err == nil && n >= 0 && n <= 100 {
			r.Percent = n
			break
		}
	}
	return r
}
