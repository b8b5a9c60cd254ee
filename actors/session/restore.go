package session

import (
	"context"
	"encoding/json"

	"sentient/actors/agent"
	"sentient/actors/msg"
	"sentient/actors/policy"
	"sentient/actors/policy/preview"
	"sentient/actors/tool"
	"sentient/actors/wire"
	pb "sentient/proto/session"
	"sentient/storage/journal"
	"sentient/storage/table"
)

// Brought is what bringing back came to.
type Brought struct {
	Result  json.RawMessage // of the app's restore tool
	HandOff json.RawMessage // instead, when a rule hands it to the person
	Error   string          // with HandOff
}

// Names of the rows that say what a person brought back.
const (
	eventRestoring = "restoring"
	eventRestored  = "restored"
)

var (
	errNothingBack = msg.NewFault(msg.Conflict, "There is nothing to bring back.")
	errBroughtBack = msg.NewFault(msg.Conflict, "This was brought back already.")
	errBringing    = msg.NewFault(msg.Conflict, "This is being brought back right now.")
)

// BringBack runs the app's restore tool for a call that moved something to the trash, with the arguments that call was given
// (section 21). A person asked for it, so nothing asks again; never rules and Read only connections still apply. It is recorded as
// begun before it runs, and as done after.
func (s *Service) BringBack(ctx context.Context, session, message string) (Brought, error) {
	back, err := ask(ctx, s, session, func(a *actor, c *change) (*wayBack, error) { return a.wayBack(c, message) })
	if err != nil {
		return Brought{}, err
	}
	if back.handOff != nil {
		return Brought{HandOff: back.handOff, Error: "You've set this to \"Hand it to me\", so Sentient did not bring it back."}, nil
	}
	out, failed := s.run(ctx, session, back)
	worked := failed == nil && !out.IsError
	_, err = ask(context.WithoutCancel(ctx), s, session, func(a *actor, c *change) (struct{}, error) {
		delete(a.bringing, message)
		if worked {
			c.eventRow(eventRestored, message, back.call.Name)
		}
		return struct{}{}, nil
	})
	switch {
	case failed != nil:
		return Brought{}, failed
	case !worked:
		return Brought{}, msg.NewFault(msg.Conflict, "It could not be brought back: "+errorOf(out.Result))
	}
	return Brought{Result: out.Result}, err
}

// wayBack is the call that brings something back.
type wayBack struct {
	call    msg.ToolCall
	gate    gate
	x       *msg.Call
	handOff json.RawMessage
}

func (a *actor) wayBack(c *change, message string) (*wayBack, error) {
	if !a.chat.exists {
		return nil, msg.ErrNoChat
	}
	call, done, err := a.trashed(message)
	switch {
	case err != nil:
		return nil, err
	case call == nil:
		return nil, errNothingBack
	case done:
		return nil, errBroughtBack
	case a.bringing[message]:
		return nil, errBringing
	}
	g := a.gate(nil)
	e, ok := g.reg.Lookup(call.Name)
	if !ok {
		return nil, errNothingBack
	}
	args, bad := e.Decode(call.Arguments)
	if bad != nil {
		return nil, errNothingBack
	}
	name, ok := preview.WayBack(call.Name, a.o.siblings(e.Plugin), args)
	if !ok {
		return nil, errNothingBack
	}
	back := &wayBack{call: msg.ToolCall{ID: "back_" + a.o.NewID(), Name: name, Arguments: call.Arguments}, gate: g}
	back.x = a.callContext("", agent.CallRun{Call: back.call})
	restore, _ := g.reg.Lookup(name)
	if args, bad = restore.Decode(call.Arguments); bad != nil {
		return nil, errNothingBack
	}
	back.x.Args = args
	f := g.facts(restore, args, back.x)
	f.Approved = pressed(f)
	switch r := policy.Judge(f); r.Do {
	case policy.HandOff:
		back.handOff = handOff(restore, args, f)
		return back, nil
	case policy.Refuse:
		return nil, msg.NewFault(msg.Conflict, r.Refusal)
	}
	c.eventRow(eventRestoring, message, name)
	a.bringing[message] = true
	return back, nil
}

// pressed is the yes that pressing a button is: to this very call, with all that is known of it.
func pressed(f policy.Facts) *policy.Approval {
	return &policy.Approval{Risk: msg.RiskExec, Label: f.Label, Untrusted: true, Warned: true}
}

// trashed is the call behind a stored result, and whether it was brought back before.
func (a *actor) trashed(message string) (call *msg.ToolCall, done bool, err error) {
	err = journalRead(a.o.Journal, func(r journal.Reader) error {
		row, ok, err := a.tables.Messages.Get(r, []byte(a.chat.id+message))
		if err != nil || !ok || row.Role != "tool" || row.IsError {
			return err
		}
		for other, err := range a.tables.Messages.Scan(r, table.Query{Prefix: []byte(a.chat.id), Whole: true}) {
			if err != nil {
				return err
			}
			for _, x := range other.Calls {
				if x.Id == row.CallId && other.Id < message { // the nearest one before the result: a model may use an id twice
					call = &msg.ToolCall{ID: x.Id, Name: x.Name, Arguments: x.Arguments}
				}
			}
			done = done || other.Role == "event" && other.Name == eventRestored && eventCall(other) == message
		}
		return nil
	})
	return call, done, err
}

func eventCall(row *pb.MessageRow) string {
	var e struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal([]byte(row.Content), &e)
	return e.Message
}

func (c *change) eventRow(event, message, tool string) {
	c.addMessage(&pb.MessageRow{Role: "event", Name: event, Content: string(wire.Marshal(struct {
		Event   string `json:"event"`
		Message string `json:"message"`
		Tool    string `json:"tool"`
	}{event, message, tool}))})
}

// run runs a call that a person asked for outside a turn, as a run of its chat.
func (s *Service) run(ctx context.Context, session string, back *wayBack) (agent.Outcome, error) {
	done := make(chan agent.Outcome, 1)
	spec := runSpec(session, back.call.ID, "tool "+back.call.Name, func(error) {
		done <- agent.ErrorOutcome(back.call.ID, "something went wrong inside "+back.call.Name)
	})
	yes := &agent.Answer{Request: agent.Request{Risk: msg.RiskExec}, Decision: policy.Allow}
	err := s.o.Work.Go(context.WithoutCancel(ctx), spec, func(ctx context.Context) {
		back.x.Progress = func(msg.ToolProgress) {}
		r := agent.CallRun{Run: back.call.ID, Call: back.call, Risk: msg.RiskWrite, Approved: yes}
		if e, ok := back.gate.reg.Lookup(back.call.Name); ok { // what it is called does not make it another call
			yes.Request.RiskLabel = tool.Describe(e.Tool, back.x.Args, back.x, tool.EffectiveRisk(e.Tool, back.x.Args, back.x)).RiskLabel
		}
		yes.Request.Untrusted, yes.Request.Warning = "pressed", "pressed"
		done <- s.o.perform(ctx, back.gate, r, back.x)
	})
	if err != nil {
		return agent.Outcome{}, err
	}
	select {
	case out := <-done:
		return out, nil
	case <-ctx.Done():
		return agent.Outcome{}, msg.NewFault(msg.Conflict, "It takes long; look again in a moment.")
	}
}

func errorOf(result json.RawMessage) string {
	var r struct {
		Error string `json:"error"`
	}
	_ = json.Unmarshal(result, &r)
	return r.Error
}
