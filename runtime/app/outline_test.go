package app

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// Whatever stands in the settings' free text, lists and maps is not in the outline; numbers, switches and choices are.
func TestOutlineHasNoWords(t *testing.T) {
	c := Default()
	marked := mark(reflect.ValueOf(c).Elem())
	if marked < 20 {
		t.Fatalf("only %d texts were marked", marked)
	}
	c.Gateway.Port = 7001
	b, err := json.Marshal(Outline(c))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(b), marker) {
		t.Fatalf("%s", b)
	}
	var got struct{ Gateway struct{ Port int } }
	if err := json.Unmarshal(b, &got); err != nil || got.Gateway.Port != 7001 {
		t.Fatalf("%v: %s", err, b)
	}
	if same, _ := json.Marshal(Outline(Default())); strings.Contains(string(same), Yours) {
		t.Fatalf("%s", same)
	}
}

const marker = "zebra"

// mark puts the marker into every text, list and map of a struct and counts them.
func mark(v reflect.Value) (n int) {
	switch v.Kind() {
	case reflect.Struct:
		for _, f := range v.Fields() {
			n += mark(f)
		}
	case reflect.String:
		v.SetString(marker)
		n++
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		n += mark(v.Elem())
	case reflect.Slice:
		e := reflect.New(v.Type().Elem()).Elem()
		n += mark(e)
		v.Set(reflect.Append(v, e))
	case reflect.Map:
		k, e := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		n += mark(k) + mark(e)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(k, e)
	}
	return n
}
