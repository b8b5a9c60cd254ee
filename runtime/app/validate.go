package app

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Validate says everything that is wrong with the configuration, in the order of its fields; an empty answer means it may be used.
func (c *Config) Validate() []FieldError {
	var v validator
	v.object(reflect.ValueOf(c).Elem(), nil)
	v.across(c)
	return v.errs
}

type validator struct{ errs []FieldError }

func (v *validator) fail(kind, msg string, loc ...string) {
	v.errs = append(v.errs, FieldError{Loc: slices.Clone(loc), Msg: msg, Type: kind})
}

func (v *validator) object(s reflect.Value, loc []string) {
	for _, f := range fieldsOf(s.Type()) {
		v.value(s.FieldByIndex(f.Index), f, append(slices.Clip(loc), f.Name))
	}
}

func (v *validator) value(x reflect.Value, f field, loc []string) {
	switch x.Kind() {
	case reflect.Struct:
		v.object(x, loc)
	case reflect.Map:
		v.entries(x, f, loc)
	case reflect.Slice:
		for i := range x.Len() {
			v.value(x.Index(i), f.element(), append(slices.Clip(loc), strconv.Itoa(i)))
		}
	case reflect.Pointer:
		if !x.IsNil() {
			v.value(x.Elem(), f, loc)
		}
	case reflect.String:
		v.text(x.String(), f, loc)
	case reflect.Int:
		v.number(float64(x.Int()), f, loc)
	case reflect.Float64:
		v.number(x.Float(), f, loc)
	}
}

func (v *validator) entries(m reflect.Value, f field, loc []string) {
	keys := make([]string, 0, m.Len())
	for _, k := range m.MapKeys() {
		keys = append(keys, k.String())
	}
	slices.Sort(keys)
	for _, key := range keys {
		at := append(slices.Clip(loc), key)
		if msg := checkKey(f.Keys, key); msg != "" {
			v.fail("value_error", msg, at...)
			continue
		}
		v.value(m.MapIndex(reflect.ValueOf(key)), f.element(), at)
	}
}

func (v *validator) text(s string, f field, loc []string) {
	if f.Enum != nil && !slices.Contains(f.Enum, s) {
		v.fail("literal_error", "Choose one of: "+strings.Join(shown(f.Enum), ", ")+".", loc...)
		return
	}
	if msg := checkText(f.Format, s); msg != "" {
		v.fail("value_error", msg, loc...)
	}
}

func shown(enum []string) []string {
	out := slices.Clone(enum)
	for i, e := range out {
		if e == "" {
			out[i] = `"" (empty)`
		}
	}
	return out
}

func (v *validator) number(x float64, f field, loc []string) {
	switch {
	case f.Min != nil && x < *f.Min:
		v.fail("greater_than_equal", "This must be "+between(f)+".", loc...)
	case f.Max != nil && x > *f.Max:
		v.fail("less_than_equal", "This must be "+between(f)+".", loc...)
	}
}

func between(f field) string {
	switch {
	case f.Max == nil:
		return fmt.Sprintf("at least %s", num(*f.Min))
	case f.Min == nil:
		return fmt.Sprintf("at most %s", num(*f.Max))
	}
	return fmt.Sprintf("between %s and %s", num(*f.Min), num(*f.Max))
}

func num(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// across checks what concerns more than one field.
func (v *validator) across(c *Config) {
	v.presets(c)
	v.servers(c)
	v.profiles(c)
}

// presets: names are matched without regard to case and the built-in ones are taken (section 3).
func (v *validator) presets(c *Config) {
	seen := map[string]bool{"local only": true, "cloud": true, "mixed": true}
	for _, name := range sortedKeys(c.Models.Presets) {
		if folded := strings.ToLower(strings.TrimSpace(name)); seen[folded] {
			v.fail("value_error", "Another preset, or a built-in one, has this name. Choose a different one.", "models", "presets", name)
		} else {
			seen[folded] = true
		}
		for _, role := range []string{"primary", "fast", "embedding"} {
			if model, ok := c.Models.Presets[name].Roles[role]; ok && model == nil {
				v.fail("value_error", "This role needs a model. Leave it out to keep the one that is set.", "models", "presets", name, "roles", role)
			}
		}
	}
}

func (v *validator) servers(c *Config) {
	for _, name := range sortedKeys(c.Integrations.MCPServers) {
		s, loc := c.Integrations.MCPServers[name], []string{"integrations", "mcp_servers", name}
		switch {
		case s.Transport == "stdio" && strings.TrimSpace(s.Command) == "":
			v.fail("value_error", "A local server needs the command that starts it.", append(loc, "command")...)
		case s.Transport == "http" && s.URL == "":
			v.fail("value_error", "A remote server needs its address.", append(loc, "url")...)
		case s.Transport == "stdio" && (s.Auth != "none" || len(s.HeaderKeys) > 0):
			v.fail("value_error", "A local server has no headers and no sign-in. Set auth to none.", append(loc, "auth")...)
		}
	}
}

func (v *validator) profiles(c *Config) {
	for _, name := range sortedKeys(c.Browser.Profiles) {
		p, loc := c.Browser.Profiles[name], []string{"browser", "profiles", name}
		switch {
		case name == "default" && p.Kind == "attach":
			v.fail("value_error", "The default profile always starts its own browser. Use another name to attach.", append(loc, "kind")...)
		case p.Endpoint == "" && p.Kind == "attach":
			v.fail("value_error", "Attaching needs the DevTools address of the running browser.", append(loc, "endpoint")...)
		case p.Endpoint != "" && !loopbackEndpoint(p.Endpoint):
			v.fail("value_error", "This address must be on this computer, such as http://127.0.0.1:9333.", append(loc, "endpoint")...)
		}
	}
}
