package session

import (
	"sentient/actors/msg"
	"sentient/actors/policy"
	"sentient/actors/policy/preview"
	"sentient/actors/policy/words"
)

// trashedNote goes with the result of a delete that was made a move to the trash (section 10).
const trashedNote = "Moved to the trash instead of deleting it for good, so it can be restored."

// preferTrash swaps a delete for good for the same app's trash version, unless the person's own words ask for a permanent one
// . A delete that is handed to the person stays what it is.
func (o *Options) preferTrash(calls []msg.ToolCall, said []string) (changed []msg.ToolCall, notes map[string]string) {
	cfg, reg := o.Config(), o.Registry()
	appr := cfg.Tools.Approvals
	if !appr.PreferTrash || words.PermanentDelete(said) {
		return calls, nil
	}
	for i, call := range calls {
		e, ok := reg.Lookup(call.Name)
		if !ok || preview.Kind(call.Name, max(e.Tool.Risk, msg.RiskWrite)) != "delete" {
			continue
		}
		if rule, _ := policy.RuleFor(appr.Rules, call.Name, e.Plugin.ID); rule == policy.RuleHandOff {
			continue
		}
		args, bad := e.Decode(call.Arguments)
		if bad != nil {
			continue
		}
		trash, ok := preview.TrashFor(call.Name, args, o.siblings(e.Plugin))
		if !ok {
			continue
		}
		if notes == nil {
			calls, notes = append([]msg.ToolCall(nil), calls...), map[string]string{}
		}
		calls[i].Name = trash
		notes[call.ID] = trashedNote
	}
	return calls, notes
}

// siblings are the tools of an app as the trash rules read them; what a rule or a Read only connection hides can't stand in.
func (o *Options) siblings(p *msg.Plugin) (list []preview.Sibling) {
	cfg, reg := o.Config(), o.Registry()
	for _, t := range p.Tools {
		rule, _ := policy.RuleFor(cfg.Tools.Approvals.Rules, t.Name, p.ID)
		e, ok := reg.Lookup(t.Name)
		list = append(list, preview.Sibling{Name: t.Name, Parameters: t.Parameters, Hidden: !ok || rule == policy.RuleNever || cannotRead(e, cfg.Integrations.ReadOnly)})
	}
	return list
}
