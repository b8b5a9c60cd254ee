package faults

import "sync"

// sent is a message as its client knows it. Times are ticks of the book's own clock, which only orders.
type sent struct {
	chat, id, text string
	turn           string // "" until a session event named it
	socket         int    // the connection it was first written to; 0: REST
	tries          int
	firstAt        int // when it was first written
	ackedAt        int // 0: never acknowledged
	settled        chan struct{}
	over           bool // settled is closed: acknowledged or refused
}

// book is what the clients were told, and nothing that the engine says of itself.
type book struct {
	mu       sync.Mutex
	tick     int
	list     []*sent
	byID     map[string]*sent
	dropped  map[string]bool  // texts that a stopped turn named as never sent
	denied   map[string]bool  // ids of calls that the person said no to, and of which no question was allowed
	undone   map[string]bool  // ids of calls that were undone in time
	ended    map[string][]end // live ends of each turn
	acks     chan struct{}    // rung at each acknowledgement
	breaches []string         // broken promises seen on the way
}

// end is a done that was heard as it happened.
type end struct {
	connection int
	seq        uint64 // 0: of a turn whose end could not be saved
	said       string // words, error, cancelled
}

// twice says whether one of two ends is too many: on one connection it always is, and what is in the log is sent once.
func (e end) twice(o end) bool {
	return e.connection == o.connection || e.seq != 0 && o.seq != 0
}

func newBook() *book {
	return &book{byID: map[string]*sent{}, dropped: map[string]bool{}, denied: map[string]bool{}, undone: map[string]bool{}, ended: map[string][]end{}, acks: make(chan struct{}, 1)}
}

func (b *book) locked(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
}

// write notes that a message is about to be written to a connection.
func (b *book) write(chat string, s step, socket int) (m *sent) {
	b.locked(func() {
		b.tick++
		if m = b.byID[s.id]; m == nil {
			m = &sent{chat: chat, id: s.id, text: s.text(), socket: socket, firstAt: b.tick, settled: make(chan struct{})}
			b.byID[s.id] = m
			b.list = append(b.list, m)
		}
		m.tries++
	})
	return m
}

// ack notes an acknowledgement; turn is "" for a steer.
func (b *book) ack(id, turn string) {
	b.locked(func() {
		m := b.byID[id]
		if m == nil {
			return
		}
		if turn != "" {
			m.turn = turn
		}
		if m.ackedAt == 0 {
			b.tick++
			m.ackedAt = b.tick
			select {
			case b.acks <- struct{}{}:
			default:
			}
		}
		m.end()
	})
}

// refuse notes that a message was turned down with a sentence.
func (b *book) refuse(id string) {
	b.locked(func() {
		if m := b.byID[id]; m != nil && m.ackedAt == 0 {
			m.end()
		}
	})
}

func (m *sent) end() {
	if !m.over {
		m.over = true
		close(m.settled)
	}
}

func (b *book) breach(text string) { b.locked(func() { b.breaches = append(b.breaches, text) }) }

// acked is how many messages were acknowledged.
func (b *book) acked() (n int) {
	b.locked(func() {
		for _, m := range b.list {
			if m.ackedAt > 0 {
				n++
			}
		}
	})
	return n
}
