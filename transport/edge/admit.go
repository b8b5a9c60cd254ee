package edge

import (
	"sync"

	"sentient/actors/msg"
)

// admission bounds the commands that wait for owners: so many for one, so many in all. What is over the bound was not
// sent, and the client is told at once that Sentient is busy.
type admission struct {
	perOwner, inAll int

	mu     sync.Mutex
	owners map[string]int
	total  int
}

func newAdmission(perOwner, inAll int) *admission {
	return &admission{perOwner: perOwner, inAll: inAll, owners: map[string]int{}}
}

// enter takes a place for a command to owner, until leave. The only error is msg.ErrBusy.
func (a *admission) enter(owner string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.total >= a.inAll || a.owners[owner] >= a.perOwner {
		return msg.ErrBusy
	}
	a.total++
	a.owners[owner]++
	return nil
}

func (a *admission) leave(owner string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.total--
	if a.owners[owner]--; a.owners[owner] == 0 {
		delete(a.owners, owner)
	}
}

func (a *admission) waiting() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.total
}
