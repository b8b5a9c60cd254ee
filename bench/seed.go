package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"sentient/actors/msg"
	"sentient/actors/session"
	"sentient/actors/tool"
	"sentient/bench/process"
	"sentient/runtime/act"
	"sentient/runtime/app"
	"sentient/runtime/bus"
	"sentient/runtime/work"
	"sentient/storage/journal"
	"sentient/storage/memstore"
	"sentient/storage/pebblestore"
)

// seed fills a home's store with chats by the engine's own rooms, without gateway and model: every event, row and note is the
// one that an engine writes.
func (h *home) seed(ctx context.Context, chats, turns int) (err error) {
	quiet := slog.New(slog.DiscardHandler)
	disk, err := pebblestore.Open(pebblestore.Options{Dir: filepath.Join(h.dir, "store"), Ballast: -1, Logger: quiet})
	if err != nil {
		return err
	}
	j, err := journal.Open(ctx, journal.Options{Disk: disk, Memory: memstore.New(), Logger: quiet})
	if err != nil {
		return errors.Join(err, disk.Close())
	}
	defer func() { err = errors.Join(err, j.Close(context.WithoutCancel(ctx))) }()
	j.Release()
	runs, sys := work.New(work.Options{Logger: quiet}), act.New(act.Options{Logger: quiet})
	defer func() {
		end := context.WithoutCancel(ctx)
		err = errors.Join(err, sys.Close(end), runs.Close(end))
	}()
	cfg := app.Default()
	cfg.Chat.AutoTitle, cfg.Chat.CompressAfterMessages = false, 1_000_000
	events := bus.New(bus.Options{})
	s := &seeder{}
	s.Service, err = session.New(sys, session.Options{Journal: j, Bus: events, Work: runs, Models: parrot{}, Registry: func() *tool.Registry { return &tool.Registry{} },
		Files: noFiles{}, Config: func() *app.Config { return cfg }, Marker: tool.NewMarker([]byte("bench")), NewID: func() string { return ulid.Make().String() },
		Logger: quiet, IdleAfter: 5 * time.Second})
	if err != nil {
		return err
	}
	return s.fill(ctx, h.env, chats, turns)
}

// seeder talks to chats in process.
type seeder struct {
	*session.Service
}

func (s *seeder) fill(ctx context.Context, env *Env, chats, turns int) error {
	const workers = 64
	var all sync.WaitGroup
	next := make(chan int)
	errs := make([]error, workers)
	for w := range workers {
		all.Go(func() {
			for range next {
				if errs[w] == nil {
					errs[w] = s.chat(ctx, turns)
				}
			}
		})
	}
	for i := range chats {
		if i%100 == 0 {
			env.Progress("seeding chat %d of %d", i+1, chats)
		}
		next <- i
	}
	close(next)
	all.Wait()
	return errors.Join(errs...)
}

// chat makes one chat. A turn ends soon after its message is taken; it has ended when the next message may be sent alone.
func (s *seeder) chat(ctx context.Context, turns int) error {
	id := ulid.Make().String()
	for n := range turns {
		for {
			_, err := s.Send(ctx, msg.Send{Session: id, New: n == 0, Text: fmt.Sprintf("%s Number %d.", question, n), MustBeIdle: true})
			if f, ok := msg.AsFault(err); ok && f.Kind == msg.Conflict {
				if err := process.Pause(ctx, time.Millisecond); err != nil {
					return err
				}
				continue
			}
			if err != nil {
				return err
			}
			break
		}
	}
	return nil
}

// parrot is a model that says the same at once.
type parrot struct{}

var parrotSays = strings.Repeat("The sea is wide and deep, and most of it has never been seen. ", 4)

func (parrot) Stream(_ context.Context, _ msg.ModelRequest, emit func(msg.ModelChunk) error) (msg.ModelResult, error) {
	if err := emit(msg.ModelChunk{Text: parrotSays}); err != nil {
		return msg.ModelResult{}, err
	}
	return msg.ModelResult{Text: parrotSays, Stop: "stop", Usage: msg.ModelUsage{Known: true, PromptTokens: 20, CompletionTokens: 60}}, nil
}
func (parrot) Available(context.Context, string) error    { return nil }
func (parrot) Window(context.Context, string, string) int { return 0 }
func (parrot) NumCtx(string, string) int                  { return 0 }
func (parrot) Name(model string) string                   { return model }
func (parrot) Local(string) bool                          { return true }
func (parrot) Tokens(text string) int                     { return len(text) / 4 }
func (parrot) Cost(string, msg.ModelUsage) *msg.USD       { return nil }

type noFiles struct{}

func (noFiles) Attach(context.Context, string, string) session.Attachment {
	return session.Attachment{}
}
func (noFiles) SaveResult(string, string) error { return nil }
func (noFiles) DeleteAttached([]string)         {}
func (noFiles) DeleteIncognito(string)          {}
