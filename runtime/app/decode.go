package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxText bounds one text value, in characters.
const maxText = 20_000

// A decoder lays a tree of plain values over a typed one, strictly: it reports every unknown key and every value of the wrong type
// with its path, and leaves what it refuses as it was.
//
// Over a map it works entry by entry, and null removes an entry whose values cannot be null themselves. So one decoder serves PATCH,
// where the tree lies over the configuration in force, and config.yaml, where it lies over the defaults.
type decoder struct {
	errs    []FieldError
	unknown *[]string // when set, unknown keys are only listed here (config.yaml)
	full    bool      // maps are replaced whole (PUT)
}

// scalar is a value of config.yaml with its text, so that 3.12 can be a name and `off` a word.
type scalar struct {
	value any // string, bool, json.Number or nil
	text  string
}

func (d *decoder) fail(loc []string, kind, msg string) {
	d.errs = append(d.errs, FieldError{Loc: slices.Clone(loc), Msg: msg, Type: kind})
}

func (d *decoder) value(src any, dst reflect.Value, f field, loc []string) {
	switch dst.Kind() {
	case reflect.Struct:
		d.object(src, dst, loc)
	case reflect.Map:
		d.entries(src, dst, f, loc)
	case reflect.Slice:
		d.list(src, dst, f, loc)
	case reflect.Pointer:
		if plain(src) == nil {
			dst.SetZero()
			return
		}
		target, before := reflect.New(dst.Type().Elem()), len(d.errs)
		if d.scalar(src, target.Elem(), loc); len(d.errs) == before {
			dst.Set(target)
		}
	default:
		d.scalar(src, dst, loc)
	}
}

func (d *decoder) object(src any, dst reflect.Value, loc []string) {
	tree, ok := src.(map[string]any)
	if !ok {
		if d.unknown == nil || plain(src) != nil {
			d.fail(loc, "dict_type", "This must be an object with named fields.")
		}
		return
	}
	fields := map[string]field{}
	for _, f := range fieldsOf(dst.Type()) {
		fields[f.Name] = f
	}
	for _, key := range sortedKeys(tree) {
		at := append(slices.Clip(loc), key)
		f, ok := fields[key]
		switch {
		case ok:
			d.value(tree[key], dst.FieldByIndex(f.Index), f, at)
		case d.unknown != nil:
			*d.unknown = append(*d.unknown, joinLoc(at))
		default:
			d.fail(at, "extra_forbidden", "There is no setting of this name. Check the spelling or leave it out.")
		}
	}
}

func (d *decoder) entries(src any, dst reflect.Value, f field, loc []string) {
	if plain(src) == nil && (f.Nullable || d.unknown != nil) {
		if f.Nullable {
			dst.SetZero()
		}
		return
	}
	tree, ok := src.(map[string]any)
	if !ok {
		d.fail(loc, "dict_type", "This must be an object with named entries.")
		return
	}
	if d.full || dst.IsNil() {
		dst.Set(reflect.MakeMap(dst.Type()))
	}
	element, seen := f.element(), map[string]bool{}
	for _, given := range sortedKeys(tree) {
		at := append(slices.Clip(loc), given)
		key := given
		if f.Keys == "rule" {
			key = strings.TrimSpace(given)
		}
		if seen[key] {
			d.fail(at, "value_error", "This name stands here twice. Leave one of them out.")
			continue
		}
		seen[key] = true
		d.entry(tree[given], dst, reflect.ValueOf(key), element, at)
	}
}

func (d *decoder) entry(src any, dst, key reflect.Value, element field, loc []string) {
	if plain(src) == nil && !element.Nullable {
		dst.SetMapIndex(key, reflect.Value{})
		return
	}
	v := newValue(element.Type)
	if old := dst.MapIndex(key); old.IsValid() {
		v.Set(cloneValue(old))
	}
	if d.value(src, v, element, loc); v.Kind() == reflect.Slice && v.IsNil() {
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	}
	dst.SetMapIndex(key, v)
}

func (d *decoder) list(src any, dst reflect.Value, f field, loc []string) {
	if plain(src) == nil && d.unknown != nil {
		return
	}
	items, ok := src.([]any)
	if !ok {
		d.fail(loc, "list_type", "This must be a list.")
		return
	}
	out := reflect.MakeSlice(dst.Type(), len(items), len(items))
	before := len(d.errs)
	for i, item := range items {
		d.value(item, out.Index(i), f.element(), append(slices.Clip(loc), strconv.Itoa(i)))
	}
	if len(d.errs) == before {
		dst.Set(out)
	}
}

func (d *decoder) scalar(src any, dst reflect.Value, loc []string) {
	v := plain(src)
	switch dst.Kind() {
	case reflect.String:
		if s, ok := src.(scalar); ok && s.value != nil {
			v = s.text
		}
		d.text(v, dst, loc)
	case reflect.Bool:
		if b, ok := truth(src, v); ok {
			dst.SetBool(b)
			return
		}
		d.fail(loc, "bool_type", "This must be true or false.")
	case reflect.Int:
		if n, ok := whole(v); ok {
			dst.SetInt(n)
			return
		}
		d.fail(loc, "int_type", "This must be a whole number.")
	case reflect.Float64:
		n, ok := v.(json.Number)
		x, err := n.Float64()
		if !ok || err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			d.fail(loc, "float_type", "This must be a number.")
			return
		}
		dst.SetFloat(x)
	}
}

func (d *decoder) text(v any, dst reflect.Value, loc []string) {
	s, ok := v.(string)
	switch {
	case !ok:
		d.fail(loc, "string_type", "This must be text.")
	case utf8.RuneCountInString(s) > maxText:
		d.fail(loc, "string_too_long", "This text is too long. Use at most 20000 characters.")
	case !utf8.ValidString(s) || strings.ContainsRune(s, 0):
		d.fail(loc, "string_unicode", "This text holds bytes that are not text. Type it again.")
	default:
		dst.SetString(s)
	}
}

// truth reads a switch; config.yaml may also say yes, no, on and off.
func truth(src, v any) (value, ok bool) {
	if b, ok := v.(bool); ok {
		return b, true
	}
	if s, ok := src.(scalar); ok {
		switch strings.ToLower(s.text) {
		case "yes", "on":
			return true, true
		case "no", "off":
			return false, true
		}
	}
	return false, false
}

// whole reads a whole number that a JavaScript client can hold exactly; 5.0 is one.
func whole(v any) (int64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	x, err := n.Float64()
	if err != nil || x != math.Trunc(x) || math.Abs(x) > 1<<53-1 {
		return 0, false
	}
	return int64(x), true
}

func plain(src any) any {
	if s, ok := src.(scalar); ok {
		return s.value
	}
	return src
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// parseJSON reads one JSON object with its numbers as they were written.
func parseJSON(data []byte) (map[string]any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var tree map[string]any
	if err := dec.Decode(&tree); err != nil {
		return nil, errors.New("the body must be one JSON object")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) || tree == nil {
		return nil, errors.New("the body must be one JSON object")
	}
	return tree, nil
}
