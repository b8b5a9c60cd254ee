package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func decode[T any](t *testing.T, b []byte) (v T) {
	t.Helper()
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	return v
}

func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	home := t.TempDir()
	m := &Main{Stdout: &out, Stderr: &out, UserHome: home, Getenv: func(k string) string { return map[string]string{"SENTIENT_HOME": home}[k] }}
	err := m.Parse(args)
	if err == nil {
		err = m.Run(t.Context())
	}
	return out.String(), err
}

func TestCommands(t *testing.T) {
	if out, err := run(t, "version"); err != nil || strings.TrimSpace(out) != version {
		t.Errorf("%q %v", out, err)
	}
	out, err := run(t, "routes")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if err != nil || len(lines) < 30 {
		t.Errorf("%q %v", out, err)
	}
	for _, l := range lines {
		method, path, ok := strings.Cut(l, " ")
		if !ok || method != strings.ToUpper(method) || !strings.HasPrefix(path, "/") {
			t.Errorf("not METHOD PATH: %q", l)
		}
	}
	for _, args := range [][]string{nil, {"--help"}, {"serve", "--help"}} {
		if out, err = run(t, args...); err != nil || !strings.Contains(out, "serve") {
			t.Errorf("%v: %q %v", args, out, err)
		}
	}
	if _, err = run(t, "sing"); err == nil || !strings.Contains(err.Error(), "--help") {
		t.Errorf("%v", err)
	}
	if out, err = run(t, "doctor"); !strings.Contains(out, "The data folder is") || err != nil && err != errUnwell {
		t.Errorf("%q %v", out, err)
	}
}
