package tool

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"sentient/actors/msg"
)

func run(context.Context, *msg.Call) (any, error) { return nil, nil }

func plug(id string, tools ...string) msg.Plugin {
	p := msg.Plugin{ID: id, DisplayName: id, Category: "core", Auth: "none"}
	for _, t := range tools {
		p.Tools = append(p.Tools, msg.Tool{Name: t, Description: "does " + t, Run: run})
	}
	return p
}

func registry(t *testing.T, plugins ...msg.Plugin) *Registry {
	t.Helper()
	r, err := New(nil, plugins...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func schemaNames(list []msg.ToolSchema) []string {
	out := []string{}
	for _, s := range list {
		out = append(out, s.Name)
	}
	return out
}

func TestRegistry(t *testing.T) {
	r, err := New([]string{"off", " b_two "}, plug("a", "a_one"), plug("b", "b_one", "b_two"), plug("off", "c"), plug("d", "a_one"), plug("e", "bad name"), plug("f", "f"))
	if err == nil || !strings.Contains(err.Error(), "plugin d: another tool is already called a_one") || !strings.Contains(err.Error(), "plugin e") {
		t.Fatal(err)
	}
	if got := schemaNames(r.Schemas(nil)); !slices.Equal(got, []string{"a_one", "b_one", "f"}) {
		t.Fatal(got)
	}
	next, err := r.With(plug("a", "a_one", "a_new"))
	if err != nil {
		t.Fatal(err)
	}
	if got := schemaNames(next.Schemas(nil)); !slices.Equal(got, []string{"a_one", "a_new", "b_one", "f"}) {
		t.Fatal(got)
	}
	if _, ok := r.Lookup("a_new"); ok {
		t.Error("the older registry changed")
	}
	if _, ok := next.Without("a").Lookup("a_one"); ok {
		t.Error("a removed plugin's tool is still there")
	}
	for _, bad := range []msg.Plugin{{}, {ID: "x", Tools: []msg.Tool{{Name: "x"}}}, {ID: "x", Tools: []msg.Tool{{Name: "x", Run: run, Parameters: json.RawMessage("[]")}}}, plug("x", "same", "same")} {
		if _, err := r.With(bad); err == nil {
			t.Errorf("%+v was registered", bad)
		}
	}
	if _, ok := (&Registry{}).Lookup("x"); ok || len((&Registry{}).Catalog()) != 0 {
		t.Error("the empty registry has something")
	}
}

// a scoped plugin is never offered by default, and Schemas has its tools only when named.
func TestScopedAndHidden(t *testing.T) {
	scoped, hidden := plug("notepad", "task_notepad"), plug("folders", "folder_search")
	scoped.Scoped, hidden.Hidden = true, true
	r := registry(t, plug("a", "one", "two"), scoped, hidden)
	for _, c := range []struct{ names, want []string }{
		{nil, []string{"one", "two"}},
		{[]string{"a", "task_notepad"}, []string{"one", "two", "task_notepad"}},
		{[]string{"notepad", "two"}, []string{"two", "task_notepad"}},
		{[]string{"folder_search"}, []string{}},
		{[]string{}, []string{}},
	} {
		if got := schemaNames(r.Schemas(c.names)); !slices.Equal(got, c.want) {
			t.Errorf("%q gave %q, want %q", c.names, got, c.want)
		}
	}
	if len(r.Tools()) != 2 || len(r.Catalog()) != 1 {
		t.Error("a scoped or hidden plugin is offered")
	}
	if _, ok := r.Lookup("folder_search"); !ok {
		t.Error("a hidden tool cannot be called")
	}
	if r.Select(Selection{All: true})[1] != "two" || len(r.Select(Selection{All: true})) != 2 {
		t.Error("a scoped tool was selected")
	}
}

func TestCatalogJSON(t *testing.T) {
	p := plug("a", "one")
	p.Tools[0].Risk = msg.RiskSend
	got := CompactJSON(registry(t, p).Catalog())
	want := `[{"id":"a","display_name":"a","description":"","category":"core","icon":"","auth":"none","selection_hint":"","tools":[{"name":"one","description":"does one","risk":"send"}]}]`
	if got != want {
		t.Errorf("%s", got)
	}
}
