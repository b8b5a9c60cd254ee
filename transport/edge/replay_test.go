package edge

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/fasthttp/websocket"
)

// What a client missed is replayed once, marked, then the running turn's state, then what is live, each durable event once.
func TestReplay(t *testing.T) {
	g := serve(t, nil)
	c := g.dial("")
	c.next()
	id := g.openTurn(c)
	seen := c.pong()
	after := seen[len(seen)-1]["seq"].(float64)
	_ = c.conn.Close()
	g.chats.delta(id, "one ")
	g.chats.noteNow(id, "notice", "message", "missed")
	g.chats.noteNow(id, "message.stored") // internal
	g.chats.delta(id, "two")

	c = g.dial(fmt.Sprintf("&after=%.0f", after))
	hello := c.next()
	if !hello.is("hello") || hello["seq"] != after {
		t.Errorf("hello: %v", hello)
	}
	missed := c.next()
	if !missed.is("notice") || missed["replay"] != true || missed["seq"].(float64) <= after {
		t.Errorf("replay: %v", missed)
	}
	if s := c.next(); !s.is("session") || s["replay"] != true {
		t.Errorf("state: %v", s)
	}
	if s := c.next(); s["text"] != "one two" || s["replay"] != true {
		t.Errorf("state: %v", s)
	}
	g.chats.delta(id, " three")
	g.chats.finish(id)
	if d := c.next(); d["text"] != " three" || d["replay"] == true {
		t.Errorf("live: %v", d)
	}
	if d := c.next(); !d.is("done") || d["content"] != "one two three" {
		t.Errorf("done: %v", d)
	}
}

func TestResync(t *testing.T) {
	g := serve(t, nil)
	g.chats.make("c1")
	for range 3 {
		g.chats.noteNow("c1", "notice")
	}
	for _, after := range []string{"99999", "x", "-1", "18446744073709551616"} {
		c := g.dial("&after=" + after)
		hello, re := c.next(), c.next()
		if !re.is("resync") || re["seq"] != hello["seq"] || re["seq"].(float64) != float64(g.chats.j.Newest()) {
			t.Errorf("%s: %v %v", after, hello, re)
		}
		g.chats.noteNow("c1", "notice")
		if e := c.next(); !e.is("notice") || e["replay"] == true {
			t.Errorf("%s: after the resync: %v", after, e)
		}
	}
	c := g.dial(fmt.Sprint("&after=", g.chats.j.Newest()))
	if list := append(c.until("hello"), c.pong()...); len(list) != 2 {
		t.Errorf("nothing was missed, but got %v", list)
	}
}

// Any number of reconnects while events are committed: nothing durable is lost or doubled.
func TestReconnectsLoseNothing(t *testing.T) {
	g := serve(t, nil)
	g.chats.make("c1")
	const total = 400
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range total {
			g.chats.noteNow("c1", "notice", "n", i)
		}
	}()
	next, after := 0, 0.0
	for next < total {
		c := g.dial(fmt.Sprintf("&after=%.0f", after))
		for range rand.IntN(60) + 2 {
			if next == total {
				break
			}
			e := c.next()
			after = e["seq"].(float64)
			if !e.is("notice") {
				continue
			}
			if n := int(e["n"].(float64)); n != next {
				t.Fatalf("got %d, want %d", n, next)
			}
			next++
		}
		_ = c.conn.Close()
	}
	<-done
}

func TestALongReplayComesInPieces(t *testing.T) {
	g := serve(t, nil)
	g.chats.make("c1")
	for i := range 3*replayNotes + 7 {
		g.chats.noteNow("c1", "notice", "n", i)
	}
	c := g.dial("&after=0")
	c.next()
	for i := range 3*replayNotes + 7 {
		if e := c.next(); int(e["n"].(float64)) != i {
			t.Fatalf("%d: %v", i, e)
		}
	}
}

// Over a real connection: the outbox of a client that stopped reading overflows, it is told 1013 and can come back.
func TestATooSlowClientIsClosedWith1013(t *testing.T) {
	g := serve(t, func(o *Options) { o.Outbox = 256 << 10 })
	g.chats.make("c1")
	c := g.dial("")
	c.next()
	for range 60 {
		g.chats.noteNow("c1", "notice", "message", strings.Repeat("x", 200<<10))
	}
	var err error
	last := 0.0
	for err == nil {
		var b []byte
		if _, b, err = c.conn.ReadMessage(); err == nil {
			var e event
			_ = json.Unmarshal(b, &e)
			last = e["seq"].(float64)
		}
	}
	if !websocket.IsCloseError(err, websocket.CloseTryAgainLater) {
		t.Fatalf("%v", err)
	}
	back := g.dial(fmt.Sprintf("&after=%.0f", last))
	back.next()
	for want := last + 1; want <= float64(g.chats.j.Newest()); want++ {
		if e := back.next(); e["seq"] != want {
			t.Fatalf("%v, want %v", e["seq"], want)
		}
	}
}
