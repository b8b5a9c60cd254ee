package app

import (
	"encoding/json"
	"reflect"
	"slices"
)

// Merge is PATCH: it lays a partial object over cfg and gives the new configuration, or what is wrong with the patch. A null removes
// an entry of a free-form map and empties a field that may be null. cfg is not touched.
func Merge(cfg *Config, patch json.RawMessage) (*Config, []FieldError) {
	return overlay(cfg.Clone(), patch, decoder{})
}

// Replace is PUT: full is a whole configuration, and what it leaves out takes its default.
func Replace(full json.RawMessage) (*Config, []FieldError) {
	return overlay(Default(), full, decoder{full: true})
}

func overlay(base *Config, data json.RawMessage, d decoder) (*Config, []FieldError) {
	tree, err := parseJSON(data)
	if err != nil {
		return nil, []FieldError{{Loc: []string{"body"}, Msg: "The body must be one JSON object.", Type: "json_invalid"}}
	}
	return d.onto(base, tree)
}

// onto decodes, tidies and checks. Faults of decoding leave the old value in place, so no field is named for two of them.
func (d *decoder) onto(base *Config, tree map[string]any) (*Config, []FieldError) {
	d.object(tree, reflect.ValueOf(base).Elem(), nil)
	normalise(base)
	for _, e := range base.Validate() {
		if !slices.ContainsFunc(d.errs, func(o FieldError) bool { return slices.Equal(o.Loc, e.Loc) }) {
			d.errs = append(d.errs, e)
		}
	}
	if len(d.errs) > 0 {
		return nil, d.errs
	}
	return base, nil
}
