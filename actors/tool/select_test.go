package tool

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
	"sentient/actors/msg"
)

func many(id string, n int) msg.Plugin {
	var tools []string
	for i := range n {
		tools = append(tools, fmt.Sprintf("%s_%d", id, i))
	}
	return plug(id, tools...)
}

func TestSelectOffersAllWhatFits(t *testing.T) {
	r := registry(t, many("a", 6), many("b", 7))
	for _, c := range []struct {
		in   Selection
		want int
	}{
		{Selection{Model: "openai/x"}, 13}, {Selection{Model: "ollama/x"}, 0}, {Selection{Model: "ollama/x", All: true}, 13},
		{Selection{Model: "lm_studio/x", MaxLocal: 13}, 13}, {Selection{Model: "openai/x", MaxCloud: 12}, 0},
		{Selection{Model: "ollama/x", Skip: func(e Entry) bool { return e.Tool.Name == "a_0" }}, 12},
	} {
		if got := r.Select(c.in); len(got) != c.want {
			t.Errorf("%+v: %q", c.in, got)
		}
	}
}

func TestSelectByWordsTriggersAndHistory(t *testing.T) {
	mail := many("gmail", 5)
	mail.Description = "Search and send email messages"
	web := many("web", 3)
	web.Tools[0].Risk, web.Description = msg.RiskRead, "Read pages of the internet"
	term := plug("terminal", "terminal_run")
	r := registry(t, plug("time", "current_datetime"), mail, web, term, many("sheets", 5), plug("subagents", "delegate_task", reader))
	offered := func(in Selection) []string {
		in.Model, in.MaxLocal = "ollama/x", 9
		return r.Select(in)
	}
	has := func(got []string, names ...string) bool {
		return !slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(got, n) })
	}
	if got := offered(Selection{Text: "search my email for the invoice"}); !has(got, "current_datetime", "gmail_0", "gmail_4", reader) || has(got, "web_0") {
		t.Error(got)
	}
	if got := offered(Selection{Text: "run GIT, please"}); !slices.Equal(got, []string{"current_datetime", "terminal_run", reader}) {
		t.Error(got)
	}
	if got := offered(Selection{Text: "hmm, digital"}); !slices.Equal(got, []string{"current_datetime"}) {
		t.Error("a trigger inside a word:", got)
	}
	if got := offered(Selection{Text: "and again", Recent: []string{"sheets"}}); !has(got, "sheets_0", "sheets_4") || has(got, "gmail_0") {
		t.Error(got)
	}
	near := func(string, []string) ([]float64, error) { return []float64{0, 0.1, 0.9, 0, 0.3, 0}, nil }
	if got := offered(Selection{Text: "zzz", Similarity: near}); !has(got, "web_0", "web_2") || has(got, "sheets_0") {
		t.Error(got)
	}
	broken := func(string, []string) ([]float64, error) { return nil, errors.New("x") }
	if got := offered(Selection{Text: "email", Similarity: broken}); !has(got, "gmail_0") {
		t.Error(got)
	}
}

func TestSelectCutsOnlyTheBest(t *testing.T) {
	big, small := many("big", 20), many("small", 2)
	big.Description, small.Description = "pictures albums holiday", "pictures"
	r := registry(t, big, small)
	got := r.Select(Selection{Text: "pictures albums holiday", Model: "ollama/x", MaxLocal: 10})
	if len(got) != 10 || got[0] != "big_0" || slices.Contains(got, "small_0") {
		t.Error(got)
	}
	// Not the best: it is skipped whole and the next that fits is taken.
	small.Description = "pictures albums holiday first"
	big.Description = "pictures albums"
	tiny := many("tiny", 1)
	tiny.Description = "pictures albums"
	r = registry(t, big, small, tiny)
	got = r.Select(Selection{Text: "pictures albums holiday", Model: "ollama/x", MaxLocal: 10})
	if !slices.Equal(got, []string{"small_0", "small_1", "tiny_0"}) {
		t.Error(got)
	}
}

func TestSelectionStaysInBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var plugins []msg.Plugin
		var ids []string
		for i := range rapid.IntRange(1, 8).Draw(t, "plugins") {
			p := many(fmt.Sprintf("p%d", i), rapid.IntRange(1, 9).Draw(t, "tools"))
			p.Description = rapid.SampledFrom([]string{"", "red blue", "red", "green"}).Draw(t, "words")
			plugins, ids = append(plugins, p), append(ids, p.ID)
		}
		plugins = append(plugins, plug("base", append(slices.Clone(always[:]), reader)...))
		r, err := New(nil, plugins...)
		if err != nil {
			t.Fatal(err)
		}
		budget := rapid.IntRange(7, 40).Draw(t, "budget")
		got := r.Select(Selection{Text: "red blue code", Model: "vllm/x", MaxLocal: budget, Recent: rapid.SliceOf(rapid.SampledFrom(ids)).Draw(t, "recent")})
		if len(got) > budget {
			t.Fatalf("%d of %d: %q", len(got), budget, got)
		}
		for _, name := range always {
			if !slices.Contains(got, name) {
				t.Fatalf("%s is missing in %q", name, got)
			}
		}
	})
}

func TestCurrentDatetime(t *testing.T) {
	at := time.Date(2026, 3, 4, 23, 30, 0, 0, time.UTC)
	r := registry(t, TimePlugin(func() time.Time { return at }, func() string { return "UTC" }))
	e, _ := r.Lookup("current_datetime")
	call := func(args string) (any, error) {
		t.Helper()
		decoded, bad := e.Decode(args)
		if bad != nil {
			t.Fatal(bad)
		}
		return e.Tool.Run(t.Context(), &msg.Call{Args: decoded})
	}
	got, err := call(`{}`)
	if err != nil || CompactJSON(got) != `{"iso":"2026-03-04T23:30:00Z","date":"2026-03-04","time":"23:30","weekday":"Wednesday","timezone":"UTC"}` {
		t.Fatal(CompactJSON(got), err)
	}
	if got, err = call(`{"timezone":"Europe/Berlin"}`); err == nil && CompactJSON(got) != `{"iso":"2026-03-05T00:30:00+01:00","date":"2026-03-05","time":"00:30","weekday":"Thursday","timezone":"Europe/Berlin"}` {
		t.Fatal(CompactJSON(got))
	}
	if _, err = call(`{"timezone":"../etc/passwd"}`); err == nil || !strings.Contains(err.Error(), "no time zone") {
		t.Fatal(err)
	}
	if e.BringsUntrusted() {
		t.Error("the clock is trusted")
	}
}
