package faults

import (
	"strings"
	"testing"
)

// good is a chat in which everything went well: two messages, one change, one turn each.
func good() (*book, facts) {
	b := newBook()
	for _, id := range []string{"x-0-0-0", "x-0-0-1"} {
		b.write("chat", step{id: id, do: doWrite}, 1)
		b.ack(id, "turn-"+id)
	}
	first, second := b.list[0].text, b.list[1].text
	call := row{ID: "2", Role: "assistant"}
	call.ToolCalls = append(call.ToolCalls, struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	}{ID: "c"})
	call.ToolCalls[0].Function.Arguments = `{"id":"x-0-0-0"}`
	rows := []row{{ID: "1", Role: "user", Content: first}, call, {ID: "3", Role: "tool", CallID: "c", Content: `{"ok":true}`}, {ID: "4", Role: "assistant"}, {ID: "5", Role: "user", Content: second}}
	return b, facts{rows: map[string][]row{"chat": rows}, before: map[string][]row{"chat": rows[:2]}, effects: []effect{{Args: map[string]string{"id": "x-0-0-0"}}},
		log: []happening{{Type: "session", Turn: "turn-x-0-0-0"}, {Type: "done", Turn: "turn-x-0-0-0"}, {Type: "session", Turn: "turn-x-0-0-1"}, {Type: "done", Turn: "turn-x-0-0-1"}}}
}

// A checker that finds nothing proves nothing: each broken promise is planted once, and must be found by its name.
func TestTheCheckerFindsEveryBreach(t *testing.T) {
	if b, f := good(); len(check(b, f)) > 0 {
		t.Fatal(check(b, f))
	}
	for want, spoil := range map[string]func(*book, *facts){
		"is not in its chat":                func(_ *book, f *facts) { f.rows["chat"] = f.rows["chat"][:4] },
		"2 times in its chat":               func(_ *book, f *facts) { f.rows["chat"] = append(f.rows["chat"], f.rows["chat"][4]) },
		"named as dropped and is":           func(b *book, _ *facts) { b.dropped[b.list[1].text] = true },
		"is in another chat":                func(_ *book, f *facts) { f.rows["other"] = f.rows["chat"][:1] },
		"and stands behind it":              func(_ *book, f *facts) { r := f.rows["chat"]; r[0].Content, r[4].Content = r[4].Content, r[0].Content },
		"happened twice":                    func(_ *book, f *facts) { f.effects = append(f.effects, f.effects[0]) },
		"nobody asked for it":               func(_ *book, f *facts) { f.effects[0].Args["id"] = "x-9-9-9" },
		"the person said no":                func(b *book, _ *facts) { b.denied["x-0-0-0"] = true },
		"undone in time":                    func(b *book, _ *facts) { b.undone["x-0-0-0"] = true },
		"its result denies it":              func(_ *book, f *facts) { f.rows["chat"][2].Content = `{"error":"no","declined":true}` },
		"has no result":                     func(_ *book, f *facts) { f.rows["chat"][2].CallID = "" },
		"a result without its call":         func(_ *book, f *facts) { f.rows["chat"][4].CallID = "c" },
		"happened and is not in the transc": func(_ *book, f *facts) { f.rows["chat"][1].ToolCalls = nil },
		"neither whole nor marked": func(_ *book, f *facts) {
			f.rows["chat"][3].Content = "Done with x-0-0-0: word word"
		},
		"has 0 ends in the log":              func(_ *book, f *facts) { f.log = f.log[:3] },
		"has 2 ends in the log":              func(_ *book, f *facts) { f.log = append(f.log, f.log[1]) },
		"ended twice on live connections":    func(b *book, _ *facts) { b.ended["turn"] = []end{{1, 0, ""}, {1, 7, ""}} },
		"was acknowledged as turn":           func(_ *book, f *facts) { f.log = f.log[:2] },
		"is something else now":              func(_ *book, f *facts) { f.before["chat"] = []row{{ID: "0"}} },
		"the engine ended although nobody a": func(b *book, _ *facts) { b.breach("the engine ended although nobody asked") },
	} {
		b, f := good()
		spoil(b, &f)
		if got := strings.Join(check(b, f), "\n"); !strings.Contains(got, want) {
			t.Errorf("%q was not found, only %q", want, got)
		}
	}
}
