package app

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// Participant is a part of the engine that a change of configuration concerns.
type Participant interface {
	// Verify says why this part cannot work with next, in a plain sentence; it changes nothing.
	Verify(now, next *Config) error
	// Commit puts next in force. It cannot refuse and must not block.
	Commit(next *Config)
}

// Live holds the configuration in force. Reading is one atomic load; changing asks every participant first, in the order in which they
// joined, and only when all agree and the change is on disk does anyone hear of it.
type Live struct {
	current atomic.Pointer[Config]
	mu      sync.Mutex // one change at a time
	joined  []*member
}

type member struct {
	name string
	p    Participant
}

// NewLive starts with a configuration that is known to be good.
func NewLive(c *Config) *Live {
	l := &Live{}
	l.current.Store(c)
	return l
}

// Get is the configuration in force. It is shared: it must not be changed.
func (l *Live) Get() *Config { return l.current.Load() }

// Join adds a participant; the answer takes it out again.
func (l *Live) Join(name string, p Participant) (leave func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	joined := &member{name, p}
	l.joined = append(l.joined, joined)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.joined = slices.DeleteFunc(l.joined, func(m *member) bool { return m == joined })
	}
}

// Refusal says which part refused a change, and why.
type Refusal struct {
	Part string
	Err  error
}

func (r *Refusal) Error() string { return fmt.Sprintf("%s cannot use this setting: %v", r.Part, r.Err) }
func (r *Refusal) Unwrap() error { return r.Err }

// Apply verifies next with everyone, then persists it, then puts it in force. An error of either leaves everything as it was. A nil
// persist writes nothing, for a change that came from the file.
func (l *Live) Apply(next *Config, persist func(now, next *Config) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.current.Load()
	for _, m := range l.joined {
		if err := m.p.Verify(now, next); err != nil {
			return &Refusal{Part: m.name, Err: err}
		}
	}
	if persist != nil {
		if err := persist(now, next); err != nil {
			return err
		}
	}
	l.current.Store(next)
	for _, m := range l.joined {
		m.p.Commit(next)
	}
	return nil
}
