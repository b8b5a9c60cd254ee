package models

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sentient/actors/msg"
	"sentient/runtime/app"
)

// stepWait bounds each step of a check-up.
const stepWait = 60 * time.Second

// The states of a check, from the best to the worst.
const (
	skip = "skip"
	pass = "pass"
	warn = "warn"
	fail = "fail"
)

var states = []string{skip, pass, warn, fail}

func worst(a, b string) string {
	if slices.Index(states, b) > slices.Index(states, a) {
		return b
	}
	return a
}

// Check is one thing that was tried. Detail and Fix are plain sentences.
type Check struct {
	ID     string  `json:"id"`
	Label  string  `json:"label"`
	Status string  `json:"status"` // pass, warn, fail, skip
	Detail string  `json:"detail"`
	Fix    string  `json:"fix,omitempty"`
	Action *Action `json:"action,omitempty"`
}

// RoleModel is a role and its model; nil means the primary one.
type RoleModel struct {
	Role  string  `json:"role"`
	Model *string `json:"model"`
}

// Start is the first line of a check-up.
type Start struct {
	Type     string       `json:"type"` // start
	Roles    []RoleModel  `json:"roles"`
	Hardware msg.Hardware `json:"hardware"`
}

// Step says what is being tried.
type Step struct {
	Type  string `json:"type"` // step
	Role  string `json:"role"`
	Label string `json:"label"`
}

// RoleResult is what the check of one role came to.
type RoleResult struct {
	Type     string  `json:"type"` // role
	Role     string  `json:"role"`
	Model    *string `json:"model"`
	Provider *string `json:"provider"`
	Local    bool    `json:"local"`
	Inherits *string `json:"inherits"`
	Status   string  `json:"status"`
	Checks   []Check `json:"checks"`
}

// Done is the last line.
type Done struct {
	Type   string       `json:"type"` // done
	Status string       `json:"status"`
	Roles  []RoleResult `json:"roles"`
}

// Roles checks what a client asks to be checked: each role must be one there is, and the required ones need a model.
func Roles(asked map[string]*string) error {
	for role, model := range asked {
		switch {
		case !slices.Contains(app.ModelRoles(), role):
			return msg.NewFault(msg.BadRequest, fmt.Sprintf("There is no role called %q. The roles are %s.", role, strings.Join(app.ModelRoles(), ", ")))
		case model == nil && required(role):
			return msg.NewFault(msg.BadRequest, "The "+role+" role needs a model.")
		}
	}
	return nil
}

// Checkup tries the model of each role, one after the other, and gives every line to emit, whose error ends it. Asked names the
// roles and models to try instead of the saved ones; nothing is saved. It needs no actor, so the command line can use it.
func Checkup(ctx context.Context, o Options, asked map[string]*string, emit func(line any) error) error {
	if err := o.Validate(); err != nil {
		return err
	}
	if err := Roles(asked); err != nil {
		return err
	}
	u := newCheckup(o, asked, emit)
	u.hardware = o.Hardware(ctx, false)
	start := Start{Type: "start", Roles: []RoleModel{}, Hardware: u.hardware}
	for _, role := range u.roles {
		model, _ := u.effective(role)
		start.Roles = append(start.Roles, RoleModel{Role: role, Model: model})
	}
	if err := emit(start); err != nil {
		return err
	}
	done := Done{Type: "done", Status: skip, Roles: []RoleResult{}}
	for _, role := range u.roles {
		r, err := u.role(ctx, role)
		if err == nil {
			err = emit(r)
		}
		if err != nil {
			return err
		}
		done.Status = worst(done.Status, r.Status)
		done.Roles = append(done.Roles, r)
	}
	return emit(done)
}

// checkup is one run.
type checkup struct {
	o        Options
	models   *app.Models // as they were at its start
	roles    []string
	of       map[string]*string
	hardware msg.Hardware
	emit     func(any) error
	tried    map[string]*trial // by model and settings
}

func newCheckup(o Options, asked map[string]*string, emit func(any) error) *checkup {
	models := &o.Config.Get().Models
	u := &checkup{o: o, models: models, of: rolesOf(&models.Roles), emit: emit, tried: map[string]*trial{}}
	for _, role := range app.ModelRoles() {
		if model, ok := asked[role]; ok {
			u.of[role] = model
			u.roles = append(u.roles, role)
		} else if len(asked) == 0 {
			u.roles = append(u.roles, role)
		}
	}
	return u
}

// effective is the model to try for a role. A role without one of its own is not tried, unless the main model is one that refuses
// it.
func (u *checkup) effective(role string) (model *string, inherits bool) {
	if m := u.of[role]; m != nil {
		return m, false
	}
	if main := u.of["primary"]; main != nil && isClaudeCode(*main) && u.refusal(role) != "" {
		return main, true
	}
	return nil, true
}

func isClaudeCode(model string) bool { return providerOf(model) == "claude-code" }

func (u *checkup) refusal(role string) string {
	if u.o.ClaudeRefusal == nil {
		return ""
	}
	return u.o.ClaudeRefusal(role)
}

// role tries one role's model.
func (u *checkup) role(ctx context.Context, role string) (RoleResult, error) {
	model, inherits := u.effective(role)
	r := RoleResult{Type: "role", Role: role, Model: model, Status: skip, Checks: []Check{}}
	if inherits {
		main := "primary"
		r.Inherits = &main
	}
	if model == nil {
		return r, nil
	}
	provider := providerOf(*model)
	r.Provider, r.Local = &provider, u.o.Models.IsLocal(*model)
	x := &probe{checkup: u, role: role, model: *model, trial: u.trial(role, *model)}
	for _, s := range x.steps() {
		if err := u.emit(Step{Type: "step", Role: role, Label: s.step}); err != nil {
			return r, err
		}
		c := x.try(ctx, s)
		if ctx.Err() != nil {
			return r, context.Cause(ctx)
		}
		if c == nil {
			continue
		}
		r.Checks = append(r.Checks, *c)
		r.Status = worst(r.Status, c.Status)
		if s.id == "connection" && (c.Status == fail || isClaudeCode(*model)) {
			break
		}
	}
	return r, nil
}

// trial is what is known of a model under the settings that the tests depend on. Each test runs once.
type trial struct {
	checks map[string]tried
	reply  *msg.ModelResult
	call   *msg.ToolCall // what the tools check made it call
}

// tried is a check and the role it was run for.
type tried struct {
	Check
	role string
}

func (u *checkup) trial(role, model string) *trial {
	address := ""
	if p := u.models.Providers[providerOf(model)]; p.APIBase != nil {
		address = *p.APIBase
	}
	heat := "-"
	if t, ok := u.models.Temperature[role]; ok {
		heat = fmt.Sprint(t)
	}
	key := strings.Join([]string{model, address, u.models.Reasoning[role], fmt.Sprint(u.contextLength(role)), heat}, "\x00")
	t := u.tried[key]
	if t == nil {
		t = &trial{checks: map[string]tried{}}
		u.tried[key] = t
	}
	return t
}

func (u *checkup) contextLength(role string) int {
	if n := u.models.ContextLengthPerRole[role]; n > 0 {
		return n
	}
	return u.models.ContextLength
}
