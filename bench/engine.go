package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// memory of a process, in MB (2^20 bytes): RSS is all that is resident, Own the part that is not mapped from files (code, the
// search index).
type memory struct{ RSS, Own float64 }

// home is a data folder for one scenario. Close removes it.
type home struct {
	env *Env
	dir string
}

func (e *Env) newHome() (*home, error) {
	dir, err := os.MkdirTemp(e.Dir, "sentient-bench-")
	return &home{env: e, dir: dir}, err
}

func (h *home) close() { _ = os.RemoveAll(h.dir) } // a temporary folder: the system clears what is left

// configure writes config.yaml so that the engine's model is the scripted one.
func (h *home) configure(modelURL string) error {
	provider, _, _ := strings.Cut(h.env.Provider, "/")
	base := modelURL
	if !strings.HasPrefix(provider, "ollama") {
		base += "/v1"
	}
	// Titles and summaries are further model calls beside the measured ones, and the queue of local models answers one chat at
	// a time, which would measure the queue.
	text := fmt.Sprintf(`assistant:
  onboarding_complete: true
models:
  roles:
    primary: %[1]s
    fast: %[1]s
  providers:
    %[2]s:
      api_base: %[3]s
      api_key_env: SENTIENT_BENCH_KEY
  local_queue: false
chat:
  auto_title: false
  compress_after_messages: 100000
`, h.env.Provider, provider, base)
	return os.WriteFile(filepath.Join(h.dir, "config.yaml"), []byte(text), 0o600)
}

// engine is a running engine. End it with stop or kill.
type engine struct {
	cmd     *exec.Cmd
	address string
	token   string
	output  string        // file of what it printed
	took    time.Duration // from exec to the first GET /api/bootstrap with status 200
	exited  chan struct{}
}

const benchToken = "bench-token-of-this-computer-only"

// readyWithin bounds a start.
const readyWithin = 60 * time.Second

// start runs the engine on a free port and waits until it answers.
func (h *home) start(ctx context.Context) (*engine, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	e := &engine{address: fmt.Sprintf("http://127.0.0.1:%d", port), token: benchToken, output: filepath.Join(h.dir, "engine.out"), exited: make(chan struct{})}
	out, err := os.OpenFile(e.output, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	e.cmd = exec.CommandContext(ctx, h.env.Engine, "serve", fmt.Sprintf("--port=%d", port))
	e.cmd.Env = append(os.Environ(), "SENTIENT_HOME="+h.dir, "SENTIENT_GATEWAY_TOKEN="+e.token, "SENTIENT_BENCH_KEY=bench", "SENTIENT_TROUBLE=1", "DBUS_SESSION_BUS_ADDRESS=")
	e.cmd.Stdout, e.cmd.Stderr = out, out
	began := time.Now()
	if err := e.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = e.cmd.Wait() // how it ended is in its output
		close(e.exited)
	}()
	if err := e.ready(ctx, began); err != nil {
		e.kill()
		return nil, err
	}
	return e, nil
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// ready asks every millisecond.
func (e *engine) ready(ctx context.Context, began time.Time) error {
	for {
		if c, err := dial(ctx, e.address, e.token, time.Second); err == nil {
			resp, err := c.request("GET", "/api/bootstrap", nil)
			if err == nil && resp.StatusCode == http.StatusOK {
				e.took = time.Since(began)
				c.close()
				return nil
			}
			c.close()
		}
		select {
		case <-e.exited:
			return errors.New("the engine ended before it was ready: " + e.said())
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
		if time.Since(began) > readyWithin {
			return errors.New("the engine was not ready in time: " + e.said())
		}
	}
}

// said is the end of what the engine printed.
func (e *engine) said() string {
	b, _ := os.ReadFile(e.output) // only for the sentence
	lines := bytes.Split(bytes.TrimSpace(b), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-5):], []byte(" | ")))
}

// logged is a duration that the engine has logged, by what stands before it.
func (e *engine) logged(before string) (time.Duration, error) {
	b, err := os.ReadFile(e.output)
	if err != nil {
		return 0, err
	}
	_, after, found := bytes.Cut(b, []byte(before))
	if !found {
		return 0, errors.New("the engine's log has no " + before)
	}
	word, _, _ := bytes.Cut(bytes.TrimSpace(after), []byte(" "))
	return time.ParseDuration(string(word))
}

// kill is kill -9.
func (e *engine) kill() {
	_ = e.cmd.Process.Kill() // it may have ended already
	<-e.exited
}

// stop asks the engine to end, and kills it when it does not.
func (e *engine) stop() error {
	if err := e.cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		e.kill()
		return nil
	}
	select {
	case <-e.exited:
		return nil
	case <-time.After(30 * time.Second):
		e.kill()
		return errors.New("the engine did not stop within 30 s: " + e.said())
	}
}

func (e *engine) pid() int { return e.cmd.Process.Pid }

func (e *engine) memory() (memory, error) { return memoryOf(e.pid()) }

func (e *engine) cpu() (time.Duration, error) { return cpuTime(e.pid()) }

// dial connects to the engine's gateway.
func (e *engine) dial(ctx context.Context, limit time.Duration) (*connection, error) {
	return dial(ctx, e.address, e.token, limit)
}

// pause waits without outliving ctx.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
