package session

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"sentient/actors/claudecode"
	"sentient/actors/msg"
	"sentient/actors/policy"
	"sentient/actors/policy/words"
	"sentient/actors/wire"
	pb "sentient/proto/session"
	"sentient/storage/journal"
	"sentient/storage/table"
)

// checkTime is how long a reply waits for the check of its message.
const checkTime = 20 * time.Second

const noteProposal = "rule_proposal.updated"

// ruleCheck is a message that reads like a standing rule about some tools (section 2, "Rules from chat").
type ruleCheck struct {
	Message, Text, Said string
	Tools               []words.RuleTool
}

// weigh looks for a standing rule in the person's words. Code decides whether it may be one, and about which tools; until a
// model has said which, all of them ask in this chat.
func (c *change) weigh(message, text string) {
	said, ok := words.StandingRule(text)
	if !ok || c.chat.tools == nil {
		return
	}
	tools := words.Candidates(text, c.chat.tools())
	if len(tools) == 0 {
		return
	}
	w := &pb.RuleWeighed{Message: message}
	for _, t := range tools {
		w.Keys = append(w.Keys, t.Name)
	}
	c.event(&pb.Event{Kind: &pb.Event_RuleWeighed{RuleWeighed: w}})
	c.do(checkRule{ruleCheck{message, text, said, tools}})
}

// ruleTools are the tools that a standing rule can be about, with the rules they have now.
func (o *Options) ruleTools() (list []words.RuleTool) {
	rules, reg := o.Config().Tools.Approvals.Rules, o.Registry()
	for _, e := range reg.Tools() {
		rule, _ := policy.RuleFor(rules, e.Tool.Name, e.Plugin.ID)
		list = append(list, words.RuleTool{Name: e.Tool.Name, Plain: plainName(e), Description: e.Tool.Description, App: e.Plugin.DisplayName, Plugin: e.Plugin.ID,
			Rule: rule, OwnRule: rules[e.Tool.Name], AppRule: rules[e.Plugin.ID]})
	}
	return list
}

// ruleChecked is the end of a check.
type ruleChecked struct {
	check  ruleCheck
	answer string
	calls  []msg.CountedCall
	err    error
}

// checkRule runs a check beside the mailbox. It is a run of its chat; however it ends, the tools stop asking because of it.
func (a *actor) checkRule(check ruleCheck) {
	self, done := a.c.Self(), make(chan struct{})
	a.checks[check.Message] = done
	over := func(answer string, calls []msg.CountedCall, err error) {
		self.Tell(ruleChecked{check, answer, calls, err})
	}
	s := a.spec(a.o.NewID(), "rules", func(err error) { over("", nil, err) })
	s.Unit = "" // a reply waits for it, and is no part of it
	own := a.chat.Model
	err := a.o.Work.Go(a.c.Context(), s, func(ctx context.Context) {
		system, user := words.Prompt(check.Text, check.Tools)
		over(a.o.askChecked(ctx, question{system: system, text: user, own: own, wait: checkTime, usable: func(answer string) bool {
			_, _, err := words.Parse(answer, check.Tools)
			return err == nil
		}}))
	})
	if err != nil {
		over("", nil, err)
	}
	a.c.Busy(true)
}

// ruleChecked proposes what the check found. The model only mapped words to keys; code decides what is proposed, and a person
// whether it counts.
func (a *actor) ruleChecked(m ruleChecked) {
	done := a.checks[m.check.Message]
	delete(a.checks, m.check.Message)
	c := a.chat.begin(a.o.Now())
	for _, call := range m.calls {
		if a.chat.exists {
			c.count(call)
		} else {
			a.o.Count(call)
		}
	}
	if a.chat.exists {
		c.event(&pb.Event{Kind: &pb.Event_RuleChecked{RuleChecked: &pb.RuleChecked{Message: m.check.Message}}})
		if m.err == nil {
			c.propose(m.check, m.answer)
		} else {
			a.o.Logger.Info("a message that reads like a rule could not be checked", "session", a.chat.id, "reason", m.err.Error())
		}
	}
	_ = a.commit(c)
	if done != nil {
		close(done)
	}
}

func (c *change) propose(check ruleCheck, answer string) {
	pending := map[string]string{}
	for _, p := range c.chat.Proposed {
		for _, k := range p.Keys {
			pending[k] = p.Rule
		}
	}
	keys, rule, ok := words.Propose(check.Said, answer, check.Tools, pending)
	if !ok {
		return
	}
	row := &pb.ProposalRow{Session: c.chat.id, Id: c.chat.newID(), Message: check.Message, Said: check.Said, Rule: rule, Keys: keys,
		Targets: wire.Marshal(ruleTargets(keys, check.Tools)), Status: proposalPending, CreatedAt: c.now.UnixMicro()}
	c.event(&pb.Event{Kind: &pb.Event_RuleProposed{RuleProposed: &pb.RuleProposed{Id: row.Id, Rule: rule, Keys: keys}}})
	c.row(c.chat.tables.Proposals.Put(row))
	c.domain(noteProposal, Proposal(row))
}

// ruleTargets name keys for people: "Gmail > Trash" for a tool, "Gmail" for an app.
func ruleTargets(keys []string, tools []words.RuleTool) []msg.RuleTarget {
	list := []msg.RuleTarget{}
	for _, k := range keys {
		t := msg.RuleTarget{Key: k, App: k, Label: k}
		for i := range tools {
			if tools[i].Name == k {
				t = msg.RuleTarget{Key: k, App: tools[i].App, Tool: &tools[i].Plain, Label: tools[i].App + " > " + tools[i].Plain}
				break
			}
			if tools[i].Plugin == k {
				t.App, t.Label = tools[i].App, tools[i].App
			}
		}
		list = append(list, t)
	}
	return list
}

// resumeChecks runs again the checks that the engine's end cut: what was said is not lost.
func (a *actor) resumeChecks(r journal.Reader, c *change) error {
	for _, w := range a.chat.Weighed {
		if a.checks[w.Message] != nil {
			continue
		}
		row, ok, err := a.tables.Messages.Get(r, []byte(a.chat.id+w.Message))
		if err != nil {
			return err
		}
		var check ruleCheck
		if ok {
			if said, standing := words.StandingRule(row.Content); standing {
				check = ruleCheck{w.Message, row.Content, said, words.Candidates(row.Content, a.o.ruleTools())}
			}
		}
		if len(check.Tools) == 0 {
			c.event(&pb.Event{Kind: &pb.Event_RuleChecked{RuleChecked: &pb.RuleChecked{Message: w.Message}}})
			continue
		}
		c.do(checkRule{check})
	}
	return nil
}

// waitForChecks waits for rule checks, at most checkTime in all.
func waitForChecks(ctx context.Context, checks []chan struct{}) {
	if len(checks) == 0 {
		return
	}
	late := time.NewTimer(checkTime)
	defer late.Stop()
	for _, done := range checks {
		select {
		case <-done:
		case <-late.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// Statuses of a proposal.
const (
	proposalPending  = "pending"
	proposalAccepted = "accepted"
	proposalDeclined = "declined"
)

// decide takes the person's answer to a proposal; false when it was answered before.
func (c *change) decide(row *pb.ProposalRow, accepted bool) bool {
	open := false
	for _, p := range c.chat.Proposed {
		open = open || p.Id == row.Id
	}
	if !open {
		return false
	}
	row.Status, row.DecidedAt = proposalDeclined, c.now.UnixMicro()
	if accepted {
		row.Status = proposalAccepted
	}
	c.event(&pb.Event{Kind: &pb.Event_RuleDecided{RuleDecided: &pb.RuleDecided{Id: row.Id, Accepted: accepted}}})
	c.row(c.chat.tables.Proposals.Put(row))
	c.domain(noteProposal, Proposal(row))
	return true
}

// Proposal is a row as clients see it.
func Proposal(r *pb.ProposalRow) msg.RuleProposal {
	p := msg.RuleProposal{ID: r.Id, Session: r.Session, Message: r.Message, Said: r.Said, Rule: r.Rule, Keys: append([]string{}, r.Keys...), Targets: targetsOf(r),
		Status: r.Status, CreatedAt: micro(r.CreatedAt)}
	if r.DecidedAt != 0 {
		t := micro(r.DecidedAt)
		p.DecidedAt = &t
	}
	return p
}

func targetsOf(r *pb.ProposalRow) []msg.RuleTarget {
	list := []msg.RuleTarget{}
	_ = json.Unmarshal(r.Targets, &list)
	return list
}

// Proposals lists a chat's proposals, oldest first. Status is pending, accepted, declined or all.
func (s *Service) Proposals(session, status string) (list []msg.RuleProposal, err error) {
	list = []msg.RuleProposal{}
	err = journalRead(s.o.Journal, func(r journal.Reader) error {
		if _, ok, err := s.tables.Sessions.Get(r, []byte(session)); err != nil || !ok {
			if err == nil {
				err = msg.ErrNoChat
			}
			return err
		}
		for row, err := range s.tables.Proposals.Scan(r, table.Query{Prefix: []byte(session)}) {
			if err != nil {
				return err
			}
			if status == "all" || row.Status == status {
				list = append(list, Proposal(row))
			}
		}
		return nil
	})
	return list, plainly(err)
}

var (
	errNoProposal = msg.NewFault(msg.NotFound, "There is no such rule proposal.")
	errDecided    = msg.NewFault(msg.Conflict, "This rule proposal was answered already.")
)

// Decide answers a proposal. The rules are saved first: a crash in between leaves a card whose answer changes nothing more.
func (s *Service) Decide(ctx context.Context, id string, accept bool) (msg.RuleProposal, error) {
	var row *pb.ProposalRow
	err := journalRead(s.o.Journal, func(r journal.Reader) error {
		for found, err := range s.tables.Proposals.Scan(r, table.Query{Index: indexID, Prefix: []byte(id), Limit: 1}) {
			if err != nil {
				return err
			}
			if found.Id == id {
				row = found
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return msg.RuleProposal{}, plainly(err)
	case row == nil:
		return msg.RuleProposal{}, errNoProposal
	case row.Status != proposalPending:
		return msg.RuleProposal{}, errDecided
	}
	if accept && s.o.Consent != nil {
		if err := s.o.Consent.Tighten(ctx, Proposal(row)); err != nil {
			return msg.RuleProposal{}, err
		}
	}
	return ask(ctx, s, row.Session, func(_ *actor, c *change) (msg.RuleProposal, error) {
		if !c.decide(row, accept) {
			return msg.RuleProposal{}, errDecided
		}
		return Proposal(row), nil
	})
}

// question is a check that a reply waits for: asked of the fast role, then of the chat's own model or else the primary, until one
// gives an answer that can be used.
type question struct {
	system, text string
	own          string            // the chat's own model
	usable       func(string) bool // the answer can be read
	claude       bool              // a fast role that is Claude Code is asked: it answers chats, and this is part of a reply
	wait         time.Duration     // how long Claude Code may take
}

// askChecked asks a question. Models that stand in for a fast role of Claude Code's are never asked inside a reply.
func (o *Options) askChecked(ctx context.Context, q question) (text string, calls []msg.CountedCall, err error) {
	cfg := o.Config()
	models, standing := claudecode.Fast(&cfg.Models)
	if standing {
		models = nil
		if q.claude {
			models = []string{RoleModel(cfg, "fast")}
		}
	}
	own := q.own
	if own == "" {
		own = RoleModel(cfg, "primary")
	}
	err = errNoAnswer
	for i, model := range slices.Concat(models, []string{own}) {
		if model == guideModel || i == len(models) && contains(models, model) {
			continue
		}
		role := "fast"
		if i == len(models) {
			role = "primary"
		}
		said, call, failed := o.askOne(ctx, model, role, q)
		calls = append(calls, call...)
		if failed == nil && q.usable(said) {
			return said, calls, nil
		}
		if failed != nil {
			err = failed
		}
		if ctx.Err() != nil {
			break
		}
	}
	return "", calls, err
}

// askOne asks one model. It goes with the reply through the queue of local models, which never holds that back.
func (o *Options) askOne(ctx context.Context, model, role string, q question) (text string, calls []msg.CountedCall, err error) {
	if claudecode.Is(model) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, q.wait)
		defer cancel()
	}
	r, err := o.Models.Stream(ctx, msg.ModelRequest{Model: model, Role: role, System: q.system, Reasoning: o.Config().Models.Reasoning[role],
		ContextLength: o.Models.NumCtx(model, role), Job: "chat",
		Messages: []msg.ModelMessage{{Role: "user", Parts: msg.TextPart(q.text)}}}, func(msg.ModelChunk) error { return nil })
	if r.Usage.CostUSD == nil {
		r.Usage.CostUSD = o.Models.Cost(model, r.Usage)
	}
	if err == nil || r.Usage.Known {
		calls = append(calls, msg.CountedCall{Model: model, Role: role, Source: "background", Usage: r.Usage})
	}
	return r.Text, calls, err
}

var errNoAnswer = msg.NewFault(msg.Invalid, "no model gave an answer that can be used")
