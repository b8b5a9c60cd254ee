package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sentient/transport/plan"
	"sentient/transport/plan/plantest"
)

// here runs an engine in this process, so that plans can be signed in to at the tests' own server.
func here(t *testing.T, home string, at plan.Endpoints) (p *process, stop func()) {
	t.Helper()
	_ = os.Remove(filepath.Join(home, "engine-discovery.json"))
	out := &lockedBuffer{}
	env := map[string]string{"SENTIENT_HOME": home, "SENTIENT_GATEWAY_TOKEN": testToken}
	m := &Main{Stdout: out, Stderr: out, UserHome: home, Getenv: func(k string) string { return env[k] }, plans: at}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	port := 0
	go func() { done <- m.serve(ctx, serveFlags{Port: &port, Log: "info"}) }()
	p = &process{t: t, home: home, out: out}
	stop = func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the engine ended with %v:\n%s", err, out)
		}
		done <- nil
	}
	t.Cleanup(func() { cancel(); <-done })
	eventually(t, "the engine to be ready: "+out.String(), func() bool {
		b, err := os.ReadFile(filepath.Join(home, "engine-discovery.json"))
		var d struct{ Address string }
		if err != nil || json.Unmarshal(b, &d) != nil {
			return false
		}
		p.url = d.Address
		status, _ := p.try("GET", "/api/bootstrap", nil)
		return status == 200
	})
	return p, stop
}

type signIn struct {
	AuthURL string `json:"auth_url"`
	State   string
}

// browse follows a sign-in's page as a person who agrees.
func (p *process) browse(provider string) string {
	p.t.Helper()
	s := call[signIn](p, "POST", "/api/models/connect/"+provider, nil)
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Get(s.AuthURL)
	if err != nil {
		p.t.Fatal(err)
	}
	res.Body.Close()
	return call[struct{ Status string }](p, "GET", "/api/models/connect/"+provider+"/"+s.State, nil).Status
}

func (p *process) keySet(provider string) bool {
	p.t.Helper()
	list := call[[]struct {
		ID     string
		KeySet bool `json:"key_set"`
	}](p, "GET", "/api/models/providers", nil)
	i := slices.IndexFunc(list, func(r struct {
		ID     string
		KeySet bool `json:"key_set"`
	}) bool {
		return r.ID == provider
	})
	return i >= 0 && list[i].KeySet
}

// A person connects both plans in the browser, chats on the ChatGPT plan, restarts, and signs out. No token is ever readable on disk.
func TestPlans(t *testing.T) {
	server, err := plantest.New()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	u := server.URL
	at := plan.Endpoints{OpenRouterAuth: u + "/auth", OpenRouterKeys: u + "/keys", Authorize: u + "/authorize", Token: u + "/token", Revoke: u + "/revoke", Keys: u + "/jwks", Issuer: u}
	home := newHome(t, nil, fmt.Sprintf("models:\n  providers:\n    chatgpt:\n      api_base: %s/v1\n  roles:\n    primary: chatgpt/gpt-6-sol\n    fast: chatgpt/gpt-6-luna\n", u))
	p, stop := here(t, home, at)

	if p.keySet("chatgpt") {
		t.Fatal("signed in already")
	}
	if status, out := p.try("GET", "/api/models/catalog/chatgpt", nil); status != 502 || !strings.Contains(string(out), "Sign in with ChatGPT") {
		t.Fatalf("%d %s", status, out)
	}
	if status, _ := p.try("GET", "/api/models/connect/openrouter/nothing", nil); status != 404 {
		t.Fatal(status)
	}
	w := p.dial("")
	w.next("hello")
	if got := p.browse("chatgpt"); got != "connected" {
		t.Fatal(got, p.out)
	}
	if e := w.next("config.updated"); fmt.Sprint(e["data"]) != "map[sections:[secrets]]" {
		t.Fatal(e)
	}
	a := call[map[string]any](p, "GET", "/api/models/connect/chatgpt", nil)
	if a["signed_in"] != true || a["welcome"] != true || a["available"] != true || a["email"] != "maya@example.com" || a["manage_usage_url"] != "https://chatgpt.com/settings/usage" || !p.keySet("chatgpt") {
		t.Fatal(a)
	}
	call[map[string]any](p, "POST", "/api/models/connect/chatgpt/welcome", nil)
	if c := call[map[string]any](p, "POST", "/api/models/connect/chatgpt/check", nil); c["ok"] != true {
		t.Fatal(c)
	}
	if status, _ := p.try("POST", "/api/models/connect/openai/check", nil); status != 404 {
		t.Fatal(status)
	}
	list := call[[]map[string]any](p, "GET", "/api/models/catalog/chatgpt", nil)
	if len(list) != 3 || list[0]["id"] != "chatgpt/gpt-6-luna" || list[0]["context_length"] != 128000.0 {
		t.Fatal(list)
	}
	says := func() any {
		e := p.chat(map[string]any{"text": "Hello?"})
		return e[len(e)-1]["content"]
	}
	if got := says(); got != "Hello from your plan." {
		t.Fatal(got, p.out)
	}
	server.Expire()
	if got := says(); got != "Hello from your plan." {
		t.Fatal(got, p.out)
	}
	stop()
	p, stop = here(t, home, at)
	if got := says(); got != "Hello from your plan." {
		t.Fatal(got, p.out)
	}
	if a = call[map[string]any](p, "GET", "/api/models/connect/chatgpt", nil); a["signed_in"] != true || a["welcome"] != false {
		t.Fatal(a)
	}
	if got := p.browse("openrouter"); got != "connected" || !p.keySet("openrouter") {
		t.Fatal(got)
	}
	noTokens(t, home)
	call[map[string]any](p, "DELETE", "/api/secrets/openrouter", nil)
	call[map[string]any](p, "DELETE", "/api/secrets/chatgpt", nil)
	if len(server.Calls("/revoke")) != 1 || p.keySet("chatgpt") || p.keySet("openrouter") {
		t.Fatal("still connected")
	}
	events := p.chat(map[string]any{"text": "Hello?"})
	if !slices.ContainsFunc(events, func(e map[string]any) bool {
		return e["type"] == "error" && strings.Contains(fmt.Sprint(e["message"]), "Sign in with ChatGPT")
	}) {
		t.Fatal(events)
	}
	call[map[string]any](p, "PATCH", "/api/config", `{"models":{"chatgpt_client_id":""}}`)
	if status, _ := p.try("POST", "/api/models/connect/chatgpt", nil); status != 409 {
		t.Fatal(status)
	}
	if a = call[map[string]any](p, "GET", "/api/models/connect/chatgpt", nil); a["available"] != false || a["reason"] == nil {
		t.Fatal(a)
	}
	stop()
	noTokens(t, home)
}

// noTokens looks at every byte of the home.
func noTokens(t *testing.T, home string) {
	t.Helper()
	err := filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return nil // it went meanwhile
		}
		for _, secret := range []string{"sk-or-test", "refresh_token", "access_token", "code_verifier"} {
			if bytes.Contains(b, []byte(secret)) {
				t.Errorf("%s holds %s", d.Name(), secret)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
