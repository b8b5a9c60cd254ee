// Package notify owns the notifications: rows that any room may make, each at most once for its key, and that a person reads and
// deletes. What a kind means is its maker's business.
package notify

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"sentient/actors/msg"
	pb "sentient/proto/notify"
	"sentient/runtime/act"
	"sentient/storage/journal"
	"sentient/storage/table"
)

const stream journal.Stream = "notify/main"

// Options of the room.
type Options struct {
	Journal journal.Journal
	NewID   func() string // ULIDs
	Now     func() time.Time
	Logger  *slog.Logger
}

// Service is the notifications as other rooms and the edge see them.
type Service struct {
	o   Options
	t   *tables
	ref act.Ref
}

// New starts the actor.
func New(sys *act.System, o Options) (*Service, error) {
	if o.Journal == nil || o.NewID == nil {
		return nil, errors.New("notify: Journal and NewID are needed")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Service{o: o, t: newTables()}
	s.ref = sys.Single("notify", func() act.Behavior { return &actor{o: &s.o, t: s.t} })
	return s, nil
}

// Notify makes a notification and answers it as it is on disk; ID, Read and CreatedAt of n need not be set. When its Key was used
// before, nothing happens and the answer is what that became (only its ID, when it was deleted since).
func (s *Service) Notify(ctx context.Context, n msg.Notification) (msg.Notification, error) {
	if err := check(n); err != nil {
		return msg.Notification{}, err
	}
	return ask(ctx, s, func(a *actor, c *change, r journal.Reader) (msg.Notification, error) {
		return c.make(r, a.o.NewID(), n)
	})
}

// Later is Notify for an actor, which must not wait: done hears, on another goroutine, whether it is on disk. It must not block.
func (s *Service) Later(n msg.Notification, done func(error)) {
	if err := check(n); err != nil {
		done(err)
		return
	}
	s.ref.Tell(&command[msg.Notification]{reply: answerTo[msg.Notification](done), fn: func(a *actor, c *change, r journal.Reader) (msg.Notification, error) {
		return c.make(r, a.o.NewID(), n)
	}})
}

// Update merges members into the payload, marks the notification read when read is set, and tells clients
// (notification.updated). Errors: a msg.NotFound fault.
func (s *Service) Update(ctx context.Context, id string, members map[string]any, read bool) (msg.Notification, error) {
	return ask(ctx, s, func(_ *actor, c *change, r journal.Reader) (msg.Notification, error) {
		return c.update(r, id, members, read)
	})
}

// MarkRead marks one as read and answers how many are unread. Errors: a msg.NotFound fault.
func (s *Service) MarkRead(ctx context.Context, id string) (unread int, err error) {
	return ask(ctx, s, func(_ *actor, c *change, r journal.Reader) (int, error) {
		err := c.markRead(r, id)
		return int(c.unread), err
	})
}

// MarkAllRead marks all as read.
func (s *Service) MarkAllRead(ctx context.Context) (unread int, err error) {
	for { // in batches: each is one short visit to the actor
		more, err := ask(ctx, s, func(_ *actor, c *change, r journal.Reader) (bool, error) { return c.readSome(r, s.t) })
		if err != nil || !more {
			return 0, err
		}
	}
}

// Delete removes one. Errors: a msg.NotFound fault.
func (s *Service) Delete(ctx context.Context, id string) (unread int, err error) {
	return ask(ctx, s, func(_ *actor, c *change, r journal.Reader) (int, error) {
		err := c.remove(r, id)
		return int(c.unread), err
	})
}

// DeleteAll removes all.
func (s *Service) DeleteAll(ctx context.Context) (unread int, err error) {
	return ask(ctx, s, func(_ *actor, c *change, _ journal.Reader) (int, error) {
		c.removeAll()
		return 0, nil
	})
}

// List is the newest notifications, at most limit, and how many are unread in all.
func (s *Service) List(limit int, unreadOnly bool) (list []msg.Notification, unread int, err error) {
	r, err := s.o.Journal.Read()
	if err != nil {
		return nil, 0, plainly(err)
	}
	defer r.Close()
	q := table.Query{Index: indexAt, Reverse: true, Limit: limit}
	if unreadOnly {
		q.Index = indexUnread
	}
	list = []msg.Notification{}
	for row, err := range s.t.rows.Scan(r, q) {
		if err != nil {
			return nil, 0, err
		}
		list = append(list, wireOf(row))
	}
	n, err := s.t.unread(r)
	return list, int(n), err
}

// Unread is how many are unread.
func (s *Service) Unread() (int, error) {
	r, err := s.o.Journal.Read()
	if err != nil {
		return 0, plainly(err)
	}
	defer r.Close()
	n, err := s.t.unread(r)
	return int(n), err
}

func (t *tables) unread(r journal.Reader) (int64, error) {
	c, ok, err := t.counts.Get(r, countsKey)
	var damage *journal.CorruptError
	if errors.As(err, &damage) { // it can be counted again
		n := int64(0)
		for _, err := range t.rows.Scan(r, table.Query{Index: indexUnread}) {
			if err != nil {
				return 0, err
			}
			n++
		}
		return n, nil
	}
	if err != nil || !ok {
		return 0, err
	}
	return c.Unread, nil
}

// Render writes a kept event of this room whose text is in a row; mine is false for all other notes.
func (s *Service) Render(r journal.Reader, e journal.Entry) (body []byte, shown, mine bool) {
	if e.Type != eventNew && e.Type != eventUpdated {
		return nil, false, false
	}
	body, shown = s.t.render(r, e)
	return body, shown, true
}

const readBatch = 500

// readSome marks a batch; more says that some are left. The last batch tells.
func (c *change) readSome(r journal.Reader, t *tables) (more bool, err error) {
	var rows []*pb.NotificationRow
	for row, err := range t.rows.Scan(r, table.Query{Index: indexUnread, Limit: readBatch + 1}) {
		if err != nil {
			return false, err
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return false, nil
	}
	if more = len(rows) > readBatch; more {
		rows = rows[:readBatch]
	}
	for _, row := range rows {
		c.unread--
		row.Read = true
		c.in.Rows = append(c.in.Rows, t.rows.Put(row))
	}
	if !more {
		c.tellID(eventRead, "")
	}
	return more, nil
}
