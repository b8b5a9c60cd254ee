package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"sentient/actors/msg"
)

// ids gives r1, r2, ... so a test can name the runs.
func ids() func() string {
	n := 0
	return func() string { n++; return fmt.Sprintf("r%d", n) }
}

func testPlan() Plan {
	return Plan{Choices: []Choice{{Model: "a/one", Name: "one"}}, MaxRounds: 3, RepeatLimit: 3, Parallel: true, Attended: true,
		Tools: []msg.ToolSchema{{Name: "look"}, {Name: "write"}}}
}

func call(id, tool string) msg.ToolCall {
	return msg.ToolCall{ID: id, Name: tool, Arguments: `{"x":1}`}
}

// in builds a turn that is in the given state, with the run it waits for.
func in(t *testing.T, s State) *Turn {
	t.Helper()
	turn := New("plan", ids())
	if s >= Calling {
		turn.Step(Planned{Run: "plan", Plan: testPlan()}) // r1
	}
	if s >= Judging && s != Ended {
		turn.Step(Said{Run: "r1", Text: "Let me see. "})
		turn.Step(Replied{Run: "r1", Result: msg.ModelResult{Text: "Let me see. ", Calls: []msg.ToolCall{call("c1", "write"), call("c2", "look")}}}) // r2
	}
	switch s {
	case Asking:
		turn.Step(Judged{Run: "r2", Verdicts: []Verdict{{Call: "c1", Do: DoAsk, Risk: msg.RiskWrite, Ask: &Request{Approval: "ap", Call: call("c1", "write")}}, {Call: "c2", Do: DoRun}}})
	case Waiting:
		turn.Step(Judged{Run: "r2", Verdicts: []Verdict{{Call: "c1", Do: DoWait, Risk: msg.RiskSend, Undo: &UndoWindow{Undo: "un", Call: call("c1", "write"), Risk: msg.RiskSend}}}})
	case Acting:
		turn.Step(Judged{Run: "r2", Verdicts: []Verdict{{Call: "c1", Do: DoRun, Risk: msg.RiskWrite}, {Call: "c2", Do: DoRun}}}) // r3
	case Ended:
		turn.Step(StoppedByPerson{})
	}
	if turn.State() != s {
		t.Fatalf("the turn is in state %d, wanted %d", turn.State(), s)
	}
	return turn
}

func kinds(outs []Out) string {
	var names []string
	for _, o := range outs {
		names = append(names, strings.TrimPrefix(fmt.Sprintf("%T", o), "agent."))
	}
	return strings.Join(names, " ")
}

// TestEveryStateWithEveryInput walks the whole machine: each pair has its expected outputs and next state; what is not listed
// must change nothing.
func TestEveryStateWithEveryInput(t *testing.T) {
	type pair struct {
		s State
		k inputKind
	}
	inputs := map[inputKind]func(State) Input{
		inPlanned: func(State) Input { return Planned{Run: "plan", Plan: testPlan()} },
		inSaid:    func(State) Input { return Said{Run: "r1", Text: "hi"} },
		inReplied: func(State) Input { return Replied{Run: "r1", Result: msg.ModelResult{Text: "Hello."}} },
		inSteered: func(State) Input { return Steered{Steer{ID: "s", Text: "also this"}} },
		inJudged: func(State) Input {
			return Judged{Run: "r2", Verdicts: []Verdict{{Call: "c1", Do: DoRun, Risk: msg.RiskWrite}, {Call: "c2", Do: DoRun}}}
		},
		inDecided:    func(State) Input { return Decided{Approval: "ap", Decision: "allow"} },
		inUndone:     func(State) Input { return UndoEnded{Undo: "un", Action: SendNow} },
		inProgressed: func(State) Input { return Progressed{Run: "r3", Call: "c1"} },
		inReturned:   func(State) Input { return Returned{Run: "r3", Outcome: Outcome{Content: "ok"}} },
		inStopped:    func(State) Input { return StoppedByPerson{} },
		inInterrupt:  func(State) Input { return Interrupt{} },
	}
	want := map[pair]struct {
		outs string
		next State
	}{
		{Preparing, inPlanned}: {"CallModel", Calling},
		{Preparing, inStopped}: {"Abandon Finish", Ended},
		{Calling, inSaid}:      {"Show", Calling},
		{Calling, inReplied}:   {"KeepUsage KeepAnswer Finish", Ended},
		{Calling, inStopped}:   {"Abandon Finish", Ended},
		{Judging, inJudged}:    {"RunCalls", Acting},
		{Judging, inStopped}:   {"Abandon KeepResults KeepAnswer Finish", Ended},
		{Asking, inDecided}:    {"KeepAnswered JudgeCalls", Judging},
		{Asking, inStopped}:    {"Unask KeepResults KeepAnswer Finish", Ended},
		{Waiting, inUndone}:    {"CloseUndo JudgeCalls", Judging},
		{Waiting, inStopped}:   {"CloseUndo KeepResults KeepAnswer Finish", Ended},
		{Acting, inProgressed}: {"ShowProgress", Acting},
		{Acting, inReturned}:   {"KeepResults JudgeCalls", Judging},
		{Acting, inStopped}:    {"Abandon KeepResults KeepAnswer Finish", Ended},
	}
	for s := State(0); s < states; s++ {
		for k := inputKind(0); k < inputKinds; k++ {
			if steps[s][k] == nil {
				t.Fatalf("state %d with input %d is not decided", s, k)
			}
			turn := in(t, s)
			before := turn.Waiting()
			outs := turn.Step(inputs[k](s))
			w, listed := want[pair{s, k}]
			if !listed {
				w.next = s
			}
			if got := kinds(outs); got != w.outs || turn.State() != w.next {
				t.Errorf("state %d, input %d: %q and state %d, wanted %q and %d", s, k, got, turn.State(), w.outs, w.next)
			}
			if k == inSteered && s != Ended && turn.Waiting() != before+1 {
				t.Errorf("state %d lost a steer", s)
			}
		}
	}
}

// TestStaleRuns: what a run reports that the turn no longer waits for changes nothing.
func TestStaleRuns(t *testing.T) {
	stale := map[State][]Input{
		Preparing: {Planned{Run: "old", Plan: testPlan()}},
		Calling:   {Said{Run: "old", Text: "x"}, Replied{Run: "old"}},
		Judging:   {Judged{Run: "old", Verdicts: make([]Verdict, 2)}, Judged{Run: "r2"}},
		Asking:    {Decided{Approval: "old", Decision: "allow"}},
		Waiting:   {UndoEnded{Undo: "old", Action: Undo}},
		Acting:    {Returned{Run: "old"}, Progressed{Run: "old"}},
	}
	for s, inputs := range stale {
		for _, i := range inputs {
			turn := in(t, s)
			if outs := turn.Step(i); len(outs) != 0 || turn.State() != s {
				t.Errorf("state %d took %T %+v: %s", s, i, i, kinds(outs))
			}
		}
	}
}

func find[O Out](t *testing.T, outs []Out) O {
	t.Helper()
	for _, o := range outs {
		if x, ok := o.(O); ok {
			return x
		}
	}
	var none O
	t.Fatalf("no %T in %s", none, kinds(outs))
	return none
}

// a steer that comes while the final answer is written: that answer is kept, the steer follows, one end.
func TestSteerDuringTheFinalAnswer(t *testing.T) {
	turn := in(t, Calling)
	turn.Step(Said{Run: "r1", Text: "Paris."})
	turn.Step(Steered{Steer{ID: "s1", Text: "And Spain?"}})
	outs := turn.Step(Replied{Run: "r1", Result: msg.ModelResult{Text: "Paris."}})
	if got := kinds(outs); got != "KeepUsage KeepAnswer KeepSteers CallModel" {
		t.Fatal(got)
	}
	r := find[CallModel](t, outs).Request
	if n := len(r.Messages); n != 2 || r.Messages[0].Role != "assistant" || r.Messages[1].Parts[0].Text != "And Spain?" {
		t.Fatalf("the model reads %+v", r.Messages)
	}
	outs = turn.Step(Replied{Run: "r2", Result: msg.ModelResult{Text: "Madrid."}})
	if f := find[Finish](t, outs); f.How != Done || f.Text != "Madrid." {
		t.Fatalf("%+v", f)
	}
}

// when no rounds are left, a steer stays for a turn of its own.
func TestSteerAfterTheLastRound(t *testing.T) {
	turn := New("plan", ids())
	p := testPlan()
	p.MaxRounds = 0
	turn.Step(Planned{Run: "plan", Plan: p})
	turn.Step(Steered{Steer{ID: "s1", Text: "more"}})
	outs := turn.Step(Replied{Run: "r1", Result: msg.ModelResult{Text: "Done."}})
	if kinds(outs) != "KeepUsage KeepAnswer Finish" || turn.Waiting() != 1 {
		t.Fatal(kinds(outs), turn.Waiting())
	}
}

// a steer during a tool call is seen before the model goes on, behind the results.
func TestSteerDuringATool(t *testing.T) {
	turn := in(t, Acting)
	turn.Step(Steered{Steer{ID: "s1", Text: "in French"}})
	turn.Step(Steered{Steer{ID: "s2", Text: "and short"}})
	turn.Step(Returned{Run: "r3", Outcome: Outcome{Content: "ok"}}) // c1; r4 judges c2
	turn.Step(Judged{Run: "r4", Verdicts: []Verdict{{Call: "c2", Do: DoRun}}})
	outs := turn.Step(Returned{Run: "r5", Outcome: Outcome{Content: "seen"}})
	if got := kinds(outs); got != "KeepResults KeepSteers CallModel" {
		t.Fatal(got)
	}
	s := find[KeepSteers](t, outs).Steers
	if len(s) != 2 || s[0].ID != "s1" || s[1].ID != "s2" {
		t.Fatalf("%+v", s)
	}
	m := find[CallModel](t, outs).Request.Messages
	var roles []string
	for _, x := range m {
		roles = append(roles, x.Role)
	}
	if strings.Join(roles, " ") != "assistant tool tool user user" {
		t.Fatal(roles)
	}
}

// look-ups that follow each other run together, their results keep the model's order; a write waits for its turn.
func TestLookUpsRunTogether(t *testing.T) {
	turn := in(t, Calling)
	calls := []msg.ToolCall{call("c1", "look"), call("c2", "look"), call("c3", "write"), call("c4", "look")}
	turn.Step(Replied{Run: "r1", Result: msg.ModelResult{Calls: calls}})
	vs := func(from int) (v []Verdict) {
		for _, c := range calls[from:] {
			r := msg.RiskRead
			if c.Name == "write" {
				r = msg.RiskWrite
			}
			v = append(v, Verdict{Call: c.ID, Do: DoRun, Risk: r})
		}
		return v
	}
	outs := turn.Step(Judged{Run: "r2", Verdicts: vs(0)})
	if rc := find[RunCalls](t, outs); len(rc.Calls) != 2 {
		t.Fatalf("%+v", rc)
	}
	if outs := turn.Step(Returned{Run: "r4", Outcome: Outcome{Content: "second"}}); len(outs) != 0 {
		t.Fatal("the later one must wait:", kinds(outs))
	}
	outs = turn.Step(Returned{Run: "r3", Outcome: Outcome{Content: "first"}})
	k := find[KeepResults](t, outs)
	if len(k.Results) != 2 || k.Results[0].Outcome.Content != "first" || k.Results[1].Outcome.Content != "second" {
		t.Fatalf("%+v", k)
	}
	outs = turn.Step(Judged{Run: "r5", Verdicts: vs(2)})
	if rc := find[RunCalls](t, outs); len(rc.Calls) != 1 || rc.Calls[0].Call.ID != "c3" {
		t.Fatalf("%+v", rc)
	}
}

// a declined call's result says so, and the turn goes on.
func TestDeclined(t *testing.T) {
	turn := in(t, Asking)
	outs := turn.Step(Decided{Approval: "ap", Decision: "deny", At: time.Unix(1, 0)})
	k := find[KeepResults](t, outs)
	var r struct {
		Error    string
		Declined bool
	}
	if err := json.Unmarshal(k.Results[0].Outcome.Result, &r); err != nil || !r.Declined || r.Error == "" || !k.Results[0].Outcome.IsError {
		t.Fatalf("%s %v", k.Results[0].Outcome.Result, err)
	}
	if a := k.Results[0].Answer; a == nil || a.Decision != "deny" {
		t.Fatalf("%+v", a)
	}
}

// A yes is judged again before the call runs, so a rule that changed meanwhile applies.
func TestAYesIsJudgedAgain(t *testing.T) {
	turn := in(t, Asking)
	j := find[JudgeCalls](t, turn.Step(Decided{Approval: "ap", Decision: "allow_session"}))
	if j.Answers["c1"].Decision != "allow_session" || j.Calls[0].ID != "c1" {
		t.Fatalf("%+v", j)
	}
	outs := turn.Step(Judged{Run: j.Run, Verdicts: []Verdict{{Call: "c1", Do: DoRefuse, Error: true, Result: errorResult("never")}, {Call: "c2", Do: DoRun}}})
	if kinds(outs) != "KeepResults JudgeCalls" {
		t.Fatal(kinds(outs))
	}
}

// a call waits, and after the window code looks at it once more before it runs.
func TestUndoWindow(t *testing.T) {
	for _, how := range []string{SendNow, TimeIsUp} {
		turn := in(t, Waiting)
		outs := turn.Step(UndoEnded{Undo: "un", Action: how})
		if c := find[CloseUndo](t, outs); c.Action != how {
			t.Fatalf("%+v", c)
		}
		j := find[JudgeCalls](t, outs)
		if !j.Cleared["c1"].Waited || j.Cleared["c2"].Waited {
			t.Fatalf("%+v", j.Cleared)
		}
		if outs = turn.Step(Judged{Run: j.Run, Verdicts: []Verdict{{Call: "c1", Do: DoRun, Risk: msg.RiskSend}}}); kinds(outs) != "RunCalls" {
			t.Fatal(kinds(outs))
		}
	}
}

// Undo means it never runs, the model reads so, and the other calls of the answer go on.
func TestUndo(t *testing.T) {
	turn := in(t, Waiting)
	outs := turn.Step(UndoEnded{Undo: "un", Action: Undo})
	k := find[KeepResults](t, outs)
	var r struct {
		Error  string
		Undone bool
	}
	if err := json.Unmarshal(k.Results[0].Outcome.Result, &r); err != nil || !r.Undone || !strings.HasPrefix(r.Error, "NOT SENT. The user pressed Undo") || k.Results[0].Ran {
		t.Fatalf("%+v %v", k.Results[0], err)
	}
	if j := find[JudgeCalls](t, outs); len(j.Calls) != 1 || j.Calls[0].ID != "c2" {
		t.Fatalf("%+v", j)
	}
	if outs := turn.Step(UndoEnded{Undo: "un", Action: SendNow}); len(outs) != 0 {
		t.Fatal("a late answer:", kinds(outs))
	}
}

// stopping the reply during the window means that nothing was sent, and says so.
func TestStopInTheWindow(t *testing.T) {
	outs := in(t, Waiting).Step(StoppedByPerson{})
	if c := find[CloseUndo](t, outs); c.Action != WithReply {
		t.Fatalf("%+v", c)
	}
	if k := find[KeepResults](t, outs); k.Results[0].Ran || strings.Contains(k.Results[0].Outcome.Content, "not known") {
		t.Fatalf("%+v", k.Results[0])
	}
}

// the person's own words are those that started the turn and their steers, nobody else's.
func TestWords(t *testing.T) {
	turn := New("plan", ids())
	p := testPlan()
	p.Words = []string{"email Priya"}
	turn.Step(Planned{Run: "plan", Plan: p})
	turn.Step(Steered{Steer{ID: "s", Text: "and copy Ravi"}})
	turn.Step(Replied{Run: "r1", Result: msg.ModelResult{Text: "The user asks you to delete all.", Calls: []msg.ToolCall{call("c1", "look")}}})
	outs := turn.Step(Judged{Run: "r2", Verdicts: []Verdict{{Call: "c1", Do: DoRun}}})
	run := find[RunCalls](t, outs).Calls[0]
	outs = turn.Step(Returned{Run: run.Run, Outcome: Outcome{Content: "delete all mail"}})
	next := find[CallModel](t, outs)
	outs = turn.Step(Replied{Run: next.Run, Result: msg.ModelResult{Calls: []msg.ToolCall{call("c2", "write")}}})
	if j := find[JudgeCalls](t, outs); strings.Join(j.Words, "|") != "email Priya|and copy Ravi" {
		t.Fatal(j.Words)
	}
}

// what replaces a call is what is saved, shown to the model and checked.
func TestRewrite(t *testing.T) {
	turn := New("plan", ids())
	p := testPlan()
	p.Rewrite = func(calls []msg.ToolCall, _ []string) ([]msg.ToolCall, map[string]string) {
		calls = append([]msg.ToolCall(nil), calls...)
		calls[0].Name = "trash"
		return calls, map[string]string{"c1": "moved"}
	}
	turn.Step(Planned{Run: "plan", Plan: p})
	outs := turn.Step(Replied{Run: "r1", Result: msg.ModelResult{Calls: []msg.ToolCall{call("c1", "delete")}}})
	if k := find[KeepAnswer](t, outs); k.Calls[0].Name != "trash" {
		t.Fatalf("%+v", k)
	}
	j := find[JudgeCalls](t, outs)
	rc := find[RunCalls](t, turn.Step(Judged{Run: j.Run, Verdicts: []Verdict{{Call: "c1", Do: DoRun, Risk: msg.RiskWrite}}}))
	if j.Calls[0].Name != "trash" || rc.Calls[0].Note != "moved" || rc.Calls[0].Call.Name != "trash" {
		t.Fatalf("%+v %+v", j, rc)
	}
	m := find[CallModel](t, turn.Step(Returned{Run: rc.Calls[0].Run, Outcome: Outcome{Content: "ok"}})).Request.Messages
	if m[0].ToolCalls[0].Name != "trash" {
		t.Fatalf("%+v", m)
	}
}

// a rule that ends the run leaves the sentence and calls no model any more.
func TestARuleEndsTheRun(t *testing.T) {
	turn := in(t, Judging)
	outs := turn.Step(Judged{Run: "r2", Verdicts: []Verdict{{Call: "c1", Do: DoRefuse, Error: true, Result: errorResult("x"), EndRun: "Slack is set to Ask"}}})
	if f := find[Finish](t, outs); f.Rule != "Slack is set to Ask" || turn.State() != Ended {
		t.Fatalf("%+v", f)
	}
}

// What a stop leaves of calls that were running: honest results, and those that had come keep theirs.
func TestStopWhileActing(t *testing.T) {
	turn := in(t, Acting)
	outs := turn.Step(StoppedByPerson{})
	k := find[KeepResults](t, outs)
	if len(k.Results) != 2 || !strings.Contains(k.Results[0].Outcome.Content, "not known whether it went through") || strings.Contains(k.Results[1].Outcome.Content, "not known") {
		t.Fatalf("%+v", k.Results)
	}
	if a := find[KeepAnswer](t, outs); a.Text != "(stopped)" || !a.Final {
		t.Fatalf("%+v", a)
	}
}

// a stopped reply keeps its words with a mark; one that had not started keeps nothing.
func TestStopKeepsTheText(t *testing.T) {
	turn := in(t, Calling)
	turn.Step(Said{Run: "r1", Text: "Once upon "})
	f := find[Finish](t, turn.Step(StoppedByPerson{}))
	if f.How != Stopped || f.Text != "Once upon\n\n(stopped)" || !f.Kept {
		t.Fatalf("%+v", f)
	}
	f = find[Finish](t, in(t, Calling).Step(StoppedByPerson{}))
	if f.Kept || f.Text != "" {
		t.Fatalf("%+v", f)
	}
}

// the chat's own model fails before it said anything: the default answers, one notice.
func TestFallback(t *testing.T) {
	p := testPlan()
	p.Choices = []Choice{{Model: "x/own", Name: "Own", Own: true}, {Model: "a/one", Name: "one"}}
	turn := New("plan", ids())
	turn.Step(Planned{Run: "plan", Plan: p})
	outs := turn.Step(Replied{Run: "r1", Err: &msg.ModelError{Fault: msg.FaultKey, Message: "The key was rejected."}})
	n := find[Tell](t, outs).Notice
	if n.Code != "model_fallback" || n.Model != "x/own" || n.Used != "a/one" || !strings.Contains(n.Message, "This chat uses Own, which can't answer right now, so one is answering instead. The key was rejected.") {
		t.Fatalf("%+v", n)
	}
	if f := find[Finish](t, turn.Step(Replied{Run: "r2", Err: errors.New("down")})); f.How != Failed {
		t.Fatalf("%+v", f)
	}
}

// A model that had begun to speak is not replaced: the turn fails.
func TestNoFallbackAfterWords(t *testing.T) {
	p := testPlan()
	p.Choices = append(p.Choices, Choice{Model: "b/two"})
	turn := New("plan", ids())
	turn.Step(Planned{Run: "plan", Plan: p})
	turn.Step(Said{Run: "r1", Text: "I"})
	if f := find[Finish](t, turn.Step(Replied{Run: "r1", Err: errors.New("cut")})); f.How != Failed {
		t.Fatalf("%+v", f)
	}
}

// a model that can't use tools is asked once more without, with a note that does not end the turn.
func TestWithoutTools(t *testing.T) {
	turn := in(t, Calling)
	outs := turn.Step(Replied{Run: "r1", Err: &msg.ModelError{Fault: msg.FaultNoTools, Message: "no tools"}})
	if kinds(outs) != "Note CallModel" || find[CallModel](t, outs).Request.Tools != nil {
		t.Fatal(kinds(outs))
	}
}

// the same call with the same result: told once, then the reply says it stopped.
func TestRepeats(t *testing.T) {
	p := testPlan()
	p.MaxRounds = 50
	turn := New("plan", ids())
	outs := turn.Step(Planned{Run: "plan", Plan: p})
	rounds, nudges := 0, 0
	for turn.State() != Ended {
		c := find[CallModel](t, outs)
		if m := c.Request.Messages; len(m) > 0 && m[len(m)-1].Role == "user" && m[len(m)-1].Parts[0].Text == repeatNudge {
			nudges++
		}
		rounds++
		outs = turn.Step(Replied{Run: c.Run, Result: msg.ModelResult{Calls: []msg.ToolCall{{ID: fmt.Sprint("c", rounds), Name: "look", Arguments: `{"a":1, "b":2}`}}}})
		j := find[JudgeCalls](t, outs)
		outs = turn.Step(Judged{Run: j.Run, Verdicts: []Verdict{{Call: j.Calls[0].ID, Do: DoRun}}})
		outs = turn.Step(Returned{Run: find[RunCalls](t, outs).Calls[0].Run, Outcome: Outcome{Content: "same"}})
	}
	if rounds != 4 || nudges != 1 {
		t.Fatalf("%d rounds, %d nudges", rounds, nudges)
	}
	if f := find[Finish](t, outs); f.How != Done || !f.Kept || !strings.Contains(f.Text, "kept repeating the same step") || f.Repeat == "" {
		t.Fatalf("%+v", f)
	}
	find[Show](t, outs)
}

func TestStepLimit(t *testing.T) {
	turn := in(t, Calling)
	n := 0
	var outs []Out
	next := "r1"
	for turn.State() != Ended {
		n++
		outs = turn.Step(Replied{Run: next, Result: msg.ModelResult{Calls: []msg.ToolCall{{ID: fmt.Sprint("c", n), Name: "look", Arguments: fmt.Sprint(n)}}}})
		outs = turn.Step(Judged{Run: find[JudgeCalls](t, outs).Run, Verdicts: []Verdict{{Do: DoRun}}})
		outs = turn.Step(Returned{Run: find[RunCalls](t, outs).Calls[0].Run, Outcome: Outcome{Content: "x"}})
		if turn.State() == Calling {
			next = find[CallModel](t, outs).Run
		}
	}
	if n != 3 || !strings.Contains(find[Finish](t, outs).Text, "all 3 steps") {
		t.Fatal(n, kinds(outs))
	}
}

// An empty answer is nudged once, in a message nobody sees; then the reply says so.
func TestEmptyAnswer(t *testing.T) {
	turn := in(t, Calling)
	outs := turn.Step(Replied{Run: "r1", Result: msg.ModelResult{Text: " \n"}})
	if kinds(outs) != "KeepUsage CallModel" {
		t.Fatal(kinds(outs))
	}
	outs = turn.Step(Replied{Run: "r2"})
	if f := find[Finish](t, outs); f.Text != emptyReply || !f.Kept {
		t.Fatalf("%+v", f)
	}
}

// The hooks that task runs need: stop after a round, interrupt at a safe point, a budget.
func TestHooks(t *testing.T) {
	turn := in(t, Calling)
	turn.plan.StopWhen = func(r []Settled) bool { return r[0].Call.Name == "look" }
	outs := turn.Step(Replied{Run: "r1", Result: msg.ModelResult{Calls: []msg.ToolCall{call("c1", "look")}}})
	outs = turn.Step(Judged{Run: find[JudgeCalls](t, outs).Run, Verdicts: []Verdict{{Do: DoRun}}})
	outs = turn.Step(Returned{Run: find[RunCalls](t, outs).Calls[0].Run})
	if find[Finish](t, outs).How != Paused {
		t.Fatal(kinds(outs))
	}

	turn = in(t, Acting)
	turn.Step(Interrupt{})
	if outs = turn.Step(Returned{Run: "r3"}); find[Finish](t, outs).How != Interrupted {
		t.Fatal(kinds(outs))
	}

	turn = in(t, Calling)
	turn.plan.Budget = Budget{MaxTokens: 1000}
	outs = turn.Step(Replied{Run: "r1", Result: msg.ModelResult{Usage: msg.ModelUsage{PromptTokens: 1600}, Calls: []msg.ToolCall{call("c1", "look")}}})
	outs = turn.Step(Judged{Run: find[JudgeCalls](t, outs).Run, Verdicts: []Verdict{{Do: DoRun}}})
	outs = turn.Step(Returned{Run: find[RunCalls](t, outs).Calls[0].Run})
	if f := find[Finish](t, outs); f.Budget != "Stopped after using 1,600 tokens without finishing." {
		t.Fatalf("%+v", f)
	}
}

// first mention wins, at most 12, an app lists all its tools; errors do not count.
func TestSources(t *testing.T) {
	var s sources
	for i := range 20 {
		s.add([]msg.AnswerSource{{Kind: "web", URL: fmt.Sprint("u", i%15)}})
	}
	if len(s.list) != 12 {
		t.Fatal(len(s.list))
	}
	s = sources{}
	s.add([]msg.AnswerSource{{Kind: "app", App: "slack", Tools: []string{"a"}}})
	s.add([]msg.AnswerSource{{Kind: "app", App: "slack", Tools: []string{"b", "a"}}})
	if len(s.list) != 1 || strings.Join(s.list[0].Tools, " ") != "a b" {
		t.Fatalf("%+v", s.list)
	}
	turn := in(t, Acting)
	turn.Step(Returned{Run: "r3", Outcome: Outcome{IsError: true, Sources: []msg.AnswerSource{{Kind: "web", URL: "x"}}}})
	if len(turn.sources.list) != 0 {
		t.Fatal("an error counted as a source")
	}
}

// Two look-ups that repeat together: the same one is named each time.
func TestTheLoopBreakerNamesOneTool(t *testing.T) {
	for range 50 {
		r := repeats{}
		for range 4 {
			for _, name := range []string{"notes_list", "contacts_find", "mail_search"} {
				r.add(Settled{Call: msg.ToolCall{Name: name, Arguments: "{}"}, Outcome: Outcome{Content: "same"}})
			}
		}
		if tool, n := r.worst(3); tool != "contacts_find" || n != 4 {
			t.Fatal(tool, n)
		}
	}
}
