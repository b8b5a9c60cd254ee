package main

import (
	"context"
	"fmt"
	"net/http"

	"sentient/actors/msg"
)

// stopAll is Stop everything from a terminal.
func (m *Main) stopAll(ctx context.Context) error {
	var r msg.StopReport
	if err := m.askEngine(ctx, http.MethodPost, "/api/stop-all", &r); err != nil {
		return err
	}
	fmt.Fprintf(m.Stdout, "Everything is stopped. Jobs that were cancelled: %d. Nothing starts by itself until \"sentient resume\".\n", r.Cancelled)
	for _, l := range r.NotEnded {
		fmt.Fprintf(m.Stdout, "Not ended yet: %s\n", l)
	}
	return nil
}

func (m *Main) resume(ctx context.Context) error {
	var s msg.StopState
	if err := m.askEngine(ctx, http.MethodPost, "/api/resume", &s); err != nil {
		return err
	}
	_, err := fmt.Fprintln(m.Stdout, "Work goes on.")
	return err
}
