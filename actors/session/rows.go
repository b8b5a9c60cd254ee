package session

import (
	"crypto/sha256"
	"encoding/binary"

	"google.golang.org/protobuf/proto"

	"sentient/actors/count"
	pb "sentient/proto/session"
	"sentient/storage/journal"
	"sentient/storage/table"
)

// Names of the tables this room owns.
const (
	tableSessions  = "sessions"
	tableMessages  = "messages"
	tableQueued    = "queued"
	tableClients   = "clients"
	tableApprovals = "approvals"
	tableUndos     = "undo_windows"
	tableProposals = "rule_proposals"
	tableOpenTurns = "open_turns"
	tableSummaries = "summaries"
	indexUpdated   = "updated"
	indexID        = "id"
	indexAttached  = "attached"
	// IndexIncognito lists the incognito chats.
	IndexIncognito = "incognito"
)

// idLen is the length of every id in a key: ids are ULIDs, so keys made of them never run into each other.
const idLen = 26

// Tables are the rows of chats. They are read without any mailbox.
type Tables struct {
	Sessions  *table.Table[*pb.SessionRow]
	Messages  *table.Table[*pb.MessageRow]
	Queued    *table.Table[*pb.QueuedRow]
	Approvals *table.Table[*pb.ApprovalRow]
	Undos     *table.Table[*pb.UndoRow]
	Proposals *table.Table[*pb.ProposalRow]
	Summaries *table.Table[*pb.SummaryRow]
	Usage     *table.Table[*pb.UsageRow]
}

// NewTables describes the tables.
func NewTables() *Tables {
	return &Tables{
		Sessions: rowsOf(tableSessions, func(r *pb.SessionRow) []byte { return []byte(r.Id) },
			table.Index[*pb.SessionRow]{Name: indexUpdated, Keys: func(r *pb.SessionRow) [][]byte { return [][]byte{be64(orderOf(r))} }},
			table.Index[*pb.SessionRow]{Name: IndexIncognito, Keys: func(r *pb.SessionRow) [][]byte {
				if !r.Incognito {
					return nil
				}
				return [][]byte{{1}}
			}}),
		Messages: rowsOf(tableMessages, func(r *pb.MessageRow) []byte { return []byte(r.Session + r.Id) },
			table.Index[*pb.MessageRow]{Name: indexAttached, Keys: func(r *pb.MessageRow) [][]byte { return hashes(r.Attachments) }}),
		Queued: rowsOf(tableQueued, func(r *pb.QueuedRow) []byte { return []byte(r.Session + r.Id) },
			table.Index[*pb.QueuedRow]{Name: indexAttached, Keys: func(r *pb.QueuedRow) [][]byte { return hashes(r.Attachments) }}),
		Approvals: rowsOf(tableApprovals, func(r *pb.ApprovalRow) []byte { return []byte(r.Id) }),
		Undos:     rowsOf(tableUndos, func(r *pb.UndoRow) []byte { return []byte(r.Id) }),
		Proposals: rowsOf(tableProposals, func(r *pb.ProposalRow) []byte { return []byte(r.Session + r.Id) },
			table.Index[*pb.ProposalRow]{Name: indexID, Keys: func(r *pb.ProposalRow) [][]byte { return [][]byte{[]byte(r.Id)} }}),
		Summaries: rowsOf(tableSummaries, func(r *pb.SummaryRow) []byte { return []byte(r.Session) }),
		Usage:     count.Table(),
	}
}

func rowsOf[M any, P interface {
	*M
	proto.Message
}](name string, key func(P) []byte, indexes ...table.Index[P]) *table.Table[P] {
	encode, decode := table.Proto[M, P]()
	return table.New(table.Options[P]{Name: name, Encode: encode, Decode: decode, Key: key, Indexes: indexes})
}

// hashes find messages by an attached file: a file's name is a person's text, so it is never a key itself.
func hashes(names []string) [][]byte {
	var keys [][]byte
	for _, n := range names {
		keys = append(keys, nameHash(n))
	}
	return keys
}

func nameHash(name string) []byte {
	h := sha256.Sum256([]byte(name))
	return h[:16]
}

// orderOf is a chat's place in the list, the greatest first. It is a number that only grows, because a clock can be set back.
func orderOf(r *pb.SessionRow) int64 {
	if r.Order == 0 {
		return r.UpdatedAt
	}
	return r.Order
}

func be64(v int64) []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(v))
}

// clientRow remembers a client_id (its hash: it is the client's text) of a chat.
func clientRow(session, client string, c *pb.ClientRow) journal.Row {
	v, _ := proto.Marshal(c)
	return journal.Row{Table: tableClients, Key: clientKey(session, client), Value: v}
}

func clientKey(session, client string) []byte {
	return append([]byte(session), nameHash(client)...)
}

// knownClient is what a client_id became before, or nil.
func knownClient(r journal.Reader, session, client string) (*pb.ClientRow, error) {
	v, ok, err := r.Get(tableClients, clientKey(session, client))
	if err != nil || !ok {
		return nil, err
	}
	c := &pb.ClientRow{}
	return c, proto.Unmarshal(v, c)
}

// openTurnRow marks a chat whose turn is open, so that a start settles it without reading every chat.
func openTurnRow(session, turn string) journal.Row {
	row := journal.Row{Table: tableOpenTurns, Key: []byte(session)}
	if turn != "" {
		row.Value = []byte(turn)
	}
	return row
}

// chatPrefixes are all rows of a chat, for its end.
func chatPrefixes(session string) []journal.Prefix {
	key := []byte(session)
	return []journal.Prefix{{Table: tableMessages, Key: key}, {Table: tableQueued, Key: key}, {Table: tableClients, Key: key},
		{Table: tableSessions, Key: key}, {Table: tableSummaries, Key: key}, {Table: tableOpenTurns, Key: key}, {Table: tableProposals, Key: key}}
}
