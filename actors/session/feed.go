package session

import (
	"encoding/json"

	pb "sentient/proto/session"
	"sentient/storage/journal"
)

// Indexed is what a kept note means for a full-text index of messages.
type Indexed struct {
	Add     *pb.MessageRow // this message can be found
	Remove  string         // the key of a message that is gone
	Session string         // all of this chat is gone
}

// Indexed reads a note; ok is false when it concerns no message. Incognito chats never publish one.
func (t *Tables) Indexed(r journal.Reader, e journal.Entry) (x Indexed, ok bool, err error) {
	n, decoded := decodeNote(e)
	if !decoded {
		return x, false, nil
	}
	switch e.Type {
	case NoteStored:
		row, found, err := t.Messages.Get(r, []byte(e.Topic+n.Message))
		if err != nil || !found {
			return x, false, err
		}
		return Indexed{Add: row}, true, nil
	case NoteRemoved:
		return Indexed{Remove: e.Topic + n.Message}, true, nil
	case noteDeleted:
		var d struct {
			Data struct {
				Session string `json:"session_id"`
			} `json:"data"`
		}
		if json.Unmarshal([]byte("{"+string(n.Inline)+"}"), &d) != nil {
			return x, false, nil
		}
		return Indexed{Session: d.Data.Session}, true, nil
	}
	return x, false, nil
}

// Searchable says whether a message is one that search finds: words of a person or the assistant.
func Searchable(r *pb.MessageRow) bool {
	return r.Content != "" && (r.Role == "user" || r.Role == "assistant" || r.Role == "other")
}
