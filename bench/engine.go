package bench

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sentient/bench/process"
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

// engine is a running engine. End it with Stop or Kill.
type engine struct{ *process.Engine }

const benchToken = "bench-token-of-this-computer-only"

// start runs the engine on a free port and waits until it answers. It is killed when ctx ends.
func (h *home) start(ctx context.Context) (*engine, error) {
	e, err := process.Start(ctx, process.Options{Binary: h.env.Engine, Home: h.dir, Token: benchToken, Bound: true, Output: filepath.Join(h.dir, "engine.out"),
		Env: []string{"SENTIENT_BENCH_KEY=bench", "SENTIENT_TROUBLE=1"}, Every: time.Millisecond, Ready: answers})
	if err != nil {
		return nil, err
	}
	return &engine{e}, nil
}

func answers(ctx context.Context, address string) bool {
	c, err := dial(ctx, address, benchToken, time.Second)
	if err != nil {
		return false
	}
	defer c.close()
	resp, err := c.request("GET", "/api/bootstrap", nil)
	return err == nil && resp.StatusCode == http.StatusOK
}

func (e *engine) memory() (memory, error) { return memoryOf(e.PID()) }

func (e *engine) cpu() (time.Duration, error) { return cpuTime(e.PID()) }

// dial connects to the engine's gateway.
func (e *engine) dial(ctx context.Context, limit time.Duration) (*connection, error) {
	return dial(ctx, e.Address, benchToken, limit)
}
