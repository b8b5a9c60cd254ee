package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const (
	token       = "fault-run-token"
	readyWithin = 60 * time.Second // says only that a start hangs; the time itself is reported
	stopWithin  = 30 * time.Second
)

// engine is one life of the engine.
type engine struct {
	cmd     *exec.Cmd
	address string
	output  string
	took    time.Duration // from exec to the first answer
	exited  chan struct{}
	http    *http.Client
}

// configure writes the settings of a home: the scripted model in every role, a short undo window, nothing beside the replies.
func configure(home, modelURL string) error {
	text := fmt.Sprintf(`assistant:
  onboarding_complete: true
models:
  roles: {primary: lm_studio/test, fast: lm_studio/test}
  providers:
    lm_studio: {api_base: "%s/v1"}
  local_queue: false
chat:
  auto_title: false
  compress_after_messages: 100000
tools:
  approvals:
    undo_seconds: 1
    second_look_model: false
`, modelURL)
	return os.WriteFile(filepath.Join(home, "config.yaml"), []byte(text), 0o600)
}

// launch starts the engine on a home and waits until it answers.
func launch(ctx context.Context, binary, home, beside string, env ...string) (*engine, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		return nil, err
	}
	e := &engine{address: fmt.Sprintf("http://127.0.0.1:%d", port), output: filepath.Join(beside, "engine.out"), exited: make(chan struct{}),
		http: &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{}}}
	out, err := os.OpenFile(e.output, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	e.cmd = exec.Command(binary, "serve", fmt.Sprintf("--port=%d", port))
	e.cmd.Env = append(os.Environ(), "SENTIENT_HOME="+home, "SENTIENT_GATEWAY_TOKEN="+token, "DBUS_SESSION_BUS_ADDRESS=",
		"SENTIENT_SCENE_LOG="+filepath.Join(beside, "effects.log"), "SENTIENT_TROUBLE="+beside)
	e.cmd.Env = append(e.cmd.Env, env...)
	e.cmd.Stdout, e.cmd.Stderr = out, out
	began := time.Now()
	if err := e.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = e.cmd.Wait() // how it ended is in its output
		close(e.exited)
	}()
	if err := e.ready(ctx, began); err != nil {
		e.kill()
		return nil, err
	}
	return e, nil
}

func (e *engine) ready(ctx context.Context, began time.Time) error {
	for {
		if status, _ := e.call(ctx, "GET", "/api/bootstrap", nil, nil); status == http.StatusOK {
			e.took = time.Since(began)
			return nil
		}
		select {
		case <-e.exited:
			return errors.New("the engine did not start: " + e.said())
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(2 * time.Millisecond):
		}
		if time.Since(began) > readyWithin {
			return errors.New("the engine was not ready in time: " + e.said())
		}
	}
}

// said is the end of what the engine printed.
func (e *engine) said() string {
	b, _ := os.ReadFile(e.output) // only for the sentence
	lines := bytes.Split(bytes.TrimSpace(b), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-4):], []byte(" | ")))
}

func (e *engine) gone() bool {
	select {
	case <-e.exited:
		return true
	default:
		return false
	}
}

// kill is kill -9.
func (e *engine) kill() {
	_ = e.cmd.Process.Kill() // it may have ended already
	<-e.exited
	e.http.CloseIdleConnections()
}

// stop asks the engine to end, and kills it when it does not.
func (e *engine) stop() error {
	defer e.http.CloseIdleConnections()
	_ = e.cmd.Process.Signal(os.Interrupt) // it may have ended already
	select {
	case <-e.exited:
		if code := e.cmd.ProcessState.ExitCode(); code != 0 {
			return fmt.Errorf("the engine was asked to stop and ended with status %d: %s", code, e.said())
		}
		return nil
	case <-time.After(stopWithin):
		e.kill()
		return errors.New("the engine did not stop in time: " + e.said())
	}
}

// call does one request and decodes its answer into v, when that is not nil and the status is 200. Status 0: no answer.
func (e *engine) call(ctx context.Context, method, path string, body, v any) (status int, err error) {
	resp, err := e.request(ctx, method, path, body)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	if resp.StatusCode != http.StatusOK {
		return resp.StatusCode, fmt.Errorf("%s %s answered %d: %.200s", method, path, resp.StatusCode, b)
	}
	if v != nil {
		err = json.Unmarshal(b, v)
	}
	return resp.StatusCode, err
}

func (e *engine) request(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var in io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		in = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, e.address+path, in)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return e.http.Do(req)
}
