package claude

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sentient/actors/msg"
)

// builtins are Claude Code's own tools, each refused by name in case "--tools" is not understood.
const builtins = "Agent,AskUserQuestion,Bash,BashOutput,CronCreate,CronDelete,CronList,Edit,EnterPlanMode,EnterWorktree,ExitPlanMode,ExitWorktree,Glob,Grep,KillShell,LS,LSP," +
	"ListMcpResourcesTool,Monitor,MultiEdit,NotebookEdit,NotebookRead,PowerShell,PushNotification,Read,ReadMcpResourceTool,RemoteTrigger,SendMessage,Skill,SlashCommand," +
	"Task,TaskCreate,TaskGet,TaskList,TaskOutput,TaskStop,TaskUpdate,TodoRead,TodoWrite,WebFetch,WebSearch,Write"

// server is the name of the bridge; its tools are mcp__sentient__<tool>.
const (
	server = "sentient"
	prefix = "mcp__" + server + "__"
)

// scratch is the folder of one process.
type scratch struct{ dir, system, tools, mcp string }

func (p *Program) newScratch(req msg.ModelRequest) (s scratch, err error) {
	if err = os.MkdirAll(p.o.Scratch, 0o700); err != nil {
		return s, err
	}
	if s.dir, err = os.MkdirTemp(p.o.Scratch, "reply-"); err != nil {
		return s, err
	}
	defer func() {
		if err != nil {
			_ = s.remove() // the first error is the one to tell
		}
	}()
	s.system = filepath.Join(s.dir, "system.txt")
	if err = os.WriteFile(s.system, []byte(systemPrompt(req)), 0o600); err != nil || len(req.Tools) == 0 {
		return s, err
	}
	s.tools, s.mcp = filepath.Join(s.dir, "tools.json"), filepath.Join(s.dir, "mcp.json")
	tools, err := json.Marshal(bridged(req.Tools))
	if err != nil {
		return s, err
	}
	servers, err := json.Marshal(map[string]any{"mcpServers": map[string]any{server: map[string]any{"type": "stdio", "command": p.o.Bridge[0],
		"args": append(append([]string{}, p.o.Bridge[1:]...), s.tools), "env": map[string]string{}}}})
	if err != nil {
		return s, err
	}
	return s, errors.Join(os.WriteFile(s.tools, tools, 0o600), os.WriteFile(s.mcp, servers, 0o600))
}

// remove deletes the folder; where a program that has just ended still holds a file of it, a few times.
func (s scratch) remove() error {
	var err error
	for range 10 {
		if err = os.RemoveAll(s.dir); err == nil {
			return nil
		}
		time.Sleep(300 * time.Millisecond)
	}
	return err
}

func (p *Program) args(s scratch, model string, req msg.ModelRequest) []string {
	args := []string{"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--include-partial-messages",
		"--model", model, "--tools", "", "--disallowedTools", builtins, "--permission-mode", "dontAsk", "--setting-sources=", "--strict-mcp-config",
		"--disable-slash-commands", "--no-session-persistence", "--max-turns", "1", "--system-prompt-file", s.system}
	if s.mcp != "" {
		args = append(args, "--mcp-config", s.mcp)
	}
	if req.Reasoning != "" && req.Reasoning != "none" {
		args = append(args, "--effort", req.Reasoning)
	}
	return args
}

// environment is the engine's without its own secrets and without what would make Claude Code use something other than the plan's
// login. CLAUDE_CONFIG_DIR stays: it says where that login is.
func environment(all []string) []string {
	out := make([]string, 0, len(all)+1)
	for _, e := range all {
		name, _, ok := strings.Cut(e, "=")
		if ok && name != "" && !dropped(strings.ToUpper(name)) {
			out = append(out, e)
		}
	}
	return append(out, "ENABLE_TOOL_SEARCH=false")
}

func dropped(name string) bool {
	for _, p := range []string{"ANTHROPIC_", "CLAUDE_CODE_USE_", "CLAUDE_CODE_OAUTH_"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	switch name {
	case "CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_SDK_HAS_HOST_AUTH_REFRESH", "ENABLE_TOOL_SEARCH", "SENTIENT_GATEWAY_TOKEN", "SENTIENT_SECRETS_KEY":
		return true
	}
	return false
}

// Sweep removes folders older than an hour, which a killed engine left.
func (p *Program) Sweep(now time.Time) error {
	list, err := os.ReadDir(p.o.Scratch)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, d := range list {
		info, err := d.Info()
		if err == nil && now.Sub(info.ModTime()) > time.Hour {
			errs = append(errs, os.RemoveAll(filepath.Join(p.o.Scratch, d.Name())))
		}
	}
	return errors.Join(errs...)
}
