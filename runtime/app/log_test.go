package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func logged(t *testing.T, fn func(*slog.Logger)) (file, text string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "logs", "engine.log")
	var stderr bytes.Buffer
	logger, closer, err := NewLogger(LogOptions{Path: path, Stderr: &stderr})
	if err != nil {
		t.Fatal(err)
	}
	fn(logger)
	if err := closer.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Error("the log is readable by others")
	}
	return read(t, path), stderr.String()
}

type hook struct {
	Name      string            `json:"name"`
	AuthToken string            `json:"auth_token"`
	Headers   map[string]string `json:"headers"`
}

func TestTheLogHoldsNoSecretsAndNoText(t *testing.T) {
	const secret = "hunter2-very-private"
	file, text := logged(t, func(l *slog.Logger) {
		for _, key := range []string{"token", "Token", "api_key", "apiKey", "clientSecret", "Authorization", "password", "text", "message_text", "content", "gateway.token", "SetCookie", "prompt"} {
			l.Info("one", key, secret)
		}
		l.With("password", secret).WithGroup("call").Info("two", slog.Group("headers", "authorization", secret))
		l.Info("three", "hook", hook{Name: "fine", AuthToken: secret, Headers: map[string]string{"x-secret": secret}}, "raw", []byte(secret))
		l.Info("four", "key", slog.AnyValue(secret), "n", 5, "took", time.Second)
	})
	for name, out := range map[string]string{"file": file, "stderr": text} {
		if strings.Contains(out, "hunter2") {
			t.Errorf("%s: %s", name, out)
		}
		if !strings.Contains(out, "fine") || !strings.Contains(out, "four") {
			t.Errorf("%s lacks what it should hold", name)
		}
	}
	for line := range strings.Lines(file) {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
}

func TestTheLogScrubsWhatLooksLikeAKey(t *testing.T) {
	for _, s := range []string{
		"Bearer abcdef0123456789", "bearer ABCDEF.ghi-jkl", "sk-proj-abcdefghijklmnop", "sk-ant-api03-xyzxyzxyz", "ghp_abcdefghijklmnopqrst", "xoxb-123456789012-abcdef",
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.sig", "123456789:AAabcdefghijklmnopqrstuvwxyz0123456", "https://me:pa55word@example.org/x", "/ws?token=0123456789abcdef&x=1",
		`{"access_token": "zzzzzzzzzz"}`, "api_key=qqqqqqqq", "AIzaSyA0123456789abcdef", "password: letmein99",
	} {
		file, text := logged(t, func(l *slog.Logger) {
			l.Info("got "+s, "reason", errors.New("failed with "+s), "where", s)
		})
		for _, secret := range []string{"abcdef", "ABCDEF", "xyzxyz", "zzzzz", "qqqqq", "pa55word", "letmein", "eyJzdWI"} {
			if strings.Contains(file+text, secret) {
				t.Errorf("%s: %s", s, file)
			}
		}
	}
	for _, s := range []string{"task-force-alpha meets", "risk-assessment done", "the token count is 12", "keys: 3", "https://example.org/a:b@c", "max_tokens=4096", "prompt_tokens=88123"} {
		if got := scrub(s); got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
	for name, want := range map[string]bool{"key": true, "primary_key": true, "keyboard": false, "key_count": false, "prompt_tokens": false, "content-type": false, "context": false, "monkey": false, "API_KEY_": true, "": false} {
		if hiddenName(name) != want {
			t.Errorf("hiddenName(%q) = %v", name, !want)
		}
	}
}

func TestTheLogRotates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "engine.log")
	r, err := openRotating(path, 100, 2)
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Repeat("x", 59) + "\n"
	for range 5 {
		if n, err := r.Write([]byte(line)); n != len(line) || err != nil {
			t.Fatal(n, err)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Write([]byte(line)); err == nil {
		t.Error("a closed log takes lines")
	}
	for _, name := range []string{path, path + ".1", path + ".2"} {
		if read(t, name) != line {
			t.Error(name)
		}
	}
	if _, err := os.Stat(path + ".3"); err == nil {
		t.Error("too many are kept")
	}
}

func TestALogThatCannotBeWrittenStillSpeaks(t *testing.T) {
	blocked := filepath.Join(t.TempDir(), "file")
	write(t, blocked, "")
	var stderr bytes.Buffer
	logger, closer, err := NewLogger(LogOptions{Path: filepath.Join(blocked, "engine.log"), Stderr: &stderr})
	if err == nil {
		t.Fatal("no error")
	}
	logger.Info("hello")
	if closer.Close() != nil || !strings.Contains(stderr.String(), "hello") {
		t.Error(stderr.String())
	}
}
