package app

import (
	"reflect"
	"slices"
)

// An edit is one change of config.yaml. A path ends at the smallest thing that changed: a field, or an entry of a map.
type edit struct {
	path   []string
	value  reflect.Value // what to write; the zero Value writes null
	base   reflect.Value // of a struct value: what need not be written
	remove bool          // take the entry out of the file
	quiet  bool          // nothing to do unless it stands in the file: the value is the default
}

// diff lists what must change in the file for next to be in force where now is. The file lies over the defaults, so an entry of a
// default map is removed by null, and what equals its default is not added.
func diff(now, next, def *Config) []edit {
	return diffObject(reflect.ValueOf(now).Elem(), reflect.ValueOf(next).Elem(), reflect.ValueOf(def).Elem(), nil)
}

func diffObject(now, next, def reflect.Value, path []string) []edit {
	var edits []edit
	for _, f := range fieldsOf(now.Type()) {
		a, b, d := now.FieldByIndex(f.Index), next.FieldByIndex(f.Index), def.FieldByIndex(f.Index)
		at := append(slices.Clip(path), f.Name)
		switch {
		case f.Type.Kind() == reflect.Struct:
			edits = append(edits, diffObject(a, b, d, at)...)
		case reflect.DeepEqual(a.Interface(), b.Interface()):
		case f.Type.Kind() == reflect.Map && !a.IsNil() && !b.IsNil():
			edits = append(edits, diffMap(a, b, d, at)...)
		default:
			edits = append(edits, edit{path: at, value: b, quiet: reflect.DeepEqual(b.Interface(), d.Interface())})
		}
	}
	return edits
}

func diffMap(now, next, def reflect.Value, path []string) []edit {
	names := map[string]bool{}
	for _, m := range []reflect.Value{now, next} {
		for _, k := range m.MapKeys() {
			names[k.String()] = true
		}
	}
	var edits []edit
	for _, name := range sortedKeys(names) {
		key := reflect.ValueOf(name)
		a, b, d := now.MapIndex(key), next.MapIndex(key), def.MapIndex(key)
		edits = append(edits, diffEntry(a, b, d, append(slices.Clip(path), name))...)
	}
	return edits
}

// diffEntry compares one entry; an invalid Value means that there is none.
func diffEntry(now, next, def reflect.Value, path []string) []edit {
	switch {
	case !next.IsValid():
		return []edit{{path: path, remove: !def.IsValid()}}
	case now.IsValid() && reflect.DeepEqual(now.Interface(), next.Interface()):
		return nil
	}
	base := def
	if next.Kind() == reflect.Struct && !def.IsValid() {
		base = newValue(next.Type())
	}
	if now.IsValid() && next.Kind() == reflect.Struct {
		return diffObject(now, next, base, path)
	}
	if def.IsValid() && reflect.DeepEqual(next.Interface(), def.Interface()) {
		return []edit{{path: path, remove: true}}
	}
	return []edit{{path: path, value: next, base: base}}
}
