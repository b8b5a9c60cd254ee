package edge

import (
	"sync"
	"time"

	"sentient/actors/msg"
	"sentient/runtime/bus"
)

// presence knows which windows say they are in front. A closed socket is not.
type presence struct {
	server *Server

	mu     sync.Mutex
	active map[*socket]struct{}
}

// set takes what a socket says of itself and tells everybody when "any window" changes. The lock is held while
// telling, so that the changes are heard in order.
func (p *presence) set(k *socket, active bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := len(p.active) > 0
	if active {
		if p.active == nil {
			p.active = map[*socket]struct{}{}
		}
		p.active[k] = struct{}{}
	} else {
		delete(p.active, k)
	}
	now := len(p.active) > 0
	if now == before {
		return
	}
	ts := msg.Time{Time: time.Now()}
	p.server.o.Bus.Publish(bus.Event{Kind: "presence.changed",
		Body: body("presence.changed", "data", map[string]bool{"in_app": now}, "ts", ts)})
	if p.server.o.OnPresence != nil {
		p.server.o.OnPresence(now)
	}
}

// InApp says whether any window is in front.
func (s *Server) InApp() bool {
	s.presence.mu.Lock()
	defer s.presence.mu.Unlock()
	return len(s.presence.active) > 0
}
