package tool

import (
	"errors"
	"strings"
	"testing"

	"sentient/actors/msg"
)

// a risk function that fails counts as exec, and a failed per-call function counts as sending out.
func TestEffectiveRisk(t *testing.T) {
	fn := func(r msg.Risk, ok bool, err error) func(map[string]any, *msg.Call) (msg.Risk, bool, error) {
		return func(map[string]any, *msg.Call) (msg.Risk, bool, error) { return r, ok, err }
	}
	for name, c := range map[string]struct {
		fn   func(map[string]any, *msg.Call) (msg.Risk, bool, error)
		want msg.Risk
	}{
		"none":     {nil, msg.RiskWrite},
		"silent":   {fn(msg.RiskExec, false, nil), msg.RiskWrite},
		"lower":    {fn(msg.RiskRead, true, nil), msg.RiskRead},
		"higher":   {fn(msg.RiskSend, true, nil), msg.RiskSend},
		"fails":    {fn(msg.RiskRead, true, errors.New("x")), msg.RiskExec},
		"unknown":  {fn(9, true, nil), msg.RiskExec},
		"negative": {fn(-1, true, nil), msg.RiskExec},
		"panics":   {func(map[string]any, *msg.Call) (msg.Risk, bool, error) { panic("x") }, msg.RiskExec},
	} {
		if got := EffectiveRisk(&msg.Tool{Risk: msg.RiskWrite, RiskFn: c.fn}, nil, nil); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	out := func(v bool, err error) *msg.Tool {
		return &msg.Tool{Exfiltrates: func(map[string]any, *msg.Call) (bool, error) { return v, err }}
	}
	panics := &msg.Tool{Exfiltrates: func(map[string]any, *msg.Call) (bool, error) { panic("x") }}
	for i, c := range []struct {
		tool *msg.Tool
		risk msg.Risk
		want bool
	}{
		{&msg.Tool{}, msg.RiskWrite, false}, {&msg.Tool{}, msg.RiskSend, true}, {&msg.Tool{}, msg.RiskExec, true}, {out(true, nil), msg.RiskRead, true},
		{out(false, nil), msg.RiskWrite, false}, {out(false, errors.New("x")), msg.RiskRead, true}, {panics, msg.RiskRead, true},
	} {
		if got := SendsOut(c.tool, c.risk, nil, nil); got != c.want {
			t.Errorf("%d: %v", i, got)
		}
	}
}

// DescribeFn sets risk_label and target; without it the label follows the effective risk.
func TestDescribe(t *testing.T) {
	describe := func(d msg.Description, err error) *msg.Tool {
		return &msg.Tool{DescribeFn: func(map[string]any, *msg.Call) (msg.Description, error) { return d, err }}
	}
	for i, c := range []struct {
		tool *msg.Tool
		want msg.Description
	}{
		{&msg.Tool{}, msg.Description{RiskLabel: "Sends"}},
		{describe(msg.Description{RiskLabel: "Purchase", Target: "Place\n order\u202e"}, nil), msg.Description{RiskLabel: "Purchase", Target: "Place order"}},
		{describe(msg.Description{Target: strings.Repeat("é", 130)}, nil), msg.Description{RiskLabel: "Sends", Target: strings.Repeat("é", 119) + "…"}},
		{describe(msg.Description{RiskLabel: "X"}, errors.New("x")), msg.Description{RiskLabel: "Sends"}},
		{&msg.Tool{DescribeFn: func(map[string]any, *msg.Call) (msg.Description, error) { panic(1) }}, msg.Description{RiskLabel: "Sends"}},
	} {
		if got := Describe(c.tool, nil, nil, msg.RiskSend); got != c.want {
			t.Errorf("%d: %+v", i, got)
		}
	}
}

// exactly these plugins are trusted. Look-ups of the others bring outside content; writes,
// sends and internal tools do not.
func TestBringsUntrusted(t *testing.T) {
	for _, id := range strings.Fields("memory files skills time tasks task_questions subagents devices weather charts") {
		if !Trusted(id) {
			t.Error(id)
		}
	}
	for _, id := range strings.Fields("web internet_search gmail mcp_files news browser terminal folders") {
		if Trusted(id) {
			t.Error(id)
		}
	}
	yes, no := true, false
	for i, c := range []struct {
		plugin string
		tool   msg.Tool
		want   bool
	}{
		{"gmail", msg.Tool{Risk: msg.RiskRead}, true}, {"gmail", msg.Tool{Risk: msg.RiskWrite}, false}, {"gmail", msg.Tool{Risk: msg.RiskSend}, false},
		{"gmail", msg.Tool{Internal: true}, false}, {"memory", msg.Tool{}, false}, {"gmail", msg.Tool{Untrusted: &no}, false},
		{"subagents", msg.Tool{Risk: msg.RiskWrite, Internal: true, Untrusted: &yes}, true},
	} {
		e := Entry{Plugin: &msg.Plugin{ID: c.plugin}, Tool: &c.tool}
		if e.BringsUntrusted() != c.want {
			t.Errorf("%d", i)
		}
	}
}

// a query string, a path over 100 characters, a fragment over 40, a user name or a cut link carry data.
func TestAddressCarriesData(t *testing.T) {
	long := strings.Repeat("a", 99)
	for _, a := range []string{"https://example.com", "https://example.com/", "https://example.com/" + long, "http://example.com/a#" + long[:40], "https://example.com:8443/x?"} {
		if AddressCarriesData(a) {
			t.Errorf("%s is clean", a)
		}
	}
	for _, a := range []string{"https://example.com/?q=1", "https://example.com/a" + long, "https://example.com/#" + long[:41], "https://me@example.com/", "https://example.com/a…",
		"https://example.com/very/long...", "", "not an address", "https://", "https://%zz", "https://example.com/" + strings.Repeat("%41", 34)} {
		if !AddressCarriesData(a) {
			t.Errorf("%s carries data", a)
		}
	}
	if AddressHost("https://Example.COM.:8443/x") != "example.com" || AddressHost("::") != "" {
		t.Error("host")
	}
}
