package models

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"sentient/actors/msg"
	"sentient/runtime/app"

	pb "sentient/proto/models"
)

// step is what a command comes to: the state after it, the model settings after it (nil: they stay), and the answer.
type step struct {
	state  *pb.State
	models *app.Models
	answer any
}

// plan is a command's pure part. The configuration it gets is a copy of its own.
type plan func(st *pb.State, now *app.Config) (step, error)

// List is the answer of GET /api/models/presets.
type List struct {
	Active     *string  `json:"active"`
	Modified   bool     `json:"modified"`
	CanUndo    bool     `json:"can_undo"`
	UndoPreset *string  `json:"undo_preset"` // the preset that an undo puts back; nil when none was active
	Presets    []Preset `json:"presets"`
}

func planList(f facts) plan {
	return func(st *pb.State, now *app.Config) (step, error) {
		m := &now.Models
		l := List{Active: m.ActivePreset, Modified: modified(st, m), CanUndo: st.Last != nil, Presets: []Preset{}}
		if st.Last != nil {
			l.UndoPreset = st.Last.Before.ActivePreset
		}
		for _, p := range presets(m, f) {
			l.Presets = append(l.Presets, p.view(m, f.local))
		}
		return step{answer: l}, nil
	}
}

// Applied is the answer of a switch and of its undo.
type Applied struct {
	Preset    *Preset   `json:"preset"` // what is active now; nil after an undo to no preset
	Changed   []Changed `json:"changed"`
	Missing   []Missing `json:"missing"`
	CanUndo   bool      `json:"can_undo"`
	LocalOnly bool      `json:"local_only"`

	roles map[string]*string // in force now
}

// planApply switches to a preset and keeps what it replaces for one undo.
func planApply(name string, localOnly bool, f facts) plan {
	return func(st *pb.State, now *app.Config) (step, error) {
		p, ok := find(presets(&now.Models, f), name)
		if !ok {
			return step{}, unknown(name)
		}
		if v := p.view(&now.Models, f.local); !v.Available {
			return step{}, msg.NewFault(msg.Conflict, *v.Reason)
		} else if v.Cloud && localOnly {
			return step{}, msg.NewFault(msg.Conflict, "This preset uses a cloud model, so Local only can't be turned on with it.")
		}
		next := now.Clone()
		p.lay(&next.Models)
		turned := localOnly && !now.Models.LocalOnly
		if turned {
			next.Models.LocalOnly = true
		}
		state := &pb.State{Last: &pb.Switch{Preset: p.name, Before: setupOf(&now.Models), TurnedLocalOnlyOn: turned, AppliedBefore: st.Applied},
			Applied: &pb.Applied{Preset: p.name, Roles: named(rolesOf(&next.Models.Roles))}}
		view := p.view(&next.Models, f.local)
		return step{state: state, models: &next.Models, answer: applied(&view, now, next, true)}, nil
	}
}

func applied(p *Preset, before, after *app.Config, canUndo bool) *Applied {
	return &Applied{Preset: p, Changed: changes(&before.Models.Roles, &after.Models.Roles), Missing: []Missing{}, CanUndo: canUndo,
		LocalOnly: after.Models.LocalOnly, roles: rolesOf(&after.Models.Roles)}
}

// planUndo puts back what the last switch replaced, once.
func planUndo(f facts) plan {
	return func(st *pb.State, now *app.Config) (step, error) {
		if st.Last == nil {
			return step{}, msg.NewFault(msg.Conflict, "There is nothing to undo: no preset was applied, or its switch was undone already.")
		}
		next := now.Clone()
		restore(&next.Models, st.Last.Before)
		next.Models.ActivePreset = nil
		if st.Last.TurnedLocalOnlyOn {
			next.Models.LocalOnly = false
		}
		state := &pb.State{Applied: st.Last.AppliedBefore}
		var view *Preset
		if name := st.Last.Before.ActivePreset; name != nil {
			if p, ok := find(presets(&next.Models, f), *name); ok { // it may have been deleted since
				next.Models.ActivePreset = &p.name
				v := p.view(&next.Models, f.local)
				view = &v
			}
		}
		return step{state: state, models: &next.Models, answer: applied(view, now, next, false)}, nil
	}
}

// planSave keeps the setup in force under a name and makes it the active preset.
func planSave(name string, overwrite bool, local func(string) bool) plan {
	return func(st *pb.State, now *app.Config) (step, error) {
		if err := mayBeCalled(name); err != nil {
			return step{}, err
		}
		next := now.Clone()
		old, taken := ownName(&now.Models, name)
		if taken && !overwrite {
			return step{}, exists(old)
		}
		delete(next.Models.Presets, old)
		next.Models.Presets[name] = snapshot(&now.Models)
		next.Models.ActivePreset = &name
		state := proto.CloneOf(st)
		state.Applied = &pb.Applied{Preset: name, Roles: named(rolesOf(&next.Models.Roles))}
		return step{state: state, models: &next.Models, answer: saved(name, next.Models.Presets[name]).view(&next.Models, local)}, nil
	}
}

// planRename gives one of the person's presets another name; what points at it follows.
func planRename(name, to string, local func(string) bool) plan {
	return func(st *pb.State, now *app.Config) (step, error) {
		old, err := own(now, name, "renamed")
		if err == nil {
			err = mayBeCalled(to)
		}
		if err != nil {
			return step{}, err
		}
		if other, taken := ownName(&now.Models, to); taken && other != old {
			return step{}, exists(other)
		}
		next := now.Clone()
		delete(next.Models.Presets, old)
		next.Models.Presets[to] = now.Models.Presets[old]
		state := proto.CloneOf(st)
		follow := func(p *string) {
			if p != nil && sameName(*p, old) {
				*p = to
			}
		}
		follow(next.Models.ActivePreset)
		for _, a := range []*pb.Applied{state.Applied, state.GetLast().GetAppliedBefore()} {
			if a != nil {
				follow(&a.Preset)
			}
		}
		if state.Last != nil {
			follow(state.Last.Before.ActivePreset)
			follow(&state.Last.Preset)
		}
		return step{state: state, models: &next.Models, answer: saved(to, next.Models.Presets[to]).view(&next.Models, local)}, nil
	}
}

// planDelete takes one of the person's presets away; the models stay as they are.
func planDelete(name string) plan {
	return func(st *pb.State, now *app.Config) (step, error) {
		old, err := own(now, name, "deleted")
		if err != nil {
			return step{}, err
		}
		next := now.Clone()
		delete(next.Models.Presets, old)
		if a := next.Models.ActivePreset; a != nil && sameName(*a, old) {
			next.Models.ActivePreset = nil
		}
		return step{state: st, models: &next.Models}, nil
	}
}

// planFallbacks changes the roles that are named; an empty list takes a role's fallbacks away.
func planFallbacks(lists map[string][]string) plan {
	return func(st *pb.State, now *app.Config) (step, error) {
		next := now.Clone()
		for role, list := range lists {
			if len(list) == 0 {
				delete(next.Models.Fallbacks, role)
				continue
			}
			next.Models.Fallbacks[role] = append([]string{}, list...)
		}
		return step{state: st, models: &next.Models}, nil
	}
}

func unknown(name string) error {
	return msg.NewFault(msg.NotFound, fmt.Sprintf("There is no preset called %q.", name))
}

func exists(name string) error {
	return msg.NewFault(msg.Conflict, fmt.Sprintf("A preset called %q exists already. Choose another name, or replace it.", name))
}

func mayBeCalled(name string) error {
	if !goodName(name) {
		return msg.NewFault(msg.BadRequest, "A preset's name has 1 to 40 characters and no slashes.")
	}
	if builtinName(name) {
		return msg.NewFault(msg.BadRequest, fmt.Sprintf("%q is the name of a built-in preset. Choose another name.", name))
	}
	return nil
}

func own(now *app.Config, name, what string) (string, error) {
	if builtinName(name) {
		return "", msg.NewFault(msg.BadRequest, fmt.Sprintf("%q is built in, so it can't be %s.", name, what))
	}
	old, ok := ownName(&now.Models, name)
	if !ok {
		return "", unknown(name)
	}
	return old, nil
}
