package msg

// StopState is whether everything is stopped (section 17).
type StopState struct {
	Stopped   bool    `json:"stopped"`
	StoppedAt *Time   `json:"stopped_at"`
	Source    *string `json:"source"` // where it was last turned on or off; nil never
}

// StopReport is what a stop did.
type StopReport struct {
	StopState
	Cancelled int      `json:"cancelled"`           // running jobs that were cancelled
	NotEnded  []string `json:"not_ended,omitempty"` // those of them that had not ended in time, for people
}
