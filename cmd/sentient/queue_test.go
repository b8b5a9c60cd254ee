package main

import (
	"fmt"
	"strings"
	"testing"

	"sentient/runtime/app"
	"sentient/transport/llm/llmtest"
)

// ollamaHome makes a home whose models are the scripted server's, reached as Ollama.
func ollamaHome(t *testing.T, model *llmtest.Server) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("models:\n  roles:\n    primary: ollama_chat/qwen3:8b\n    fast: ollama_chat/qwen3:8b\n  providers:\n")
	for _, p := range []string{"ollama", "ollama_chat"} {
		fmt.Fprintf(&b, "    %s:\n      api_base: %s\n", p, model.URL())
	}
	return newHome(t, nil, b.String())
}

type modelBusy struct {
	Busy           bool
	Job            *string
	Model          *string
	Since          *string
	Waiting        int
	Deferred       int
	DeferredReason *string `json:"deferred_reason"`
}

func (p *process) busy() modelBusy {
	p.t.Helper()
	return call[modelBusy](p, "GET", "/api/models/busy", nil)
}

// gated is a model that answers only when it is let.
func gated(t *testing.T) (*llmtest.Server, chan<- struct{}) {
	gate := make(chan struct{}, 100)
	s := scripted(t, llmtest.Options{Script: func(llmtest.Request) llmtest.Reply { <-gate; return llmtest.Text("Well then.") }})
	t.Cleanup(func() { close(gate) }) // before the server closes
	return s, gate
}

// chats and a model test take turns on a local model, what does not run there never waits, and stopping a
// reply frees the model. What waits is counted.
func TestChatsTakeTurnsOnALocalModel(t *testing.T) {
	model, gate := gated(t)
	p := start(t, ollamaHome(t, model))
	if b := p.busy(); b.Busy || b.Job != nil || b.Model != nil || b.Since != nil || b.DeferredReason != nil {
		t.Fatalf("%+v", b)
	}
	w := p.dial("")
	w.next("hello")
	w.send(map[string]any{"type": "chat.send", "text": "First", "client_id": "1"})
	first := w.next("session")["session_id"]
	eventually(t, "the model to be asked", func() bool { return len(model.Requests()) == 1 })
	e := w.next("model.busy")
	if d := e["data"].(map[string]any); d["busy"] != true || d["job"] != "chat" || d["model"] != "ollama_chat/qwen3:8b" || e["ts"] == nil || e["session_id"] != nil {
		t.Fatalf("%v", e)
	}
	tested := make(chan map[string]any, 1)
	go func() {
		tested <- call[map[string]any](p, "POST", "/api/models/test", map[string]any{"model": "ollama/qwen3:8b"})
	}()
	eventually(t, "the test to wait", func() bool { return p.busy().Waiting == 1 })
	w.send(map[string]any{"type": "chat.send", "text": "Second", "client_id": "2"})
	eventually(t, "the second chat to wait", func() bool { return p.busy().Waiting == 2 })
	p.chat(map[string]any{"text": "Are you there?", "model": "demo/guide"})
	if b := p.busy(); len(model.Requests()) != 1 || !b.Busy || *b.Job != "chat" || b.Since == nil || b.Deferred != 0 {
		t.Fatalf("%d requests, %+v", len(model.Requests()), b)
	}
	w.send(map[string]any{"type": "chat.cancel", "session_id": first})
	eventually(t, "the second chat to have the model", func() bool { return len(model.Requests()) == 2 })
	if got := model.Requests()[1].Last().Text; !strings.Contains(got, "Second") {
		t.Fatalf("%q went before the chat", got)
	}
	if b := p.busy(); b.Waiting != 1 {
		t.Fatalf("%+v", b)
	}
	for range 4 { // the stopped one's answer goes nowhere
		gate <- struct{}{}
	}
	if r := <-tested; r["ok"] != true {
		t.Fatalf("%v", r)
	}
	eventually(t, "the model to be free", func() bool { b := p.busy(); return !b.Busy && b.Waiting == 0 })
}

// a title waits while the battery is low, then for the chat to be quiet, and goes as soon as the settings
// let it. Every change of a setting counts at once.
func TestUpkeepWaits(t *testing.T) {
	t.Setenv("SENTIENT_DEBUG_BATTERY", "15")
	model := scripted(t, llmtest.Options{Script: func(r llmtest.Request) llmtest.Reply {
		if strings.Contains(r.System, "title") {
			return llmtest.Text("Ships and harbours")
		}
		return llmtest.Text("Certainly.")
	}})
	p := start(t, ollamaHome(t, model))
	call[map[string]any](p, "PATCH", "/api/config", `{"chat":{"auto_title":true}}`)
	w := p.dial("")
	w.next("hello")
	p.chat(map[string]any{"text": "Tell me about ships"})
	held := func(why string) func() bool {
		return func() bool {
			b := p.busy()
			return !b.Busy && b.Deferred == 1 && b.Waiting == 0 && b.DeferredReason != nil && *b.DeferredReason == why
		}
	}
	eventually(t, "the title to wait for the battery", held("battery_low"))
	for {
		if d := w.next("model.busy")["data"].(map[string]any); d["deferred_reason"] == "battery_low" {
			break
		}
	}
	call[map[string]any](p, "PATCH", "/api/config", `{"models":{"battery_critical_percent":5}}`)
	eventually(t, "the level to be too low still", held("battery"))
	call[map[string]any](p, "PATCH", "/api/config", `{"models":{"background_on_battery":true}}`)
	eventually(t, "the title to wait for the chat", held("chat"))
	if n := len(model.Requests()); n != 1 {
		t.Fatalf("%d requests", n)
	}
	call[map[string]any](p, "PATCH", "/api/config", `{"models":{"background_quiet_s":0}}`)
	for {
		if d := w.next("session.updated")["data"].(map[string]any); d["title"] == "Ships and harbours" {
			break
		}
	}
}

// what queues, and where.
func TestLocalRuntimes(t *testing.T) {
	c := app.Default().Models
	set := func(provider, base string) { c.Providers[provider] = app.Provider{APIBase: &base} }
	for model, want := range map[string]string{
		"ollama/nomic-embed-text": "http://localhost:11434", "ollama_chat/qwen3:8b": "http://localhost:11434", " ollama_chat/a/b": "http://localhost:11434",
		"ollama_chat/gpt-oss:120b-cloud": "", "ollama/glm-4.6:cloud": "", "lm_studio/qwen": "", "demo/guide": "", "openai/gpt": "", "claude-code/sonnet": "", "builtin/use-lite": "", "": "",
	} {
		if got := localRuntime(c, model); got != want {
			t.Errorf("%s: %q, want %q", model, got, want)
		}
	}
	for _, base := range []string{"http://127.0.0.1:11434", "http://[::1]:11434/", "http://LOCALHOST:11434/v1", "http://localhost:11434/api/", " "} {
		if set("ollama", base); localRuntime(c, "ollama/x") != ollamaAddress {
			t.Errorf("%s: %q", base, localRuntime(c, "ollama/x"))
		}
	}
	for _, base := range []string{"http://localhost:9", "https://localhost:11434", "http://192.168.1.5:11434", "nonsense", "http://localhost:11434/proxy"} {
		if set("ollama", base); localRuntime(c, "ollama/x") == ollamaAddress || localRuntime(c, "ollama/x") == "" {
			t.Errorf("%s: %q", base, localRuntime(c, "ollama/x"))
		}
	}
}
