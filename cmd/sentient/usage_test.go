package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sentient/transport/llm/llmtest"
)

// paidHome is a home whose primary model is paid by the token and played by the scripted server. GPT-4o is $2.50 and $10 for a
// million tokens; the fallback runs on this computer.
func paidHome(t *testing.T, model *llmtest.Server, models string) string {
	t.Helper()
	t.Setenv("OPENAI_API_KEY", "sk-test-0123456789")
	home := t.TempDir()
	cfg := fmt.Sprintf("gateway: {port: 0}\nassistant: {timezone: Asia/Kolkata}\nchat: {auto_title: false}\nmodels:\n  roles: {primary: openai/gpt-4o, fast: openai/gpt-4o}\n  providers:\n    openai: {api_base: %[1]s/v1}\n    lm_studio: {api_base: %[1]s/v1}\n", model.URL())
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(cfg+models), 0o600); err != nil {
		t.Fatal(err)
	}
	return home
}

// costing is a reply of so many prompt tokens, 2.5 micro-dollars each.
func costing(prompt int) llmtest.Reply {
	r := llmtest.Text("Fine.")
	r.Usage = &llmtest.Usage{Prompt: prompt}
	return r
}

type budget struct {
	State, Message, Month string
	Spent                 float64 `json:"spent_usd"`
	Percent               float64
	KeptGoing             bool `json:"kept_going"`
}

type meter struct {
	LocalOnly bool `json:"local_only"`
	Periods   []map[string]any
	Budget    budget
}

type notices struct {
	Notifications []map[string]any
	Unread        int
}

// A month in the real engine: counted, warned, refused with its code and answered by the fallback, kept going, over kills.
func TestTheBudget(t *testing.T) {
	model := scripted(t, llmtest.Options{})
	p := start(t, paidHome(t, model, "  monthly_budget_usd: 0.01\n"))
	w := p.dial("")
	w.next("hello")
	say := func() (errText, code any) {
		for _, e := range p.chat(map[string]any{"text": "Hello."}) {
			if e["type"] == "error" {
				errText, code = e["message"], e["code"]
			}
		}
		return errText, code
	}
	model.Enqueue(costing(3200)) // 0.008
	say()
	if b := w.next("budget.updated")["data"].(map[string]any); b["state"] != "warning" || b["percent"] != 80.0 || b["spent_usd"] != 0.008 {
		t.Fatalf("%v", b)
	}
	if n := w.next("notification.new")["data"].(map[string]any); n["kind"] != "budget" || n["message"] == "" {
		t.Fatalf("%v", n)
	}
	p.kill()
	p = start(t, p.home)
	w = p.dial("")
	w.next("hello")
	model.Enqueue(costing(4001)) // 0.0100025 more: it starts below the limit and passes it
	say()
	w.next("notification.new")
	p.kill()
	p = start(t, p.home)
	asked := len(model.Requests())
	text, code := say()
	if code != "budget_reached" || !strings.Contains(text.(string), "so GPT-4o was not asked") || len(model.Requests()) != asked {
		t.Fatal(text, code, len(model.Requests())-asked)
	}
	m := call[meter](p, "GET", "/api/usage/cost", nil)
	if m.Budget.State != "reached" || m.Budget.Spent != 0.0180025 || m.Budget.KeptGoing || m.Budget.Message == "" || len(m.Periods) != 3 {
		t.Fatalf("%+v", m)
	}
	for i, key := range []string{"today", "week", "month"} {
		if m.Periods[i]["key"] != key {
			t.Fatalf("%+v", m.Periods[i])
		}
	}
	if m.Periods[2]["paid_calls"] != 2.0 || m.Periods[2]["cost_usd"] != 0.0180025 { // what was refused is no call
		t.Fatalf("%+v", m.Periods[2])
	}
	list := call[notices](p, "GET", "/api/notifications", nil)
	if len(list.Notifications) != 2 || list.Unread != 2 { // also over two kills
		t.Fatalf("%+v", list)
	}
	if b := call[map[string]any](p, "GET", "/api/bootstrap", nil); b["unread_notifications"] != 2.0 {
		t.Fatalf("%v", b["unread_notifications"])
	}
	call[map[string]any](p, "PATCH", "/api/config", `{"models":{"fallbacks":{"primary":["lm_studio/local"]}}}`)
	model.Enqueue(llmtest.Text("From here."))
	if text, _ := say(); text != nil || len(model.Requests()) != asked+1 {
		t.Fatal(text)
	}
	if r := model.Requests()[asked]; r.Model != "local" {
		t.Fatalf("%s answered", r.Model)
	}
	w = p.dial("")
	w.next("hello")
	if b := call[budget](p, "POST", "/api/usage/budget/keep-going", nil); !b.KeptGoing || b.State != "reached" {
		t.Fatalf("%+v", b)
	}
	if b := w.next("budget.updated")["data"].(map[string]any); b["kept_going"] != true {
		t.Fatalf("%v", b)
	}
	model.Enqueue(costing(1))
	say()
	if r := model.Requests()[asked+1]; r.Model != "gpt-4o" {
		t.Fatalf("%s answered", r.Model)
	}
	call[map[string]any](p, "PATCH", "/api/config", `{"models":{"budget_at_limit":"stop"}}`)
	if status, body := p.try("POST", "/api/usage/budget/keep-going", nil); status != 409 {
		t.Fatal(status, string(body))
	}
	call[map[string]any](p, "PATCH", "/api/config", `{"models":{"monthly_budget_usd":0,"budget_at_limit":"ask"}}`)
	if status, body := p.try("POST", "/api/usage/budget/keep-going", nil); status != 409 || !strings.Contains(string(body), `"detail"`) {
		t.Fatal(status, string(body))
	}
}

// Every call is counted: replies, titles, tests of a model, incognito chats; and Local only lets none of the paid ones out.
func TestEveryCallIsCounted(t *testing.T) {
	model := scripted(t, llmtest.Options{})
	p := start(t, paidHome(t, model, ""))
	call[map[string]any](p, "PATCH", "/api/config", `{"chat":{"auto_title":true},"models":{"roles":{"fast":"lm_studio/small"}}}`)
	for range 2 {
		model.Enqueue(costing(1000))
	}
	w := p.dial("")
	w.next("hello")
	w.send(map[string]any{"type": "chat.send", "text": "Hello."})
	w.next("done")
	model.Enqueue(llmtest.Text("A Short Title"))
	type report struct {
		Totals   map[string]any
		ByModel  []map[string]any `json:"by_model"`
		BySource []map[string]any `json:"by_source"`
		ByDay    []map[string]any `json:"by_day"`
	}
	usage := func() report { return call[report](p, "GET", "/api/usage", nil) }
	eventually(t, "the title to be counted", func() bool { return len(usage().BySource) == 2 })
	model.Enqueue(costing(2000))
	p.chat(map[string]any{"text": "Secret.", "incognito": true})
	model.Enqueue(costing(500), llmtest.Tools(llmtest.Call{ID: "a", Name: "find_city", Arguments: "{}"}))
	call[map[string]any](p, "POST", "/api/models/test", map[string]any{"model": "openai/gpt-4o", "role": "primary"})
	check := func() {
		t.Helper()
		r := usage()
		count := map[any]any{}
		for _, s := range r.BySource {
			count[s["source"]] = s["calls"]
		}
		if count["chat"] != 2.0 || count["background"] != 3.0 || len(r.ByDay) == 0 || r.Totals["prompt_tokens"].(float64) < 3500 {
			t.Fatalf("%+v", r)
		}
		for _, m := range r.ByModel {
			if local := m["model"] == "lm_studio/small"; local != (m["cost_usd"] == nil) {
				t.Fatalf("%v", m)
			}
		}
	}
	eventually(t, "the test to be counted", func() bool {
		n := 0.0
		for _, s := range usage().BySource {
			n += s["calls"].(float64)
		}
		return n == 5
	})
	check()
	p.stop()
	p = start(t, p.home)
	check()
	call[map[string]any](p, "PATCH", "/api/config", `{"models":{"local_only":true}}`)
	asked := len(model.Requests())
	events := p.chat(map[string]any{"text": "Hello?"})
	var code any
	for _, e := range events {
		if e["type"] == "error" {
			code = e["code"]
		}
	}
	if code != "local_only" || len(model.Requests()) != asked {
		t.Fatalf("%v", events)
	}
	if m := call[meter](p, "GET", "/api/usage/cost", nil); !m.LocalOnly || m.Budget.State != "off" {
		t.Fatalf("%+v", m)
	}
}

// Notes of others, read, deleted, and what a window that was away is told.
func TestNotifications(t *testing.T) {
	p := start(t, newHome(t, nil, ""))
	w := p.dial("")
	hello := w.next("hello")
	n := call[map[string]any](p, "POST", "/api/notifications", map[string]any{"message": "The *build* is done.", "title": "Build", "source": "a script", "kind": "error"})
	if n["kind"] != "info" || n["read"] != false || n["task_id"] != nil || n["payload"].(map[string]any)["source"] != "a script" {
		t.Fatalf("%v", n)
	}
	if got := w.next("notification.new")["data"].(map[string]any); got["id"] != n["id"] || got["message"] != "The *build* is done." {
		t.Fatalf("%v", got)
	}
	m := call[map[string]any](p, "POST", "/api/notifications", map[string]any{"message": "Another."})
	p.kill()
	p = start(t, p.home)
	w = p.dial(fmt.Sprintf("&after=%v", hello["seq"]))
	for _, want := range []any{n["id"], m["id"]} {
		e := w.next("notification.new")
		if e["data"].(map[string]any)["id"] != want || e["replay"] != true || e["ts"] == nil {
			t.Fatalf("%v", e)
		}
	}
	if a := call[map[string]any](p, "POST", "/api/notifications/"+n["id"].(string)+"/read", nil); a["ok"] != true || a["unread"] != 1.0 {
		t.Fatalf("%v", a)
	}
	if e := w.next("notification.read"); e["data"].(map[string]any)["id"] != n["id"] {
		t.Fatalf("%v", e)
	}
	if l := call[notices](p, "GET", "/api/notifications?unread_only=true", nil); len(l.Notifications) != 1 || l.Notifications[0]["id"] != m["id"] {
		t.Fatalf("%v", l)
	}
	call[map[string]any](p, "POST", "/api/notifications/read-all", nil)
	if e := w.next("notification.read"); e["data"].(map[string]any)["id"] != nil {
		t.Fatalf("%v", e)
	}
	call[map[string]any](p, "DELETE", "/api/notifications/"+m["id"].(string), nil)
	call[map[string]any](p, "DELETE", "/api/notifications", nil)
	w.next("notification.deleted")
	if e := w.next("notification.deleted"); e["data"].(map[string]any)["id"] != nil {
		t.Fatalf("%v", e)
	}
	if status, _ := p.try("DELETE", "/api/notifications/"+m["id"].(string), nil); status != 404 {
		t.Fatal(status)
	}
	if l := call[notices](p, "GET", "/api/notifications", nil); len(l.Notifications) != 0 || l.Unread != 0 {
		t.Fatalf("%v", l)
	}
}
