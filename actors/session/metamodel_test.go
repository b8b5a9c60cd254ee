package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"sentient/actors/msg"
	"sentient/transport/pretend"
)

// pureModel answers as a pure function of what it is shown, and takes its time as one: the same transcript gets the same
// answer at the same pace. The person's words say what it does: every "#mail" in their messages since the last reply is one
// round of calls. Its reply holds a digest of all it was shown, so a transcript also proves what the model read.
type pureModel struct {
	mu    sync.Mutex
	asked []*asking
}

// asking is one request, what its whole answer is, and what of it was handed over when.
type asking struct {
	r      msg.ModelRequest
	digest string
	full   string
	said   []saidAt
}

type saidAt struct {
	at time.Time
	n  int // bytes of full
}

// kept is how much of the answer had been handed over by a moment.
func (a *asking) kept(at time.Time) (n int) {
	for _, s := range a.said {
		if !s.at.After(at) {
			n = s.n
		}
	}
	return n
}

// about are the requests of the chat whose messages begin with its label.
func (m *pureModel) about(label string) (list []*asking) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range m.asked {
		for _, x := range a.r.Messages {
			if x.Role == "user" && strings.HasPrefix(textOf(x), label) {
				list = append(list, a)
				break
			}
		}
	}
	return list
}

func (m *pureModel) answer(ctx context.Context, r msg.ModelRequest, emit func(msg.ModelChunk) error) (msg.ModelResult, error) {
	digest := digestOf(r)
	thinking, text, calls, broken := replyTo(r.Messages, digest)
	a := &asking{r: r, digest: digest, full: text}
	m.mu.Lock()
	m.asked = append(m.asked, a)
	m.mu.Unlock()
	cancelled := &msg.ModelError{Fault: msg.FaultCancelled, Message: "cancelled"}
	if !passes(ctx, spread(digest, 30*time.Millisecond, 200*time.Millisecond)) {
		return msg.ModelResult{}, cancelled
	}
	if thinking != "" && emit(msg.ModelChunk{Thinking: thinking}) != nil {
		return msg.ModelResult{}, cancelled
	}
	at := 0
	for i, w := range strings.SplitAfter(text, " ") {
		if !passes(ctx, spread(fmt.Sprint(digest, i), 10*time.Millisecond, 60*time.Millisecond)) || emit(msg.ModelChunk{Text: w}) != nil {
			return msg.ModelResult{}, cancelled
		}
		at += len(w)
		m.mu.Lock()
		a.said = append(a.said, saidAt{time.Now(), at})
		m.mu.Unlock()
	}
	if broken {
		return msg.ModelResult{}, &msg.ModelError{Fault: msg.FaultOther, Message: "The provider broke down."}
	}
	return msg.ModelResult{Text: text, Thinking: thinking, Calls: calls, Stop: "stop", Usage: msg.ModelUsage{Known: true, PromptTokens: 100, CompletionTokens: at}}, nil
}

// passes waits; false when the context ended first.
func passes(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// spread is a length of time between low and high, odd to the nanosecond, so that no two things fall on one moment by chance.
func spread(seed string, low, high time.Duration) time.Duration {
	h := sha256.Sum256([]byte(seed))
	n := time.Duration(h[0])<<32 | time.Duration(h[1])<<24 | time.Duration(h[2])<<16 | time.Duration(h[3])<<8 | time.Duration(h[4])
	return low + n%(high-low)
}

func textOf(m msg.ModelMessage) string {
	var b strings.Builder
	for _, p := range m.Parts {
		if !strings.HasPrefix(p.Text, "[Now: ") {
			b.WriteString(p.Text + string(p.Image) + "\n")
		}
	}
	return strings.TrimSpace(b.String())
}

var sentNumber = regexp.MustCompile(`sent-\d+`)

// digestOf covers all a model is shown but the clock.
func digestOf(r msg.ModelRequest) string {
	h := sha256.New()
	fmt.Fprintln(h, r.Model, r.Role, r.System, len(r.Tools))
	for _, m := range r.Messages {
		fmt.Fprintf(h, "%q %q %q %q %v\n", m.Role, sentNumber.ReplaceAllString(textOf(m), "sent"), m.ToolCallID, m.Name, m.ToolCalls)
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

var wishes = regexp.MustCompile(`#([a-z]+)`)

// replyTo is the answer to a conversation.
func replyTo(ms []msg.ModelMessage, digest string) (thinking, text string, calls []msg.ToolCall, broken bool) {
	var rounds []string
	long, done := false, 0
	for _, m := range ms {
		switch {
		case m.Role == "user":
			for _, w := range wishes.FindAllStringSubmatch(textOf(m), -1) {
				switch w[1] {
				case "fresh": // forget what was asked before
					rounds, long, done = nil, false, 0
				case "long":
					long = true
				default:
					rounds = append(rounds, w[1])
				}
			}
		case m.Role == "assistant" && len(m.ToolCalls) > 0:
			done++
		case m.Role == "assistant":
			rounds, long, done = nil, false, 0
		}
	}
	if digest[0] < '4' {
		thinking = "Thinking of " + digest + "."
	}
	if done < len(rounds) {
		if rounds[done] == "broken" {
			return thinking, "It begins well.", nil, true
		}
		if digest[1] < '8' {
			text = "First I " + rounds[done] + " then I see what " + digest + " says. "
		}
		return thinking, text, callsFor(rounds[done], digest), false
	}
	n := 3 + int(digest[2])%12
	if long {
		n = 120
	}
	return thinking, "Reply " + digest + strings.Repeat(" word", n) + ".", nil, false
}

// callsFor are the calls of one round; every call has an id and arguments like no other's.
func callsFor(wish, digest string) (list []msg.ToolCall) {
	add := func(name, args string) {
		id := fmt.Sprintf("c%s%d", digest, len(list))
		list = append(list, toolCall(id, name, strings.ReplaceAll(args, "ID", id)))
	}
	switch wish {
	case "look":
		add("notes_list", `{}`)
	case "inbox":
		add("mail_search", `{"query":"lunch"}`)
	case "page":
		add("pages_open", `{"url":"https://bakery.example/ID"}`)
	case "lock":
		add("home_lock", `{"door":"ID"}`)
	case "mail":
		add("mail_send", `{"to":"priya@example.com","subject":"Lunch","body":"ID"}`)
	case "post":
		add("social_post", `{"text":"ID"}`)
	case "buy":
		add("shop_buy", `{"item":"ID","amount":"$20"}`)
	case "code":
		add("code_run", `{"code":"ID"}`)
	case "pair":
		add("notes_list", `{}`)
		add("contacts_find", `{"name":"Priya"}`)
	case "mix":
		add("notes_list", `{}`)
		add("home_lock", `{"door":"ID"}`)
		add("social_post", `{"text":"ID"}`)
		add("code_run", `{"code":"ID"}`)
	default: // what no tool takes
		add("no_such_tool", `{}`)
		add("mail_send", `{"to":`)
	}
	return list
}

// wishNames are what a message can ask for.
var wishNames = []string{"look", "inbox", "page", "lock", "lock", "mail", "mail", "post", "post", "buy", "code", "code", "code", "pair", "mix", "mix", "wrong", "broken", "long"}

// slowApps are a pretend world's tools that take a while before and after what they do.
func slowApps(w *pretend.World, begins func(call string)) []msg.Plugin {
	apps := w.Plugins()
	for _, p := range apps {
		for i := range p.Tools {
			run := p.Tools[i].Run
			p.Tools[i].Run = func(ctx context.Context, c *msg.Call) (any, error) {
				begins(c.ID)
				if !passes(ctx, spread("before"+c.ID, 50*time.Millisecond, 700*time.Millisecond)) {
					return nil, ctx.Err()
				}
				out, err := run(ctx, c)
				c.Progress(msg.ToolProgress{Kind: "stdout", Text: "working"})
				if !passes(ctx, spread("after"+c.ID, 50*time.Millisecond, 700*time.Millisecond)) {
					return nil, ctx.Err()
				}
				return out, err
			}
		}
	}
	return apps
}

// effectKey is the call that an effect of the pretend world comes from: each call's arguments hold its id.
func effectKey(e pretend.Effect) string {
	for _, k := range []string{"body", "text", "door", "item", "code", "url"} {
		if s, ok := e.Args[k].(string); ok && k != "url" {
			return s
		} else if ok {
			return strings.TrimPrefix(s, "https://bakery.example/")
		}
	}
	return "?"
}
