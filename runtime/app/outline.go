package app

import (
	"fmt"
	"reflect"
	"slices"
)

// Yours stands in an outline for words of the person.
const Yours = "(yours)"

// Outline is a configuration without a person's words, for a report that others read: switches, numbers and choices as they are, free
// text only where it is the default, and of lists and maps how many entries they have.
func Outline(c *Config) map[string]any {
	return outline(reflect.ValueOf(c).Elem(), reflect.ValueOf(Default()).Elem())
}

func outline(v, def reflect.Value) map[string]any {
	out := map[string]any{}
	for _, f := range fieldsOf(v.Type()) {
		out[f.Name] = outlineOf(f, v.FieldByIndex(f.Index), def.FieldByIndex(f.Index))
	}
	return out
}

func outlineOf(f field, v, def reflect.Value) any {
	if f.Type.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
		if !def.IsNil() {
			def = def.Elem()
		}
	}
	switch v.Kind() {
	case reflect.Struct:
		if def.Kind() != reflect.Struct {
			def = reflect.New(v.Type()).Elem()
		}
		return outline(v, def)
	case reflect.Map, reflect.Slice:
		return fmt.Sprintf("(%d entries)", v.Len())
	case reflect.String:
		if slices.Contains(f.Enum, v.String()) || v.Equal(def) {
			return v.String()
		}
		return Yours
	}
	return v.Interface()
}
