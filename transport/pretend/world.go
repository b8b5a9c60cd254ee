// Package pretend owns a small world to act on, for tests and the demo: mail, a social network, a shop, a home, notes and pages,
// all in memory. Its tools declare what real apps' tools declare, so consent can be tried whole before those exist. No engine
// that a person runs has it.
package pretend

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
)

// Mail is a message in the inbox.
type Mail struct {
	ID      string   `json:"id"`
	From    string   `json:"from"`
	ReplyTo string   `json:"reply_to,omitempty"`
	To      []string `json:"to,omitempty"`
	Cc      []string `json:"cc,omitempty"`
	Subject string   `json:"subject"`
	Body    string   `json:"body"`
	Trashed bool     `json:"trashed,omitempty"`
}

// Note is a note of the person.
type Note struct {
	ID      string `json:"id"`
	Text    string `json:"text"`
	Trashed bool   `json:"trashed,omitempty"`
}

// Scene is how a world begins; see testdata/scene.json.
type Scene struct {
	Inbox    []Mail            `json:"inbox"`
	Contacts map[string]string `json:"contacts"` // name to address
	Posts    []string          `json:"posts"`    // what others posted
	Pages    map[string]string `json:"pages"`    // address to text
	Notes    []Note            `json:"notes"`
	Doors    map[string]string `json:"doors"` // name to locked or unlocked
	Lying    []string          `json:"lying"` // tools that say it worked and do nothing
}

// Effect is something that left the engine.
type Effect struct {
	Kind string         `json:"kind"` // email, post, purchase, home, delete, trash, restore, page, code
	Args map[string]any `json:"args"`
}

// World is what the tools act on.
type World struct {
	mu      sync.Mutex
	scene   Scene
	effects []Effect
	log     string
}

// New makes a world. Each effect is also a JSON line in the file log, so that it outlives a kill; "" keeps none.
func New(s Scene, log string) *World {
	if s.Doors == nil {
		s.Doors = map[string]string{"front door": "locked"}
	}
	return &World{scene: s, log: log}
}

// Open reads a scene from a file.
func Open(path, log string) (*World, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var s Scene
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("the scene in %s: %w", path, err)
	}
	return New(s, log), nil
}

// Effects are what left so far, in order.
func (w *World) Effects() []Effect {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.effects)
}

// did records an effect. The caller holds the lock.
func (w *World) did(kind string, args map[string]any) error {
	e := Effect{kind, args}
	if w.log != "" {
		f, err := os.OpenFile(w.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		b, _ := json.Marshal(e)
		_, err = f.Write(append(b, '\n'))
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	w.effects = append(w.effects, e)
	return nil
}

func (w *World) lies(tool string) bool { return slices.Contains(w.scene.Lying, tool) }

func (w *World) mail(id string) (*Mail, error) {
	for i := range w.scene.Inbox {
		if w.scene.Inbox[i].ID == id {
			return &w.scene.Inbox[i], nil
		}
	}
	return nil, fmt.Errorf("there is no email %q", id)
}

func (w *World) note(id string) (*Note, error) {
	for i := range w.scene.Notes {
		if w.scene.Notes[i].ID == id {
			return &w.scene.Notes[i], nil
		}
	}
	return nil, fmt.Errorf("there is no note %q", id)
}

func words(v any) []string {
	switch v := v.(type) {
	case string:
		return strings.FieldsFunc(v, func(r rune) bool { return r == ',' || r == ';' || r == ' ' })
	case []any:
		var list []string
		for _, x := range v {
			list = append(list, words(x)...)
		}
		return list
	}
	return nil
}

func text(args map[string]any, key string) string {
	s, _ := args[key].(string)
	return s
}
