package faults

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"sentient/transport/llm/llmtest"
)

// bed is a home with its engine, its model, its world and its chats, through all rounds of a scenario.
type bed struct {
	o      Options
	s      scenario
	dir    string // what lies beside the home: effects, output
	home   string
	model  *llmtest.Server
	book   *book
	chats  []string // the scripted ones, then the calm one
	before map[string][]row
	kept   bool // the folder stays: it shows a breach
	env    []string
	turns  int // in the log at the last look

	mu    sync.Mutex
	e     *engine         // the newest life
	ready []time.Duration // of every start but the first
	first time.Duration
	ended bool         // by the scenario itself
	cuts  atomic.Int64 // lives that ended
}

func (o *Options) newBed(ctx context.Context, s scenario) (b *bed, err error) {
	b = &bed{o: *o, s: s, book: newBook(), env: s.env}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	if b.dir, err = os.MkdirTemp(o.Dir, "sentient-faults-"); err != nil {
		return b, err
	}
	b.home = filepath.Join(b.dir, "home")
	if err = os.Mkdir(b.home, 0o700); err != nil {
		return b, err
	}
	if s.small {
		if err = mount(b.home); err != nil {
			return b, skipped("a small file system cannot be mounted here: " + err.Error())
		}
	}
	if b.model, err = newModel(); err != nil {
		return b, err
	}
	if err = configure(b.home, b.model.URL()); err != nil {
		return b, err
	}
	if err = b.start(ctx); err != nil {
		return b, err
	}
	for range scriptedChats + 1 {
		var made map[string]any
		if _, err = b.e.call(ctx, "POST", "/api/sessions", nil, &made); err != nil {
			return b, err
		}
		id, _ := made["session_id"].(string)
		if id == "" {
			return b, fmt.Errorf("a new chat has no id: %v", made)
		}
		b.chats = append(b.chats, id)
	}
	return b, nil
}

// skipped is why a scenario cannot be run here.
type skipped string

func (s skipped) Error() string { return string(s) }

func (b *bed) close() {
	if e := b.running(); e != nil {
		e.Kill()
	}
	if b.model != nil {
		b.model.Close()
	}
	if b.kept && !b.s.small {
		b.o.Progress("%s: kept for a look: %s", b.s.name, b.dir)
	} else if b.dir != "" {
		if b.s.small {
			unmount(b.home)
		}
		_ = os.RemoveAll(b.dir) // a temporary folder: the system clears what is left
	}
}

func (b *bed) running() *engine {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.e == nil || b.e.Gone() {
		return nil
	}
	return b.e
}

func (b *bed) start(ctx context.Context) error {
	e, err := launch(ctx, b.o.Engine, b.home, b.dir, b.env...)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.e == nil {
		b.first = e.Took
	} else {
		b.ready = append(b.ready, e.Took)
	}
	b.e, b.ended = e, false
	return nil
}

// kill ends the engine at once and looks for what it left running.
func (b *bed) kill() {
	e := b.running()
	if e == nil {
		return
	}
	kin := family(e.PID())
	b.end()
	e.Kill()
	b.orphans(kin)
}

// end notes that it is the scenario that ends this life.
func (b *bed) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	b.cuts.Add(1)
}

func (b *bed) meant() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ended
}

const orphanWithin = 5 * time.Second

// orphans waits until nothing of a dead engine's family lives.
func (b *bed) orphans(kin map[int]string) {
	var left []string
	for began := time.Now(); time.Since(began) < orphanWithin; time.Sleep(10 * time.Millisecond) {
		if left = append(alive(kin), marked(b.dir)...); len(left) == 0 {
			return
		}
	}
	b.book.breach(fmt.Sprintf("processes outlived the engine: %q", left))
}

// stop ends the engine in order.
func (b *bed) stop() {
	e := b.running()
	if e == nil {
		return
	}
	kin := family(e.PID())
	b.end()
	if err := e.Stop(); err != nil {
		b.book.breach(err.Error())
	}
	b.orphans(kin)
}

// ensure starts the engine again when it is gone; that it is may be a breach.
func (b *bed) ensure(ctx context.Context) error {
	if b.running() != nil {
		return nil
	}
	if err := b.start(ctx); err != nil {
		b.book.breach("the store did not open again: " + err.Error())
		return err
	}
	return nil
}

// effects are what the pretend world saw, in all lives.
func (b *bed) effects() (list []effect, err error) {
	f, err := os.Open(filepath.Join(b.dir, "effects.log"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var e effect
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("the list of effects cannot be read: %w", err)
		}
		list = append(list, e)
	}
	return list, lines.Err()
}

// look asks the engine for everything that is checked.
func (b *bed) look(ctx context.Context) (f facts, err error) {
	e := b.running()
	if e == nil {
		return f, errors.New("the engine is not running: " + b.e.Said())
	}
	f = facts{rows: map[string][]row{}, before: b.before}
	for _, chat := range b.chats {
		var rows []row
		if _, err := e.call(ctx, "GET", "/api/sessions/"+chat+"/messages?limit=100000", nil, &rows); err != nil {
			return f, err
		}
		f.rows[chat] = rows
	}
	if f.log, err = e.log(ctx); err != nil {
		return f, err
	}
	turns := map[string]bool{}
	for _, h := range f.log {
		turns[h.Turn] = true
	}
	delete(turns, "")
	b.turns = len(turns)
	f.effects, err = b.effects()
	return f, err
}

// log reads the durable events that the engine keeps, over a socket of its own, up to the newest of when it was asked.
func (e *engine) log(ctx context.Context) (list []happening, err error) {
	newest, err := e.newest(ctx)
	if err != nil {
		return nil, err
	}
	conn, err := dial(ctx, e, "&after=0")
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second)) // a connection that is closed fails below
	if err := conn.WriteJSON(map[string]string{"type": "ping"}); err != nil {
		return nil, err
	}
	for seen, ponged := uint64(0), false; !ponged || seen < newest; {
		var h struct {
			happening
			Seq uint64 `json:"seq"`
		}
		if err := conn.ReadJSON(&h); err != nil {
			return nil, err
		}
		seen = max(seen, h.Seq)
		switch h.Type {
		case "pong":
			ponged = true
		case "resync":
			return nil, errors.New("the engine no longer has the events of this run")
		default:
			list = append(list, h.happening)
		}
	}
	return list, nil
}

// newest is the number of the newest durable event.
func (e *engine) newest(ctx context.Context) (uint64, error) {
	conn, err := dial(ctx, e, "")
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second)) // a connection that is closed fails below
	var hello event
	err = conn.ReadJSON(&hello)
	return hello.Seq, err
}
