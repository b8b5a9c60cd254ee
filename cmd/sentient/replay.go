package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"sentient/actors/session"
	"sentient/runtime/app"
	"sentient/storage/journal"
	"sentient/storage/memstore"
	"sentient/storage/pebblestore"
)

type replayFlags struct {
	Chat   string `arg:"" help:"The chat: its id, or the beginning of its title."`
	NoText bool   `help:"Leave out what anybody wrote."`
	JSON   bool   `help:"One JSON object a line."`
}

// errReplay is the exit status of a chat whose store says something else than its journal.
var errReplay = errors.New("this chat's journal and the store do not agree")

// replay rebuilds a chat from its journal and prints what was decided, step by step.
func (m *Main) replay(ctx context.Context, f replayFlags) error {
	var r session.Replayed
	err := m.withStore(ctx, func(j *journal.Committer) (err error) {
		r, err = replayOf(ctx, j, f.Chat)
		return err
	})
	if err != nil {
		return err
	}
	w := bufio.NewWriter(m.Stdout)
	for _, s := range r.Steps {
		if f.NoText {
			s.Text = ""
		}
		if err := printStep(w, s, f.JSON); err != nil {
			return err
		}
	}
	for _, d := range r.Differs {
		if err := printDifference(w, d, f.JSON); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(r.Differs) > 0 {
		return errReplay
	}
	return nil
}

func replayOf(ctx context.Context, j *journal.Committer, chat string) (session.Replayed, error) {
	tables := session.NewTables()
	reader, err := j.Read()
	if err != nil {
		return session.Replayed{}, err
	}
	id, err := tables.Find(reader, chat)
	reader.Close()
	if err != nil {
		return session.Replayed{}, err
	}
	return tables.Replay(ctx, j, id)
}

// withStore opens the store of a home where no engine runs.
func (m *Main) withStore(ctx context.Context, fn func(*journal.Committer) error) error {
	home, err := app.FindHome(m.Getenv, m.UserHome)
	if err != nil {
		return err
	}
	quiet := slog.New(slog.DiscardHandler)
	disk, err := pebblestore.Open(pebblestore.Options{Dir: home.Store(), Ballast: -1, Logger: quiet})
	var held *journal.HeldError
	if errors.As(err, &held) {
		return fmt.Errorf("the engine runs (process %d) and holds the store. Stop it, then try again", held.PID)
	}
	if err != nil {
		return fmt.Errorf("the store cannot be opened: %w", err)
	}
	j, err := journal.Open(ctx, journal.Options{Disk: disk, Memory: memstore.New(), Logger: quiet, Schema: m.format.number, Upgrade: m.format.upgrade,
		Deliver: func([]journal.Entry) {}})
	if err != nil {
		return err
	}
	return errors.Join(fn(j), j.Close(ctx))
}

// shownText bounds what is shown of a text in a line.
const shownText = 160

func printStep(w io.Writer, s session.Step, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(s)
	}
	line := fmt.Sprintf("%5d  %s  %-20s %s", s.Version, s.At.Format(time.DateTime), s.What, s.Said)
	if s.Text != "" {
		text := []rune(strings.Join(strings.Fields(s.Text), " "))
		if len(text) > shownText {
			text = append(text[:shownText], '…')
		}
		line += fmt.Sprintf("  %q", string(text))
	}
	_, err := fmt.Fprintln(w, strings.TrimRight(line, " "))
	return err
}

func printDifference(w io.Writer, d string, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(map[string]string{"differs": d})
	}
	_, err := fmt.Fprintln(w, "DIFFERS: "+d)
	return err
}
