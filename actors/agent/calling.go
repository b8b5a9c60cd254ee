package agent

import (
	"fmt"
	"slices"
	"strings"

	"sentient/actors/msg"
)

func (t *Turn) planned(in Input) []Out {
	p := in.(Planned)
	if p.Run != t.run {
		return nil
	}
	if p.Err != nil {
		return t.fail(p.Err)
	}
	t.plan, t.messages, t.words = p.Plan, p.Plan.Messages, p.Plan.Words
	var outs []Out
	if n := p.Plan.Notice; n != nil {
		t.noticed = true
		outs = append(outs, Tell{*n})
	}
	return append(outs, t.next()...)
}

// next begins a model round: the one place where steers join, and a safe point for interrupts and budgets.
func (t *Turn) next() []Out {
	outs := t.join()
	if t.interrupt {
		return append(outs, t.finish(Interrupted, "", false)...)
	}
	if s := t.spent.over(t.plan.Budget); s != "" {
		return append(outs, t.end(Finish{How: Done, Err: nil, Budget: s})...)
	}
	return append(outs, t.call())
}

// join hands the waiting steers to the model.
func (t *Turn) join() []Out {
	if len(t.steers) == 0 {
		return nil
	}
	taken := t.steers
	t.steers = nil
	for _, s := range taken {
		t.messages = append(t.messages, msg.ModelMessage{Role: "user", Parts: msg.TextPart(s.Text)})
		t.words = append(slices.Clip(t.words), s.Text)
	}
	return []Out{KeepSteers{taken}}
}

func (t *Turn) call() Out {
	t.state, t.run = Calling, t.newID()
	t.calls++
	t.text.Reset()
	t.thinking.Reset()
	c := t.plan.Choices[t.choice]
	r := msg.ModelRequest{Model: c.Model, Role: c.Role, System: t.plan.System, Messages: t.messages, Tools: t.plan.Tools,
		Temperature: c.Temperature, Reasoning: c.Reasoning, ContextLength: c.ContextLength, Job: t.plan.Job}
	if t.noTools {
		r.Tools = nil
	}
	return CallModel{Run: t.run, Round: t.calls, Choice: c, Request: r}
}

func (t *Turn) heard(in Input) []Out {
	s := in.(Said)
	if s.Run != t.run {
		return nil
	}
	t.said = true
	t.text.WriteString(s.Text)
	t.thinking.WriteString(s.Thinking)
	return []Out{Show{Text: s.Text, Thinking: s.Thinking}}
}

func (t *Turn) replied(in Input) []Out {
	r := in.(Replied)
	if r.Run != t.run {
		return nil
	}
	if r.Err != nil {
		return append(t.chargedFor(r), t.failedCall(r.Err)...)
	}
	c := t.plan.Choices[t.choice]
	t.spent.add(c, r.Result.Usage)
	outs := []Out{KeepUsage{c, r.Result.Usage, r.Meter}}
	if len(r.Result.Calls) == 0 {
		return append(outs, t.answered(r.Result)...)
	}
	t.said, t.notes = true, nil
	if t.plan.Rewrite != nil {
		r.Result.Calls, t.notes = t.plan.Rewrite(r.Result.Calls, t.words)
	}
	t.remember(r.Result)
	t.open, t.results = r.Result.Calls, nil
	outs = append(outs, KeepAnswer{Text: r.Result.Text, Thinking: r.Result.Thinking, Calls: r.Result.Calls})
	return append(outs, t.judge())
}

// chargedFor counts what a call that failed half-way had used: the provider charges for it.
func (t *Turn) chargedFor(r Replied) []Out {
	if !r.Result.Usage.Known {
		return nil
	}
	c := t.plan.Choices[t.choice]
	t.spent.add(c, r.Result.Usage)
	return []Out{KeepUsage{c, r.Result.Usage, Meter{}}}
}

func (t *Turn) remember(r msg.ModelResult) {
	m := msg.ModelMessage{Role: "assistant", ToolCalls: r.Calls, Thinking: r.Thinking, Signature: r.Signature}
	if r.Text != "" {
		m.Parts = msg.TextPart(r.Text)
	}
	t.messages = append(t.messages, m)
}

// answered handles an answer without calls: usually the end.
func (t *Turn) answered(r msg.ModelResult) []Out {
	if strings.TrimSpace(r.Text) == "" {
		return t.empty()
	}
	if len(t.steers) > 0 && t.rounds < t.plan.MaxRounds {
		// A steer came while the answer was written: keep the answer, go on in the same turn.
		t.remember(r)
		t.rounds++
		return append([]Out{KeepAnswer{Text: r.Text, Thinking: r.Thinking}}, t.next()...)
	}
	return t.keepAndFinish(r.Text, r.Thinking, Finish{How: Done})
}

// empty nudges once, in a message that nobody sees, then says so itself.
func (t *Turn) empty() []Out {
	if t.nudged {
		return t.say(emptyReply, Finish{How: Done})
	}
	t.nudged = true
	t.messages = append(t.messages, msg.ModelMessage{Role: "user", Parts: msg.TextPart(emptyNudge)})
	return t.next()
}

func (t *Turn) failedCall(err error) []Out {
	me, ok := msg.AsModelError(err)
	spoke := ok && me.Said || t.text.Len() > 0 || t.thinking.Len() > 0
	if ok && me.Fault == msg.FaultNoTools && !spoke && !t.noTools && len(t.plan.Tools) > 0 {
		t.noTools = true
		return []Out{Note{fmt.Sprintf(noToolsNote, t.plan.Choices[t.choice].Name)}, t.call()}
	}
	if spoke || t.choice+1 >= len(t.plan.Choices) {
		return t.fail(err)
	}
	own := t.plan.Choices[t.choice]
	t.choice++
	var outs []Out
	if own.Own && !t.noticed {
		t.noticed = true
		outs = append(outs, Tell{FallbackNotice(own, t.plan.Choices[t.choice], err.Error())})
	}
	return append(outs, t.call())
}

// FallbackNotice says that used answers instead of the chat's own model, and why.
func FallbackNotice(own, used Choice, why string) Notice {
	return Notice{
		Message: fmt.Sprintf("This chat uses %s, which can't answer right now, so %s is answering instead. %s", own.Name, used.Name, why),
		Code:    "model_fallback", Model: own.Model, Used: used.Model,
	}
}
