package session

import (
	"encoding/json"
	"fmt"
	"strings"

	"sentient/actors/msg"
	pb "sentient/proto/session"
	"sentient/storage/journal"
)

// tell says what an event is, in the state before it.
func (t *Tables) tell(r journal.Reader, session string, s state, e *pb.Event) (what, said, text string) {
	switch k := e.Kind.(type) {
	case *pb.Event_Created:
		return "created", join("channel "+k.Created.Channel, named("model", k.Created.Model), when(k.Created.Incognito, "incognito")), ""
	case *pb.Event_Changed:
		return "changed", changedSaid(k.Changed), k.Changed.GetTitle()
	case *pb.Event_Added:
		return t.tellAdded(r, session, k.Added)
	case *pb.Event_Queued:
		how := "waits to join the reply"
		if k.Queued.OwnTurn {
			how = "waits for a turn of its own"
		}
		return "queued", how, ""
	case *pb.Event_Unqueued:
		if k.Unqueued.Dropped {
			return "dropped", howMany(len(k.Unqueued.Ids), "message") + " that waited, never sent: the reply was stopped", ""
		}
		return "unqueued", howMany(len(k.Unqueued.Ids), "message") + " no longer waits", ""
	case *pb.Event_Allowed:
		return "allowed for this chat", fmt.Sprintf("%s, up to risk %s", k.Allowed.Tool, msg.Risk(k.Allowed.Risk)), ""
	case *pb.Event_Summarized:
		return "summarized", "older turns, up to " + k.Summarized.Upto, ""
	case *pb.Event_Removed:
		return "taken back", howMany(len(k.Removed.Ids), "row") + " of a reply that failed", ""
	}
	if what, said = tellRules(e); what != "" {
		return what, said, ""
	}
	what, said = tellTurn(s, e)
	return what, said, ""
}

func tellRules(e *pb.Event) (what, said string) {
	switch k := e.Kind.(type) {
	case *pb.Event_RuleWeighed:
		return "rule weighed", "the message reads like a standing rule; until it is known which, these ask: " + strings.Join(k.RuleWeighed.Keys, ", ")
	case *pb.Event_RuleChecked:
		return "rule checked", ""
	case *pb.Event_RuleProposed:
		return "rule proposed", fmt.Sprintf("%s for %s; until it is decided they ask", k.RuleProposed.Rule, strings.Join(k.RuleProposed.Keys, ", "))
	case *pb.Event_RuleDecided:
		return "rule decided", map[bool]string{true: "accepted", false: "declined"}[k.RuleDecided.Accepted]
	}
	return "", ""
}

func tellTurn(s state, e *pb.Event) (what, said string) {
	switch k := e.Kind.(type) {
	case *pb.Event_TurnStarted:
		return "turn started", join("turn "+k.TurnStarted.Turn, named("model for this message", k.TurnStarted.Model), named("stop epoch", number(k.TurnStarted.Epoch)))
	case *pb.Event_ModelCalled:
		return "model called", join(fmt.Sprintf("round %d", k.ModelCalled.Round), k.ModelCalled.Model)
	case *pb.Event_CallsIntended:
		var calls []string
		for _, c := range k.CallsIntended.Calls {
			calls = append(calls, c.Tool+when(c.Changes, " (changes something)"))
		}
		return "calls intended", "let through, about to run: " + strings.Join(calls, ", ")
	case *pb.Event_CallDone:
		return "call done", k.CallDone.Call
	case *pb.Event_Asked:
		return "asked", "the person, about call " + k.Asked.Call
	case *pb.Event_Answered:
		return "answered", k.Answered.Decision
	case *pb.Event_UndoOpened:
		return "undo window opened", "for call " + k.UndoOpened.Call
	case *pb.Event_UndoClosed:
		return "undo window closed", map[string]string{"undo": "undone: it never ran", "send_now": "sent at once", "time": "nobody undid it", "stop": "the reply was stopped"}[k.UndoClosed.Action]
	case *pb.Event_TurnEnded:
		return "turn ended", join(turnEnd(s, k.TurnEnded.How), k.TurnEnded.Why)
	}
	return "unknown", "an event of a newer engine"
}

func turnEnd(s state, how string) string {
	if open := s.Turn.GetCalls(); len(open) > 0 {
		return fmt.Sprintf("%s, with %s whose outcome is not known", how, howMany(len(open), "call"))
	}
	return how
}

func changedSaid(c *pb.Changed) string {
	said := []string{when(c.Title != nil, "title"), when(c.Model != nil, "model "+c.GetModel()), when(c.MemoryScope != nil, "memory scope")}
	switch {
	case c.Untrusted == nil:
	case *c.Untrusted == "":
		said = append(said, "trusted: nothing from outside")
	default:
		said = append(said, "marked: it read "+*c.Untrusted)
	}
	if len(c.Visited) > 0 {
		said = append(said, "visited "+strings.Join(c.Visited, ", "))
	}
	return join(append(said, when(len(c.Owners) > 0, "one more window may see it"))...)
}

// tellAdded tells of a row: who wrote it, and for a call's result what the person or code had decided about it.
func (t *Tables) tellAdded(r journal.Reader, session string, a *pb.Added) (what, said, text string) {
	row, ok, err := t.Messages.Get(r, []byte(session+a.Id))
	if err != nil || !ok {
		return "message", a.Role + ", taken back since", ""
	}
	outside := when(row.Outside != "", "brought content from "+row.Outside)
	switch row.Role {
	case "tool":
		how := "worked"
		if row.IsError {
			how = "error"
		}
		return "result", join(row.Name, how, fmt.Sprintf("%d ms", row.DurationMs), outside, when(row.Undo != "", "undone"), approvalSaid(row.Approval)), row.Content
	case "assistant":
		var calls []string
		for _, c := range row.Calls {
			calls = append(calls, c.Name)
		}
		return "answer", when(len(calls) > 0, "calls "+strings.Join(calls, ", ")), row.Content
	}
	return "message", join(row.Role, when(row.Interjection, "joined the reply"), named("from", row.Name), when(len(row.Attachments) > 0, howMany(len(row.Attachments), "file")), outside), row.Content
}

func approvalSaid(record []byte) string {
	var a msg.MessageApproval
	if len(record) == 0 || json.Unmarshal(record, &a) != nil {
		return ""
	}
	why := func(name string, v *string) string {
		if v == nil || *v == "" {
			return ""
		}
		return name + " " + *v
	}
	return join("the person was asked (" + join(why("as", a.RiskLabel), why("rule", a.Rule), why("after reading", a.Untrusted), why("warned:", a.Warning)) + ") and said " + a.Decision)
}

func join(parts ...string) string {
	var list []string
	for _, p := range parts {
		if p != "" {
			list = append(list, p)
		}
	}
	return strings.Join(list, ", ")
}

func when(yes bool, s string) string {
	if yes {
		return s
	}
	return ""
}

func named(name, v string) string { return when(v != "", name+" "+v) }

func number(n uint64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func howMany(n int, what string) string {
	if n == 1 {
		return "one " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
