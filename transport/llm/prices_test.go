package llm

import (
	"context"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sentient/actors/msg"
	"sentient/transport/llm/llmtest"
)

func TestPriceList(t *testing.T) {
	models := catalog()
	if len(models) < 200 {
		t.Fatalf("only %d models are listed", len(models))
	}
	for model, want := range map[string]int64{"groq/openai/gpt-oss-20b": 37_500, "anthropic/claude-3-5-haiku-20241022": 80_000, "openai/gpt-4o-mini-2024-07-18": 75_000} {
		m, ok := findListed(model)
		if !ok || m.price.cached != want {
			t.Errorf("%s: %+v, want %d", model, m.price, want)
		}
	}
	for _, list := range []string{tokenlensList, newerList} {
		head := strings.Join(strings.SplitN(list, "\n", 4)[:3], "\n")
		if !strings.Contains(head, "Source: ") || !strings.Contains(head, "MIT") || !strings.Contains(head, "2026") {
			t.Errorf("a list does not say where it is from: %s", head)
		}
	}
	if m, ok := findListed("openai/gpt-5"); !ok || m.context != 272_000 { // the input window, not both directions together
		t.Errorf("%+v", m)
	}
}

func TestPriceLinesThatCannotBeRead(t *testing.T) {
	for _, line := range []string{"a/b", "a/b\tB\t1\t1\t1\t1", "ab\tB\t1\t1\t1\t1\t1", "a/b\t\t1\t1\t1\t1\t1", "a/b\tB\tx\t1\t1\t1\t1", "a/b\tB\t-1\t1\t1\t1\t1", "a/b\tB\t1\t-1\t1\t1\t1",
		"a/b\tB\t1\t1\t1\t1\t1001", "a/b\tB\t1\t1\t\t1\t1", "a/b\tB\t1\t1\t1\t1\t1\t0\t1\t1\t1\t1", "a/b\tB\t1\t1\t1\t1\t1\t5\t1\t1\t1\tx"} {
		if err := readPrices(line+"\n", map[string]listed{}); err == nil || !strings.Contains(err.Error(), "price list") {
			t.Errorf("%q: %v", line, err)
		}
	}
	got := map[string]listed{}
	if err := readPrices("# x\n\na/b\tB\t\t\t\t\t\nc/d\tD\t5\t0.0375\t0\t1\t2", got); err != nil || got["a/b"].priced || got["c/d"].price.in != 37_500 {
		t.Errorf("%v %+v", err, got)
	}
}

func FuzzReadPrices(f *testing.F) {
	f.Add("a/b\tB\t1\t1\t1\t1\t1")
	f.Add("a/b\tB\t1\t1\t1\t1\t1\t5\t1\t1\t1\t1")
	f.Add("# x\n\n")
	f.Fuzz(func(t *testing.T, list string) {
		got := map[string]listed{}
		_ = readPrices(list, got)
		for id, m := range got {
			if usd := m.cost(msg.ModelUsage{PromptTokens: 1 << 62, CachedTokens: -1, CompletionTokens: 1 << 62}, 1<<62); usd < 0 {
				t.Fatalf("%s costs %d", id, usd)
			}
		}
	})
}

// A call's price is the exact one to the billionth of a dollar.
func TestCostIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		price := func(name string) int64 { return rapid.Int64Range(0, dearest).Draw(t, name) }
		tokens := func(name string) int { return rapid.IntRange(0, 2_000_000).Draw(t, name) }
		m := listed{priced: true, price: tokenPrice{price("in"), price("cached"), price("write"), price("out")}}
		cached, written, fresh, out := tokens("cached"), tokens("written"), tokens("fresh"), tokens("out")
		got := m.cost(msg.ModelUsage{PromptTokens: cached + written + fresh, CachedTokens: cached, CompletionTokens: out}, written)
		exact := new(big.Rat)
		for _, x := range [][2]int64{{int64(fresh), m.price.in}, {int64(cached), m.price.cached}, {int64(written), m.price.write}, {int64(out), m.price.out}} {
			exact.Add(exact, new(big.Rat).SetInt(new(big.Int).Mul(big.NewInt(x[0]), big.NewInt(x[1]))))
		}
		exact.Sub(exact.Quo(exact, big.NewRat(1000, 1)), new(big.Rat).SetInt64(int64(got)))
		if exact.Abs(exact).Cmp(big.NewRat(1, 2)) > 0 {
			t.Fatalf("%d is off by %s", got, exact)
		}
	})
}

// What a provider says a call cost comes first, digit by digit; nonsense is no price.
func TestProvidersOwnPrice(t *testing.T) {
	for cost, want := range map[string]msg.USD{"0.000123456": 123_456, "1.5e-05": 15_000, `"free"`: -1, "-1": -1, "null": -1, "1e999": 1<<63 - 1} {
		body := fmt.Sprintf("data: {\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1,\"cost\":%s}}\n\ndata: [DONE]\n\n", cost)
		r := newReply(ask("openrouter/x/unheard-of", "hi"), inventID, nil, false)
		if err := (&openAIDecoder{e: endpoint{provider: findProvider("openrouter")}}).read(strings.NewReader(body), r, func() {}); err != nil {
			t.Fatalf("%s: %v", cost, err)
		}
		got := r.usage.CostUSD
		if (got == nil) != (want < 0) || got != nil && *got != want {
			t.Errorf("%s: %v, want %d", cost, got, want)
		}
	}
}

// a refusal comes before anything is sent, and Available says the same; the guide and Local only are not asked about.
func TestAllowIsAskedFirst(t *testing.T) {
	server, err := llmtest.New(llmtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	refusal := &msg.ModelError{Fault: msg.FaultBudget, Model: "openai/gpt-4o", Message: "The budget is used up."}
	var asked []string
	base := ProviderSettings{APIBase: server.URL() + "/v1"}
	c, err := New(Options{Settings: func() Settings { return Settings{Providers: map[string]ProviderSettings{"openai": base}} },
		Key:   func(string) (string, bool) { return "sk-x-123456", true },
		Allow: func(_ context.Context, model string) error { asked = append(asked, model); return refusal }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.Stream(t.Context(), ask("openai/gpt-4o", "hi"), nil)
	if e := faultOf(t, err); e.Fault != msg.FaultBudget || e.Message != refusal.Message || len(server.Requests()) != 0 {
		t.Errorf("%v, %d requests", err, len(server.Requests()))
	}
	if err := c.Available(t.Context(), "openai/gpt-4o"); err == nil || err.Error() != refusal.Message {
		t.Error(err)
	}
	if _, err := c.Stream(t.Context(), ask(GuideModel, "hi"), func(msg.ModelChunk) error { return nil }); err != nil {
		t.Error(err)
	}
	if len(asked) != 2 {
		t.Error(asked)
	}
}

func BenchmarkCatalogOf500(b *testing.B) {
	var list strings.Builder
	for i := range 500 {
		fmt.Fprintf(&list, "openrouter/vendor/model-%d\tModel %d\t131072\t1.25\t0.125\t1.25\t10\t200000\t2.5\t0.25\t2.5\t15\n", i, i)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := readPrices(list.String(), map[string]listed{}); err != nil {
			b.Fatal(err)
		}
	}
}
