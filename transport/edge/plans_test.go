package edge

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"sentient/actors/msg"
)

// fakePlans stands for the plans; it notes what was asked.
type fakePlans struct{ asked []string }

func (f *fakePlans) ConnectOpenRouter(context.Context) (any, error) {
	return map[string]string{"auth_url": "https://or", "state": "s1"}, nil
}
func (f *fakePlans) ConnectChatGPT(context.Context) (any, error) {
	return nil, msg.NewFault(msg.Conflict, "The sign-in is turned off.")
}
func (f *fakePlans) Status(provider, state string) (any, bool) {
	return map[string]any{"status": "waiting", "error": nil}, provider == "openrouter" && state == "s1"
}
func (f *fakePlans) Account(context.Context) (any, error) {
	return map[string]bool{"signed_in": true}, nil
}
func (f *fakePlans) Welcomed(context.Context) error {
	f.asked = append(f.asked, "welcomed")
	return nil
}
func (f *fakePlans) SignOut(context.Context) error { f.asked = append(f.asked, "out"); return nil }
func (f *fakePlans) Catalog(_ context.Context, provider string) (any, error) {
	if provider != "nous" {
		return nil, msg.NewFault(msg.NotFound, "no list")
	}
	return nil, &msg.ModelError{Fault: msg.FaultKey, Message: "Nous Portal has no API key yet."}
}
func (f *fakePlans) ClaudeCode(context.Context) (any, error) {
	return map[string]bool{"enabled": false}, nil
}

// The routes of "Connecting plans": literal sign-in paths beside the check of any provider, statuses and bodies (A-335: 409,
// 502 without a key, A-342: 404 for an unknown sign-in).
func TestPlanRoutes(t *testing.T) {
	f := &fakePlans{}
	g := serve(t, func(o *Options) { o.Plans = f })
	for _, c := range []struct {
		method, path string
		status       int
		want         string
	}{
		{"POST", "/api/models/connect/openrouter", 200, `{"auth_url":"https://or","state":"s1"}`},
		{"GET", "/api/models/connect/openrouter/s1", 200, `{"error":null,"status":"waiting"}`},
		{"GET", "/api/models/connect/openrouter/s2", 404, ""},
		{"GET", "/api/models/connect/chatgpt/s1", 404, ""},
		{"GET", "/api/models/connect/chatgpt", 200, `{"signed_in":true}`},
		{"POST", "/api/models/connect/chatgpt", 409, `{"detail":"The sign-in is turned off."}`},
		{"POST", "/api/models/connect/chatgpt/welcome", 200, `{"ok":true}`},
		{"DELETE", "/api/models/connect/chatgpt", 200, `{"ok":true}`},
		{"GET", "/api/models/catalog/nous", 502, `{"detail":"Nous Portal has no API key yet."}`},
		{"GET", "/api/models/catalog/acme", 404, `{"detail":"no list"}`},
		{"GET", "/api/models/claude-code", 200, `{"enabled":false}`},
		{"POST", "/api/models/connect/openrouter/check", 200, ""},
	} {
		res := g.call(c.method, c.path, "")
		var any any
		if res.status != c.status || json.Unmarshal([]byte(res.body), &any) != nil || c.want != "" && res.body != c.want {
			t.Errorf("%s %s: %d %s", c.method, c.path, res.status, res.body)
		}
	}
	if !slices.Equal(f.asked, []string{"welcomed", "out"}) {
		t.Error(f.asked)
	}
}
