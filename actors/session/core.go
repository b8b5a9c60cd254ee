package session

import (
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"sentient/actors/agent"
	"sentient/actors/msg"
	"sentient/actors/policy/words"
	"sentient/actors/tool"
	pb "sentient/proto/session"
	"sentient/runtime/bus"
	"sentient/storage/journal"
)

// chat is the pure core of one session: its state, its running turn, and nothing that blocks.
type chat struct {
	id string
	state
	tables *Tables
	newID  func() string
	tools  func() []words.RuleTool // what standing rules can be about
	order  func() int64            // the next number over all chats
	turn   *agent.Turn
	epoch  uint64                   // the stop that this chat has obeyed; what it starts belongs to the time after it
	queued map[string]*pb.QueuedRow // what waits, by id, in the words of its rows

	roundMark string   // the outside-content mark when the model made the open calls
	granting  granting // wide yeses of this turn
}

func newChat(id string, t *Tables, newID func() string) *chat {
	return &chat{id: id, state: newState(), tables: t, newID: newID, queued: map[string]*pb.QueuedRow{}}
}

// change is what a step wants: facts for one append, what is shown before it (streamed text alone), and what follows it.
type change struct {
	chat   *chat
	now    time.Time
	order  int64
	open   string // the turn that was open before this change, and its model call
	round  int32
	before []bus.Event
	events [][]byte
	rows   []journal.Row
	notes  []journal.Note
	after  []effect

	added    []*pb.MessageRow // messages among rows
	touched  bool             // the session's row is to be written
	dropped  bool             // checkpoints are part of the rows now
	deleted  bool
	audience bool // who may see an incognito chat changed: it counts before anything of the change is told
}

func (c *chat) begin(now time.Time) *change {
	return &change{chat: c, now: now.UTC(), open: c.Turn.GetId(), round: c.Turn.GetRound()}
}

// empty: nothing for the journal.
func (c *change) empty() bool { return len(c.events)+len(c.rows)+len(c.notes) == 0 && !c.deleted }

// event records k and applies it.
func (c *change) event(e *pb.Event) {
	if c.order == 0 && c.chat.order != nil {
		c.order = c.chat.order()
	}
	e.At, e.Order = c.now.UnixMicro(), c.order
	c.chat.apply(e)
	b, _ := proto.Marshal(e)
	c.events = append(c.events, b)
}

func (c *change) row(r journal.Row) { c.rows = append(c.rows, r) }

func (c *change) do(e effect) { c.after = append(c.after, e) }

// nextID is a message id that sorts behind every earlier one of this chat, also when the clock went back.
func (c *change) nextID() string {
	id := c.chat.newID()
	if id <= c.chat.LastMessage {
		id = successor(c.chat.LastMessage)
	}
	return id
}

// successor is the next ULID in sort order (Crockford base 32).
func successor(id string) string {
	const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	b := []byte(id)
	for i := len(b) - 1; i >= 0; i-- {
		k := strings.IndexByte(digits, b[i])
		if k < 0 || k == len(digits)-1 {
			b[i] = digits[0]
			continue
		}
		b[i] = digits[k+1]
		break
	}
	return string(b)
}

// addMessage writes a row and everything that follows from it.
func (c *change) addMessage(r *pb.MessageRow) {
	r.Session, r.CreatedAt = c.chat.id, c.now.UnixMicro()
	if r.Id == "" {
		r.Id = c.nextID()
	}
	c.event(&pb.Event{Kind: &pb.Event_Added{Added: added(r)}})
	c.row(c.chat.tables.Messages.Put(r))
	c.added = append(c.added, r)
	if Searchable(r) && !c.chat.Incognito {
		c.stored(NoteStored, r.Id)
	}
	c.touched = true
}

// added tells of a row, and whose content it brought from outside.
func added(r *pb.MessageRow) *pb.Added {
	a := &pb.Added{Id: r.Id, Role: r.Role, Outside: r.Outside != "", Source: r.Outside}
	switch {
	case r.Role == "other":
		a.Outside, a.Source, a.Writer = true, tool.GroupSource(r.Name), r.Name
	case r.Role == "user" && r.Name != "": // another app wrote it
		a.Outside, a.Source = true, r.Name
	}
	return a
}

// finish completes the append.
func (c *change) append(version uint64, snapshotEvery uint64) journal.Append {
	if c.touched && !c.deleted {
		c.row(c.chat.tables.Sessions.Put(c.chat.row(c.chat.id)))
	}
	a := journal.Append{Stream: stream(c.chat.id), Expected: version, Events: c.events, Rows: c.rows, Publish: c.notes,
		DropCheckpoints: c.dropped, Volatile: c.chat.Incognito, Delete: c.deleted}
	if c.deleted {
		a.Prefixes = chatPrefixes(c.chat.id)
		return a
	}
	if next := version + uint64(len(c.events)); next/snapshotEvery != version/snapshotEvery {
		a.Snapshot, _ = proto.Marshal(c.chat.Snapshot)
	}
	return a
}

func stream(session string) journal.Stream { return journal.Stream("session/" + session) }

// validText refuses what no chat can hold.
func validText(field, s string) error {
	if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
		return msg.NewFault(msg.Invalid, field+" must be valid UTF-8 text without NUL characters")
	}
	return nil
}

// firstWords is the title a chat has until it gets a better one: the first 60 characters of its first message.
func firstWords(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > 60 {
		text = string(r[:60])
	}
	return text
}
