package workspace

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const learnedHeading = "## Learned"

// Names stand in the texts; an empty User is "the user".
type Names struct {
	Assistant string
	User      string
}

func (n Names) tidy() Names {
	n.Assistant, n.User = oneLine(n.Assistant), oneLine(n.User)
	if n.Assistant == "" {
		n.Assistant = "Sentient"
	}
	if n.User == "" {
		n.User = "the user"
	}
	return n
}

// oneLine keeps a name from becoming a heading or an order of its own.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
}

// Onboarding is what a person said at the first run.
type Onboarding struct {
	Names
	Timezone     string // IANA name; "" or "auto" is left out
	Location     string
	Professional string // their words on work
	Personal     string // their words on themselves
	Persona      string // friendly, professional, concise, coach or custom
}

// userText is USER.md after onboarding. What had been learned before stays.
func userText(o Onboarding, before string) string {
	var b strings.Builder
	b.WriteString("# About " + o.Names.tidy().User + "\n")
	facts := [][2]string{{"Name", oneLine(o.User)}, {"Time zone", oneLine(o.Timezone)}, {"Location", oneLine(o.Location)}}
	for i, f := range facts {
		if f[1] == "" || f[1] == "auto" {
			continue
		}
		if i == 0 || !strings.Contains(b.String(), "\n\n") {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "- %s: %s\n", f[0], f[1])
	}
	for _, s := range [][2]string{{"Work", o.Professional}, {"Personal", o.Personal}} {
		if text := demote(s[1]); text != "" {
			fmt.Fprintf(&b, "\n## %s\n\n%s\n", s[0], text)
		}
	}
	if _, learned, _ := cutLearned(before); strings.TrimSpace(learned) != "" {
		b.WriteString("\n" + strings.TrimSpace(learned) + "\n")
	}
	return b.String()
}

// demote takes heading marks from the start of a person's lines, so that their words stay within their section.
func demote(text string) string {
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")), "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, "#") {
			lines[i] = strings.TrimSpace(strings.TrimLeft(l, "#"))
		}
	}
	return strings.Join(lines, "\n")
}

// cutLearned splits a text into what stands before its "## Learned" section, the section with its heading, and what follows.
func cutLearned(text string) (before, learned, after string) {
	start, end, offset := -1, len(text), 0
	fenced := false
	for line := range strings.Lines(text) {
		bare := strings.TrimSpace(line)
		if strings.HasPrefix(bare, "```") {
			fenced = !fenced
		}
		switch {
		case fenced:
		case start < 0 && strings.EqualFold(bare, learnedHeading):
			start = offset
		case start >= 0 && (strings.HasPrefix(line, "# ") || strings.HasPrefix(line, "## ")):
			end = offset
			return text[:start], text[start:end], text[end:]
		}
		offset += len(line)
	}
	if start < 0 {
		return text, "", ""
	}
	return text[:start], text[start:end], text[end:]
}

// learn adds facts as bullets at the end of "## Learned", which is made at the end of the file when it is missing. A fact whose text
// stands anywhere in the file already, whatever its case, is skipped. Nothing else is touched.
func learn(text string, facts []string) (out string, added int) {
	for _, fact := range facts {
		fact = oneLine(strings.TrimLeft(strings.TrimSpace(fact), "-*# "))
		if fact == "" || strings.Contains(strings.ToLower(text), strings.ToLower(fact)) {
			continue
		}
		text = addBullet(text, fact)
		added++
	}
	return text, added
}

func addBullet(text, fact string) string {
	before, learned, after := cutLearned(text)
	if learned == "" {
		if text = strings.TrimRight(text, "\n"); text != "" {
			text += "\n\n"
		}
		return text + learnedHeading + "\n\n- " + fact + "\n"
	}
	learned = strings.TrimRight(learned, "\n ")
	if strings.EqualFold(strings.TrimSpace(learned), learnedHeading) {
		learned += "\n"
	}
	learned += "\n- " + fact + "\n"
	if after != "" {
		learned += "\n"
	}
	return before + learned + after
}

// forget removes the bullets of "## Learned" that say one of these facts, whatever their case. Nothing else is touched.
func forget(text string, facts []string) (out string, removed int) {
	before, learned, after := cutLearned(text)
	gone := map[string]bool{}
	for _, f := range facts {
		gone[strings.ToLower(oneLine(f))] = true
	}
	var kept strings.Builder
	for line := range strings.Lines(learned) {
		bullet, ok := strings.CutPrefix(strings.TrimSpace(line), "- ")
		if ok && gone[strings.ToLower(oneLine(bullet))] {
			removed++
			continue
		}
		kept.WriteString(line)
	}
	if removed == 0 {
		return text, 0
	}
	return before + kept.String() + after, removed
}

// withoutLearned is what a work or project chat reads of USER.md.
func withoutLearned(text string) string {
	before, _, after := cutLearned(text)
	return strings.TrimSpace(before + after)
}

// shorten cuts a text to a number of characters and says so. The newest is kept: the start of a file, or its end when it grows there.
func shorten(text string, limit int, name string, keepEnd bool) string {
	text = strings.TrimSpace(text)
	total := utf8.RuneCountInString(text)
	if limit <= 0 || total <= limit {
		return text
	}
	note := fmt.Sprintf("[%s, shortened: %d of %d characters are shown.]", name, limit, total)
	runes := []rune(text)
	if keepEnd {
		return note + "\n\n" + strings.TrimSpace(string(runes[total-limit:]))
	}
	return strings.TrimSpace(string(runes[:limit])) + "\n\n" + note
}

// appendNote adds a paragraph to a day's notes; a new file starts with its date.
func appendNote(text, day, note string) string {
	note = strings.TrimSpace(note)
	if text = strings.TrimRight(text, "\n "); text == "" {
		text = "# " + day
	}
	return text + "\n\n" + note + "\n"
}
