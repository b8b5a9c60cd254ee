package policy

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"sentient/actors/msg"
)

var update = flag.Bool("update", false, "write testdata/matrix.txt anew")

// TestMatrix pins the gate's answer for every combination of surface, rule, mode, risk, taint and grant. A change of it is a
// change of what the product may do to its owner: read the difference line by line before you take it (go test -update).
func TestMatrix(t *testing.T) {
	got := matrix()
	if *update {
		if err := os.WriteFile("testdata/matrix.txt", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/matrix.txt")
	if err != nil {
		t.Fatal(err)
	}
	have, pinned := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range max(len(have), len(pinned)) {
		var h, p string
		if i < len(have) {
			h = have[i]
		}
		if i < len(pinned) {
			p = pinned[i]
		}
		if h != p {
			t.Errorf("line %d\nhave %s\nwant %s", i+1, h, p)
		}
	}
}

func matrix() string {
	var b strings.Builder
	b.WriteString("R runs, A asks with every answer, a asks for this call only, H hands it over, x refuses, h holds for a yes elsewhere, E ends the run\n")
	b.WriteString("each cell: no grant, allowed in the chat, granted; then the same after outside content; then with a second look's warning\n")
	fmt.Fprintf(&b, "%-10s %-9s %-7s %s\n", "surface", "rule", "mode", "read        write       send        exec")
	for s := range surfaces {
		for _, rule := range levels {
			for _, mode := range []string{ModeOff, ModeAsk, ModeAlways} {
				fmt.Fprintf(&b, "%-10s %-9s %-7s", s, rule, mode)
				for risk := msg.RiskRead; risk <= msg.RiskExec; risk++ {
					b.WriteString(" " + cell(s, rule, mode, risk))
				}
				b.WriteString("\n")
			}
		}
	}
	return b.String()
}

func cell(s Surface, rule, mode string, risk msg.Risk) string {
	var parts []string
	for taint := range 3 {
		var c strings.Builder
		for grant := range 3 {
			f := Facts{Surface: s, Tool: "t", ToolName: "T", App: "A", Risk: risk, Mode: mode, Rule: rule, Remember: true, SendsOut: risk >= msg.RiskSend,
				HasAllowed: grant == 1, Allowed: msg.RiskExec, Granted: grant == 2}
			switch taint {
			case 1:
				f.Untrusted = "Web"
			case 2:
				f.Warning = "w"
			}
			c.WriteString(letter(Judge(f)))
		}
		parts = append(parts, c.String())
	}
	return strings.Join(parts, "/")
}

func letter(r Ruling) string {
	switch {
	case r.Do == Run:
		return "R"
	case r.Do == HandOff:
		return "H"
	case r.Do == Ask && len(r.Choices) == 2:
		return "a"
	case r.Do == Ask:
		return "A"
	case r.EndsRun:
		return "E"
	case r.Held:
		return "h"
	}
	return "x"
}
