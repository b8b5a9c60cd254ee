package llm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sentient/actors/msg"
	"sentient/transport/llm/llmtest"
)

func ollamaOn(t *testing.T, o llmtest.Options) (*Client, *llmtest.Server) {
	t.Helper()
	o.Listener, o.URL = llmtest.NewPipe(), llmtest.PipeURL
	s, err := llmtest.New(o)
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(Options{Dial: o.Listener.(*llmtest.Pipe).Dial, Env: func(string) string { return "" }, Settings: func() Settings {
		return Settings{RequestTimeout: time.Minute, Providers: map[string]ProviderSettings{"ollama": {APIBase: s.URL()}, "ollama_chat": {APIBase: s.URL()}}}
	}})
	if err != nil {
		t.Fatal(err)
	}
	return c, s
}

func told(p msg.PullProgress) string {
	n := func(v *int64) string {
		if v == nil {
			return "-"
		}
		return fmt.Sprint(*v)
	}
	return p.Status + " " + n(p.Completed) + "/" + n(p.Total)
}

func TestPull(t *testing.T) {
	for name, c := range map[string]struct {
		script []llmtest.PullLine
		ask    string
		want   []string
		fault  msg.ModelFault
		says   string
	}{
		"whole": {ask: " ollama_chat/qwen3:14b ", want: []string{"pulling manifest -/-", "pulling aaaa -/1000", "pulling aaaa 1000/1000", "verifying sha256 digest -/-", "success -/-"}},
		"no such model": {ask: "qwen9", script: []llmtest.PullLine{{Status: "pulling manifest"}, {Error: "pull model manifest: file does not exist"}},
			want: []string{"pulling manifest -/-"}, fault: msg.FaultMissing, says: "no model named qwen9"},
		"no room": {ask: "a", script: []llmtest.PullLine{{Error: "write /models/x: no space left on device"}}, fault: msg.FaultOther, says: "no space left"},
		"cut":     {ask: "a", script: []llmtest.PullLine{{Status: "pulling manifest"}, {Cut: true}}, want: []string{"pulling manifest -/-"}, fault: msg.FaultCut, says: "Start it again"},
		"ends without success": {ask: "a", script: []llmtest.PullLine{{Status: "pulling manifest"}}, want: []string{"pulling manifest -/-"},
			fault: msg.FaultCut, says: "Start it again"},
		"silent": {ask: "a", script: []llmtest.PullLine{{Status: "pulling manifest"}, {Stall: true}}, want: []string{"pulling manifest -/-"}, fault: msg.FaultTimeout, says: "60 seconds"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cl, s := ollamaOn(t, llmtest.Options{Pull: c.script})
				var got []string
				err := cl.Pull(t.Context(), c.ask, func(p msg.PullProgress) error { got = append(got, told(p)); return nil })
				if strings.Join(got, "|") != strings.Join(c.want, "|") {
					t.Errorf("%q", got)
				}
				me, failed := msg.AsModelError(err)
				if failed != (c.fault != "") || failed && (me.Fault != c.fault || !strings.Contains(me.Message, c.says)) {
					t.Errorf("%v", err)
				}
				if c.fault == "" && (len(s.Pulls()) != 1 || s.Pulls()[0] != "qwen3:14b" || cl.Available(t.Context(), "ollama_chat/qwen3:14b") != nil) {
					t.Errorf("%q; %v", s.Pulls(), cl.Available(t.Context(), "ollama_chat/qwen3:14b"))
				}
				cl.Close()
				s.Close()
				synctest.Wait()
			})
		})
	}
}

// A download that nobody waits for any more ends at once.
func TestPullEndsWithItsReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cl, s := ollamaOn(t, llmtest.Options{Pull: []llmtest.PullLine{{Status: "a"}, {Stall: true}}})
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		err := cl.Pull(ctx, "m", func(msg.PullProgress) error { cancel(); return nil })
		if me, ok := msg.AsModelError(err); !ok || me.Fault != msg.FaultCancelled || time.Since(began) != 0 {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		err = cl.Pull(t.Context(), "m", func(msg.PullProgress) error { return errors.New("gone") })
		if me, ok := msg.AsModelError(err); !ok || me.Fault != msg.FaultCancelled {
			t.Error(err)
		}
		cl.Close()
		s.Close()
		synctest.Wait()
	})
}

func TestLoadedAndAbout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cl, s := ollamaOn(t, llmtest.Options{Loaded: []llmtest.Loaded{{Name: "qwen3:8b", Size: 100, SizeVRAM: 90, Context: 8192}}})
		list, err := cl.LoadedHere(t.Context())
		if err != nil || len(list) != 1 || list[0] != (msg.LoadedModel{Name: "qwen3:8b", Size: 100, SizeVRAM: 90, ContextLength: 8192}) {
			t.Errorf("%+v %v", list, err)
		}
		if i, err := cl.About(t.Context(), "ollama_chat/qwen3:8b"); err != nil || i != (msg.ModelInfo{Maximum: 40960, Thinks: true}) {
			t.Errorf("%+v %v", i, err)
		}
		if _, err := cl.About(t.Context(), "ollama_chat/other"); err == nil {
			t.Error("a model that is not there was described")
		}
		cl.Close()
		s.Close()
		if _, err := cl.Loaded(t.Context()); err == nil {
			t.Error("a runtime that is not there answered")
		}
		synctest.Wait()
	})
}
