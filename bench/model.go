package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"sentient/transport/llm/llmtest"
)

// ModelOptions say how the scripted model answers everybody: Tokens tokens, the first at once, Every apart, each the time it
// was written at.
type ModelOptions struct {
	Tokens   int
	Every    time.Duration
	Gone     func() // called when a client leaves in the middle of a reply; only of a model in this process
	Children int    // the first reply asks for the tool that starts this many programs; 0: it is like all others
}

// Validate says what is wrong.
func (o ModelOptions) Validate() error {
	if o.Tokens < 1 || o.Every < 0 {
		return errors.New("bench: the model needs at least one token and a pace that is not negative")
	}
	return nil
}

// Args are the options as ServeModel's command takes them.
func (o ModelOptions) Args() []string {
	return []string{"--tokens=" + strconv.Itoa(o.Tokens), "--every=" + o.Every.String(), "--children=" + strconv.Itoa(o.Children)}
}

// time is how long a reply of the model takes by itself.
func (o ModelOptions) time() time.Duration { return time.Duration(o.Tokens-1) * o.Every }

func (o ModelOptions) serve() (*llmtest.Server, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s, err := llmtest.New(llmtest.Options{Forget: true, Gone: o.Gone, Load: &llmtest.Load{Tokens: o.Tokens, Every: o.Every, Stamp: true},
		Models: []llmtest.Model{{Name: "test", Context: 8192, Capabilities: []string{"completion", "tools"}},
			{Name: "qwen3:8b", Context: 40960, Capabilities: []string{"completion", "tools"}}}})
	if err == nil && o.Children > 0 {
		s.Enqueue(llmtest.Tools(llmtest.Call{ID: "c1", Name: "trouble_children", Arguments: fmt.Sprintf(`{"count":"%d"}`, o.Children)}))
	}
	return s, err
}

// ServeModel runs the model until in ends (its parent is gone or has enough) and writes its address to out as one line.
func ServeModel(o ModelOptions, in io.Reader, out io.Writer) error {
	s, err := o.serve()
	if err != nil {
		return err
	}
	defer s.Close()
	if _, err := fmt.Fprintln(out, s.URL()); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, in)
	return err
}

// model is a running model.
type model struct {
	url   string
	pid   int // 0: in this process
	close func()
}

// startModel runs the model in a process of its own when the environment has a command for it. Close it.
func (e *Env) startModel(ctx context.Context, o ModelOptions) (*model, error) {
	if len(e.Model) == 0 {
		s, err := o.serve()
		if err != nil {
			return nil, err
		}
		return &model{url: s.URL(), close: s.Close}, nil
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, e.Model[0], append(e.Model[1:len(e.Model):len(e.Model)], o.Args()...)...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	end := func() {
		_ = in.Close()
		_ = cmd.Wait() // it ends with its input
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		end()
		return nil, fmt.Errorf("the model server said no address: %w", err)
	}
	return &model{url: strings.TrimSpace(line), pid: cmd.Process.Pid, close: end}, nil
}
