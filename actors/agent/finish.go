package agent

import (
	"encoding/json"
	"strings"

	"sentient/actors/msg"
)

// stopped ends the turn at once, whatever it waits for. What was said is kept, with a mark; open calls get a result that
// says honestly what is known.
func (t *Turn) stopped(Input) []Out {
	var outs []Out
	if runs := t.runs(); len(runs) > 0 {
		outs = append(outs, Abandon{runs})
	}
	if t.request != nil {
		outs = append(outs, Unask{t.request.Approval})
	}
	if t.window != nil {
		outs = append(outs, CloseUndo{t.window.Undo, WithReply})
	}
	text, thinking := strings.TrimRight(t.text.String(), " \n"), t.thinking.String()
	if t.state != Calling {
		text, thinking = "", ""
	}
	if len(t.open) > 0 {
		outs = append(outs, KeepResults{t.cutShort(stoppedCall, stoppedChange)})
	}
	if !t.said {
		return append(outs, t.end(Finish{How: Stopped})...)
	}
	text = WithMark(text, "(stopped)")
	outs = append(outs, KeepAnswer{Text: text, Thinking: thinking, Final: true, Sources: t.sources.list, Checks: t.checks})
	return append(outs, t.end(Finish{How: Stopped, Text: text, Kept: true})...)
}

// WithMark ends a cut reply with its mark (section 17, DECISIONS 29).
func WithMark(text, mark string) string {
	if text = strings.TrimRight(text, " \n"); text == "" {
		return mark
	}
	return text + "\n\n" + mark
}

func (t *Turn) runs() []string {
	var runs []string
	switch t.state {
	case Preparing, Calling, Judging:
		runs = append(runs, t.run)
	case Acting:
		for _, r := range t.acting {
			if !r.done {
				runs = append(runs, r.Run)
			}
		}
	}
	return runs
}

// cutShort settles every open call of a turn that ends early. Calls that had returned keep their outcome.
func (t *Turn) cutShort(plain, changed string) []Settled {
	var all []Settled
	for i, c := range t.open {
		s := Settled{Call: c}
		if a, ok := t.answers[c.ID]; ok {
			s.Answer = &a
		}
		text := plain
		if i < len(t.acting) {
			r := t.acting[i]
			if r.done {
				all = append(all, t.settledRun(r))
				continue
			}
			s.Risk, s.Ran = r.Risk, true
			if r.Risk > msg.RiskRead {
				text = changed
			}
		}
		s.Outcome = ErrorOutcome(c.ID, text)
		all = append(all, s)
	}
	return all
}

// ErrorOutcome is a result the engine gives a call that did not come to one of its own.
func ErrorOutcome(call, text string) Outcome {
	r := errorResult(text)
	return Outcome{Call: call, Result: r, Content: string(r), IsJSON: true, IsError: true}
}

func (t *Turn) fail(err error) []Out { return t.end(Finish{How: Failed, Err: err}) }

func (t *Turn) finish(how End, text string, kept bool) []Out {
	return t.end(Finish{How: how, Text: text, Kept: kept})
}

// say lets the engine speak as the reply, streamed like any other text.
func (t *Turn) say(text string, f Finish) []Out {
	if t.state == Calling && t.text.Len() > 0 {
		text = "\n\n" + text
	}
	outs := []Out{Show{Text: text}}
	return append(outs, t.keepAndFinish(strings.TrimLeft(text, "\n"), "", f)...)
}

func (t *Turn) keepAndFinish(text, thinking string, f Finish) []Out {
	f.Text, f.Kept = text, true
	keep := KeepAnswer{Text: text, Thinking: thinking, Final: true, Sources: t.sources.list, Checks: t.checks}
	return append([]Out{keep}, t.end(f)...)
}

func (t *Turn) end(f Finish) []Out {
	t.state, t.run, t.request, t.window, t.acting, t.open = Ended, "", nil, nil, nil, nil
	f.Sources, f.Checks = t.sources.list, t.checks
	return []Out{f}
}

func (t *Turn) stopRepeating(tool string, n int) []Out {
	text := repeatReply(tool, n)
	if t.plan.Attended {
		return t.say(text, Finish{How: Done, Repeat: text})
	}
	return t.end(Finish{How: Done, Text: text, Repeat: text})
}

// sources collects what a reply used: first mention wins, at most 12; an app lists every tool of it.
type sources struct{ list []msg.AnswerSource }

func (s *sources) add(more []msg.AnswerSource) {
next:
	for _, n := range more {
		for i := range s.list {
			if !sameSource(s.list[i], n) {
				continue
			}
			if n.Kind == "app" {
				s.list[i].Tools = appendNew(s.list[i].Tools, n.Tools...)
			}
			continue next
		}
		if len(s.list) < 12 {
			s.list = append(s.list, n)
		}
	}
}

func sameSource(a, b msg.AnswerSource) bool {
	if a.Kind != b.Kind {
		return false
	}
	switch a.Kind {
	case "web":
		return a.URL == b.URL
	case "file":
		return a.File == b.File && a.Path == b.Path
	case "app":
		return a.App == b.App
	default:
		return a.App == b.App && a.ID == b.ID && a.Title == b.Title
	}
}

func appendNew(list []string, more ...string) []string {
next:
	for _, m := range more {
		for _, l := range list {
			if l == m {
				continue next
			}
		}
		list = append(list, m)
	}
	return list
}

// spent counts what models that are not local used.
type spent struct {
	tokens int
	cost   msg.USD
}

func (s *spent) add(c Choice, u msg.ModelUsage) {
	if c.Local {
		return
	}
	s.tokens += u.PromptTokens + u.CompletionTokens
	if u.CostUSD != nil {
		s.cost = s.cost.Plus(*u.CostUSD)
	}
}

// canonical is the arguments in one spelling, so that the same call written differently counts as the same.
func canonical(args string) string {
	var v any
	if json.Unmarshal([]byte(args), &v) != nil {
		return args
	}
	b, err := json.Marshal(v)
	if err != nil {
		return args
	}
	return string(b)
}
