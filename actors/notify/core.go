package notify

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"sentient/actors/msg"
	"sentient/actors/wire"
	pb "sentient/proto/notify"
	"sentient/runtime/bus"
	"sentient/storage/journal"
)

// Types of the events.
const (
	eventNew     = "notification.new"
	eventUpdated = "notification.updated"
	eventRead    = "notification.read"
	eventDeleted = "notification.deleted"
)

// kinds are those a notification may have (section 6; DECISIONS 4).
var kinds = []string{"info", "task", "approval", "proactive", "skill", "error", "brief", "reminder", "budget", "backup"}

var errGone = msg.NewFault(msg.NotFound, "This notification doesn't exist (anymore).")

// change gathers one append. Unread is the count after it.
type change struct {
	t      *tables
	now    time.Time
	unread int64
	in     journal.Append
}

func (c *change) empty() bool { return len(c.in.Rows)+len(c.in.Prefixes)+len(c.in.Publish) == 0 }

// put writes a row; was is what is stored now, nil for none.
func (c *change) put(was, r *pb.NotificationRow) {
	if was != nil && !was.Read {
		c.unread--
	}
	if !r.Read {
		c.unread++
	}
	c.in.Rows = append(c.in.Rows, c.t.rows.Put(r))
}

// tell publishes the whole notification.
func (c *change) tell(typ string, r *pb.NotificationRow) {
	kept, ts := keptNote(r.Id, c.now)
	c.in.Publish = append(c.in.Publish, journal.Note{Type: typ, Data: kept, Live: bus.Event{Kind: typ, Body: wire.Body(typ, "", "", shown(r, ts))}})
}

// tellID publishes which notification it is about; "" means all.
func (c *change) tellID(typ, id string) {
	data := map[string]any{"id": nil}
	if id != "" {
		data["id"] = id
	}
	kept, body := wire.DomainNote(typ, data, c.now)
	c.in.Publish = append(c.in.Publish, journal.Note{Type: typ, Data: kept, Live: bus.Event{Kind: typ, Body: body}})
}

// finish completes the append.
func (c *change) finish(version uint64) journal.Append {
	c.in.Stream, c.in.Expected = stream, version
	c.in.Rows = append(c.in.Rows, c.t.counts.Put(&pb.Counts{Unread: c.unread}))
	return c.in
}

// check says what is wrong with a notification before anything is written.
func check(n msg.Notification) error {
	if !slices.Contains(kinds, n.Kind) {
		return msg.NewFault(msg.Invalid, "kind must be one of the kinds of notifications")
	}
	if n.Title == "" {
		return msg.NewFault(msg.Invalid, "a notification needs a title")
	}
	if len(n.Payload) > 0 && !isObject(n.Payload) {
		return msg.NewFault(msg.Invalid, "payload must be a JSON object")
	}
	return nil
}

func isObject(b []byte) bool {
	var m map[string]json.RawMessage
	return json.Unmarshal(b, &m) == nil && m != nil
}

// make is the first notification of its key. known is what the key became before, nil when it is new.
func (c *change) make(r journal.Reader, id string, n msg.Notification) (msg.Notification, error) {
	if n.Key != "" {
		v, ok, err := r.Get(tableKeys, keyOf(n.Key))
		if err != nil {
			return msg.Notification{}, err
		}
		if ok {
			return c.made(r, v)
		}
		c.in.Rows = append(c.in.Rows, c.t.keyRow(n.Key, &pb.KeyRow{Id: id, At: c.now.UnixMicro()}))
	}
	row := &pb.NotificationRow{Id: id, Kind: n.Kind, Title: n.Title, Message: n.Message, CreatedAt: c.now.UnixMicro(), Read: n.Read}
	if len(n.Payload) > 0 {
		row.Payload = compact(n.Payload)
	}
	if n.TaskID != nil {
		row.Task = *n.TaskID
	}
	c.put(nil, row)
	c.tell(eventNew, row)
	return wireOf(row), nil
}

// made is what a known key became; only its id when it was deleted since.
func (c *change) made(r journal.Reader, v []byte) (msg.Notification, error) {
	k := &pb.KeyRow{}
	if err := proto.Unmarshal(v, k); err != nil {
		return msg.Notification{}, err
	}
	row, ok, err := c.t.rows.Get(r, []byte(k.Id))
	if err != nil || !ok {
		return msg.Notification{ID: k.Id}, err
	}
	return wireOf(row), nil
}

func compact(b []byte) []byte {
	var out bytes.Buffer
	_ = json.Compact(&out, b) // check has read it
	return out.Bytes()
}

func (c *change) find(r journal.Reader, id string) (*pb.NotificationRow, error) {
	row, ok, err := c.t.rows.Get(r, []byte(id))
	if err == nil && !ok {
		err = errGone
	}
	return row, err
}

// update merges members into the payload, and marks it read when read is set.
func (c *change) update(r journal.Reader, id string, members map[string]any, read bool) (msg.Notification, error) {
	was, err := c.find(r, id)
	if err != nil {
		return msg.Notification{}, err
	}
	all := map[string]any{}
	if len(was.Payload) > 0 {
		d := json.NewDecoder(bytes.NewReader(was.Payload))
		d.UseNumber() // long numbers stay what they are
		if err := d.Decode(&all); err != nil {
			return msg.Notification{}, err
		}
	}
	for k, v := range members {
		all[k] = v
	}
	row := proto.CloneOf(was)
	row.Payload, row.Read = wire.Marshal(all), was.Read || read
	c.put(was, row)
	c.tell(eventUpdated, row)
	return wireOf(row), nil
}

func (c *change) markRead(r journal.Reader, id string) error {
	was, err := c.find(r, id)
	if err != nil || was.Read {
		return err
	}
	row := proto.CloneOf(was)
	row.Read = true
	c.put(was, row)
	c.tellID(eventRead, id)
	return nil
}

// remove deletes by prefix and not by row, because only what a prefix deletes is erased from the disk at once.
func (c *change) remove(r journal.Reader, id string) error {
	was, err := c.find(r, id)
	if err != nil {
		return err
	}
	if !was.Read {
		c.unread--
	}
	c.in.Prefixes = append(c.in.Prefixes, c.t.rows.Prefix([]byte(id)))
	c.tellID(eventDeleted, id)
	return nil
}

func (c *change) removeAll() {
	c.unread = 0
	c.in.Prefixes = append(c.in.Prefixes, c.t.rows.Prefix(nil))
	c.tellID(eventDeleted, "")
}
