package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sentient/bench/process"

	"github.com/fasthttp/websocket"
)

// scenario is a kind of fault. strike brings it upon a running bed, lifts it again, and says how many faults that were.
type scenario struct {
	name   string // letters only: it is part of ids
	what   string // for the report
	verbs  []string
	ends   bool     // the fault may end the engine, besides what the scenario itself ends
	all    bool     // it may strike the quiet chat, too
	small  bool     // the home is a small file system
	env    []string // of the engine
	strike func(context.Context, *bed, plan) (int, error)
}

// scenarios are all faults. One more is one more line.
var scenarios = []scenario{
	{name: "kill", what: "kill -9, mostly right after an acknowledgement or an effect, then a start", strike: killed},
	{name: "writes", what: "kill -9 right before one of the next twelve syncs of the store's files", strike: killedAtAWrite},
	{name: "restart", what: "an orderly stop (SIGINT) in the middle of everything, then a start", strike: restarted},
	{name: "provider", what: "a provider that stalls, garbles, floods, cuts the connection, answers 503 or 429", verbs: []string{doStall, doGarble, doCut, doFlood, doFail, doLimited}, strike: byScript},
	{name: "sockets", what: "sockets that never read or never finish, binary and 9 MB frames, broken JSON, requests that are no HTTP", strike: rudeSockets},
	{name: "files", what: "no more open files (RLIMIT_NOFILE lowered on the running engine for a second)", ends: true, strike: fewFiles},
	{name: "memory", what: "GOMEMLIMIT of 48 MiB, and an address space that may not grow (RLIMIT_AS) for a second", ends: true, env: []string{"GOMEMLIMIT=48MiB"}, strike: littleMemory},
	{name: "disk", what: "a full disk (a tmpfs of 160 MB filled to the last byte for two seconds)", ends: true, small: true, strike: fullDisk},
	{name: "tools", what: "tools that panic after their effect", verbs: []string{doPanic}, strike: byScript},
	{name: "child", what: "a tool whose child ignores SIGTERM, stopped or left to a kill -9", verbs: []string{doChild}, strike: childKilled},
	{name: "stop", what: "Stop everything in the middle of everything, sometimes with a kill -9 right after it, then Resume", all: true, verbs: []string{doChild}, strike: stoppedAll},
	{name: "actors", what: "panics in actors of every kind, before or after the message they handle", all: true, strike: panicked},
	{name: "slow", what: "a disk whose every sync takes 50 ms more, sometimes with a kill -9 in the middle", strike: slowDisk},
	{name: "broken", what: "a disk on which every write and sync fails with an I/O error, for a second", ends: true, strike: brokenDisk},
	{name: "torn", what: "kill -9, then the beginning of one more record at the end of the store's log, as a power cut leaves it", strike: tornRecord},
	{name: "rot", what: "kill -9, then a flipped bit somewhere in a copy of the store: what the copy's engine still shows must be true", strike: rotten},
	{name: "freeze", what: "the whole engine frozen for three seconds (SIGSTOP), as by a closed lid", strike: frozen},
}

// killed waits for its moment and kills.
func killed(ctx context.Context, b *bed, p plan) (int, error) {
	b.aim(ctx, p)
	b.kill()
	return 1, ctx.Err()
}

// aim waits for the moment of the plan: a random one, or right behind an acknowledgement or an effect.
func (b *bed) aim(ctx context.Context, p plan) {
	r := rand.New(rand.NewPCG(p.dice, 1))
	if p.aim == "any" {
		_ = process.Pause(ctx, p.after) // the caller looks
		return
	}
	_ = process.Pause(ctx, p.after/4) // as above
	within, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if p.aim == "ack" {
		select {
		case <-b.book.acks: // one that came before
		default:
		}
		select {
		case <-b.book.acks:
		case <-within.Done():
		}
	} else {
		log := filepath.Join(b.dir, "effects.log")
		size := func() int64 {
			st, err := os.Stat(log)
			if err != nil {
				return 0
			}
			return st.Size()
		}
		for before := size(); size() == before && within.Err() == nil; {
			_ = process.Pause(within, 200*time.Microsecond) // the loop looks
		}
	}
	_ = process.Pause(ctx, time.Duration(r.IntN(4000))*time.Microsecond) // the caller looks
}

func restarted(ctx context.Context, b *bed, p plan) (int, error) {
	b.aim(ctx, p)
	b.stop()
	return 1, ctx.Err()
}

// byScript has its faults in the script: in what the model or a tool does.
func byScript(ctx context.Context, _ *bed, p plan) (n int, err error) {
	for _, steps := range p.chats {
		for _, s := range steps {
			switch s.do {
			case doStall, doGarble, doCut, doFlood, doFail, doLimited, doPanic, doChild:
				if s.kind != "cancel" {
					n++
				}
			}
		}
	}
	return n, process.Pause(ctx, p.after)
}

func childKilled(ctx context.Context, b *bed, p plan) (int, error) {
	n, err := byScript(ctx, b, p)
	if err == nil && p.dice%2 == 0 {
		b.kill()
		n++
	}
	return n, err
}

// rudeSockets are clients that break every rule beside the good ones.
func rudeSockets(ctx context.Context, b *bed, p plan) (n int, err error) {
	e := b.running()
	if e == nil {
		return 0, nil
	}
	r := rand.New(rand.NewPCG(p.dice, 2))
	var open []io.Closer
	defer func() {
		for _, c := range open {
			_ = c.Close() // that is how they go
		}
	}()
	for range 12 {
		c, err := rude(ctx, e, r.IntN(6), b.chats[r.IntN(scriptedChats)])
		if c != nil {
			open = append(open, c)
		}
		if err == nil { // one that is thrown out at once was injected, too
			n++
		}
		if err := process.Pause(ctx, time.Duration(r.IntN(100))*time.Millisecond); err != nil {
			return n, err
		}
	}
	return n, process.Pause(ctx, p.after)
}

func rude(ctx context.Context, e *engine, kind int, chat string) (io.Closer, error) {
	if kind < 2 { // bytes that are no HTTP, or half a request
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", strings.TrimPrefix(e.Address, "http://"))
		if err != nil {
			return nil, err
		}
		text := []string{"\x16\x03\x01\x02\x00\x01\x00\x00\xff\xff", "POST /api/chat HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n{"}[kind]
		_, err = io.WriteString(c, text)
		return c, err
	}
	c, err := dial(ctx, e, "&after=0")
	if err != nil {
		return nil, err
	}
	_ = c.SetWriteDeadline(time.Now().Add(5 * time.Second)) // a connection that is closed fails below
	switch kind {
	case 2: // never reads
		return c, nil
	case 3:
		err = c.WriteMessage(websocket.BinaryMessage, []byte{0, 1, 2, 0xff, 0xfe})
	case 4:
		b, _ := json.Marshal(map[string]string{"type": "chat.send", "session_id": chat, "text": strings.Repeat("x", 9<<20)}) // strings always can
		_ = c.WriteMessage(websocket.TextMessage, b)                                                                         // the other side is expected to hang up in the middle
	case 5:
		for _, s := range []string{"", "{", "[]", `{"type":7}`, `{"type":"chat.send","session_id":"../x","text":"hi"}`, `{"type":"approval.respond"}`, "\x00\xff"} {
			_ = c.WriteMessage(websocket.TextMessage, []byte(s)) // as above
		}
	}
	return c, err
}

// hardship is how long a limit stays.
const hardship = time.Second

func fewFiles(ctx context.Context, b *bed, p plan) (int, error) {
	return limited(ctx, b, p, func(pid int) error {
		n, err := openFiles(pid)
		if err != nil {
			return err
		}
		return limitFiles(pid, n+int(p.dice%4))
	}, func(pid int) error { return limitFiles(pid, noLimit) })
}

func littleMemory(ctx context.Context, b *bed, p plan) (int, error) {
	return limited(ctx, b, p, func(pid int) error {
		n, err := addressSpace(pid)
		if err != nil {
			return err
		}
		return limitSpace(pid, n+(p.dice%16)<<20)
	}, func(pid int) error { return limitSpace(pid, noLimit) })
}

func limited(ctx context.Context, b *bed, p plan, set, lift func(pid int) error) (int, error) {
	if err := process.Pause(ctx, p.after/2); err != nil {
		return 0, err
	}
	e := b.running()
	if e == nil {
		return 0, nil
	}
	pid := e.PID()
	if err := set(pid); err != nil {
		return 0, skipped("limits cannot be set on another process here: " + err.Error())
	}
	err := process.Pause(ctx, hardship)
	if e.Gone() {
		return 1, err
	}
	if bad := lift(pid); bad != nil && !e.Gone() {
		return 1, bad
	}
	return 1, err
}

// fullDisk fills the small file system to its last byte, and makes room again.
func fullDisk(ctx context.Context, b *bed, p plan) (int, error) {
	if err := process.Pause(ctx, p.after/2); err != nil {
		return 0, err
	}
	name := filepath.Join(b.home, "filler")
	f, err := os.Create(name)
	if err != nil {
		return 0, err
	}
	block := make([]byte, 64<<10)
	for size := len(block); size > 0; {
		if _, err := f.Write(block[:size]); err != nil {
			size /= 2 // until not even a byte fits
		}
	}
	_ = f.Close() // it is full: that is the point
	err = process.Pause(ctx, 2*hardship)
	if bad := os.Remove(name); bad != nil {
		return 1, fmt.Errorf("the disk stays full: %w", bad)
	}
	return 1, err
}

func frozen(ctx context.Context, b *bed, p plan) (int, error) {
	if err := process.Pause(ctx, p.after); err != nil {
		return 0, err
	}
	e := b.running()
	if e == nil {
		return 0, nil
	}
	pid := e.PID()
	if err := freeze(pid); err != nil {
		return 0, skipped("processes cannot be frozen here: " + err.Error())
	}
	err := process.Pause(ctx, 3*time.Second)
	if bad := thaw(pid); bad != nil {
		return 1, bad
	}
	return 1, err
}
