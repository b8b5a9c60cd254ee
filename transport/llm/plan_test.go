package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"sentient/actors/msg"
	"sentient/transport/plan/plantest"
)

// fakePlan gives one token after the other: the next when the one before is stale.
type fakePlan struct {
	mu     sync.Mutex
	tokens []string
	err    error
	asked  []string // stale tokens
}

func (p *fakePlan) SignedIn(context.Context) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.tokens) > 0
}

func (p *fakePlan) Token(_ context.Context, stale string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, stale)
	if p.err != nil {
		return "", p.err
	}
	if stale == p.tokens[0] && len(p.tokens) > 1 {
		p.tokens = p.tokens[1:]
	}
	return p.tokens[0], nil
}

// openAI is what a plan's calls go to.
type openAI struct {
	*httptest.Server
	mu     sync.Mutex
	good   string // the access token that works
	models string // "" refuses the list
	reply  string // a stream, or "status body"
	lists  int
	bodies []map[string]any
}

func newOpenAI(t *testing.T) *openAI {
	x := &openAI{good: "t", models: plantest.DefaultModels, reply: plantest.Hello}
	x.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x.mu.Lock()
		defer x.mu.Unlock()
		if r.Header.Get("Authorization") != "Bearer "+x.good {
			w.WriteHeader(401)
			_, _ = w.Write([]byte(`{"error":{"message":"Provided authentication token is expired.","code":"token_expired"}}`))
			return
		}
		if r.URL.Path == "/v1/models" {
			if x.lists++; x.models == "" {
				w.WriteHeader(500)
			}
			_, _ = w.Write([]byte(x.models))
			return
		}
		var body map[string]any
		if r.URL.Path != "/v1/responses" || json.NewDecoder(r.Body).Decode(&body) != nil {
			w.WriteHeader(404)
			return
		}
		x.bodies = append(x.bodies, body)
		if status, text, ok := strings.Cut(x.reply, "|"); ok {
			w.WriteHeader(map[string]int{"400": 400, "401": 401, "403": 403, "429": 429, "503": 503}[status])
			_, _ = w.Write([]byte(text))
			return
		}
		_, _ = w.Write([]byte(x.reply))
	}))
	t.Cleanup(x.Close)
	return x
}

func planClient(t *testing.T, x *openAI, p Plan, log *bytes.Buffer) *Client {
	if log == nil {
		log = &bytes.Buffer{}
	}
	c, err := New(Options{Settings: func() Settings {
		return Settings{Providers: map[string]ProviderSettings{"chatgpt": {APIBase: x.URL + "/v1"}}}
	}, Plan: p, HTTP: x.Client(), Env: func(string) string { return "" }, Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// stream true, store false, none of the fields that a plan refuses; every kind of message in the Responses format.
func TestPlanRequests(t *testing.T) {
	x := newOpenAI(t)
	c := planClient(t, x, &fakePlan{tokens: []string{"t"}}, nil)
	warm := 0.7
	req := msg.ModelRequest{Model: "chatgpt/gpt-6-sol", System: "Be brief.", Temperature: &warm, MaxTokens: 500, Reasoning: "high", JSON: true,
		Tools: []msg.ToolSchema{{Name: "weather", Description: "The weather.", Parameters: json.RawMessage(`{"type":"object"}`)}, {Name: "clock"}},
		Messages: []msg.ModelMessage{
			{Role: "user", Parts: []msg.ModelPart{{Text: "What is this?"}, {Image: []byte("\x89PNG\r\n\x1a\n"), MIME: "image/png"}}},
			{Role: "assistant", Parts: msg.TextPart("I look."), Thinking: "hm", ToolCalls: []msg.ToolCall{{ID: "call_1", Name: "weather", Arguments: `{"c":1}`}, {ID: "call_2", Name: "clock", Arguments: "{}"}}},
			{Role: "tool", ToolCallID: "call_1", Name: "weather", Parts: msg.TextPart("sun")},
			{Role: "tool", ToolCallID: "call_2", Name: "clock", Parts: []msg.ModelPart{{Text: "noon"}, {Image: []byte("GIF89a")}}},
			{Role: "system", Parts: msg.TextPart("Later words.")},
		}}
	res, err := c.Stream(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	if res.Text != "Hello from your plan." || !res.Usage.Known || res.Usage.PromptTokens != 20 || res.Usage.CachedTokens != 5 || res.Usage.CostUSD != nil {
		t.Errorf("%+v", res)
	}
	got, _ := json.MarshalIndent(x.bodies[0], "", " ")
	want := `{"model":"gpt-6-sol","instructions":"Be brief.\n\n` + wantsJSON + `","stream":true,"store":false,"reasoning":{"effort":"high"},
	"tools":[{"type":"function","name":"weather","description":"The weather.","parameters":{"type":"object"},"strict":false},
	         {"type":"function","name":"clock","parameters":{"type":"object","properties":{}},"strict":false}],
	"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"What is this?"},{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgo="}]},
	 {"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look."}]},
	 {"type":"function_call","call_id":"call_1","name":"weather","arguments":"{\"c\":1}"},
	 {"type":"function_call","call_id":"call_2","name":"clock","arguments":"{}"},
	 {"type":"function_call_output","call_id":"call_1","output":"sun"},
	 {"type":"function_call_output","call_id":"call_2","output":[{"type":"input_text","text":"noon"},{"type":"input_image","image_url":"data:image/gif;base64,R0lGODlh"}]},
	 {"type":"message","role":"developer","content":[{"type":"input_text","text":"Later words."}]}]}`
	var w any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatal(err)
	}
	if wanted, _ := json.MarshalIndent(w, "", " "); !bytes.Equal(got, wanted) {
		t.Errorf("got %s\nwant %s", got, wanted)
	}
}

// A-374 and the fast model rule: exactly the role's effort, or for "none" the lightest that the list gives; the list is loaded
// once for it, and when it can't be, nothing is said.
func TestPlanEffort(t *testing.T) {
	x := newOpenAI(t)
	c := planClient(t, x, &fakePlan{tokens: []string{"t"}}, nil)
	effort := func(model, reasoning string) any {
		req := ask("chatgpt/"+model, "hi")
		req.Reasoning = reasoning
		if _, err := c.Stream(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
		r, _ := x.bodies[len(x.bodies)-1]["reasoning"].(map[string]any)
		return r["effort"]
	}
	for _, r := range []string{"low", "medium", "high"} {
		if got := effort("gpt-6-sol", r); got != r {
			t.Errorf("%s became %v", r, got)
		}
	}
	if got := effort("gpt-6-sol", ""); got != nil || x.lists != 0 {
		t.Errorf("%v, %d lists", got, x.lists)
	}
	for model, want := range map[string]any{"gpt-6-sol": "low", "gpt-6-luna": "minimal", "gpt-plain": nil, "gpt-unheard-of": nil} {
		if got := effort(model, "none"); got != want {
			t.Errorf("%s: %v, want %v", model, got, want)
		}
	}
	if x.lists != 1 {
		t.Errorf("the list was loaded %d times", x.lists)
	}
	if n := c.ContextLength("chatgpt/gpt-6-luna", "primary"); n != 128000 {
		t.Error(n)
	}
	if c.DisplayName("chatgpt/gpt-6-luna") != "GPT-6 Luna" || c.DisplayName("chatgpt/other") != "other" {
		t.Error(c.DisplayName("chatgpt/gpt-6-luna"))
	}
	x.models = ""
	c.Forget("chatgpt")
	if got := effort("gpt-6-sol", "none"); got != nil {
		t.Error(got)
	}
	if got := effort("gpt-6-sol", "none"); got != nil || x.lists != 2 {
		t.Errorf("a list that fails is asked for at every call: %d", x.lists)
	}
	if c.ContextLength("chatgpt/gpt-6-luna", "primary") != 0 {
		t.Error("a forgotten list is still used")
	}
}

// ranked by priority, ranked ones first, the list's own order for ties and the rest; hidden ones never.
func TestPlanRanking(t *testing.T) {
	n := func(f float64) *float64 { return &f }
	list := []planModel{{Slug: "c", Visibility: "list"}, {Slug: "a", Visibility: "list", Priority: n(3)}, {Slug: "hidden", Visibility: "hide", Priority: n(0)},
		{Slug: "b", Visibility: "list", Priority: n(1)}, {Slug: "d", Visibility: "list"}, {Slug: "e", Visibility: "list", Priority: n(1)}, {Visibility: "list"}}
	var got []string
	for _, m := range ranked(list) {
		got = append(got, m.Slug)
	}
	if !slices.Equal(got, []string{"b", "e", "a", "c", "d"}) {
		t.Error(got)
	}
}

// A token that is turned down is renewed once and the call repeated; a second refusal is told.
func TestPlanTokenTurnedDown(t *testing.T) {
	x := newOpenAI(t)
	x.good = "new"
	p := &fakePlan{tokens: []string{"old", "new"}}
	log := &bytes.Buffer{}
	c := planClient(t, x, p, log)
	if _, err := c.Stream(t.Context(), ask("chatgpt/gpt-6-sol", "hi"), nil); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(p.asked, []string{"", "old"}) || len(x.bodies) != 1 {
		t.Errorf("%q, %d calls", p.asked, len(x.bodies))
	}
	x.good = "newer"
	p.tokens = []string{"new-secret-token"}
	_, err := c.Stream(t.Context(), ask("chatgpt/gpt-6-sol", "hi"), nil)
	if e := faultOf(t, err); e.Fault != msg.FaultKey || e.Message != planAgainText || len(x.bodies) != 1 {
		t.Errorf("%+v", e)
	}
	if strings.Contains(log.String(), "new-secret-token") {
		t.Error("a token was logged")
	}
	p.tokens = []string{"a", "newer"}
	if text, err := c.CheckProvider(t.Context(), "chatgpt"); err != nil || text != "ChatGPT accepted the sign-in." {
		t.Error(text, err)
	}
	p.err = &msg.ModelError{Fault: msg.FaultKey, Message: "Sign in again."}
	if _, err = c.Stream(t.Context(), ask("chatgpt/gpt-6-sol", "hi"), nil); faultOf(t, err).Message != "Sign in again." {
		t.Error(err)
	}
	p.err = errors.New("odd")
	if _, err = c.Stream(t.Context(), ask("chatgpt/gpt-6-sol", "hi"), nil); faultOf(t, err).Fault != msg.FaultUnreachable {
		t.Error(err)
	}
	p.tokens = nil
	if e := faultOf(t, c.Available(t.Context(), "chatgpt/gpt-6-sol")); e.Fault != msg.FaultKey {
		t.Error(e)
	}
}

// the contract's sentences for what a plan turns down; never a provider key.
func TestPlanRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		reply, want string
		fault       msg.ModelFault
	}{
		"limit":        {`429|{"error":{"code":"subscription_sharing_usage_limit_exceeded","message":"You've hit your usage limit."}}`, planLimitText, msg.FaultRate},
		"limit inside": {"data: {\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":\"subscription_sharing_usage_limit_exceeded\",\"message\":\"x\"}}}\n\n", planLimitText, msg.FaultRate},
		"403":          {`403|{"error":{"message":"Forbidden"}}`, planAgainText, msg.FaultKey},
		"401":          {`401|{"detail":"Unauthorized"}`, planAgainText, msg.FaultKey},
		"cannot share": {`403|{"error":{"code":"subscription_sharing_not_available","message":"x"}}`, planShareText, msg.FaultKey},
		"coding only":  {`403|{"error":{"message":"This model is only available for coding agents."}}`, "ChatGPT keeps gpt-6-sol for coding tools. Pick another model in Settings > Models.", msg.FaultCodingOnly},
		"rate":         {`429|{"error":{"code":"rate_limit_exceeded","message":"Too many requests"}}`, "ChatGPT limits how often it can be asked, and the limit is reached. Wait a minute, or pick another model in Settings > Models.", msg.FaultRate},
		"overloaded":   {"data: {\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":\"server_error\",\"message\":\"oops\"}}}\n\n", "ChatGPT is overloaded or down right now. Try again in a few minutes, or pick another model in Settings > Models.", msg.FaultUnavailable},
		"down":         {`503|<html>`, "ChatGPT is overloaded or down right now. Try again in a few minutes, or pick another model in Settings > Models.", msg.FaultUnavailable},
		"no model":     {`400|{"error":{"code":"model_not_found","message":"The requested model 'gpt-6-sol' does not exist."}}`, "ChatGPT has no model named gpt-6-sol. Pick another model in Settings > Models.", msg.FaultMissing},
		"too long":     {`400|{"error":{"code":"context_length_exceeded","message":"Your input exceeds the context window of this model."}}`, "This conversation is too long for gpt-6-sol. Start a new chat, or pick a model that reads more in Settings > Models.", msg.FaultTooLong},
		"cut":          {"data: {\"type\":\"response.created\"}\n\n", "The reply from ChatGPT broke off before it was finished. Try again, or pick another model in Settings > Models.", msg.FaultCut},
	} {
		t.Run(name, func(t *testing.T) {
			x := newOpenAI(t)
			x.reply = c.reply
			_, err := planClient(t, x, &fakePlan{tokens: []string{"t"}}, nil).Stream(t.Context(), ask("chatgpt/gpt-6-sol", "hi"), nil)
			if e := faultOf(t, err); e.Fault != c.fault || e.Message != c.want {
				t.Errorf("%+v", e)
			}
		})
	}
}

// the list of a provider, asked once in ten minutes, forgotten when its key changes; a plain error without a key.
func TestCatalogs(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked[r.URL.Path]++
		mu.Unlock()
		_, _ = w.Write([]byte(map[string]string{
			"/or/models": `{"data":[{"id":"meta-llama/llama-4-maverick:free","name":"Llama 4 Maverick (free)","context_length":128000,"supported_parameters":["tools"],"pricing":{"prompt":"0","completion":"0"}},
				{"id":"acme/large","name":"Large","context_length":8000,"supported_parameters":["temperature"],"pricing":{"prompt":"0.000001","completion":"0"}},{"name":"no id"}]}`,
			"/nous/models":    `{"object":"list","data":[{"id":"Hermes-5"}]}`,
			"/anth/v1/models": `{"data":[{"type":"model","id":"claude-sonnet-5","display_name":"Claude Sonnet 5"}],"has_more":false}`,
			"/v1/models":      plantest.DefaultModels,
		}[r.URL.Path]))
	}))
	defer server.Close()
	keys := map[string]string{"nous": "k", "anthropic": "k"}
	c, err := New(Options{HTTP: server.Client(), Env: func(string) string { return "" }, Key: func(p string) (string, bool) { k, ok := keys[p]; return k, ok },
		Plan: &fakePlan{tokens: []string{"t"}}, Settings: func() Settings {
			return Settings{Providers: map[string]ProviderSettings{"openrouter": {APIBase: server.URL + "/or"}, "nous": {APIBase: server.URL + "/nous"},
				"anthropic": {APIBase: server.URL + "/anth"}, "chatgpt": {APIBase: server.URL + "/v1"}}}
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for provider, want := range map[string]string{
		"openrouter": `[{"id":"openrouter/meta-llama/llama-4-maverick:free","label":"Llama 4 Maverick (free)","free":true,"tools":true,"context_length":128000},{"id":"openrouter/acme/large","label":"Large","free":false,"tools":false,"context_length":8000}]`,
		"nous":       `[{"id":"nous/Hermes-5","label":"Hermes-5","free":false,"tools":false,"context_length":null}]`,
		"anthropic":  `[{"id":"anthropic/claude-sonnet-5","label":"Claude Sonnet 5","free":false,"tools":true,"context_length":1000000}]`,
		"chatgpt": `[{"id":"chatgpt/gpt-6-luna","label":"GPT-6 Luna","free":false,"tools":true,"context_length":128000},{"id":"chatgpt/gpt-6-sol","label":"GPT-6 Sol","free":false,"tools":true,"context_length":272000},` +
			`{"id":"chatgpt/gpt-plain","label":"GPT Plain","free":false,"tools":true,"context_length":null}]`,
	} {
		for range 3 {
			list, err := c.Catalog(t.Context(), provider)
			if got, _ := json.Marshal(list); err != nil || string(got) != want {
				t.Errorf("%s: %s %v\nwant %s", provider, got, err, want)
			}
		}
	}
	for path, n := range asked {
		if n != 1 {
			t.Errorf("%s was asked %d times", path, n)
		}
	}
	c.Forget("openrouter")
	if _, err := c.Catalog(t.Context(), "openrouter"); err != nil || asked["/or/models"] != 2 {
		t.Error(err, asked)
	}
	delete(keys, "nous")
	c.Forget("nous")
	if _, err := c.Catalog(t.Context(), "nous"); faultOf(t, err).Message != "Nous Portal has no API key yet. Add one in Settings > Models." {
		t.Error(err)
	}
	if _, err := c.Catalog(t.Context(), "openai"); !errors.Is(err, ErrNoCatalog) {
		t.Error(err)
	}
}

func FuzzResponsesStream(f *testing.F) {
	f.Add([]byte(plantest.Hello))
	f.Add([]byte("data: {\"type\":\"response.output_item.added\",\"output_index\":7,\"item\":{\"type\":\"function_call\",\"name\":null}}\n\n"))
	f.Add([]byte("data: {\"type\":\"response.failed\",\"response\":{\"error\":[]}}\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, chunks := decode("chatgpt", bytes.NewReader(data))
		checkChunks(t, got, chunks)
	})
}
