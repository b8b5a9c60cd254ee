package main

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sentient/transport/llm/llmtest"
)

// A newcomer without any model: the guide shows a reply, a tool call and an approval; a restart loses nothing.
func TestANewcomer(t *testing.T) {
	p := start(t, newHome(t, nil, ""))
	boot := call[map[string]any](p, "GET", "/api/bootstrap", nil)
	for _, k := range []string{"version", "home", "assistant", "models", "memory_enabled", "unread_notifications", "ui", "features", "stop"} {
		if _, ok := boot[k]; !ok {
			t.Errorf("bootstrap has no %s", k)
		}
	}
	call[map[string]any](p, "POST", "/api/onboarding", map[string]any{"user_name": "Maya", "assistant_name": "Iris", "persona": "concise", "location": "Pune, India"})
	call[map[string]any](p, "PUT", "/api/models/roles", map[string]any{"primary": "demo/guide", "fast": "demo/guide"})
	w := p.dial("")
	if h := w.next("hello"); h["assistant"] != "Iris" || h["version"] == "" {
		t.Fatalf("%v", h)
	}
	w.send(map[string]any{"type": "chat.send", "text": "What time is it?", "client_id": "c1"})
	s := w.next("session")
	if s["client_id"] != "c1" {
		t.Fatalf("%v", s)
	}
	w.next("tool_result")
	if d := w.next("done"); d["content"] == "" || d["error"] != nil {
		t.Fatalf("%v", d)
	}
	id := s["session_id"].(string)
	w.send(map[string]any{"type": "chat.send", "session_id": id, "text": "Save a note: buy milk"})
	w.next("done") // a file of its own folder needs no question
	w.send(map[string]any{"type": "chat.send", "session_id": id, "text": "Show me an approval"})
	ask := w.next("approval_request")
	if ask["name"] != "show_approval" || ask["risk"] != "write" {
		t.Fatalf("%v", ask)
	}
	w.send(map[string]any{"type": "approval.respond", "approval_id": ask["approval_id"], "decision": "allow"})
	if a := w.next("approval.ack"); a["resolved"] != true || a["approval_id"] != ask["approval_id"] {
		t.Fatalf("%v", a)
	}
	w.next("done")
	if files := call[[]map[string]any](p, "GET", "/api/files", nil); len(files) != 1 {
		t.Fatalf("%v", files)
	}
	user, err := os.ReadFile(filepath.Join(p.home, "workspace", "USER.md"))
	if err != nil || !strings.Contains(string(user), "Maya") || !strings.Contains(string(user), "Pune") {
		t.Fatalf("%s %v", user, err)
	}
	before := p.transcript(id)
	p.stop()
	p = start(t, p.home)
	if got := p.transcript(id); got != before || !strings.Contains(got, "Save a note") {
		t.Fatalf("after a restart:\n%s\nbefore:\n%s", got, before)
	}
	if b := call[map[string]any](p, "GET", "/api/bootstrap", nil); b["assistant"].(map[string]any)["onboarding_complete"] != true {
		t.Fatalf("%v", b)
	}
	cfg, _ := os.ReadFile(filepath.Join(p.home, "config.yaml"))
	if !strings.HasPrefix(string(cfg), "# mine\n") || !strings.Contains(string(cfg), "port: 0 # any") || !strings.Contains(string(cfg), "Maya") {
		t.Fatalf("the person's own lines are gone:\n%s", cfg)
	}
}

// kill -9 in the middle of a reply: ready again, the reply kept as far as it was saved, one done that a window can fetch,
// nothing asked again, and the chat goes on.
func TestKilledInTheMiddleOfAReply(t *testing.T) {
	model := scripted(t, llmtest.Options{Load: &llmtest.Load{Tokens: 1000, Every: 20 * time.Millisecond, Token: "word "}})
	p := start(t, newHome(t, model, ""))
	w := p.dial("")
	hello := w.next("hello")
	w.send(map[string]any{"type": "chat.send", "text": "Talk."})
	s := w.next("session")
	id, turn := s["session_id"].(string), s["turn_id"]
	var got strings.Builder
	for strings.Count(got.String(), "word ") < 120 { // more than two seconds: at least one checkpoint is on disk
		got.WriteString(w.next("text_delta")["text"].(string))
	}
	p.kill()
	asked := len(model.Requests())
	p = start(t, p.home)
	eventually(t, "the reply to be settled", func() bool { return strings.Contains(p.transcript(id), "(interrupted)") })
	rows := call[[]row](p, "GET", "/api/sessions/"+id+"/messages", nil)
	last := rows[len(rows)-1]
	if n := strings.Count(last.Content, "word "); n < 40 || !strings.HasSuffix(last.Content, "\n\n(interrupted)") {
		t.Fatalf("%d words were kept", n)
	}
	w = p.dial(fmt.Sprintf("&after=%v", hello["seq"]))
	var done map[string]any
	for done == nil || done["turn_id"] != turn {
		done = w.next("done")
	}
	if done["cancelled"] != true || done["message_id"] != last.ID || done["replay"] != true {
		t.Fatalf("%v", done)
	}
	if n := len(model.Requests()); n != asked {
		t.Fatal("the model was asked again by itself")
	}
	model.Enqueue(llmtest.Text("Here again."))
	p.chat(map[string]any{"session_id": id, "text": "Are you there?"})
	if got := p.transcript(id); !strings.HasSuffix(got, "user: Are you there?\nassistant: Here again.\n") {
		t.Fatal(got)
	}
}

// A second engine on the same home is refused with a sentence that says which process has it (DECISIONS 21).
func TestTwoEnginesOnOneHome(t *testing.T) {
	p := start(t, newHome(t, nil, ""))
	out, err := command(p.home, "serve", "--port", "0").CombinedOutput()
	if err == nil || !strings.Contains(string(out), fmt.Sprintf("(process %d)", p.cmd.Process.Pid)) {
		t.Fatalf("%v %s", err, out)
	}
	if status, _ := p.try("GET", "/api/bootstrap", nil); status != 200 {
		t.Fatal("the first engine was harmed")
	}
}

// whatever a provider does wrong, the turn ends with one error and one done, and the chat goes on.
func TestProvidersThatFail(t *testing.T) {
	model := scripted(t, llmtest.Options{})
	p := start(t, newHome(t, model, ""))
	for name, bad := range map[string]llmtest.Reply{
		"401":              llmtest.Fail(401, "bad key sk-secret-0123456789"),
		"402":              llmtest.Fail(402, "no credits"),
		"404":              llmtest.Fail(404, "no such model"),
		"429":              llmtest.Fail(429, "slow down"),
		"500":              llmtest.Fail(500, "oops"),
		"503":              llmtest.Fail(503, "overloaded"),
		"malformed":        {Steps: []llmtest.Step{{Text: "Hel"}, {Raw: "data: {nonsense\n\n"}}},
		"cut":              {Steps: []llmtest.Step{{Text: "Hel"}, {Cut: true}}},
		"error in stream":  {Steps: []llmtest.Step{{Text: "Hel"}, {Error: "exploded"}}},
		"ends without end": {Steps: []llmtest.Step{{Text: "Hel"}}, NoEnd: true},
	} {
		model.Enqueue(bad)
		events := p.chat(map[string]any{"text": name})
		errs, dones := 0, 0
		for _, e := range events {
			switch e["type"] {
			case "error":
				errs++
				if m := e["message"].(string); m == "" || strings.Contains(m, "sk-secret") || strings.Contains(m, "goroutine") || e["recoverable"] != false {
					t.Errorf("%s: %v", name, e)
				}
			case "done":
				dones++
				if e["error"] == nil || e["content"] != "" || e["message_id"] != nil {
					t.Errorf("%s: %v", name, e)
				}
			}
		}
		id := events[0]["session_id"].(string)
		if errs != 1 || dones != 1 {
			t.Errorf("%s: %d errors, %d dones", name, errs, dones)
		}
		if got := p.transcript(id); got != "user: "+name+"\n" {
			t.Errorf("%s left %s", name, got)
		}
		model.Enqueue(llmtest.Text("Fine now."))
		p.chat(map[string]any{"session_id": id, "text": "again"})
		if got := p.transcript(id); !strings.HasSuffix(got, "assistant: Fine now.\n") {
			t.Errorf("%s: the chat does not go on: %s", name, got)
		}
	}
	log, err := os.ReadFile(filepath.Join(p.home, "logs", "engine.log"))
	if err != nil || strings.Contains(string(log), "sk-secret-0123456789") || strings.Contains(string(log), testToken) {
		t.Fatal("the log holds a secret, or is not there", err)
	}
}

// Files: uploaded, attached, read by the model, listed, gone; a name never points at another file later.
func TestFiles(t *testing.T) {
	model := scripted(t, llmtest.Options{})
	p := start(t, newHome(t, model, ""))
	up := func(name, body string) map[string]any {
		var b bytes.Buffer
		m := multipart.NewWriter(&b)
		f, _ := m.CreateFormFile("file", name)
		_, _ = io.WriteString(f, body)
		m.Close()
		req, _ := http.NewRequest("POST", p.url+"/api/files", &b)
		req.Header.Set("Authorization", "Bearer "+testToken)
		req.Header.Set("Content-Type", m.FormDataContentType())
		res, err := http.DefaultClient.Do(req)
		if err != nil || res.StatusCode != 200 {
			t.Fatal(res, err)
		}
		defer res.Body.Close()
		out, _ := io.ReadAll(res.Body)
		return decode[map[string]any](t, out)
	}
	a := up("plan.txt", "the secret plan")
	name := a["name"].(string)
	p.chat(map[string]any{"text": "Read this.", "attachments": []string{name}})
	if r := model.Requests(); !strings.Contains(string(r[0].Body), "the secret plan") {
		t.Fatal("the model did not get the file")
	}
	if status, body := p.try("GET", "/api/files/content/"+name, nil); status != 200 || string(body) != "the secret plan" {
		t.Fatal(status, string(body))
	}
	call[map[string]any](p, "DELETE", "/api/files/"+name, nil)
	if status, _ := p.try("GET", "/api/files/content/"+name, nil); status != 404 {
		t.Fatal(status)
	}
	if again := up("plan.txt", "another"); again["name"] == name {
		t.Fatal("a name that a message has was given again")
	}
	for _, bad := range []string{"../config.yaml", "..%2fconfig.yaml", "%2e%2e/gateway.token", "uploads/../../config.yaml"} {
		if status, body := p.try("GET", "/api/files/content/"+bad, nil); status < 400 || status >= 500 || strings.Contains(string(body), "gateway") {
			t.Errorf("%s: %d %s", bad, status, body)
		}
	}
}

// messages are found by their words, incognito ones never; a deleted chat is not found any more.
func TestSearch(t *testing.T) {
	model := scripted(t, llmtest.Options{Script: func(llmtest.Request) llmtest.Reply { return llmtest.Text("Certainly.") }})
	p := start(t, newHome(t, model, ""))
	id := p.chat(map[string]any{"text": "Where did I put the zanzibar notebook?"})[0]["session_id"].(string)
	p.chat(map[string]any{"text": "A private zanzibar thought", "incognito": true})
	find := func(q string) []map[string]any {
		return call[[]map[string]any](p, "GET", "/api/sessions/search?q="+q, nil)
	}
	hits := find("zanzibar")
	if len(hits) != 1 || hits[0]["session_id"] != id || hits[0]["role"] != "user" || !strings.Contains(hits[0]["snippet"].(string), "zanzibar") || hits[0]["message_id"] == "" {
		t.Fatalf("%v", hits)
	}
	call[map[string]any](p, "DELETE", "/api/sessions/"+id, nil)
	if hits = find("zanzibar"); len(hits) != 0 {
		t.Fatalf("%v", hits)
	}
	if hits = find("%22unbalanced+AND+%28"); len(hits) != 0 {
		t.Fatalf("%v", hits)
	}
}

// DECISIONS 22: an incognito chat is shown only where it was opened: not live, not in a replay, not to a socket that asks for it
// by name, and not once it is deleted.
func TestIncognitoIsShownOnlyWhereItWasOpened(t *testing.T) {
	model := scripted(t, llmtest.Options{})
	p := start(t, newHome(t, model, "tools:\n  approvals:\n    mode: always\n"))
	model.Enqueue(llmtest.Tools(llmtest.Call{ID: "c", Name: "file_write", Arguments: `{"name":"a.txt","content":"zanzibar"}`}), llmtest.Text("zanzibar"))
	own, other := p.dial(""), p.dial("")
	own.send(map[string]any{"type": "chat.send", "text": "A zanzibar thought", "incognito": true})
	ask := own.next("approval_request")
	id := ask["session_id"].(string)
	look := func(when string) {
		t.Helper()
		for _, s := range []*socket{other, p.dial("&after=0"), p.dial("&after=0&sessions=" + id)} {
			s.send(map[string]any{"type": "ping"})
			for _, e := range s.until("pong") {
				if e["session_id"] == id {
					t.Errorf("%s, another window got %v", when, e)
				}
			}
		}
	}
	look("while it asks")
	own.send(map[string]any{"type": "approval.respond", "approval_id": ask["approval_id"], "decision": "deny"})
	own.next("done")
	look("when it has answered")
	call[map[string]any](p, "DELETE", "/api/sessions/"+id, nil)
	look("when it is deleted")
}

// Deleted means gone: once the eraser ran, no byte of a deleted chat is in the home folder (the log's notes included).
func TestDeletedIsGone(t *testing.T) {
	const secret = "xylophone-marmalade-7731"
	model := scripted(t, llmtest.Options{})
	p := start(t, newHome(t, model, ""))
	model.Enqueue(llmtest.Text("You said "+secret), llmtest.Text("Fine."))
	id := p.chat(map[string]any{"text": "Remember " + secret})[0]["session_id"].(string)
	p.chat(map[string]any{"text": "something else"})
	call[[]map[string]any](p, "GET", "/api/sessions/search?q=xylophone", nil) // the index has it too
	call[map[string]any](p, "PATCH", "/api/sessions/"+id, map[string]any{"title": "About " + secret})
	call[map[string]any](p, "DELETE", "/api/sessions/"+id, nil)
	eventually(t, "the deleted words to be gone from the disk", func() bool { return bytesIn(t, p.home, "xylophone") == "" })
}

// bytesIn names a file below dir that holds the word, "" when none does.
func bytesIn(t *testing.T, dir, word string) (found string) {
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		if b, err := os.ReadFile(path); err == nil && bytes.Contains(b, []byte(word)) {
			found = path
		}
		return nil
	})
	return found
}

// A change of the settings holds at once, is told to windows, and is refused with its place when it cannot work.
func TestSettings(t *testing.T) {
	p := start(t, newHome(t, nil, "future:\n  key: 1\n"))
	w := p.dial("")
	w.next("hello")
	call[map[string]any](p, "PATCH", "/api/config", `{"chat":{"history_window":12}}`)
	if e := w.next("config.updated"); fmt.Sprint(e["data"]) != "map[sections:[chat]]" || e["ts"] == nil || e["session_id"] != nil {
		t.Fatalf("%v", e)
	}
	cfg := call[map[string]any](p, "GET", "/api/config", nil)
	if cfg["chat"].(map[string]any)["history_window"] != 12.0 {
		t.Fatalf("%v", cfg["chat"])
	}
	status, body := p.try("PATCH", "/api/config", `{"chat":{"history_window":"many"}}`)
	if status != 422 || !strings.Contains(string(body), `"loc":["chat","history_window"]`) {
		t.Fatal(status, string(body))
	}
	cfg["ui"].(map[string]any)["theme"] = "light"
	call[map[string]any](p, "PUT", "/api/config", cfg)
	if got := call[map[string]any](p, "GET", "/api/bootstrap", nil)["ui"].(map[string]any)["theme"]; got != "light" {
		t.Fatal(got)
	}
	file := filepath.Join(p.home, "config.yaml")
	text, _ := os.ReadFile(file)
	if !strings.Contains(string(text), "future:") {
		t.Fatalf("an unknown key was lost:\n%s", text)
	}
	// A person's own edit.
	if err := os.WriteFile(file, bytes.Replace(text, []byte("light"), []byte("system"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	w.next("config.updated")
	for {
		if e := w.next("config.updated"); strings.Contains(fmt.Sprint(e["data"]), "ui") {
			break
		}
	}
	if got := call[map[string]any](p, "GET", "/api/bootstrap", nil)["ui"].(map[string]any)["theme"]; got != "system" {
		t.Fatal(got)
	}
}

// at shutdown incognito chats go, with the long results they read; files they wrote on
// request stay. What a crash left behind goes at the next start.
func TestIncognitoChatsEnd(t *testing.T) {
	model := scripted(t, llmtest.Options{})
	p := start(t, newHome(t, model, ""))
	big := strings.Repeat("0123456789 ", 9000)
	if err := os.WriteFile(filepath.Join(p.home, "files", "big.txt"), []byte(big), 0o600); err != nil {
		t.Fatal(err)
	}
	model.Enqueue(llmtest.Tools(llmtest.Call{Name: "file_write", Arguments: `{"name":"wish.md","content":"a boat"}`}, llmtest.Call{Name: "file_list", Arguments: `{}`}), llmtest.Text("Done."))
	id := p.chat(map[string]any{"text": "Write my wish", "incognito": true})[0]["session_id"].(string)
	results := filepath.Join(p.home, "files", "outputs", "incognito-"+id)
	if err := os.MkdirAll(results, 0o700); err != nil { // as a long result leaves it
		t.Fatal(err)
	}
	gone := filepath.Join(p.home, "files", "outputs", "incognito-01ARZ3NDEKTSV4RRFFQ69G5FAV")
	if err := os.MkdirAll(gone, 0o700); err != nil { // as a crash leaves it
		t.Fatal(err)
	}
	if list := call[[]map[string]any](p, "GET", "/api/sessions", nil); len(list) != 1 || list[0]["incognito"] != true {
		t.Fatalf("%v", list)
	}
	p.stop()
	if _, err := os.Stat(results); !os.IsNotExist(err) {
		t.Error("its results are still there")
	}
	if b, _ := os.ReadFile(filepath.Join(p.home, "files", "wish.md")); string(b) != "a boat" {
		t.Errorf("the file it wrote on request: %q", b)
	}
	p = start(t, p.home)
	eventually(t, "the folder of a chat that is gone to be removed", func() bool { _, err := os.Stat(gone); return os.IsNotExist(err) })
	if list := call[[]map[string]any](p, "GET", "/api/sessions", nil); len(list) != 0 {
		t.Fatalf("%v", list)
	}
}

// Settings sees every tool, also one that may never be used. A-004: ids are strings. A-245: no tool trusts a chat.
func TestToolCatalogAndIDs(t *testing.T) {
	model := scripted(t, llmtest.Options{})
	p := start(t, newHome(t, model, "tools:\n  approvals:\n    rules:\n      web: never\n"))
	var names []string
	for _, plugin := range call[[]map[string]any](p, "GET", "/api/tools", nil) {
		for _, k := range []string{"id", "display_name", "description", "category", "icon", "auth", "selection_hint"} {
			if _, ok := plugin[k].(string); !ok {
				t.Errorf("%v has no %s", plugin["id"], k)
			}
		}
		for _, tool := range plugin["tools"].([]any) {
			names = append(names, tool.(map[string]any)["name"].(string))
		}
	}
	all := strings.Join(names, " ")
	for _, want := range []string{"current_datetime", "file_list", "file_read", "file_write", "web_fetch", "web_search"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %s in %s", want, all)
		}
	}
	if strings.Contains(all, "trust") || strings.Contains(all, "show_approval") {
		t.Error("a tool may trust chats, or the guide's own is listed: " + all)
	}
	model.Enqueue(llmtest.Tools(llmtest.Call{Name: "current_datetime", Arguments: `{}`}), llmtest.Text("Late."))
	for _, e := range p.chat(map[string]any{"text": "time?"}) {
		for k, v := range e {
			if _, ok := v.(string); !ok && v != nil && strings.HasSuffix(k, "_id") {
				t.Errorf("%s is %v", k, v)
			}
		}
	}
	for _, r := range model.Requests()[:1] {
		if strings.Contains(string(r.Body), `"name":"web_fetch"`) || strings.Contains(string(r.Body), `show_approval`) || !strings.Contains(string(r.Body), `"name":"web_search"`) {
			t.Error("a tool that is never used was offered, or one that may be was not")
		}
	}
}
