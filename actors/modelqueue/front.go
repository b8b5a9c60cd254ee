package modelqueue

import (
	"time"

	"sentient/actors/wire"
	"sentient/runtime/act"
	"sentient/runtime/bus"
)

// What the front actor is told. Everything about one call goes through it, so nothing overtakes: a queue hears of a call after
// the world knows of its reply.
type (
	arrive struct {
		*act.Reply[struct{}]
		key  string
		id   uint64
		call Call
	}
	leave struct {
		key  string
		id   uint64
		call Call
	}
	count struct {
		*act.Reply[state]
		key string
	}
	replyBegan struct{ reply string }
	replyEnded struct{ reply string }
	changed    struct{} // the configuration
	part       struct { // what a queue looks like, when that changed
		key string
		state
	}
)

// front owns what the queues share: the replies that run, the power, and what was last published. Its state outlives a crash.
type front struct {
	s       *Service
	replies *replies
	parts   map[string]state
	told    state
}

func (f *front) Start(*act.Ctx) error { return nil }
func (f *front) Stop(*act.Ctx)        {}

func (f *front) Receive(_ *act.Ctx, m any) {
	now := f.s.o.Now()
	switch m := m.(type) {
	case *arrive:
		if f.isChat(m.key, m.call) {
			f.replies.calls(m.call.Reply, now)
			f.chatted(now, m.key)
		}
		f.s.queues.Tell(m.key, m)
	case leave:
		if f.isChat(m.key, m.call) {
			f.replies.returned(m.call.Reply, now)
			f.chatted(now, m.key)
		}
		f.s.queues.Tell(m.key, m)
	case *count:
		f.s.queues.Tell(m.key, m)
	case replyBegan:
		f.replies.began(m.reply, now)
		f.chatted(now, "")
	case replyEnded:
		f.replies.finished(m.reply, now)
		f.chatted(now, "")
	case Power:
		if w := f.s.world.Load(); w.power != m {
			f.s.world.Store(&world{chat: w.chat, power: m})
			f.lookAll("")
		}
	case changed:
		f.lookAll("")
	case part:
		f.parts[m.key] = m.state
		f.tell(now)
	}
}

// isChat: Claude Code is no local model, so its calls say nothing about who uses one.
func (f *front) isChat(key string, c Call) bool { return key != claudeCode && c.Job == jobs[laneChat] }

// chatted renews the world and lets every queue but one look at it; that one is about to be told something anyway.
func (f *front) chatted(now time.Time, except string) {
	f.s.world.Store(&world{chat: f.replies.state(now), power: f.s.world.Load().power})
	f.lookAll(except)
}

func (f *front) lookAll(except string) {
	f.s.queues.Each(func(key string, ref act.Ref) {
		if key != except {
			ref.Tell(look{})
		}
	})
}

// tell publishes what the local models do, when it is something new. The event is not durable.
func (f *front) tell(now time.Time) {
	var sum state
	for _, p := range f.parts {
		sum = sum.add(p)
	}
	if sum.same(f.told) {
		return
	}
	f.told = sum
	const typ = "model.busy"
	f.s.o.Bus.Publish(bus.Event{Kind: typ, Body: wire.Body(typ, "", "", wire.Domain(sum.busy(), now))})
}
