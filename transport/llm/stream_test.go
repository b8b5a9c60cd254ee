package llm

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"sentient/actors/msg"
	"sentient/transport/llm/llmtest"
)

// protocols are one model of each, all at the test server.
var protocols = map[string]string{"openai": "openai/gpt-5.6-luna", "anthropic": "anthropic/claude-sonnet-5", "ollama": "ollama_chat/qwen3:8b"}

func settingsFor(url string) Settings {
	s := Settings{Providers: map[string]ProviderSettings{}, ContextLength: 8192, RequestTimeout: 30 * time.Second}
	for _, p := range providerTable {
		s.Providers[p.id] = ProviderSettings{APIBase: url}
	}
	return s
}

func keys(string) (string, bool) { return "sk-test-key", true }

type fixture struct {
	*llmtest.Server
	*Client
	log *bytes.Buffer
}

// inMemory runs f in a bubble of fake time with a server on a pipe.
func inMemory(t *testing.T, o llmtest.Options, f func(t *testing.T, x fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		pipe := llmtest.NewPipe()
		o.Listener, o.URL = pipe, llmtest.PipeURL
		server, err := llmtest.New(o)
		if err != nil {
			t.Fatal(err)
		}
		log := &bytes.Buffer{}
		client, err := New(Options{Settings: func() Settings { return settingsFor(server.URL()) }, Key: keys, Dial: pipe.Dial,
			Logger: slog.New(slog.NewTextHandler(log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		f(t, fixture{server, client, log})
		client.Close()
		server.Close()
		synctest.Wait()
	})
}

func ask(model, text string) msg.ModelRequest {
	return msg.ModelRequest{Model: model, System: "Be brief.", Messages: []msg.ModelMessage{{Role: "user", Parts: msg.TextPart(text)}}}
}

func faultOf(t *testing.T, err error) *msg.ModelError {
	t.Helper()
	e, ok := msg.AsModelError(err)
	if !ok {
		t.Fatalf("not a model error: %v", err)
	}
	return e
}

func TestStreamsInEveryProtocol(t *testing.T) {
	for protocol, model := range protocols {
		t.Run(protocol, func(t *testing.T) {
			inMemory(t, llmtest.Options{}, func(t *testing.T, x fixture) {
				x.Enqueue(llmtest.Reply{Usage: &llmtest.Usage{Prompt: 120, Completion: 30}, Steps: []llmtest.Step{
					{Ping: true}, {Thinking: "Let me "}, {Thinking: "see."}, {Signature: "sig"},
					{Wait: time.Second, Text: "Looking – "}, {Text: "now 🙂"},
					{Calls: []llmtest.Call{{ID: "a", Name: "one", Arguments: `{"x":"ä1"}`}, {ID: "b", Name: "two", Arguments: `{"y":[1,2]}`}}, Pieces: 2, Mixed: true},
				}})
				var at []time.Duration
				began := time.Now()
				res, err := x.Stream(t.Context(), ask(model, "hi"), func(c msg.ModelChunk) error {
					at = append(at, time.Since(began))
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				if res.Text != "Looking – now 🙂" || res.Thinking != "Let me see." || res.Stop != "tool_calls" {
					t.Errorf("%+v", res)
				}
				if len(res.Calls) != 2 || res.Calls[0] != (msg.ToolCall{ID: "a", Name: "one", Arguments: `{"x":"ä1"}`}) || res.Calls[1].Arguments != `{"y":[1,2]}` {
					t.Errorf("%+v", res.Calls)
				}
				if !res.Usage.Known || res.Usage.PromptTokens != 120 || res.Usage.CompletionTokens != 30 || res.Usage.CostUSD == nil {
					t.Errorf("%+v", res.Usage)
				}
				if len(at) != 4 || at[0] != 0 || at[1] != 0 || at[2] != time.Second || at[3] != time.Second {
					t.Errorf("chunks were passed on at %v, want as they came", at)
				}
				r := x.Requests()[0]
				if r.Protocol != protocol || r.System != "Be brief." || r.Last().Text != "hi" {
					t.Errorf("%+v", r)
				}
			})
		})
	}
}

func TestBrokenStreams(t *testing.T) {
	half := llmtest.Step{Text: "Half "}
	for name, c := range map[string]struct {
		steps []llmtest.Step
		noEnd bool
		fault msg.ModelFault
		said  bool
		after time.Duration
	}{
		"stall":              {steps: []llmtest.Step{half, {Stall: true}}, fault: msg.FaultTimeout, said: true, after: 30 * time.Second},
		"stall at once":      {steps: []llmtest.Step{{Stall: true}}, fault: msg.FaultTimeout, after: 30 * time.Second},
		"slow but alive":     {steps: []llmtest.Step{half, {Wait: 29 * time.Second, Text: "whole"}, {Wait: 29 * time.Second, Text: "."}}, said: true, after: 58 * time.Second},
		"only pings":         {steps: append([]llmtest.Step{half}, pings(40, 10*time.Second)...), fault: msg.FaultTimeout, said: true, after: 150 * time.Second},
		"cut":                {steps: []llmtest.Step{half, {Cut: true}}, fault: msg.FaultCut, said: true},
		"no end":             {steps: []llmtest.Step{half}, noEnd: true, fault: msg.FaultCut, said: true},
		"nonsense":           {steps: []llmtest.Step{half, {Raw: "data: {\"oops\n\n{\"oops\n"}}, fault: msg.FaultCut, said: true},
		"an error inside":    {steps: []llmtest.Step{half, {Error: "The server is overloaded, try again later"}}, fault: msg.FaultUnavailable, said: true},
		"an error at once":   {steps: []llmtest.Step{{Error: "The server is overloaded, try again later"}}, fault: msg.FaultUnavailable},
		"nothing but an end": {steps: nil},
	} {
		for protocol, model := range protocols {
			t.Run(name+"/"+protocol, func(t *testing.T) {
				inMemory(t, llmtest.Options{}, func(t *testing.T, x fixture) {
					x.Enqueue(llmtest.Reply{Steps: c.steps, NoEnd: c.noEnd})
					began := time.Now()
					res, err := x.Stream(t.Context(), ask(model, "hi"), nil)
					if time.Since(began) != c.after {
						t.Errorf("ended after %v, want %v", time.Since(began), c.after)
					}
					if c.fault == "" {
						if err != nil {
							t.Fatal(err)
						}
						return
					}
					e, want := faultOf(t, err), c.fault
					if protocol == "ollama" && strings.HasPrefix(name, "an error") {
						want = msg.FaultOther // a local runtime's own words are kept
					}
					if e.Fault != want || e.Said != c.said || e.Model != model {
						t.Errorf("%+v", e)
					}
					if c.said != (res.Text == "Half ") || len(res.Calls) != 0 {
						t.Errorf("kept %q", res.Text)
					}
				})
			})
		}
	}
}

func pings(n int, every time.Duration) []llmtest.Step {
	var out []llmtest.Step
	for range n {
		out = append(out, llmtest.Step{Wait: every, Ping: true})
	}
	return out
}

func TestCancelEndsTheStreamAndTheConnection(t *testing.T) {
	for protocol, model := range protocols {
		t.Run(protocol, func(t *testing.T) {
			inMemory(t, llmtest.Options{}, func(t *testing.T, x fixture) {
				x.Enqueue(llmtest.Reply{Steps: []llmtest.Step{{Text: "Half "}, {Stall: true}}})
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(5*time.Second, cancel)
				began := time.Now()
				res, err := x.Stream(ctx, ask(model, "hi"), nil)
				e := faultOf(t, err)
				if e.Fault != msg.FaultCancelled || e.Message != "Stopped." || !e.Said || time.Since(began) != 5*time.Second || res.Text != "Half " {
					t.Errorf("%+v after %v", e, time.Since(began))
				}
				synctest.Wait() // the stalled handler ends only when it sees the connection closed
				if started, finished := x.Counts(); started != 1 || finished != 0 {
					t.Errorf("%d %d", started, finished)
				}
				if x.log.Len() != 0 {
					t.Errorf("a stop was logged: %s", x.log)
				}
			})
		})
	}
}

func TestAReaderThatFailsEndsTheCall(t *testing.T) {
	inMemory(t, llmtest.Options{}, func(t *testing.T, x fixture) {
		x.Enqueue(llmtest.Reply{Steps: []llmtest.Step{{Text: "a"}, {Text: "b"}, {Stall: true}}})
		_, err := x.Stream(t.Context(), ask(protocols["openai"], "hi"), func(msg.ModelChunk) error { return errors.New("full") })
		if e := faultOf(t, err); e.Fault != msg.FaultCancelled {
			t.Errorf("%+v", e)
		}
	})
}

// A reader that takes long is not a provider that is silent.
func TestASlowReaderIsNotATimeout(t *testing.T) {
	inMemory(t, llmtest.Options{}, func(t *testing.T, x fixture) {
		x.Enqueue(llmtest.Text("one two three"))
		res, err := x.Stream(t.Context(), ask(protocols["openai"], "hi"), func(msg.ModelChunk) error {
			time.Sleep(10 * time.Minute)
			return nil
		})
		if err != nil || res.Text != "one two three" {
			t.Errorf("%q %v", res.Text, err)
		}
	})
}

func TestCallersDeadlineIsATimeout(t *testing.T) {
	inMemory(t, llmtest.Options{}, func(t *testing.T, x fixture) {
		x.Enqueue(llmtest.Reply{Steps: []llmtest.Step{{Stall: true}}})
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		_, err := x.Stream(ctx, ask(protocols["openai"], "hi"), nil)
		if e := faultOf(t, err); e.Fault != msg.FaultTimeout {
			t.Errorf("%+v", e)
		}
	})
}

// A server that says it is done but keeps the stream open delays nobody.
func TestALingeringServerIsLeft(t *testing.T) {
	inMemory(t, llmtest.Options{}, func(t *testing.T, x fixture) {
		x.Enqueue(llmtest.Reply{NoEnd: true, Steps: []llmtest.Step{{Text: "Hi"},
			{Raw: "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"}, {Stall: true}}})
		began := time.Now()
		res, err := x.Stream(t.Context(), ask(protocols["openai"], "hi"), nil)
		if err != nil || res.Text != "Hi" || time.Since(began) > 3*time.Second {
			t.Errorf("%q %v after %v", res.Text, err, time.Since(began))
		}
	})
}

func TestConnectionsAreKeptAndStaleOnesReplaced(t *testing.T) {
	inMemory(t, llmtest.Options{}, func(t *testing.T, x fixture) {
		var dials atomic.Int32
		pipe := x.opts.Dial
		c, err := New(Options{Settings: x.opts.Settings, Key: keys, Dial: func(ctx context.Context, n, a string) (net.Conn, error) {
			dials.Add(1)
			return pipe(ctx, n, a)
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for protocol, model := range protocols {
			for range 3 {
				if res, err := c.Stream(t.Context(), ask(model, "hi"), nil); err != nil || res.Text != "Hello there." {
					t.Fatalf("%s: %q %v", protocol, res.Text, err)
				}
			}
		}
		if dials.Load() != 1 {
			t.Errorf("%d connections for nine calls, want one", dials.Load())
		}
	})
}

// A kept-alive connection that the server closed meanwhile costs a new connection, not the call.
func TestAStaleConnectionIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipe := llmtest.NewPipe()
		kept := &closingListener{Listener: pipe}
		server, err := llmtest.New(llmtest.Options{Listener: kept, URL: llmtest.PipeURL})
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		c, _ := New(Options{Settings: func() Settings { return settingsFor(server.URL()) }, Key: keys, Dial: pipe.Dial})
		defer c.Close()
		for range 5 {
			if _, err := c.Stream(t.Context(), ask(protocols["openai"], "hi"), nil); err != nil {
				t.Fatal(err)
			}
			kept.closeAll()
			synctest.Wait() // until the client has seen it
		}
	})
}

type closingListener struct {
	net.Listener
	mu    sync.Mutex
	conns []net.Conn
}

func (l *closingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.mu.Lock()
		l.conns = append(l.conns, c)
		l.mu.Unlock()
	}
	return c, err
}

func (l *closingListener) closeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.conns {
		c.Close()
	}
	l.conns = nil
}

func TestNobodyAnswers(t *testing.T) {
	refused := func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	}
	c, _ := New(Options{Key: keys, Dial: refused})
	defer c.Close()
	for model, want := range map[string]string{
		"ollama_chat/qwen3:8b": "Ollama is not answering at http://localhost:11434. Start it, or pick another model in Settings > Models.",
		"openai/gpt-5.6-luna":  "OpenAI can't be reached. Check the internet connection, or pick another model in Settings > Models.",
	} {
		_, err := c.Stream(t.Context(), ask(model, "hi"), nil)
		if e := faultOf(t, err); e.Fault != msg.FaultUnreachable || e.Message != want || e.Said {
			t.Errorf("%+v", e)
		}
	}
}

// A redirect would carry the key or the chat elsewhere.
func TestRedirectsAreNotFollowed(t *testing.T) {
	inMemory(t, llmtest.Options{}, func(t *testing.T, x fixture) {
		x.Enqueue(llmtest.Reply{Status: 307, Header: map[string][]string{"Location": {"http://elsewhere.example/v1/messages"}}, Body: "moved"})
		_, err := x.Stream(t.Context(), ask(protocols["anthropic"], "hi"), nil)
		if e := faultOf(t, err); e.Fault != msg.FaultOther || len(x.Requests()) != 1 {
			t.Errorf("%+v, %d requests", e, len(x.Requests()))
		}
	})
}

// Ids that the provider repeats, or that this conversation has used, are replaced: an id names one call.
func TestCallIDsAreUnique(t *testing.T) {
	inMemory(t, llmtest.Options{}, func(t *testing.T, x fixture) {
		x.Enqueue(llmtest.Tools(llmtest.Call{ID: "call_0", Name: "f", Arguments: "{}"}, llmtest.Call{ID: "call_0", Name: "g", Arguments: "{}"}, llmtest.Call{Name: "h", Arguments: "{}"}))
		req := ask(protocols["ollama"], "hi")
		req.Messages = append(req.Messages, msg.ModelMessage{Role: "assistant", ToolCalls: []msg.ToolCall{{ID: "call_0", Name: "f", Arguments: "{}"}}},
			msg.ModelMessage{Role: "tool", ToolCallID: "call_0", Parts: msg.TextPart("done")})
		res, err := x.Stream(t.Context(), req, nil)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{"call_0": true}
		for _, c := range res.Calls {
			if c.ID == "" || seen[c.ID] {
				t.Errorf("id %q is not new", c.ID)
			}
			seen[c.ID] = true
		}
		if len(res.Calls) != 3 {
			t.Errorf("%+v", res.Calls)
		}
	})
}

func TestManyStreamsAtOnce(t *testing.T) {
	defer goleak.VerifyNone(t)
	server, err := llmtest.New(llmtest.Options{Load: &llmtest.Load{Tokens: 50, Every: time.Millisecond, Stamp: true}, Forget: true})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	c, _ := New(Options{Settings: func() Settings { return settingsFor(server.URL()) }, Key: keys})
	defer c.Close()
	models := []string{protocols["openai"], protocols["anthropic"], protocols["ollama"]}
	var wg sync.WaitGroup
	for i := range 150 {
		wg.Go(func() {
			chunks := 0
			res, err := c.Stream(t.Context(), ask(models[i%3], "go"), func(msg.ModelChunk) error { chunks++; return nil })
			if err != nil || len(strings.Fields(res.Text)) != 50 || chunks != 50 {
				t.Errorf("%v: %d words in %d chunks", err, len(strings.Fields(res.Text)), chunks)
			}
		})
	}
	wg.Wait()
	if started, finished := server.Counts(); started != 150 || finished != 150 {
		t.Errorf("%d %d", started, finished)
	}
}
