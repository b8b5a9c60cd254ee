package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"sentient/runtime/app"
)

// noEngine says that no engine runs on a home, and what to do.
type noEngine string

func (n noEngine) Error() string { return string(n) }

const errNoEngine = noEngine("the engine of this data folder does not answer. Start it again with: sentient serve")

// askEngine sends a command of the terminal to the engine that runs on this home, and reads its answer.
func (m *Main) askEngine(ctx context.Context, method, path string, answer any) error {
	home, err := app.FindHome(m.Getenv, m.UserHome)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	res, err := m.reach(ctx, home, method, path, `{"source":"cli"}`)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return errNoEngine
	}
	if res.StatusCode != http.StatusOK {
		var refusal struct{ Detail string }
		_ = json.Unmarshal(body, &refusal)
		return fmt.Errorf("the engine refused: %s", refusal.Detail)
	}
	return json.Unmarshal(body, answer)
}

// reach sends a request to the engine that runs on a home. The error is a noEngine when none does.
func (m *Main) reach(ctx context.Context, home app.Home, method, path, body string) (*http.Response, error) {
	address, err := home.ReadDiscovery()
	if err != nil {
		return nil, noEngine(err.Error())
	}
	token, err := home.Token(m.Getenv)
	if err != nil {
		return nil, err
	}
	q, err := http.NewRequestWithContext(ctx, method, address+path, strings.NewReader(body))
	if err != nil {
		return nil, errNoEngine // what is written down is no address
	}
	q.Header.Set("Authorization", "Bearer "+token)
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(q)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, errNoEngine // it was written down by an engine that is gone
	}
	return res, nil
}
