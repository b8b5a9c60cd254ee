// Package bus owns the delivery of events to subscribers (sockets, streams), each with its own bounds. Publishing never
// blocks and one stuck subscriber never delays another.
//
// Invariant: for each turn a subscriber takes, in the published order, every durable event and the whole text of its
// mergeable events, or its Err is ErrTooSlow. Only progress (neither durable nor text) may be left out.
package bus

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"sync"
)

// DefaultLimit is what a subscriber's queue may hold, in bytes.
const DefaultLimit = 4 << 20

// ErrTooSlow marks a subscriber whose queue could not take what must not be dropped. The edge closes it with 1013; the
// client may come back and ask for what it missed.
var ErrTooSlow = errors.New("this client reads too slowly; reconnect and ask for what it missed")

// Event is one message for subscribers. Its slices are shared by all of them and must not change after Publish.
type Event struct {
	Seq   uint64 // number of a durable event; 0: not durable
	Topic string // chat id, or ""
	Turn  string
	Kind  string

	// Body is a rendered JSON object without its last brace. When Text is not nil, Body is the part before the text.
	Body []byte
	// Text, when not nil, is escaped JSON text: the event is mergeable. It merges with what waits of the same Topic, Turn
	// and Kind when that is the last of its turn in the queue. A durable event, or one without a Turn, never merges.
	Text []byte

	Only  string // when set: only the subscriber with this id gets it, whatever its topics
	Opens bool   // lets the topic's non-durable events through a gated subscriber from here on
	Ends  bool   // the end of its turn. A subscriber that got one which is not durable does not get the durable one as well
}

var textField = []byte(`"text":"`)

// Render appends the whole JSON object with "seq" as its last member. A Body before a text may end with `"text":"` or
// leave that to Render.
func (e *Event) Render(dst []byte, seq uint64) []byte {
	dst = append(dst, e.Body...)
	if e.Text != nil {
		if !bytes.HasSuffix(e.Body, textField) {
			dst = append(comma(dst), textField...)
		}
		dst = append(append(dst, e.Text...), '"')
	}
	dst = append(comma(dst), `"seq":`...)
	return append(strconv.AppendUint(dst, seq, 10), '}')
}

func comma(dst []byte) []byte {
	if n := len(dst); n > 0 && dst[n-1] != '{' && dst[n-1] != ',' {
		return append(dst, ',')
	}
	return dst
}

// size is what an event counts against a subscriber's limit: its bytes and its place in the queue.
func (e *Event) size() int { return len(e.Body) + len(e.Text) + 128 }

// Options of a Bus.
type Options struct {
	Limit int // bytes in a subscriber's queue unless it says otherwise; default DefaultLimit
}

// Bus delivers events. All methods may be called from anywhere.
type Bus struct {
	limit int

	mu     sync.RWMutex
	all    []*Sub
	topics map[string]*topic
	byID   map[string][]*Sub
}

type topic struct {
	subs []*Sub
	only map[string]struct{} // nil: everybody
}

// New makes a bus without subscribers.
func New(o Options) *Bus {
	if o.Limit <= 0 {
		o.Limit = DefaultLimit
	}
	return &Bus{limit: o.Limit, topics: map[string]*topic{}, byID: map[string][]*Sub{}}
}

// Publish queues events, in this order, for everybody who may have them. It costs the subscribers of the topic and those
// of everything, and never blocks. An Event's Wake calls come after all of them are queued.
func (b *Bus) Publish(events ...Event) {
	var room [16]func()
	wakes := room[:0]
	b.mu.RLock()
	for i := range events {
		wakes = b.publish(&events[i], wakes)
	}
	b.mu.RUnlock()
	for _, wake := range wakes {
		wake()
	}
}

func (b *Bus) publish(e *Event, wakes []func()) []func() {
	t := b.topics[e.Topic]
	if e.Only != "" {
		if t.allows(e.Only) {
			wakes = enqueueAll(b.byID[e.Only], e, nil, wakes)
		}
		return wakes
	}
	if t != nil {
		wakes = enqueueAll(t.subs, e, t, wakes)
	}
	return enqueueAll(b.all, e, t, wakes)
}

func enqueueAll(subs []*Sub, e *Event, t *topic, wakes []func()) []func() {
	for _, s := range subs {
		if t.allows(s.id) && s.enqueue(e, false) && s.wake != nil {
			wakes = append(wakes, s.wake)
		}
	}
	return wakes
}

func (t *topic) allows(id string) bool {
	if t == nil || t.only == nil {
		return true
	}
	_, ok := t.only[id]
	return ok
}

// Allows says whether a subscriber of that id may have a topic's events (Restrict): what is told again from a record must ask.
func (b *Bus) Allows(name, id string) bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.topics[name].allows(id)
}

// SubOptions say what a subscriber wants.
type SubOptions struct {
	ID     string
	Topics []string // nil: everything. Events that belong to no chat have the topic "", to be listed like any other
	Limit  int      // bytes its queue may hold; default the bus's
	Gated  bool     // see Event.Opens
	Wake   func()   // called without locks whenever the queue stops being empty, and at ErrTooSlow; must not block
}

// Subscribe adds a subscriber. The caller must Close it.
func (b *Bus) Subscribe(o SubOptions) *Sub {
	if o.Limit <= 0 {
		o.Limit = b.limit
	}
	s := &Sub{bus: b, id: o.ID, limit: o.Limit, gated: o.Gated, wake: o.Wake, everything: o.Topics == nil}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.byID[s.id] = append(b.byID[s.id], s)
	if s.everything {
		b.all = append(b.all, s)
	}
	for _, name := range o.Topics {
		b.addTopic(s, name)
	}
	return s
}

func (b *Bus) addTopic(s *Sub, name string) {
	if s.everything || slices.Contains(s.topics, name) {
		return
	}
	s.topics = append(s.topics, name)
	t := b.topic(name)
	t.subs = append(t.subs, s)
}

func (b *Bus) topic(name string) *topic {
	t := b.topics[name]
	if t == nil {
		t = &topic{}
		b.topics[name] = t
	}
	return t
}

// Restrict lets only these subscribers have the topic's events from now on (an incognito chat, section 2), in place of
// the ones named before. Without ids nobody gets them.
func (b *Bus) Restrict(name string, ids ...string) {
	only := make(map[string]struct{}, len(ids))
	for _, id := range ids {
		only[id] = struct{}{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.topic(name).only = only
}

// Forget drops all that is known of a topic: who subscribed to it, its restriction, its open gates. Only call it when
// nothing publishes to the topic any more: afterwards it is an ordinary one.
func (b *Bus) Forget(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t := b.topics[name]; t != nil {
		for _, s := range t.subs {
			s.topics = slices.DeleteFunc(s.topics, func(n string) bool { return n == name })
		}
		delete(b.topics, name)
	}
	for _, subs := range b.byID {
		for _, s := range subs {
			s.shutGate(name)
		}
	}
}

func (b *Bus) remove(s *Sub) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = without(b.all, s)
	for _, name := range s.topics {
		t := b.topics[name]
		if t == nil {
			continue
		}
		if t.subs = without(t.subs, s); len(t.subs) == 0 && t.only == nil {
			delete(b.topics, name)
		}
	}
	s.topics = nil
	if b.byID[s.id] = without(b.byID[s.id], s); len(b.byID[s.id]) == 0 {
		delete(b.byID, s.id)
	}
}

func without(subs []*Sub, s *Sub) []*Sub {
	i := slices.Index(subs, s)
	if i < 0 {
		return subs
	}
	return slices.Delete(subs, i, i+1)
}
