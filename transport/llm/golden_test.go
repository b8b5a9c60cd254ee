package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"sentient/actors/msg"
)

var rewrite = flag.Bool("rewrite", false, "write the golden results anew")

// outcome is what a recorded stream comes to.
type outcome struct {
	Result msg.ModelResult
	Fault  string `json:",omitempty"`
	Error  string `json:",omitempty"`
}

func endpointOf(provider string) endpoint {
	return endpoint{provider: findProvider(provider), full: provider + "/m", name: "m", key: "sk-secret-key"}
}

// decode runs a stream through the decoder of its provider, without a connection.
func decode(provider string, in io.Reader) (outcome, []msg.ModelChunk) {
	e := endpointOf(provider)
	var chunks []msg.ModelChunk
	n := 0
	ids := func() string { n++; return fmt.Sprintf("invented_%d", n) }
	r := newReply(msg.ModelRequest{}, ids, func(c msg.ModelChunk) error { chunks = append(chunks, c); return nil }, e.provider.local)
	r.seal.Provider = provider
	err := e.decoder().read(in, r, func() {})
	if err == nil || r.ended {
		err = r.flush()
	}
	out := outcome{Result: r.result()}
	if err != nil {
		f := &failure{fault: msg.FaultCut}
		errors.As(err, &f)
		out.Fault, out.Error = string(f.fault), e.sentence(f, 0)
	}
	return out, chunks
}

func recordings(t testing.TB) []string {
	names, err := filepath.Glob("testdata/streams/*.*son")
	if err != nil {
		t.Fatal(err)
	}
	more, _ := filepath.Glob("testdata/streams/*.sse")
	all := append(more, names...)
	var out []string
	for _, n := range all {
		if !strings.HasSuffix(n, ".golden.json") {
			out = append(out, n)
		}
	}
	if len(out) < 15 {
		t.Fatalf("only %d recordings found", len(out))
	}
	return out
}

func providerOf(path string) string {
	name, _, _ := strings.Cut(filepath.Base(path), ".")
	return name
}

func shown(t testing.TB, o outcome) string {
	b, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b) + "\n"
}

func TestRecordedStreams(t *testing.T) {
	for _, path := range recordings(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got, chunks := decode(providerOf(path), bytes.NewReader(data))
			golden := strings.TrimSuffix(path, filepath.Ext(path)) + ".golden.json"
			if *rewrite {
				if err := os.WriteFile(golden, []byte(shown(t, got)), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if shown(t, got) != string(want) {
				t.Errorf("got %s\nwant %s", shown(t, got), want)
			}
			checkChunks(t, got, chunks)
		})
	}
}

// checkChunks: what was streamed is what the result holds, in whole runes.
func checkChunks(t testing.TB, o outcome, chunks []msg.ModelChunk) {
	var text, thinking strings.Builder
	for _, c := range chunks {
		if !utf8.ValidString(c.Text) || !utf8.ValidString(c.Thinking) {
			t.Fatalf("a chunk is not valid UTF-8: %q", c)
		}
		if c.Text == "" && c.Thinking == "" {
			t.Fatal("an empty chunk was passed on")
		}
		text.WriteString(c.Text)
		thinking.WriteString(c.Thinking)
	}
	if text.String() != o.Result.Text || thinking.String() != o.Result.Thinking {
		t.Fatalf("streamed %q and %q, result %q and %q", text.String(), thinking.String(), o.Result.Text, o.Result.Thinking)
	}
	for _, c := range o.Result.Calls {
		if c.ID == "" || !utf8.ValidString(c.Arguments) {
			t.Fatalf("a call is not whole: %+v", c)
		}
	}
}

// cutReader gives its pieces in one Read each.
type cutReader struct{ pieces [][]byte }

func (c *cutReader) Read(p []byte) (int, error) {
	for len(c.pieces) > 0 && len(c.pieces[0]) == 0 {
		c.pieces = c.pieces[1:]
	}
	if len(c.pieces) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.pieces[0])
	c.pieces[0] = c.pieces[0][n:]
	return n, nil
}

// Wherever the network cuts a stream, and also byte by byte, it comes to the same.
func TestStreamsMayBeCutAnywhere(t *testing.T) {
	for _, path := range recordings(t) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		provider := providerOf(path)
		want, _ := decode(provider, bytes.NewReader(data))
		for at := range data {
			got, chunks := decode(provider, &cutReader{[][]byte{data[:at], data[at:]}})
			if shown(t, got) != shown(t, want) {
				t.Fatalf("%s cut at %d: got %s", path, at, shown(t, got))
			}
			checkChunks(t, got, chunks)
		}
		var single [][]byte
		for i := range data {
			single = append(single, data[i:i+1])
		}
		if got, _ := decode(provider, &cutReader{single}); shown(t, got) != shown(t, want) {
			t.Fatalf("%s byte by byte: got %s", path, shown(t, got))
		}
	}
}

// A stream that ends early is an error, unless the provider had said that the reply was whole; and never a panic.
func TestStreamsMayEndAnywhere(t *testing.T) {
	for _, path := range recordings(t) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		whole, _ := decode(providerOf(path), bytes.NewReader(data))
		for at := range data {
			got, chunks := decode(providerOf(path), bytes.NewReader(data[:at]))
			checkChunks(t, got, chunks)
			if got.Fault == "" && (got.Result.Text != whole.Result.Text || len(got.Result.Calls) != len(whole.Result.Calls)) {
				t.Fatalf("%s ended at %d of %d: taken for whole: %s", path, at, len(data), shown(t, got))
			}
		}
	}
}

// The same events with CRLF ends and pings between them come to the same.
func TestServerSentEventSpellings(t *testing.T) {
	for _, path := range recordings(t) {
		if filepath.Ext(path) != ".sse" || strings.Contains(path, "sloppy") || strings.Contains(path, "whole") {
			continue
		}
		data, _ := os.ReadFile(path)
		want, _ := decode(providerOf(path), bytes.NewReader(data))
		plain := strings.ReplaceAll(string(data), "\r\n", "\n")
		for name, text := range map[string]string{
			"crlf":     strings.ReplaceAll(plain, "\n", "\r\n"),
			"pings":    strings.ReplaceAll(plain, "\n\n", "\n\n: ping\n\n\n"),
			"no space": strings.ReplaceAll(plain, "data: ", "data:"),
			"bom":      "\xEF\xBB\xBF" + plain,
			"ids":      strings.ReplaceAll(plain, "data: ", "id: 7\nretry: 3\ndata: "),
			"no end":   strings.TrimRight(plain, "\n"),
		} {
			if got, _ := decode(providerOf(path), strings.NewReader(text)); shown(t, got) != shown(t, want) {
				t.Errorf("%s with %s: got %s", path, name, shown(t, got))
			}
		}
	}
}
