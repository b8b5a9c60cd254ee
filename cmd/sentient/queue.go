package main

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"sentient/actors/modelqueue"
	"sentient/actors/msg"
	"sentient/runtime/act"
	"sentient/runtime/app"
	"sentient/runtime/bus"
	"sentient/runtime/work"
	"sentient/transport/power"
)

const ollamaAddress = "http://localhost:11434"

// openQueue starts the queue of the local models. It follows the settings, and the battery from serve on.
func (e *engine) openQueue() error {
	reader := power.Reader{Getenv: e.getenv}
	var err error
	e.queue, err = modelqueue.New(e.actors, modelqueue.Options{Bus: e.bus, Config: e.live.Get, Logger: e.log, Power: func() modelqueue.Power {
		r := reader.Read(context.Background())
		return modelqueue.Power{OnBattery: r.OnBattery, Percent: r.Percent}
	}})
	if err == nil {
		e.live.Join("the model queue", queueSettings{e.queue})
	}
	return err
}

// queueSettings lets the queue look again at once when the settings change.
type queueSettings struct{ q *modelqueue.Service }

func (queueSettings) Verify(_, _ *app.Config) error { return nil }
func (s queueSettings) Commit(*app.Config)          { s.q.Changed() }

// hearReply tells the queue which chats have a reply running: a turn begins with the event session and ends with done.
func (e *engine) hearReply(ev bus.Event) {
	if e.queue == nil || ev.Topic == "" || ev.Turn == "" {
		return
	}
	switch ev.Kind {
	case "session":
		e.queue.ReplyBegan("session/" + ev.Topic)
	case "done":
		e.queue.ReplyEnded("session/" + ev.Topic)
	}
}

// localRuntime is the address of the runtime that answers a model, in one spelling, so that ollama and ollama_chat share one;
// "" for everything that never waits: only Ollama's models queue, and not those it runs in its cloud.
func localRuntime(c app.Models, model string) string {
	provider, name, _ := strings.Cut(strings.TrimSpace(model), "/")
	if provider != "ollama" && provider != "ollama_chat" {
		return ""
	}
	if n := strings.ToLower(name); strings.HasSuffix(n, "-cloud") || strings.HasSuffix(n, ":cloud") {
		return ""
	}
	base := strings.TrimSpace(text(c.Providers[provider].APIBase))
	if base == "" {
		base = ollamaAddress
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return base // no such call gets anywhere, but it is somebody's
	}
	host, port := strings.ToLower(u.Hostname()), u.Port()
	if host == "127.0.0.1" || host == "::1" {
		host = "localhost"
	}
	path := strings.TrimRight(u.Path, "/")
	path = strings.TrimSuffix(strings.TrimSuffix(path, "/v1"), "/api")
	return u.Scheme + "://" + host + ":" + port + path
}

// queued waits until the call may use its model, if it has to. The error is a *msg.ModelError.
func queued(ctx context.Context, q *modelqueue.Service, live *app.Live, r msg.ModelRequest) (release func(), err error) {
	call := modelqueue.Call{Runtime: localRuntime(live.Get().Models, r.Model), Model: r.Model, Role: r.Role, Job: r.Job}
	if run, ok := work.SpecOf(ctx); ok {
		call.Reply = run.Owner
		// Upkeep that a person started is theirs (Dream now); what the engine starts says so.
		call.Asked = run.Origin == work.User
	}
	release, err = q.Acquire(ctx, call)
	if err != nil {
		return nil, notQueued(ctx, r.Model, err)
	}
	return release, nil
}

// notQueued says why a call never got its turn. Nothing was sent anywhere.
func notQueued(ctx context.Context, model string, err error) *msg.ModelError {
	out := &msg.ModelError{Fault: msg.FaultOther, Model: model, Message: "Something went wrong while this waited for the local model. Try again.", Raw: err.Error()}
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		out.Fault, out.Message = msg.FaultTimeout, "The local model was busy with other work all the time. Try again in a moment."
	case ctx.Err() != nil:
		out.Fault, out.Message = msg.FaultCancelled, "Stopped."
	case errors.Is(err, act.ErrStopping):
		out.Fault, out.Message = msg.FaultCancelled, msg.ErrStopping.Text
	}
	return out
}

// queueOf is the queue as the gateway sees it.
type queueOf struct{ q *modelqueue.Service }

func (m queueOf) Busy(ctx context.Context) (any, error) { return m.q.Busy(ctx) }
