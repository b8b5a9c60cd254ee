package models

import (
	"context"
	"strings"

	"sentient/actors/msg"
	"sentient/runtime/app"
)

// Action is something a client may offer as one click. Role is a role, everyRoles (null on the wire), or nil where it says nothing.
type Action struct {
	Kind     string `json:"kind"`
	Role     any    `json:"role,omitempty"`
	Model    string `json:"model,omitempty"`
	Name     string `json:"name,omitempty"`
	Provider string `json:"provider,omitempty"`
	Value    any    `json:"value,omitempty"` // a number of tokens, or a level of reasoning
	Label    string `json:"label"`
}

// everyRoles is null on the wire: the action concerns the setting that all roles share.
var everyRoles = (*string)(nil)

// Missing is what a setup still needs before it works.
type Missing struct {
	Kind     string   `json:"kind"` // pull_model, add_key, start_ollama, sign_in
	Roles    []string `json:"roles"`
	Model    string   `json:"model"`
	Provider string   `json:"provider,omitempty"`
	Detail   string   `json:"detail"`
	Fix      string   `json:"fix"`
	Action   *Action  `json:"action"`
}

// ollamaName is a model as Ollama calls it; false for a model that is not Ollama's, or that Ollama runs in its cloud.
func ollamaName(model string) (string, bool) {
	provider, name, _ := strings.Cut(model, "/")
	low := strings.ToLower(name)
	cloud := strings.HasSuffix(low, "-cloud") || strings.HasSuffix(low, ":cloud")
	return name, (provider == "ollama" || provider == "ollama_chat") && name != "" && !cloud
}

func isOllama(model string) bool {
	provider, _, _ := strings.Cut(model, "/")
	return provider == "ollama" || provider == "ollama_chat"
}

func providerOf(model string) string {
	p, _, _ := strings.Cut(model, "/")
	return p
}

// missing lists what the roles' models need, each thing once. No model is called.
func missing(ctx context.Context, models Models, roles map[string]*string) []Missing {
	list := []Missing{}
	at := map[string]int{} // by what is missing
	for _, role := range app.ModelRoles() {
		model := roles[role]
		if model == nil {
			continue
		}
		m, ok := missingOf(models, *model, models.Available(ctx, *model))
		if !ok {
			continue
		}
		key := m.Kind + " " + m.Provider + " " + m.Model
		if m.Kind != "pull_model" {
			key = m.Kind + " " + m.Provider // one start, one key for all of its models
		}
		i, seen := at[key]
		if !seen {
			i = len(list)
			at[key] = i
			list = append(list, m)
		}
		list[i].Roles = append(list[i].Roles, role)
	}
	return list
}

func missingOf(models Models, model string, err error) (Missing, bool) {
	fault, ok := msg.AsModelError(err)
	if !ok {
		return Missing{}, false
	}
	provider := providerOf(model)
	m := Missing{Model: model, Provider: provider, Detail: fault.Message, Roles: []string{}}
	switch {
	case fault.Fault == msg.FaultMissing && isOllama(model):
		_, name, _ := strings.Cut(model, "/")
		m.Kind, m.Fix, m.Action = "pull_model", "Download "+name+" in Settings > Models.", pullAction(name)
	case (fault.Fault == msg.FaultUnreachable || fault.Fault == msg.FaultTimeout) && isOllama(model):
		m.Kind, m.Provider, m.Fix = "start_ollama", "ollama", startOllama
	case fault.Fault == msg.FaultKey && provider == "chatgpt":
		m.Kind, m.Fix = "sign_in", "Sign in with ChatGPT under Settings > Models > Use a plan you already have."
	case fault.Fault == msg.FaultKey:
		label := models.ProviderName(provider)
		m.Kind, m.Fix, m.Action = "add_key", "Add a key for "+label+" in Settings > Models.", &Action{Kind: "add_key", Provider: provider, Label: "Add a key for " + label}
	default:
		return Missing{}, false
	}
	return m, true
}

const startOllama = "Start Ollama. If it is not installed, get it from https://ollama.com/download."

func pullAction(name string) *Action {
	return &Action{Kind: "pull_model", Name: name, Label: "Download " + name}
}
