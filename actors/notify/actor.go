package notify

import (
	"context"
	"errors"

	"sentient/actors/msg"
	"sentient/runtime/act"
	"sentient/storage/journal"
)

// actor is the shell: it reads, appends, and answers once that is on disk. All state is in the rows but the unread count.
type actor struct {
	o       *Options
	t       *tables
	version uint64
	unread  int64
}

func (a *actor) Start(*act.Ctx) error { return a.load() }

func (a *actor) load() error {
	l, err := a.o.Journal.Load(context.Background(), stream)
	if err != nil {
		return err
	}
	r, err := a.o.Journal.Read()
	if err != nil {
		return err
	}
	defer r.Close()
	a.version = l.Version
	a.unread, err = a.t.unread(r)
	return err
}

func (a *actor) Stop(*act.Ctx) {}

func (a *actor) Receive(_ *act.Ctx, m any) {
	if c, ok := m.(runnable); ok {
		c.run(a)
	}
}

type runnable interface{ run(*actor) }

// answer is where a command's outcome goes.
type answer[R any] interface {
	OK(R)
	Fail(error)
}

// command is one request; its value is the answer once the change is on disk.
type command[R any] struct {
	reply answer[R]
	fn    func(*actor, *change, journal.Reader) (R, error)
}

// Fail tells whoever waits that the command is not done (act.Failer).
func (m *command[R]) Fail(err error) { m.reply.Fail(plainly(err)) }

func (m *command[R]) run(a *actor) {
	v, err := m.do(a)
	if err != nil {
		m.Fail(err)
		return
	}
	m.reply.OK(v)
}

func (m *command[R]) do(a *actor) (v R, err error) {
	r, err := a.o.Journal.Read()
	if err != nil {
		return v, err
	}
	defer r.Close()
	c := &change{t: a.t, now: a.o.Now().UTC(), unread: a.unread}
	if v, err = m.fn(a, c, r); err != nil || c.empty() {
		return v, err
	}
	got, err := a.o.Journal.Append(context.Background(), c.finish(a.version))
	var conflict *journal.ConflictError
	if errors.As(err, &conflict) {
		panic(err) // another writer: start again from what is on disk
	}
	if err != nil {
		return v, err
	}
	a.version, a.unread = got.Version, c.unread
	return v, nil
}

func ask[R any](ctx context.Context, s *Service, fn func(*actor, *change, journal.Reader) (R, error)) (R, error) {
	v, err := act.Ask(ctx, s.ref, func(r *act.Reply[R]) any { return &command[R]{reply: r, fn: fn} })
	return v, plainly(err)
}

// answerTo turns a function into an answer.
type answerTo[R any] func(error)

func (f answerTo[R]) OK(R)           { f(nil) }
func (f answerTo[R]) Fail(err error) { f(err) }

// plainly turns the store's errors into faults that a client may see.
func plainly(err error) error {
	switch {
	case errors.Is(err, journal.ErrFull):
		return msg.ErrDiskFull
	case errors.Is(err, journal.ErrClosed), errors.Is(err, act.ErrStopping):
		return msg.ErrStopping
	}
	return err
}
