package modelqueue

import "time"

// replyPatience is how long a reply may leave the model alone, for example while a tool runs or an approval waits, before it
// stops holding background work back: something it waits for may itself need the model.
const replyPatience = 60 * time.Second

// chatState is what the chats mean for background work, from the moment it was taken until the next news.
type chatState struct {
	calling bool      // a reply uses the model now
	until   time.Time // the replies that run hold background work back until then
	ended   time.Time // when a reply last ended
	seen    time.Time // when anybody last chatted
}

// holds reports whether background work waits for a chat.
func (c chatState) holds(now time.Time, quiet time.Duration) bool {
	return c.calling || now.Before(c.until) || !c.ended.IsZero() && now.Before(c.ended.Add(quiet))
}

// lastSeen is when anybody last chatted; now while a reply uses the model, long ago when nobody ever did.
func (c chatState) lastSeen(now time.Time) time.Time {
	if c.calling {
		return now
	}
	return c.seen
}

// replies are the chat replies that run. A reply that is never said to have ended is forgotten after replyPatience.
type replies struct {
	open  map[string]*reply
	ended time.Time
	seen  time.Time
}

type reply struct {
	calls int       // that wait for the model or use it
	used  time.Time // when it began, or last used the model
	over  bool      // it has ended, but a call of it has not returned yet
}

func newReplies() *replies { return &replies{open: map[string]*reply{}} }

func (r *replies) of(name string, now time.Time) *reply {
	x := r.open[name]
	if x == nil {
		x = &reply{}
		r.open[name] = x
	}
	x.used, r.seen = now, now
	return x
}

// began: a reply runs, whatever its model.
func (r *replies) began(name string, now time.Time) { r.of(name, now).over = false }

// calls: a reply wants a local model.
func (r *replies) calls(name string, now time.Time) { r.of(name, now).calls++ }

// returned: the call is over, however it ended.
func (r *replies) returned(name string, now time.Time) {
	x := r.open[name]
	r.seen = now
	if x == nil {
		r.ended = now
		return
	}
	x.used = now
	x.calls = max(0, x.calls-1)
	if x.calls == 0 && (x.over || name == "") {
		r.end(name, now)
	}
}

// finished: the reply has ended. A call of it that is still returning keeps it until then; that call may also be the first of
// the chat's next reply, whose beginning is only heard afterwards.
func (r *replies) finished(name string, now time.Time) {
	if x := r.open[name]; x != nil && x.calls > 0 {
		x.over = true
		return
	}
	r.end(name, now)
}

func (r *replies) end(name string, now time.Time) {
	delete(r.open, name)
	r.ended, r.seen = now, now
}

// state is the sum of all replies.
func (r *replies) state(now time.Time) chatState {
	s := chatState{ended: r.ended, seen: r.seen}
	for name, x := range r.open {
		until := x.used.Add(replyPatience)
		switch {
		case x.calls > 0:
			s.calling = true
		case !now.Before(until):
			delete(r.open, name)
		case until.After(s.until):
			s.until = until
		}
	}
	return s
}
