package agent

import (
	"encoding/json"

	"sentient/actors/msg"
)

// judge asks code about every call that is still open. It is asked again after each call that ran, so a rule that changed
// meanwhile applies.
func (t *Turn) judge() Out {
	t.state, t.run = Judging, t.newID()
	return JudgeCalls{Run: t.run, Calls: t.open, Answers: t.answers, Cleared: t.cleared, Words: t.words, Choice: t.plan.Choices[t.choice]}
}

func (t *Turn) judged(in Input) []Out {
	j := in.(Judged)
	if j.Run != t.run || len(j.Verdicts) == 0 || len(j.Verdicts) > len(t.open) {
		return nil
	}
	if t.interrupt {
		return t.leave()
	}
	v := j.Verdicts[0]
	if v.Looked {
		t.clear(v.Call, func(c *Cleared) { c.Looked, c.Destinations = true, v.Destinations })
	}
	switch v.Do {
	case DoAsk:
		return t.ask(*v.Ask)
	case DoWait:
		return t.wait(*v.Undo)
	case DoRun:
		return t.act(j.Verdicts)
	default:
		return t.refuse(v)
	}
}

func (t *Turn) clear(call string, set func(*Cleared)) {
	c := t.cleared[call]
	set(&c)
	t.cleared[call] = c
}

func (t *Turn) refuse(v Verdict) []Out {
	call := t.open[0]
	s := Settled{Call: call, Risk: v.Risk, Held: v.Held, Handed: v.HandedOff,
		Outcome: Outcome{Call: v.Call, Result: v.Result, Content: string(v.Result), IsJSON: true, IsError: v.Error}}
	if a, ok := t.answers[call.ID]; ok {
		s.Answer = &a
	}
	if v.EndRun != "" {
		outs := []Out{KeepResults{[]Settled{s}}}
		t.keepResult(s)
		t.open = t.open[1:]
		return append(outs, t.end(Finish{How: Done, Rule: v.EndRun})...)
	}
	return t.settle([]Settled{s})
}

func (t *Turn) wait(w UndoWindow) []Out {
	t.state, t.window = Waiting, &w
	return []Out{OpenUndo{w}}
}

// undone ends the window: the call never runs, or code looks at it once more.
func (t *Turn) undone(in Input) []Out {
	u := in.(UndoEnded)
	if t.window == nil || u.Undo != t.window.Undo {
		return nil
	}
	w := t.window
	t.window = nil
	outs := []Out{CloseUndo(u)}
	if u.Action != Undo {
		t.clear(w.Call.ID, func(c *Cleared) { c.Waited = true })
		return append(outs, t.judge())
	}
	s := Settled{Call: w.Call, Risk: w.Risk, Outcome: Outcome{Call: w.Call.ID, Result: notSent(), IsJSON: true, IsError: true, Undone: true}}
	s.Outcome.Content = string(s.Outcome.Result)
	if a, ok := t.answers[w.Call.ID]; ok {
		s.Answer = &a
	}
	return append(outs, t.settle([]Settled{s})...)
}

func (t *Turn) ask(r Request) []Out {
	t.state = Asking
	t.request = &r
	return []Out{AskPerson{r}}
}

func (t *Turn) decided(in Input) []Out {
	d := in.(Decided)
	if t.request == nil || d.Approval != t.request.Approval {
		return nil
	}
	a := Answer{Request: *t.request, Decision: d.Decision, AnsweredAt: d.At}
	t.request = nil
	call := t.open[0]
	t.answers[call.ID] = a
	outs := []Out{KeepAnswered{a}}
	if d.Decision == "deny" {
		o := Outcome{Call: call.ID, Result: declined(call.Name), IsJSON: true, IsError: true, Declined: true}
		o.Content = string(o.Result)
		return append(outs, t.settle([]Settled{{Call: call, Risk: a.Request.Risk, Outcome: o, Answer: &a}})...)
	}
	if d.Decision == "allow_session" {
		outs = append(outs, KeepAllowed{call.Name, a.Request.Risk})
	}
	return append(outs, t.judge())
}

// act starts the first call, with all look-ups that follow it directly when they may run together.
func (t *Turn) act(vs []Verdict) []Out {
	n := 1
	if t.plan.Parallel {
		for vs[0].Risk == msg.RiskRead && n < len(vs) && vs[n].Do == DoRun && vs[n].Risk == msg.RiskRead {
			n++
		}
	}
	t.state, t.acting = Acting, nil
	var start []CallRun
	for i := range n {
		r := &running{CallRun: CallRun{Run: t.newID(), Call: t.open[i], Risk: vs[i].Risk, Note: t.notes[t.open[i].ID], Words: t.words}}
		if a, ok := t.answers[r.Call.ID]; ok {
			r.Approved = &a
		}
		t.acting = append(t.acting, r)
		start = append(start, r.CallRun)
	}
	return []Out{RunCalls{start}}
}

func (t *Turn) progressed(in Input) []Out {
	p := in.(Progressed)
	if r := t.runningAs(p.Run); r != nil && !r.done {
		return []Out{ShowProgress{r.Call, p.Progress}}
	}
	return nil
}

func (t *Turn) runningAs(run string) *running {
	for _, r := range t.acting {
		if r.Run == run {
			return r
		}
	}
	return nil
}

func (t *Turn) returned(in Input) []Out {
	ret := in.(Returned)
	r := t.runningAs(ret.Run)
	if r == nil || r.done {
		return nil
	}
	r.done, r.outcome = true, ret.Outcome
	var all []Settled
	for _, r := range t.acting {
		if !r.done {
			return nil
		}
		all = append(all, t.settledRun(r))
	}
	t.acting = nil
	return t.settle(all)
}

func (t *Turn) settledRun(r *running) Settled {
	s := Settled{Call: r.Call, Risk: r.Risk, Outcome: r.outcome, Ran: true} // also one the gate stopped at the end: its intent is settled
	s.Outcome.Call = r.Call.ID
	if a, ok := t.answers[r.Call.ID]; ok {
		s.Answer = &a
	}
	return s
}

// settle gives the first calls their results, then goes on with the rest or with the model.
func (t *Turn) settle(done []Settled) []Out {
	outs := []Out{KeepResults{done}}
	for _, s := range done {
		t.keepResult(s)
	}
	t.open = t.open[len(done):]
	if len(t.open) > 0 {
		if t.interrupt {
			return append(outs, t.leave()...)
		}
		return append(outs, t.judge())
	}
	return append(outs, t.afterRound()...)
}

func (t *Turn) keepResult(s Settled) {
	t.results = append(t.results, s)
	if s.Outcome.Check != nil {
		t.checks = append(t.checks, *s.Outcome.Check)
	}
	if !s.Outcome.IsError {
		t.sources.add(s.Outcome.Sources)
	}
	shown := s.Outcome.Shown
	if shown == "" {
		shown = s.Outcome.Content
	}
	t.messages = append(t.messages, msg.ModelMessage{Role: "tool", ToolCallID: s.Call.ID, Name: s.Call.Name,
		Parts: msg.TextPart(shown), IsError: s.Outcome.IsError})
	t.repeats.add(s)
}

func (t *Turn) afterRound() []Out {
	t.rounds++
	if t.plan.StopWhen != nil && t.plan.StopWhen(t.results) {
		return t.finish(Paused, "", false)
	}
	if name, n := t.repeats.worst(t.plan.RepeatLimit); n > 0 {
		if t.plan.Attended && !t.repeats.nudged() {
			t.repeats.nudge()
			t.messages = append(t.messages, msg.ModelMessage{Role: "user", Parts: msg.TextPart(repeatNudge)})
			return t.next()
		}
		return t.stopRepeating(name, n)
	}
	if t.rounds >= t.plan.MaxRounds {
		return t.say(stepLimit(t.rounds), Finish{How: Done})
	}
	return t.next()
}

// leave ends at a safe point with calls that never ran; they are left without a result, which the journal's reader repairs.
func (t *Turn) leave() []Out {
	return t.finish(Interrupted, "", false)
}

// errorResult is the JSON of an error.
func errorResult(text string) json.RawMessage {
	b, _ := json.Marshal(map[string]string{"error": text})
	return b
}

func notSent() json.RawMessage {
	b, _ := json.Marshal(struct {
		Error  string `json:"error"`
		Undone bool   `json:"undone"`
	}{"NOT SENT. The user pressed Undo, so nothing was sent. Don't say it was, and don't send it again unless they ask.", true})
	return b
}

func declined(tool string) json.RawMessage {
	b, _ := json.Marshal(struct {
		Error    string `json:"error"`
		Declined bool   `json:"declined"`
	}{"NOT DONE. The user said no to " + tool + ", so nothing was done. Don't say it was, and don't try it again unless they ask.", true})
	return b
}
