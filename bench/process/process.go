// Package process owns the engine as a child process of those who measure it or let things fail around it: its address, what it
// printed, how long it took to be ready, and its end.
package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"time"
)

// Options of a start.
type Options struct {
	Binary, Home, Token string
	Output              string        // file that what it prints is added to
	Env                 []string      // beside this process's own
	Every               time.Duration // between two looks whether it is ready
	Ready               func(ctx context.Context, address string) bool
	Bound               bool // it is killed when the context of its start ends
}

// Engine is one life of the engine. End it with Stop or Kill.
type Engine struct {
	Address string
	Took    time.Duration // from exec to the first time it was ready
	Exited  chan struct{} // closed at its end
	cmd     *exec.Cmd
	output  string
}

const (
	readyWithin = 60 * time.Second // says only that a start hangs; the time itself is reported
	stopWithin  = 30 * time.Second
)

// Start runs the engine on a free port and waits until it is ready.
func Start(ctx context.Context, o Options) (*Engine, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	e := &Engine{Address: fmt.Sprintf("http://127.0.0.1:%d", port), Exited: make(chan struct{}), output: o.Output}
	out, err := os.OpenFile(o.Output, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	life := context.WithoutCancel(ctx)
	if o.Bound {
		life = ctx
	}
	e.cmd = exec.CommandContext(life, o.Binary, "serve", fmt.Sprintf("--port=%d", port))
	e.cmd.Env = append(os.Environ(), "SENTIENT_HOME="+o.Home, "SENTIENT_GATEWAY_TOKEN="+o.Token, "DBUS_SESSION_BUS_ADDRESS=")
	e.cmd.Env = append(e.cmd.Env, o.Env...)
	e.cmd.Stdout, e.cmd.Stderr = out, out
	began := time.Now()
	if err := e.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = e.cmd.Wait() // how it ended is in its output
		close(e.Exited)
	}()
	if err := e.ready(ctx, o, began); err != nil {
		e.Kill()
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

func (e *Engine) ready(ctx context.Context, o Options, began time.Time) error {
	for {
		if o.Ready(ctx, e.Address) {
			e.Took = time.Since(began)
			return nil
		}
		select {
		case <-e.Exited:
			return errors.New("the engine ended before it was ready: " + e.Said())
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(o.Every):
		}
		if time.Since(began) > readyWithin {
			return errors.New("the engine was not ready in time: " + e.Said())
		}
	}
}

// Said is the end of what the engine printed.
func (e *Engine) Said() string {
	b, _ := os.ReadFile(e.output) // only for the sentence
	lines := bytes.Split(bytes.TrimSpace(b), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-5):], []byte(" | ")))
}

// PID of the engine.
func (e *Engine) PID() int { return e.cmd.Process.Pid }

// Gone says whether it has ended.
func (e *Engine) Gone() bool {
	select {
	case <-e.Exited:
		return true
	default:
		return false
	}
}

// Kill is kill -9.
func (e *Engine) Kill() {
	_ = e.cmd.Process.Kill() // it may have ended already
	<-e.Exited
}

// Stop asks the engine to end, and kills it when it does not. An error says that it did not end in order.
func (e *Engine) Stop() error {
	_ = e.cmd.Process.Signal(os.Interrupt) // it may have ended already
	select {
	case <-e.Exited:
		if code := e.cmd.ProcessState.ExitCode(); code != 0 {
			return fmt.Errorf("the engine was asked to stop and ended with status %d: %s", code, e.Said())
		}
		return nil
	case <-time.After(stopWithin):
		e.Kill()
		return errors.New("the engine did not stop in time: " + e.Said())
	}
}

// Pause waits without outliving ctx.
func Pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
