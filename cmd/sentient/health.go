package main

import (
	"context"
	"fmt"

	"sentient/runtime/app"
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
	e.health.Register("disk", func(context.Context) (any, error) { return nil, e.disk.Room() })
}
