package edge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fasthttp/websocket"

	"sentient/runtime/bus"
)

// Close codes (RFC 6455, 7.4.1).
const (
	closeGoingAway = websocket.CloseGoingAway
	closeTooSlow   = websocket.CloseTryAgainLater // 1013
	closeFor       = time.Second                  // to say goodbye, and for the client to answer
)

// socket is one /ws connection. run is its only reader and owns it; a writer goroutine exists while something waits.
//
// Invariants: one goroutine writes messages at a time (run until the outbox is released, then the writer); commands to one
// owner are handled in the order they came; the socket is in the registry until its last command is answered.
type socket struct {
	server *Server
	id     string // as the bus and the owners know it: an incognito chat is shown only where it was opened
	only   []string
	after  uint64 // the newest durable event the client says it has
	asked  bool   // whether it said so
	raw    net.Conn

	conn *websocket.Conn
	sub  *bus.Sub
	out  outbox
	lane lanes
	mine topics         // chats of its own that a narrowed socket gets besides those it named
	side sync.WaitGroup // what runs beside run: the writer, watching, saying goodbye
	ping *time.Timer

	ctx    context.Context
	cancel context.CancelFunc

	ending sync.Mutex
	shutAt time.Time // when the goodbye began
	gone   bool      // run is over
}

const maxNarrow = 1000 // chats named in ?sessions=

// newSocket reads what the client asks for. It starts nothing.
func (s *Server) newSocket(q *request) (*socket, error) {
	k := &socket{server: s, id: newID()}
	args := q.QueryArgs()
	if args.Has("window") {
		id, err := windowID(string(args.Peek("window")))
		if err != nil {
			return nil, err
		}
		k.id = id
	}
	if list := string(args.Peek("sessions")); list != "" {
		k.only = strings.Split(list, ",")
		if len(k.only) > maxNarrow {
			return nil, refuse(422, "sessions names too many chats.")
		}
		for _, id := range k.only {
			if id == "" || !validID(id) {
				return nil, refuse(422, "sessions must be chat ids with commas between them.")
			}
		}
	}
	if args.Has("after") {
		k.asked = true
		n, err := strconv.ParseUint(string(args.Peek("after")), 10, 64)
		if err != nil {
			n = math.MaxUint64 // unknown: the client is told to start over
		}
		k.after = n
	}
	return k, nil
}

// windowID is the id of a window that names itself, so that its next socket is the same to an incognito chat that it opened. The
// name must be one that nobody guesses; its hash is the id, which is no other socket's.
func windowID(name string) (string, error) {
	if len(name) < 22 || len(name) > 128 || strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	}) {
		return "", refuse(422, "window must be a random name of 22 to 128 letters, digits, - or _.")
	}
	h := sha256.Sum256([]byte("window " + name))
	return "w" + hex.EncodeToString(h[:16]), nil
}

// topics is nil for everything. A narrowed socket still gets what belongs to no chat.
func (k *socket) topics() []string {
	if k.only == nil {
		return nil
	}
	return append([]string{""}, k.only...)
}

// topics are chats a narrowed socket was found to write to.
type topics struct {
	mu    sync.Mutex
	names map[string]struct{}
}

var errManyChats = refuse(422, "This socket was narrowed with ?sessions= and has written to too many other chats.")

func (t *topics) add(name string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.names == nil {
		t.names = map[string]struct{}{}
	}
	if t.names[name] = struct{}{}; len(t.names) > maxNarrow {
		delete(t.names, name)
		return errManyChats
	}
	return nil
}

// run is the socket's life.
func (k *socket) run(hr *http.Request) {
	s := k.server
	defer s.sockets.remove(k)
	defer k.guardPanic("socket")
	defer k.kill()
	conn, err := s.upgrader.Upgrade(taken{k.raw}, hr, nil)
	if err != nil {
		return
	}
	k.ending.Lock()
	k.conn = conn
	k.ending.Unlock()
	k.ctx, k.cancel = context.WithCancel(s.base)
	defer k.cancel()
	conn.SetReadLimit(int64(s.o.JSONLimit))
	conn.SetPongHandler(func(string) error { k.alive(); return nil })
	k.alive()
	k.out.hold(k)
	k.sub = s.o.Bus.Subscribe(bus.SubOptions{ID: k.id, Topics: k.topics(), Limit: s.o.Outbox, Gated: k.asked, Wake: k.out.wake})
	defer k.end()
	k.startPing()
	if s.stopping.Load() { // it began while this socket was being made
		k.shut(closeGoingAway, stoppingText)
	}
	if k.hello() != nil {
		return
	}
	k.out.release()
	if k.asked {
		k.beside(k.watchRunning)
	}
	k.read()
}

// end waits for what the socket started, commands included: what was received is done, also when the client has gone.
func (k *socket) end() {
	k.server.presence.set(k, false)
	k.ending.Lock()
	k.gone = true
	if k.ping != nil {
		k.ping.Stop()
	}
	k.ending.Unlock()
	k.out.stop()
	k.kill()
	k.cancel()
	k.lane.wait()
	k.sub.Close()
	k.side.Wait()
}

// beside runs f on a goroutine that end waits for.
func (k *socket) beside(f func()) {
	k.side.Add(1)
	go func() {
		defer k.side.Done()
		defer k.guardPanic("socket")
		f()
	}()
}

func (k *socket) guardPanic(what string) {
	if p := recover(); p != nil {
		k.server.logPanic(what, "WS /ws", p)
		k.kill()
	}
}

// read takes messages until the connection ends. It never waits for an owner.
func (k *socket) read() {
	for {
		typ, b, err := k.conn.ReadMessage()
		if errors.Is(err, websocket.ErrReadLimit) {
			// The client was told (1009). What it still sends is read for a moment, or it would not get to see that.
			_ = k.raw.SetReadDeadline(time.Now().Add(closeFor))
			_, _ = io.CopyN(io.Discard, k.raw, 64<<20)
		}
		if err != nil {
			return
		}
		k.alive()
		if typ != websocket.TextMessage {
			k.note("Send text messages: binary ones are not understood here.")
			continue
		}
		k.receive(b)
	}
}

// alive pushes the deadline by which something must be heard of the client, unless the goodbye has begun.
func (k *socket) alive() {
	k.ending.Lock()
	defer k.ending.Unlock()
	if k.shutAt.IsZero() {
		_ = k.conn.SetReadDeadline(time.Now().Add(k.server.o.PingEvery * 5 / 2))
	}
}

// startPing asks the client for a sign of life again and again, so that a half-open connection is found.
func (k *socket) startPing() {
	every := k.server.o.PingEvery
	k.ending.Lock()
	defer k.ending.Unlock()
	k.ping = time.AfterFunc(every, func() {
		k.ending.Lock()
		defer k.ending.Unlock()
		if k.gone {
			return
		}
		k.beside(func() { _ = k.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(closeFor)) })
		k.ping.Reset(every)
	})
}

// shut says goodbye with a code and a reason and gives the client a moment to read it; then the connection ends.
func (k *socket) shut(code int, why string) {
	k.ending.Lock()
	defer k.ending.Unlock()
	if k.gone || !k.shutAt.IsZero() || k.conn == nil {
		return
	}
	k.shutAt = time.Now()
	k.beside(func() {
		err := k.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, why), time.Now().Add(closeFor))
		if err != nil && !errors.Is(err, websocket.ErrCloseSent) {
			k.kill()
			return
		}
		_ = k.raw.SetReadDeadline(time.Now().Add(closeFor)) // run reads on until the client's answer
	})
}

// kill ends the connection at once.
func (k *socket) kill() { _ = k.raw.Close() }

const stoppingText = "Sentient is shutting down."
