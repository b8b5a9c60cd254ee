package faults

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"sentient/bench/process"
)

const (
	ackWithin    = 3 * time.Second  // then a client sends again
	sendWithin   = 20 * time.Second // then it gives up
	settleWithin = 40 * time.Second // then what is not over is a breach
	patience     = 2 * time.Second  // then what still runs is stopped, as a person would
)

// round plays one plan while the scenario's fault strikes, mends everything, and checks. It gives the broken promises and how
// many faults were injected.
func (b *bed) round(ctx context.Context, p plan) (bad []string, injected int, err error) {
	if err := b.ensure(ctx); err != nil {
		return b.book.breaches, 0, nil
	}
	within, end := context.WithCancel(ctx)
	l := b.openLink(within)
	calm := make(chan struct{})
	var scripts, fault sync.WaitGroup
	if !l.up(ctx, 10*time.Second) {
		b.book.breach("no socket could be opened: " + b.e.Said())
	}
	quiet, hush := context.WithCancel(within)
	go func() { defer close(calm); b.calm(quiet) }()
	for i, steps := range p.chats {
		scripts.Go(func() { b.follow(within, l, b.chats[i], steps) })
	}
	fault.Go(func() { injected, err = b.s.strike(within, b, p) })
	fault.Wait()
	if err == nil {
		err = b.mend(ctx)
	}
	scripts.Wait()
	hush()
	<-calm
	if err == nil {
		bad, err = b.settle(ctx, l)
	}
	end()
	<-l.done
	return bad, injected, err
}

// mend starts the engine again when the fault ended it, which only some may.
func (b *bed) mend(ctx context.Context) error {
	if b.running() == nil && !b.s.ends && !b.meant() {
		b.book.breach("the engine ended although nobody ended it: " + b.e.Said())
	}
	return b.ensure(ctx)
}

// settle waits until every promise is kept, helping like a person: what does not end is stopped.
func (b *bed) settle(ctx context.Context, l *link) (bad []string, err error) {
	stopped := time.Time{}
	for began := time.Now(); ; {
		if err := b.mend(ctx); err != nil {
			return b.book.breaches, nil
		}
		f, err := b.look(ctx)
		if err == nil {
			if bad = check(b.book, f); len(bad) == 0 {
				b.before = f.rows
				return nil, nil
			}
		} else {
			bad = []string{"the engine cannot be looked at: " + err.Error()}
		}
		if time.Since(began) > settleWithin || len(b.book.breaches) > 0 {
			return bad, ctx.Err()
		}
		if time.Since(began) > patience && time.Since(stopped) > patience {
			stopped = time.Now()
			for _, chat := range b.chats {
				_ = l.write(map[string]any{"type": "chat.cancel", "session_id": chat}) // it comes again
			}
		}
		if err := process.Pause(ctx, 50*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// follow plays a chat's steps.
func (b *bed) follow(ctx context.Context, l *link, chat string, steps []step) {
	var open sync.WaitGroup
	defer open.Wait()
	for _, s := range steps {
		if process.Pause(ctx, s.wait) != nil {
			return
		}
		switch {
		case s.kind == "cancel":
			_ = l.write(map[string]any{"type": "chat.cancel", "session_id": chat}) // nothing was promised
		case s.kind == "post":
			open.Go(func() { b.post(ctx, chat, s) })
		case s.expect:
			b.deliver(ctx, l, chat, s)
		default:
			first := make(chan struct{})
			open.Go(func() { b.deliver(ctx, l, chat, s, first) })
			<-first
		}
	}
}

// deliver sends a message as a good client does: again under the same client_id until it is acknowledged. written is closed
// after the first try.
func (b *bed) deliver(ctx context.Context, l *link, chat string, s step, written ...chan struct{}) {
	frame := map[string]any{"type": "chat." + s.kind, "session_id": chat, "text": s.text(), "client_id": s.id}
	var m *sent
	for began := time.Now(); ctx.Err() == nil && time.Since(began) < sendWithin; {
		err := l.send(frame, func(n int) { m = b.book.write(chat, s, n) })
		for _, w := range written {
			close(w)
		}
		written = nil
		if err != nil {
			_ = process.Pause(ctx, 20*time.Millisecond) // the loop looks itself
			continue
		}
		t := time.NewTimer(ackWithin)
		select {
		case <-m.settled:
			t.Stop()
			return
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
		}
	}
}

// post sends over POST /api/chat, reads the first line, which is the acknowledgement, and hangs up. It has no client_id, so a
// lost answer is never sent again.
func (b *bed) post(ctx context.Context, chat string, s step) {
	e := b.running()
	if e == nil {
		return
	}
	m := b.book.write(chat, s, 0)
	defer b.book.locked(func() { m.end() })
	resp, err := e.request(ctx, "POST", "/api/chat", map[string]string{"session_id": chat, "text": s.text()})
	if err != nil {
		return
	}
	defer resp.Body.Close()
	line, err := bufio.NewReader(resp.Body).ReadBytes('\n')
	var ev event
	if resp.StatusCode != 200 || err != nil || json.Unmarshal(line, &ev) != nil {
		return
	}
	if ev.Type == "session" || ev.Type == "steer_ack" {
		b.book.ack(s.id, ev.Turn)
	}
}

// calm talks in a chat of its own, one turn after the other, and expects each reply whole.
func (b *bed) calm(ctx context.Context) {
	chat, lives := b.chats[scriptedChats], b.cuts.Load()
	for i := 0; ctx.Err() == nil; i++ {
		e := b.running()
		if e == nil {
			_ = process.Pause(ctx, 10*time.Millisecond) // the loop looks itself
			continue
		}
		got, err := b.ask(ctx, e, chat, i)
		switch {
		case ctx.Err() != nil, b.s.ends, b.s.all, e.Gone(), lives != b.cuts.Load():
		case err != nil:
			b.book.breach("a chat beside the faults got no reply: " + err.Error())
			return
		case got != "I am here.":
			b.book.breach(fmt.Sprintf("a chat beside the faults got %q", got))
			return
		}
		_ = process.Pause(ctx, 50*time.Millisecond) // the loop looks itself
	}
}

// ask does one turn over POST /api/chat.
func (b *bed) ask(ctx context.Context, e *engine, chat string, i int) (reply string, err error) {
	resp, err := e.request(ctx, "POST", "/api/chat", map[string]string{"session_id": chat, "text": fmt.Sprintf("Are you there? (%d)", i)})
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	var all strings.Builder
	for lines.Scan() {
		var ev event
		if json.Unmarshal(lines.Bytes(), &ev) == nil && ev.Type == "done" {
			return ev.Content, nil
		}
		fmt.Fprintf(&all, "%.200s ", lines.Text())
	}
	return "", fmt.Errorf("status %d, no done: %.500s", resp.StatusCode, all.String())
}
