// Package bench owns the load and fault scenarios: each starts the real engine as a child process on a fresh home, gives it a
// scripted model (transport/llm/llmtest), talks to it as a client over /ws and POST /api/chat, and measures.
//
// A scenario is a struct with defaults, Validate and Run. Times of tokens are measured from the moment the model writes one
// (each token is that moment, in nanoseconds) to the moment the client has read it, so they hold the way through the engine
// and what the two cores make both ends wait. What part of it is not the engine's is measured by the same client talking to
// the model directly, in the same run.
package bench

import (
	"errors"
	"os"
	"time"
)

// Env is what every scenario needs.
type Env struct {
	Engine string // path of the engine's binary
	// Model is the command line that runs ServeModel as a process of its own, to which the options of a run are added (see
	// ModelOptions.Args); nil: the model runs in this process.
	Model    []string
	Provider string // the model's name for the engine, provider/model; default lm_studio/test
	Dir      string // where homes are made (on the disk that is to be measured); "": the system's temporary folder
	// Progress hears what is being done; nil: nobody.
	Progress func(format string, args ...any)
}

const defaultProvider = "lm_studio/test"

// Validate fills the defaults and says what is missing.
func (e *Env) Validate() error {
	if e.Engine == "" {
		return errors.New("bench: Env.Engine is missing: the path of the engine's binary")
	}
	if st, err := os.Stat(e.Engine); err != nil || st.IsDir() {
		return errors.New("bench: there is no engine at " + e.Engine + ". Build it with \"make build\"")
	}
	if e.Provider == "" {
		e.Provider = defaultProvider
	}
	if e.Progress == nil {
		e.Progress = func(string, ...any) {}
	}
	return nil
}

// turnLimit is how long a client waits for a turn beyond the model's own time, before it counts as failed.
const turnLimit = 60 * time.Second
