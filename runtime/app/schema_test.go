package app

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// every field has a description; the schema is a valid draft 2020-12 schema and accepts what a client gets.
func TestSchema(t *testing.T) {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(Schema())))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("config.json", doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("config.json")
	if err != nil {
		t.Fatal(err)
	}
	c := merge(t, Default(), `{"integrations":{"mcp_servers":{"a":{"command":"x"}}},"models":{"presets":{"a":{"roles":{"planner":null}}},"roles":{"planner":"a/b"}}}`)
	data, _ := c.JSON()
	instance, _ := jsonschema.UnmarshalJSON(strings.NewReader(string(data)))
	if err := compiled.Validate(instance); err != nil {
		t.Fatal(err)
	}
	instance.(map[string]any)["gateway"].(map[string]any)["port"] = json.Number("70000")
	if compiled.Validate(instance) == nil {
		t.Fatal("a port out of range passes")
	}
	n := describe(t, doc.(map[string]any), "")
	if n < 300 {
		t.Fatalf("only %d fields", n)
	}
	port := doc.(map[string]any)["properties"].(map[string]any)["gateway"].(map[string]any)["properties"].(map[string]any)["port"].(map[string]any)
	if port["x-restart"] != true || port["maximum"] != json.Number("65535") || port["default"] != json.Number("7777") {
		t.Error(port)
	}
}

func describe(t *testing.T, s map[string]any, path string) (n int) {
	properties, _ := s["properties"].(map[string]any)
	for name, p := range properties {
		sub := p.(map[string]any)
		for _, need := range []string{"description", "title"} {
			if text, _ := sub[need].(string); text == "" {
				t.Errorf("%s%s has no %s", path, name, need)
			}
		}
		n += 1 + describe(t, sub, path+name+".")
		if extra, ok := sub["additionalProperties"].(map[string]any); ok {
			n += describe(t, extra, path+name+".<>.")
		}
	}
	return n
}
