package llm

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sentient/actors/msg"
	"sentient/transport/llm/llmtest"
)

// BenchmarkRelay reports how long a token takes from the provider's write to the reader, over TCP, with 200 streams of 50 tokens
// a second.
func BenchmarkRelay(b *testing.B) {
	server, err := llmtest.New(llmtest.Options{Load: &llmtest.Load{Tokens: 100, Every: 20 * time.Millisecond, Stamp: true}, Forget: true})
	if err != nil {
		b.Fatal(err)
	}
	defer server.Close()
	c, _ := New(Options{Settings: func() Settings { return settingsFor(server.URL()) }, Key: keys})
	defer c.Close()
	var mu sync.Mutex
	var all []time.Duration
	for b.Loop() {
		var wg sync.WaitGroup
		for range 200 {
			wg.Go(func() {
				var own []time.Duration
				_, err := c.Stream(b.Context(), ask(protocols["openai"], "go"), func(c msg.ModelChunk) error {
					at, err := strconv.ParseInt(strings.TrimSpace(c.Text), 10, 64)
					own = append(own, time.Since(time.Unix(0, at)))
					return err
				})
				if err != nil {
					b.Error(err)
				}
				mu.Lock()
				all = append(all, own...)
				mu.Unlock()
			})
		}
		wg.Wait()
	}
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "p99-µs")
}

// BenchmarkDecode is the cost of one token in each protocol.
func BenchmarkDecode(b *testing.B) {
	for provider, line := range map[string]string{
		"openai":      `data: {"id":"chatcmpl-9","object":"chat.completion.chunk","created":1767225600,"model":"m","choices":[{"index":0,"delta":{"content":"word "},"finish_reason":null}]}` + "\n\n",
		"anthropic":   "event: content_block_delta\ndata: " + `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"word "}}` + "\n\n",
		"ollama_chat": `{"model":"qwen3:8b","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"word "},"done":false}` + "\n",
	} {
		b.Run(provider, func(b *testing.B) {
			b.ReportAllocs()
			in := strings.NewReader(strings.Repeat(line, b.N))
			r := newReply(msg.ModelRequest{}, inventID, func(msg.ModelChunk) error { return nil }, false)
			b.ResetTimer()
			_ = endpointOf(provider).decoder().read(in, r, func() { r.size = 0 }) // ends without an end mark
		})
	}
}
