package agent

import (
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"sentient/actors/msg"
)

// world plays everything around a turn: it answers what the turn starts, in any order, and checks the invariants.
type world struct {
	t        *rapid.T
	turn     *Turn
	waiting  []Input // what will come in some order
	open     map[string]bool
	steers   []string
	taken    []string
	finishes int
	n        int
}

func (w *world) take(outs []Out) {
	if w.finishes > 0 && len(outs) > 0 {
		w.t.Fatalf("after its end the turn wants %s", kinds(outs))
	}
	for _, o := range outs {
		w.out(o)
	}
}

func (w *world) out(o Out) {
	switch o := o.(type) {
	case CallModel:
		if len(w.open) > 0 {
			w.t.Fatalf("a model call with open calls %v", w.open)
		}
		w.checkConversation(o.Request.Messages)
		w.waiting = append(w.waiting, Said{Run: o.Run, Text: "text "}, w.reply(o.Run))
	case JudgeCalls:
		var vs []Verdict
		for _, c := range o.Calls {
			v := Verdict{Call: c.ID, Do: Deed(rapid.IntRange(0, 3).Draw(w.t, "deed")), Risk: msg.Risk(rapid.IntRange(0, 3).Draw(w.t, "risk"))}
			if _, ok := o.Answers[c.ID]; ok && v.Do == DoAsk {
				v.Do = DoRun
			}
			if v.Do == DoWait && o.Cleared[c.ID].Waited {
				v.Do = DoRun
			}
			if v.Do == DoWait {
				v.Undo = &UndoWindow{Undo: "un" + c.ID, Call: c, Risk: v.Risk}
			}
			if v.Do == DoAsk {
				v.Ask = &Request{Approval: "ap" + c.ID, Call: c, Risk: v.Risk}
			}
			vs = append(vs, v)
		}
		vs = vs[:rapid.IntRange(1, len(vs)).Draw(w.t, "judged")]
		w.waiting = append(w.waiting, Judged{Run: o.Run, Verdicts: vs})
	case AskPerson:
		w.waiting = append(w.waiting, Decided{Approval: o.Request.Approval, Decision: rapid.SampledFrom([]string{"allow", "allow_session", "deny"}).Draw(w.t, "answer")})
	case OpenUndo:
		w.waiting = append(w.waiting, UndoEnded{Undo: o.Window.Undo, Action: rapid.SampledFrom([]string{Undo, SendNow, TimeIsUp}).Draw(w.t, "undo")})
	case RunCalls:
		for _, r := range o.Calls {
			w.waiting = append(w.waiting, Progressed{Run: r.Run, Call: r.Call.ID}, Returned{Run: r.Run, Outcome: Outcome{Content: rapid.SampledFrom([]string{"a", "b"}).Draw(w.t, "result")}})
		}
	case KeepAnswer:
		for _, c := range o.Calls {
			w.open[c.ID] = true
		}
	case KeepResults:
		for _, s := range o.Results {
			if !w.open[s.Call.ID] {
				w.t.Fatalf("call %s got a second result, or was never made", s.Call.ID)
			}
			delete(w.open, s.Call.ID)
		}
	case KeepSteers:
		for _, s := range o.Steers {
			w.taken = append(w.taken, s.ID)
		}
	case Finish:
		w.finishes++
		if len(w.open) > 0 && o.How != Interrupted {
			w.t.Fatalf("the turn ended %s with open calls", o.How)
		}
	}
}

func (w *world) reply(run string) Input {
	switch rapid.IntRange(0, 5).Draw(w.t, "reply") {
	case 0:
		return Replied{Run: run, Err: errors.New("failed")}
	case 1:
		return Replied{Run: run, Result: msg.ModelResult{Text: "final"}}
	case 2:
		return Replied{Run: run}
	}
	var calls []msg.ToolCall
	for range rapid.IntRange(1, 3).Draw(w.t, "calls") {
		w.n++
		calls = append(calls, msg.ToolCall{ID: fmt.Sprint("c", w.n), Name: "tool", Arguments: "{}"})
	}
	return Replied{Run: run, Result: msg.ModelResult{Calls: calls}}
}

// checkConversation: every call in the conversation has exactly one result, right behind its message.
func (w *world) checkConversation(ms []msg.ModelMessage) {
	open := map[string]bool{}
	for _, m := range ms {
		if m.Role == "tool" {
			if !open[m.ToolCallID] {
				w.t.Fatalf("a result without its call: %s", m.ToolCallID)
			}
			delete(open, m.ToolCallID)
			continue
		}
		if len(open) > 0 {
			w.t.Fatalf("calls without results: %v", open)
		}
		for _, c := range m.ToolCalls {
			open[c.ID] = true
		}
	}
	if len(open) > 0 {
		w.t.Fatalf("calls without results: %v", open)
	}
}

// TestAnyInterleaving: whatever comes in whatever order, with stops, steers and interrupts anywhere: one end, one result for
// each call, no steer lost or overtaken, never an invalid conversation.
func TestAnyInterleaving(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := testPlan()
		p.RepeatLimit = rapid.IntRange(0, 3).Draw(t, "repeat limit")
		p.Parallel = rapid.Bool().Draw(t, "parallel")
		p.Attended = rapid.Bool().Draw(t, "attended")
		p.Choices = append(p.Choices, Choice{Model: "b/two"})
		w := &world{t: t, turn: New("plan", ids()), open: map[string]bool{}, waiting: []Input{Planned{Run: "plan", Plan: p}}}
		for step := 0; len(w.waiting) > 0 && step < 300; step++ {
			switch rapid.IntRange(0, 20).Draw(t, "event") {
			case 0:
				w.take(w.turn.Step(StoppedByPerson{}))
			case 1:
				w.take(w.turn.Step(Interrupt{}))
			case 2, 3:
				if w.turn.State() != Ended {
					id := fmt.Sprint("s", step)
					w.steers = append(w.steers, id)
					w.take(w.turn.Step(Steered{Steer{ID: id, Text: id}}))
				}
			default:
				i := rapid.IntRange(0, len(w.waiting)-1).Draw(t, "which")
				if _, said := w.waiting[0].(Said); said {
					i = 0 // a stream is in order
				}
				in := w.waiting[i]
				w.waiting = append(w.waiting[:i:i], w.waiting[i+1:]...)
				w.take(w.turn.Step(in))
			}
		}
		if w.turn.State() == Ended && w.finishes != 1 || w.turn.State() != Ended && w.finishes != 0 {
			t.Fatalf("state %d after %d ends", w.turn.State(), w.finishes)
		}
		if len(w.waiting) == 0 && w.turn.State() != Ended {
			t.Fatalf("the turn waits in state %d for something that never comes", w.turn.State())
		}
		for i, id := range w.taken {
			if w.steers[i] != id {
				t.Fatalf("steers %v were taken as %v", w.steers, w.taken)
			}
		}
		if len(w.taken)+w.turn.Waiting() != len(w.steers) {
			t.Fatalf("%d steers, %d taken, %d waiting", len(w.steers), len(w.taken), w.turn.Waiting())
		}
	})
}
