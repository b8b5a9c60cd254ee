package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"text/tabwriter"

	"sentient/actors/models"
	"sentient/actors/msg"
	"sentient/runtime/act"
	"sentient/runtime/app"
	"sentient/runtime/work"
	"sentient/transport/embed"
	"sentient/transport/llm"
)

// doctorModels tries every role's model and prints the result as a table. A running engine is asked, because it knows the plans
// that are signed in and whose turn it is; without one the models are tried from here.
func (m *Main) doctorModels(ctx context.Context) error {
	home, err := app.FindHome(m.Getenv, m.UserHome)
	if err != nil {
		return err
	}
	t := &modelTable{out: m.Stdout}
	err = m.checkThere(ctx, home, t.line)
	if _, none := errors.AsType[noEngine](err); none {
		err = m.checkHere(ctx, home, t.line)
	}
	if err != nil {
		return err
	}
	t.print()
	if t.status == "fail" {
		return errUnwell
	}
	return nil
}

// checkupLine is any line of a check-up.
type checkupLine struct {
	Type     string         `json:"type"`
	Hardware msg.Hardware   `json:"hardware"`
	Role     string         `json:"role"`
	Model    *string        `json:"model"`
	Label    string         `json:"label"`
	Status   string         `json:"status"`
	Checks   []models.Check `json:"checks"`
	Message  string         `json:"message"`
}

// checkThere lets the running engine try the models; a noEngine when none runs here.
func (m *Main) checkThere(ctx context.Context, home app.Home, each func(checkupLine) error) error {
	res, err := m.reach(ctx, home, http.MethodPost, "/api/models/checkup", "")
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("the engine refused the check-up (%d). Restart it and try again", res.StatusCode)
	}
	return readLines(res.Body, each)
}

func readLines(r io.Reader, each func(checkupLine) error) error {
	lines, done := bufio.NewScanner(r), false
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var l checkupLine
		if err := json.Unmarshal(bytes.TrimSpace(lines.Bytes()), &l); err != nil {
			return fmt.Errorf("the engine's answer makes no sense: %w", err)
		}
		done = done || l.Type == "done"
		if err := each(l); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if !done {
		return errors.New("the engine ended in the middle of the check-up")
	}
	return nil
}

// checkHere tries the models without an engine.
func (m *Main) checkHere(ctx context.Context, home app.Home, each func(checkupLine) error) error {
	cfg, _, err := app.Load(home.ConfigFile())
	if err != nil {
		return err
	}
	secrets, err := openSecrets(home, m.UserHome, m.Getenv, nil)
	if err != nil {
		return err
	}
	builtin, err := embed.New(embed.Options{Paths: embeddingFiles(home)})
	if err != nil {
		return err
	}
	defer builtin.Close()
	table, ids := work.New(work.Options{}), newIDs()
	defer table.Close(ctx)
	e := &engine{live: app.NewLive(cfg), getenv: m.Getenv, home: home, keys: newKeys(secrets, slog.New(slog.DiscardHandler))}
	c, err := llm.New(llm.Options{Settings: e.modelSettings, Key: e.keys.get, Env: m.Getenv, Builtin: builtin})
	if err != nil {
		return err
	}
	defer c.Close()
	view := aloneModels{setupModels{modelsOf{Client: c}}}
	o := setupOptions(view.setupModels, newComputer(table, c, ids.next), e.live, ids.next)
	o.Models, o.Config = view, fixedConfig{cfg}
	o.Embed = func(ctx context.Context, model string) (int, error) { return embeddingSize(ctx, c, model) }
	return models.Checkup(ctx, o, nil, func(line any) error {
		b, err := json.Marshal(line)
		if err != nil {
			return err
		}
		var l checkupLine
		if err := json.Unmarshal(b, &l); err != nil {
			return err
		}
		return each(l)
	})
}

// aloneModels asks models without waiting for a turn: no engine runs, so nobody else asks.
type aloneModels struct{ setupModels }

func (m aloneModels) Stream(ctx context.Context, r msg.ModelRequest, emit func(msg.ModelChunk) error) (msg.ModelResult, error) {
	return m.Client.Stream(ctx, r, emit)
}

// fixedConfig is a configuration that nobody changes.
type fixedConfig struct{ c *app.Config }

func (f fixedConfig) Get() *app.Config { return f.c }
func (f fixedConfig) Edit(context.Context, func(*app.Config) error) (*app.Config, error) {
	return nil, act.ErrStopping
}

// modelTable gathers a check-up and prints it.
type modelTable struct {
	out    io.Writer
	roles  []checkupLine
	status string
}

func (t *modelTable) line(l checkupLine) error {
	switch l.Type {
	case "start":
		fmt.Fprintf(t.out, "This computer: %s. Recommended: %s. %s\n", l.Hardware.Summary, l.Hardware.Recommendation.Summary, l.Hardware.Recommendation.Note)
	case "role":
		t.roles = append(t.roles, l)
	case "done":
		t.status = l.Status
	case "error":
		return errors.New(l.Message)
	}
	return nil
}

func (t *modelTable) print() {
	w := tabwriter.NewWriter(t.out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "ROLE\tMODEL\tCHECK\tRESULT\tDETAIL")
	for _, r := range t.roles {
		if r.Model == nil {
			fmt.Fprintf(w, "%s\t(main model)\t\t\t\n", r.Role)
			continue
		}
		role, model := r.Role, *r.Model
		for _, c := range r.Checks {
			detail := c.Detail
			if c.Fix != "" && c.Status != "pass" {
				detail = strings.TrimSpace(detail + " " + c.Fix)
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", role, model, c.Label, c.Status, detail)
			role, model = "", ""
		}
	}
	_ = w.Flush() // to the terminal
}
