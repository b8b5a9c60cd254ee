package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"sentient/bench/process"
)

const token = "fault-run-token"

// engine is one life of the engine.
type engine struct {
	*process.Engine
	http *http.Client
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
	e := &engine{http: &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{}}}
	ready := func(ctx context.Context, address string) bool {
		status, _ := (&engine{&process.Engine{Address: address}, e.http}).call(ctx, "GET", "/api/bootstrap", nil, nil)
		return status == http.StatusOK
	}
	own := []string{"SENTIENT_SCENE_LOG=" + filepath.Join(beside, "effects.log"), "SENTIENT_TROUBLE=" + beside}
	var err error
	e.Engine, err = process.Start(ctx, process.Options{Binary: binary, Home: home, Token: token, Output: filepath.Join(beside, "engine.out"),
		Env: append(own, env...), Every: 2 * time.Millisecond, Ready: ready})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// Kill is kill -9.
func (e *engine) Kill() {
	e.Engine.Kill()
	e.http.CloseIdleConnections()
}

// Stop asks the engine to end, and kills it when it does not.
func (e *engine) Stop() error {
	defer e.http.CloseIdleConnections()
	return e.Engine.Stop()
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
	req, err := http.NewRequestWithContext(ctx, method, e.Address+path, in)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return e.http.Do(req)
}
