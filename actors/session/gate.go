package session

import (
	"maps"
	"slices"
	"strings"
	"time"

	"sentient/actors/agent"
	"sentient/actors/msg"
	"sentient/actors/policy"
	"sentient/actors/policy/preview"
	"sentient/actors/policy/words"
	"sentient/actors/tool"
	"sentient/runtime/app"
)

// gate finds the facts about a call and has policy rule on them. It holds what its chat knew at one moment; settings, grants
// and tools are taken anew each time it is made.
type gate struct {
	reg       *tool.Registry
	cfg       *app.Config
	grants    []msg.Grant
	surface   policy.Surface
	untrusted string // as it was when the model made the calls: what a call of the same round brings does not count
	visited   []string
	allowed   map[string]int32
	weighed   map[string]bool // tools and apps that an undecided proposal, or a check that still runs, covers
	granting  granting        // wide yeses of this turn that are on their way to where they are kept
	words     []string        // the person's own, of this turn
	now       time.Time
}

// gate of this chat, for calls of its running turn.
func (a *actor) gate(said []string) gate {
	s := a.chat.state
	g := gate{surface: policy.ChatSurface(s.Channel), untrusted: a.chat.roundMark, visited: slices.Clone(s.Visited),
		allowed: make(map[string]int32, len(s.Allowed)), weighed: s.weighedKeys(), granting: a.chat.granting.clone(), words: said}
	for k, v := range s.Allowed {
		g.allowed[k] = v
	}
	return a.o.refresh(g)
}

// refresh takes settings, grants and tools as they are now.
func (o *Options) refresh(g gate) gate {
	g.reg, g.cfg, g.now = o.Registry(), o.Config(), o.Now()
	if o.Consent != nil {
		g.grants = o.Consent.Grants()
	}
	return g
}

// weighedKeys are tool names and app ids that ask until the person decided about a rule.
func (s *state) weighedKeys() map[string]bool {
	if len(s.Weighed)+len(s.Proposed) == 0 {
		return nil
	}
	keys := map[string]bool{}
	for _, w := range s.Weighed {
		for _, k := range w.Keys {
			keys[k] = true
		}
	}
	for _, p := range s.Proposed {
		for _, k := range p.Keys {
			keys[k] = true
		}
	}
	return keys
}

// withoutMemory refuses what a turn without memory may not use, however it is called.
func withoutMemory(x *msg.Call) string {
	if x.Memory || !tool.NeedsMemory(x.Tool) {
		return ""
	}
	return "This chat doesn't use what Sentient knows about you, so " + x.Tool + " was not used."
}

func (g gate) facts(e tool.Entry, args map[string]any, x *msg.Call) policy.Facts {
	t := e.Tool
	risk := tool.EffectiveRisk(t, args, x)
	appr := g.cfg.Tools.Approvals
	rule, ofApp := policy.RuleFor(appr.Rules, t.Name, e.Plugin.ID)
	allowed, has := g.allowed[t.Name]
	asked := rule == policy.RuleIfAsked && words.AskedFor(g.words, g.toolWords(e, risk))
	f := policy.Facts{Surface: g.surface, Tool: t.Name, ToolName: plainName(e), Plugin: e.Plugin.ID, App: e.Plugin.DisplayName,
		Risk: risk, Raised: risk > t.Risk, Internal: t.Internal, Label: tool.Describe(t, args, x, risk).RiskLabel,
		Mode: appr.Mode, Rule: rule, RuleOfApp: ofApp, AskedFor: asked, ReadOnly: slices.Contains(g.cfg.Integrations.ReadOnly, e.Plugin.ID),
		Weighed:    g.weighed[t.Name] || g.weighed[e.Plugin.ID],
		Unprompted: x.Origin != "user", FreePurchases: !g.cfg.Browser.ConfirmPurchases,
		Remember: appr.RememberSession, NoSessionAllow: t.NoSessionAllow, HasAllowed: has, Allowed: msg.Risk(allowed),
		Granted:   policy.Covered(g.grants, t.Name, "", risk, g.now) || g.granting.covers(t.Name, risk),
		Deletes:   deletes(preview.Kind(t.Name, risk)),
		Untrusted: g.untrusted, SendsOut: tool.SendsOut(t, risk, args, x)}
	if t.URLFn != nil {
		url := t.URLFn(args)
		f.Host = tool.AddressHost(url)
		f.CarriesData = tool.AddressCarriesData(url) && !slices.Contains(g.visited, f.Host)
	}
	return f
}

func deletes(kind string) bool { return kind == "delete" || kind == "trash" }

// toolWords is a tool as the person's words are held against it.
func (g gate) toolWords(e tool.Entry, risk msg.Risk) words.Tool {
	t := words.Tool{Name: e.Tool.Name, App: e.Plugin.DisplayName, Plugin: e.Plugin.ID, Risk: risk}
	for _, p := range g.reg.Catalog() {
		if p.ID != e.Plugin.ID && p.Category != "core" && !tool.Trusted(p.ID) { // what is built in is no connected app
			t.OtherApps = append(t.OtherApps, p.DisplayName)
		}
	}
	return t
}

// approval is what a person said yes to, as the gate reads it.
func approval(a *agent.Answer) *policy.Approval {
	if a == nil || a.Decision == policy.Deny {
		return nil
	}
	r := a.Request
	return &policy.Approval{Risk: r.Risk, Label: r.RiskLabel, Untrusted: r.Untrusted != "", Warned: r.Warning != ""}
}

// granting are wide yeses by tool, up to the risk that was approved.
type granting map[string]msg.Risk

func (g granting) covers(tool string, risk msg.Risk) bool {
	upto, ok := g[tool]
	return ok && risk <= upto
}

func (g granting) clone() granting { return maps.Clone(g) }

// plainName is a tool's name without its app's prefix, in words: slack_post_message in Slack is "Post message".
func plainName(e tool.Entry) string {
	n := strings.ReplaceAll(strings.TrimPrefix(e.Tool.Name, e.Plugin.ID+"_"), "_", " ")
	if n == "" {
		return e.Tool.Name
	}
	return strings.ToUpper(n[:1]) + n[1:]
}
