package claude

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sentient/actors/msg"
)

// event is a line of stream-json in the parts that count here.
type event struct {
	Type    string   `json:"type"`
	Subtype string   `json:"subtype"`
	Parent  *string  `json:"parent_tool_use_id"`
	Tools   []string `json:"tools"` // system/init
	Event   struct { // stream_event: Anthropic's message stream
		Type    string  `json:"type"`
		Index   int     `json:"index"`
		Message message `json:"message"`
		Block   content `json:"content_block"`
		Delta   struct {
			Type     string `json:"type"`
			Text     string `json:"text"`
			Thinking string `json:"thinking"`
			Partial  string `json:"partial_json"`
			Stop     string `json:"stop_reason"`
		} `json:"delta"`
		Usage *usage `json:"usage"`
	} `json:"event"`
	Message message `json:"message"` // assistant
	IsError bool    `json:"is_error"`
	Result  string  `json:"result"`
	Usage   *usage  `json:"usage"` // result
}

type message struct {
	ID      string          `json:"id"`
	Model   string          `json:"model"`
	Content json.RawMessage `json:"content"`
	Usage   *usage          `json:"usage"`
}

type content struct {
	Type     string          `json:"type"`
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Text     string          `json:"text"`
	Thinking string          `json:"thinking"`
	Input    json.RawMessage `json:"input"`
}

type usage struct {
	Input      int `json:"input_tokens"`
	Output     int `json:"output_tokens"`
	CacheRead  int `json:"cache_read_input_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
}

const (
	maxReply = 16 << 20 // bytes of text, thinking and arguments
	maxCalls = 128
)

// allowed are tools of Claude Code's own that do nothing to the computer.
var allowed = []string{"EndConversation", "ToolSearch"}

var (
	errNoInit  = errors.New("something came before the list of tools")
	errTooLong = errors.New("the reply is too long")
)

// foreignError: Claude Code has tools that are not Sentient's.
type foreignError struct{ tool string }

func (e *foreignError) Error() string { return "it has a tool of its own: " + e.tool }

// resultError is Claude Code's own word that the reply failed.
type resultError struct{ text string }

func (e *resultError) Error() string { return e.text }

// reply gathers a stream. It is pure but for emit.
type reply struct {
	emit    func(msg.ModelChunk) error
	emitErr error
	begun   bool // the list of tools came and is fine
	ended   bool
	said    bool
	size    int
	text    strings.Builder
	think   strings.Builder
	calls   []*call
	open    map[int]*call
	partial map[string]bool // messages that came in pieces
	stop    string
	usage   msg.ModelUsage
}

type call struct {
	id, name string
	args     strings.Builder
	input    json.RawMessage // whole arguments, used when no pieces came
}

func newReply(emit func(msg.ModelChunk) error) *reply {
	return &reply{emit: emit, open: map[int]*call{}, partial: map[string]bool{}}
}

// take reads one event. Progress says that it was part of a reply.
func (r *reply) take(e *event) (progress bool, err error) {
	if e.Type == "system" && e.Subtype == "init" {
		r.begun = true
		return true, checkTools(e.Tools)
	}
	if e.Parent != nil {
		return false, nil
	}
	switch e.Type {
	case "stream_event", "assistant":
		if !r.begun {
			return false, errNoInit
		}
		if e.Type == "assistant" {
			return true, r.message(&e.Message)
		}
		return true, r.piece(e)
	case "result":
		return true, r.result(e)
	}
	return false, nil // new kinds of events are to be ignored
}

func checkTools(tools []string) error {
	for _, t := range tools {
		if !strings.HasPrefix(t, prefix) && !slices.Contains(allowed, t) {
			return &foreignError{t}
		}
	}
	return nil
}

func (r *reply) piece(e *event) error {
	x := &e.Event
	switch x.Type {
	case "message_start":
		r.partial[x.Message.ID] = true
		r.open = map[int]*call{}
		r.count(x.Message.Usage)
	case "content_block_start":
		if x.Block.Type == "tool_use" {
			c, err := r.call(x.Block)
			r.open[x.Index] = c
			return err
		}
		return r.out(x.Block.Text, x.Block.Thinking)
	case "content_block_delta":
		if x.Delta.Type == "input_json_delta" {
			if c := r.open[x.Index]; c != nil {
				c.args.WriteString(x.Delta.Partial)
			}
			return r.grow(len(x.Delta.Partial))
		}
		return r.out(x.Delta.Text, x.Delta.Thinking)
	case "message_delta":
		if x.Delta.Stop != "" {
			r.stop = stopOf(x.Delta.Stop)
		}
		r.count(x.Usage)
	case "message_stop":
		r.ended = r.ended || len(r.calls) > 0 // what comes next would only be the bridge's refusals
	}
	return nil
}

// message takes a whole message: the calls, and the text unless it came in pieces before.
func (r *reply) message(m *message) error {
	if m.Model == "<synthetic>" { // Claude Code's own words; the result says them again
		return nil
	}
	r.count(m.Usage)
	var parts []content
	if json.Unmarshal(m.Content, &parts) != nil {
		return nil // a plain string is no message of a model
	}
	for _, c := range parts {
		switch {
		case c.Type == "tool_use":
			known, err := r.call(c)
			if err != nil {
				return err
			}
			if known != nil {
				known.input = c.Input
			}
		case !r.partial[m.ID]:
			if err := r.out(c.Text, c.Thinking); err != nil {
				return err
			}
		}
	}
	return nil
}

// call finds or opens the call of a block; nil for tools that are not Sentient's but may be there.
func (r *reply) call(c content) (*call, error) {
	if slices.Contains(allowed, c.Name) {
		return nil, nil
	}
	name, ok := strings.CutPrefix(c.Name, prefix)
	if !ok {
		return nil, &foreignError{c.Name}
	}
	for _, k := range r.calls {
		if k.id == c.ID {
			return k, nil
		}
	}
	if len(r.calls) >= maxCalls {
		return nil, errTooLong
	}
	k := &call{id: c.ID, name: name, input: c.Input}
	r.calls = append(r.calls, k)
	return k, r.grow(len(c.Input))
}

func (r *reply) result(e *event) error {
	r.count(e.Usage)
	switch {
	case len(r.calls) > 0:
	case e.Subtype == "error_max_turns" && r.said:
	case e.IsError || e.Subtype != "success" && e.Subtype != "":
		return &resultError{e.Subtype + " " + e.Result}
	case !r.said:
		if err := r.out(e.Result, ""); err != nil {
			return err
		}
	}
	r.ended = true
	return nil
}

func (r *reply) grow(n int) error {
	if r.size += n; r.size > maxReply {
		return errTooLong
	}
	return nil
}

func (r *reply) out(text, thinking string) error {
	if text == "" && thinking == "" {
		return nil
	}
	if err := r.grow(len(text) + len(thinking)); err != nil {
		return err
	}
	r.text.WriteString(text)
	r.think.WriteString(thinking)
	r.said = true
	if r.emit != nil {
		r.emitErr = r.emit(msg.ModelChunk{Text: text, Thinking: thinking})
	}
	return r.emitErr
}

// count keeps the newest word on the tokens; a later one that names no input leaves it.
func (r *reply) count(u *usage) {
	if u == nil {
		return
	}
	r.usage.Known = true
	if n := u.Input + u.CacheRead + u.CacheWrite; n > 0 {
		r.usage.PromptTokens, r.usage.CachedTokens = n, u.CacheRead
	}
	r.usage.CompletionTokens = max(u.Output, r.usage.CompletionTokens)
}

func stopOf(reason string) string {
	switch reason {
	case "max_tokens":
		return "length"
	case "refusal":
		return "content_filter"
	}
	return "stop"
}

func (r *reply) finished() msg.ModelResult {
	res := msg.ModelResult{Text: r.text.String(), Thinking: r.think.String(), Usage: r.usage, Stop: r.stop}
	for _, c := range r.calls {
		args := c.args.String()
		if strings.TrimSpace(args) == "" {
			args = string(c.input)
		}
		if strings.TrimSpace(args) == "" || args == "null" {
			args = "{}"
		}
		res.Calls = append(res.Calls, msg.ToolCall{ID: c.id, Name: c.name, Arguments: args})
	}
	switch {
	case len(res.Calls) > 0 && (res.Stop == "" || res.Stop == "stop"):
		res.Stop = "tool_calls"
	case res.Stop == "":
		res.Stop = "stop"
	}
	return res
}

// verdict gives Claude Code's failure its words.
func (e *resultError) verdict(name string) (msg.ModelFault, string) {
	text := strings.ToLower(e.text)
	says := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
	}
	switch {
	case says("/login", "not logged in", "invalid api key", "authentication", "oauth token", "401"):
		return msg.FaultKey, loginText
	case says("usage limit", "limit reached", "hit your limit", "rate limit", "429"):
		return msg.FaultRate, limitText
	case says("prompt is too long", "too long"):
		return msg.FaultTooLong, "This conversation is too long for Claude Code. Start a new chat" + another
	case says("issue with the selected model", "model not found", "not_found_error", "invalid model"):
		return msg.FaultMissing, fmt.Sprintf("Claude Code has no model named %s. Pick another model in Settings > Models.", cut(name, 80))
	case says("overloaded", "529", "503", "api error: 5", "connection error", "unavailable"):
		return msg.FaultUnavailable, "Claude is overloaded or can't be reached right now. Try again in a few minutes" + another
	}
	return msg.FaultOther, failedText
}
