package session

import (
	"encoding/json"

	"google.golang.org/protobuf/proto"

	"sentient/actors/msg"
	"sentient/actors/wire"
	pb "sentient/proto/session"
	"sentient/storage/journal"
	"sentient/storage/table"
)

func decodeNote(e journal.Entry) (*pb.Note, bool) {
	n := &pb.Note{}
	return n, proto.Unmarshal(e.Data, n) == nil
}

func renderRow(typ string, n *pb.Note, row *pb.MessageRow) (wire.Fields, bool) {
	switch typ {
	case "tool_call":
		for _, call := range row.Calls {
			if call.Id == n.Call {
				return callFields(call), true
			}
		}
	case "tool_result":
		return resultFields(row, resultOf(row)), true
	case "user_interjection":
		return wire.Of(map[string]string{"text": row.Content}), true
	case "done":
		var x doneExtra
		_ = json.Unmarshal(n.Inline, &x)
		return wire.Of(doneOf(row, x)), true
	}
	return nil, false
}

// resultOf is a tool's result as its row has it: whole, or the part the model read when it was cut.
func resultOf(row *pb.MessageRow) json.RawMessage {
	if row.IsJson && json.Valid([]byte(row.Content)) {
		return json.RawMessage(row.Content)
	}
	return wire.Marshal(row.Content)
}

func doneOf(row *pb.MessageRow, x doneExtra) doneFields {
	d := doneFields{Cancelled: x.Cancelled, Dropped: x.Dropped, ClientID: x.ClientID, Error: x.Error, Memories: []any{}, Sources: []msg.AnswerSource{}, Checks: []msg.OutcomeCheck{}}
	if row != nil {
		d.Content, d.MessageID = row.Content, &row.Id
		d.Sources, d.Checks = sourcesOf(row), checksOf(row)
	}
	return d
}

func sourcesOf(row *pb.MessageRow) []msg.AnswerSource {
	list := []msg.AnswerSource{}
	if len(row.Sources) > 0 {
		_ = json.Unmarshal(row.Sources, &list)
	}
	return list
}

// Chat is a session's row as clients see it.
func Chat(r *pb.SessionRow) msg.ChatRow {
	c := msg.ChatRow{ID: r.Id, Title: r.Title, Channel: r.Channel, CreatedAt: micro(r.CreatedAt), UpdatedAt: micro(r.UpdatedAt), Untrusted: r.Untrusted,
		Incognito: r.Incognito, Model: orNil(r.Model), MemoryScope: scopeOr(r.MemoryScope), NodeID: orNil(r.NodeId)}
	if r.HasVisited {
		hosts := append([]string{}, r.Visited...)
		c.VisitedHosts = &hosts
	}
	return c
}

// Message is a message's row as clients see it.
func Message(r *pb.MessageRow) msg.MessageRow {
	m := msg.MessageRow{ID: r.Id, Role: r.Role, Content: r.Content, Thinking: r.Thinking, ToolCallID: orNil(r.CallId), Name: orNil(r.Name),
		Attachments: append([]string{}, r.Attachments...), Interjection: r.Interjection, MemorySources: []any{}, Sources: sourcesOf(r), Checks: checksOf(r),
		CreatedAt: micro(r.CreatedAt)}
	for _, call := range r.Calls {
		w := msg.WireToolCall{ID: call.Id, Type: "function"}
		w.Function.Name, w.Function.Arguments = call.Name, call.Arguments
		m.ToolCalls = append(m.ToolCalls, w)
	}
	if len(r.Approval) > 0 {
		a := &msg.MessageApproval{}
		if json.Unmarshal(r.Approval, a) == nil {
			m.Approval = a
		}
	}
	return m
}

// List reads chats, newest first.
func (t *Tables) List(r journal.Reader, limit int) ([]msg.ChatRow, error) {
	list := []msg.ChatRow{}
	for row, err := range t.Sessions.Scan(r, table.Query{Index: indexUpdated, Reverse: true, Limit: limit}) {
		if err != nil {
			return nil, err
		}
		list = append(list, Chat(row))
	}
	return list, nil
}

// Transcript reads the newest limit messages of a chat, oldest first. ok is false when there is no such chat.
func (t *Tables) Transcript(r journal.Reader, session string, limit int) (list []*pb.MessageRow, ok bool, err error) {
	if _, ok, err := t.Sessions.Get(r, []byte(session)); err != nil || !ok {
		return nil, false, err
	}
	for row, err := range t.Messages.Scan(r, table.Query{Prefix: []byte(session), Reverse: true, Limit: limit}) {
		if err != nil {
			return nil, true, err
		}
		list = append(list, row)
	}
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	return list, true, nil
}
