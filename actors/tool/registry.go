package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"sentient/actors/msg"
)

// Registry is the set of plugins the engine has, in order of registration. It never changes: With and Without give a new
// one, so a turn keeps the set it began with. The zero value is an empty registry.
type Registry struct {
	disabled map[string]bool
	plugins  []msg.Plugin
	byName   map[string]Entry
}

// Entry is a registered tool with the plugin it belongs to.
type Entry struct {
	Plugin *msg.Plugin
	Tool   *msg.Tool

	schema func() *schema // parsed at first use
}

// New makes a registry. Ids and tool names in disabled (tools.disabled) are not registered. A plugin that cannot be
// registered is left out and named in the error; the registry has the others and is usable.
func New(disabled []string, plugins ...msg.Plugin) (*Registry, error) {
	r := &Registry{disabled: map[string]bool{}}
	for _, d := range disabled {
		r.disabled[strings.TrimSpace(d)] = true
	}
	var errs []error
	for _, p := range plugins {
		next, err := r.With(p)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		r = next
	}
	return r, errors.Join(errs...)
}

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`) // what every model provider accepts

// With gives a registry that has p, in the place of a plugin with the same id. It is an error when a tool's name is taken
// by another plugin or cannot be used, or its parameters are not a JSON Schema object.
func (r *Registry) With(p msg.Plugin) (*Registry, error) {
	if p.ID == "" {
		return r, errors.New("a plugin needs an id")
	}
	p.Tools = slices.DeleteFunc(slices.Clone(p.Tools), func(t msg.Tool) bool { return r.disabled[t.Name] })
	seen := map[string]bool{}
	for _, t := range p.Tools {
		if err := check(p.ID, t); err != nil {
			return r, err
		}
		if e, ok := r.byName[t.Name]; seen[t.Name] || ok && e.Plugin.ID != p.ID {
			return r, fmt.Errorf("plugin %s: another tool is already called %s", p.ID, t.Name)
		}
		seen[t.Name] = true
	}
	if r.disabled[p.ID] {
		return r.Without(p.ID), nil
	}
	plugins := slices.Clone(r.plugins)
	if i := slices.IndexFunc(plugins, func(o msg.Plugin) bool { return o.ID == p.ID }); i >= 0 {
		plugins[i] = p
	} else {
		plugins = append(plugins, p)
	}
	return build(r.disabled, plugins), nil
}

// Without gives a registry that has no plugin of that id.
func (r *Registry) Without(id string) *Registry {
	return build(r.disabled, slices.DeleteFunc(slices.Clone(r.plugins), func(p msg.Plugin) bool { return p.ID == id }))
}

func check(plugin string, t msg.Tool) error {
	if !toolName.MatchString(t.Name) {
		return fmt.Errorf("plugin %s: %q cannot be a tool's name: use letters, digits, _ and -, at most 64", plugin, t.Name)
	}
	if t.Run == nil {
		return fmt.Errorf("plugin %s: tool %s does nothing", plugin, t.Name)
	}
	var object map[string]json.RawMessage
	if len(t.Parameters) > 0 && (json.Unmarshal(t.Parameters, &object) != nil || object == nil) {
		return fmt.Errorf("plugin %s: the parameters of %s are not a JSON Schema object", plugin, t.Name)
	}
	return nil
}

func build(disabled map[string]bool, plugins []msg.Plugin) *Registry {
	r := &Registry{disabled: disabled, plugins: plugins, byName: map[string]Entry{}}
	for i := range r.plugins {
		p := &r.plugins[i]
		for j := range p.Tools {
			t := &p.Tools[j]
			r.byName[t.Name] = Entry{Plugin: p, Tool: t, schema: sync.OnceValue(func() *schema { return parseSchema(t.Parameters) })}
		}
	}
	return r
}

// Lookup finds a tool by name, hidden and scoped ones too.
func (r *Registry) Lookup(name string) (Entry, bool) {
	e, ok := r.byName[name]
	return e, ok
}

// Plugin finds a plugin by id.
func (r *Registry) Plugin(id string) (*msg.Plugin, bool) {
	for i := range r.plugins {
		if r.plugins[i].ID == id {
			return &r.plugins[i], true
		}
	}
	return nil, false
}

// Tools are the tools offered by default: all but those of hidden and scoped plugins.
func (r *Registry) Tools() []Entry {
	var list []Entry
	for i := range r.plugins {
		if p := &r.plugins[i]; !p.Hidden && !p.Scoped {
			list = append(list, r.entries(p)...)
		}
	}
	return list
}

func (r *Registry) entries(p *msg.Plugin) []Entry {
	list := make([]Entry, 0, len(p.Tools))
	for _, t := range p.Tools {
		list = append(list, r.byName[t.Name])
	}
	return list
}

// CatalogPlugin is a row of GET /api/tools.
type CatalogPlugin struct {
	ID            string        `json:"id"`
	DisplayName   string        `json:"display_name"`
	Description   string        `json:"description"`
	Category      string        `json:"category"`
	Icon          string        `json:"icon"`
	Auth          string        `json:"auth"`
	SelectionHint string        `json:"selection_hint"`
	Tools         []CatalogTool `json:"tools"`
}

// CatalogTool is a tool in GET /api/tools.
type CatalogTool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Risk        string `json:"risk"`
}

// Catalog lists the plugins for GET /api/tools. Rules play no part: a tool that may never run is listed all the same.
func (r *Registry) Catalog() []CatalogPlugin {
	list := []CatalogPlugin{}
	for _, p := range r.plugins {
		if p.Hidden || p.Scoped {
			continue
		}
		row := CatalogPlugin{p.ID, p.DisplayName, p.Description, p.Category, p.Icon, p.Auth, p.SelectionHint, []CatalogTool{}}
		for _, t := range p.Tools {
			row.Tools = append(row.Tools, CatalogTool{t.Name, t.Description, t.Risk.String()})
		}
		list = append(list, row)
	}
	return list
}

// Schemas are the tools as a model sees them: all of Tools when names is nil, else those that names has by tool name or
// plugin id. A scoped plugin's tools are given only so; a hidden one's never.
func (r *Registry) Schemas(names []string) []msg.ToolSchema {
	list := []msg.ToolSchema{}
	for i := range r.plugins {
		p := &r.plugins[i]
		if p.Hidden || names == nil && p.Scoped {
			continue
		}
		for _, t := range p.Tools {
			if names != nil && !slices.Contains(names, p.ID) && !slices.Contains(names, t.Name) {
				continue
			}
			list = append(list, msg.ToolSchema{Name: t.Name, Description: t.Description, Parameters: parameters(t)})
		}
	}
	return list
}

func parameters(t msg.Tool) json.RawMessage {
	if len(t.Parameters) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return t.Parameters
}
