package edge

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"sentient/actors/msg"
)

// fakeNotices remembers what it was asked.
type fakeNotices struct{ asked []string }

func (f *fakeNotices) note(format string, v ...any) {
	f.asked = append(f.asked, fmt.Sprintf(format, v...))
}

func (f *fakeNotices) List(limit int, unreadOnly bool) ([]msg.Notification, int, error) {
	f.note("list %d %v", limit, unreadOnly)
	return nil, 7, nil
}
func (f *fakeNotices) Notify(_ context.Context, n msg.Notification) (msg.Notification, error) {
	f.note("make %s %q %q %s", n.Kind, n.Title, n.Message, n.Payload)
	return n, nil
}
func (f *fakeNotices) MarkRead(_ context.Context, id string) (int, error) {
	f.note("read %s", id)
	if id == "gone" {
		return 0, msg.NewFault(msg.NotFound, "This notification doesn't exist (anymore).")
	}
	return 6, nil
}
func (f *fakeNotices) MarkAllRead(context.Context) (int, error) { f.note("read all"); return 0, nil }
func (f *fakeNotices) Delete(_ context.Context, id string) (int, error) {
	f.note("delete %s", id)
	return 5, nil
}
func (f *fakeNotices) DeleteAll(context.Context) (int, error) { f.note("delete all"); return 0, nil }

// fakeUsage stands for the usage.
type fakeUsage struct{}

func (fakeUsage) Report(_ context.Context, days int) (any, error) {
	return map[string]any{"days": days}, nil
}
func (fakeUsage) Cost(context.Context) (any, error) { return map[string]any{"local_only": false}, nil }
func (fakeUsage) KeepGoing(context.Context) (any, error) {
	return nil, msg.NewFault(msg.Conflict, "There is no monthly budget.")
}

func TestNotificationRoutes(t *testing.T) {
	f := &fakeNotices{}
	g := serve(t, func(o *Options) { o.Notices = f })
	for _, c := range []struct{ method, path, body, want, asked string }{
		{"GET", "/api/notifications", "", `{"notifications":[],"unread":7}`, "list 100 false"},
		{"GET", "/api/notifications?limit=5&unread_only=true", "", `{"notifications":[],"unread":7}`, "list 5 true"},
		{"POST", "/api/notifications/a/read", "", `{"ok":true,"unread":6}`, "read a"}, // DECISIONS 9
		{"POST", "/api/notifications/read-all", "", `{"ok":true,"unread":0}`, "read all"},
		{"DELETE", "/api/notifications/a", "", `{"ok":true,"unread":5}`, "delete a"},
		{"DELETE", "/api/notifications", "", `{"ok":true,"unread":0}`, "delete all"},
	} {
		f.asked = nil
		got := g.call(c.method, c.path, c.body)
		if got.status != 200 || got.body != c.want || strings.Join(f.asked, ";") != c.asked {
			t.Errorf("%s %s: %d %s %v", c.method, c.path, got.status, got.body, f.asked)
		}
	}
	for path, status := range map[string]int{"/api/notifications?limit=0": 422, "/api/notifications?limit=x": 422, "/api/notifications?limit=1001": 422, "/api/notifications?unread_only=maybe": 422} {
		if got := g.call("GET", path, ""); got.status != status {
			t.Errorf("%s: %d", path, got.status)
		}
	}
	if got := g.call("POST", "/api/notifications/gone/read", ""); got.status != 404 {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// a note is always an info, and one of another app says so in words that the app cannot change.
func TestNotesOfOthers(t *testing.T) {
	f := &fakeNotices{}
	g := serve(t, func(o *Options) { o.Notices = f })
	mcp := "Authorization: Bearer the-mcp-token"
	for _, c := range []struct{ auth, body, asked string }{
		{"", `{"message":"**hi**","kind":"approval","payload":{"approval_id":"x"}}`, `make info "Note" "**hi**" {}`},
		{"", `{"message":"m","title":"T","source":"a script","app":"Editor"}`, `make info "T" "m" {"source":"a script"}`},
		{mcp, `{"message":"m","kind":"error","app":"Claude Code","title":"Budget used up"}`, `make info "From MCP app (Claude Code): Budget used up" "m" {"app":"Claude Code"}`},
		{mcp, `{"message":"m"}`, `make info "An MCP app: Note" "m" {}`},
		{mcp, `{"message":"m","app":" Ed\n\u202eitor\t` + strings.Repeat("x", 60) + `","title":"a\nb"}`, `make info "From MCP app (Ed itor ` + strings.Repeat("x", 32) + `): a b" "m" {"app":"Ed itor ` + strings.Repeat("x", 32) + `"}`},
	} {
		f.asked = nil
		var got reply
		if c.auth == "" {
			got = g.call("POST", "/api/notifications", c.body)
		} else {
			got = g.call("POST", "/api/notifications", c.body, c.auth)
		}
		if got.status != 200 || strings.Join(f.asked, ";") != c.asked {
			t.Errorf("%s: %d %s\n%v\n%s", c.body, got.status, got.body, f.asked, c.asked)
		}
	}
	f.asked = nil
	for body, status := range map[string]int{`{}`: 400, `{"message":"  "}`: 400, `{"message":null,"title":"x"}`: 400, `{"message":5}`: 422, `[]`: 422, `{"message":"a\u0000"}`: 422} {
		if got := g.call("POST", "/api/notifications", body); got.status != status || len(f.asked) != 0 {
			t.Errorf("%s: %d %s", body, got.status, got.body)
		}
	}
	if got := g.call("GET", "/api/notifications", "", mcp); got.status != 403 {
		t.Errorf("another app reads the notifications: %d", got.status)
	}
}

func TestUsageRoutes(t *testing.T) {
	g := serve(t, func(o *Options) { o.Usage = fakeUsage{} })
	for path, want := range map[string]string{"/api/usage": `{"days":30}`, "/api/usage?days=7": `{"days":7}`, "/api/usage/cost": `{"local_only":false}`} {
		if got := g.call("GET", path, ""); got.status != 200 || got.body != want {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	for _, days := range []string{"0", "-1", "x", "3661", "1.5"} {
		if got := g.call("GET", "/api/usage?days="+days, ""); got.status != 422 {
			t.Errorf("%s days: %d", days, got.status)
		}
	}
	if got := g.call("POST", "/api/usage/budget/keep-going", ""); got.status != 409 || got.detail() != "There is no monthly budget." {
		t.Errorf("%d %s", got.status, got.body)
	}
}
