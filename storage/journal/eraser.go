package journal

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"
)

// eraser carries out the queued erasures: it gathers for a while, waits until no reader sees the deleted data, lets the
// engines rewrite their files, calls the hooks and only then forgets the jobs. The queue is in the store, so a restart goes on.
type eraser struct {
	c      *Committer
	wake   chan struct{}
	now    chan chan error
	cancel context.CancelFunc
	ended  chan struct{}
}

// readersWait is how long an erasure waits for readers that are older than the deletion.
const readersWait = 30 * time.Second

func startEraser(c *Committer, pending bool) *eraser {
	ctx, cancel := context.WithCancel(context.Background())
	e := &eraser{c: c, wake: make(chan struct{}, 1), now: make(chan chan error), cancel: cancel, ended: make(chan struct{})}
	if pending {
		e.nudge()
	}
	go e.run(ctx)
	return e
}

func (e *eraser) nudge() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

func (e *eraser) stop() { e.cancel() }

// Erase does now what the eraser would do within a minute, and waits for it. It returns at once when nothing is queued.
func (c *Committer) Erase(ctx context.Context) error {
	answer := make(chan error, 1)
	select {
	case c.eraser.now <- answer:
	case <-ctx.Done():
		return ctx.Err()
	case <-c.eraser.ended:
		return ErrClosed
	}
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *eraser) run(ctx context.Context) {
	defer close(e.ended)
	var timer *time.Timer
	var fire <-chan time.Time
	wait := func() {
		if fire == nil {
			timer = time.NewTimer(e.c.opt.EraseAfter)
			fire = timer.C
		}
	}
	for {
		var answer chan error
		select {
		case <-ctx.Done():
			if timer != nil {
				timer.Stop()
			}
			return
		case <-e.wake:
			wait()
			continue
		case <-fire:
		case answer = <-e.now:
			if timer != nil {
				timer.Stop()
			}
		}
		timer, fire = nil, nil
		err := e.work(ctx)
		if answer != nil {
			answer <- err
		}
		if err != nil && ctx.Err() == nil {
			e.c.opt.Logger.Warn("deleted data could not be erased yet; it will be tried again", "error", err)
			wait()
		}
	}
}

// work does all jobs that are queued now.
func (e *eraser) work(ctx context.Context) error {
	jobs, spans, err := e.jobs()
	if err != nil || len(jobs) == 0 {
		return err
	}
	if err := e.waitForReaders(ctx); err != nil {
		return err
	}
	if err := e.c.opt.Disk.Erase(ctx, spans); err != nil {
		return err
	}
	for _, hook := range e.c.opt.OnErase {
		if err := hook(ctx); err != nil {
			return err
		}
	}
	return e.c.change(ctx, func(w *writer) {
		for _, key := range jobs {
			w.batch[onDisk].Delete(key)
		}
	})
}

// jobs reads the queue: its keys, and what they name, merged. The queue's own span is erased as well.
func (e *eraser) jobs() (keys [][]byte, spans []Span, err error) {
	p, err := e.c.views.acquire()
	if err != nil {
		return nil, nil, err
	}
	defer e.c.views.release(p)
	cur := p.of[onDisk].Scan(under([]byte(eraseSpace)), false)
	defer cur.Close()
	for nextReadable(cur) {
		keys = append(keys, bytes.Clone(cur.Key()))
		_, payload, err := e.c.dec.payload(cur.Key(), cur.Value())
		if err != nil {
			spans = append(spans, Span{[]byte("c/"), []byte("t")}) // it cannot be read any more: everything
			continue
		}
		for len(payload) > 0 {
			lo, rest, ok := cutBytes(payload)
			hi, rest, ok2 := cutBytes(rest)
			if !ok || !ok2 {
				break
			}
			spans = append(spans, Span{bytes.Clone(lo), bytes.Clone(hi)})
			payload = rest
		}
	}
	return keys, mergeSpans(spans), cur.Err()
}

func mergeSpans(spans []Span) []Span {
	slices.SortFunc(spans, func(a, b Span) int { return bytes.Compare(a.Lo, b.Lo) })
	var out []Span
	for _, s := range spans {
		if n := len(out); n > 0 && bytes.Compare(s.Lo, out[n-1].Hi) <= 0 {
			if bytes.Compare(s.Hi, out[n-1].Hi) > 0 {
				out[n-1].Hi = s.Hi
			}
			continue
		}
		out = append(out, s)
	}
	return out
}

var errReaders = errors.New("a reader of older data is still open")

// waitForReaders returns when no reader is left that began before now.
func (e *eraser) waitForReaders(ctx context.Context) error {
	gen := e.c.views.generation()
	for waited := time.Duration(0); e.c.views.heldBefore(gen); waited += readersWait / 100 {
		if waited >= readersWait {
			return errReaders
		}
		select {
		case <-time.After(readersWait / 100):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
