package session

import (
	"context"
	"sync"

	"sentient/actors/agent"
	"sentient/actors/msg"
	"sentient/actors/wire"
	pb "sentient/proto/session"
	"sentient/runtime/work"
)

// halted is what a stop ended here: the turn that was open, "" none.
type halted struct {
	epoch uint64
	turn  string
}

// obey ends what was admitted before the last stop (section 17). It comes before every message, so that whatever reaches a chat
// first after a stop (a token, a result, an answer, the person's next words) finds nothing of before it still going on.
func (a *actor) obey() {
	epoch := a.o.Work.Epoch()
	if epoch == a.chat.epoch || a.retrying != nil {
		return
	}
	a.chat.epoch = epoch
	c := a.chat.begin(a.o.Now())
	a.halted = halted{epoch, c.dropBefore()}
	if !c.empty() {
		_ = a.commit(c)
	}
}

// dropBefore drops what waits since before the stop and ends the reply that runs since then, whose turn it gives.
func (c *change) dropBefore() (turn string) {
	c.dropWaiting()
	if c.chat.turn != nil && c.stale(c.chat.Turn.GetEpoch()) {
		turn = c.turnID()
		c.step(agent.StoppedByPerson{})
	}
	return turn
}

// stale: of before the last stop. What an engine without epochs left is of the first.
func (c *change) stale(epoch uint64) bool { return max(epoch, work.FirstEpoch) < c.chat.epoch }

// dropWaiting ends every message that waits since before the stop for a turn of its own, unsent. Steers go with the reply that
// they wait for.
func (c *change) dropWaiting() {
	var ids []string
	own := c.chat.turn == nil
	for _, q := range c.chat.Queue {
		own = own || q.OwnTurn
		row := c.chat.queued[q.Id]
		if !own || !c.stale(row.GetEpoch()) {
			continue
		}
		c.sayDropped(q, row.GetText())
		ids = append(ids, q.Id)
	}
	c.unqueue(ids, true)
}

// sayDropped is how a message ends that waited when everything was stopped (A-1079).
func (c *change) sayDropped(q *pb.Queued, text string) {
	turn := q.Turn
	if turn == "" {
		turn = c.chat.newID()
	}
	e := map[string]any{"message": msg.ErrDropped.Text, "recoverable": false, "dropped": true}
	if q.ClientId != "" {
		e["client_id"] = q.ClientId
	}
	d := doneFields{Cancelled: true, Dropped: []string{text}, ClientID: q.ClientId, Memories: []any{}, Sources: []msg.AnswerSource{}, Checks: []msg.OutcomeCheck{}}
	c.note("error", turn, nil, wire.Of(e))
	c.note("done", turn, &pb.Note{Inline: d.extra()}, wire.Of(d))
}

// goOn starts what waits since a restart while everything was stopped.
type goOn struct{}

func (a *actor) goOn() {
	if a.retrying != nil { // a turn that was cut is not settled yet; what waits starts when it is
		return
	}
	c := a.chat.begin(a.o.Now())
	c.nextTurn()
	_ = a.commit(c)
}

// Halt ends every reply of before the stop at epoch. Ended are the turns it ended; late says what had not ended when ctx did.
func (s *Service) Halt(ctx context.Context, epoch uint64) (ended, late []string) {
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, id := range s.Running() {
		all.Go(func() {
			turn, err := ask(ctx, s, id, func(a *actor, _ *change) (string, error) {
				if a.halted.epoch < epoch {
					return "", nil
				}
				return a.halted.turn, nil
			})
			mu.Lock()
			defer mu.Unlock()
			if turn != "" {
				ended = append(ended, turn)
			}
			if err != nil && ctx.Err() != nil {
				late = append(late, "a reply in chat "+id)
			}
		})
	}
	all.Wait()
	return ended, late
}

// Resume starts what waits since a restart while everything was stopped.
func (s *Service) Resume() {
	for _, id := range s.Running() {
		s.owner.Ref(id).Tell(goOn{})
	}
}
