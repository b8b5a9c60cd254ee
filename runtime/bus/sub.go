package bus

import "sync"

// Sub is one subscriber's queue. Take, Push, Err and Close may be called from anywhere; the events it gives out are the
// taker's, except for their slices, which are shared.
type Sub struct {
	bus        *Bus
	id         string
	limit      int
	gated      bool
	everything bool
	wake       func()
	topics     []string // under bus.mu

	mu     sync.Mutex
	queue  []queued // nil when empty: a socket that keeps up holds no memory
	base   uint64   // number of queue[0] among all that were ever queued
	bytes  int
	last   map[turn]uint64 // number of the newest waiting event of each turn
	opened map[string]struct{}
	ended  map[turn]struct{} // turns whose end was told before it was durable
	err    error
	closed bool
}

type turn struct{ topic, turn string }

type queued struct {
	Event
	merged bool // Text is this queue's own buffer
	keep   bool // must not be dropped
}

// ID is the name the subscriber gave itself.
func (s *Sub) ID() string { return s.id }

// Push queues an event for this subscriber only, whatever its topics and gate: a direct answer, a replay, the state of a
// running turn. It is never dropped.
func (s *Sub) Push(e Event) {
	if s.enqueue(&e, true) && s.wake != nil {
		s.wake()
	}
}

// AddTopic subscribes to one more topic.
func (s *Sub) AddTopic(name string) {
	s.bus.mu.Lock()
	defer s.bus.mu.Unlock()
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if !closed {
		s.bus.addTopic(s, name)
	}
}

// Err is ErrTooSlow after something that must not be dropped did not fit; from then on the subscriber gets nothing.
func (s *Sub) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Room is how many bytes the queue can still take, for feeding a long replay piece by piece.
func (s *Sub) Room() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(0, s.limit-s.bytes)
}

// Close ends the subscription and drops what waits.
func (s *Sub) Close() {
	s.mu.Lock()
	done := s.closed
	s.closed = true
	s.drop()
	s.mu.Unlock()
	if !done {
		s.bus.remove(s)
	}
}

// Take appends what waits to dst, at most about maxBytes of it (0: all) but at least one event, and removes it from the
// queue.
func (s *Sub) Take(dst []Event, maxBytes int) []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, taken := 0, 0
	for ; n < len(s.queue); n++ {
		q := &s.queue[n]
		size := q.size()
		if n > 0 && maxBytes > 0 && taken+size > maxBytes {
			break
		}
		taken += size
		dst = append(dst, q.Event)
		if key := (turn{q.Topic, q.Turn}); q.Turn != "" && s.last[key] == s.base+uint64(n) {
			delete(s.last, key)
		}
		*q = queued{}
	}
	s.base += uint64(n)
	s.bytes -= taken
	if s.queue = s.queue[n:]; len(s.queue) == 0 {
		s.drop()
	}
	return dst
}

// drop empties the queue and gives its memory back.
func (s *Sub) drop() {
	s.base += uint64(len(s.queue))
	s.queue, s.last, s.bytes = nil, nil, 0
}

func (s *Sub) shutGate(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.opened, name)
}

// enqueue reports whether the subscriber has to be woken.
func (s *Sub) enqueue(e *Event, pushed bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	direct := pushed || e.Only != ""
	if s.closed || s.err != nil || !s.passes(e, direct) || e.Ends && s.toldBefore(e) {
		return false
	}
	if merged, ok := s.merge(e); ok {
		return merged
	}
	keep := direct || e.Seq != 0 || e.Text != nil || e.Opens || e.Ends
	idle := len(s.queue) == 0 // one event alone always fits, however big
	if size := e.size(); s.bytes+size > s.limit && !idle {
		if !keep {
			return false
		}
		if s.dropProgress(); s.bytes+size > s.limit && len(s.queue) > 0 {
			return s.fail()
		}
	}
	if e.Turn != "" {
		if s.last == nil {
			s.last = map[turn]uint64{}
		}
		s.last[turn{e.Topic, e.Turn}] = s.base + uint64(len(s.queue))
	}
	s.queue = append(s.queue, queued{Event: *e, keep: keep})
	s.bytes += e.size()
	return idle
}

func (s *Sub) passes(e *Event, direct bool) bool {
	if !s.gated || e.Topic == "" {
		return true
	}
	if e.Opens {
		if s.opened == nil {
			s.opened = map[string]struct{}{}
		}
		s.opened[e.Topic] = struct{}{}
	}
	_, open := s.opened[e.Topic]
	return open || direct || e.Seq != 0
}

// toldBefore is for the rare turn whose end is told when it cannot be saved, and is saved later.
func (s *Sub) toldBefore(e *Event) bool {
	key := turn{e.Topic, e.Turn}
	if _, told := s.ended[key]; told {
		if e.Seq != 0 {
			delete(s.ended, key)
		}
		return true
	}
	if e.Seq == 0 {
		if s.ended == nil {
			s.ended = map[turn]struct{}{}
		}
		s.ended[key] = struct{}{}
	}
	return false
}

// merge appends e's text to the last waiting event of its turn when that is of the same kind. The queue is not empty
// then, so nobody has to be woken, unless the text does not fit.
func (s *Sub) merge(e *Event) (wake, ok bool) {
	if e.Text == nil || e.Seq != 0 || e.Turn == "" || e.Opens {
		return false, false
	}
	at, found := s.last[turn{e.Topic, e.Turn}]
	if !found {
		return false, false
	}
	q := &s.queue[at-s.base]
	if q.Text == nil || q.Seq != 0 || q.Kind != e.Kind || q.Only != e.Only {
		return false, false
	}
	if s.bytes+len(e.Text) > s.limit {
		s.dropProgress()
		if s.bytes+len(e.Text) > s.limit {
			return s.fail(), true
		}
		q = &s.queue[s.last[turn{e.Topic, e.Turn}]-s.base]
	}
	if !q.merged {
		q.Text = append(make([]byte, 0, 2*(len(q.Text)+len(e.Text))), q.Text...)
		q.merged = true
	}
	q.Text = append(q.Text, e.Text...)
	s.bytes += len(e.Text)
	return false, true
}

// fail marks the subscriber, gives up its queue (the client will ask for all of it again) and wakes it.
func (s *Sub) fail() bool {
	s.err = ErrTooSlow
	s.drop()
	return true
}

// dropProgress makes room by leaving out what may be left out.
func (s *Sub) dropProgress() {
	kept := s.queue[:0]
	s.last, s.bytes = nil, 0
	for i := range s.queue {
		q := s.queue[i]
		if !q.keep {
			continue
		}
		if q.Turn != "" {
			if s.last == nil {
				s.last = map[turn]uint64{}
			}
			s.last[turn{q.Topic, q.Turn}] = s.base + uint64(len(kept))
		}
		s.bytes += q.size()
		kept = append(kept, q)
	}
	clear(s.queue[len(kept):])
	s.queue = kept
}
