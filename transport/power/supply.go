package power

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// supply is one entry of Linux's /sys/class/power_supply, its files as text
// (Documentation/ABI/testing/sysfs-class-power).
type supply struct {
	kind     string // Mains, USB, Battery, UPS, ...
	scope    string // Device: the battery of a mouse or a phone, not of the computer
	status   string // of a battery: Discharging, Charging, Full, Not charging, Unknown
	online   bool   // of a charger
	percent  int    // Unknown when not said
	capacity int64  // of a battery when full, in its own unit; 0 unknown
}

// readSupplies reads a folder of supplies; one that cannot be read is left out.
func readSupplies(dir string) []supply {
	names, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var all []supply
	for _, n := range names {
		get := func(file string) string { return firstLine(filepath.Join(dir, n.Name(), file)) }
		s := supply{kind: get("type"), scope: get("scope"), status: get("status"), online: get("online") != "" && get("online") != "0", percent: Unknown}
		if p, err := strconv.Atoi(get("capacity")); err == nil && p >= 0 && p <= 100 {
			s.percent = p
		}
		if get("present") == "0" || s.kind == "" {
			continue
		}
		for _, file := range []string{"energy_full", "charge_full"} {
			if c, err := strconv.ParseInt(get(file), 10, 64); err == nil && c > 0 && c < 1<<40 {
				s.capacity = c
				break
			}
		}
		all = append(all, s)
	}
	return all
}

func firstLine(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return strings.TrimSpace(line)
}

// sum is on battery when a battery of the computer discharges and no charger is online. A charger too weak for the moment is
// still a charger.
func sum(all []supply) Reading {
	r := mains
	charger, drains := false, false
	var full, left float64
	weighed := true
	var batteries []supply
	for _, s := range all {
		switch s.kind {
		case "Battery", "UPS":
			if s.scope == "Device" {
				continue
			}
			drains = drains || s.status == "Discharging"
			if s.percent != Unknown {
				batteries = append(batteries, s)
				weighed = weighed && s.capacity > 0
			}
		default:
			charger = charger || s.online
		}
	}
	for _, b := range batteries {
		weight := 1.0
		if weighed {
			weight = float64(b.capacity)
		}
		full += weight
		left += weight * float64(b.percent)
	}
	if full > 0 {
		r.Percent = int(left / full)
	}
	r.OnBattery = drains && !charger
	return r
}
