package tool

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func withSchema(t testing.TB, schema string) Entry {
	t.Helper()
	p := plug("p", "echo")
	p.Tools[0].Parameters = json.RawMessage(schema)
	r, err := New(nil, p)
	if err != nil {
		t.Fatal(err)
	}
	e, _ := r.Lookup("echo")
	return e
}

const demo = `{"type":"object","properties":{
	"name":{"type":"string","minLength":1,"maxLength":5},
	"limit":{"type":"integer","minimum":1,"maximum":10,"default":8},
	"ratio":{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1},
	"deep":{"type":"boolean","default":false},
	"kind":{"enum":["a","b"]},
	"tags":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":2,"default":["x"]},
	"note":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null},
	"node":{"$ref":"#/$defs/node"}},
	"required":["name"],"additionalProperties":false,
	"$defs":{"node":{"type":"object","properties":{"child":{"$ref":"#/$defs/node"},"n":{"type":["integer","null"]}},"required":["n"]}}}`

// wrong arguments give {error: "Invalid arguments for <tool>: ...", schema}.
func TestDecode(t *testing.T) {
	e := withSchema(t, demo)
	good := map[string]string{
		`{"name":"x"}`: `{"deep":false,"limit":8,"name":"x","tags":["x"]}`,
		`{"name":"x","limit":"3","deep":"True","tags":["q"],"note":"n"}`: `{"deep":true,"limit":3,"name":"x","note":"n","tags":["q"]}`,
		`{"name":"x","node":{"n":1,"child":{"n":null}},"ratio":0.5}`:     `{"deep":false,"limit":8,"name":"x","node":{"child":{"n":null},"n":1},"ratio":0.5,"tags":["x"]}`,
	}
	for in, want := range good {
		if got, err := e.Decode(in); err != nil || CompactJSON(got) != want {
			t.Errorf("%s gave %s %v", in, CompactJSON(got), err)
		}
	}
	bad := map[string]string{
		``:                                "name: is required",
		`null`:                            "name: is required",
		`{"name":"x"} x`:                  "there is something after the JSON object",
		`["x"]`:                           "they must be one JSON object",
		`{"name":`:                        "they are not valid JSON",
		"{\"name\":\"\xff\"}":             "they are not valid text (UTF-8)",
		`{"name":5}`:                      "name: must be a text",
		`{"name":""}`:                     "name: must not be empty",
		`{"name":"123456"}`:               "name: must have at most 5 characters",
		`{"name":"x","limit":1.5}`:        "limit: must be a whole number",
		`{"name":"x","limit":11}`:         "limit: must be at most 10",
		`{"name":"x","ratio":1}`:          "ratio: must be less than 1",
		`{"name":"x","kind":"c"}`:         `kind: must be one of "a", "b"`,
		`{"name":"x","tags":[]}`:          "tags: must have at least 1 entries",
		`{"name":"x","tags":["a",1]}`:     "tags[1]: must be a text",
		`{"name":"x","note":1}`:           "note: must be a text",
		`{"name":"x","node":{"child":1}}`: "node.n: is required; node.child: must be an object",
		`{"name":"x","extra":1}`:          "extra: is not an argument of this tool",
		`{"limit":"x","a":1,"b":1,"c":1,"d":1,"e":1}`: "name: is required; limit: must be a whole number; a: is not an argument of this tool; b: is not an argument of this tool; c: is not an argument of this tool",
	}
	for in, want := range bad {
		got, err := e.Decode(in)
		if err == nil || got != nil || err.Message != "Invalid arguments for echo: "+want {
			t.Errorf("%s gave %v", in, err)
			continue
		}
		var wire map[string]any
		if json.Unmarshal([]byte(CompactJSON(err)), &wire) != nil || len(wire) != 2 || wire["error"] != err.Message || wire["schema"].(map[string]any)["type"] != "object" {
			t.Errorf("on the wire: %s", CompactJSON(err))
		}
	}
}

func TestDefaultsAreNotShared(t *testing.T) {
	e := withSchema(t, demo)
	first, _ := e.Decode(`{"name":"x"}`)
	first["tags"].([]any)[0] = "changed"
	second, _ := e.Decode(`{"name":"x"}`)
	if second["tags"].([]any)[0] != "x" {
		t.Error("a tool changed the default of later calls")
	}
}

func TestSchemasThatRunAway(t *testing.T) {
	e := withSchema(t, `{"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"},{"type":"string"}]}}}`)
	if _, err := e.Decode(`{}`); err != nil && len(err.Message) > 500 {
		t.Error(err)
	}
	e = withSchema(t, `{"type":"object","properties":{"a":false,"b":true,"c":{"allOf":[{"type":"string"},{"const":"k"}]}},"exclusiveMinimum":true}`)
	if args, err := e.Decode(`{"a":1}`); err != nil || args["a"] == nil {
		t.Error("a schema that cannot be read must allow any object:", err)
	}
	e = withSchema(t, `{"type":"object","properties":{"a":false,"b":true,"c":{"allOf":[{"type":"string"},{"const":"k"}]}}}`)
	if _, err := e.Decode(`{"a":1,"b":[],"c":"q"}`); err == nil || err.Message != `Invalid arguments for echo: a: is not allowed; c: must be "k"` {
		t.Error(err)
	}
	if _, err := (withSchema(t, ``)).Decode(`{"anything":1}`); err != nil {
		t.Error(err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{``, `{}`, `{"name":"x"}`, `{"name":"x","node":{"n":1,"child":{"n":2}}}`, `{"limit":"1e99"}`, `[`, `{"name":"x","tags":["NaN"]}`} {
		f.Add(s)
	}
	e := withSchema(f, demo)
	f.Fuzz(func(t *testing.T, text string) {
		args, err := e.Decode(text)
		if err != nil {
			if !strings.HasPrefix(err.Message, "Invalid arguments for echo: ") {
				t.Fatal(err)
			}
			return
		}
		again, err := e.Decode(CompactJSON(args))
		if err != nil || !reflect.DeepEqual(args, again) {
			t.Fatalf("%v is not stable: %v %v", args, again, err)
		}
	})
}

func FuzzSchema(f *testing.F) {
	f.Add(demo, `{"name":"x"}`)
	f.Add(`{"items":{"$ref":"#"},"anyOf":[true,false]}`, `{"a":[[]]}`)
	f.Fuzz(func(t *testing.T, schema, args string) {
		p := plug("p", "echo")
		p.Tools[0].Parameters = json.RawMessage(schema)
		r, err := New(nil, p)
		if err != nil {
			return
		}
		e, _ := r.Lookup("echo")
		e.Decode(args)
	})
}
