// Command sentient is the engine of a personal assistant: `sentient serve` runs it, the other commands look at it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"sentient/storage/journal"
	"sentient/transport/plan"
)

// version is set at build time.
var version = "0.1.0-dev"

// Main is the program: Parse reads the command line, Run does what it says, Close ends what Run left.
type Main struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	UserHome       string

	plans  plan.Endpoints // where plans are signed in to; the providers' own when empty
	format storeFormat    // what the store is written in
	run    func(context.Context) error
}

// storeFormat is the number of the records' form and how older ones become it. Nothing has changed since the first, so the
// zero value is today's.
type storeFormat struct {
	number  uint64
	upgrade journal.Upgrader
}

type cli struct {
	Serve   serveFlags  `cmd:"" help:"Run the engine. Prints the address to chat at."`
	Replay  replayFlags `cmd:"" help:"Rebuild a chat from its journal and print, step by step, what was decided and why. Needs the engine not to run."`
	Routes  struct{}    `cmd:"" help:"List what the gateway serves, one METHOD PATH a line."`
	Stop    struct{}    `cmd:"" help:"Stop everything the running engine does, at once. Nothing starts by itself until resume."`
	Resume  struct{}    `cmd:"" help:"Let work start again after stop."`
	Doctor  doctorFlags `cmd:"" help:"Check what is installed, reachable and writable. Exit status 1 when something must be mended."`
	Version struct{}    `cmd:"" help:"Print the version."`

	ClaudeCodeTools toolsFlags `cmd:"" name:"claude-code-tools" hidden:"" help:"Show Sentient's tools to Claude Code, which starts this itself."`
}

type serveFlags struct {
	Host string `help:"Address to listen on; the settings' gateway.host when not given." placeholder:"127.0.0.1"`
	Port *int   `help:"Port to listen on, 0 for a free one; the settings' gateway.port when not given." placeholder:"7777"`
	Open bool   `help:"Open the window in the browser once the engine is ready."`
	Log  string `help:"What to log: debug, info, warn or error." enum:"debug,info,warn,error" default:"info"`
}

type doctorFlags struct {
	Models bool   `help:"Try the model of every role and print what works as a table. This asks the models, so it may cost a little." xor:"what"`
	Bundle bool   `help:"Write what a person who mends the program needs into a zip file, without keys and without anybody's words." xor:"what"`
	Out    string `help:"The bundle's file; sentient-debug-<time>.zip here when not given." placeholder:"FILE"`
}

const description = `Sentient is a personal assistant that runs on your own computer.

Start it with "sentient serve" and open the address it prints. Everything it keeps is in one folder:
SENTIENT_HOME, or .sentient in your home folder.`

type toolsFlags struct {
	File string `arg:"" help:"The list of tools."`
}

// exit is how the command line parser says that it is done (help).
type exit int

// Parse reads the command line. Help is printed at once; then Run does nothing.
func (m *Main) Parse(args []string) (err error) {
	var c cli
	p, err := kong.New(&c, kong.Name("sentient"), kong.Description(description), kong.Writers(m.Stdout, m.Stderr),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}), kong.Exit(func(code int) { panic(exit(code)) }))
	if err != nil {
		return err
	}
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(exit); !ok {
				panic(r)
			}
			m.run, err = func(context.Context) error { return nil }, nil
		}
	}()
	if len(args) == 0 {
		args = []string{"--help"}
	}
	ctx, err := p.Parse(args)
	if err != nil {
		return fmt.Errorf("%w. See \"sentient --help\"", err)
	}
	m.run = m.command(ctx.Command(), &c)
	return nil
}

func (m *Main) command(name string, c *cli) func(context.Context) error {
	switch name {
	case "serve":
		return func(ctx context.Context) error { return m.serve(ctx, c.Serve) }
	case "replay <chat>":
		return func(ctx context.Context) error { return m.replay(ctx, c.Replay) }
	case "stop":
		return m.stopAll
	case "resume":
		return m.resume
	case "routes":
		return func(context.Context) error { return m.routes() }
	case "claude-code-tools <file>":
		return func(context.Context) error { return m.claudeCodeTools(c.ClaudeCodeTools.File) }
	case "doctor":
		return m.doctorOf(c.Doctor)
	default:
		return func(context.Context) error {
			_, err := fmt.Fprintln(m.Stdout, version)
			return err
		}
	}
}

func (m *Main) doctorOf(f doctorFlags) func(context.Context) error {
	switch {
	case f.Models:
		return m.doctorModels
	case f.Bundle:
		return func(ctx context.Context) error { return m.bundle(ctx, f.Out) }
	}
	return m.doctor
}

// Run does what Parse read.
func (m *Main) Run(ctx context.Context) error { return m.run(ctx) }

// errUnwell is doctor's exit status.
var errUnwell = errors.New("something must be mended")

func main() { program(storeFormat{}) }

func program(format storeFormat) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	home, _ := os.UserHomeDir()
	m := &Main{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, UserHome: home, format: format}
	err := m.Parse(os.Args[1:])
	if err == nil {
		err = m.Run(ctx)
	}
	switch {
	case err == nil:
	case errors.Is(err, errUnwell):
		os.Exit(1)
	default:
		fmt.Fprintln(os.Stderr, "sentient: "+err.Error())
		os.Exit(1)
	}
}
