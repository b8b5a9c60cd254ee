package llmtest

import (
	"net/http"
	"strings"
	"time"
)

// Reply is a scripted answer. With Status set it is an error answer: Status, Header and Body are sent as they are.
type Reply struct {
	Steps []Step
	Usage *Usage
	Stop  string // as the protocol says it; "" means what fits the steps

	Status int
	Header http.Header
	Body   string

	NoEnd bool // the stream ends without its end marks
}

// Step is one thing a streaming model does. It waits first; then whatever is set happens, in the order of the fields.
type Step struct {
	Wait      time.Duration
	Text      string
	Thinking  string
	Signature string // Anthropic: of the thinking before it
	Calls     []Call // asked for at the same time
	Pieces    int    // bytes of each piece of the calls' arguments; 0 means whole
	Mixed     bool   // the pieces of parallel calls take turns (OpenAI only: the others cannot)
	Ping      bool   // a keep-alive
	Raw       string // sent as it is
	Error     string // the protocol's error inside a stream, with this message
	Stall     bool   // say nothing more until the client goes
	Cut       bool   // close the connection in the middle
	Endless   string // repeat this for ever
}

// Call is a tool call. An empty ID is not sent.
type Call struct {
	ID, Name, Arguments string
}

// Usage is what the model says it counted.
type Usage struct{ Prompt, Completion, Cached, CacheWritten int }

// Text is a reply of words, one token each.
func Text(text string) Reply {
	var r Reply
	for _, word := range strings.SplitAfter(text, " ") {
		if word != "" {
			r.Steps = append(r.Steps, Step{Text: word})
		}
	}
	r.Usage = &Usage{Prompt: 10, Completion: len(r.Steps)}
	return r
}

// Tools is a reply that asks for tools.
func Tools(calls ...Call) Reply {
	return Reply{Steps: []Step{{Calls: calls, Pieces: 7}}, Usage: &Usage{Prompt: 10, Completion: 5}}
}

// Fail is an error answer.
func Fail(status int, body string) Reply { return Reply{Status: status, Body: body} }

// Load is the default reply of a load run: Tokens tokens, Every apart, counted from the first one so that delays do not add up.
type Load struct {
	Tokens int
	Every  time.Duration
	Token  string // the text of each; "" means "word "
	Stamp  bool   // each token is the time it was written at, in Unix nanoseconds, and a space
}

func (r Reply) hasCalls() bool {
	for _, s := range r.Steps {
		if len(s.Calls) > 0 {
			return true
		}
	}
	return false
}
