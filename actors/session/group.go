package session

import (
	"context"
	"strings"

	"sentient/actors/msg"
	"sentient/actors/tool"
	pb "sentient/proto/session"
)

// Said is a message of someone else in a paired group chat.
type Said struct{ Sender, Text string }

// AddOthers keeps messages that others wrote in a group chat. They are outside content: they mark the chat, never start a
// reply, and are never the person's words (ADR 0029).
func (s *Service) AddOthers(ctx context.Context, session string, said []Said) error {
	_, err := ask(ctx, s, session, func(_ *actor, c *change) (struct{}, error) { return struct{}{}, c.addOthers(said) })
	return err
}

func (c *change) addOthers(said []Said) error {
	if !c.chat.exists {
		return msg.ErrNoChat
	}
	for _, m := range said {
		if err := validText("text", m.Sender+m.Text); err != nil {
			return err
		}
		if strings.TrimSpace(m.Text) == "" {
			continue
		}
		c.addMessage(&pb.MessageRow{Role: "other", Name: m.Sender, Content: m.Text})
		c.mark(tool.GroupSource(m.Sender), nil)
	}
	return nil
}
