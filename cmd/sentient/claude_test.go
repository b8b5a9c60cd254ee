package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sentient/transport/llm/llmtest"
)

// The tests' claude is a script that starts this test binary again. It speaks stream-json as the real one does, starts the bridge
// it is told of, and does what the newest message says.
const beClaude = "SENTIENT_TEST_IS_CLAUDE"

// installClaude puts it on PATH. Its notes go to the folder that is answered.
func installClaude(t *testing.T) (notes string) {
	t.Helper()
	bin, notes := t.TempDir(), t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\nunset %s\nexport %s='%s'\nexec '%s' \"$@\"\n", beTheProgram, beClaude, notes, self)
	if err := os.WriteFile(filepath.Join(bin, "claude"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	return notes
}

func fakeNote(name, text string) {
	f, err := os.OpenFile(filepath.Join(os.Getenv(beClaude), name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, _ = fmt.Fprintln(f, text)
		_ = f.Close()
	}
}

func fakeClaude() {
	if slices.Contains(os.Args, "--version") {
		fakeNote("versions", "asked")
		fmt.Println("9.9 (Claude Code)")
		return
	}
	in, _ := bufio.NewReader(os.Stdin).ReadString('\n')
	for _, name := range []string{"SENTIENT_GATEWAY_TOKEN", "ANTHROPIC_API_KEY"} {
		if os.Getenv(name) != "" {
			fakeNote("leaks", name)
		}
	}
	i := slices.Index(os.Args, "--mcp-config")
	tools := []string{"ToolSearch"}
	if i > 0 {
		tools = append(tools, fakeBridge(os.Args[i+1])...)
	}
	list, _ := json.Marshal(tools)
	fmt.Printf(`{"type":"system","subtype":"init","tools":%s}`+"\n", list)
	if strings.Contains(in, "Please hang.") {
		fmt.Println(`{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Half "}}}`)
		cmd := exec.Command("sleep", "600")
		_ = cmd.Start()
		fakeNote("pids", fmt.Sprintf("%d\n%d", os.Getpid(), cmd.Process.Pid))
		select {}
	}
	block, end := `{"type":"text","text":"It is late."}`, `{"type":"result","subtype":"success","is_error":false,"result":"It is late."}`
	if slices.Contains(tools, "mcp__sentient__current_datetime") && !strings.Contains(in, "tool_result") {
		block, end = `{"type":"tool_use","id":"toolu_01","name":"mcp__sentient__current_datetime","input":{}}`, `{"type":"result","subtype":"error_max_turns","is_error":false}`
	}
	fmt.Printf(`{"type":"assistant","message":{"id":"m","model":"claude-sonnet-5","content":[%s],"usage":{"input_tokens":100,"output_tokens":10}}}`+"\n%s\n", block, end)
}

// fakeBridge asks the bridge for its tools and tries one.
func fakeBridge(config string) (names []string) {
	raw, _ := os.ReadFile(config)
	var c struct {
		Servers map[string]struct {
			Command string
			Args    []string
		} `json:"mcpServers"`
	}
	_ = json.Unmarshal(raw, &c)
	cmd := exec.Command(c.Servers["sentient"].Command, c.Servers["sentient"].Args...)
	cmd.Env = append(os.Environ(), beTheProgram+"=1", beClaude+"=")
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		fakeNote("bridge", err.Error())
		return nil
	}
	r := bufio.NewReader(out)
	_, _ = io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`+"\n"+`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"current_datetime"}}`+"\n")
	line, _ := r.ReadString('\n')
	var a struct {
		Result struct{ Tools []struct{ Name string } }
	}
	_ = json.Unmarshal([]byte(line), &a)
	for _, t := range a.Result.Tools {
		names = append(names, "mcp__sentient__"+t.Name)
	}
	line, _ = r.ReadString('\n')
	fakeNote("bridge", strings.TrimSpace(line))
	_ = in.Close()
	_ = cmd.Wait()
	return names
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(path...))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(b)
}

// alive does not count a process that has ended and that nobody has reaped yet.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

func treeOf(t *testing.T, notes string) (pids []int) {
	for s := range strings.FieldsSeq(read(t, notes, "pids")) {
		if n, err := strconv.Atoi(s); err == nil {
			pids = append(pids, n)
		}
	}
	return pids
}

func leftFolders(p *process) int {
	list, _ := os.ReadDir(filepath.Join(p.home, "tmp", "claude-code"))
	return len(list)
}

type claudeSaid struct {
	Enabled, Installed, Everywhere bool
	Version                        *string
	Detail                         string
	Models, Roles                  []string
	FastModel                      string `json:"fast_model"`
	MaxConcurrent                  int    `json:"max_concurrent"`
	Running, Waiting               int
}

// A person turns Claude Code on and chats with it, tools included; roles that can't use it refuse it; turned back to chats only, the
// roles go home and it is said once.
func TestClaudeCode(t *testing.T) {
	notes := installClaude(t)
	t.Setenv("ANTHROPIC_API_KEY", "secret")
	p := start(t, newHome(t, scripted(t, llmtest.Options{}), ""))
	report := func() claudeSaid { return call[claudeSaid](p, "GET", "/api/models/claude-code", nil) }
	chats := []string{"primary", "voice", "vision"}
	r := report()
	// nothing is asked of the program while it is off.
	if r.Enabled || !r.Installed || r.Version != nil || r.Detail == "" || r.FastModel != "claude-code/haiku" || r.MaxConcurrent != 2 || !slices.Equal(r.Roles, chats) ||
		!slices.Equal(r.Models, []string{"claude-code/sonnet", "claude-code/opus"}) || read(t, notes, "versions") != "" {
		t.Fatalf("%+v", r)
	}
	// off, it is not available, and the sentence says so.
	off := call[map[string]any](p, "POST", "/api/models/test", map[string]any{"model": "claude-code/sonnet"})
	if off["ok"] != false || !strings.Contains(off["error"].(string), "turned off") {
		t.Fatal(off)
	}
	call[map[string]any](p, "PATCH", "/api/config", `{"models":{"experimental_claude_code":true}}`)
	if r = report(); !r.Enabled || r.Version == nil || *r.Version != "9.9 (Claude Code)" || r.Everywhere {
		t.Fatalf("%+v", r)
	}
	//
	if status, out := p.try("PUT", "/api/models/roles", map[string]any{"planner": "claude-code/opus"}); status != 400 || !strings.Contains(string(out), "Pick a planner model in Settings > Models.") {
		t.Fatalf("%d %s", status, out)
	}
	call[map[string]any](p, "PUT", "/api/models/roles", map[string]any{"primary": "claude-code/sonnet"})

	events := p.chat(map[string]any{"text": "What time is it?"})
	var kinds []string
	for _, e := range events {
		kinds = append(kinds, e["type"].(string))
	}
	done := events[len(events)-1]
	if done["content"] != "It is late." || !slices.Contains(kinds, "tool_result") {
		t.Fatalf("%v %s", events, p.out)
	}
	if !strings.Contains(read(t, notes, "bridge"), `"isError":true`) || read(t, notes, "leaks") != "" {
		t.Fatalf("%q %q", read(t, notes, "bridge"), read(t, notes, "leaks"))
	}
	if n := leftFolders(p); n != 0 {
		t.Fatalf("%d scratch folders are left", n)
	}
	if tested := call[map[string]any](p, "POST", "/api/models/test", map[string]any{"model": "claude-code/sonnet", "role": "planner"}); tested["ok"] != true {
		t.Fatal(tested)
	}
	//
	cost := call[struct {
		Periods []struct {
			Key    string
			ByRole []map[string]any `json:"claude_code_by_role"`
		}
	}](p, "GET", "/api/usage/cost", nil)
	if b := cost.Periods[0].ByRole; len(b) == 0 || !slices.ContainsFunc(b, func(m map[string]any) bool { return m["role"] == "primary" && m["calls"].(float64) >= 2 }) {
		t.Fatalf("%+v", cost)
	}

	// both switches, then every role but embedding.
	call[map[string]any](p, "PATCH", "/api/config", `{"models":{"claude_code_everywhere":true,"fallbacks":{"planner":["lm_studio/plan"]}}}`)
	if r = report(); !r.Everywhere || len(r.Roles) != 6 {
		t.Fatalf("%+v", r)
	}
	call[map[string]any](p, "PUT", "/api/models/roles", map[string]any{"planner": "claude-code/opus"})
	w := p.dial("")
	w.next("hello")
	got := call[struct {
		Config struct {
			Models struct{ Roles map[string]*string }
		}
	}](p, "PATCH", "/api/config", `{"models":{"claude_code_everywhere":false}}`)
	roles := got.Config.Models.Roles
	if roles == nil {
		t.Fatalf("%+v", got)
	}
	if *roles["planner"] != "lm_studio/plan" || *roles["executor"] != "lm_studio/test" || *roles["primary"] != "claude-code/sonnet" {
		t.Fatalf("%+v", roles)
	}
	n := w.next("notification.new")["data"].(map[string]any)
	payload, _ := json.Marshal(n["payload"])
	if n["title"] != "Claude Code is back to chats only" || n["kind"] != "info" ||
		string(payload) != `{"kind":"claude_code_roles","moved":[{"model":"claude-code/opus","role":"planner","to":"lm_studio/plan"},{"model":"claude-code/sonnet","role":"executor","to":"lm_studio/test"}]}` { // A-367
		t.Fatalf("%v %s", n, payload)
	}
}

// Stopping a reply ends the whole tree; killing the engine too, and the next start removes what an hour has passed over.
func TestClaudeCodeEnds(t *testing.T) {
	notes := installClaude(t)
	p := start(t, newHome(t, nil, "models:\n  experimental_claude_code: true\n  roles:\n    primary: claude-code/sonnet\n    fast: demo/guide\n"))
	w := p.dial("")
	w.next("hello")
	w.send(map[string]any{"type": "chat.send", "text": "Please hang."})
	s := w.next("session")
	w.next("text_delta")
	eventually(t, "the tree", func() bool { return len(treeOf(t, notes)) == 2 })
	if r := call[claudeSaid](p, "GET", "/api/models/claude-code", nil); r.Running != 1 || r.Waiting != 0 {
		t.Fatalf("%+v", r)
	}
	w.send(map[string]any{"type": "chat.cancel", "session_id": s["session_id"]})
	if d := w.next("done"); d["cancelled"] != true {
		t.Fatal(d)
	}
	eventually(t, "the tree to be dead", func() bool { return !slices.ContainsFunc(treeOf(t, notes), alive) && leftFolders(p) == 0 })

	w.send(map[string]any{"type": "chat.send", "text": "Please hang."})
	w.next("text_delta")
	eventually(t, "the second tree", func() bool { return len(treeOf(t, notes)) == 4 })
	p.kill()
	eventually(t, "the second tree to be dead", func() bool { return !slices.ContainsFunc(treeOf(t, notes), alive) })
	if leftFolders(p) != 1 {
		t.Fatal("a killed engine leaves its folder")
	}
	list, _ := os.ReadDir(filepath.Join(p.home, "tmp", "claude-code"))
	old := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(filepath.Join(p.home, "tmp", "claude-code", list[0].Name()), old, old); err != nil {
		t.Fatal(err)
	}
	p = start(t, p.home)
	eventually(t, "the old folder to go", func() bool { return leftFolders(p) == 0 })
}
