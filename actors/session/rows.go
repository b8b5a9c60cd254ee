package session

import (
	"crypto/sha256"
	"encoding/binary"

	"google.golang.org/protobuf/proto"

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
	tableOpenTurns = "open_turns"
	tableSummaries = "summaries"
	tableUsage     = "usage"
	indexUpdated   = "updated"
	indexAttached  = "attached"
	indexAt        = "at"
	indexIncognito = "incognito"
)

// idLen is the length of every id in a key: ids are ULIDs, so keys made of them never run into each other.
const idLen = 26

// Tables are the rows of chats. They are read without any mailbox.
type Tables struct {
	Sessions  *table.Table[*pb.SessionRow]
	Messages  *table.Table[*pb.MessageRow]
	Queued    *table.Table[*pb.QueuedRow]
	Approvals *table.Table[*pb.ApprovalRow]
	Summaries *table.Table[*pb.SummaryRow]
	Usage     *table.Table[*pb.UsageRow]
}

// NewTables describes the tables.
func NewTables() *Tables {
	return &Tables{
		Sessions: rowsOf(tableSessions, func() *pb.SessionRow { return &pb.SessionRow{} },
			func(r *pb.SessionRow) []byte { return []byte(r.Id) },
			table.Index[*pb.SessionRow]{Name: indexUpdated, Keys: func(r *pb.SessionRow) [][]byte { return [][]byte{be64(r.UpdatedAt)} }},
			table.Index[*pb.SessionRow]{Name: indexIncognito, Keys: func(r *pb.SessionRow) [][]byte {
				if !r.Incognito {
					return nil
				}
				return [][]byte{{1}}
			}}),
		Messages: rowsOf(tableMessages, func() *pb.MessageRow { return &pb.MessageRow{} },
			func(r *pb.MessageRow) []byte { return []byte(r.Session + r.Id) },
			table.Index[*pb.MessageRow]{Name: indexAttached, Keys: attachedKeys}),
		Queued: rowsOf(tableQueued, func() *pb.QueuedRow { return &pb.QueuedRow{} },
			func(r *pb.QueuedRow) []byte { return []byte(r.Session + r.Id) },
			table.Index[*pb.QueuedRow]{Name: indexAttached, Keys: func(r *pb.QueuedRow) [][]byte { return hashes(r.Attachments) }}),
		Approvals: rowsOf(tableApprovals, func() *pb.ApprovalRow { return &pb.ApprovalRow{} },
			func(r *pb.ApprovalRow) []byte { return []byte(r.Id) }),
		Summaries: rowsOf(tableSummaries, func() *pb.SummaryRow { return &pb.SummaryRow{} },
			func(r *pb.SummaryRow) []byte { return []byte(r.Session) }),
		Usage: rowsOf(tableUsage, func() *pb.UsageRow { return &pb.UsageRow{} },
			func(r *pb.UsageRow) []byte { return []byte(r.Id) },
			table.Index[*pb.UsageRow]{Name: indexAt, Keys: func(r *pb.UsageRow) [][]byte { return [][]byte{be64(r.At)} }}),
	}
}

func rowsOf[T proto.Message](name string, blank func() T, key func(T) []byte, indexes ...table.Index[T]) *table.Table[T] {
	return table.New(table.Options[T]{
		Name:    name,
		Encode:  func(r T) ([]byte, error) { return proto.Marshal(r) },
		Decode:  func(b []byte) (T, error) { r := blank(); return r, proto.Unmarshal(b, r) },
		Key:     key,
		Indexes: indexes,
	})
}

// attachedKeys finds messages by an attached file. The key is a hash, because a file's name is a person's text.
func attachedKeys(r *pb.MessageRow) [][]byte { return hashes(r.Attachments) }

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
		{Table: tableSessions, Key: key}, {Table: tableSummaries, Key: key}, {Table: tableOpenTurns, Key: key}}
}
