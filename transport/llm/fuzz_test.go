package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"sentient/actors/msg"
)

func fuzzDecoder(f *testing.F, provider, ext string) {
	for _, path := range recordings(f) {
		if strings.HasSuffix(path, ext) {
			data, _ := os.ReadFile(path)
			f.Add(data, 7)
		}
	}
	f.Add([]byte("data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":-1}]}}]}\n\n"), 1)
	f.Add([]byte("event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":9}\n\n"), 3)
	f.Fuzz(func(t *testing.T, data []byte, cut int) {
		whole, chunks := decode(provider, bytes.NewReader(data))
		checkChunks(t, whole, chunks)
		if cut > 0 && cut < len(data) {
			parts, _ := decode(provider, &cutReader{[][]byte{data[:cut], data[cut:]}})
			if shown(t, parts) != shown(t, whole) {
				t.Fatalf("cut at %d: %s, whole: %s", cut, shown(t, parts), shown(t, whole))
			}
		}
	})
}

func FuzzOpenAIStream(f *testing.F)    { fuzzDecoder(f, "openrouter", ".sse") }
func FuzzLocalStream(f *testing.F)     { fuzzDecoder(f, "lm_studio", ".sse") }
func FuzzAnthropicStream(f *testing.F) { fuzzDecoder(f, "anthropic", ".sse") }
func FuzzOllamaStream(f *testing.F)    { fuzzDecoder(f, "ollama_chat", ".ndjson") }

// An error answer of any shape gives one sentence without the key.
func FuzzErrorAnswer(f *testing.F) {
	f.Add(429, []byte(`{"error":{"message":"Rate limit","type":"rate_limit_error","code":429}}`))
	f.Add(400, []byte(`[{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT"}}]`))
	f.Add(422, []byte(`{"detail":[{"loc":["body"],"msg":"no"}]}`))
	f.Add(500, []byte("<html>"))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		e := endpointOf("openrouter")
		err := e.modelError(e.fromAnswer(status, append(body, e.key...)), 0, false)
		if err.Message == "" || len(err.Message) > 700 || !utf8.ValidString(err.Message) || strings.Contains(err.Message+err.Raw, e.key) || len(err.Raw) > 2100 {
			t.Fatalf("%q %q", err.Message, err.Raw)
		}
	})
}

// Tool calls are assembled whatever the pieces and their order among each other.
func TestToolCallsFromAnyPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "calls")
		args := make([]string, n)
		next := make([]int, n)
		begun := make([]bool, n)
		for i := range args {
			b, _ := json.Marshal(map[string]string{"v": rapid.String().Draw(t, "arg"), "i": fmt.Sprint(i)})
			args[i] = string(b)
		}
		withID := rapid.Bool().Draw(t, "with ids")
		var s strings.Builder
		for {
			open := []int{}
			for i := range n {
				if !begun[i] || next[i] < len(args[i]) {
					open = append(open, i)
				}
			}
			if len(open) == 0 {
				break
			}
			i := rapid.SampledFrom(open).Draw(t, "next")
			fn := map[string]any{}
			delta := map[string]any{"index": i, "function": fn}
			if !begun[i] {
				begun[i] = true
				fn["name"] = fmt.Sprintf("tool_%d", i)
				if withID {
					delta["id"] = fmt.Sprintf("id_%d", i)
				}
			} else {
				to := rapid.IntRange(next[i]+1, len(args[i])).Draw(t, "to")
				for to < len(args[i]) && !utf8.RuneStart(args[i][to]) {
					to++
				}
				fn["arguments"] = args[i][next[i]:to]
				next[i] = to
			}
			b, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{"tool_calls": []any{delta}}}}})
			fmt.Fprintf(&s, "data: %s\n\n", b)
		}
		s.WriteString("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n")
		got, _ := decode("openai", strings.NewReader(s.String()))
		if got.Fault != "" || len(got.Result.Calls) != n {
			t.Fatalf("%+v", got)
		}
		ids := map[string]bool{}
		for _, c := range got.Result.Calls {
			var i int
			fmt.Sscanf(c.Name, "tool_%d", &i)
			if c.Arguments != args[i] || ids[c.ID] || withID && c.ID != fmt.Sprintf("id_%d", i) {
				t.Fatalf("call %+v, want %s", c, args[i])
			}
			ids[c.ID] = true
		}
	})
}

// Text cut between any two bytes, or between the halves of an escaped pair, comes out whole.
func TestJoinerKeepsRunes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.String().Draw(t, "text")
		var j joiner
		var got strings.Builder
		for rest := want; rest != ""; {
			n := rapid.IntRange(1, min(5, len(rest))).Draw(t, "n")
			out := j.push(rest[:n])
			if !utf8.ValidString(out) {
				t.Fatalf("%q", out)
			}
			got.WriteString(out)
			rest = rest[n:]
		}
		got.WriteString(j.flush())
		if got.String() != strings.ToValidUTF8(want, "\uFFFD") {
			t.Fatalf("got %q want %q", got.String(), want)
		}
	})
}

func TestThinkTagsCutAnywhere(t *testing.T) {
	for text, want := range map[string][2]string{
		"<think>a b</think>\n\nc":            {"c", "a b"},
		" \n<think></think>x <think>y":       {"x <think>y", ""},
		"<thinker>x":                         {"<thinker>x", ""},
		"no tag </think> here":               {"no tag </think> here", ""},
		"<think>never closed </thin":         {"", "never closed </thin"},
		"  \n":                               {"  \n", ""},
		"<thi":                               {"<thi", ""},
		"<think>a</think><think>b":           {"<think>b", "a"},
		"<think>1 < 2 </thinking </think>ok": {"ok", "1 < 2 </thinking "},
	} {
		for at := range text {
			var s tagSplitter
			t1, h1 := s.push(text[:at])
			t2, h2 := s.push(text[at:])
			t3, h3 := s.flush()
			if got := [2]string{t1 + t2 + t3, h1 + h2 + h3}; got != want {
				t.Errorf("%q cut at %d: %q, want %q", text, at, got, want)
			}
		}
	}
}

// repeated gives the same bytes for ever, after a beginning.
type repeated struct {
	begin, again string
	at           int
	read         int
}

func (r *repeated) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		if r.at < len(r.begin) {
			c := copy(p[n:], r.begin[r.at:])
			n, r.at = n+c, r.at+c
			continue
		}
		off := (r.at - len(r.begin)) % len(r.again)
		c := copy(p[n:], r.again[off:])
		n, r.at = n+c, r.at+c
	}
	r.read += n
	return n, nil
}

func TestEndlessStreamsEnd(t *testing.T) {
	big := strings.Repeat("x", 60000)
	for name, c := range map[string]struct {
		provider, begin, again string
		most                   int
	}{
		"a line without end":   {"openai", "data: ", "xxxxxxxx", maxLine + 8192},
		"an event without end": {"openai", "", "data: [1,\n", maxReply * 2},
		"text":                 {"openai", "", "data: {\"choices\":[{\"delta\":{\"content\":\"" + big + "\"}}]}\n\n", maxReply * 2},
		"arguments":            {"openai", "", "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"" + big + "\"}}]}}]}\n\n", maxReply * 2},
		"calls":                {"gemini", "", "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"a\"},{\"id\":\"b\"}]}}]}\n\n", maxReply},
		"blocks":               {"anthropic", "", "data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"a\"}}\n\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"b\"}}\n\n", maxReply},
		"a line of Ollama":     {"ollama_chat", "{\"message\":{\"content\":\"", "yyyyyyyy", maxLine + 8192},
		"thinking of Ollama":   {"ollama_chat", "", "{\"message\":{\"thinking\":\"" + big + "\"}}\n", maxReply * 2},
		"nonsense":             {"openai", "", "data: nonsense\n\n", 8192},
	} {
		t.Run(name, func(t *testing.T) {
			in := &repeated{begin: c.begin, again: c.again}
			e := endpointOf(c.provider)
			r := newReply(msg.ModelRequest{}, inventID, nil, false)
			err := e.decoder().read(in, r, func() {})
			if err == nil || errors.Is(err, io.EOF) {
				t.Fatalf("ended with %v", err)
			}
			if f := e.fromBreak(t.Context(), &watch{ctx: t.Context()}, r, err); !strings.HasPrefix(e.sentence(f, 0), "The reply from ") {
				t.Errorf("%q", e.sentence(f, 0))
			} else if name != "nonsense" && !strings.Contains(f.text, "was stopped because it was too long") {
				t.Errorf("%q does not say that it was too long (%v)", f.text, err)
			}
			if in.read > c.most {
				t.Errorf("read %d bytes, want at most %d", in.read, c.most)
			}
		})
	}
}
