package config

import (
	"context"

	"sentient/runtime/act"
	"sentient/runtime/app"
)

// Edit changes a copy of the configuration in force by fn, which runs at this room's mailbox: nothing else can change in between,
// and it must not block. An error of fn changes nothing and is the answer. Further errors are those of Patch.
func (s *Service) Edit(ctx context.Context, fn func(next *app.Config) error) (*app.Config, error) {
	return act.Ask(ctx, s.ref, func(r *act.Reply[*app.Config]) any {
		c := &command{reply: r}
		c.next = func(now *app.Config) (*app.Config, []app.FieldError) {
			next := now.Clone()
			if c.refused = fn(next); c.refused != nil {
				return nil, nil
			}
			return next, next.Validate()
		}
		return c
	})
}
