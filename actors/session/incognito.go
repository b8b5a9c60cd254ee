package session

import (
	"context"
	"sync"
	"time"

	"sentient/actors/msg"
	"sentient/runtime/app"
	"sentient/storage/journal"
	"sentient/storage/table"
)

// sweepEvery is how often idle incognito chats are looked for (A-181: within a minute).
const sweepEvery = 30 * time.Second

// SweepIncognito deletes incognito chats that had no new message for chat.incognito_delete_after_minutes, until ctx ends.
func (s *Service) SweepIncognito(ctx context.Context) {
	t := time.NewTicker(sweepEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		old := s.o.Now().Add(-app.Span(s.o.Config().Chat.IncognitoDeleteAfterMinutes, time.Minute))
		s.closeIncognito(ctx, func(c msg.ChatRow) bool { return c.UpdatedAt.Before(old) }, false)
	}
}

// CloseIncognito deletes every incognito chat, also one that is writing: the engine ends.
func (s *Service) CloseIncognito(ctx context.Context) {
	s.closeIncognito(ctx, func(msg.ChatRow) bool { return true }, true)
}

func (s *Service) closeIncognito(ctx context.Context, which func(msg.ChatRow) bool, writing bool) {
	var gone []string
	err := journalRead(s.o.Journal, func(r journal.Reader) error {
		for row, err := range s.tables.Sessions.Scan(r, table.Query{Index: IndexIncognito}) {
			if err != nil {
				return err
			}
			if which(Chat(row)) {
				gone = append(gone, row.Id)
			}
		}
		return nil
	})
	if err != nil {
		s.o.Logger.Error("incognito chats could not be looked up", "reason", err.Error())
	}
	var wg sync.WaitGroup
	for _, id := range gone {
		wg.Go(func() {
			if err := s.endIncognito(ctx, id, writing); err != nil {
				s.o.Logger.Error("an incognito chat was not deleted", "session", id, "reason", err.Error())
			}
		})
	}
	wg.Wait()
}

func (s *Service) endIncognito(ctx context.Context, session string, writing bool) error {
	if !writing {
		busy, err := ask(ctx, s, session, func(a *actor, _ *change) (bool, error) { return a.chat.turn != nil, nil })
		if err != nil || busy {
			return err
		}
	}
	return s.end(ctx, session, "incognito")
}

// mayWatch: an incognito chat shows itself only where it was opened.
func (ch *chat) mayWatch(subscriber string) bool {
	return !ch.Incognito || contains(ch.Owners, subscriber)
}
