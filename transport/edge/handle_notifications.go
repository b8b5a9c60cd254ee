package edge

import (
	"fmt"
	"strings"

	"sentient/actors/msg"
)

const (
	notificationsShown = 100
	mostNotifications  = 1000
	longestTitle       = 200 // runes
	longestAppName     = 40  // as wherever another app's name is shown (section 5)
)

func (s *Server) notifications(q *request) (any, error) {
	limit, err := q.number("limit", notificationsShown, mostNotifications)
	if err != nil {
		return nil, err
	}
	unreadOnly, err := q.queryFlag("unread_only")
	if err != nil {
		return nil, err
	}
	list, unread, err := s.o.Notices.List(limit, unreadOnly)
	if err != nil {
		return nil, err
	}
	if list == nil {
		list = []msg.Notification{}
	}
	return map[string]any{"notifications": list, "unread": unread}, nil
}

var errNoMessage = refuse(400, "A notification needs a message.")

// notifyMe makes a plain note. Whatever kind the caller names, it is an info: a note can't pass itself off as an approval or as
// one of Sentient's own.
func (s *Server) notifyMe(q *request) (any, error) {
	o, err := q.object()
	if err != nil {
		return nil, err
	}
	text, title, source, app := o.text("message"), oneLine(o.text("title"), longestTitle), oneLine(o.text("source"), longestTitle), oneLine(o.text("app"), longestAppName)
	if o.err != nil {
		return nil, o.err
	}
	if strings.TrimSpace(text) == "" {
		return nil, errNoMessage
	}
	if title == "" {
		title = "Note"
	}
	payload := map[string]string{}
	if source != "" {
		payload["source"] = source
	}
	if q.rights == MCP {
		title = attribution(app) + ": " + title
		if app != "" {
			payload["app"] = app
		}
	}
	raw, err := marshal(payload)
	if err != nil {
		return nil, err
	}
	return s.o.Notices.Notify(q.ctx, msg.Notification{Kind: "info", Title: title, Message: text, Payload: raw})
}

// attribution says that another app wrote the note.
func attribution(app string) string {
	if app == "" {
		return "An MCP app"
	}
	return fmt.Sprintf("From MCP app (%s)", app)
}

// oneLine is s without control characters and needless spaces, at most n runes.
func oneLine(s string, n int) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return control(r) || r == ' ' || hidden(r) }), " ")
	if r := []rune(s); len(r) > n {
		s = strings.TrimSpace(string(r[:n]))
	}
	return s
}

// hidden are characters that turn the direction of a line or are not seen at all: with them a name could look like another.
func hidden(r rune) bool {
	return r >= 0x80 && r < 0xA0 || r >= 0x200B && r <= 0x200F || r >= 0x2028 && r <= 0x202E || r >= 0x2060 && r <= 0x206F || r == 0xFEFF
}

func (s *Server) readNotification(q *request) (any, error) {
	id, err := q.id(0)
	if err != nil {
		return nil, err
	}
	return unreadNow(s.o.Notices.MarkRead(q.ctx, id))
}

func (s *Server) readAllNotifications(q *request) (any, error) {
	return unreadNow(s.o.Notices.MarkAllRead(q.ctx))
}

func (s *Server) deleteNotification(q *request) (any, error) {
	id, err := q.id(0)
	if err != nil {
		return nil, err
	}
	return unreadNow(s.o.Notices.Delete(q.ctx, id))
}

func (s *Server) deleteNotifications(q *request) (any, error) {
	return unreadNow(s.o.Notices.DeleteAll(q.ctx))
}

// unreadNow is the answer of every change (DECISIONS 9).
func unreadNow(unread int, err error) (any, error) {
	return map[string]any{"ok": true, "unread": unread}, err
}
