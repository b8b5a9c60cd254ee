package llmtest

import (
	"encoding/json"
	"fmt"
)

func quote(s string) string {
	b, _ := json.Marshal(s) // a string always can
	return string(b)
}

// cutUp splits s into pieces of n bytes; runes stay whole, as JSON needs.
func cutUp(s string, n int) []string {
	if n <= 0 {
		return []string{s}
	}
	var out []string
	from := 0
	for i := range s {
		if i-from >= n {
			out = append(out, s[from:i])
			from = i
		}
	}
	return append(out, s[from:])
}

type openAISpeaker struct {
	out   *stream
	model string
	usage bool
	next  int
}

func (p *openAISpeaker) chunk(delta, finish string) error {
	return p.out.send(p.head() + `"choices":[{"index":0,"delta":` + delta + `,"logprobs":null,"finish_reason":` + finish + "}]}\n\n")
}

func (p *openAISpeaker) head() string {
	return `data: {"id":"chatcmpl-test","object":"chat.completion.chunk","created":1767225600,"model":` + quote(p.model) + `,"system_fingerprint":null,`
}

func (p *openAISpeaker) begin() error {
	if err := p.out.begin("text/event-stream; charset=utf-8"); err != nil {
		return err
	}
	return p.chunk(`{"role":"assistant","content":"","refusal":null}`, "null")
}

func (p *openAISpeaker) text(s string) error { return p.chunk(`{"content":`+quote(s)+`}`, "null") }
func (p *openAISpeaker) thinking(s string) error {
	return p.chunk(`{"reasoning_content":`+quote(s)+`}`, "null")
}
func (p *openAISpeaker) signature(string) error { return nil }
func (p *openAISpeaker) ping() error            { return p.out.send(": keep-alive\n\n") }
func (p *openAISpeaker) fail(message string) error {
	return p.out.send(`data: {"error":{"message":` + quote(message) + `,"type":"server_error","param":null,"code":null}}` + "\n\n")
}

func (p *openAISpeaker) calls(calls []Call, pieces int, mixed bool) error {
	parts := make([][]string, len(calls))
	for i, c := range calls {
		id := ""
		if c.ID != "" {
			id = `"id":` + quote(c.ID) + `,`
		}
		parts[i] = append([]string{id + `"type":"function","function":{"name":` + quote(c.Name) + `,"arguments":""}`}, nil...)
		for _, a := range cutUp(c.Arguments, pieces) {
			parts[i] = append(parts[i], `"function":{"arguments":`+quote(a)+`}`)
		}
	}
	send := func(i int, part string) error {
		return p.chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,%s}]}`, p.next+i, part), "null")
	}
	for turn, more := 0, true; mixed && more; turn++ {
		more = false
		for i := range parts {
			if turn < len(parts[i]) {
				more = true
				if err := send(i, parts[i][turn]); err != nil {
					return err
				}
			}
		}
	}
	for i := range parts {
		for _, part := range parts[i] {
			if mixed {
				break
			}
			if err := send(i, part); err != nil {
				return err
			}
		}
	}
	p.next += len(calls)
	return nil
}

func (p *openAISpeaker) end(stop string, hasCalls bool, u *Usage) error {
	if stop == "" {
		stop = "stop"
		if hasCalls {
			stop = "tool_calls"
		}
	}
	if err := p.chunk("{}", quote(stop)); err != nil {
		return err
	}
	if p.usage && u != nil {
		if err := p.out.send(p.head() + fmt.Sprintf(`"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d}}}`,
			u.Prompt, u.Completion, u.Prompt+u.Completion, u.Cached) + "\n\n"); err != nil {
			return err
		}
	}
	return p.out.send("data: [DONE]\n\n")
}

func (p *openAISpeaker) token() (string, string) {
	return p.head() + `"choices":[{"index":0,"delta":{"content":"`, `"},"logprobs":null,"finish_reason":null}]}` + "\n\n"
}

type anthropicSpeaker struct {
	out   *stream
	model string
	index int    // of the open or last block
	open  string // its kind, "" when none is open
}

func (p *anthropicSpeaker) event(name, data string) error {
	return p.out.send("event: " + name + "\ndata: " + data + "\n\n")
}

func (p *anthropicSpeaker) begin() error {
	if err := p.out.begin("text/event-stream; charset=utf-8"); err != nil {
		return err
	}
	return p.event("message_start", `{"type":"message_start","message":{"id":"msg_test","type":"message","role":"assistant","model":`+quote(p.model)+
		`,"content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}}`)
}

func (p *anthropicSpeaker) block(kind, start string) error {
	if p.open == kind && kind != "tool_use" {
		return nil
	}
	if err := p.shut(); err != nil {
		return err
	}
	p.index++
	p.open = kind
	return p.event("content_block_start", fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, p.index, start))
}

func (p *anthropicSpeaker) shut() error {
	if p.open == "" {
		return nil
	}
	p.open = ""
	return p.event("content_block_stop", fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, p.index))
}

func (p *anthropicSpeaker) delta(delta string) error {
	return p.event("content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, p.index, delta))
}

func (p *anthropicSpeaker) text(s string) error {
	if err := p.block("text", `{"type":"text","text":""}`); err != nil {
		return err
	}
	return p.delta(`{"type":"text_delta","text":` + quote(s) + `}`)
}

func (p *anthropicSpeaker) thinking(s string) error {
	if err := p.block("thinking", `{"type":"thinking","thinking":"","signature":""}`); err != nil {
		return err
	}
	return p.delta(`{"type":"thinking_delta","thinking":` + quote(s) + `}`)
}

func (p *anthropicSpeaker) signature(s string) error {
	return p.delta(`{"type":"signature_delta","signature":` + quote(s) + `}`)
}

func (p *anthropicSpeaker) calls(calls []Call, pieces int, _ bool) error {
	for _, c := range calls {
		if err := p.block("tool_use", `{"type":"tool_use","id":`+quote(c.ID)+`,"name":`+quote(c.Name)+`,"input":{}}`); err != nil {
			return err
		}
		for _, a := range cutUp(c.Arguments, pieces) {
			if err := p.delta(`{"type":"input_json_delta","partial_json":` + quote(a) + `}`); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *anthropicSpeaker) ping() error { return p.event("ping", `{"type":"ping"}`) }

func (p *anthropicSpeaker) fail(message string) error {
	return p.event("error", `{"type":"error","error":{"type":"overloaded_error","message":`+quote(message)+`}}`)
}

func (p *anthropicSpeaker) end(stop string, hasCalls bool, u *Usage) error {
	if err := p.shut(); err != nil {
		return err
	}
	if stop == "" {
		stop = "end_turn"
		if hasCalls {
			stop = "tool_use"
		}
	}
	if u == nil {
		u = &Usage{Prompt: 1, Completion: 1}
	}
	if err := p.event("message_delta", fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%s,"stop_sequence":null},"usage":{"input_tokens":%d,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":%d}}`,
		quote(stop), u.Prompt-u.Cached-u.CacheWritten, u.CacheWritten, u.Cached, u.Completion)); err != nil {
		return err
	}
	return p.event("message_stop", `{"type":"message_stop"}`)
}

func (p *anthropicSpeaker) token() (string, string) {
	_ = p.block("text", `{"type":"text","text":""}`) // a client that is gone is seen at the next write
	return fmt.Sprintf("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":%d,\"delta\":{\"type\":\"text_delta\",\"text\":\"", p.index), "\"}}\n\n"
}

type ollamaSpeaker struct {
	out   *stream
	model string
}

func (p *ollamaSpeaker) head() string {
	return `{"model":` + quote(p.model) + `,"created_at":"2026-01-01T00:00:00.000000000Z","message":{"role":"assistant",`
}

func (p *ollamaSpeaker) begin() error { return p.out.begin("application/x-ndjson") }

func (p *ollamaSpeaker) text(s string) error {
	return p.out.send(p.head() + `"content":` + quote(s) + `},"done":false}` + "\n")
}

func (p *ollamaSpeaker) thinking(s string) error {
	return p.out.send(p.head() + `"content":"","thinking":` + quote(s) + `},"done":false}` + "\n")
}

func (p *ollamaSpeaker) signature(string) error { return nil }
func (p *ollamaSpeaker) ping() error            { return p.out.send("\n") }

func (p *ollamaSpeaker) calls(calls []Call, _ int, _ bool) error {
	for i, c := range calls {
		id := ""
		if c.ID != "" {
			id = `"id":` + quote(c.ID) + `,`
		}
		if err := p.out.send(p.head() + fmt.Sprintf(`"content":"","tool_calls":[{%s"function":{"index":%d,"name":%s,"arguments":%s}}]},"done":false}`,
			id, i, quote(c.Name), c.Arguments) + "\n"); err != nil {
			return err
		}
	}
	return nil
}

func (p *ollamaSpeaker) fail(message string) error {
	return p.out.send(`{"error":` + quote(message) + "}\n")
}

func (p *ollamaSpeaker) end(stop string, _ bool, u *Usage) error {
	if stop == "" {
		stop = "stop"
	}
	counts := ""
	if u != nil {
		counts = fmt.Sprintf(`,"total_duration":1000,"load_duration":10,"prompt_eval_count":%d,"prompt_eval_duration":10,"eval_count":%d,"eval_duration":10`, u.Prompt, u.Completion)
	}
	return p.out.send(p.head() + `"content":""},"done_reason":` + quote(stop) + `,"done":true` + counts + "}\n")
}

func (p *ollamaSpeaker) token() (string, string) {
	return p.head() + `"content":"`, `"},"done":false}` + "\n"
}
