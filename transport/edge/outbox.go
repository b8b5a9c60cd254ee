package edge

import (
	"sync"
	"time"

	"github.com/fasthttp/websocket"

	"sentient/runtime/bus"
)

// outbox takes what waits in a socket's subscription to its connection, by a goroutine that lives only while something
// waits. Events that waited while the outbox was held come first when it is released.
type outbox struct {
	socket *socket

	mu      sync.Mutex
	held    bool
	stopped bool
	writing bool
	pending bool

	// Only the one who writes touches these.
	seq   uint64 // number of the newest durable event the socket was given
	floor uint64 // durable events up to here were given by the replay
}

func (o *outbox) hold(k *socket) { o.socket, o.held = k, true }

func (o *outbox) release() {
	o.mu.Lock()
	o.held = false
	start := o.pending
	o.mu.Unlock()
	if start {
		o.wake()
	}
}

func (o *outbox) stop() {
	o.mu.Lock()
	o.stopped = true
	o.mu.Unlock()
}

// wake is called by the bus, on the publisher's goroutine, so it only starts the writer.
func (o *outbox) wake() {
	o.mu.Lock()
	o.pending = true
	held := o.held // the subscription may not even be known yet
	o.mu.Unlock()
	if held || o.socket.tooSlow() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.writing || o.stopped || !o.pending {
		return
	}
	o.writing = true
	o.socket.beside(o.write)
}

// tooSlow closes a client whose outbox could not take what must not be dropped. It may be stuck in the middle of a write,
// so the goodbye does not wait for the writer.
func (k *socket) tooSlow() bool {
	if k.sub.Err() == nil {
		return false
	}
	k.shut(closeTooSlow, "Too slow: reconnect with ?after= to get what was missed.")
	return true
}

const takeBytes = 256 << 10

func (o *outbox) write() {
	var events []bus.Event
	var frame []byte
	for {
		if events = o.socket.sub.Take(events[:0], takeBytes); len(events) == 0 {
			o.mu.Lock()
			again := o.pending && !o.stopped && o.socket.sub.Err() == nil
			o.pending = false
			o.writing = again
			o.mu.Unlock()
			if !again {
				return
			}
			continue
		}
		for i := range events {
			e := &events[i]
			if e.Seq != 0 && e.Seq <= o.floor {
				continue // the replay had it
			}
			o.seq = max(o.seq, e.Seq)
			frame = e.Render(frame[:0], o.seq)
			if !o.send(frame) {
				o.stop()
				o.socket.kill() // run sees it and ends the socket
				return
			}
		}
	}
}

// send writes one message; false when the connection is over.
func (o *outbox) send(frame []byte) bool {
	k := o.socket
	_ = k.conn.SetWriteDeadline(time.Now().Add(k.server.o.WriteFor))
	err := k.conn.WriteMessage(websocket.TextMessage, frame)
	return err == nil || err == websocket.ErrCloseSent
}

// direct writes one message of the socket's own before the outbox is released. B has no last brace.
func (o *outbox) direct(b []byte) bool {
	e := bus.Event{Body: b}
	return o.send(e.Render(nil, o.seq))
}

// push answers this client only. Answers keep their order with the events around them and are never dropped.
func (k *socket) push(kind string, kv ...any) {
	k.sub.Push(bus.Event{Kind: kind, Body: body(kind, kv...)})
}

// note tells the client of something that ends nothing.
func (k *socket) note(text string) { k.push("error", "message", text, "recoverable", true) }
