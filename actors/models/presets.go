package models

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"sentient/actors/msg"
	"sentient/runtime/app"

	pb "sentient/proto/models"
)

// The built-in presets. They are made when they are asked for and never stored.
const (
	LocalOnly = "Local only"
	Cloud     = "Cloud"
	Mixed     = "Mixed"
)

// cloudModels are the main and the quick model of the providers that Cloud and Mixed use, the first one with a key.
var cloudModels = []struct{ provider, label, main, fast string }{
	{"anthropic", "Anthropic", "anthropic/claude-sonnet-5", "anthropic/claude-haiku-4-5"},
	{"openai", "OpenAI", "openai/gpt-5.6-terra", "openai/gpt-5.6-luna"},
	{"openrouter", "OpenRouter", "openrouter/anthropic/claude-sonnet-5", "openrouter/openai/gpt-5.6-luna"},
}

// facts is what presets depend on besides the configuration.
type facts struct {
	local func(model string) bool
	// recommended is nil while nothing is known of this computer, or when a cloud model is what it should use.
	recommended *msg.Recommendation
	source      source // of the cloud presets
}

// source is where a cloud preset's models come from. With a reason there is none.
type source struct {
	provider, label, main, fast string
	reason                      string
}

const noSource = "Add a key for Anthropic, OpenAI or OpenRouter, or sign in with ChatGPT, in Settings > Models."

// preset is a setup that can be applied. A role that is not in roles keeps its model; a nil field keeps its value.
type preset struct {
	name, description, provider, reason string
	builtin                             bool
	roles                               map[string]*string
	fallbacks                           *map[string][]string
	reasoning                           *map[string]string
	contextLength                       *int
	perRole                             *map[string]int
}

// builtins makes the three of them for a configuration.
func builtins(m *app.Models, f facts) []preset {
	defaults := app.Default().Models.Roles
	own, embedding := defaults.Primary, defaults.Embedding
	if f.local(m.Roles.Embedding) {
		embedding = m.Roles.Embedding // one that the person picked is kept
	}
	local := preset{name: LocalOnly, builtin: true, description: "Every model runs on this computer: private, and free."}
	if r := f.recommended; r != nil {
		own, local.contextLength = r.Model, &r.ContextLength
	}
	local.roles = everyRole(own, own)
	local.roles["embedding"] = &embedding

	s := f.source
	cloud := preset{name: Cloud, builtin: true, provider: s.provider, reason: s.reason, roles: map[string]*string{},
		description: "A cloud provider's models for every job. Memory search stays as it is."}
	mixed := preset{name: Mixed, builtin: true, provider: s.provider, reason: s.reason, roles: map[string]*string{},
		description: "A cloud model for chats; quick jobs and memory search stay on this computer."}
	if s.reason == "" {
		cloud.description = s.label + "'s models for every job. Memory search stays as it is."
		mixed.description = "A model of " + s.label + " for chats; quick jobs and memory search stay on this computer."
		cloud.roles = everyRole(s.main, s.fast)
		mixed.roles = everyRole(s.main, own)
		mixed.roles["embedding"] = &embedding
	}
	for _, p := range []*preset{&local, &cloud, &mixed} {
		p.fallbacks = &map[string][]string{}
	}
	return []preset{local, cloud, mixed}
}

// everyRole is a main and a quick model; the optional roles use the main one. The embedding role is left as it is.
func everyRole(main, fast string) map[string]*string {
	return map[string]*string{"primary": &main, "fast": &fast, "planner": nil, "executor": nil, "vision": nil, "voice": nil}
}

// presets lists all of them: the built-in ones first, then the person's own by name.
func presets(m *app.Models, f facts) []preset {
	list := builtins(m, f)
	for _, name := range slices.Sorted(maps.Keys(m.Presets)) {
		list = append(list, saved(name, m.Presets[name]))
	}
	return list
}

func saved(name string, s app.Preset) preset {
	p := preset{name: name, description: "Your own setup.", roles: maps.Clone(s.Roles), contextLength: s.ContextLength}
	if p.roles == nil {
		p.roles = map[string]*string{}
	}
	if s.Fallbacks != nil {
		p.fallbacks = &s.Fallbacks
	}
	if s.Reasoning != nil {
		p.reasoning = &s.Reasoning
	}
	if s.ContextLengthPerRole != nil {
		set := map[string]int{}
		for role, n := range s.ContextLengthPerRole {
			if n != nil {
				set[role] = *n
			}
		}
		p.perRole = &set
	}
	return p
}

// snapshot is the setup in force as a preset to keep.
func snapshot(m *app.Models) app.Preset {
	p := app.Preset{Roles: map[string]*string{}, Fallbacks: map[string][]string{}, Reasoning: maps.Clone(m.Reasoning), ContextLengthPerRole: map[string]*int{}}
	for role, model := range rolesOf(&m.Roles) {
		if model != nil {
			own := *model
			model = &own
		}
		p.Roles[role] = model
	}
	for role, list := range m.Fallbacks {
		p.Fallbacks[role] = slices.Clone(list)
	}
	if p.Reasoning == nil {
		p.Reasoning = map[string]string{}
	}
	n := m.ContextLength
	p.ContextLength = &n
	for role, n := range m.ContextLengthPerRole {
		p.ContextLengthPerRole[role] = &n
	}
	return p
}

// lay puts a preset over the settings.
func (p preset) lay(m *app.Models) {
	for role, model := range p.roles {
		setRole(&m.Roles, role, model)
	}
	if p.fallbacks != nil {
		m.Fallbacks = map[string][]string{}
		for role, list := range *p.fallbacks {
			m.Fallbacks[role] = append([]string{}, list...)
		}
	}
	if p.reasoning != nil {
		m.Reasoning = map[string]string{}
		maps.Copy(m.Reasoning, *p.reasoning)
	}
	if p.contextLength != nil {
		m.ContextLength = *p.contextLength
	}
	if p.perRole != nil {
		m.ContextLengthPerRole = map[string]int{}
		maps.Copy(m.ContextLengthPerRole, *p.perRole)
	}
	name := p.name
	m.ActivePreset = &name
}

// cloud says whether a role that the preset sets uses a model outside this computer.
func (p preset) cloud(local func(string) bool) bool {
	for _, model := range p.roles {
		if model != nil && !local(*model) {
			return true
		}
	}
	return false
}

// Preset is a preset as clients see it.
type Preset struct {
	Name                 string               `json:"name"`
	Builtin              bool                 `json:"builtin"`
	Available            bool                 `json:"available"`
	Reason               *string              `json:"reason"` // why it is not available
	Provider             *string              `json:"provider"`
	Description          string               `json:"description"`
	Roles                map[string]*string   `json:"roles"`
	Fallbacks            *map[string][]string `json:"fallbacks,omitempty"`
	Reasoning            *map[string]string   `json:"reasoning,omitempty"`
	ContextLength        *int                 `json:"context_length,omitempty"`
	ContextLengthPerRole *map[string]int      `json:"context_length_per_role,omitempty"`
	Cloud                bool                 `json:"cloud"`
	BlockedBy            *string              `json:"blocked_by"`
	Active               bool                 `json:"active"`
}

const blocked = "Local only is on, and this preset uses a cloud model. Turn Local only off in Settings > Models first."

// view is the preset under the settings in force.
func (p preset) view(m *app.Models, local func(string) bool) Preset {
	v := Preset{Name: p.name, Builtin: p.builtin, Available: p.reason == "", Description: p.description, Roles: p.roles, Fallbacks: p.fallbacks,
		Reasoning: p.reasoning, ContextLength: p.contextLength, ContextLengthPerRole: p.perRole, Cloud: p.cloud(local),
		Active: m.ActivePreset != nil && sameName(*m.ActivePreset, p.name)}
	if p.provider != "" {
		v.Provider = &p.provider
	}
	if p.reason != "" {
		v.Reason = &p.reason
	} else if m.LocalOnly && v.Cloud {
		by, why := "local_only", blocked
		v.Available, v.BlockedBy, v.Reason = false, &by, &why
	}
	return v
}

// sameName: names are matched without case.
func sameName(a, b string) bool {
	return strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b))
}

func builtinName(name string) bool {
	return sameName(name, LocalOnly) || sameName(name, Cloud) || sameName(name, Mixed)
}

// goodName says whether a preset may be called so.
func goodName(name string) bool {
	n := utf8.RuneCountInString(name)
	return utf8.ValidString(name) && n >= 1 && n <= 40 && !strings.ContainsAny(name, `/\`) && !strings.ContainsFunc(name, unicode.IsControl)
}

// ownName finds one of the person's presets as it is written.
func ownName(m *app.Models, name string) (string, bool) {
	for own := range m.Presets {
		if sameName(own, name) {
			return own, true
		}
	}
	return "", false
}

func find(list []preset, name string) (preset, bool) {
	for _, p := range list {
		if sameName(p.name, name) {
			return p, true
		}
	}
	return preset{}, false
}

// modified says whether a role was changed by hand after the active preset was applied. A preset that was made active in
// another way, by an edit of the file, is compared with what it says.
func modified(st *pb.State, m *app.Models) bool {
	if m.ActivePreset == nil {
		return false
	}
	if a := st.GetApplied(); a != nil && sameName(a.Preset, *m.ActivePreset) {
		return !maps.Equal(a.Roles, named(rolesOf(&m.Roles)))
	}
	own, ok := ownName(m, *m.ActivePreset)
	if !ok {
		return false
	}
	now := rolesOf(&m.Roles)
	for role, model := range m.Presets[own].Roles {
		if !sameModel(model, now[role]) && !(model == nil && required(role)) {
			return true
		}
	}
	return false
}
