package msg

import "encoding/json"

// Notification is what the notification center shows (section 6).
type Notification struct {
	ID        string          `json:"id"`
	Kind      string          `json:"kind"` // info, task, approval, proactive, skill, error, brief, reminder, budget, backup
	Title     string          `json:"title"`
	Message   string          `json:"message"` // Markdown
	Payload   json.RawMessage `json:"payload"` // an object
	TaskID    *string         `json:"task_id"`
	Read      bool            `json:"read"`
	CreatedAt Time            `json:"created_at"`

	// Key, when it is not empty, names what the notification is about: of all that are ever made with one key only the first
	// is, so that whoever was cut off before it knew can ask again.
	Key string `json:"-"`
}

// CountedCall is one finished call of a model, as usage counts it.
type CountedCall struct {
	Model  string
	Role   string // "" when none applies
	Source string // chat, task, ...; background for what nobody asked for
	Usage  ModelUsage
}
