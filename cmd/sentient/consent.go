package main

import (
	"context"
	"time"

	"sentient/actors/config"
	"sentient/actors/grants"
	"sentient/actors/msg"
	"sentient/actors/policy"
	"sentient/actors/session"
	"sentient/actors/tool"
	"sentient/runtime/app"
)

// consentOf is what answers leave outside a chat, as chats see it.
type consentOf struct {
	*grants.Service
	config   *config.Service
	registry func() *tool.Registry
	now      func() time.Time
}

// AlwaysAllow saves the rule that an "Always allow" answer asks for, and where it came from. Only a person's answer
// gets here, so the rule it replaces may be stricter.
func (c consentOf) AlwaysAllow(ctx context.Context, name, via string) error {
	_, err := c.config.Edit(ctx, func(next *app.Config) error {
		setRule(next, name, app.RuleOrigin{Rule: policy.RuleAllow, At: c.stamp(), Source: "approval", Via: via})
		return nil
	})
	return err
}

// Tighten saves the rules of an accepted proposal.
func (c consentOf) Tighten(ctx context.Context, p msg.RuleProposal) error {
	reg := c.registry()
	appOf := func(name string) string {
		if e, ok := reg.Lookup(name); ok {
			return e.Plugin.ID
		}
		return ""
	}
	toolsOf := func(id string) []string {
		plugin, ok := reg.Plugin(id)
		if !ok {
			return nil
		}
		names := []string{}
		for _, t := range plugin.Tools {
			names = append(names, t.Name)
		}
		return names
	}
	_, err := c.config.Edit(ctx, func(next *app.Config) error {
		for key, rule := range policy.Tighten(next.Tools.Approvals.Rules, p.Keys, p.Rule, appOf, toolsOf) {
			setRule(next, key, app.RuleOrigin{Rule: rule, Said: p.Said, At: c.stamp(), SessionID: &p.Session, Source: "chat", Via: "desktop"})
		}
		return nil
	})
	return err
}

func (c consentOf) stamp() string { return c.now().UTC().Format(time.RFC3339) }

func setRule(c *app.Config, key string, origin app.RuleOrigin) {
	a := &c.Tools.Approvals
	if a.Rules == nil {
		a.Rules = map[string]string{}
	}
	if a.RuleOrigins == nil {
		a.RuleOrigins = map[string]app.RuleOrigin{}
	}
	a.Rules[key], a.RuleOrigins[key] = origin.Rule, origin
}

// consentRoutes is consent as the edge sees it.
type consentRoutes struct {
	grants *grants.Service
	*session.Service
}

func (c consentRoutes) Grants() []msg.Grant { return c.grants.List() }

func (c consentRoutes) Revoke(ctx context.Context, id string) error { return c.grants.Revoke(ctx, id) }
