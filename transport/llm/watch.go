package llm

import (
	"context"
	"errors"
	"io"
	"time"
)

var (
	errSilent = errors.New("no byte came in time")
	errClosed = errors.New("the call is over")
)

// quietFactor bounds how many timeouts a provider may keep a call alive with nothing but pings.
const quietFactor = 5

// watch ends a call whose provider falls silent. It counts only time spent waiting for the provider: a slow reader of the reply
// is not the provider's fault. It is used by the call's goroutine alone.
type watch struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	idle   time.Duration
	quiet  time.Duration // waited since the last piece of a reply
}

func newWatch(ctx context.Context, idle time.Duration) *watch {
	w := &watch{idle: idle}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	w.timer = time.AfterFunc(idle, func() { w.cancel(errSilent) })
	return w
}

// progress says that something of the reply came.
func (w *watch) progress() { w.quiet = 0 }

// hurry shortens the patience: what is awaited now is only the politeness after a reply.
func (w *watch) hurry(d time.Duration) { w.idle = min(w.idle, d) }

func (w *watch) stop() {
	w.timer.Stop()
	w.cancel(errClosed)
}

func (w *watch) silent() bool { return context.Cause(w.ctx) == errSilent }

// body reads a response under the watch.
func (w *watch) body(r io.Reader) io.Reader { return &watchedBody{w: w, r: r} }

type watchedBody struct {
	w *watch
	r io.Reader
}

func (b *watchedBody) Read(p []byte) (int, error) {
	d := min(b.w.idle, quietFactor*b.w.idle-b.w.quiet)
	if d <= 0 {
		b.w.cancel(errSilent)
		return 0, errSilent
	}
	began := time.Now()
	b.w.timer.Reset(d)
	n, err := b.r.Read(p)
	b.w.timer.Stop()
	b.w.quiet += time.Since(began)
	return n, err
}
