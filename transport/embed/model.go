package embed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"sentient/actors/msg"
)

const (
	// Name is the model as the settings call it.
	Name = "builtin/use-lite"
	// FileName is its file, in a folder models beside the program or in the data folder.
	FileName = "use-lite.bin"
	// FileSHA256 is the only file that is accepted.
	FileSHA256 = "1c7e44b2db30ee66eed49dcd07eaf8f83639b2c6c37482f1ed8585714d4c0a36"
)

// Options are what a Model needs.
type Options struct {
	Paths   []string      // where the file may be; the first that exists is used
	Idle    time.Duration // the file is let go when the model was not used for this long; 0: 5 minutes
	Workers int           // goroutines of one computation; 0: one for each processor, at most 4
	Logger  *slog.Logger  // nil: silent

	sum string // tests have files of their own
}

// Validate fills in the defaults and says what cannot work.
func (o *Options) Validate() error {
	if len(o.Paths) == 0 || slices.Contains(o.Paths, "") {
		return errors.New("embed: Paths must name where the model file may be")
	}
	if o.Idle < 0 || o.Workers < 0 {
		return errors.New("embed: Idle and Workers cannot be negative")
	}
	if o.Idle == 0 {
		o.Idle = 5 * time.Minute
	}
	if o.Workers == 0 {
		o.Workers = min(runtime.GOMAXPROCS(0), 4)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.sum == "" {
		o.sum = FileSHA256
	}
	return nil
}

// Model is the built-in embedding model. It is safe for concurrent use: computations take turns, a group of at most 128 pieces of
// words each, so a short text does not wait for the whole of someone's long list. Close it when done.
type Model struct {
	o    Options
	turn chan struct{} // holds one token: whoever has it owns what follows
	now  *loaded       // nil while not needed
	idle *time.Timer
	shut bool
}

// loaded is the model in memory.
type loaded struct {
	*weights
	*scratch
	release func() error
}

// New makes a Model. It reads nothing yet.
func New(o Options) (*Model, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	m := &Model{o: o, turn: make(chan struct{}, 1)}
	m.turn <- struct{}{}
	return m, nil
}

// Available says why the model cannot be used, without loading it; nil when its file is there. The error is a *msg.ModelError.
func (m *Model) Available() error {
	f, err := m.open()
	if err != nil {
		return err
	}
	return f.Close()
}

// Embed gives each text's vector: 512 numbers, of length 1, so that a dot product is the cosine. Of a text only the first 128
// pieces (about 90 words) are read: cut longer ones. A text with nothing to read has no vector (nil). An error is the
// context's, or a *msg.ModelError.
func (m *Model) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for next := 0; next < len(texts); {
		done, err := m.group(ctx, texts[next:], out[next:])
		if err != nil {
			return nil, err
		}
		next += done
	}
	return out, nil
}

// group takes a turn with the model for as many of the texts as are computed together.
func (m *Model) group(ctx context.Context, texts []string, out [][]float32) (done int, err error) {
	select {
	case <-m.turn:
		defer func() { m.turn <- struct{}{} }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if m.shut {
		return 0, fault("The built-in embedding model is closed: Sentient is shutting down.", nil)
	}
	if err := m.load(); err != nil {
		return 0, err
	}
	m.idle.Reset(m.o.Idle)
	if err = guarded(func() { done = m.compute(texts, out) }); err != nil {
		m.unload() // the next use looks for the file again
		return 0, err
	}
	return done, nil
}

// compute fills the group, runs the model and copies the vectors out.
func (m *Model) compute(texts []string, out [][]float32) int {
	s := m.now.scratch
	s.ids, s.spans = s.ids[:0], s.spans[:0]
	var owners []int
	done := 0
	for ; done < len(texts); done++ {
		ids := m.now.tokens.pieces(texts[done])
		if len(s.ids)+len(ids) > groupRows {
			break
		}
		if len(ids) > 0 {
			s.spans = append(s.spans, span{len(s.ids), len(s.ids) + len(ids)})
			s.ids = append(s.ids, ids...)
			owners = append(owners, done)
		}
	}
	if len(owners) == 0 {
		return done
	}
	m.now.forward(s, m.run)
	vectors := slices.Clone(s.out[:len(owners)*Dim])
	for i, owner := range owners {
		out[owner] = vectors[i*Dim : (i+1)*Dim : (i+1)*Dim]
	}
	return done
}

// run divides work among the workers.
func (m *Model) run(parts int, fn func(from, to int)) {
	n := min(m.o.Workers, parts)
	var wg sync.WaitGroup
	failed := make([]error, n)
	for i := 1; i < n; i++ {
		wg.Go(func() { failed[i] = guarded(func() { fn(parts*i/n, parts*(i+1)/n) }) })
	}
	failed[0] = guarded(func() { fn(0, parts/n) })
	wg.Wait()
	for _, err := range failed {
		if err != nil {
			panic(err) // to the guard around the whole computation
		}
	}
}

// guarded turns a panic into an error: a mapped file can vanish under us (a network folder, a failing disk), which must not end the
// engine.
func guarded(fn func()) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *msg.ModelError: // of a worker
			err = p
		default:
			err = fault("The built-in embedding model failed: its file "+FileName+" may no longer be readable. Run `make build` to get it again.", fmt.Errorf("%v", p))
		}
	}()
	fn()
	return nil
}

// load maps the file and checks that it is the right one.
func (m *Model) load() error {
	if m.now != nil {
		return nil
	}
	began := time.Now()
	f, err := m.open()
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() <= 0 || info.Size() > 1<<30 {
		return damaged(f.Name(), err)
	}
	data, release, err := mapped(f, int(info.Size()))
	if err != nil {
		return damaged(f.Name(), err)
	}
	var w *weights
	err = guarded(func() {
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != m.o.sum {
			err = errors.New("it is not the file this version was made for")
			return
		}
		w, err = parse(data)
	})
	if err != nil || w == nil {
		return damaged(f.Name(), errors.Join(err, release()))
	}
	m.now = &loaded{w, newScratch(), release}
	if m.idle == nil {
		m.idle = time.AfterFunc(m.o.Idle, m.drop)
	}
	m.o.Logger.Debug("the built-in embedding model is loaded", "ms", time.Since(began).Milliseconds())
	return nil
}

// drop lets the file go when nobody used the model for a while; it is mapped again when it is needed.
func (m *Model) drop() {
	<-m.turn
	defer func() { m.turn <- struct{}{} }()
	m.unload()
}

func (m *Model) unload() {
	if m.now == nil {
		return
	}
	if err := m.now.release(); err != nil {
		m.o.Logger.Warn("the built-in embedding model's file could not be let go", "reason", err.Error())
	}
	m.now = nil
}

// Close waits for the running group, then lets everything go. What is asked later is refused.
func (m *Model) Close() error {
	<-m.turn
	defer func() { m.turn <- struct{}{} }()
	m.shut = true
	if m.idle != nil {
		m.idle.Stop()
	}
	m.unload()
	return nil
}

func (m *Model) open() (*os.File, error) {
	for _, p := range m.o.Paths {
		f, err := os.Open(p)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, damaged(p, err)
		}
	}
	e := fault("The built-in embedding model is not installed. Run `make build` with npm installed, which puts "+FileName+" into "+filepath.Dir(m.o.Paths[0])+".", nil)
	e.Fault = msg.FaultMissing
	return nil, e
}

func damaged(path string, cause error) *msg.ModelError {
	return fault("The file "+path+" of the built-in embedding model cannot be used. Delete it and run `make build` to get it again.", cause)
}

func fault(text string, cause error) *msg.ModelError {
	e := &msg.ModelError{Fault: msg.FaultOther, Model: Name, Message: text}
	if cause != nil {
		e.Raw = cause.Error()
	}
	return e
}
