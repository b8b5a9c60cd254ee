//go:build linux

package claude

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The tests' claude is this test binary, started with FAKE_CLAUDE naming what it does. It speaks stream-json as the real one does.
func TestMain(m *testing.M) {
	switch mode := os.Getenv("FAKE_CLAUDE"); {
	case len(os.Args) > 1 && os.Args[1] == "claude-code-tools":
		tools, err := os.ReadFile(os.Args[2])
		if err == nil {
			err = Bridge(tools, os.Stdin, os.Stdout)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case mode != "":
		fake{os.Getenv("FAKE_DIR")}.run(mode)
	default:
		goleak.VerifyTestMain(m)
	}
}

type fake struct{ dir string }

func flagOf(name string) string {
	for i, a := range os.Args {
		if a == name && i+1 < len(os.Args) {
			return os.Args[i+1]
		}
	}
	return ""
}

func say(lines ...string) {
	for _, l := range lines {
		fmt.Println(l)
	}
}

const fakeInit = `{"type":"system","subtype":"init","cwd":"/x","session_id":"s","tools":["mcp__sentient__weather","mcp__sentient__clock","EndConversation","ToolSearch"],"mcp_servers":[{"name":"sentient","status":"connected"}],"model":"claude-sonnet-5","permissionMode":"dontAsk"}`

func piece(event string) string {
	return `{"type":"stream_event","event":` + event + `,"parent_tool_use_id":null,"session_id":"s","uuid":"u"}`
}

func textPieces(parts ...string) []string {
	out := []string{piece(`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-5","content":[],"usage":{"input_tokens":4,"cache_creation_input_tokens":10,"cache_read_input_tokens":100,"output_tokens":1}}}`),
		piece(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)}
	for _, p := range parts {
		b, _ := json.Marshal(p)
		out = append(out, piece(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":`+string(b)+`}}`))
	}
	whole, _ := json.Marshal(strings.Join(parts, ""))
	return append(out,
		`{"type":"assistant","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-5","content":[{"type":"text","text":`+string(whole)+`}],"usage":{"input_tokens":4,"cache_creation_input_tokens":10,"cache_read_input_tokens":100,"output_tokens":1}},"parent_tool_use_id":null,"session_id":"s"}`,
		piece(`{"type":"content_block_stop","index":0}`),
		piece(`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":17}}`),
		piece(`{"type":"message_stop"}`))
}

const success = `{"type":"result","subtype":"success","is_error":false,"duration_ms":1200,"num_turns":1,"result":"x","session_id":"s","total_cost_usd":0.01,"usage":{"input_tokens":4,"cache_creation_input_tokens":10,"cache_read_input_tokens":100,"output_tokens":17}}`

func (f fake) run(mode string) {
	if len(os.Args) > 1 && os.Args[1] == "--version" {
		if mode == "mute" {
			os.Exit(3)
		}
		f.note("versions", "x")
		say("2.1.42 (Claude Code)")
		return
	}
	if mode == "deaf" { // never reads
		say(fakeInit)
		f.hang()
	}
	in, _ := bufio.NewReader(os.Stdin).ReadBytes('\n')
	f.record(in)
	switch mode {
	case "reply":
		say("a warning that is not JSON", `{"type":"system","subtype":"hook_started"}`, fakeInit)
		say(textPieces("Hello ", "from \u00fcber \U0001F642.")...)
		say(`{"type":"rate_limit_event","rate_limit_info":{}}`, success)
	case "whole": // an older one without pieces
		say(fakeInit, `{"type":"assistant","message":{"id":"m","model":"claude-sonnet-5","content":[{"type":"thinking","thinking":"Hm."},{"type":"text","text":"All at once."}],"usage":{"input_tokens":5,"output_tokens":3}},"session_id":"s"}`, success)
	case "tools":
		f.callTools()
	case "foreign":
		say(strings.Replace(fakeInit, `"EndConversation"`, `"Bash"`, 1))
		say(textPieces("I may run anything.")...)
		f.hang()
	case "foreigncall":
		say(fakeInit, piece(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t1","name":"Bash","input":{}}}`))
		f.hang()
	case "noinit":
		say(textPieces("Who needs that.")...)
		f.hang()
	case "hang":
		say(fakeInit)
		say(textPieces("Half ")[:3]...)
		f.hang()
	case "chatter": // alive, but saying nothing of a reply
		say(fakeInit)
		for {
			say(`{"type":"system","subtype":"still_here"}`)
			time.Sleep(5 * time.Millisecond)
		}
	case "die":
		say(fakeInit)
		say(textPieces("Half ")[:3]...)
		fmt.Fprintln(os.Stderr, "segmentation fault")
		os.Exit(139)
	case "early":
		fmt.Fprintln(os.Stderr, "error: unknown option '--effort'")
		os.Exit(1)
	case "huge":
		say(fakeInit)
		junk := strings.Repeat("x", 1<<20)
		for range 12 {
			_, _ = io.WriteString(os.Stdout, junk)
		}
		f.hang()
	case "left": // ends, but a process that left its group holds the output
		say(fakeInit)
		say(textPieces("Half ")[:3]...)
		cmd := exec.Command("sleep", "600")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		cmd.Stdout = os.Stdout
		if cmd.Start() == nil {
			f.note("left", fmt.Sprint(cmd.Process.Pid))
		}
	default: // a result's text
		say(fakeInit, `{"type":"assistant","message":{"id":"m","model":"<synthetic>","content":[{"type":"text","text":"not a reply"}]},"session_id":"s"}`)
		b, _ := json.Marshal(mode)
		say(`{"type":"result","subtype":"success","is_error":true,"result":` + string(b) + `,"session_id":"s"}`)
		os.Exit(1)
	}
}

func (f fake) note(name, text string) {
	w, err := os.OpenFile(filepath.Join(f.dir, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, _ = fmt.Fprintln(w, text)
		_ = w.Close()
	}
}

// record keeps what it was given.
func (f fake) record(in []byte) {
	system, _ := os.ReadFile(flagOf("--system-prompt-file"))
	cwd, _ := os.Getwd()
	b, _ := json.Marshal(map[string]any{"args": os.Args[1:], "env": os.Environ(), "stdin": string(in), "system": string(system), "cwd": cwd})
	_ = os.WriteFile(filepath.Join(f.dir, "given.json"), b, 0o600)
}

// hang stays with a child of its own, and neither ends when asked to.
func (f fake) hang() {
	signal.Ignore(syscall.SIGTERM)
	cmd := exec.Command("sh", "-c", `trap "" TERM; while :; do sleep 1; done`)
	_ = cmd.Start()
	f.note("pids", fmt.Sprintf("%d\n%d", os.Getpid(), cmd.Process.Pid))
	select {}
}

// callTools starts the bridge as the real one does, asks for two tools at once, and lets the bridge answer one.
func (f fake) callTools() {
	raw, _ := os.ReadFile(flagOf("--mcp-config"))
	var cfg struct {
		Servers map[string]struct {
			Command string
			Args    []string
		} `json:"mcpServers"`
	}
	_ = json.Unmarshal(raw, &cfg)
	s := cfg.Servers["sentient"]
	cmd := exec.Command(s.Command, s.Args...)
	cmd.Stderr = os.Stderr
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	r := bufio.NewReader(out)
	ask := func(line string, answered bool) string {
		_, _ = io.WriteString(in, line+"\n")
		if !answered {
			return ""
		}
		a, _ := r.ReadString('\n')
		f.note("bridge", strings.TrimSpace(a))
		return a
	}
	ask(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"claude-code","version":"2"}}}`, true)
	ask(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, false)
	var listed struct {
		Result struct{ Tools []struct{ Name string } }
	}
	_ = json.Unmarshal([]byte(ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, true)), &listed)
	names := []string{`"ToolSearch"`}
	for _, t := range listed.Result.Tools {
		names = append(names, fmt.Sprintf("%q", "mcp__sentient__"+t.Name))
	}
	say(`{"type":"system","subtype":"init","tools":[` + strings.Join(names, ",") + `]}`)
	say(piece(`{"type":"message_start","message":{"id":"m1","model":"claude-sonnet-5","content":[],"usage":{"input_tokens":50,"output_tokens":1}}}`),
		piece(`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}`),
		piece(`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Two at once."}}`),
		piece(`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"xx"}}`),
		piece(`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"mcp__sentient__weather","input":{}}}`),
		piece(`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"city\":"}}`),
		piece(`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"\"Z\u00fcrich\"}"}}`),
		`{"type":"assistant","message":{"id":"m1","model":"claude-sonnet-5","content":[{"type":"tool_use","id":"toolu_1","name":"mcp__sentient__weather","input":{"city":"Zürich"}}],"usage":{"input_tokens":50,"output_tokens":9}},"session_id":"s"}`,
		piece(`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_2","name":"mcp__sentient__clock","input":{}}}`),
		`{"type":"assistant","message":{"id":"m1","model":"claude-sonnet-5","content":[{"type":"tool_use","id":"toolu_2","name":"mcp__sentient__clock","input":{"zone":"UTC"}}],"usage":{"input_tokens":50,"output_tokens":9}},"session_id":"s"}`,
		piece(`{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_3","name":"ToolSearch","input":{}}}`),
		piece(`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":30}}`))
	ask(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"weather","arguments":{"city":"Zürich"}}}`, true)
	say(piece(`{"type":"message_stop"}`), `{"type":"result","subtype":"error_max_turns","is_error":false,"num_turns":2}`)
	f.note("pids", fmt.Sprintf("%d\n%d", os.Getpid(), cmd.Process.Pid))
	select {}
}
