package msg

// ActionPreview is what a call will send or change, the way a person reads it (section 10). Code builds it, never a model.
type ActionPreview struct {
	Kind   string         `json:"kind"` // email, message, post, delete, trash, purchase, action
	Title  string         `json:"title"`
	Fields []PreviewField `json:"fields"`
	Body   string         `json:"body"` // at most 4000 characters
}

// PreviewField is a line of a preview: To, Cc, Bcc, Where, Subject, Title, Files, Amount, Item.
type PreviewField struct {
	Label string `json:"label"`
	Value string `json:"value"`
}

// Destination is where a reply tool's call really goes, as the tool looked it up.
type Destination struct {
	Address string
	Kind    string // sender, reply_to, yours (the recipients of the own message that is answered), thread (the others of a reply-all)
	Sender  string // who sent the message that is answered
}

// HandOff is the result of a call that a "Hand it to me" rule gives to the person.
type HandOff struct {
	HandedOff bool           `json:"handed_off"`
	Message   string         `json:"message"`
	Label     string         `json:"label"`
	Title     string         `json:"title"`
	Preview   *ActionPreview `json:"preview"`
	Details   []PreviewField `json:"details,omitempty"` // the plain arguments, when there is no preview
}

// OutcomeCheck is what code found that a call really did (section 4, "Checking the outcome").
type OutcomeCheck struct {
	Tool    string   `json:"tool"`
	App     string   `json:"app"`
	Kind    *string  `json:"kind"` // email, message, file, event, home
	Action  string   `json:"action"`
	OK      bool     `json:"ok"`
	Detail  string   `json:"detail"` // why it failed, in plain words
	How     string   `json:"how"`    // result, read_back
	Targets []string `json:"targets"`
	Missed  []string `json:"missed"`
	Settled bool     `json:"settled,omitempty"`
	Message string   `json:"message,omitempty"`
}

// Scopes of a grant.
const (
	GrantTask  = "task"
	GrantTimed = "timed"
)

// Grant is a yes that covers later calls of one tool (section 2, "Scoped answers").
type Grant struct {
	ID        string  `json:"id"`
	Tool      string  `json:"tool"`
	Label     string  `json:"label"` // the tool's plain name
	App       string  `json:"app"`
	Scope     string  `json:"scope"` // task, timed
	TaskID    *string `json:"task_id"`
	TaskName  *string `json:"task_name"`
	Risk      string  `json:"risk"` // the approved risk: calls above it ask
	Via       string  `json:"via"`  // desktop, telegram, discord, whatsapp
	CreatedAt Time    `json:"created_at"`
	ExpiresAt *Time   `json:"expires_at"` // nil for a task's
}

// RuleProposal is a "Make this a rule?" card (section 2, "Rules from chat").
type RuleProposal struct {
	ID        string       `json:"id"`
	Session   string       `json:"session_id"`
	Message   string       `json:"message_id"`
	Said      string       `json:"said"` // the person's words, at most 300 characters
	Rule      string       `json:"rule"`
	Keys      []string     `json:"keys"`
	Targets   []RuleTarget `json:"targets"`
	Status    string       `json:"status"` // pending, accepted, declined
	CreatedAt Time         `json:"created_at"`
	DecidedAt *Time        `json:"decided_at"`
}

// RuleTarget is one key of a proposal for people: "Gmail > Trash" for a tool, "Gmail" for an app.
type RuleTarget struct {
	Key   string  `json:"key"`
	App   string  `json:"app"`
	Tool  *string `json:"tool"`
	Label string  `json:"label"`
}
