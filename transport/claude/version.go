package claude

import (
	"context"
	"os"
	"strings"
	"time"

	"sentient/runtime/proc"
	"sentient/runtime/work"
)

// versioned is what a program file said of itself; another file, or a changed one, is asked anew.
type versioned struct {
	path string
	at   time.Time
	size int64
	text string
}

const versionWait = 10 * time.Second

// Installed reports whether there is a claude program.
func (p *Program) Installed() bool {
	_, err := p.o.Find()
	return err == nil
}

// Version is the program's own version line; false when it is not installed or does not answer. It calls no model.
func (p *Program) Version(ctx context.Context) (string, bool) {
	path, err := p.o.Find()
	if err != nil {
		return "", false
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", false
	}
	select {
	case p.asking <- struct{}{}:
		defer func() { <-p.asking }()
	case <-ctx.Done():
		return "", false
	}
	now := versioned{path: path, at: info.ModTime(), size: info.Size()}
	p.mu.Lock()
	known := p.version
	p.mu.Unlock()
	if now.text = known.text; known == now && known.text != "" {
		return known.text, true
	}
	now.text = p.askVersion(ctx, path)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.version = now
	return now.text, now.text != ""
}

func (p *Program) askVersion(ctx context.Context, path string) string {
	res, err := proc.Run(ctx, p.o.Table, proc.Spec{Run: work.Spec{ID: p.o.NewID(), Owner: "claude-code", Origin: work.User, Label: "Claude Code's version"},
		Path: path, Args: []string{"--version"}, EnvAllow: []string{}, Env: environment(p.o.Environ()), MaxStdout: 4096, Timeout: versionWait, Grace: grace})
	if err != nil || res.ExitCode != 0 {
		p.o.Logger.Info("claude --version gave no answer", "exit", res.ExitCode)
		return ""
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(res.Stdout)), "\n")
	return cut(strings.ToValidUTF8(strings.TrimSpace(line), "?"), 100)
}
