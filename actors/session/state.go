package session

import (
	"slices"

	"google.golang.org/protobuf/proto"

	pb "sentient/proto/session"
)

// state is a chat as its journal tells it. It is exactly what a snapshot holds.
type state struct {
	*pb.Snapshot
	exists bool
}

func newState() state { return state{Snapshot: &pb.Snapshot{}} }

// restore builds the state from a snapshot and the events after it.
func restore(snapshot []byte, events [][]byte) (state, error) {
	s := newState()
	if snapshot != nil {
		if err := proto.Unmarshal(snapshot, s.Snapshot); err != nil {
			return s, err
		}
		s.exists = true
	}
	for _, b := range events {
		e := &pb.Event{}
		if err := proto.Unmarshal(b, e); err != nil {
			return s, err
		}
		s.apply(e)
	}
	return s, nil
}

// apply is the only way the state changes.
func (s *state) apply(e *pb.Event) {
	s.UpdatedAt, s.Order = max(s.UpdatedAt, e.At), max(s.Order, e.Order)
	switch k := e.Kind.(type) {
	case *pb.Event_Created:
		s.exists = true
		s.CreatedAt = e.At
		s.Channel, s.Incognito, s.Model, s.MemoryScope, s.Title = k.Created.Channel, k.Created.Incognito, k.Created.Model, k.Created.MemoryScope, k.Created.Title
		s.TitleIsFirstWords = true
		if k.Created.Owner != "" {
			s.Owners = []string{k.Created.Owner}
		}
	case *pb.Event_Changed:
		s.changed(k.Changed)
	case *pb.Event_Added:
		s.added(k.Added)
	case *pb.Event_Queued:
		s.Queue = append(s.Queue, k.Queued)
	case *pb.Event_Unqueued:
		s.Queue = slices.DeleteFunc(s.Queue, func(q *pb.Queued) bool { return slices.Contains(k.Unqueued.Ids, q.Id) })
	case *pb.Event_Allowed:
		if s.Allowed == nil {
			s.Allowed = map[string]int32{}
		}
		s.Allowed[k.Allowed.Tool] = max(s.Allowed[k.Allowed.Tool], k.Allowed.Risk)
	case *pb.Event_Summarized:
		s.SummaryUpto, s.SinceSummary = k.Summarized.Upto, 0
	case *pb.Event_Removed:
		s.Messages -= int32(len(k.Removed.Ids))
	case *pb.Event_RuleWeighed:
		s.Weighed = append(s.Weighed, k.RuleWeighed)
	case *pb.Event_RuleChecked:
		s.Weighed = slices.DeleteFunc(s.Weighed, func(w *pb.RuleWeighed) bool { return w.Message == k.RuleChecked.Message })
	case *pb.Event_RuleProposed:
		s.Proposed = append(s.Proposed, k.RuleProposed)
	case *pb.Event_RuleDecided:
		s.Proposed = slices.DeleteFunc(s.Proposed, func(p *pb.RuleProposed) bool { return p.Id == k.RuleDecided.Id })
	default:
		s.applyTurn(e)
	}
}

func (s *state) changed(c *pb.Changed) {
	if c.Title != nil {
		s.Title, s.TitleIsFirstWords = *c.Title, c.FirstWords
	}
	if c.Model != nil {
		s.Model = *c.Model
	}
	if c.MemoryScope != nil {
		s.MemoryScope = *c.MemoryScope
	}
	if c.Untrusted != nil {
		s.Untrusted = c.Untrusted
	}
	s.Visited = appendNew(s.Visited, c.Visited)
	s.Owners = appendNew(s.Owners, c.Owners)
}

func (s *state) added(a *pb.Added) {
	s.Messages++
	s.SinceSummary++
	s.LastMessage = a.Id
	if a.Outside {
		s.LastOutside, s.LastSource, s.LastWriter = a.Id, a.Source, a.Writer
	}
	if t := s.Turn; t != nil && (a.Role == "assistant" || a.Role == "tool") {
		t.Rows = append(t.Rows, a.Id)
	}
}

func (s *state) applyTurn(e *pb.Event) {
	if k, ok := e.Kind.(*pb.Event_TurnStarted); ok {
		s.Turn = &pb.OpenTurn{Id: k.TurnStarted.Turn, Message: k.TurnStarted.Message, Model: k.TurnStarted.Model, ClientId: k.TurnStarted.ClientId, Epoch: k.TurnStarted.Epoch}
		return
	}
	t := s.Turn
	if t == nil {
		return
	}
	switch k := e.Kind.(type) {
	case *pb.Event_ModelCalled:
		t.Round = k.ModelCalled.Round
	case *pb.Event_CallsIntended:
		t.Calls = append(t.Calls, k.CallsIntended.Calls...)
		t.Changed = t.Changed || slices.ContainsFunc(k.CallsIntended.Calls, func(c *pb.OpenCall) bool { return c.Changes })
	case *pb.Event_CallDone:
		t.Calls = slices.DeleteFunc(t.Calls, func(c *pb.OpenCall) bool { return c.Id == k.CallDone.Call })
	case *pb.Event_Asked:
		t.Approval = k.Asked.Approval
	case *pb.Event_Answered:
		t.Approval = ""
	case *pb.Event_UndoOpened:
		t.Undo = k.UndoOpened.Undo
	case *pb.Event_UndoClosed:
		t.Undo = ""
	case *pb.Event_TurnEnded:
		s.Turn = nil
	}
}

func (s *state) row(id string) *pb.SessionRow {
	return &pb.SessionRow{Id: id, Title: s.Title, Channel: s.Channel, CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt, Order: s.Order, Untrusted: s.Untrusted,
		Visited: s.Visited, HasVisited: s.Untrusted != nil, Incognito: s.Incognito, Model: s.Model, MemoryScope: s.MemoryScope}
}

func appendNew(list, more []string) []string {
	for _, m := range more {
		if !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	return list
}
