package llm

import (
	"encoding/json"
	"strings"

	"sentient/actors/msg"
)

// reply gathers a stream: it passes text on as it comes and assembles the rest.
type reply struct {
	emit      func(msg.ModelChunk) error
	text      strings.Builder
	thinking  strings.Builder
	textRunes joiner
	thinkRune joiner
	tags      *tagSplitter // nil: text is text
	calls     callSet
	usage     msg.ModelUsage
	written   int    // tokens written to the provider's cache, which cost more
	stop      string // as in msg.ModelResult, "" until the provider said it
	ended     bool   // the provider said that the reply is whole
	said      bool
	size      int
	seal      seal
	emitErr   error
}

func newReply(req msg.ModelRequest, newID func() string, emit func(msg.ModelChunk) error, tags bool) *reply {
	r := &reply{emit: emit, calls: callSet{newID: newID, taken: map[string]bool{}}}
	if tags {
		r.tags = &tagSplitter{}
	}
	for _, m := range req.Messages {
		for _, c := range m.ToolCalls {
			r.calls.taken[c.ID] = true
		}
	}
	return r
}

func (r *reply) grow(n int) error {
	if r.size += n; r.size > maxReply {
		return errReplyTooLong
	}
	return nil
}

func (r *reply) addText(s string) error {
	if s == "" {
		return nil
	}
	if err := r.grow(len(s)); err != nil {
		return err
	}
	return r.passText(r.textRunes.push(s))
}

func (r *reply) passText(s string) error {
	if r.tags == nil {
		return r.out(s, "")
	}
	text, thinking := r.tags.push(s)
	if err := r.out("", thinking); err != nil {
		return err
	}
	return r.out(text, "")
}

func (r *reply) addThinking(s string) error {
	if s == "" {
		return nil
	}
	if err := r.grow(len(s)); err != nil {
		return err
	}
	return r.out("", r.thinkRune.push(s))
}

func (r *reply) out(text, thinking string) error {
	if text == "" && thinking == "" {
		return nil
	}
	r.text.WriteString(text)
	r.thinking.WriteString(thinking)
	r.said = true
	if r.emit == nil {
		return nil
	}
	r.emitErr = r.emit(msg.ModelChunk{Text: text, Thinking: thinking})
	return r.emitErr
}

// flush passes on what waited for more.
func (r *reply) flush() error {
	if err := r.out("", r.thinkRune.flush()); err != nil {
		return err
	}
	if err := r.passText(r.textRunes.flush()); err != nil {
		return err
	}
	if r.tags == nil {
		return nil
	}
	text, thinking := r.tags.flush()
	if err := r.out("", thinking); err != nil {
		return err
	}
	return r.out(text, "")
}

func (r *reply) result() msg.ModelResult {
	res := msg.ModelResult{Text: r.text.String(), Thinking: r.thinking.String(), Calls: r.calls.finish(), Usage: r.usage, Stop: r.stop}
	if res.Stop == "" || res.Stop == "stop" {
		res.Stop = "stop"
		if len(res.Calls) > 0 {
			res.Stop = "tool_calls"
		}
	}
	res.Signature = r.seal.pack(r.calls.list)
	return res
}

// callSet assembles tool calls whose pieces come split anywhere and mixed with each other.
type callSet struct {
	list    []*openCall
	byIndex map[int]*openCall
	taken   map[string]bool // ids that this conversation has used
	newID   func() string
}

type openCall struct {
	theirs, id string // the provider's id, and the one that we give out
	name, sign string
	args       strings.Builder
}

// at finds the call that a piece belongs to. Some providers give no index, and some give every parallel call the same one: then
// a new id means a new call.
func (s *callSet) at(index *int, id string) (*openCall, error) {
	var c *openCall
	switch {
	case index != nil:
		c = s.byIndex[*index]
	case len(s.list) > 0:
		c = s.list[len(s.list)-1]
	}
	if c != nil && (id == "" || c.theirs == "" || c.theirs == id) {
		if c.theirs == "" {
			c.theirs = id
		}
		return c, nil
	}
	if len(s.list) >= maxCalls {
		return nil, errTooManyCalls
	}
	c = &openCall{theirs: id}
	s.list = append(s.list, c)
	if index != nil {
		if s.byIndex == nil {
			s.byIndex = map[int]*openCall{}
		}
		s.byIndex[*index] = c
	}
	return c, nil
}

// named adds a piece of a name; a name that is repeated whole is the same name.
func (c *openCall) named(name string) {
	if name != c.name {
		c.name += name
	}
}

// finish gives the calls their ids: the provider's when it is new in this conversation, else one of ours.
func (s *callSet) finish() []msg.ToolCall {
	var out []msg.ToolCall
	for _, c := range s.list {
		if c.id == "" {
			if c.id = c.theirs; c.id == "" || s.taken[c.id] || len(c.id) > 256 {
				c.id = s.newID()
			}
			s.taken[c.id] = true
		}
		args := strings.ToValidUTF8(c.args.String(), "\uFFFD")
		if strings.TrimSpace(args) == "" {
			args = "{}"
		}
		out = append(out, msg.ToolCall{ID: c.id, Name: strings.ToValidUTF8(c.name, "\uFFFD"), Arguments: args})
	}
	return out
}

// seal is what ModelResult.Signature holds: the marks a provider needs to accept its own thinking and calls again. It names the
// provider, because another one must never see it.
type seal struct {
	Provider string            `json:"p"`
	Blocks   []sealBlock       `json:"b,omitempty"` // Anthropic: thinking blocks in their order
	Calls    []string          `json:"c,omitempty"` // Gemini: the mark of each call, in their order: the engine gives calls ids of its own
	Details  []json.RawMessage `json:"d,omitempty"` // OpenRouter: reasoning_details
	IDs      []string          `json:"i,omitempty"` // OpenRouter: what it called the calls, in their order; its details name them
}

// sealBlock is a thinking block: its length in ModelResult.Thinking and its signature, or its hidden data.
type sealBlock struct {
	Bytes int    `json:"n,omitempty"`
	Sign  string `json:"s,omitempty"`
	Data  string `json:"x,omitempty"`
}

func (s seal) pack(calls []*openCall) string {
	for i, c := range calls {
		if c.sign != "" {
			s.Calls = append(s.Calls, make([]string, i-len(s.Calls))...)
			s.Calls = append(s.Calls, c.sign)
		}
		if len(s.Details) > 0 {
			s.IDs = append(s.IDs, c.theirs)
		}
	}
	if len(s.Blocks) == 0 && len(s.Calls) == 0 && len(s.Details) == 0 {
		return ""
	}
	b, err := json.Marshal(s)
	if err != nil {
		return ""
	}
	return string(b)
}

// openSeal reads a signature that this provider made; anything else is an empty seal.
func openSeal(provider, signature string) seal {
	var s seal
	if signature == "" || json.Unmarshal([]byte(signature), &s) != nil || s.Provider != provider {
		return seal{}
	}
	return s
}
