package app

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
)

// A field is what the tags of one configuration field say. The tags are the one place where a key, its default, its limits and its
// description are written; defaults, decoding, validation, the schema and the file all read them here.
//
//	json      the key
//	default   JSON, or plain text for a string; maps and lists without one start empty
//	range     "low..high", either side may be missing; for lists and maps it holds for each value
//	enum      the allowed values; for lists and maps of each value
//	format    a check of text by name, see checkText
//	keys      a check of a map's keys by name, see checkKey
//	nullable  a map that may be null
//	restart   takes effect at the next start only
//	doc       one plain sentence
type field struct {
	Name, Doc, Format, Keys string
	Index                   []int
	Type                    reflect.Type
	Default                 string
	Min, Max                *float64
	Enum                    []string
	Restart, Nullable       bool
}

// fieldsOf lists the fields of a configuration struct in order; fields of embedded structs count as its own, as they do in JSON.
func fieldsOf(t reflect.Type) []field {
	if known, ok := fieldsByType.Load(t); ok {
		return known.([]field)
	}
	fields := readFields(t)
	fieldsByType.Store(t, fields)
	return fields
}

// fieldsByType remembers what never changes, as encoding/json does: the tags of each type. Its lists are read only.
var fieldsByType sync.Map

func readFields(t reflect.Type) []field {
	fields := make([]field, 0, t.NumField())
	for i := range t.NumField() {
		sf := t.Field(i)
		if sf.Anonymous {
			for _, f := range fieldsOf(sf.Type) {
				f.Index = append([]int{i}, f.Index...) // a new list
				fields = append(fields, f)
			}
			continue
		}
		fields = append(fields, parseField(sf, i))
	}
	return fields
}

func parseField(sf reflect.StructField, i int) field {
	f := field{
		Name: sf.Tag.Get("json"), Doc: sf.Tag.Get("doc"), Format: sf.Tag.Get("format"), Keys: sf.Tag.Get("keys"),
		Index: []int{i}, Type: sf.Type, Default: sf.Tag.Get("default"),
		Restart: sf.Tag.Get("restart") == "true", Nullable: sf.Tag.Get("nullable") == "true" || sf.Type.Kind() == reflect.Pointer,
	}
	if low, high, ok := strings.Cut(sf.Tag.Get("range"), ".."); ok {
		f.Min, f.Max = limit(low), limit(high)
	}
	if enum, ok := sf.Tag.Lookup("enum"); ok {
		f.Enum = strings.Split(enum, ",")
	}
	return f
}

func limit(s string) *float64 {
	if v, err := strconv.ParseFloat(s, 64); err == nil {
		return &v
	}
	return nil
}

// element is the field as it holds for each value of a list or map.
func (f field) element() field {
	e := f
	e.Type, e.Keys = f.Type.Elem(), ""
	e.Nullable = e.Type.Kind() == reflect.Pointer
	return e
}

// setDefaults fills a zero struct with the defaults of its tags. A default that does not parse leaves the zero value; a test reads
// every one of them back.
func setDefaults(v reflect.Value) {
	for _, f := range fieldsOf(v.Type()) {
		fv := v.FieldByIndex(f.Index)
		switch kind := f.Type.Kind(); {
		case kind == reflect.Struct:
			setDefaults(fv)
		case kind == reflect.String:
			fv.SetString(f.Default)
		case f.Default != "":
			_ = setDefaultJSON(fv, f)
		case kind == reflect.Map && !f.Nullable:
			fv.Set(reflect.MakeMap(f.Type))
		case kind == reflect.Slice:
			fv.Set(reflect.MakeSlice(f.Type, 0, 0))
		}
	}
}

// setDefaultJSON reads a default; entries of a map of structs start from the defaults of that struct.
func setDefaultJSON(fv reflect.Value, f field) error {
	if f.Type.Kind() != reflect.Map || f.Type.Elem().Kind() != reflect.Struct {
		return json.Unmarshal([]byte(f.Default), fv.Addr().Interface())
	}
	tree, err := parseJSON([]byte(f.Default))
	if err != nil {
		return fmt.Errorf("the default of %s is not an object", f.Name)
	}
	fv.Set(reflect.MakeMap(f.Type))
	d := decoder{}
	d.value(tree, fv, f, nil)
	return nil
}

// newValue is a fresh value of a type with its defaults.
func newValue(t reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.Struct:
		setDefaults(v)
	case reflect.Map:
		v.Set(reflect.MakeMap(t))
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
	}
	return v
}

// cloneValue is a deep copy of anything a configuration is made of.
func cloneValue(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		p := reflect.New(v.Type().Elem())
		p.Elem().Set(cloneValue(v.Elem()))
		return p
	case reflect.Struct:
		s := reflect.New(v.Type()).Elem()
		for i := range v.NumField() {
			s.Field(i).Set(cloneValue(v.Field(i)))
		}
		return s
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		m := reflect.MakeMapWithSize(v.Type(), v.Len())
		for it := v.MapRange(); it.Next(); {
			m.SetMapIndex(it.Key(), cloneValue(it.Value()))
		}
		return m
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		s := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			s.Index(i).Set(cloneValue(v.Index(i)))
		}
		return s
	}
	return v
}
