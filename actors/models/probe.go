package models

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sentient/actors/msg"
)

// probe is the check of one role.
type probe struct {
	*checkup
	role, model string
	trial       *trial
}

// kind is one kind of check: its name for people, what is said while it runs, and the test. Nil is "does not apply".
type kind struct {
	id, label, step string
	once            bool // its result holds for every role with the same model and settings
	test            func(*probe, context.Context) *Check
}

// steps are the checks of the role in the contract's order.
func (x *probe) steps() []kind {
	all := []kind{{"connection", "Connection", "Checking the connection", false, (*probe).connection}}
	in := func(roles ...string) bool { return slices.Contains(roles, x.role) }
	add := func(on bool, k kind) {
		if on {
			all = append(all, k)
		}
	}
	talks := !in("embedding")
	_, ollama := ollamaName(x.model)
	add(talks, kind{"reply", "Reply", "Asking for a short answer", true, (*probe).reply})
	add(in("primary", "fast", "executor", "vision", "voice"), kind{"tools", "Tools", "Trying a tool call", true, (*probe).tools})
	add(in("primary", "executor"), kind{"chain", "Several tools in a row", "Trying a second tool call", true, (*probe).chain})
	add(in("fast", "planner"), kind{"json", "Structured answers", "Asking for an answer in JSON", true, (*probe).json})
	add(talks && ollama, kind{"thinking", "Thinking", "Checking whether it thinks", false, (*probe).thinking})
	add(talks && ollama, kind{"context", "Context length", "Checking the context length", false, (*probe).context})
	add(talks && ollama, kind{"gpu", "Graphics card", "Checking where it runs", false, (*probe).gpu})
	add(!talks, kind{"embedding", "Embedding", "Trying an embedding", false, (*probe).embedding})
	return all
}

// try runs one check within its time, or takes the result an earlier role had.
func (x *probe) try(ctx context.Context, k kind) *Check {
	if known, ok := x.trial.checks[k.id]; ok && k.once {
		return x.reuse(known.Check, known.role)
	}
	bound, cancel := context.WithTimeout(ctx, stepWait)
	defer cancel()
	c := k.test(x, bound)
	if c == nil {
		return nil
	}
	c.ID, c.Label = k.id, k.label
	if k.once {
		x.trial.checks[k.id] = tried{*c, x.role}
	}
	return c
}

func (x *probe) reuse(c Check, role string) *Check {
	c.Detail = "Same as " + role + ". " + c.Detail
	if c.Action != nil && c.Action.Kind == "use_model" {
		a := *c.Action
		a.Role = x.role
		c.Action = &a
	}
	return &c
}

func passed(detail string) *Check { return &Check{Status: pass, Detail: detail} }

func skipped(detail string) *Check { return &Check{Status: skip, Detail: detail} }

const pickAnother = "Pick another model in Settings > Models."

// request is what all tests of the role have in common.
func (x *probe) request(system, text string) msg.ModelRequest {
	r := msg.ModelRequest{Model: x.model, Role: x.role, System: system, Reasoning: x.models.Reasoning[x.role], MaxTokens: 2048, Job: "interactive",
		ContextLength: x.contextLength(x.role), Messages: []msg.ModelMessage{{Role: "user", Parts: msg.TextPart(text)}}}
	if t, ok := x.models.Temperature[x.role]; ok {
		r.Temperature = &t
	}
	return r
}

func (x *probe) ask(ctx context.Context, r msg.ModelRequest) (msg.ModelResult, error) {
	res, err := x.o.Models.Stream(ctx, r, func(msg.ModelChunk) error { return nil })
	if res.Usage.Known {
		x.o.Count(msg.CountedCall{Model: x.model, Role: x.role, Source: "background", Usage: res.Usage})
	}
	return res, err
}

// failed is the check of a call that ended with an error.
func (x *probe) failed(ctx context.Context, err error) *Check {
	c := &Check{Status: fail, Detail: err.Error()}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		c.Detail = fmt.Sprintf("%s did not finish within %d seconds.", x.o.Models.Name(x.model), int(stepWait.Seconds()))
		c.Fix = "Try again when nothing else uses it, or pick a smaller or quicker model in Settings > Models."
		return c
	}
	if fault, ok := msg.AsModelError(err); ok {
		x.mend(c, fault)
	}
	return c
}

// mend adds the fix of a failure.
func (x *probe) mend(c *Check, fault *msg.ModelError) {
	provider := providerOf(x.model)
	label := x.o.Models.ProviderName(provider)
	switch {
	case fault.Fault == msg.FaultKey && provider == "chatgpt" && strings.Contains(fault.Message, "Plus or Pro"): // this account has no plan to share
		c.Fix = "Sign in with a Plus or Pro account under Settings > Models > Use a plan you already have."
	case fault.Fault == msg.FaultKey && provider == "chatgpt":
		c.Fix = "Sign in with ChatGPT again under Settings > Models > Use a plan you already have."
	case fault.Fault == msg.FaultKey:
		c.Fix = "Add or renew the key for " + label + " in Settings > Models."
	case fault.Fault == msg.FaultMissing && isOllama(x.model):
		_, name, _ := strings.Cut(x.model, "/")
		c.Detail = name + " is not downloaded in Ollama." // the model's own sentence already says to download it
		c.Fix, c.Action = "Download it.", pullAction(name)
	case fault.Fault == msg.FaultUnreachable && isOllama(x.model):
		c.Fix = startOllama
	case fault.Fault == msg.FaultUnreachable && x.o.Models.IsLocal(x.model):
		c.Fix = "Start " + label + " and load the model."
	case fault.Fault == msg.FaultUnreachable:
		c.Fix = "Check the internet connection."
	case fault.Fault == msg.FaultCredits:
		c.Fix = "Add credits at " + label + ", or pick another model in Settings > Models."
	case fault.Fault == msg.FaultRate, fault.Fault == msg.FaultUnavailable, fault.Fault == msg.FaultCut, fault.Fault == msg.FaultTimeout:
		c.Fix = "Try again in a few minutes."
	case fault.Fault == msg.FaultLocalOnly:
		c.Fix = "Pick a model that runs on this computer, or turn Local only off in Settings > Models."
	default:
		c.Fix = pickAnother
	}
}

func (x *probe) connection(ctx context.Context) *Check {
	provider := providerOf(x.model)
	label := x.o.Models.ProviderName(provider)
	if isClaudeCode(x.model) {
		return x.claudeCode(ctx)
	}
	if provider == "builtin" {
		return passed("It is built in.")
	}
	if err := x.o.Models.Available(ctx, x.model); err != nil {
		return x.failed(ctx, err)
	}
	if isOllama(x.model) {
		return passed("Ollama is running and has " + x.o.Models.Name(x.model) + ".")
	}
	switch {
	case provider == "chatgpt":
		return passed("You are signed in with ChatGPT.")
	case !x.o.Models.IsLocal(x.model):
		return passed("A key for " + label + " is set.")
	}
	text, err := x.o.Models.CheckProvider(ctx, provider)
	if err != nil {
		return x.failed(ctx, err)
	}
	return passed(text)
}

// claudeCode reports without calling it, because each call counts against the person's plan.
func (x *probe) claudeCode(ctx context.Context) *Check {
	why := x.refusal(x.role)
	if why == "" {
		if err := x.o.Models.Available(ctx, x.model); err != nil {
			why = err.Error()
		}
	}
	if why == "" {
		return passed("Claude Code is ready. It is not called here, because that would use your plan.")
	}
	c := &Check{Status: fail, Detail: why, Fix: pickAnother}
	if model := x.instead(ctx); model != "" {
		c.Fix = "Use " + x.o.Models.Name(model) + " for this role."
		c.Action = x.use(model)
	}
	return c
}

// instead is a chat model in use that isn't Claude Code, the background model first, else the one sized for this computer when it
// is downloaded.
func (x *probe) instead(ctx context.Context) string {
	for _, role := range []string{"fast", "primary", "planner", "executor", "vision", "voice"} {
		if m := x.of[role]; m != nil && !isClaudeCode(*m) {
			return *m
		}
	}
	if r := x.hardware.Recommendation; !r.CloudFirst && x.o.Models.Available(ctx, r.Model) == nil {
		return r.Model
	}
	return ""
}

func (x *probe) use(model string) *Action {
	return &Action{Kind: "use_model", Role: x.role, Model: model, Label: "Use " + x.o.Models.Name(model)}
}

func (x *probe) reply(ctx context.Context) *Check {
	began := x.o.Now()
	res, err := x.ask(ctx, x.request("", "Answer with the single word: ready"))
	if err != nil {
		return x.failed(ctx, err)
	}
	x.trial.reply = &res
	if strings.TrimSpace(res.Text) == "" {
		return &Check{Status: fail, Detail: "It answered nothing.", Fix: pickAnother}
	}
	return passed(fmt.Sprintf("It answered in %.1f seconds.", x.o.Now().Sub(began).Seconds()))
}

// silent: a model that gives no answer is not asked for more.
func (x *probe) silent() bool {
	return x.trial.checks["reply"].Status == fail
}

const noAnswer = "Not tried, because it gave no answer."

var (
	findCity = msg.ToolSchema{Name: "find_city", Description: "Finds the city of a postal code.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"postal_code":{"type":"string"}},"required":["postal_code"]}`)}
	getWeather = msg.ToolSchema{Name: "get_weather", Description: "Tells the weather in a city now.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)}
)

const (
	toolsSystem = "Use the tools you are given. Never guess what a tool can tell."
	toolsAsk    = "What is the weather in the city with the postal code 10115? First find the city with find_city, then ask get_weather for it."
)

// called finds a call with an argument that is text and not empty.
func called(calls []msg.ToolCall, name, argument string) (msg.ToolCall, string, bool) {
	for _, c := range calls {
		var args map[string]any
		if c.Name != name || json.Unmarshal([]byte(c.Arguments), &args) != nil {
			continue
		}
		if v := fmt.Sprint(args[argument]); args[argument] != nil && v != "" {
			return c, v, true
		}
	}
	return msg.ToolCall{}, "", false
}

func (x *probe) tools(ctx context.Context) *Check {
	if x.silent() {
		return skipped(noAnswer)
	}
	r := x.request(toolsSystem, toolsAsk)
	r.Tools = []msg.ToolSchema{findCity, getWeather}
	res, err := x.ask(ctx, r)
	if fault, ok := msg.AsModelError(err); ok && fault.Fault == msg.FaultNoTools {
		return x.needsBetter(ctx, fault.Message)
	}
	if err != nil {
		return x.failed(ctx, err)
	}
	call, code, ok := called(res.Calls, "find_city", "postal_code")
	switch {
	case ok && strings.Contains(code, "10115"):
		x.trial.call = &call
		return passed("It called a tool correctly.")
	case len(res.Calls) > 0:
		return x.needsBetter(ctx, "It called a tool, but not the right one or not in the right way.")
	}
	return x.needsBetter(ctx, "It answered with text instead of calling the tool.")
}

// chain goes on from the call of the tools check: the result of the first tool is what the second one needs.
func (x *probe) chain(ctx context.Context) *Check {
	if x.silent() {
		return skipped(noAnswer)
	}
	if x.trial.call == nil {
		return skipped("Not tried, because it did not call the first tool.")
	}
	first := *x.trial.call
	if first.ID == "" {
		first.ID = "call_first"
	}
	r := x.request(toolsSystem, toolsAsk)
	r.Tools = []msg.ToolSchema{findCity, getWeather}
	r.Messages = append(r.Messages, msg.ModelMessage{Role: "assistant", ToolCalls: []msg.ToolCall{first}},
		msg.ModelMessage{Role: "tool", ToolCallID: first.ID, Name: "find_city", Parts: msg.TextPart(`{"city": "Berlin"}`)})
	res, err := x.ask(ctx, r)
	if err != nil {
		return x.failed(ctx, err)
	}
	if _, city, ok := called(res.Calls, "get_weather", "city"); ok && strings.Contains(strings.ToLower(city), "berlin") {
		return passed("It used the result of one tool for the next.")
	}
	return x.needsBetter(ctx, "It did not use the result of the first tool for the second one.")
}

// toolModel is the local model that is good enough for tools.
const toolModel = "ollama_chat/qwen3:8b"

// needsBetter is the failure of a model that cannot work with tools; the fix is the model recommended here.
func (x *probe) needsBetter(ctx context.Context, detail string) *Check {
	c := &Check{Status: fail, Detail: detail, Fix: pickAnother}
	model := toolModel
	if r := x.hardware.Recommendation; r.Model != "" && !r.CloudFirst {
		model = r.Model
	}
	if model == x.model {
		return c
	}
	_, name, _ := strings.Cut(model, "/")
	c.Fix = "Use " + name + " for this role, which works well with tools."
	if fault, ok := msg.AsModelError(x.o.Models.Available(ctx, model)); ok && fault.Fault == msg.FaultMissing {
		c.Fix = "Download " + name + " and use it for this role; it works well with tools."
		c.Action = pullAction(name)
		return c
	}
	c.Action = x.use(model)
	return c
}

func (x *probe) json(ctx context.Context) *Check {
	if x.silent() {
		return skipped(noAnswer)
	}
	r := x.request("", `Which country is Berlin the capital of? Answer with one JSON object of the form {"city": "...", "country": "..."} and nothing else.`)
	r.JSON = true
	res, err := x.ask(ctx, r)
	if err != nil {
		return x.failed(ctx, err)
	}
	if !hasCountry(res.Text) {
		return &Check{Status: fail, Detail: "Its answer was not the JSON that was asked for.", Fix: pickAnother}
	}
	return passed("It answered in the form that was asked for.")
}

// hasCountry reads an answer as the engine's jobs do: text around the object is forgiven.
func hasCountry(text string) bool {
	from, to := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	if from < 0 || to < from {
		return false
	}
	var v struct{ Country string }
	return json.Unmarshal([]byte(text[from:to+1]), &v) == nil && v.Country != ""
}

func (x *probe) embedding(ctx context.Context) *Check {
	if x.o.Embed == nil {
		return skipped("Embedding models cannot be tried in this version.")
	}
	n, err := x.o.Embed(ctx, x.model)
	switch {
	case err != nil:
		return x.failed(ctx, err)
	case n <= 0:
		return &Check{Status: fail, Detail: "It gave an empty vector.", Fix: pickAnother}
	}
	return passed("It makes vectors of " + thousands(n) + " numbers.")
}

// thousands writes 8192 as 8,192.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
