package modelqueue

import (
	"time"

	"sentient/actors/msg"
)

// Busy is the contract's ModelBusy: what the local models are doing. Job, Model and Since are null while none runs.
type Busy struct {
	Busy           bool      `json:"busy"`
	Job            *string   `json:"job"`
	Model          *string   `json:"model"`
	Since          *msg.Time `json:"since"`
	Waiting        int       `json:"waiting"`  // calls that go as soon as the model is free
	Deferred       int       `json:"deferred"` // background calls held back although it may be free
	DeferredReason *string   `json:"deferred_reason"`
}

// state is Busy of one queue, as plain values.
type state struct {
	running  int
	job      string
	model    string
	since    time.Time // when the call that has run longest began
	waiting  int
	deferred int
	reason   hold
}

// look counts one queue.
func (q *queue) look(f facts) state {
	s := state{running: len(q.running)}
	var first *entry
	for _, e := range q.running {
		if first == nil || e.began.Before(first.began) || e.began.Equal(first.began) && e.id < first.id {
			first = e
		}
	}
	if first != nil {
		s.job, s.model, s.since = jobs[laneOf(first.Job)], first.Model, first.began
	}
	for e := range q.waiting {
		h := q.hold(e, f)
		if h == free {
			s.waiting++
			continue
		}
		s.deferred++
		s.reason = max(s.reason, h)
	}
	return s
}

// add sums up two runtimes; the call that has run longest is the one that is shown.
func (s state) add(o state) state {
	if o.running > 0 && (s.running == 0 || o.since.Before(s.since)) {
		s.job, s.model, s.since = o.job, o.model, o.since
	}
	s.running += o.running
	s.waiting += o.waiting
	s.deferred += o.deferred
	s.reason = max(s.reason, o.reason)
	return s
}

// same reports whether a client would see nothing new but since.
func (s state) same(o state) bool {
	s.since, o.since = time.Time{}, time.Time{}
	s.running, o.running = min(s.running, 1), min(o.running, 1)
	return s == o
}

// busy is the state as clients get it.
func (s state) busy() Busy {
	b := Busy{Busy: s.running > 0, Waiting: s.waiting, Deferred: s.deferred}
	if b.Busy {
		b.Job, b.Model, b.Since = &s.job, &s.model, &msg.Time{Time: s.since}
	}
	if s.deferred > 0 {
		why := s.reason.String()
		b.DeferredReason = &why
	}
	return b
}
