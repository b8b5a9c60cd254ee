package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"sentient/actors/msg"
	"sentient/runtime/app"
)

// stopAll is Stop everything from a terminal.
func (m *Main) stopAll(ctx context.Context) error {
	var r msg.StopReport
	if err := m.tellEngine(ctx, "/api/stop-all", &r); err != nil {
		return err
	}
	fmt.Fprintf(m.Stdout, "Everything is stopped. Jobs that were cancelled: %d. Nothing starts by itself until \"sentient resume\".\n", r.Cancelled)
	for _, l := range r.NotEnded {
		fmt.Fprintf(m.Stdout, "Not ended yet: %s\n", l)
	}
	return nil
}

func (m *Main) resume(ctx context.Context) error {
	var s msg.StopState
	if err := m.tellEngine(ctx, "/api/resume", &s); err != nil {
		return err
	}
	_, err := fmt.Fprintln(m.Stdout, "Work goes on.")
	return err
}

var errNoEngine = errors.New("the engine of this data folder does not answer. Start it again with: sentient serve")

// tellEngine sends a command of the terminal to the engine that runs on this home.
func (m *Main) tellEngine(ctx context.Context, path string, answer any) error {
	home, err := app.FindHome(m.Getenv, m.UserHome)
	if err != nil {
		return err
	}
	address, err := home.ReadDiscovery()
	if err != nil {
		return err
	}
	token, err := home.Token(m.Getenv)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, address+path, bytes.NewReader([]byte(`{"source":"cli"}`)))
	if err != nil {
		return err
	}
	q.Header.Set("Authorization", "Bearer "+token)
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		return errNoEngine
	}
	defer r.Body.Close()
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return errNoEngine
	}
	if r.StatusCode != http.StatusOK {
		var refusal struct{ Detail string }
		_ = json.Unmarshal(body, &refusal)
		return fmt.Errorf("the engine refused: %s", refusal.Detail)
	}
	return json.Unmarshal(body, answer)
}
