// Command sentient-bench measures the engine that stands beside it: starts, turns, crowds of chats, crashes. Every measurement
// is a scenario of the bench room; here are only the flags.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"sentient/bench"
)

type cli struct {
	Engine   string `help:"The engine's binary." default:"bin/sentient" placeholder:"PATH"`
	Provider string `help:"The scripted model's name for the engine: lm_studio/test, or ollama_chat/qwen3:8b, whose context length is known, so tokens are counted." default:"lm_studio/test" placeholder:"PROVIDER/MODEL"`
	Dir      string `help:"Where to make the temporary homes; the system's temporary folder when not given." placeholder:"FOLDER"`
	Inside   bool   `help:"Run the scripted model in this process instead of one of its own."`

	All        struct{}   `cmd:"" default:"1" help:"Everything that RESULTS.md reports; about 25 minutes."`
	Start      startFlags `cmd:"" help:"Time to ready and memory at rest."`
	Turn       turnFlags  `cmd:"" help:"One turn at a time against the model alone."`
	Concurrent crowdFlags `cmd:"" help:"50 and 200 chats that never pause, then the most of them in step."`
	Relay      flowFlags  `cmd:"" help:"The way of a token through the engine, beside the model alone."`
	Direct     flowFlags  `cmd:"" help:"The clients and the model without the engine: the floor."`
	Many       manyFlags  `cmd:"" help:"2,000 chats streaming at once."`
	Kill       killFlags  `cmd:"" help:"Kill -9 in the middle of a reply, and the start after it."`
	Stop       stopFlags  `cmd:"" help:"Stop everything while 2,000 chats stream and 100 programs run. Needs the demo's engine (make bin/sentient-demo)."`
	Churn      churnFlags `cmd:"" help:"30,000 chats used once: what stays in memory."`
	Faults     faultFlags `cmd:"" help:"Random scripts of chats while everything around them fails; needs an engine with a pretend world (make faults)."`
	Model      modelFlags `cmd:"" hidden:"" help:"Run the scripted model until the input ends."`
}

type startFlags struct {
	N    int           `short:"n" help:"Starts." default:"10"`
	Rest time.Duration `help:"From ready to the look at the memory." default:"10s"`
}

type turnFlags struct {
	N int `short:"n" help:"Turns of each kind." default:"30"`
}

type crowdFlags struct {
	Chats  []int         `help:"How many at once, one run each." default:"50,200"`
	Rounds int           `help:"Turns of each chat." default:"6"`
	Spread time.Duration `help:"Time over which the chats begin; 0: all at once." default:"1s"`
	Post   bool          `help:"Over POST /api/chat, not /ws."`
}

type flowFlags struct {
	Chats  []int `help:"How many at once, one run each." default:"1,50,200"`
	Rounds int   `help:"Turns of each chat." default:"6"`
}

type manyFlags struct {
	Chats  int           `help:"How many at once." default:"2000"`
	Tokens int           `help:"Of each reply." default:"100"`
	Every  time.Duration `help:"From token to token." default:"200ms"`
	Spread time.Duration `help:"Time over which the chats begin; 0: all at once." default:"5s"`
}

type killFlags struct {
	N     int `short:"n" help:"Kills." default:"5"`
	Chats int `help:"Chats in the store." default:"1000"`
}

type stopFlags struct {
	Chats    int    `help:"How many at once." default:"2000"`
	Children int    `help:"Programs that ignore signals." default:"100"`
	Demo     string `help:"The demo's binary; beside the engine's when not given." placeholder:"PATH"`
}

type churnFlags struct {
	Steps  []int         `help:"Chats in all at the end of each step." default:"10000,20000,30000"`
	Settle time.Duration `help:"Wait after each step." default:"5m"`
}

type modelFlags struct {
	Tokens   int           `default:"50"`
	Every    time.Duration `default:"20ms"`
	Children int
}

// scenario is anything that measures.
type scenario interface {
	Run(context.Context) (bench.Report, error)
}

func (c *cli) env() (bench.Env, error) {
	began := time.Now()
	e := bench.Env{Engine: c.Engine, Provider: c.Provider, Dir: c.Dir, Progress: func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, "%7.1fs  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
	}}
	engine, err := filepath.Abs(c.Engine)
	if err != nil {
		return e, err
	}
	e.Engine = engine
	if c.Inside {
		return e, nil
	}
	self, err := os.Executable()
	e.Model = []string{self, "model"}
	return e, err
}

// scenarios are what a command measures, in order.
func (c *cli) scenarios(command string, e bench.Env) (list []scenario) {
	is := func(name string) bool { return command == name || command == "all" }
	if is("start") {
		list = append(list, bench.Start{Env: e, N: c.Start.N, Rest: c.Start.Rest})
	}
	if is("turn") {
		list = append(list, bench.Turn{Env: e, N: c.Turn.N})
	}
	if is("concurrent") {
		list = append(list, c.crowds(e)...)
	}
	if is("many") {
		m := c.Many
		list = append(list, bench.Crowd{Env: e, Name: "many", Chats: m.Chats, Rounds: 1, Tokens: m.Tokens, Every: m.Every, Spread: m.Spread, Alone: true,
			RelayGoal: 50 * time.Millisecond})
	}
	if is("kill") {
		list = append(list, bench.Kill{Env: e, N: c.Kill.N, Chats: c.Kill.Chats})
	}
	if is("stop") {
		demo := e
		demo.Engine = cmp.Or(c.Stop.Demo, e.Engine+"-demo")
		list = append(list, bench.Stop{Env: demo, Chats: c.Stop.Chats, Children: c.Stop.Children})
	}
	if is("churn") {
		list = append(list, bench.Churn{Env: e, Steps: c.Churn.Steps, Settle: c.Churn.Settle})
	}
	switch command {
	case "relay":
		list = append(list, bench.Direct{Env: e, Chats: c.Relay.Chats, Rounds: c.Relay.Rounds, Engine: true})
	case "direct":
		list = append(list, bench.Direct{Env: e, Chats: c.Direct.Chats, Rounds: c.Direct.Rounds})
	}
	return list
}

func (c *cli) crowds(e bench.Env) (list []scenario) {
	f := c.Concurrent
	crowd := func(chats int, spread time.Duration) bench.Crowd {
		return bench.Crowd{Env: e, Chats: chats, Rounds: f.Rounds, Spread: spread, Post: f.Post, Alone: true, FirstGoal: 60 * time.Millisecond,
			RelayMedianGoal: time.Millisecond, RelayGoal: 5 * time.Millisecond}
	}
	most := 0
	for _, n := range f.Chats {
		s := crowd(n, f.Spread)
		if n >= 200 {
			s.CPUGoal = 5 * time.Millisecond
		}
		list, most = append(list, s), max(most, n)
	}
	// The hardest moment: all begin at once, and since their replies take the same time they go on in step.
	if f.Spread > 0 {
		list = append(list, crowd(most, 0))
	}
	return list
}

var errMissed = errors.New("not every goal was met")

func run(ctx context.Context, command string, c *cli) error {
	if command == "faults" {
		return c.Faults.run(ctx, c)
	}
	if command == "model" {
		return bench.ServeModel(bench.ModelOptions{Tokens: c.Model.Tokens, Every: c.Model.Every, Children: c.Model.Children}, os.Stdin, os.Stdout)
	}
	e, err := c.env()
	if err != nil {
		return err
	}
	missed := 0
	for _, s := range c.scenarios(command, e) {
		r, err := s.Run(ctx)
		if err != nil {
			return err
		}
		if err := r.Write(os.Stdout); err != nil {
			return err
		}
		missed += len(r.Missed())
	}
	if missed > 0 {
		return errMissed
	}
	return nil
}

func main() {
	var c cli
	k := kong.Parse(&c, kong.Name("sentient-bench"), kong.Description("Measures the engine. Close everything else first: both ends of every token run on this computer."),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, k.Command(), &c)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "sentient-bench: "+err.Error())
		os.Exit(1)
	}
}
