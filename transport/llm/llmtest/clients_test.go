package llmtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// understood is what clients.mjs prints.
type understood struct {
	Text, Thinking, Signature, Stop string
	Calls                           []Call
	Models                          []string
	Usage                           *struct{ Prompt, Completion, Cached int }
	Error                           *struct {
		Name, Message string
		Status        int
	}
}

// The server is faithful if the vendors' own clients understand it.
func TestVendorsClientsUnderstandTheServer(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("skipped: Node is not installed, so the vendors' clients cannot run")
	}
	dir := filepath.Join("..", "testdata", "clients")
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "openai")); err != nil {
		t.Skip("skipped: the vendors' clients are not installed; run npm ci in transport/llm/testdata/clients")
	}
	weather := []Call{{ID: "toolu_1", Name: "get_weather", Arguments: `{"city":"Zürich"}`}, {ID: "toolu_2", Name: "get_weather", Arguments: `{"city":"Paris"}`}}
	usage := &Usage{Prompt: 100, Completion: 20, Cached: 40, CacheWritten: 10}
	full := Reply{Usage: usage, Steps: []Step{{Ping: true}, {Thinking: "Let me "}, {Thinking: "think."}, {Signature: "c2ln"}, {Text: "Grüße 🥨, "}, {Text: "moment."}, {Ping: true},
		{Calls: weather, Pieces: 3, Mixed: true}}}
	for _, protocol := range []string{"openai", "anthropic"} {
		run := func(t *testing.T, key string, r Reply) (understood, *Server) {
			s, err := New(Options{Key: "right", Models: []Model{{Name: "m"}}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
			s.Enqueue(r)
			cmd := exec.CommandContext(t.Context(), node, "clients.mjs", protocol, s.URL(), key)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "NO_PROXY=127.0.0.1")
			b, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, b)
			}
			var u understood
			if err := json.Unmarshal(b, &u); err != nil {
				t.Fatalf("%v: %s", err, b)
			}
			return u, s
		}
		t.Run(protocol+"/whole", func(t *testing.T) {
			u, s := run(t, "right", full)
			if u.Error != nil {
				t.Fatalf("%+v", *u.Error)
			}
			if u.Text != "Grüße 🥨, moment." || u.Thinking != "Let me think." || len(u.Calls) != 2 || u.Calls[0] != weather[0] || u.Calls[1] != weather[1] {
				t.Errorf("%+v", u)
			}
			if u.Stop != map[string]string{"openai": "tool_calls", "anthropic": "tool_use"}[protocol] {
				t.Errorf("stop %q", u.Stop)
			}
			if u.Usage == nil || u.Usage.Prompt != 100 || u.Usage.Completion != 20 || u.Usage.Cached != 40 || len(u.Models) != 1 || u.Models[0] != "m" {
				t.Errorf("%+v %v", u.Usage, u.Models)
			}
			if protocol == "anthropic" && u.Signature != "c2ln" {
				t.Errorf("signature %q", u.Signature)
			}
			if r := s.Requests()[0]; r.Protocol != protocol || r.System != "S" || r.Last().Text != "hi" || len(r.Tools) != 1 || r.Tools[0] != "get_weather" {
				t.Errorf("the server understood %+v", r)
			}
		})
		for name, c := range map[string]struct {
			key    string
			reply  Reply
			class  string
			says   string
			status int
		}{
			"wrong key":    {"wrong", Reply{}, "AuthenticationError", "API key|x-api-key", 401},
			"rate limit":   {"right", Fail(429, map[string]string{"openai": `{"error":{"message":"slow down","type":"requests","code":"rate_limit_exceeded"}}`, "anthropic": `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`}[protocol]), "RateLimitError", "slow down", 429},
			"inside":       {"right", Reply{Steps: []Step{{Text: "a"}, {Error: "it broke"}}}, "", "it broke", 0},
			"a cut stream": {"right", Reply{Steps: []Step{{Text: "a"}, {Cut: true}}}, "", "", 0},
		} {
			t.Run(protocol+"/"+name, func(t *testing.T) {
				u, _ := run(t, c.key, c.reply)
				if u.Error == nil {
					t.Fatalf("no error: %+v", u)
				}
				said := false
				for _, s := range strings.Split(c.says, "|") {
					said = said || strings.Contains(u.Error.Message, s)
				}
				if !said || u.Error.Status != c.status || c.class != "" && u.Error.Name != c.class {
					t.Errorf("%+v", *u.Error)
				}
			})
		}
	}
}
