package faults

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// row is a message of a transcript.
type row struct {
	ID        string `json:"id"`
	Role      string `json:"role"`
	Content   string `json:"content"`
	CallID    string `json:"tool_call_id"`
	ToolCalls []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// effect is something the pretend world saw.
type effect struct {
	Kind string            `json:"kind"`
	Args map[string]string `json:"args"`
}

// call is the id that the script gave the call.
func (e effect) call() string { return callOf(e.Args) }

func callOf(args map[string]string) string {
	for _, name := range []string{"id", "item", "text"} {
		if args[name] != "" {
			return args[name]
		}
	}
	return ""
}

// happening is a durable event of the log.
type happening struct {
	Type    string `json:"type"`
	Session string `json:"session_id"`
	Turn    string `json:"turn_id"`
	Dropped texts  `json:"dropped"`
}

// facts are what the engine holds now, and what it held at the last look.
type facts struct {
	rows    map[string][]row // by chat
	before  map[string][]row
	log     []happening
	effects []effect
}

// invariants are what is checked, in the words of the report.
var invariants = []string{
	"no acknowledged message is lost: each is in its chat's transcript, or named as dropped by the turn that was stopped before it",
	"no message is there twice, also when it was sent again under the same client_id",
	"arrival order is transcript order",
	"no call that changes something happened twice",
	"nothing happened that the person declined or undid in time",
	"what happened is not denied by the transcript; every call has exactly one result",
	"a reply is whole, or a part of itself that is marked as stopped or interrupted",
	"every turn that began has exactly one done in the log, and at most one on a live connection; every acknowledged turn is among them",
	"nothing that a transcript showed is ever changed or removed",
	"a chat beside the faults gets its whole replies, unless the engine itself was ended",
	"no process that the engine started is alive after it",
	"the engine starts again on its store, and stops in order when asked",
}

// check holds the facts against the book. It gives one sentence for each broken promise.
func check(b *book, f facts) (bad []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	say := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	dropped := map[string]bool{}
	for text := range b.dropped {
		dropped[text] = true
	}
	for _, h := range f.log {
		for _, text := range h.Dropped {
			dropped[text] = true
		}
	}
	checkMessages(b, f, dropped, say)
	checkOrder(b, f, say)
	checkEffects(b, f, say)
	checkCalls(f, say)
	checkReplies(f, say)
	checkTurns(b, f, say)
	checkKept(f, say)
	return append(bad, b.breaches...)
}

// places are where each user text stands in a transcript.
func places(rows []row) map[string][]int {
	at := map[string][]int{}
	for i, r := range rows {
		if r.Role == "user" {
			at[r.Content] = append(at[r.Content], i)
		}
	}
	return at
}

func checkMessages(b *book, f facts, dropped map[string]bool, say func(string, ...any)) {
	where := map[string]map[string][]int{}
	for chat, rows := range f.rows {
		where[chat] = places(rows)
	}
	for _, m := range b.list {
		n := len(where[m.chat][m.text])
		switch {
		case n > 1:
			say("message %s is %d times in its chat", m.id, n)
		case n == 0 && m.ackedAt > 0 && !dropped[m.text]:
			say("message %s was acknowledged and is not in its chat", m.id)
		case n == 1 && dropped[m.text]:
			say("message %s was named as dropped and is in its chat", m.id)
		}
		for chat := range where {
			if chat != m.chat && len(where[chat][m.text]) > 0 {
				say("message %s is in another chat", m.id)
			}
		}
	}
}

// checkOrder: a message stands before another when it was acknowledged before that was sent, or when both went through the
// same connection once, one after the other.
func checkOrder(b *book, f facts, say func(string, ...any)) {
	for chat, rows := range f.rows {
		at := places(rows)
		var mine []*sent
		for _, m := range b.list {
			if m.chat == chat && len(at[m.text]) == 1 {
				mine = append(mine, m)
			}
		}
		for i, a := range mine {
			for _, z := range mine[i+1:] { // the list is in the order of the first sending
				told := a.ackedAt > 0 && a.ackedAt < z.firstAt
				same := a.socket > 0 && a.socket == z.socket && a.tries == 1 && z.tries == 1 && a.ackedAt > 0 && z.ackedAt > 0
				if (told || same) && at[a.text][0] > at[z.text][0] {
					say("message %s came before %s and stands behind it", a.id, z.id)
				}
			}
		}
	}
}

func checkEffects(b *book, f facts, say func(string, ...any)) {
	seen := map[string]int{}
	for _, e := range f.effects {
		id := e.call()
		if seen[id]++; seen[id] == 2 {
			say("the call %s happened twice", id)
		}
		if b.byID[strings.TrimSuffix(id, "-b")] == nil {
			say("the call %q happened and nobody asked for it", id)
		}
		if b.denied[id] {
			say("the call %s happened although the person said no", id)
		}
		if b.undone[id] {
			say("the call %s happened although it was undone in time", id)
		}
	}
}

// checkCalls: every call has one result, behind it; the result of a call that happened does not deny it.
func checkCalls(f facts, say func(string, ...any)) {
	happened := map[string]bool{}
	for _, e := range f.effects {
		happened[e.call()] = true
	}
	for chat, rows := range f.rows {
		open, calls := map[string]string{}, map[string]bool{}
		for _, r := range rows {
			for _, c := range r.ToolCalls {
				var args map[string]string
				_ = json.Unmarshal([]byte(c.Function.Arguments), &args) // arguments that are not text have no id
				open[c.ID] = callOf(args)
				calls[open[c.ID]] = true
			}
			if r.CallID == "" {
				continue
			}
			id, ok := open[r.CallID]
			if !ok {
				say("chat %s has a result without its call, or two: %s", chat, r.CallID)
			}
			delete(open, r.CallID)
			if happened[id] && (strings.Contains(r.Content, `"declined":true`) || strings.Contains(r.Content, `"undone":true`)) {
				say("the call %s happened and its result denies it", id)
			}
		}
		for _, id := range open {
			say("the call %s has no result", id)
		}
		for id := range happened {
			if strings.Contains(id, "-") && inChat(rows, id) && !calls[id] {
				say("the call %s happened and is not in the transcript", id)
			}
		}
	}
}

// replied finds the words that the model says, and how they are marked when they are not whole.
var replied = regexp.MustCompile(`(?s)^Done with ([a-z]+-[0-9]+-[0-9]+-[0-9]+):(.*?)(\n\n\((stopped|interrupted)\))?$`)

func checkReplies(f facts, say func(string, ...any)) {
	for chat, rows := range f.rows {
		for _, r := range rows {
			m := replied.FindStringSubmatch(r.Content)
			if r.Role != "assistant" || m == nil {
				continue
			}
			got, short, long := "Done with "+m[1]+":"+m[2], saying(m[1], wordsAfterCalls), saying(m[1], wordsAlone)
			if marked := m[3] != ""; !marked && got != short && got != long || marked && !strings.HasPrefix(long, got) {
				say("a reply in chat %s is neither whole nor marked: %.200q", chat, r.Content)
			}
		}
	}
}

// inChat says whether the message that asked for a call is in this transcript.
func inChat(rows []row, call string) bool {
	for _, r := range rows {
		if r.Role == "user" && strings.Contains(r.Content, "["+strings.TrimSuffix(call, "-b")+" ") {
			return true
		}
	}
	return false
}

func checkTurns(b *book, f facts, say func(string, ...any)) {
	done, order := map[string]int{}, []string{}
	for _, h := range f.log {
		if h.Turn == "" {
			continue
		}
		if _, ok := done[h.Turn]; !ok {
			order = append(order, h.Turn)
			done[h.Turn] = 0
		}
		if h.Type == "done" {
			done[h.Turn]++
		}
	}
	for _, turn := range order {
		if done[turn] != 1 {
			say("turn %s has %d ends in the log", turn, done[turn])
		}
	}
	for turn, ends := range b.ended {
		for i, e := range ends {
			if slices.ContainsFunc(ends[:i], e.twice) {
				say("turn %s ended twice on live connections: %+v", turn, ends)
			}
		}
	}
	for _, m := range b.list {
		if m.ackedAt > 0 && m.turn != "" && done[m.turn] != 1 {
			say("message %s was acknowledged as turn %s, which has %d ends", m.id, m.turn, done[m.turn])
		}
	}
}

// checkKept: a transcript only grows.
func checkKept(f facts, say func(string, ...any)) {
	for chat, before := range f.before {
		now := f.rows[chat]
		for i, r := range before {
			if i >= len(now) || now[i].ID != r.ID || now[i].Content != r.Content {
				say("row %d of chat %s was %q and is something else now", i, chat, r.Role)
				break
			}
		}
	}
}
