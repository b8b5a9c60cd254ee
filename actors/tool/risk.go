package tool

import (
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"sentient/actors/msg"
)

// EffectiveRisk is the risk of this very call: what the tool's RiskFn says, else the declared one. A function that fails or
// gives an unknown value counts as exec.
func EffectiveRisk(t *msg.Tool, args map[string]any, c *msg.Call) msg.Risk {
	if t.RiskFn == nil {
		return t.Risk
	}
	var risk msg.Risk
	var said bool
	err := guarded(func() (err error) {
		risk, said, err = t.RiskFn(args, c)
		return err
	})
	switch {
	case err != nil:
		return msg.RiskExec
	case !said:
		return t.Risk
	case risk < msg.RiskRead || risk > msg.RiskExec:
		return msg.RiskExec
	}
	return risk
}

const maxDescription = 120 // characters of a label or target on an approval

// Describe is the wording of an approval: what the tool says of the call, else the plain words for the effective risk
// . Both parts are one line of at most 120 characters.
func Describe(t *msg.Tool, args map[string]any, c *msg.Call, effective msg.Risk) msg.Description {
	var d msg.Description
	if t.DescribeFn != nil {
		err := guarded(func() (err error) {
			d, err = t.DescribeFn(args, c)
			return err
		})
		if err != nil {
			d = msg.Description{}
		}
	}
	d.RiskLabel, d.Target = msg.OneLine(d.RiskLabel, maxDescription), msg.OneLine(d.Target, maxDescription)
	if d.RiskLabel == "" {
		d.RiskLabel = effective.Label()
	}
	return d
}

// NeedsMemory says whether a tool uses what is known about the person: a turn without memory neither offers nor runs it
// (section 10, "Turns without memory").
func NeedsMemory(name string) bool {
	switch name {
	case "memory_recall", "memory_search_by_source", "memory_search_history", "history_semantic_search", "history_time_search", "user_model_ask", "memory_forget":
		return true
	}
	return false
}

// Trusted says whether a plugin's look-ups bring only what the engine or the person wrote (TRUSTED_PLUGINS, A-921).
func Trusted(plugin string) bool {
	switch plugin {
	case "memory", "files", "skills", "time", "tasks", "task_questions", "subagents", "devices", "weather", "charts":
		return true
	}
	return false
}

// BringsUntrusted says whether the tool's results can carry content someone else wrote: what the tool declares, else every
// look-up of a plugin that is not trusted; internal tools, writes and sends do not.
func (e Entry) BringsUntrusted() bool {
	if e.Tool.Untrusted != nil {
		return *e.Tool.Untrusted
	}
	return e.Tool.Risk == msg.RiskRead && !e.Tool.Internal && !Trusted(e.Plugin.ID)
}

// SendsOut says whether the call can move data out: effective risk send or exec, or the tool's own word. A function of the
// tool that fails counts as yes.
func SendsOut(t *msg.Tool, effective msg.Risk, args map[string]any, c *msg.Call) bool {
	if effective >= msg.RiskSend {
		return true
	}
	if t.Exfiltrates == nil {
		return false
	}
	var out bool
	err := guarded(func() (err error) {
		out, err = t.Exfiltrates(args, c)
		return err
	})
	return out || err != nil
}

// AddressCarriesData says whether loading an address could tell its host something: a query string, a path over 100
// characters, a fragment over 40, a user name, or a link that was cut short. An address that cannot be read counts.
func AddressCarriesData(address string) bool {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Host == "" {
		return true
	}
	return u.RawQuery != "" || u.User != nil ||
		utf8.RuneCountInString(u.EscapedPath()) > 100 || utf8.RuneCountInString(u.EscapedFragment()) > 40 ||
		strings.Contains(address, "…") || strings.HasSuffix(strings.TrimSpace(address), "...")
}

// AddressHost is the host an address loads from, in lower case without the port; "" when there is none.
func AddressHost(address string) string {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
}

// guarded runs a tool's own function; a panic in it is an error.
func guarded(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the tool's own check failed: %T", r)
		}
	}()
	return f()
}
