package edge

import (
	"context"
	"testing"

	"sentient/actors/msg"
)

// fakeTimeline answers by id.
type fakeTimeline struct{}

func (fakeTimeline) Restore(_ context.Context, id string) (any, error) {
	switch id {
	case "snap:1":
		return map[string]any{"message": "Put back 2 files.", "ok": true, "restored": 2}, nil
	case "chat:a:b":
		return map[string]any{"error": "Yours to do.", "hand_off": map[string]any{"label": "Restore"}, "ok": false}, nil
	}
	return nil, msg.NewFault(msg.Conflict, "There is nothing to put back.")
}

// A-1140 and its route: what can be put back, what is handed over, and each refusal.
func TestTimelineRestore(t *testing.T) {
	g := serve(t, func(o *Options) { o.Timeline = fakeTimeline{} })
	const path = "/api/timeline/restore"
	for _, c := range []struct {
		body   string
		status int
		want   string
	}{
		{`{"id":"snap:1"}`, 200, `{"message":"Put back 2 files.","ok":true,"restored":2}`},
		{`{"id":"chat:a:b"}`, 200, `{"error":"Yours to do.","hand_off":{"label":"Restore"},"ok":false}`},
		{`{"id":"snap:2"}`, 409, `{"detail":"There is nothing to put back."}`},
		{`{"id":""}`, 422, ""}, {`{}`, 422, ""}, {`{"id":["snap:1"]}`, 422, ""}, {`[]`, 422, ""}, {`{"id"`, 400, ""},
	} {
		r := g.call("POST", path, c.body)
		if r.status != c.status || c.want != "" && r.body != c.want {
			t.Errorf("%s: %d %s", c.body, r.status, r.body)
		}
	}
	for header, want := range map[string]int{"Authorization: -": 401, "Authorization: Bearer the-mcp-token": 403} {
		if r := g.call("POST", path, `{"id":"snap:1"}`, header); r.status != want {
			t.Errorf("%s: %d %s", header, r.status, r.body)
		}
	}
}
