package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"sentient/bench/faults"
)

type faultFlags struct {
	Seed      uint64        `help:"Seed of the scripts: the same seed plays the same scripts." default:"1"`
	Scenarios []string      `help:"Which faults; all when not given." placeholder:"NAME"`
	From      int           `help:"The first round." default:"0"`
	Rounds    int           `help:"Rounds of each, at most." default:"200"`
	For       time.Duration `help:"Begin no round after this time." default:"3m"`
	Report    string        `help:"Write the report into this Markdown file, below its line \"## The last run\"." placeholder:"FILE"`
}

var errBroken = errors.New("the engine broke a promise")

func (f faultFlags) run(ctx context.Context, c *cli) error {
	began := time.Now()
	engine, err := filepath.Abs(c.Engine)
	if err != nil {
		return err
	}
	r, err := faults.Run(ctx, faults.Options{Engine: engine, Dir: c.Dir, Seed: f.Seed, Scenarios: f.Scenarios, From: f.From, Rounds: f.Rounds, For: f.For,
		Progress: func(format string, args ...any) {
			fmt.Fprintf(os.Stderr, "%7.1fs  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
		}})
	if err != nil {
		return err
	}
	if err := f.write(r); err != nil {
		return err
	}
	if len(r.Violations()) > 0 {
		return errBroken
	}
	return nil
}

// write prints the report, or puts it in the place of the one before.
func (f faultFlags) write(r faults.Result) error {
	commit, _ := exec.Command("git", "describe", "--always", "--dirty").Output() // a copy without git has no commit
	command := fmt.Sprintf("make faults ARGS=\"--seed %d --for %s\"", f.Seed, f.For)
	if len(f.Scenarios) > 0 || f.From > 0 || f.Rounds != 200 {
		command = fmt.Sprintf("make faults ARGS=\"--seed %d --for %s --from %d --rounds %d --scenarios %s\"", f.Seed, f.For, f.From, f.Rounds, strings.Join(f.names(), ","))
	}
	var b strings.Builder
	if err := r.Write(&b, strings.TrimSpace(string(commit)), command); err != nil {
		return err
	}
	if f.Report == "" {
		_, err := os.Stdout.WriteString(b.String())
		return err
	}
	old, err := os.ReadFile(f.Report)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	head, _, _ := strings.Cut(string(old), "## The last run")
	return os.WriteFile(f.Report, []byte(head+b.String()), 0o644)
}

func (f faultFlags) names() []string {
	if len(f.Scenarios) == 0 {
		return faults.Names()
	}
	return f.Scenarios
}
