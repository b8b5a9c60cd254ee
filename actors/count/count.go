// Package count owns the form of a counted model call: the row that its caller writes in the batch of whatever the call was for,
// and the note in the same batch by which the usage room hears of it.
package count

import (
	"encoding/binary"
	"time"

	"google.golang.org/protobuf/proto"

	"sentient/actors/msg"
	pb "sentient/proto/session"
	"sentient/storage/journal"
	"sentient/storage/table"
)

// Note is the type of the note. It is internal: no client sees it. It has no topic, so a deleted chat leaves what it cost.
const Note = "usage.counted"

// IndexAt finds calls by their time.
const IndexAt = "at"

// Table is the table of calls. A row belongs to the stream of whoever called the model.
func Table() *table.Table[*pb.UsageRow] {
	encode, decode := table.Proto[pb.UsageRow]()
	return table.New(table.Options[*pb.UsageRow]{Name: "usage", Encode: encode, Decode: decode,
		Key: func(r *pb.UsageRow) []byte { return []byte(r.Id) },
		Indexes: []table.Index[*pb.UsageRow]{{Name: IndexAt, Keys: func(r *pb.UsageRow) [][]byte {
			return [][]byte{binary.BigEndian.AppendUint64(nil, uint64(r.At))}
		}}}})
}

// Row is a call as it is kept. Session is the chat it was for; "" when it was for none.
func Row(id string, at time.Time, session string, c msg.CountedCall) *pb.UsageRow {
	r := &pb.UsageRow{Id: id, At: at.UnixMicro(), Model: c.Model, Role: c.Role, Source: c.Source, Session: session,
		PromptTokens: int64(max(0, c.Usage.PromptTokens)), CompletionTokens: int64(max(0, c.Usage.CompletionTokens))}
	if c.Usage.CostUSD != nil {
		r.CostNano = proto.Int64(int64(max(0, *c.Usage.CostUSD)))
	}
	return r
}

// Kept is the note of a row that the same batch puts into the table.
func Kept(r *pb.UsageRow) journal.Note {
	r = proto.CloneOf(r)
	r.Session = ""
	return note(r)
}

// Unkept is the note of a call whose own stream is in memory only (an incognito chat): the usage room writes its row to disk,
// without the chat's id.
func Unkept(r *pb.UsageRow) journal.Note {
	r = proto.CloneOf(r)
	r.Session, r.Unkept = "", true
	return note(r)
}

func note(r *pb.UsageRow) journal.Note {
	b, _ := proto.MarshalOptions{AllowPartial: true}.Marshal(r)
	return journal.Note{Type: Note, Data: b}
}

// Read is the call that a note tells of; false for every other note.
func Read(e journal.Entry) (*pb.UsageRow, bool) {
	if e.Type != Note {
		return nil, false
	}
	r := &pb.UsageRow{}
	return r, proto.Unmarshal(e.Data, r) == nil
}
