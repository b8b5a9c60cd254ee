package session

import (
	"context"
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
	text, calls, err := j.o.askChecked(ctx, question{system: system, text: user, own: j.ask.Choice.Model, claude: true, wait: secondLookTime, usable: func(answer string) bool {
		_, _, ok := look.Answer(answer)
		return ok
	}})
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
		for row, err := range j.tables.Messages.Scan(r, table.Query{Prefix: []byte(j.base.Session), Whole: true}) {
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
	if j.o.Memories != nil && j.base.Memory {
		e.Memories = j.o.Memories()
	}
	wrote := dataWords{}
	for _, row := range rows {
		for _, call := range row.Calls {
			wrote.add(call.Arguments)
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
		case row.Role == "tool" && !row.IsError && j.looksUp(row.Name):
			e.Trusted = append(e.Trusted, wrote.without(row.Content))
		}
	}
	return look.Prepare(e), nil
}

// looksUp: the tool only reads, so that its results can be records. Those that brought outside content are not asked about.
func (j *judgement) looksUp(name string) bool {
	e, ok := j.reg.Lookup(name)
	return ok && e.Tool.Risk == msg.RiskRead && !e.Tool.Internal
}

// dataWords are the addresses, numbers and the like that a model wrote into its calls so far. A later record of them vouches for
// nothing: a model must not be able to make one by asking for it, or by writing it down and reading it.
type dataWords map[string]bool

func (d dataWords) add(arguments string) {
	for _, w := range strings.FieldsFunc(strings.ToLower(arguments), separates) {
		if carries(w) {
			d[w] = true
		}
	}
}

// without blanks them in a text.
func (d dataWords) without(text string) string {
	if len(d) == 0 {
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
		if w := text[start : start+end]; !carries(w) || !d[strings.ToLower(w)] {
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
