package faults

import (
	"encoding/json"
	"regexp"
	"strings"
	"time"

	"sentient/transport/llm/llmtest"
)

// order finds what the person's message asks the model to do.
var order = regexp.MustCompile(`\[([a-z]+-[0-9]+-[0-9]+-[0-9]+) ([a-z]+)\]`)

const floodLine = `data: {"id":"f","object":"chat.completion.chunk","created":1,"model":"test","choices":[{"index":0,"delta":{"content":"flood "},"finish_reason":null}]}` + "\n\n"

// newModel is the provider: it does what the newest message of the person says, and faults are things to do, too.
func newModel() (*llmtest.Server, error) {
	return llmtest.New(llmtest.Options{Forget: true, Script: answer, Models: []llmtest.Model{{Name: "test", Context: 32768, Capabilities: []string{"completion", "tools"}}}})
}

func answer(r llmtest.Request) llmtest.Reply {
	switch {
	case strings.Contains(r.System, "check an assistant's next action"):
		return llmtest.Text(`{"match": true, "reason": ""}`)
	case strings.Contains(r.System, "standing rule"):
		return llmtest.Text("{}")
	}
	asked, results := newest(r.Messages)
	m := order.FindStringSubmatch(asked)
	if m == nil {
		return llmtest.Text("I am here.")
	}
	return obey(m[1], m[2], results)
}

// newest is the person's last message, and how many results of calls came after it.
func newest(list []llmtest.Message) (text string, results int) {
	for i := len(list) - 1; i >= 0; i-- {
		switch list[i].Role {
		case "user":
			return list[i].Text, results
		case "tool":
			results++
		}
	}
	return "", results
}

func obey(id, do string, results int) llmtest.Reply {
	if r, ok := misbehave(do); ok {
		return r
	}
	switch {
	case do == doRepeat && results == 1:
		return act(id+"-b", "trouble_write")
	case results > 0:
		return words(id, wordsAfterCalls)
	}
	switch do {
	case doWrite, doRepeat:
		return act(id, "trouble_write")
	case doSend:
		return act(id, "social_post")
	case doBoth:
		a, b := act(id, "trouble_write"), act(id+"-b", "shop_buy")
		a.Steps[0].Calls = append(a.Steps[0].Calls, b.Steps[0].Calls...)
		return a
	case doLook:
		return act(id, "home_state")
	case doPanic:
		return act(id, "trouble_panic")
	case doChild:
		return act(id, "trouble_children")
	default:
		return words(id, wordsAlone)
	}
}

// misbehave is a provider's fault. Each begins as an answer that looks good.
func misbehave(do string) (llmtest.Reply, bool) {
	first := llmtest.Step{Text: "Well, "}
	switch do {
	case doStall:
		return llmtest.Reply{Steps: []llmtest.Step{first, {Stall: true}}}, true
	case doGarble:
		return llmtest.Reply{Steps: []llmtest.Step{first, {Raw: "data: {\"choices\":[{\"delta\":{\"con\xff\xfe\x00]\n\n"}}}, true
	case doCut:
		return llmtest.Reply{Steps: []llmtest.Step{first, {Wait: 50 * time.Millisecond}, {Cut: true}}}, true
	case doFlood:
		return llmtest.Reply{Steps: []llmtest.Step{first, {Endless: floodLine}}}, true
	case doFail:
		return llmtest.Fail(503, `{"error":{"message":"overloaded"}}`), true
	case doLimited:
		return llmtest.Fail(429, `{"error":{"message":"slow down"}}`), true
	}
	return llmtest.Reply{}, false
}

// How many words a reply has: with calls before it, and without.
const (
	wordsAfterCalls = 3
	wordsAlone      = 20
)

func words(id string, n int) llmtest.Reply {
	steps := []llmtest.Step{{Text: "Done with " + id + ":"}}
	for range n {
		steps = append(steps, llmtest.Step{Wait: 15 * time.Millisecond, Text: " word"})
	}
	return llmtest.Reply{Steps: steps, Usage: &llmtest.Usage{Prompt: 10, Completion: n}}
}

// saying is the whole of words as a client reads it.
func saying(id string, n int) string { return "Done with " + id + ":" + strings.Repeat(" word", n) }

// act asks for a call whose arguments hold the id, under the name that its tool has for it.
func act(id, tool string) llmtest.Reply {
	args := map[string]string{"id": id}
	switch tool {
	case "social_post":
		args = map[string]string{"text": id}
	case "shop_buy":
		args = map[string]string{"item": id, "amount": "$5"}
	case "trouble_children":
		args["count"] = "2"
	case "home_state":
		args = map[string]string{}
	}
	b, _ := json.Marshal(args) // strings always can
	return llmtest.Tools(llmtest.Call{ID: "call_" + id, Name: tool, Arguments: string(b)})
}
