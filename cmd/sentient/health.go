package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"sentient/runtime/app"
	"sentient/storage/journal"
)

// watchHealth registers what the token holder is told when something is wrong (GET /api/health).
func (e *engine) watchHealth() {
	e.health.Register("actors", func(context.Context) (any, error) {
		if p := e.actors.Parked(); len(p) > 0 {
			return p, fmt.Errorf("%d parts keep failing and were set aside: see the engine's log", len(p))
		}
		return nil, nil
	})
	e.health.Register("settings", func(context.Context) (any, error) {
		_, _, err := app.Load(e.home.ConfigFile())
		return nil, err
	})
	e.health.Register("store", func(context.Context) (any, error) {
		d := e.journal.Damage()
		if len(d) == 0 {
			return nil, nil
		}
		return d, errors.New(unreadable(e.home, d))
	})
	e.health.Register("disk", func(context.Context) (any, error) { return nil, e.disk.Room() })
}

// unreadable says what of the store cannot be read, and what to do.
func unreadable(home app.Home, all []journal.Damage) string {
	var parts []string
	for _, d := range all {
		places := "1 place"
		if d.Places > 1 {
			places = fmt.Sprintf("%d places", d.Places)
		}
		parts = append(parts, d.Part+" ("+places+")")
	}
	return fmt.Sprintf("Some of the store cannot be read: %s. The rest is used and nothing was removed. To have it back, stop the engine and put a backup of %s in its place.",
		strings.Join(parts, ", "), home.Store())
}
