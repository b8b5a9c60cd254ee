package session

import (
	"context"
	"slices"
	"strings"
	"time"

	"sentient/actors/agent"
	"sentient/actors/msg"
	"sentient/actors/policy"
	"sentient/actors/tool"
	pb "sentient/proto/session"
	"sentient/runtime/app"
	"sentient/storage/journal"
)

// planInput is what a plan is made from, taken on the mailbox.
type planInput struct {
	session, turn, first string
	strict               string // the message's own model
	own                  string // the chat's model
	channel              string
	incognito, untrusted bool
	memory               bool // the turn may use what is known about the person
	summaryUpto          string
	checks               []chan struct{} // rule checks that the reply waits for
	unsaved              []*pb.MessageRow
}

// planAhead plans the turn of an idle chat while its message is synced: a plan only reads, and it is heard of only after the
// message. A change that also does something else first is planned after it, as what it reads may be what that makes.
func (a *actor) planAhead(c *change) {
	if c.open != "" || len(c.after) == 0 {
		return
	}
	if e, ok := c.after[0].(makePlan); ok {
		e.Unsaved = c.added
		c.after = c.after[1:]
		a.plan(e)
	}
}

// plan prepares a turn beside the mailbox.
func (a *actor) plan(e makePlan) {
	s := a.chat.state
	in := planInput{session: a.chat.id, turn: e.Turn, first: e.First, strict: e.Model, own: s.Model, channel: s.Channel,
		incognito: s.Incognito, memory: a.mayRemember(), untrusted: s.GetUntrusted() != "", summaryUpto: s.SummaryUpto, unsaved: e.Unsaved}
	for _, done := range a.checks {
		in.checks = append(in.checks, done)
	}
	self, p := a.c.Self(), planner{Options: a.o, tables: a.tables, in: in}
	failed := func(err error) { self.Tell(agent.Planned{Run: e.Run, Err: err}) }
	err := a.o.Work.Go(a.c.Context(), a.spec(e.Run, "plan", failed), func(ctx context.Context) {
		plan, err := p.make(ctx)
		self.Tell(agent.Planned{Run: e.Run, Plan: plan, Err: err})
	})
	if err != nil {
		failed(err)
	}
}

// mayRemember is the turn's one decision whether it uses what is known about the person.
func (a *actor) mayRemember() bool {
	return !a.chat.Incognito || a.o.Config().Chat.IncognitoUsesMemory
}

type planner struct {
	*Options
	tables *Tables
	in     planInput
	cfg    *app.Config
	image  bool
}

func (p *planner) make(ctx context.Context) (agent.Plan, error) {
	p.cfg = p.Config()
	waitForChecks(ctx, p.in.checks)
	rows, summary, err := p.read()
	if err != nil {
		return agent.Plan{}, err
	}
	h := history{mark: p.Marker, marking: p.cfg.Chat.MarkOutsideContent, turn: p.in.turn, attach: func(r *pb.MessageRow) []msg.ModelPart {
		parts, image := attachmentParts(func(n string) Attachment { return p.Files.Attach(ctx, n, p.in.session) }, p.Marker, p.cfg.Chat.MarkOutsideContent, r)
		p.image = p.image || image
		return parts
	}}
	messages := h.messages(rows)
	p.addTime(messages)
	choices, notice := p.choices(ctx)
	reg := p.Registry()
	names := reg.Select(p.selection(rows, choices[0]))
	if choices[0].Model == guideModel {
		names = append(names, guidePlugin)
	}
	plan := agent.Plan{Choices: choices, Notice: notice, Messages: messages, Tools: reg.Schemas(names), System: p.system(names, summary),
		MaxRounds: p.cfg.Models.MaxToolRounds, RepeatLimit: p.cfg.Tools.RepeatedCallLimit, Parallel: p.cfg.Chat.ParallelReadTools, Attended: true, Job: "chat",
		Words: ownWords(rows, p.in.turn), Rewrite: p.preferTrash}
	if len(names) == 0 {
		plan.Tools = nil
	}
	return plan, nil
}

func (p *planner) read() (rows []*pb.MessageRow, summary string, err error) {
	r, err := p.Journal.Read()
	if err != nil {
		return nil, "", err
	}
	defer r.Close()
	rows, ok, err := p.tables.Transcript(r, p.in.session, p.cfg.Chat.HistoryWindow)
	if err != nil {
		return nil, "", err
	}
	if !ok && len(p.in.unsaved) == 0 {
		return nil, "", msg.ErrNoChat
	}
	for _, m := range p.in.unsaved { // behind all others; the disk may have them by now
		if len(rows) == 0 || rows[len(rows)-1].Id < m.Id {
			rows = append(rows, m)
		}
	}
	if p.in.summaryUpto != "" {
		if s, ok, err := p.tables.Summaries.Get(r, []byte(p.in.session)); err == nil && ok {
			summary = s.Text
		}
	}
	return window(rows, p.cfg.Chat.HistoryWindow), summary, nil
}

// addTime puts the time into the newest message of the person.
func (p *planner) addTime(ms []msg.ModelMessage) {
	for i := len(ms) - 1; i >= 0; i-- {
		if ms[i].Role == "user" {
			ms[i].Parts = append(slices.Clip(ms[i].Parts), msg.ModelPart{Text: agent.TimeNote(p.Now().In(zone(p.cfg.Assistant.Timezone)))})
			return
		}
	}
}

func zone(name string) *time.Location {
	if name == "" || name == "auto" {
		return time.Local
	}
	if l, err := time.LoadLocation(name); err == nil {
		return l
	}
	return time.Local
}

func (p *planner) selection(rows []*pb.MessageRow, c agent.Choice) tool.Selection {
	var text string
	var recent []string
	reg := p.Registry()
	for i, r := range rows {
		if r.Role == "user" {
			text = r.Content
		}
		if r.Role == "tool" && i >= len(rows)-12 {
			if e, ok := reg.Lookup(r.Name); ok && !slices.Contains(recent, e.Plugin.ID) {
				recent = append(recent, e.Plugin.ID)
			}
		}
	}
	rules := p.cfg.Tools.Approvals.Rules
	return tool.Selection{Text: text, Model: c.Model, All: p.cfg.Chat.ToolSelection == "all", MaxLocal: p.cfg.Chat.MaxToolsLocal, MaxCloud: p.cfg.Chat.MaxToolsCloud,
		Recent: recent, Similarity: p.Similarity, Skip: func(e tool.Entry) bool {
			rule, _ := policy.RuleFor(rules, e.Tool.Name, e.Plugin.ID)
			return rule == policy.RuleNever || cannotRead(e, p.cfg.Integrations.ReadOnly) || !p.in.memory && tool.NeedsMemory(e.Tool.Name)
		}}
}

// cannotRead: a tool of a Read only connection that is never a look-up is not offered.
func cannotRead(e tool.Entry, readOnly []string) bool {
	return e.Tool.Risk > msg.RiskRead && e.Tool.RiskFn == nil && slices.Contains(readOnly, e.Plugin.ID)
}

// ownWords are the person's own words of a turn: as typed or spoken, never another app's.
func ownWords(rows []*pb.MessageRow, turn string) (said []string) {
	for _, r := range rows {
		if r.Role == "user" && r.Turn == turn && r.Name == "" {
			said = append(said, r.Content)
		}
	}
	return said
}

func (p *planner) system(tools []string, summary string) string {
	memory := p.in.memory
	as := p.cfg.Assistant
	pr := agent.Prompt{Assistant: as.Name, UserName: as.UserName, Location: as.Location, Language: as.Language, Channel: p.in.channel,
		Incognito: p.in.incognito, NoMemory: !memory, Outside: p.cfg.Chat.MarkOutsideContent, Summary: summary,
		Tools: func(prefix string) bool {
			return slices.ContainsFunc(tools, func(n string) bool { return strings.HasPrefix(n, prefix) })
		}}
	if p.Workspace != nil {
		pr.Soul, pr.User, pr.Memory = p.Workspace.Prompt(p.cfg.Memory.WorkspaceBudgetChars)
	}
	return pr.System()
}

// choices are the models this turn may use, in order: the message's own, strictly; else the chat's own;
// else the role's, then its fallbacks. At least one.
func (p *planner) choices(ctx context.Context) ([]agent.Choice, *agent.Notice) {
	role := roleFor(p.in.channel, p.image, p.cfg)
	if p.in.strict != "" {
		return []agent.Choice{p.choice(ctx, p.in.strict, role)}, nil
	}
	def := RoleModel(p.cfg, role)
	list := []agent.Choice{p.choice(ctx, def, role)}
	for _, m := range p.cfg.Models.Fallbacks[role] {
		if m != def {
			list = append(list, p.choice(ctx, m, role))
		}
	}
	if p.in.own == "" || p.in.own == def {
		return list, nil
	}
	own := p.choice(ctx, p.in.own, role)
	own.Own = true
	if err := p.Models.Available(ctx, p.in.own); err != nil {
		n := agent.FallbackNotice(own, list[0], err.Error())
		return list, &n
	}
	return append([]agent.Choice{own}, list...), nil
}

func (p *planner) choice(ctx context.Context, model, role string) agent.Choice {
	c := agent.Choice{Model: model, Name: p.Models.Name(model), Role: role, Reasoning: p.cfg.Models.Reasoning[role], ContextLength: p.Models.NumCtx(model, role),
		Window: p.Models.Window(ctx, model, role), Local: p.Models.Local(model)}
	if t, ok := p.cfg.Models.Temperature[role]; ok {
		c.Temperature = &t
	}
	c.ResultLimit = tool.ResultLimit(p.cfg.Chat.ToolResultMaxChars, p.cfg.Chat.ToolResultContextShare, c.Window)
	return c
}

func roleFor(channel string, image bool, cfg *app.Config) string {
	switch {
	case channel == "voice" || channel == "glasses" || channel == "phone":
		return "voice"
	case image && cfg.Models.Roles.Vision != nil && *cfg.Models.Roles.Vision != "":
		return "vision"
	}
	return "primary"
}

// RoleModel is the model of a role; one without its own uses the primary.
func RoleModel(cfg *app.Config, role string) string {
	r := cfg.Models.Roles
	own := map[string]*string{"planner": r.Planner, "executor": r.Executor, "vision": r.Vision, "voice": r.Voice, "fast": &r.Fast, "embedding": &r.Embedding}[role]
	if own != nil && *own != "" {
		return *own
	}
	return r.Primary
}

// journalRead opens a view and closes it after fn.
func journalRead(j journal.Journal, fn func(journal.Reader) error) error {
	r, err := j.Read()
	if err != nil {
		return err
	}
	defer r.Close()
	return fn(r)
}
