package session

import (
	"context"
	"encoding/json"
	"strings"
	"time"
	"unicode"

	"sentient/actors/msg"
	"sentient/actors/policy"
	"sentient/actors/policy/look"
	"sentient/actors/policy/words"
	"sentient/actors/tool"
	"sentient/actors/wire"
	pb "sentient/proto/session"
	"sentient/storage/journal"
	"sentient/storage/table"
)

// sight is what a second look saw of a call.
type sight struct {
	warning      string
	destinations []msg.Destination
}

// Bounds of what the second look waits for.
const (
	destinationsTime = 20 * time.Second
	secondLookTime   = 45 * time.Second
)

// look is the second look at a call that can move data out (ADR 0024): code compares it with what the person asked, then, for
// what sends or runs, a model does. It only ever adds a question.
func (j *judgement) look(ctx context.Context, c considered, r policy.Ruling) sight {
	s := sight{destinations: c.sight.destinations}
	failed := false
	if fn := c.entry.Tool.DestinationsFn; fn != nil {
		s.destinations, failed = j.destinations(ctx, c)
	}
	seen, err := j.evidence()
	if err != nil {
		s.warning = look.Unchecked
		return s
	}
	if c.facts.Risk < msg.RiskExec {
		s.warning = look.Check(look.Action{Tool: c.entry.Tool.Name, Plain: plainName(c.entry), App: c.entry.Plugin.DisplayName, Risk: c.facts.Risk, Args: c.x.Args,
			Destinations: s.destinations, DestinationsFailed: failed, AfterOutside: j.untrusted != "", ReplyAll: words.ReplyAll(seen.Words)}, seen)
	}
	if s.warning == "" && c.facts.Risk >= msg.RiskSend && !c.facts.Internal && j.cfg.Tools.Approvals.SecondLookModel && (r.Do == policy.Run || j.untrusted != "") {
		s.warning = j.askSecond(ctx, c, seen.Words)
	}
	return s
}

// destinations looks up where a reply goes; failed when that can't be known.
func (j *judgement) destinations(ctx context.Context, c considered) (list []msg.Destination, failed bool) {
	ctx, cancel := context.WithTimeout(ctx, destinationsTime)
	defer cancel()
	list, err := c.entry.Tool.DestinationsFn(ctx, c.x.Args, c.x)
	return list, err != nil
}

// askSecond has a model without tools compare the action with the person's words. Anything but a clear yes asks.
func (j *judgement) askSecond(ctx context.Context, c considered, said []string) string {
	ctx, cancel := context.WithTimeout(ctx, secondLookTime)
	defer cancel()
	d := tool.Describe(c.entry.Tool, c.x.Args, c.x, c.facts.Risk)
	action := strings.TrimSpace(c.entry.Plugin.DisplayName+": "+plainName(c.entry)+" ("+d.RiskLabel+" "+d.Target+")") + "\n" + string(wire.Marshal(c.x.Args))
	system, user := look.Prompt(said, action)
	text, calls, err := j.o.askChecked(ctx, "second look", system, user, j.ask.Choice.Model, func(answer string) bool {
		_, _, ok := look.Answer(answer)
		return ok
	})
	j.spent = append(j.spent, calls...)
	match, reason, ok := look.Answer(text)
	switch {
	case err != nil || !ok:
		return look.Unchecked
	case !match:
		return look.Found(reason)
	}
	return ""
}

// evidence is what the chat knows, from its rows: what the person said, what trusted look-ups found, what came from outside.
func (j *judgement) evidence() (*look.Evidence, error) {
	var rows []*pb.MessageRow
	err := journalRead(j.o.Journal, func(r journal.Reader) error {
		for row, err := range j.tables.Messages.Scan(r, table.Query{Prefix: []byte(j.base.Session)}) {
			if err != nil {
				return err
			}
			rows = append(rows, row)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	e := look.Evidence{UserName: j.cfg.Assistant.UserName}
	if j.o.Workspace != nil && j.base.Memory {
		soul, user, memory := j.o.Workspace.Prompt(j.cfg.Memory.WorkspaceBudgetChars)
		e.Trusted = append(e.Trusted, soul, user, memory)
	}
	wrote := written{}
	calls := map[string]*pb.Call{}
	for _, row := range rows {
		for _, call := range row.Calls {
			calls[call.Id] = call
		}
		switch {
		case row.Role == "user" && row.Name == "":
			e.Words = append(e.Words, row.Content)
		case row.Role == "user":
			e.Group = append(e.Group, look.Group{Source: row.Name, Text: row.Content})
		case row.Role == "other":
			e.Group = append(e.Group, look.Group{Source: tool.GroupSource(row.Name), Text: row.Content})
		case row.Role == "tool" && row.Outside != "":
			e.Outside = append(e.Outside, look.Outside{App: row.Outside, Tool: row.Name, Text: row.Content})
		case row.Role == "tool":
			j.trust(&e, wrote, row, calls[row.CallId])
		}
	}
	return look.Prepare(e), nil
}

// written are the files that calls of this chat wrote: what the model wrote itself vouches for nothing.
type written map[string]bool

// trust takes a result as a trusted record when it is a look-up's that brings nothing from outside, without what its own
// arguments put into it: a model must not be able to make a record by asking for one.
func (j *judgement) trust(e *look.Evidence, wrote written, row *pb.MessageRow, call *pb.Call) {
	entry, ok := j.reg.Lookup(row.Name)
	if !ok || call == nil || row.IsError {
		return
	}
	var args map[string]any
	_ = json.Unmarshal([]byte(call.Arguments), &args)
	if entry.Tool.Risk > msg.RiskRead || entry.Tool.Internal {
		for _, v := range args {
			if s, ok := v.(string); ok && len(s) < 300 {
				wrote[s] = true
			}
		}
		return
	}
	for _, v := range args {
		if s, ok := v.(string); ok && wrote[s] {
			return
		}
	}
	e.Trusted = append(e.Trusted, without(row.Content, call.Arguments))
}

// without blanks the words of text that carry data (an address, a number) and stand in the arguments too.
func without(text, arguments string) string {
	asked := map[string]bool{}
	for _, w := range strings.FieldsFunc(strings.ToLower(arguments), separates) {
		if carries(w) {
			asked[w] = true
		}
	}
	if len(asked) == 0 {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		start := strings.IndexFunc(text, func(r rune) bool { return !separates(r) })
		if start < 0 {
			break
		}
		end := strings.IndexFunc(text[start:], separates)
		if end < 0 {
			end = len(text) - start
		}
		b.WriteString(text[:start])
		if w := text[start : start+end]; !carries(w) || !asked[strings.ToLower(w)] {
			b.WriteString(w)
		}
		text = text[start+end:]
	}
	b.WriteString(text)
	return b.String()
}

func separates(r rune) bool {
	return unicode.IsSpace(r) || strings.ContainsRune("\"'<>,;:=()[]{}\\", r)
}

func carries(word string) bool { return len(word) > 3 && strings.ContainsAny(word, "@0123456789") }

// counted are model calls that a check took.
type counted struct{ calls []msg.CountedCall }

func (a *actor) counted(m counted) {
	c := a.chat.begin(a.o.Now())
	for _, call := range m.calls {
		if a.chat.exists {
			c.count(call)
		} else {
			a.o.Count(call)
		}
	}
	_ = a.commit(c)
}
