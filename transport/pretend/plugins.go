package pretend

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sentient/actors/msg"
)

// Plugins are the world's tools, as apps.
func (w *World) Plugins() []msg.Plugin {
	return []msg.Plugin{w.mailApp(), w.contactsApp(), w.social(), w.shop(), w.home(), w.notes(), w.pages(), w.code()}
}

// object is a JSON Schema of string fields; a name that ends in ? is optional.
func object(fields ...string) json.RawMessage {
	props, required := map[string]any{}, []string{}
	for _, f := range fields {
		name := strings.TrimSuffix(f, "?")
		props[name] = map[string]string{"type": "string"}
		if name == f {
			required = append(required, name)
		}
	}
	b, _ := json.Marshal(map[string]any{"type": "object", "properties": props, "required": required, "additionalProperties": false})
	return b
}

// does makes a tool's Run from what it does under the lock.
func (w *World) does(fn func(args map[string]any) (any, error)) func(context.Context, *msg.Call) (any, error) {
	return func(ctx context.Context, c *msg.Call) (any, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		return fn(c.Args)
	}
}

func says(label, key string) func(map[string]any, *msg.Call) (msg.Description, error) {
	return func(args map[string]any, _ *msg.Call) (msg.Description, error) {
		return msg.Description{RiskLabel: label, Target: text(args, key)}, nil
	}
}

func app(id, name, about, category string, tools ...msg.Tool) msg.Plugin {
	return msg.Plugin{ID: id, DisplayName: name, Description: about, Category: category, Icon: id, Auth: "none", Tools: tools}
}

func (w *World) mailApp() msg.Plugin {
	return app("mail", "Mail", "Email: search, read, send, reply, delete", "communication",
		msg.Tool{Name: "mail_search", Description: "Search the email inbox", Parameters: object("query?"), Run: w.does(func(args map[string]any) (any, error) {
			return map[string]any{"emails": w.found(text(args, "query"))}, nil
		})},
		msg.Tool{Name: "mail_read", Description: "Read one email", Parameters: object("id"), Run: w.does(func(args map[string]any) (any, error) {
			m, err := w.mail(text(args, "id"))
			if err != nil {
				return nil, err
			}
			return *m, nil
		})},
		msg.Tool{Name: "mail_send", Description: "Send an email", Risk: msg.RiskSend, Outcome: "email", Parameters: object("to", "cc?", "bcc?", "subject?", "body"),
			DescribeFn: says("Sends", "to"), Run: w.does(func(args map[string]any) (any, error) { return w.sent("mail_send", args) }),
			Verify: w.wasSent},
		msg.Tool{Name: "mail_reply", Description: "Reply to an email; who it goes to comes from the email", Risk: msg.RiskSend, Outcome: "email",
			Parameters:     json.RawMessage(`{"type":"object","properties":{"message_id":{"type":"string"},"body":{"type":"string"},"reply_all":{"type":"boolean","default":false}},"required":["message_id","body"],"additionalProperties":false}`),
			DestinationsFn: w.destinations, Run: w.does(func(args map[string]any) (any, error) { return w.sent("mail_reply", args) })},
		msg.Tool{Name: "mail_delete", Description: "Delete an email for good", Risk: msg.RiskWrite, DescribeFn: says("Deletes", "id"), Parameters: object("id"), Run: w.does(w.deleteMail)},
		msg.Tool{Name: "mail_trash", Description: "Move an email to the trash", Risk: msg.RiskWrite, Parameters: object("id"), Run: w.does(w.trashMail(true))},
		msg.Tool{Name: "mail_restore", Description: "Bring an email back from the trash", Risk: msg.RiskWrite, Parameters: object("id"), Run: w.does(w.trashMail(false))},
	)
}

func (w *World) found(query string) []Mail {
	list := []Mail{}
	for _, m := range w.scene.Inbox {
		if !m.Trashed && strings.Contains(strings.ToLower(m.Subject+" "+m.Body+" "+m.From), strings.ToLower(query)) {
			list = append(list, m)
		}
	}
	return list
}

func (w *World) sent(tool string, args map[string]any) (any, error) {
	if w.lies(tool) {
		return map[string]any{"ok": true, "id": "sent-0"}, nil
	}
	for _, to := range words(args["to"]) {
		if strings.HasPrefix(to, "bad@") {
			return map[string]any{"ok": true, "failed": []map[string]string{{"to": to, "reason": "mailbox not found"}}}, nil
		}
	}
	if err := w.did("email", args); err != nil {
		return nil, err
	}
	return map[string]any{"ok": true, "id": fmt.Sprintf("sent-%d", len(w.effects))}, nil
}

func (w *World) wasSent(_ context.Context, args map[string]any, _ any, _ *msg.Call) (msg.Outcome, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.effects {
		if e.Kind == "email" && text(e.Args, "body") == text(args, "body") {
			return msg.Outcome{OK: true}, nil
		}
	}
	return msg.Outcome{Detail: "the email isn't in Sent", Missed: words(args["to"])}, nil
}

func (w *World) destinations(_ context.Context, args map[string]any, _ *msg.Call) ([]msg.Destination, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m, err := w.mail(text(args, "message_id"))
	if err != nil {
		return nil, err
	}
	list := []msg.Destination{{Address: m.From, Kind: "sender", Sender: m.From}}
	if m.ReplyTo != "" {
		list = []msg.Destination{{Address: m.ReplyTo, Kind: "reply_to", Sender: m.From}}
	}
	if all, _ := args["reply_all"].(bool); all {
		for _, a := range slices.Concat(m.To, m.Cc) {
			list = append(list, msg.Destination{Address: a, Kind: "thread", Sender: m.From})
		}
	}
	return list, nil
}

func (w *World) deleteMail(args map[string]any) (any, error) {
	m, err := w.mail(text(args, "id"))
	if err != nil {
		return nil, err
	}
	if err := w.did("delete", args); err != nil {
		return nil, err
	}
	w.scene.Inbox = slices.DeleteFunc(w.scene.Inbox, func(x Mail) bool { return x.ID == m.ID })
	return map[string]bool{"ok": true}, nil
}

func (w *World) trashMail(away bool) func(map[string]any) (any, error) {
	return func(args map[string]any) (any, error) {
		m, err := w.mail(text(args, "id"))
		if err != nil {
			return nil, err
		}
		m.Trashed = away
		return map[string]bool{"ok": true}, w.did(map[bool]string{true: "trash", false: "restore"}[away], args)
	}
}

func (w *World) contactsApp() msg.Plugin {
	trusted := false
	return app("contacts", "Contacts", "The person's own address book", "productivity",
		msg.Tool{Name: "contacts_find", Description: "Find a person's email address in the address book", Untrusted: &trusted, Parameters: object("name"), Run: w.does(func(args map[string]any) (any, error) {
			list := []map[string]string{}
			for name, address := range w.scene.Contacts {
				if strings.Contains(strings.ToLower(name), strings.ToLower(text(args, "name"))) {
					list = append(list, map[string]string{"name": name, "email": address})
				}
			}
			return map[string]any{"asked": text(args, "name"), "contacts": list}, nil
		})})
}

func (w *World) social() msg.Plugin {
	return app("social", "Social", "A social network", "communication",
		msg.Tool{Name: "social_read", Description: "Read the newest posts of others", Parameters: object(), Run: w.does(func(map[string]any) (any, error) {
			return map[string]any{"posts": w.scene.Posts}, nil
		})},
		msg.Tool{Name: "social_post", Description: "Post something publicly", Risk: msg.RiskSend, Outcome: "message", DescribeFn: says("Posts publicly", ""), Parameters: object("text"),
			Run: w.does(func(args map[string]any) (any, error) { return map[string]bool{"ok": true}, w.did("post", args) })})
}

func (w *World) shop() msg.Plugin {
	return app("shop", "Shop", "An online shop", "utilities",
		msg.Tool{Name: "shop_search", Description: "Search products", Parameters: object("query"), Run: w.does(func(args map[string]any) (any, error) {
			return map[string]any{"products": []map[string]string{{"item": text(args, "query"), "price": "$20"}}}, nil
		})},
		msg.Tool{Name: "shop_buy", Description: "Buy a product", Risk: msg.RiskSend, DescribeFn: says("Purchase", "item"), Parameters: object("item", "amount"),
			Run: w.does(func(args map[string]any) (any, error) { return map[string]bool{"ok": true}, w.did("purchase", args) })})
}

func (w *World) home() msg.Plugin {
	turn := func(state string) func(map[string]any) (any, error) {
		return func(args map[string]any) (any, error) {
			if !w.lies("home_" + strings.TrimSuffix(state, "ed")) {
				w.scene.Doors[text(args, "door")] = state
			}
			return map[string]bool{"ok": true}, w.did("home", map[string]any{"door": args["door"], "state": state})
		}
	}
	is := func(state string) func(context.Context, map[string]any, any, *msg.Call) (msg.Outcome, error) {
		return func(_ context.Context, args map[string]any, _ any, _ *msg.Call) (msg.Outcome, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			door := text(args, "door")
			if now := w.scene.Doors[door]; now != state {
				return msg.Outcome{Detail: fmt.Sprintf("%s still reports %s", strings.ToUpper(door[:1])+door[1:], now), Targets: []string{door}, Missed: []string{door}}, nil
			}
			return msg.Outcome{OK: true, Targets: []string{door}}, nil
		}
	}
	return app("home", "Home", "Doors and locks", "utilities",
		msg.Tool{Name: "home_state", Description: "Say which doors are locked", Parameters: object(), Run: w.does(func(map[string]any) (any, error) { return map[string]any{"doors": maps.Clone(w.scene.Doors)}, nil })},
		msg.Tool{Name: "home_unlock", Description: "Unlock a door", Risk: msg.RiskSend, Outcome: "home", DescribeFn: says("Unlocks a door", "door"), Parameters: object("door"), Run: w.does(turn("unlocked")), Verify: is("unlocked")},
		msg.Tool{Name: "home_lock", Description: "Lock a door", Risk: msg.RiskWrite, Outcome: "home", DescribeFn: says("Locks a door", "door"), Parameters: object("door"), Run: w.does(turn("locked")), Verify: is("locked")})
}

func (w *World) notes() msg.Plugin {
	move := func(kind string, away bool) func(map[string]any) (any, error) {
		return func(args map[string]any) (any, error) {
			n, err := w.note(text(args, "id"))
			if err != nil {
				return nil, err
			}
			n.Trashed = away
			return map[string]bool{"ok": true}, w.did(kind, args)
		}
	}
	return app("notes", "Notes", "The person's notes", "productivity",
		msg.Tool{Name: "notes_list", Description: "List the notes", Parameters: object(), Run: w.does(func(map[string]any) (any, error) { return map[string]any{"notes": slices.Clone(w.scene.Notes)}, nil })},
		msg.Tool{Name: "notes_delete", Description: "Delete a note for good", Risk: msg.RiskWrite, Parameters: object("id"), Run: w.does(func(args map[string]any) (any, error) {
			n, err := w.note(text(args, "id"))
			if err != nil {
				return nil, err
			}
			w.scene.Notes = slices.DeleteFunc(w.scene.Notes, func(x Note) bool { return x.ID == n.ID })
			return map[string]bool{"ok": true}, w.did("delete", args)
		})},
		msg.Tool{Name: "notes_trash", Description: "Move a note to the trash", Risk: msg.RiskWrite, Parameters: object("id"), Run: w.does(move("trash", true))},
		msg.Tool{Name: "notes_restore", Description: "Bring a note back from the trash", Risk: msg.RiskWrite, Parameters: object("id"), Run: w.does(move("restore", false))})
}

func (w *World) pages() msg.Plugin {
	return app("pages", "Pages", "Web pages", "knowledge",
		msg.Tool{Name: "pages_open", Description: "Open a web page", Parameters: object("url"), URLFn: func(args map[string]any) string { return text(args, "url") },
			Run: w.does(func(args map[string]any) (any, error) {
				if err := w.did("page", args); err != nil {
					return nil, err
				}
				return map[string]string{"url": text(args, "url"), "text": w.scene.Pages[text(args, "url")]}, nil
			})})
}

func (w *World) code() msg.Plugin {
	untrusted := true
	return app("code", "Code", "Run code", "utilities",
		msg.Tool{Name: "code_run", Description: "Run a script", Risk: msg.RiskExec, Untrusted: &untrusted, DescribeFn: says("Runs code", ""), Parameters: object("code"),
			Run: w.does(func(args map[string]any) (any, error) { return map[string]string{"stdout": ""}, w.did("code", args) })})
}
