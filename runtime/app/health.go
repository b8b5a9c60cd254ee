package app

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Check looks at one part of the engine. Its detail is shown to whoever holds the token, so it holds no secret and no chat text.
type Check func(ctx context.Context) (detail any, err error)

// Condition is what a check came to.
type Condition struct {
	OK     bool   `json:"ok"`
	Detail any    `json:"detail,omitempty"`
	Error  string `json:"error,omitempty"`
}

// Health is the list of checks behind GET /api/health for the token holder.
type Health struct {
	mu     sync.Mutex
	checks map[string]*entry
}

type entry struct {
	check   Check
	running atomic.Bool // one that hangs is not started again
}

// checkWithin bounds one check.
const checkWithin = 2 * time.Second

// Register adds a check, or replaces the one of this name; the answer takes it out again.
func (h *Health) Register(name string, check Check) (remove func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.checks == nil {
		h.checks = map[string]*entry{}
	}
	e := &entry{check: check}
	h.checks[name] = e
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.checks[name] == e {
			delete(h.checks, name)
		}
	}
}

// Report runs every check at the same time, each for at most two seconds, and says whether all are fine. A check that does not heed its
// context is left behind, reported as not answering, and not started again until it has ended.
func (h *Health) Report(ctx context.Context) (ok bool, conditions map[string]Condition) {
	h.mu.Lock()
	pending := make(map[string]chan Condition, len(h.checks))
	ctx, cancel := context.WithTimeout(ctx, checkWithin)
	defer cancel()
	for name, e := range h.checks {
		answer := make(chan Condition, 1)
		pending[name] = answer
		if !e.running.CompareAndSwap(false, true) {
			answer <- Condition{Error: "It has not answered an earlier look yet."}
			continue
		}
		go func() {
			defer e.running.Store(false)
			answer <- examine(ctx, e.check)
		}()
	}
	h.mu.Unlock()

	ok, conditions = true, make(map[string]Condition, len(pending))
	for name, answer := range pending {
		var c Condition
		select {
		case c = <-answer:
		case <-ctx.Done():
			select { // it may have answered while another was waited for
			case c = <-answer:
			default:
				c = Condition{Error: "It did not answer in time."}
			}
		}
		conditions[name] = c
		ok = ok && c.OK
	}
	return ok, conditions
}

func examine(ctx context.Context, check Check) (c Condition) {
	defer func() {
		if p := recover(); p != nil {
			c = Condition{Error: fmt.Sprintf("The check itself failed: %s", scrub(fmt.Sprint(p)))}
		}
	}()
	detail, err := check(ctx)
	if err != nil {
		return Condition{Detail: detail, Error: scrub(err.Error())}
	}
	return Condition{OK: true, Detail: detail}
}
