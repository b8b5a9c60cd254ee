package edge

import (
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"sentient/actors/msg"
	"sentient/runtime/work"
	"sentient/storage/journal"
)

// a token everywhere but on health, and every refusal is {"detail": sentence}.
func TestToken(t *testing.T) {
	g := serve(t, nil)
	for _, r := range g.srv.Routes() {
		if r.Method == "WS" {
			continue
		}
		path := regexp.MustCompile(`{[^}]*}`).ReplaceAllString(r.Path, "x")
		for _, auth := range []string{"-", "Bearer wrong", "Bearer ", "Basic " + token, "Bearer " + token + "x", token} {
			got := g.call(r.Method, path+"?token="+token, "", "Authorization: "+auth)
			if r.Rights == Open {
				if got.status != 200 {
					t.Errorf("%s: %d", r.Path, got.status)
				}
				continue
			}
			if _, ok := got.detail().(string); got.status != 401 || got.header.Get("WWW-Authenticate") != "Bearer" || (!ok && r.Method != "HEAD") {
				t.Errorf("%s %s with %q: %d %s", r.Method, path, auth, got.status, got.body)
			}
		}
	}
	if got := g.call("GET", "/api/nothing", "", "Authorization: -"); got.status != 401 {
		t.Errorf("a stranger learned that a route does not exist: %d", got.status)
	}
	got := g.call("GET", "/api/health", "", "Authorization: -")
	if got.status != 200 || got.body != `{"name":"Sentient","ok":true,"version":"9.9"}` {
		t.Errorf("health: %d %s", got.status, got.body)
	}
	if got := g.call("GET", "/api/health", ""); !strings.Contains(got.body, `"store":"full"`) {
		t.Errorf("the token holder does not hear what is wrong: %s", got.body)
	}
	if got := g.call("GET", "/api/sessions", "", "authorization: bearer "+token); got.status != 200 {
		t.Errorf("the scheme's case matters: %d", got.status)
	}
}

func TestRights(t *testing.T) {
	g := serve(t, nil)
	auth := "Authorization: Bearer the-mcp-token"
	if got := g.call("GET", "/api/sessions", "", auth); got.status != 403 {
		t.Errorf("the MCP token opens the chats: %d", got.status)
	}
	if got := g.call("POST", "/api/chat", `{"text":"hi","model":"a/b","attachments":["x"],"incognito":true,"app":"Editor"}`, auth); got.status != 200 {
		t.Fatalf("chat with the MCP token: %d %s", got.status, got.body)
	}
	m := g.chats.sent()[0]
	if m.Channel != "mcp" || m.From != "another app (Editor)" || m.Model != "" || m.Attachments != nil || m.Incognito {
		t.Errorf("another app chose more than it may: %+v", m)
	}
}

func TestHostAndOrigin(t *testing.T) {
	g := serve(t, func(o *Options) { o.Hosts = []string{"My-Computer.local"} })
	_, port, _ := net.SplitHostPort(g.addr)
	for host, ok := range map[string]bool{"127.0.0.1:" + port: true, "localhost": true, "LOCALHOST:1": true, "[::1]:" + port: true, "127.9.9.9": true,
		"my-computer.local:80": true, "evil.example": false, "127.0.0.1.evil.example": false, "192.168.1.5": false, "localhost.evil.example:" + port: false,
		"0.0.0.0:" + port: false} {
		got := g.call("GET", "/api/sessions", "", "Host: "+host)
		if (got.status == 200) != ok || (!ok && got.status != 403) {
			t.Errorf("host %s: %d", host, got.status)
		}
		if open := g.call("GET", "/api/health", "", "Host: "+host); (open.status == 200) != ok {
			t.Errorf("host %s, open route: %d", host, open.status)
		}
	}
	for origin, ok := range map[string]bool{"-": true, "null": true, "file://": true, "http://" + g.addr: true, "http://localhost:" + port: true,
		"https://evil.example": false, "http://localhost:1": false, "http://evil.example:" + port: false, "file:///x": false,
		"chrome-extension://abc": false, "http://" + g.addr + "@evil.example": false, "http://" + g.addr + ".evil.example": false} {
		got := g.call("GET", "/api/sessions", "", "Origin: "+origin)
		if (got.status == 200) != ok || (!ok && got.status != 403) {
			t.Errorf("origin %s: %d", origin, got.status)
		}
		allowed := got.header.Get("Access-Control-Allow-Origin")
		if ok && origin != "-" && allowed != origin || !ok && allowed != "" {
			t.Errorf("origin %s: CORS says %q", origin, allowed)
		}
		_, res, err := g.tryDial("", http.Header{"Origin": {origin}})
		if origin != "-" && (err == nil) != ok {
			t.Errorf("socket with origin %s: %v", origin, err)
		}
		if err != nil && res != nil && res.StatusCode != 403 {
			t.Errorf("socket with origin %s: %d", origin, res.StatusCode)
		}
	}
	pre := g.call("OPTIONS", "/api/sessions", "", "Authorization: -", "Origin: null", "Access-Control-Request-Method: POST")
	if pre.status != 204 || !strings.Contains(pre.header.Get("Access-Control-Allow-Methods"), "PATCH") || pre.header.Get("Allow") != "GET, POST" {
		t.Errorf("preflight: %d %v", pre.status, pre.header)
	}
	if pre := g.call("OPTIONS", "/api/sessions", "", "Origin: https://evil.example"); pre.status != 403 {
		t.Errorf("preflight of a foreign page: %d", pre.status)
	}
}

// Every status that the contract names for a served route is provoked, and some more.
func TestStatuses(t *testing.T) {
	g := serve(t, nil)
	g.chats.make("c1")
	probes := map[string][]probe{
		"GET /api/nothing":                  {{path: "/api/nothing", want: 404}},
		"DELETE /api/sessions":              {{path: "/api/sessions", want: 405}},
		"GET /api/bootstrap":                {{path: "/api/bootstrap", want: 200}},
		"GET /api/config":                   {{path: "/api/config", want: 200}},
		"GET /api/config/schema":            {{path: "/api/config/schema", want: 200}},
		"GET /api/tools":                    {{path: "/api/tools", want: 200}},
		"GET /api/stop":                     {{path: "/api/stop", want: 200}},
		"POST /api/stop-all":                {{path: "/api/stop-all", want: 200}, {path: "/api/stop-all", body: `{"source":"tray"}`, want: 200}, {path: "/api/stop-all", body: `{"source":7}`, want: 422}, {path: "/api/stop-all", body: `nonsense`, want: 400}},
		"POST /api/resume":                  {{path: "/api/resume", want: 200}, {path: "/api/resume", body: `{"source":[]}`, want: 422}},
		"GET /api/models/local":             {{path: "/api/models/local", want: 200}},
		"GET /api/models/busy":              {{path: "/api/models/busy", want: 200}},
		"GET /api/secrets":                  {{path: "/api/secrets", want: 200}},
		"DELETE /api/secrets/{name}":        {{path: "/api/secrets/openai", want: 200}},
		"POST /api/onboarding":              {{path: "/api/onboarding", body: `{"user_name":"Maya","persona":"concise"}`, want: 200}, {path: "/api/onboarding", body: `{"persona":"pirate"}`, want: 422}, {path: "/api/onboarding", body: `{"user_name":7}`, want: 422}},
		"PUT /api/config":                   {{path: "/api/config", body: `{"ui":{}}`, want: 200}, {path: "/api/config", body: `{"ui":{"theme":"pink"}}`, want: 422}, {path: "/api/config", body: `[]`, want: 422}, {path: "/api/config", body: `{"a":`, want: 400}},
		"PATCH /api/config":                 {{path: "/api/config", body: `{}`, want: 200}, {path: "/api/config", body: `{"ui":{"theme":"pink"}}`, want: 422}},
		"GET /api/approvals/grants":         {{path: "/api/approvals/grants", want: 200}},
		"DELETE /api/approvals/grants/{id}": {{path: "/api/approvals/grants/7", want: 200}, {path: "/api/approvals/grants/9", want: 404}},
		"POST /api/approvals":               {{path: "/api/approvals", body: `{"approval_id":"none","decision":"allow"}`, want: 404}, {path: "/api/approvals", body: `{"approval_id":"none","decision":"perhaps"}`, want: 404}, {path: "/api/approvals", body: `{"approval_id":7}`, want: 422}},
		//
		"POST /api/undo":                        {{path: "/api/undo", body: `{"undo_id":"u7","action":"undo"}`, want: 200}, {path: "/api/undo", body: `{"undo_id":"x","action":"undo"}`, want: 404}, {path: "/api/undo", body: `{"undo_id":7,"action":"undo"}`, want: 422}, {path: "/api/undo", body: `{"undo_id":"x","action":"redo"}`, want: 422}},
		"GET /api/sessions/{id}/rule-proposals": {{path: "/api/sessions/c1/rule-proposals?status=all", want: 200}, {path: "/api/sessions/none/rule-proposals", want: 404}, {path: "/api/sessions/c1/rule-proposals?status=x", want: 422}},
		"POST /api/rule-proposals/{id}":         {{path: "/api/rule-proposals/7", body: `{"decision":"accept"}`, want: 200}, {path: "/api/rule-proposals/9", body: `{"decision":"accept"}`, want: 404}, {path: "/api/rule-proposals/8", body: `{"decision":"decline"}`, want: 409}, {path: "/api/rule-proposals/7", body: `{"decision":"maybe"}`, want: 422}}, // A-144
		"GET /api/sessions":                     {{path: "/api/sessions?limit=1", want: 200}, {path: "/api/sessions?limit=0", want: 422}, {path: "/api/sessions?limit=x", want: 422}},
		//
		"POST /api/sessions":                         {{path: "/api/sessions?incognito=true&model=a/b", want: 200}, {path: "/api/sessions?model=gpt", want: 422}, {path: "/api/sessions?memory_scope=always", want: 422}, {path: "/api/sessions?incognito=maybe", want: 422}, {path: "/api/sessions?model=a/%00", want: 422}},
		"PATCH /api/sessions/{id}":                   {{path: "/api/sessions/c1", body: `{"title":"T"}`, want: 200}, {path: "/api/sessions/none", body: `{"title":"T"}`, want: 404}, {path: "/api/sessions/c1", body: `{"model":"gpt"}`, want: 422}, {path: "/api/sessions/c1", body: `{"memory_scope":"always"}`, want: 422}, {path: "/api/sessions/c1", body: `{"title":null}`, want: 422}, {path: "/api/sessions/c1", body: `{"title":"a\u0000b"}`, want: 422}},
		"POST /api/sessions/{id}/trust":              {{path: "/api/sessions/c1/trust", want: 200}, {path: "/api/sessions/none/trust", body: `{}`, want: 404}, {path: "/api/sessions/c1/trust", body: `{"upto":"not-here"}`, want: 422}},
		"GET /api/sessions/{id}/messages":            {{path: "/api/sessions/c1/messages", want: 200}, {path: "/api/sessions/none/messages", want: 404}, {path: "/api/sessions/a%00b/messages", want: 400}},
		"GET /api/sessions/search":                   {{path: "/api/sessions/search?q=hi", want: 200}, {path: "/api/sessions/search?q=%ff", want: 422}},
		"POST /api/chat":                             {{path: "/api/chat", body: `{"text":"hi","session_id":"none"}`, want: 404}, {path: "/api/chat", body: `{"text":" "}`, want: 422}, {path: "/api/chat", body: `{"text":["hi"]}`, want: 422}, {path: "/api/chat", body: "{\"text\":\"\xff\"}", want: 422}, {path: "/api/chat", body: `{"text":"a\u0000"}`, want: 422}, {path: "/api/chat", body: `{"text":"hi"}{}`, want: 400}, {path: "/api/chat", body: ``, want: 400}, {path: "/api/chat", body: `{"text":"hi","model":"gpt"}`, want: 422}, {path: "/api/chat", body: strings.Repeat("[", 100_000), want: 400}},
		"GET /api/files":                             {{path: "/api/files", want: 200}},
		"GET /api/files/content/{name}":              {{path: "/api/files/content/none.txt", want: 404}, {path: "/api/files/content/..%2f..%2fetc%2fpasswd", want: 400}, {path: "/api/files/content/", want: 404}, {path: "/api/files/content/C:%5Cx", want: 404}, {path: "/api/files/content//etc/passwd", want: 404}},
		"HEAD /api/files/content/{name}":             {{path: "/api/files/content/none.txt", want: 404}},
		"DELETE /api/files/{name}":                   {{path: "/api/files/none.txt", want: 404}, {path: "/api/files/%2e%2e/x", want: 400}},
		"POST /api/files":                            {{path: "/api/files", body: "x", want: 422}},
		"POST /api/models/test":                      {{path: "/api/models/test", body: `{"model":"a/b"}`, want: 200}, {path: "/api/models/test", body: `{"model":"b"}`, want: 422}},
		"POST /api/models/test-embedding":            {{path: "/api/models/test-embedding", body: `{"model":"a/b"}`, want: 200}, {path: "/api/models/test-embedding", body: `{}`, want: 422}},
		"GET /api/models/providers":                  {{path: "/api/models/providers", want: 200}},
		"PUT /api/models/roles":                      {{path: "/api/models/roles", body: `{"primary":"a/b","fast":null}`, want: 200}, {path: "/api/models/roles", body: `{"planner":"claude-code/opus"}`, want: 400}, {path: "/api/models/roles", body: `{"primary":5}`, want: 422}},
		"PUT /api/secrets/{name}":                    {{path: "/api/secrets/openai", body: `{"value":"sk-1"}`, want: 200}, {path: "/api/secrets/chatgpt", body: `{"value":"x"}`, want: 400}, {path: "/api/secrets/openai", body: `{"value":""}`, want: 422}},
		"POST /api/models/connect/{provider}/check":  {{path: "/api/models/connect/openrouter/check", want: 200}, {path: "/api/models/connect/other/check", want: 404}},
		"GET /api/models/claude-code":                {{path: "/api/models/claude-code", want: 200}},
		"POST /api/models/connect/openrouter":        {{path: "/api/models/connect/openrouter", want: 200}},
		"GET /api/models/connect/openrouter/{state}": {{path: "/api/models/connect/openrouter/s1", want: 200}, {path: "/api/models/connect/openrouter/none", want: 404}},
		"GET /api/models/connect/chatgpt":            {{path: "/api/models/connect/chatgpt", want: 200}},
		"POST /api/models/connect/chatgpt/welcome":   {{path: "/api/models/connect/chatgpt/welcome", want: 200}},
		"POST /api/models/connect/chatgpt":           {{path: "/api/models/connect/chatgpt", want: 409}},
		"GET /api/models/connect/chatgpt/{state}":    {{path: "/api/models/connect/chatgpt/s1", want: 404}},
		"DELETE /api/models/connect/chatgpt":         {{path: "/api/models/connect/chatgpt", want: 200}},
		"GET /api/models/catalog/{provider}":         {{path: "/api/models/catalog/nous", want: 502}, {path: "/api/models/catalog/acme", want: 404}},
		"GET /api/usage":                             {{path: "/api/usage?days=7", want: 200}, {path: "/api/usage?days=0", want: 422}},
		"GET /api/usage/cost":                        {{path: "/api/usage/cost", want: 200}},
		"POST /api/usage/budget/keep-going":          {{path: "/api/usage/budget/keep-going", want: 409}},
		"GET /api/notifications":                     {{path: "/api/notifications", want: 200}},
		"POST /api/notifications":                    {{path: "/api/notifications", body: `{"message":"hi"}`, want: 200}, {path: "/api/notifications", body: `{}`, want: 400}},
		"POST /api/notifications/{id}/read":          {{path: "/api/notifications/a/read", want: 200}, {path: "/api/notifications/gone/read", want: 404}},
		"POST /api/notifications/read-all":           {{path: "/api/notifications/read-all", want: 200}},
		"DELETE /api/notifications/{id}":             {{path: "/api/notifications/a", want: 200}},
		"DELETE /api/notifications":                  {{path: "/api/notifications", want: 200}},
		"DELETE /api/sessions/{id}":                  {{path: "/api/sessions/none", want: 404}, {path: "/api/sessions/c1", want: 200}},
	}
	maps.Copy(probes, setupProbes)
	provoked := map[string][]int{}
	for key, list := range probes {
		method, _, _ := strings.Cut(key, " ")
		if strings.HasPrefix(key, "DELETE /api/sessions/") {
			continue // last, below
		}
		for _, p := range list {
			provoked[key] = append(provoked[key], g.probe(method, p))
		}
	}
	for _, p := range probes["DELETE /api/sessions/{id}"] {
		provoked["DELETE /api/sessions/{id}"] = append(provoked["DELETE /api/sessions/{id}"], g.probe("DELETE", p))
	}
	for key, cols := range contractRoutes(t) {
		for _, code := range regexp.MustCompile(`\b[45]\d\d\b`).FindAllString(cols[6], -1) {
			if cols[0] != "WS" && !slices.Contains(provoked[key], atoi(code)) {
				t.Errorf("%s: the contract's %s was not seen", key, code)
			}
		}
		if cols[0] != "WS" && len(provoked[key]) == 0 && key != "GET /api/health" {
			t.Errorf("%s was not tried", key)
		}
	}
	if got := g.call("DELETE", "/api/sessions", ""); got.header.Get("Allow") != "GET, POST" {
		t.Errorf("405 without Allow: %v", got.header)
	}
	if got := g.call("PUT", "/api/config", `{"ui":{"theme":"pink"}}`); !strings.Contains(got.body, `"detail":[{"loc":["ui","theme"]`) {
		t.Errorf("a configuration's problems: %s", got.body)
	}
}

type probe struct {
	path, body string
	want       int
}

func (g *gateway) probe(method string, p probe) int {
	g.t.Helper()
	got := g.call(method, p.path, p.body)
	if got.status != p.want {
		g.t.Errorf("%s %s %.60q: %d %s, want %d", method, p.path, p.body, got.status, got.body, p.want)
	}
	if got.status >= 400 && method != "HEAD" && got.detail() == nil {
		g.t.Errorf("%s %s: %d without a detail: %q", method, p.path, got.status, got.body)
	}
	if got.header.Get("X-Content-Type-Options") != "nosniff" || got.header.Get("Content-Security-Policy") == "" {
		g.t.Errorf("%s %s: no security headers", method, p.path)
	}
	return got.status
}

func atoi(s string) (n int) { _, _ = fmt.Sscan(s, &n); return n }

func TestEmptyFormsAreLists(t *testing.T) {
	g := serve(t, nil)
	for path, want := range map[string]string{"/api/sessions": "[]", "/api/sessions/search?q=": "[]", "/api/sessions/search?q=x": "[]",
		"/api/approvals/grants": `{"grants":[]}`, "/api/secrets": "[]", "/api/files": "[]",
		"/api/tools": `[{"id":"time","display_name":"Time","description":"","category":"","icon":"","auth":"","selection_hint":"","tools":[{"name":"current_datetime","description":"","risk":"read"}]}]`} {
		if got := g.call("GET", path, ""); got.body != want {
			t.Errorf("%s: %s", path, got.body)
		}
	}
}

func TestTooLarge(t *testing.T) {
	g := serve(t, nil)
	for name, body := range map[string]io.Reader{"8 MB and one": strings.NewReader(strings.Repeat("x", 8<<20+1)), "64 MB": io.LimitReader(zeros{}, 64<<20),
		"chunked": struct{ io.Reader }{io.LimitReader(zeros{}, 9<<20)}} {
		req, _ := http.NewRequest("POST", "http://"+g.addr+"/api/chat", body)
		if name == "64 MB" {
			req.ContentLength = 64 << 20
		}
		req.Header.Set("Authorization", "Bearer "+token)
		res, err := g.http.Do(req)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_ = res.Body.Close()
		if res.StatusCode != 413 {
			t.Errorf("%s: %d", name, res.StatusCode)
		}
	}
	if got := g.call("GET", "/api/health", "", "X-Long: "+strings.Repeat("x", 20_000)); got.status != 431 || got.detail() == nil {
		t.Errorf("huge headers: %d %s", got.status, got.body)
	}
	if g.srv.admit.waiting() != 0 || len(g.chats.sent()) != 0 {
		t.Error("a refused body reached a chat")
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestNotEvenHTTP(t *testing.T) {
	g := serve(t, nil)
	for _, raw := range []string{"hello\r\n\r\n", "GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n", "GET /api/health HTTP/1.1\r\n\r\n"} {
		conn, err := net.Dial("tcp", g.addr)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
		_, _ = conn.Write([]byte(raw))
		b := make([]byte, 4096)
		n, _ := conn.Read(b)
		if !strings.HasPrefix(string(b[:n]), "HTTP/1.1 4") || !strings.Contains(string(b[:n]), `{"detail":`) {
			t.Errorf("%q: %q", raw, b[:n])
		}
		_ = conn.Close()
	}
}

func TestFaultsHaveStatuses(t *testing.T) {
	g := serve(t, nil)
	for err, want := range map[error]int{msg.ErrBusy: 503, msg.ErrStopping: 503, msg.ErrDiskFull: 507, journal.ErrFull: 507, journal.ErrClosed: 503, work.ErrStopped: 409, work.ErrStaleEpoch: 409,
		fmt.Errorf("wrapped: %w", msg.ErrNoChat): 404, msg.NewFault(msg.Conflict, "no"): 409, fmt.Errorf("disk: secret"): 500} {
		g.chats.mu.Lock()
		g.chats.fail = err
		g.chats.mu.Unlock()
		got := g.call("POST", "/api/chat", `{"text":"hi"}`)
		if got.status != want || got.detail() == nil || strings.Contains(got.body, "secret") {
			t.Errorf("%v: %d %s", err, got.status, got.body)
		}
		if want == 503 && got.header.Get("Retry-After") != "1" {
			t.Errorf("%v: no Retry-After", err)
		}
	}
}

func TestAPanicIsOneRequestsAndItsTextStaysOut(t *testing.T) {
	g := serve(t, nil)
	g.chats.panics = true
	got := g.call("POST", "/api/chat?token=in-the-url", `{"text":"hi, my private words"}`)
	if got.status != 500 || got.detail() == nil {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if g.call("GET", "/api/health", "").status != 200 {
		t.Error("the gateway did not go on")
	}
	logs := g.logs.String()
	for _, secret := range []string{"private", token, "in-the-url"} {
		if strings.Contains(logs, secret) || strings.Contains(got.body, secret) {
			t.Errorf("%q was written: %s", secret, logs)
		}
	}
	if !strings.Contains(logs, "a panic was caught") || !strings.Contains(logs, `route="POST /api/chat"`) {
		t.Errorf("the log does not tell: %s", logs)
	}
}

func TestADeadlineIsAnswered(t *testing.T) {
	g := serve(t, func(o *Options) { o.Timeout = 20 * time.Millisecond })
	for i := range g.srv.table {
		g.srv.table[i].Timeout = min(g.srv.table[i].Timeout, 20*time.Millisecond)
	}
	if got := g.call("POST", "/api/models/test", `{"model":"a/b","role":"slow"}`); got.status != 504 || got.detail() == nil {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestWindow(t *testing.T) {
	g := serve(t, func(o *Options) {
		o.Window = fstest.MapFS{"index.html": {Data: []byte("<p>hi")}, "app.js": {Data: []byte("1")}, "assets/x.css": {Data: []byte("p{}")}}
	})
	for path, want := range map[string]string{"/": "text/html; charset=utf-8", "/app.js": "text/javascript; charset=utf-8", "/assets/x.css": "text/css; charset=utf-8"} {
		got := g.call("GET", path, "", "Authorization: -")
		csp := got.header.Get("Content-Security-Policy")
		if got.status != 200 || got.header.Get("Content-Type") != want || !strings.Contains(csp, "script-src 'self';") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: %d %v", path, got.status, got.header)
		}
	}
	for path, want := range map[string]int{"/none.js": 404, "/assets": 404, "/api": 401, "/x/%2e%2e/app.js": 400} {
		if got := g.call("GET", path, "", "Authorization: -"); got.status != want {
			t.Errorf("%s: %d", path, got.status)
		}
	}
	if got := g.call("POST", "/", "", "Authorization: -"); got.status != 405 {
		t.Errorf("POST /: %d", got.status)
	}
	if got := g.call("GET", "/", "", "Host: evil.example"); got.status != 403 {
		t.Errorf("another host's window: %d", got.status)
	}
}

//
func TestApprovalOverREST(t *testing.T) {
	g := serve(t, nil)
	g.chats.answers["ap1"] = ""
	for _, p := range []probe{{body: `{"approval_id":"ap1","decision":"perhaps"}`, want: 404}, {body: `{"approval_id":"ap1","decision":"allow"}`, want: 200},
		{body: `{"approval_id":"ap1","decision":"allow"}`, want: 404}, {body: `{"approval_id":"ap2","decision":"deny"}`, want: 404}} {
		got := g.call("POST", "/api/approvals", p.body)
		if got.status != p.want || (p.want == 200 && got.body != `{"resolved":true}`) {
			t.Errorf("%s: %d %s", p.body, got.status, got.body)
		}
	}
}

//
func TestMessagesAreOldestFirst(t *testing.T) {
	g := serve(t, nil)
	g.chats.make("c1")
	got := g.call("GET", "/api/sessions/c1/messages", "")
	if first, second := strings.Index(got.body, `"id":"m1"`), strings.Index(got.body, `"id":"m2"`); first < 0 || second < first {
		t.Errorf("%s", got.body)
	}
	if got := g.call("GET", "/api/sessions/none/messages", ""); got.status != 404 {
		t.Errorf("a chat that does not exist: %d", got.status)
	}
}

// A disk that is too full for an upload is told like one that is too full for a message.
func TestAFullDiskIsToldPlainly(t *testing.T) {
	status, detail, surprise := statusOf(fmt.Errorf("the file a cannot be saved: %w", syscall.ENOSPC))
	if status != 507 || detail != msg.ErrDiskFull.Text || surprise {
		t.Error(status, detail, surprise)
	}
}

// Damage in the store is told as what it is, not as something to try again, and without the record's key.
func TestDamageIsToldPlainly(t *testing.T) {
	status, detail, surprise := statusOf(fmt.Errorf("read: %w", &journal.CorruptError{Key: "r/messages", Err: io.ErrUnexpectedEOF}))
	if text, _ := detail.(string); status != 500 || !surprise || !strings.Contains(text, "damaged") || strings.Contains(text, "r/messages") {
		t.Error(status, detail, surprise)
	}
}
