package main

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"

	"sentient/actors/msg"
	"sentient/actors/session"
	"sentient/actors/snapshots"
	"sentient/storage/blob"
)

// timelineOf is what can be put back, as the edge sees it.
type timelineOf struct {
	chats     *session.Service
	snapshots *snapshots.Service
}

// Restore puts back files (snap:<id>), or what a call in a chat moved to the trash (chat:<session>:<message>).
func (t timelineOf) Restore(ctx context.Context, id string) (any, error) {
	if snap, ok := strings.CutPrefix(id, "snap:"); ok {
		n, err := t.snapshots.Restore(ctx, snap)
		return map[string]any{"ok": true, "restored": n, "message": snapshots.Message(n)}, err
	}
	chat, ok := strings.CutPrefix(id, "chat:")
	in, message, found := strings.Cut(chat, ":")
	if !ok || !found {
		return nil, msg.NewFault(msg.Conflict, "There is nothing to put back.")
	}
	b, err := t.chats.BringBack(ctx, in, message)
	if f, isFault := msg.AsFault(err); isFault && f.Kind == msg.NotFound {
		err = msg.NewFault(msg.Conflict, "There is nothing to bring back.")
	}
	if b.HandOff != nil { // DECISIONS 19
		return map[string]any{"ok": false, "error": b.Error, "hand_off": b.HandOff}, nil
	}
	return struct {
		OK     bool            `json:"ok"`
		Result json.RawMessage `json:"result"`
	}{true, b.Result}, err
}

// guardOf keeps copies of the files that a chat's call may change.
type guardOf struct {
	snapshots *snapshots.Service
	folder    *blob.Folder
}

func (g guardOf) Guard(x *msg.Call, names []string) (finish func()) {
	c := snapshots.Call{ID: x.ID, Session: x.Session, Tool: x.Tool, Source: "files", What: strings.Join(names, ", ")}
	for _, n := range names {
		if real, err := g.folder.Resolve(n); err == nil {
			n = real
		} else if blob.CheckName(n) != nil {
			continue
		}
		c.Files = append(c.Files, filepath.Join(g.folder.Dir(), filepath.FromSlash(n)))
	}
	return g.snapshots.Guard(c)
}
