package modelqueue

import (
	"container/list"
	"time"
)

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

// replies are the chat replies that run. A reply that is never said to have ended is forgotten after replyPatience. Thousands may
// run, and each word of them is asked about here, so nothing looks at all of them.
type replies struct {
	open    map[string]*list.Element // of *reply
	order   *list.List               // the last to begin or use the model is at the front
	calling int                      // replies that wait for the model or use it
	ended   time.Time
	seen    time.Time
}

type reply struct {
	name  string
	calls int       // that wait for the model or use it
	used  time.Time // when it began, or last used the model
	over  bool      // it has ended, but a call of it has not returned yet
}

func newReplies() *replies { return &replies{open: map[string]*list.Element{}, order: list.New()} }

// find is a reply that just now did something, nil when it is not known.
func (r *replies) find(name string, now time.Time) *reply {
	e := r.open[name]
	if e == nil {
		return nil
	}
	r.order.MoveToFront(e)
	x := e.Value.(*reply)
	x.used = now
	return x
}

func (r *replies) of(name string, now time.Time) *reply {
	r.seen = now
	if x := r.find(name, now); x != nil {
		return x
	}
	x := &reply{name: name, used: now}
	r.open[name] = r.order.PushFront(x)
	return x
}

// began: a reply runs, whatever its model.
func (r *replies) began(name string, now time.Time) { r.of(name, now).over = false }

// calls: a reply wants a local model.
func (r *replies) calls(name string, now time.Time) {
	x := r.of(name, now)
	if x.calls++; x.calls == 1 {
		r.calling++
	}
}

// returned: the call is over, however it ended.
func (r *replies) returned(name string, now time.Time) {
	r.seen = now
	x := r.find(name, now)
	if x == nil {
		r.ended = now
		return
	}
	if x.calls > 0 {
		if x.calls--; x.calls == 0 {
			r.calling--
		}
	}
	if x.calls == 0 && (x.over || name == "") {
		r.end(name, now)
	}
}

// finished: the reply has ended. A call of it that is still returning keeps it until then; that call may also be the first of
// the chat's next reply, whose beginning is only heard afterwards.
func (r *replies) finished(name string, now time.Time) {
	if e := r.open[name]; e != nil && e.Value.(*reply).calls > 0 {
		e.Value.(*reply).over = true
		return
	}
	r.end(name, now)
}

func (r *replies) end(name string, now time.Time) {
	r.forget(r.open[name])
	r.ended, r.seen = now, now
}

func (r *replies) forget(e *list.Element) {
	if e != nil {
		delete(r.open, r.order.Remove(e).(*reply).name)
	}
}

// state is the sum of all replies. While one calls, nothing else of it matters.
func (r *replies) state(now time.Time) chatState {
	s := chatState{ended: r.ended, seen: r.seen, calling: r.calling > 0}
	if s.calling {
		return s
	}
	for e := r.order.Back(); e != nil && !now.Before(e.Value.(*reply).used.Add(replyPatience)); e = r.order.Back() {
		r.forget(e)
	}
	if e := r.order.Front(); e != nil {
		s.until = e.Value.(*reply).used.Add(replyPatience)
	}
	return s
}
