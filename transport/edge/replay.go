package edge

import (
	"bytes"
	"context"
	"slices"

	"sentient/runtime/bus"
	"sentient/storage/journal"
)

// hello greets the client and, when it said what it has, gives it the durable events since, or tells it to start over.
// The subscription exists already and the outbox is held, so nothing falls between the replay and what is live.
func (k *socket) hello() error {
	s := k.server
	newest := s.o.Log.Newest()
	gap := false
	k.out.seq = newest
	if k.asked {
		var err error
		if gap, err = k.missing(newest); err != nil {
			return err
		}
		if !gap {
			k.out.seq = k.after
		}
	}
	assistant := s.o.Name
	if s.o.Home != nil {
		assistant = s.o.Home.Assistant()
	}
	if !k.out.direct(body("hello", "version", s.o.Version, "assistant", assistant)) {
		return errGone
	}
	switch {
	case !k.asked:
		return nil
	case gap:
		return k.resync()
	}
	return k.replay()
}

var errGone = refuse(400, "The client is gone.")

// missing says whether events after k.after are no longer kept, or the number is not one of ours.
func (k *socket) missing(newest uint64) (bool, error) {
	if k.after >= newest {
		return k.after > newest, nil
	}
	r, err := k.server.o.Log.Read()
	if err != nil {
		return false, err
	}
	defer r.Close()
	return lost(r, k.after), nil
}

func lost(r journal.Reader, after uint64) bool {
	oldest := r.Oldest()
	return oldest == 0 || oldest > after+1
}

// resync tells the client to fetch everything again; what is live from here on is all it gets.
func (k *socket) resync() error {
	k.out.seq = max(k.out.seq, k.server.o.Log.Newest())
	k.out.floor = k.out.seq
	if !k.out.direct(body("resync")) {
		return errGone
	}
	return nil
}

const (
	replayNotes = 512     // in one consistent view, so that none is held open while a client reads
	replayBytes = 1 << 20 // of their frames
)

func (k *socket) replay() error {
	at := k.after
	for {
		frames, next, more, err := k.batch(at)
		if err != nil {
			return err
		}
		if next < at { // trimmed while the client was reading
			return k.resync()
		}
		for _, f := range frames {
			k.out.seq = f.seq
			if !k.out.direct(f.body) {
				return errGone
			}
		}
		at = next
		if !more {
			k.out.seq, k.out.floor = max(k.out.seq, at), at
			return nil
		}
	}
}

type frame struct {
	seq  uint64
	body []byte
}

// batch renders notes after at. Next is the last note looked at, 0 when notes after at are no longer kept.
func (k *socket) batch(at uint64) (frames []frame, next uint64, more bool, err error) {
	r, err := k.server.o.Log.Read()
	if err != nil {
		return nil, 0, false, err
	}
	defer r.Close()
	if at < k.server.o.Log.Newest() && lost(r, at) {
		return nil, 0, false, nil
	}
	next = at
	size, count := 0, 0
	for e, err := range r.Log(at) {
		if err != nil {
			return nil, 0, false, err
		}
		if count == replayNotes || size >= replayBytes {
			return frames, next, true, nil
		}
		next = e.Seq
		count++
		if e.Topic != "" && (k.only != nil && !slices.Contains(k.only, e.Topic) || !k.server.o.Bus.Allows(e.Topic, k.id)) {
			continue // narrowed, or an incognito chat that was opened elsewhere
		}
		if b, ok := k.server.o.Chats.Render(r, e); ok {
			b = append(slices.Clip(b), `,"replay":true`...)
			frames = append(frames, frame{e.Seq, b})
			size += len(b)
		}
	}
	return frames, next, false, nil
}

// doneAgain tells the end of a turn once more, to a client that sends a message again whose turn is over: what it acknowledged
// must end. A turn that runs still will; one that is older than what is kept has ended for everybody.
func (k *socket) doneAgain(session, turn string) error {
	if turn == "" || !k.server.o.Bus.Allows(session, k.id) {
		return nil
	}
	r, err := k.server.o.Log.Read()
	if err != nil {
		return err
	}
	defer r.Close()
	var last *bus.Event
	for e, err := range r.Log(max(r.Oldest(), 1) - 1) {
		if err != nil {
			return err
		}
		if e.Type != "done" || e.Topic != session {
			continue
		}
		if b, ok := k.server.o.Chats.Render(r, e); ok && bytes.Contains(b, []byte(`"turn_id":"`+turn+`"`)) {
			last = &bus.Event{Topic: session, Turn: turn, Kind: "done", Seq: e.Seq, Body: append(slices.Clip(b), `,"replay":true`...)}
		}
	}
	if last != nil {
		k.sub.Push(*last)
	}
	return nil
}

// watchRunning asks for the state of each running turn. A chat that ended meanwhile, or is not for this socket, says no.
func (k *socket) watchRunning() {
	for _, id := range k.server.o.Chats.Running() {
		if k.only != nil && !slices.Contains(k.only, id) {
			continue
		}
		if k.ctx.Err() != nil {
			return
		}
		ctx, cancel := context.WithTimeout(k.ctx, k.server.o.Timeout)
		_ = k.server.o.Chats.Watch(ctx, id, k.sub)
		cancel()
	}
}
