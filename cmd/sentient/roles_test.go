package main

import "testing"

func TestFastRoleSetToNullUsesPrimary(t *testing.T) {
	name := func(s string) *string { return &s }
	for what, c := range map[string]struct {
		roles map[string]*string
		want  string // "" is null
	}{
		"the saved primary":    {map[string]*string{"fast": nil}, "a/saved"},
		"the primary asked":    {map[string]*string{"fast": nil, "primary": name("a/new")}, "a/new"},
		"both null":            {map[string]*string{"fast": nil, "primary": nil}, ""},
		"a model of its own":   {map[string]*string{"fast": name("a/own")}, "a/own"},
		"fast was not changed": {map[string]*string{"primary": name("a/new")}, ""},
	} {
		got := ""
		if m := fastAsPrimary(c.roles, "a/saved")["fast"]; m != nil {
			got = *m
		}
		if got != c.want {
			t.Errorf("%s: %q, not %q", what, got, c.want)
		}
	}
}
