package llm

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"sentient/actors/msg"
	"sentient/transport/llm/llmtest"
)

// Every kind of provider gives each text's vector, whatever the batches, in its own wire format; blank texts are not sent.
func TestEmbedInEveryProtocol(t *testing.T) {
	for model, protocol := range map[string]string{"openai/text-embedding-3-small": "openai", "gemini/gemini-embedding-001": "openai", "lm_studio/nomic": "openai",
		"ollama/nomic-embed-text": "ollama", "ollama_chat/bge-m3": "ollama"} {
		t.Run(model, func(t *testing.T) {
			inMemory(t, llmtest.Options{Dim: 5, Key: "sk-test-key"}, func(t *testing.T, x fixture) {
				var texts []string
				for i := range 150 {
					texts = append(texts, strings.Repeat("x", i))
				}
				texts[77] = " \n"
				got, err := x.Embed(t.Context(), model, texts)
				if err != nil {
					t.Fatal(err)
				}
				for i, text := range texts {
					want := llmtest.Vector(text, 5)
					if strings.TrimSpace(text) == "" {
						want = nil
					}
					if !slices.Equal(got[i], want) {
						t.Fatalf("text %d: %v, not %v", i, got[i], want)
					}
				}
				sent := 0
				for _, r := range x.Embeds() {
					if sent += len(r.Texts); r.Protocol != protocol || len(r.Texts) > 64 || "x/"+r.Model != "x/"+strings.SplitN(model, "/", 2)[1] {
						t.Errorf("%s %s with %d texts", r.Protocol, r.Model, len(r.Texts))
					}
				}
				if sent != 148 || len(x.Embeds()) != 3 {
					t.Errorf("%d texts in %d requests", sent, len(x.Embeds()))
				}
			})
		})
	}
}

// Long texts are cut between characters, and many long ones go in several requests.
func TestEmbedKeepsRequestsSmall(t *testing.T) {
	inMemory(t, llmtest.Options{}, func(t *testing.T, x fixture) {
		long := strings.Repeat("ä", 20<<10)
		if _, err := x.Embed(t.Context(), "openai/e", []string{long, long, long, long, "short"}); err != nil {
			t.Fatal(err)
		}
		for _, r := range x.Embeds() {
			size := 0
			for _, text := range r.Texts {
				if size += len(text); len(text) > 16<<10 || !utf8.ValidString(text) {
					t.Errorf("a text of %d bytes", len(text))
				}
			}
			if size > 48<<10 {
				t.Errorf("a request of %d bytes", size)
			}
		}
		if n := len(x.Embeds()); n != 2 {
			t.Errorf("%d requests", n)
		}
	})
}

// A failure is a sentence that says what to do, and nothing is asked twice.
func TestEmbedFailures(t *testing.T) {
	const odd = " answered with something that is not an embedding. Pick another embedding model in Settings > Models."
	for name, c := range map[string]struct {
		model  string
		status int
		body   string
		fault  msg.ModelFault
		want   string
	}{
		"wrong key":      {"openai/e", 401, `{"error":{"message":"Incorrect API key provided."}}`, msg.FaultKey, "OpenAI did not accept the API key. Check it, or add a new one, in Settings > Models."},
		"not downloaded": {"ollama/bge-m3", 404, `{"error":"model \"bge-m3\" not found, try pulling it first"}`, msg.FaultMissing, "bge-m3 is not downloaded in Ollama. Download it in Settings > Models, or pick another model there."},
		"too long":       {"openai/e", 400, `{"error":{"message":"This model's maximum context length is 8192 tokens, however you requested 9000 tokens"}}`, msg.FaultTooLong, "A text is too long for e. Pick an embedding model that reads more in Settings > Models."},
		"HTML":           {"mistral/e", 200, `<html>login</html>`, msg.FaultOther, "Mistral" + odd},
		"too few":        {"openai/e", 200, `{"data":[{"index":0,"embedding":[1,2]}]}`, msg.FaultOther, "OpenAI" + odd},
		"one twice":      {"openai/e", 200, `{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}`, msg.FaultOther, "OpenAI" + odd},
		"outside":        {"openai/e", 200, `{"data":[{"index":0,"embedding":[1]},{"index":-2,"embedding":[1]}]}`, msg.FaultOther, "OpenAI" + odd},
		"two lengths":    {"ollama/e", 200, `{"embeddings":[[1,2],[1]]}`, msg.FaultOther, "Ollama" + odd},
		"empty":          {"ollama/e", 200, `{"embeddings":[[],[]]}`, msg.FaultOther, "Ollama" + odd},
		"zeros":          {"ollama/e", 200, `{"embeddings":[[0,0],[0,1]]}`, msg.FaultOther, "Ollama" + odd},
		"too large":      {"ollama/e", 200, `{"embeddings":[[1e39,0],[0,1]]}`, msg.FaultOther, "Ollama" + odd},
		"error inside": {"openrouter/a/e", 200, `{"error":{"message":"Rate limit exceeded","code":429}}`, msg.FaultRate,
			"OpenRouter limits how often it can be asked, and the limit is reached. Wait a minute, or pick another model in Settings > Models."},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, llmtest.Options{}, func(t *testing.T, x fixture) {
				x.Enqueue(llmtest.Fail(c.status, c.body))
				v, err := x.Embed(t.Context(), c.model, []string{"one", "two"})
				if e := faultOf(t, err); e.Fault != c.fault || e.Message != c.want || v != nil {
					t.Errorf("%s: %s\nwant %s: %s", e.Fault, e.Message, c.fault, c.want)
				}
				if len(x.Embeds()) != 1 {
					t.Errorf("%d requests", len(x.Embeds()))
				}
			})
		})
	}
}

// The order of an answer is its index, not its place.
func TestEmbedTakesTheIndex(t *testing.T) {
	inMemory(t, llmtest.Options{}, func(t *testing.T, x fixture) {
		x.Enqueue(llmtest.Fail(200, `{"data":[{"index":1,"embedding":[2]},{"index":0,"embedding":[1]}]}`))
		v, err := x.Embed(t.Context(), "openai/e", []string{"one", "two"})
		if err != nil || v[0][0] != 1 || v[1][0] != 2 {
			t.Errorf("%v %v", v, err)
		}
	})
}

// A later batch with vectors of another length is refused: they could not be compared.
func TestEmbedRefusesVectorsOfTwoLengths(t *testing.T) {
	inMemory(t, llmtest.Options{}, func(t *testing.T, x fixture) {
		texts := slices.Repeat([]string{"x"}, 65)
		x.Enqueue(llmtest.Fail(200, `{"embeddings":[`+strings.TrimSuffix(strings.Repeat("[1,2],", 64), ",")+`]}`))
		if v, err := x.Embed(t.Context(), "ollama/e", texts); v != nil || faultOf(t, err).Fault != msg.FaultOther {
			t.Errorf("%v", err)
		}
	})
}

// What is refused is refused before anything is sent: a provider without embeddings (a ChatGPT plan A-373, Claude Code A-320), a
// model that isn't on this computer while Local only is on, a budget, a name that makes no sense.
func TestEmbedRefusals(t *testing.T) {
	const pick = " Pick another embedding model in Settings > Models."
	dialed := false
	spent := &msg.ModelError{Fault: msg.FaultBudget, Message: "This month's budget is used up."}
	for model, c := range map[string]struct {
		s     Settings
		fault msg.ModelFault
		want  string
	}{
		"chatgpt/gpt-5.6":           {Settings{}, msg.FaultBadModel, "A ChatGPT plan has no embedding models." + pick},
		"claude-code/opus":          {Settings{ClaudeCode: true}, msg.FaultBadModel, "Claude Code only answers your chats, so it can't make embeddings." + pick},
		"anthropic/claude-sonnet-5": {Settings{}, msg.FaultBadModel, "Anthropic has no embedding models." + pick},
		"demo/guide":                {Settings{}, msg.FaultBadModel, "Guide (built-in demo) has no embedding models." + pick},
		"nonsense":                  {Settings{}, msg.FaultBadModel, `"nonsense" is not a model Sentient knows how to reach. Pick a model in Settings > Models.`},
		"builtin/other":             {Settings{}, msg.FaultMissing, "Built-in embeddings has no model named other. Pick another model in Settings > Models."},
		"openai/text-embedding-3":   {Settings{LocalOnly: true}, msg.FaultLocalOnly, "Local only is on, and text-embedding-3 does not run on this computer. Pick a local model, or turn Local only off in Settings > Models."},
		"ollama/embed-cloud":        {Settings{LocalOnly: true}, msg.FaultLocalOnly, "Local only is on, and embed-cloud does not run on this computer. Pick a local model, or turn Local only off in Settings > Models."},
		"mistral/mistral-embed":     {Settings{}, msg.FaultBudget, spent.Message},
	} {
		client, err := New(Options{Settings: func() Settings { return c.s }, Key: keys, Dial: refuseAnd(&dialed), Allow: func(_ context.Context, m string) error {
			if m == "mistral/mistral-embed" {
				return spent
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Embed(t.Context(), model, []string{"hello"})
		if e := faultOf(t, err); e.Fault != c.fault || e.Message != c.want {
			t.Errorf("%s: %s %s", model, e.Fault, e.Message)
		}
	}
	if dialed {
		t.Error("something was sent")
	}
}

type fakeBuiltin struct {
	err   error
	asked [][]string
}

func (f *fakeBuiltin) Available() error { return f.err }
func (f *fakeBuiltin) Embed(_ context.Context, texts []string) ([][]float32, error) {
	f.asked = append(f.asked, texts)
	if f.err != nil {
		return nil, f.err
	}
	return [][]float32{{3, 4}}, nil
}

// The built-in model answers for itself, also while Local only is on, and stands in while the configured one cannot be used; a
// provider that is only busy is not replaced.
func TestBuiltinEmbeddings(t *testing.T) {
	own := &fakeBuiltin{}
	dialed := false
	c, _ := New(Options{Settings: func() Settings { return Settings{LocalOnly: true} }, Dial: refuseAnd(&dialed), Builtin: own})
	if v, err := c.Embed(t.Context(), BuiltinEmbedding, []string{"a"}); err != nil || v[0][1] != 4 || dialed {
		t.Errorf("%v %v", v, err)
	}
	if v, used, err := c.EmbedReachable(t.Context(), "openai/e", []string{"a"}); err != nil || used != BuiltinEmbedding || v[0][0] != 3 {
		t.Errorf("%v %s %v", v, used, err)
	}
	if got := c.TestEmbedding(t.Context(), BuiltinEmbedding); got != (EmbeddingTest{OK: true, Dim: 2}) {
		t.Errorf("%+v", got)
	}
	if text, err := c.CheckProvider(t.Context(), "builtin"); err != nil || text == "" {
		t.Errorf("%q %v", text, err)
	}
	if _, err := c.Stream(t.Context(), ask(BuiltinEmbedding, "hi"), nil); !strings.Contains(faultOf(t, err).Message, "can't chat") {
		t.Errorf("%v", err)
	}
	own.err = &msg.ModelError{Fault: msg.FaultMissing, Message: "It is not installed."}
	if got := c.TestEmbedding(t.Context(), BuiltinEmbedding); got.OK || got.Error != "It is not installed." {
		t.Errorf("%+v", got)
	}
	if _, used, err := c.EmbedReachable(t.Context(), "openai/e", []string{"a"}); used != "openai/e" || faultOf(t, err).Fault != msg.FaultLocalOnly {
		t.Errorf("%s %v", used, err)
	}
	if _, err := c.CheckProvider(t.Context(), "builtin"); err == nil {
		t.Error("a model that is not installed was found well")
	}
	own.err = nil
	inMemory(t, llmtest.Options{}, func(t *testing.T, x fixture) {
		x.opts.Builtin = own
		x.Enqueue(llmtest.Fail(503, `{"error":{"message":"overloaded"}}`))
		if _, used, err := x.EmbedReachable(t.Context(), "openai/e", []string{"a"}); used != "openai/e" || faultOf(t, err).Fault != msg.FaultUnavailable {
			t.Errorf("%s %v", used, err)
		}
	})
}

// POST /api/models/test-embedding's answer, and every call is counted with what the provider said it read.
func TestTestEmbedding(t *testing.T) {
	inMemory(t, llmtest.Options{Dim: 768}, func(t *testing.T, x fixture) {
		var counted []msg.CountedCall
		x.opts.Counted = func(c msg.CountedCall) { counted = append(counted, c) }
		if got := x.TestEmbedding(t.Context(), "ollama/nomic-embed-text"); got != (EmbeddingTest{OK: true, Dim: 768}) {
			t.Errorf("%+v", got)
		}
		x.Enqueue(llmtest.Fail(500, `{"error":"out of memory"}`))
		if got := x.TestEmbedding(t.Context(), "ollama/nomic-embed-text"); got != (EmbeddingTest{Error: "out of memory"}) {
			t.Errorf("%+v", got)
		}
		if len(counted) != 1 || counted[0].Role != "embedding" || counted[0].Usage.PromptTokens != 3 || counted[0].Usage.CostUSD == nil {
			t.Errorf("%+v", counted)
		}
	})
}

// A provider that never answers is a timeout after the configured silence; one who gives up gets its own error at once.
func TestEmbedEnds(t *testing.T) {
	inBubble := func(f func(t *testing.T, c *Client)) {
		inMemory(t, llmtest.Options{}, func(t *testing.T, x fixture) {
			pipe := llmtest.NewPipe()
			stuck := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // only then does the server hear of a client that goes
				<-r.Context().Done()
			})}
			go stuck.Serve(pipe)
			c, _ := New(Options{Settings: func() Settings { return settingsFor(llmtest.PipeURL) }, Key: keys, Dial: pipe.Dial})
			f(t, c)
			c.Close()
			_ = stuck.Close()
		})
	}
	inBubble(func(t *testing.T, c *Client) {
		began := time.Now()
		_, err := c.Embed(t.Context(), "openai/e", []string{"a"})
		if e := faultOf(t, err); e.Fault != msg.FaultTimeout || time.Since(began) != 30*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
	inBubble(func(t *testing.T, c *Client) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("enough"))
		defer cancel()
		if _, err := c.Embed(ctx, "openai/e", []string{"a"}); faultOf(t, err).Fault != msg.FaultTimeout {
			t.Errorf("%v", err)
		}
	})
	gone, _ := New(Options{Dial: func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("refused") }})
	if _, err := gone.Embed(t.Context(), "ollama/e", []string{"a"}); faultOf(t, err).Fault != msg.FaultUnreachable {
		t.Errorf("%v", err)
	}
}

func FuzzReadVectors(f *testing.F) {
	f.Add([]byte(`{"data":[{"index":0,"embedding":[1,2]}],"usage":{"prompt_tokens":3}}`), 1)
	f.Add([]byte(`{"embeddings":[[1],[2]],"prompt_eval_count":2}`), 2)
	f.Add([]byte(`{"error":"x"}`), 0)
	f.Fuzz(func(t *testing.T, data []byte, n int) {
		for _, id := range []string{"openai", "ollama"} {
			v, _, fail := endpoint{provider: findProvider(id), full: id + "/e", name: "e"}.readVectors(data, n)
			if fail == nil && (len(v) != n || n > 0 && len(v[0]) == 0) {
				t.Fatalf("%d vectors for %d texts", len(v), n)
			}
		}
	})
}

// BenchmarkReadVectors is the cost of one full batch of a large model.
func BenchmarkReadVectors(b *testing.B) {
	row := strings.TrimSuffix(strings.Repeat("-0.012345678,", 1536), ",")
	data := []byte(`{"embeddings":[` + strings.TrimSuffix(strings.Repeat("["+row+"],", 64), ",") + `]}`)
	e := endpoint{provider: findProvider("ollama"), full: "ollama/e", name: "e"}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, _, f := e.readVectors(data, 64); f != nil {
			b.Fatal(f.raw)
		}
	}
}
