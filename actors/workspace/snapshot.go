package workspace

import (
	"strings"
	"time"
)

// Reach says how much of the workspace a run may read.
type Reach int

const (
	// Everything is for personal chats.
	Everything Reach = iota
	// Shared is for work and project chats: no MEMORY.md, no daily notes, USER.md without its learned part.
	Shared
	// PersonaOnly is for runs that may not use what is known about the person.
	PersonaOnly
)

// View says what a prompt is made for.
type View struct {
	Now    time.Time // in the person's zone
	Budget int       // characters of each file, memory.workspace_budget_chars; 0 is no limit
	Reach  Reach
	Names  Names
}

// Snapshot is what a prompt carries; each text is within the budget, plus a note where it was cut.
type Snapshot struct {
	Soul, User, Memory, Yesterday, Today string
}

// Snapshot reads the workspace once, for one turn. A missing or empty SOUL.md becomes one line that names the assistant.
func (w *Workspace) Snapshot(v View) (Snapshot, error) {
	f, err := w.Read(v.Now)
	if err != nil {
		return Snapshot{Soul: nameLine(v.Names)}, err
	}
	return snapshot(f, v), nil
}

func snapshot(f Files, v View) Snapshot {
	s := Snapshot{Soul: shorten(f.Soul, v.Budget, soulFile, false)}
	if s.Soul == "" {
		s.Soul = nameLine(v.Names)
	}
	switch v.Reach {
	case Everything:
		s.User = shorten(f.User, v.Budget, userFile, false)
		s.Memory = shorten(f.Memory, v.Budget, memoryFile, false)
		s.Yesterday = shorten(f.Yesterday, v.Budget, "Yesterday's notes", true)
		s.Today = shorten(f.Today, v.Budget, "Today's notes", true)
	case Shared:
		s.User = shorten(withoutLearned(f.User), v.Budget, userFile, false)
	case PersonaOnly:
	}
	return s
}

func nameLine(n Names) string { return "You are " + n.tidy().Assistant + ", a personal assistant." }

// Text is the snapshot in the order of the system prompt: persona, person, notes, then yesterday and today.
func (s Snapshot) Text() string {
	var parts []string
	for _, p := range []string{s.Soul, s.User, s.Memory, s.Yesterday, s.Today} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, "\n\n")
}
