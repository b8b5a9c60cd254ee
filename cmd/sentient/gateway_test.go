package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"

	"sentient/runtime/app"
)

// broken is a listener that fails for good at once.
type broken struct{ net.Listener }

var errBroken = errors.New("the listener broke")

func (broken) Accept() (net.Conn, error) { return nil, errBroken }

// A gateway that ends by itself ends the engine, which would otherwise be there and reached by nobody.
func TestABrokenGatewayEndsTheEngine(t *testing.T) {
	home, err := app.FindHome(func(k string) string { return map[string]string{"SENTIENT_HOME": newHome(t, nil, "")}[k] }, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := home.Prepare(); err != nil {
		t.Fatal(err)
	}
	e := &engine{home: home, log: slog.New(slog.DiscardHandler), getenv: func(string) string { return "" }, userHome: t.TempDir(), fatal: func(err error) { t.Error(err) }}
	if err := e.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := e.serve(t.Context(), broken{ln}); !errors.Is(err, errBroken) { // it returns: that is the point
		t.Fatal(err)
	}
}
