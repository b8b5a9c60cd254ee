package session

import (
	"context"
	"fmt"
	"strings"

	"sentient/actors/claudecode"
	"sentient/actors/msg"
	pb "sentient/proto/session"
	"sentient/runtime/work"
	"sentient/storage/journal"
	"sentient/storage/table"
)

// What follows a good reply. Each is a run of the chat, at most one of its kind; none delays anything, and what it brings
// is dropped when the chat was renamed, deleted or stopped meanwhile.
const (
	guideModel  = "demo/guide" // a script (DECISIONS 28): it can't write titles or summaries
	guidePlugin = "demo"       // its own scoped tools, offered to no other model
	kindTitle   = "title"
	kindSummary = "summary"
)

// upkept is the result of an upkeep run.
type upkept struct {
	kind, text, upto string
	calls            []msg.CountedCall // the model calls it took, also those that failed half-way
	err              error
}

func (a *actor) startUpkeep(e upkeep) {
	cfg := a.o.Config()
	if RoleModel(cfg, "fast") == guideModel {
		return
	}
	if cfg.Chat.AutoTitle && a.chat.TitleIsFirstWords && !a.chat.Incognito {
		a.background(kindTitle, "titles", func(ctx context.Context) upkept { return a.o.title(ctx, a.tables, a.chat.id) })
	}
	if n := int(a.chat.Messages); n > max(cfg.Chat.CompressAfterMessages, cfg.Chat.HistoryWindow+10) {
		upto := a.chat.SummaryUpto
		a.background(kindSummary, "memory", func(ctx context.Context) upkept {
			return a.o.summary(ctx, a.tables, a.chat.id, upto, cfg.Chat.HistoryWindow)
		})
	}
}

func (a *actor) background(kind, label string, fn func(context.Context) upkept) {
	if a.upkeeps[kind] {
		return
	}
	self := a.c.Self()
	over := func(u upkept) { u.kind = kind; self.Tell(u) }
	s := a.spec(a.o.NewID(), label, func(err error) { over(upkept{err: err}) })
	s.Origin, s.Unit = work.Background, "" // no part of a reply
	if a.o.Work.Go(a.c.Context(), s, func(ctx context.Context) { over(fn(ctx)) }) == nil {
		a.upkeeps[kind] = true
	}
}

func (a *actor) upkept(u upkept) {
	delete(a.upkeeps, u.kind)
	c := a.chat.begin(a.o.Now())
	for _, call := range u.calls {
		if a.chat.exists {
			c.count(call)
		} else {
			a.o.Count(call)
		}
	}
	switch {
	case u.err != nil:
		a.o.Logger.Info("upkeep of a chat did not work", "session", a.chat.id, "kind", u.kind, "reason", u.err.Error())
	case u.kind == kindTitle:
		c.titled(u.text)
	case u.kind == kindSummary:
		c.summarized(u.upto, u.text)
	}
	_ = a.commit(c)
}

// title asks the fast model for two to six words, from the first 500 characters of each side.
func (o *Options) title(ctx context.Context, t *Tables, session string) upkept {
	var said, reply string
	err := journalRead(o.Journal, func(r journal.Reader) error {
		for row, err := range t.Messages.Scan(r, table.Query{Prefix: []byte(session), Limit: 40}) {
			if err != nil {
				return err
			}
			if row.Role == "user" && said == "" {
				said = row.Content
			}
			if row.Role == "assistant" && reply == "" {
				reply = row.Content
			}
		}
		return nil
	})
	if err != nil || said == "" || reply == "" {
		return upkept{err: err}
	}
	text, calls, err := o.askFast(ctx, "titles", "Write a title of two to six words for this chat, in its language. Answer with the title alone, without quotes.",
		"User: "+firstRunes(said, 500)+"\n\nAssistant: "+firstRunes(reply, 500))
	return upkept{text: cleanTitle(text), calls: calls, err: err}
}

// cleanTitle makes a model's answer a title: one line, no quotes, at most 80 characters.
func cleanTitle(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	s = strings.Trim(strings.TrimSpace(strings.TrimPrefix(s, "Title:")), "\"'`*#“” ")
	return firstRunes(strings.Join(strings.Fields(s), " "), 80)
}

func firstRunes(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n])
	}
	return s
}

// summary folds turns that no longer fit into the running summary.
func (o *Options) summary(ctx context.Context, t *Tables, session, upto string, window int) upkept {
	var rows []*pb.MessageRow
	var old string
	err := journalRead(o.Journal, func(r journal.Reader) error {
		if s, ok, err := t.Summaries.Get(r, []byte(session)); err == nil && ok {
			old = s.Text
		}
		q := table.Query{Prefix: []byte(session)}
		if upto != "" {
			q.From, q.After = []byte(session+upto), true
		}
		for row, err := range t.Messages.Scan(r, q) {
			if err != nil {
				return err
			}
			rows = append(rows, row)
		}
		return nil
	})
	if err != nil || len(rows) <= window {
		return upkept{err: err}
	}
	rows = rows[:len(rows)-window]
	var b strings.Builder
	n := 0
	for _, r := range rows {
		if (r.Role == "user" || r.Role == "assistant") && r.Content != "" {
			fmt.Fprintf(&b, "%s: %s\n", r.Role, firstRunes(r.Content, 800))
			n++
		}
	}
	if n < 10 {
		return upkept{}
	}
	text, calls, err := o.askFast(ctx, "memory", "Update the summary of a chat: decisions, facts, names, dates, open questions, promises. At most 250 words, plain text, in the chat's language.",
		"Summary so far:\n"+old+"\n\nWhat followed:\n"+b.String())
	return upkept{text: strings.TrimSpace(text), upto: rows[len(rows)-1].Id, calls: calls, err: err}
}

// sayOnce logs a line that is worth saying once.
func (o *Options) sayOnce(text string) {
	if _, said := o.said.LoadOrStore(text, true); !said {
		o.Logger.Info(text)
	}
}

// askFast puts one question to the fast role, trying its fallbacks, or those that stand in for a Claude Code that only answers
// chats. Calls are what it took, for the usage.
func (o *Options) askFast(ctx context.Context, job, system, question string) (text string, calls []msg.CountedCall, err error) {
	cfg := o.Config()
	models, standing := claudecode.Fast(&cfg.Models)
	if standing {
		o.sayOnce(claudecode.StandingText(RoleModel(cfg, "fast"), models))
	}
	for _, model := range models {
		r, failed := o.Models.Stream(ctx, msg.ModelRequest{Model: model, Role: "fast", System: system, Reasoning: cfg.Models.Reasoning["fast"],
			ContextLength: o.Models.NumCtx(model, "fast"), Job: job,
			Messages: []msg.ModelMessage{{Role: "user", Parts: msg.TextPart(question)}}}, func(msg.ModelChunk) error { return nil })
		if r.Usage.CostUSD == nil {
			r.Usage.CostUSD = o.Models.Cost(model, r.Usage)
		}
		if failed == nil || r.Usage.Known {
			calls = append(calls, msg.CountedCall{Model: model, Role: "fast", Source: "background", Usage: r.Usage})
		}
		if err = failed; err == nil {
			return r.Text, calls, nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return "", calls, err
}
