package edge

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"sentient/actors/msg"
	"sentient/runtime/bus"
	"sentient/storage/journal"
	"sentient/storage/memstore"
)

// fakeChats is a small room of conversations over a real bus and a real journal. A message "hold" leaves its turn open for
// the test to go on with; any other text is answered "Hello." at once.
type fakeChats struct {
	bus *bus.Bus
	j   *journal.Committer

	mu      sync.Mutex
	chats   map[string]*fakeChat
	sends   []msg.Send
	answers map[string]string // approval id → decision; "" while it waits
	fail    error             // of every Send
	panics  bool
	gate    chan struct{} // when not nil, Send waits for it
	private map[string]string
	turns   int
}

type fakeChat struct {
	turn, text string
	version    uint64
	clients    map[string]msg.Sent
}

func newFakeChats(t testing.TB) *fakeChats {
	f := &fakeChats{bus: bus.New(bus.Options{}), chats: map[string]*fakeChat{}, answers: map[string]string{}, private: map[string]string{}}
	j, err := journal.Open(context.Background(), journal.Options{Disk: memstore.New(), Memory: memstore.New(), Deliver: func(list []journal.Entry) {
		for _, e := range list {
			if ev, ok := e.Live.(bus.Event); ok {
				ev.Seq = e.Seq
				f.bus.Publish(ev)
			}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	f.j = j
	t.Cleanup(func() { _ = j.Close(context.Background()) })
	return f
}

// note commits a durable event of a chat. The caller holds mu.
func (f *fakeChats) note(session, kind string, opens bool, kv ...any) uint64 {
	c := f.chats[session]
	turn := c.turn
	b := body(kind, append([]any{"session_id", session, "turn_id", turn}, kv...)...)
	live := bus.Event{Topic: session, Turn: turn, Kind: kind, Body: b, Opens: opens}
	r, err := f.j.Append(context.Background(), journal.Append{Stream: journal.Stream("session/" + session), Expected: c.version,
		Events: [][]byte{[]byte("x")}, Publish: []journal.Note{{Type: kind, Topic: session, Data: b, Live: live}}})
	if err != nil {
		panic(err)
	}
	c.version = r.Version
	return r.Seq
}

func (f *fakeChats) noteNow(session, kind string, kv ...any) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.note(session, kind, false, kv...)
}

func (f *fakeChats) delta(session, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.deltaLocked(session, text)
}

func (f *fakeChats) deltaLocked(session, text string) {
	c := f.chats[session]
	c.text += text
	escaped, _ := json.Marshal(text)
	f.bus.Publish(bus.Event{Topic: session, Turn: c.turn, Kind: "text_delta", Text: escaped[1 : len(escaped)-1],
		Body: append(body("text_delta", "session_id", session, "turn_id", c.turn), `,"text":"`...)})
}

func (f *fakeChats) finish(session string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.finishLocked(session)
}

func (f *fakeChats) finishLocked(session string) {
	c := f.chats[session]
	f.note(session, "done", false, "content", c.text, "message_id", "m1", "memory_sources", []any{}, "sources", []any{}, "checks", []any{})
	c.turn, c.text = "", ""
}

func (f *fakeChats) Send(ctx context.Context, m msg.Send) (msg.Sent, error) {
	if f.gate != nil {
		select {
		case <-f.gate:
		case <-ctx.Done():
			return msg.Sent{}, ctx.Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sends = append(f.sends, m)
	if f.panics {
		panic("a private text")
	}
	if f.fail != nil {
		return msg.Sent{}, f.fail
	}
	c := f.chats[m.Session]
	if c == nil {
		if !m.New {
			return msg.Sent{}, msg.ErrNoChat
		}
		c = f.make(m.Session)
		if m.Incognito {
			f.private[m.Session] = m.Via
			f.bus.Restrict(m.Session, m.Via)
		}
	}
	if sent, ok := c.clients[m.ClientID]; ok && m.ClientID != "" {
		sent.Repeated = true
		return sent, nil
	}
	sent := msg.Sent{Session: m.Session, MessageID: "m0"}
	if c.turn != "" && len(m.Attachments) == 0 {
		sent.Steered = true
		f.note(m.Session, "user_interjection", false, "text", m.Text)
	} else {
		f.turns++
		c.turn = fmt.Sprintf("turn-%d", f.turns)
		sent.Turn = c.turn
		f.note(m.Session, "session", true, "client_id", m.ClientID)
		if m.Text != "hold" {
			f.deltaLocked(m.Session, "Hel")
			f.deltaLocked(m.Session, "lo.")
			f.finishLocked(m.Session)
		}
	}
	c.clients[m.ClientID] = sent
	return sent, nil
}

func (f *fakeChats) make(id string) *fakeChat {
	c := &fakeChat{clients: map[string]msg.Sent{}}
	f.chats[id] = c
	return c
}

func (f *fakeChats) Steer(ctx context.Context, m msg.Steer) (msg.Sent, error) {
	return f.Send(ctx, msg.Send{Session: m.Session, Text: m.Text, ClientID: m.ClientID, Via: m.Via})
}

func (f *fakeChats) Cancel(_ context.Context, session string) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.chats[session]
	if c == nil {
		return false, msg.ErrNoChat
	}
	if c.turn == "" {
		return false, nil
	}
	f.note(session, "done", false, "cancelled", true, "content", c.text)
	c.turn = ""
	return true, nil
}

func (f *fakeChats) Create(_ context.Context, m msg.NewChat) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.make(m.Session)
	return nil
}

func (f *fakeChats) known(session string) error {
	if f.chats[session] == nil {
		return msg.ErrNoChat
	}
	return nil
}

func (f *fakeChats) Patch(_ context.Context, session string, p msg.ChatPatch) (msg.ChatRow, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	row := msg.ChatRow{ID: session, MemoryScope: "personal"}
	if p.Title != nil {
		row.Title = *p.Title
	}
	if p.Model != nil && *p.Model != "" {
		row.Model = p.Model
	}
	return row, f.known(session)
}

func (f *fakeChats) Delete(_ context.Context, session string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.known(session); err != nil {
		return err
	}
	delete(f.chats, session)
	f.bus.Publish(bus.Event{Kind: "session.deleted", Body: body("session.deleted", "data", map[string]string{"session_id": session})})
	return nil
}

func (f *fakeChats) Trust(_ context.Context, session, upto string) (msg.TrustResult, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if upto == "not-here" {
		return msg.TrustResult{}, msg.NewFault(msg.Invalid, "upto is not a message of this chat.")
	}
	return msg.TrustResult{OK: true, Trusted: true}, f.known(session)
}

func (f *fakeChats) Answer(_ context.Context, approval, decision, _ string) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if was, ok := f.answers[approval]; !ok || was != "" {
		return false, msg.ErrNoApproval
	}
	f.answers[approval] = decision
	return true, nil
}

func (f *fakeChats) Watch(_ context.Context, session string, sub *bus.Sub) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.chats[session]
	if c == nil || f.private[session] != "" {
		return msg.ErrNoChat
	}
	sub.Push(bus.Event{Topic: session, Turn: c.turn, Kind: "session", Opens: true,
		Body: body("session", "session_id", session, "turn_id", c.turn, "replay", true)})
	if c.text != "" {
		sub.Push(bus.Event{Topic: session, Turn: c.turn, Kind: "text_delta",
			Body: body("text_delta", "session_id", session, "turn_id", c.turn, "text", c.text, "replay", true)})
	}
	return nil
}

func (f *fakeChats) Running() (list []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, c := range f.chats {
		if c.turn != "" {
			list = append(list, id)
		}
	}
	return list
}

func (f *fakeChats) List(limit int) ([]msg.ChatRow, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var rows []msg.ChatRow
	for id := range f.chats {
		if len(rows) < limit {
			rows = append(rows, msg.ChatRow{ID: id})
		}
	}
	return rows, nil
}

func (f *fakeChats) Messages(session string, limit int) ([]msg.MessageRow, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return []msg.MessageRow{{ID: "m1"}, {ID: "m2"}}, f.known(session)
}

func (f *fakeChats) Search(string, int) ([]any, error) { return nil, nil }

func (f *fakeChats) Render(_ journal.Reader, e journal.Entry) ([]byte, bool) {
	return e.Data, e.Type != "message.stored"
}

func (f *fakeChats) sent() []msg.Send {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]msg.Send(nil), f.sends...)
}

// fakeRest stands for the rooms behind Settings.
type fakeRest struct{ saved map[string]string }

func (*fakeRest) Bootstrap(context.Context) (any, error) { return map[string]any{"version": "9"}, nil }
func (*fakeRest) Assistant() string                      { return "Ada" }
func (*fakeRest) Health() any                            { return map[string]string{"store": "full"} }
func (*fakeRest) State() msg.StopState                   { return msg.StopState{} }
func (*fakeRest) StopAll(context.Context, string) (msg.StopReport, error) {
	return msg.StopReport{}, nil
}
func (*fakeRest) Resume(context.Context, string) (msg.StopState, error) { return msg.StopState{}, nil }
func (*fakeRest) Epoch() uint64                                         { return 1 }
func (*fakeRest) Onboard(context.Context, Setup) error                  { return nil }
func (*fakeRest) Catalog() []msg.Plugin {
	return []msg.Plugin{{ID: "time", DisplayName: "Time", Tools: []msg.Tool{{Name: "current_datetime", Risk: msg.RiskRead}}}}
}
func (*fakeRest) Providers(context.Context) (any, error) { return []any{}, nil }
func (*fakeRest) Local(context.Context) (any, error)     { return map[string]any{}, nil }
func (*fakeRest) Busy(context.Context) (any, error)      { return map[string]any{"busy": false}, nil }
func (*fakeRest) Test(ctx context.Context, _, role string) (any, error) {
	if role == "slow" {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return map[string]any{"ok": true}, nil
}
func (*fakeRest) TestEmbedding(context.Context, string) (any, error) {
	return map[string]any{"ok": true, "dim": 512}, nil
}
func (*fakeRest) SetRoles(_ context.Context, roles map[string]*string) (any, error) {
	if m := roles["planner"]; m != nil && strings.HasPrefix(*m, "claude-code/") {
		return nil, msg.NewFault(msg.BadRequest, "Claude Code only answers your chats.")
	}
	return roles, nil
}
func (*fakeRest) Check(_ context.Context, provider string) (any, error) {
	if provider != "openrouter" {
		return nil, msg.NewFault(msg.NotFound, "There is no such provider.")
	}
	return map[string]any{"ok": true, "detail": "It works."}, nil
}
func (*fakeRest) List(context.Context) ([]SecretInfo, error) { return nil, nil }
func (f *fakeRest) Set(_ context.Context, name, value string) error {
	f.saved[name] = value
	return nil
}
func (f *fakeRest) Delete(_ context.Context, name string) error { delete(f.saved, name); return nil }

type fakeConfig struct{}

var errBadConfig = &Invalid{Detail: []map[string]any{{"loc": []string{"ui", "theme"}, "msg": "must be dark or light", "type": "enum"}}}

func (fakeConfig) Get(context.Context) (json.RawMessage, error) {
	return json.RawMessage(`{"ui":{}}`), nil
}
func (fakeConfig) Schema(context.Context) (json.RawMessage, error) {
	return json.RawMessage(`{"type":"object"}`), nil
}
func (fakeConfig) Put(_ context.Context, b json.RawMessage) error {
	if bytes.Contains(b, []byte("pink")) {
		return errBadConfig
	}
	return nil
}
func (c fakeConfig) Patch(ctx context.Context, b json.RawMessage) (json.RawMessage, error) {
	if err := c.Put(ctx, b); err != nil {
		return nil, err
	}
	return json.RawMessage(`{"ui":{"theme":"dark"}}`), nil
}
