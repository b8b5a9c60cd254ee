package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fasthttp/websocket"

	"sentient/transport/llm/llmtest"
)

// The tests run the engine as its own process: this test binary, started again as the program. So a kill is a kill.
const beTheProgram = "SENTIENT_TEST_RUNS_THE_PROGRAM"

// theNext as the first argument runs a version of the program that comes after this one.
const theNext = "next"

func TestMain(m *testing.M) {
	if os.Getenv(beClaude) != "" {
		fakeClaude()
		return
	}
	if os.Getenv(beTheProgram) != "" {
		morePlugins = pretendPlugins
		if os.Getenv(beTheProgram) == theNext {
			program(nextFormat())
			return
		}
		main()
		return
	}
	os.Exit(m.Run())
}

const testToken = "token-for-tests"

// process is a running engine.
type process struct {
	t    *testing.T
	home string
	cmd  *exec.Cmd
	out  *lockedBuffer
	url  string
	done chan error
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}
func (l *lockedBuffer) String() string { l.mu.Lock(); defer l.mu.Unlock(); return l.b.String() }

// newHome makes a home whose models are the scripted server's.
func newHome(t *testing.T, model *llmtest.Server, extra string) string {
	t.Helper()
	home := t.TempDir()
	cfg := "# mine\ngateway:\n  port: 0 # any\nchat:\n  auto_title: false\n"
	if model != nil {
		cfg += fmt.Sprintf("models:\n  roles:\n    primary: lm_studio/test\n    fast: lm_studio/test\n  providers:\n    lm_studio:\n      api_base: %s/v1\n", model.URL())
	}
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(cfg+extra), 0o600); err != nil {
		t.Fatal(err)
	}
	return home
}

func command(home string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	version := "1"
	if cmd.Args[1] == theNext {
		version, cmd.Args = theNext, slices.Delete(cmd.Args, 1, 2)
	}
	cmd.Env = append(os.Environ(), beTheProgram+"="+version, "SENTIENT_HOME="+home, "SENTIENT_GATEWAY_TOKEN="+testToken, "DBUS_SESSION_BUS_ADDRESS=", "HOME="+home)
	return cmd
}

func start(t *testing.T, home string) *process {
	t.Helper()
	return startWith(t, home, "serve")
}

func startWith(t *testing.T, home string, args ...string) *process {
	t.Helper()
	_ = os.Remove(filepath.Join(home, "engine-discovery.json"))
	p := &process{t: t, home: home, cmd: command(home, args...), out: &lockedBuffer{}, done: make(chan error, 1)}
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.done <- p.cmd.Wait() }()
	t.Cleanup(p.kill)
	eventually(t, "the engine to be ready: "+p.out.String(), func() bool {
		b, err := os.ReadFile(filepath.Join(home, "engine-discovery.json"))
		var d struct{ Address string }
		if err != nil || json.Unmarshal(b, &d) != nil {
			return false
		}
		p.url = d.Address
		status, _ := p.try("GET", "/api/bootstrap", nil)
		return status == 200
	})
	return p
}

// eventually polls the world outside the process; the deadline only says that something hangs.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("waited in vain for " + what)
		}
	}
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	select {
	case <-p.done:
		p.done <- nil
	case <-time.After(time.Minute):
		p.t.Error("the engine does not die")
	}
}

// stop ends the engine as a person would, and it must go in peace.
func (p *process) stop() {
	p.t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	if err := <-p.done; err != nil {
		p.t.Fatalf("the engine ended with %v:\n%s", err, p.out)
	}
	p.done <- nil
}

func (p *process) try(method, path string, body any) (int, []byte) {
	var r io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		r = strings.NewReader(b)
	default:
		j, _ := json.Marshal(b)
		r = bytes.NewReader(j)
	}
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.url+path, r)
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+testToken)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil
	}
	defer res.Body.Close()
	out, _ := io.ReadAll(res.Body)
	return res.StatusCode, out
}

// call is a request that must succeed.
func call[T any](p *process, method, path string, body any) (v T) {
	p.t.Helper()
	status, out := p.try(method, path, body)
	if status != 200 || json.Unmarshal(out, &v) != nil {
		p.t.Fatalf("%s %s: %d %s", method, path, status, out)
	}
	return v
}

type row struct {
	ID, Role, Content string
	Name              *string
}

func (p *process) transcript(session string) string {
	p.t.Helper()
	var b strings.Builder
	for _, r := range call[[]row](p, "GET", "/api/sessions/"+session+"/messages", nil) {
		fmt.Fprintf(&b, "%s: %s\n", r.Role, r.Content)
	}
	return b.String()
}

// chat sends a message over POST /api/chat and reads its lines.
func (p *process) chat(body map[string]any) (events []map[string]any) {
	p.t.Helper()
	status, out := p.try("POST", "/api/chat", body)
	if status != 200 {
		p.t.Fatalf("POST /api/chat: %d %s", status, out)
	}
	for line := range strings.Lines(string(out)) {
		var e map[string]any
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			p.t.Fatalf("%q: %v", line, err)
		}
		events = append(events, e)
	}
	return events
}

// socket is a window's connection.
type socket struct {
	t *testing.T
	c *websocket.Conn
}

func (p *process) dial(query string) *socket {
	p.t.Helper()
	c, _, err := websocket.DefaultDialer.DialContext(p.t.Context(), strings.Replace(p.url, "http", "ws", 1)+"/ws?token="+testToken+query, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { c.Close() })
	return &socket{p.t, c}
}

func (s *socket) send(v any) {
	s.t.Helper()
	if err := s.c.WriteJSON(v); err != nil {
		s.t.Fatal(err)
	}
}

// until reads events up to the first of that type, which is the last of the list.
func (s *socket) until(typ string) (events []map[string]any) {
	s.t.Helper()
	_ = s.c.SetReadDeadline(time.Now().Add(time.Minute))
	for {
		var e map[string]any
		if err := s.c.ReadJSON(&e); err != nil {
			s.t.Fatalf("waiting for %s after %v: %v", typ, events, err)
		}
		events = append(events, e)
		if e["type"] == typ {
			return events
		}
	}
}

func (s *socket) next(typ string) map[string]any {
	s.t.Helper()
	es := s.until(typ)
	return es[len(es)-1]
}

func scripted(t *testing.T, o llmtest.Options) *llmtest.Server {
	t.Helper()
	s, err := llmtest.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}
