package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"sentient/runtime/app"
	"sentient/storage/journal"
	"sentient/storage/pebblestore"
	"sentient/transport/llm"
	"sentient/transport/worker"
)

// finding is one line of the doctor's report.
type finding struct {
	state string // ok, note, bad
	what  string
	bare  string // the same without a person's words, for a bundle; empty: what
}

func said(state, what string) finding { return finding{state: state, what: what} }

func (f finding) withoutWords() string {
	if f.bare != "" {
		return f.bare
	}
	return f.what
}

// doctor says what is installed, reachable and writable. It changes nothing but making the data folder.
func (m *Main) doctor(ctx context.Context) error {
	home, err := app.FindHome(m.Getenv, m.UserHome)
	if err != nil {
		return err
	}
	bad := false
	for _, f := range m.findings(ctx, home) {
		fmt.Fprintf(m.Stdout, "%-5s %s\n", f.state, f.what)
		bad = bad || f.state == "bad"
	}
	if bad {
		return errUnwell
	}
	return nil
}

// findings are all that the doctor looks at.
func (m *Main) findings(ctx context.Context, home app.Home) []finding {
	all := checkHome(home)
	cfg, f := checkConfig(home)
	all = append(all, f...)
	all = append(all, m.checkEngine(ctx, home, cfg)...)
	all = append(all, m.checkSecrets(ctx, home)...)
	all = append(all, m.checkModels(ctx, home, cfg)...)
	all = append(all, checkEmbedding(home))
	return append(all, checkPrograms()...)
}

func checkHome(home app.Home) []finding {
	if err := home.Prepare(); err != nil {
		return []finding{said("bad", err.Error())}
	}
	probe := filepath.Join(home.Dir, ".doctor")
	if err := os.WriteFile(probe, []byte("ok"), 0o600); err != nil {
		return []finding{said("bad", "The data folder "+home.Dir+" is not writable. Check its permissions and the disk's space.")}
	}
	_ = os.Remove(probe)
	return []finding{said("ok", "The data folder is "+home.Dir+" and can be written.")}
}

func checkConfig(home app.Home) (*app.Config, []finding) {
	cfg, report, err := app.Load(home.ConfigFile())
	if err != nil {
		return app.Default(), []finding{{"bad", err.Error(), "The settings cannot be used."}}
	}
	out := []finding{said("ok", "The settings can be used.")}
	for _, k := range report.Unknown {
		out = append(out, finding{"note", "config.yaml has the key " + k + ", which no setting has. It is kept and not used.",
			"config.yaml has a key that no setting has."})
	}
	return cfg, out
}

// checkEngine looks whether an engine runs, and if not, whether its store and port are free.
func (m *Main) checkEngine(ctx context.Context, home app.Home, cfg *app.Config) []finding {
	disk, err := pebblestore.Open(pebblestore.Options{Dir: home.Store(), Ballast: -1})
	var held *journal.HeldError
	switch {
	case errors.As(err, &held):
		return []finding{said("ok", fmt.Sprintf("The engine runs (process %d).", held.PID))}
	case err != nil:
		return []finding{said("bad", "The store cannot be opened: "+err.Error()+".")}
	}
	out := []finding{said("ok", "The store can be opened; no engine runs."), m.examine(ctx, home, disk)}
	_ = disk.Close()
	ln, err := net.Listen("tcp", net.JoinHostPort(cfg.Gateway.Host, fmt.Sprint(cfg.Gateway.Port)))
	if err != nil {
		return append(out, said("bad", fmt.Sprintf("Port %d is in use. Stop what uses it, or set gateway.port.", cfg.Gateway.Port)))
	}
	_ = ln.Close()
	return append(out, said("ok", fmt.Sprintf("Port %d is free.", cfg.Gateway.Port)))
}

// examineFor bounds how long the store is read.
const examineFor = time.Minute

// examine reads all of the store.
func (m *Main) examine(ctx context.Context, home app.Home, disk *pebblestore.Store) finding {
	ctx, cancel := context.WithTimeout(ctx, examineFor)
	defer cancel()
	damage, err := journal.Examine(ctx, disk, m.format.number)
	var newer *journal.NewerError
	switch {
	case len(damage) > 0:
		return said("bad", unreadable(home, damage))
	case errors.As(err, &newer):
		return said("bad", "The engine would not start: "+err.Error()+".")
	case errors.Is(err, context.DeadlineExceeded):
		return said("note", "The store is large: what was read of it in a minute is whole.")
	case err != nil:
		return said("bad", "The store cannot be read: "+err.Error()+".")
	}
	return said("ok", "All of the store can be read.")
}

func (m *Main) checkSecrets(ctx context.Context, home app.Home) []finding {
	s, err := openSecrets(home, m.UserHome, m.Getenv, nil)
	if err != nil {
		return []finding{said("bad", err.Error())}
	}
	if _, err := s.Source(ctx, "openai"); err != nil {
		return []finding{said("bad", err.Error())}
	}
	if s.InKeychain(ctx) {
		return []finding{said("ok", "Keys are kept in the system's keychain.")}
	}
	return []finding{said("note", "The system's keychain cannot be reached, so keys are kept in an encrypted file.")}
}

func (m *Main) checkModels(ctx context.Context, home app.Home, cfg *app.Config) []finding {
	e := &engine{live: app.NewLive(cfg), getenv: m.Getenv, home: home}
	c, err := llm.New(llm.Options{Settings: e.modelSettings, Env: m.Getenv})
	if err != nil {
		return []finding{{"bad", err.Error(), "The settings of the models cannot be used."}}
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	l := c.Local(ctx)
	say := func(name string, r llm.LocalRuntime) finding {
		if !r.Reachable {
			return said("note", name+" is not answering. Start it, or use a key or the built-in guide.")
		}
		return said("ok", fmt.Sprintf("%s is answering, with %d models.", name, len(r.Models)))
	}
	return []finding{say("Ollama", l.Ollama), say("LM Studio", l.LMStudio)}
}

func checkPrograms() []finding {
	var out []finding
	if _, err := worker.Find(""); err != nil {
		out = append(out, said("bad", "sentient-worker is missing, so PDF and Word files cannot be read. Run `make build` and keep it beside sentient."))
	} else {
		out = append(out, said("ok", "sentient-worker is there: PDF and Word files can be read."))
	}
	if _, err := exec.LookPath("python3"); err != nil {
		out = append(out, said("note", "python3 is not installed; scripts will need it (on Debian: apt install python3)."))
	}
	return out
}
