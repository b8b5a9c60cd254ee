package notify

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"time"

	"google.golang.org/protobuf/proto"

	"sentient/actors/msg"
	"sentient/actors/wire"
	pb "sentient/proto/notify"
	note "sentient/proto/session"
	"sentient/storage/journal"
	"sentient/storage/table"
)

// Names of the tables this room owns, and of their indexes.
const (
	tableRows   = "notifications"
	tableKeys   = "notification_keys"
	tableCounts = "notification_counts"
	indexAt     = "at"
	indexUnread = "unread"
)

var countsKey = []byte("all")

// tables are the rows; they are read without any mailbox.
type tables struct {
	rows   *table.Table[*pb.NotificationRow]
	keys   *table.Table[*pb.KeyRow]
	counts *table.Table[*pb.Counts]
}

func newTables() *tables {
	encode, decode := table.Proto[pb.NotificationRow]()
	encodeKey, decodeKey := table.Proto[pb.KeyRow]()
	encodeCounts, decodeCounts := table.Proto[pb.Counts]()
	at := func(r *pb.NotificationRow) [][]byte {
		return [][]byte{binary.BigEndian.AppendUint64(nil, uint64(r.CreatedAt))}
	}
	return &tables{
		rows: table.New(table.Options[*pb.NotificationRow]{Name: tableRows, Encode: encode, Decode: decode,
			Key: func(r *pb.NotificationRow) []byte { return []byte(r.Id) },
			Indexes: []table.Index[*pb.NotificationRow]{{Name: indexAt, Keys: at}, {Name: indexUnread, Keys: func(r *pb.NotificationRow) [][]byte {
				if r.Read {
					return nil
				}
				return at(r)
			}}}}),
		keys:   table.New(table.Options[*pb.KeyRow]{Name: tableKeys, Encode: encodeKey, Decode: decodeKey, Key: func(*pb.KeyRow) []byte { return nil }}),
		counts: table.New(table.Options[*pb.Counts]{Name: tableCounts, Encode: encodeCounts, Decode: decodeCounts, Key: func(*pb.Counts) []byte { return countsKey }}),
	}
}

// keyOf is where a key's row is: what a notification is about may be a person's text, so the key is hashed.
func keyOf(key string) []byte {
	h := sha256.Sum256([]byte(key))
	return h[:16]
}

func (t *tables) keyRow(key string, r *pb.KeyRow) journal.Row {
	row := t.keys.Put(r)
	row.Key = keyOf(key)
	return row
}

// wireOf is a row as clients see it.
func wireOf(r *pb.NotificationRow) msg.Notification {
	n := msg.Notification{ID: r.Id, Kind: r.Kind, Title: r.Title, Message: r.Message, Payload: r.Payload, Read: r.Read,
		CreatedAt: msg.Time{Time: time.UnixMicro(r.CreatedAt)}}
	if len(n.Payload) == 0 {
		n.Payload = json.RawMessage("{}")
	}
	if r.Task != "" {
		n.TaskID = &r.Task
	}
	return n
}

// shown are the fields of notification.new and notification.updated.
func shown(r *pb.NotificationRow, ts wire.Fields) wire.Fields {
	f := append(wire.Fields(`"data":`), wire.Marshal(wireOf(r))...)
	return append(append(f, ','), ts...)
}

// keptNote is what the journal keeps of such an event: the row has the text.
func keptNote(id string, at time.Time) (kept []byte, ts wire.Fields) {
	ts = wire.Of(map[string]msg.Time{"ts": {Time: at}})
	kept, _ = proto.Marshal(&note.Note{Message: id, Inline: ts})
	return kept, ts
}

// render writes a kept notification.new or notification.updated; false when its row is gone.
func (t *tables) render(r journal.Reader, e journal.Entry) ([]byte, bool) {
	n := &note.Note{}
	if proto.Unmarshal(e.Data, n) != nil {
		return nil, false
	}
	row, ok, err := t.rows.Get(r, []byte(n.Message))
	if err != nil || !ok {
		return nil, false
	}
	return wire.Body(e.Type, "", "", shown(row, n.Inline)), true
}
