package session

import (
	"context"
	"encoding/json"
	"time"

	"sentient/actors/agent"
	"sentient/actors/msg"
	"sentient/actors/policy/outcome"
	"sentient/actors/tool"
	"sentient/actors/wire"
	pb "sentient/proto/session"
)

// readBackTime bounds how long a tool may take to read back what it did (section 4).
const readBackTime = 15 * time.Second

// check finds in code what a call that should change something really did (section 4, "Checking the outcome").
func (o *Options) check(ctx context.Context, e tool.Entry, x *msg.Call, result any, out *agent.Outcome) {
	kind, checked := outcome.Kind(*e.Tool, e.Plugin.ID)
	if !checked || ctx.Err() != nil {
		return
	}
	c := outcome.OfResult(e.Tool.Name, plainName(e), e.Plugin.DisplayName, kind, x.Args, out.Result, out.IsError)
	if c.OK && e.Tool.Verify != nil {
		ctx, cancel := context.WithTimeout(ctx, readBackTime)
		defer cancel()
		if got, err := verify(ctx, e.Tool, x, result); err == nil {
			c = outcome.ReadBack(c, got)
		}
	}
	out.Check = &c
	if note := outcome.ModelNote(c); note != "" {
		if out.Shown == "" {
			out.Shown = out.Content
		}
		out.Shown += "\n" + note
	}
}

// verify runs a tool's own read-back; one that breaks leaves the result's own answer standing.
func verify(ctx context.Context, t *msg.Tool, x *msg.Call, result any) (got msg.Outcome, err error) {
	defer func() {
		if recover() != nil {
			err = errJudge
		}
	}()
	return t.Verify(ctx, x.Args, result, x)
}

// settled are the checks of a reply, held against what it claims.
func settled(checks []msg.OutcomeCheck, answer string) []msg.OutcomeCheck {
	if len(checks) == 0 {
		return []msg.OutcomeCheck{}
	}
	return outcome.Settle(checks, answer)
}

func checkRecord(c *msg.OutcomeCheck) []byte {
	if c == nil {
		return nil
	}
	return wire.Marshal(c)
}

// checkOf is what a tool's row keeps of its check, nil none.
func checkOf(row *pb.MessageRow) *msg.OutcomeCheck {
	c := &msg.OutcomeCheck{}
	if len(row.Check) == 0 || json.Unmarshal(row.Check, c) != nil {
		return nil
	}
	return c
}

func checksOf(row *pb.MessageRow) []msg.OutcomeCheck {
	list := []msg.OutcomeCheck{}
	if len(row.Checks) > 0 {
		_ = json.Unmarshal(row.Checks, &list)
	}
	return list
}

// keepCopies keeps copies of the files a call may change; what it returns ends that.
func (o *Options) keepCopies(e tool.Entry, x *msg.Call) (finish func()) {
	if o.Snapshots == nil || e.Tool.TouchesFn == nil || x.Incognito {
		return func() {}
	}
	return o.Snapshots.Guard(x, e.Tool.TouchesFn(x.Args, x))
}
