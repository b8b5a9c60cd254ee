package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var (
	maya = Names{Assistant: "Nova", User: "Maya"}
	noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestEnsureMakesOnlyWhatIsMissing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "workspace")
	w := New(dir)
	must(t, w.Ensure(maya))
	f, err := w.Read(noon)
	must(t, err)
	if !strings.Contains(f.Soul, "You are Nova") || !strings.Contains(f.User, "Maya") || f.Memory == "" || f.Today != "" {
		t.Fatal(f)
	}
	must(t, w.Write("soul", "mine"))
	must(t, w.Ensure(Names{}))
	if again, _ := w.Read(noon); again.Soul != "mine" || again.User != f.User {
		t.Error("a file was written over")
	}
	info, _ := os.Stat(filepath.Join(dir, "USER.md"))
	if info.Mode().Perm() != 0o600 {
		t.Error("others can read it")
	}
}

// the presets carry the current names.
func TestPersonas(t *testing.T) {
	ids := []string{}
	for _, p := range Personas(maya) {
		ids = append(ids, p.ID)
		if !strings.Contains(p.SoulMD, "Nova") || !strings.Contains(p.SoulMD, "Maya") || strings.Contains(p.SoulMD, "{") || p.Name == "" || p.Description == "" {
			t.Error(p)
		}
		for _, promise := range []string{"Save lasting facts", "Never invent", "wait for approval"} {
			if !strings.Contains(p.SoulMD, promise) {
				t.Errorf("%s does not say %q", p.ID, promise)
			}
		}
		if voice := strings.Contains(p.SoulMD, "## How you sound"); voice == (p.ID == "concise") {
			t.Errorf("%s: a heading for the voice: %v", p.ID, voice)
		}
	}
	if strings.Join(ids, " ") != "friendly professional concise coach" {
		t.Error(ids)
	}
	if p := Personas(Names{User: "  \n"})[0]; !strings.Contains(p.SoulMD, "of the user,") || !strings.Contains(p.SoulMD, "Sentient") {
		t.Error(p.SoulMD)
	}
}

func TestOnboarding(t *testing.T) {
	w := New(t.TempDir())
	must(t, w.Ensure(maya))
	if n, err := w.Learn([]string{"Maya has a dog"}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	must(t, w.Onboard(Onboarding{Names: maya, Timezone: "Asia/Kolkata", Location: "Pune, India", Professional: "Runs a bakery.\n# Learned tricks", Personal: "Two kids.", Persona: "coach"}))
	f, err := w.Read(noon)
	must(t, err)
	const want = `# About Maya

- Name: Maya
- Time zone: Asia/Kolkata
- Location: Pune, India

## Work

Runs a bakery.
Learned tricks

## Personal

Two kids.

## Learned

- Maya has a dog
`
	if f.User != want {
		t.Errorf("got\n%s\nwant\n%s", f.User, want)
	}
	if !strings.Contains(f.Soul, "coach at the side of Maya") {
		t.Error(f.Soul)
	}
	must(t, w.Write("soul", "my own words"))
	must(t, w.Onboard(Onboarding{Persona: "custom", Timezone: "auto"}))
	if f, _ = w.Read(noon); f.Soul != "my own words" || strings.Contains(f.User, "auto") || !strings.HasPrefix(f.User, "# About the user\n") {
		t.Error(f)
	}
}

// whole files; only soul, user and memory can be written.
func TestReadAndWrite(t *testing.T) {
	w := New(t.TempDir())
	long := strings.Repeat("long ", 10_000)
	for _, which := range []string{"soul", "user", "memory"} {
		must(t, w.Write(which, which+long))
	}
	for _, which := range []string{"today", "SOUL.md", "../x", "notes/2026-03-01", ""} {
		if err := w.Write(which, "x"); err != ErrUnknownFile {
			t.Errorf("%q: %v", which, err)
		}
	}
	must(t, w.Note(noon.AddDate(0, 0, -1), "called the bank"))
	must(t, w.Note(noon, " first \n"))
	must(t, w.Note(noon, "second"))
	must(t, w.Note(noon, "  "))
	f, err := w.Read(noon)
	must(t, err)
	want := Files{Soul: "soul" + long, User: "user" + long, Memory: "memory" + long, Today: "# 2026-03-01\n\nfirst\n\nsecond\n", Yesterday: "# 2026-02-28\n\ncalled the bank\n"}
	if f != want {
		t.Error(f.Today, f.Yesterday)
	}
	if err := w.Write("soul", strings.Repeat("x", MaxFile+1)); err == nil {
		t.Error("too large")
	}
	if left, _ := filepath.Glob(filepath.Join(w.dir, "*", ".tmp*")); len(left) > 0 {
		t.Error(left)
	}
}

func TestLearnAndForget(t *testing.T) {
	cases := []struct{ name, before, fact, after string }{
		{"new section", "# Me\n\nHello.\n", "Likes tea", "# Me\n\nHello.\n\n## Learned\n\n- Likes tea\n"},
		{"empty file", "", "Likes tea", "## Learned\n\n- Likes tea\n"},
		{"end of the section", "## Learned\n\n- A\n\n## Work\n\nX\n", "B", "## Learned\n\n- A\n- B\n\n## Work\n\nX\n"},
		{"empty section", "a\n\n## learned\n", "B", "a\n\n## learned\n\n- B\n"},
		{"known, other case", "I LIKE TEA.\n", "like tea", "I LIKE TEA.\n"},
		{"bullet and lines", "", "- Likes\n# tea", "## Learned\n\n- Likes # tea\n"},
		{"nothing", "a", "  ", "a"},
		{"heading in a code block", "```\n## Learned\n```\n", "B", "```\n## Learned\n```\n\n## Learned\n\n- B\n"},
	}
	for _, c := range cases {
		if got, _ := learn(c.before, []string{c.fact}); got != c.after {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.after)
		}
	}
	w := New(t.TempDir())
	must(t, w.Write("user", "- likes tea\n\n## Learned\n\n- Likes tea\n- Has a dog\n"))
	if n, err := w.Forget([]string{"LIKES TEA", "unknown"}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if f, _ := w.Read(noon); f.User != "- likes tea\n\n## Learned\n\n- Has a dog\n" {
		t.Error("the person's own text was touched", f.User)
	}
}

// Learning never changes a line that was there, and what was learned can be forgotten again.
func TestLearnProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("#- \nLearned`ab"))).Draw(t, "text")
		fact := rapid.StringMatching(`[A-Z][a-z]{3,8} [a-z]{3,8}`).Draw(t, "fact")
		out, added := learn(text, []string{fact})
		if added == 0 {
			if out != text {
				t.Fatal("changed without adding")
			}
			return
		}
		have := map[string]int{}
		for line := range strings.Lines(out + "\n") {
			have[strings.TrimSpace(line)]++
		}
		for line := range strings.Lines(text) {
			if have[strings.TrimSpace(line)]--; strings.TrimSpace(line) != "" && have[strings.TrimSpace(line)] < 0 {
				t.Fatalf("the line %q is gone from %q", line, out)
			}
		}
		if again, n := learn(out, []string{strings.ToUpper(fact)}); n != 0 || again != out {
			t.Fatal("learned twice")
		}
		if _, n := forget(out, []string{fact}); n != 1 {
			t.Fatalf("cannot be forgotten: %q", out)
		}
	})
}

// a work or project chat reads neither MEMORY.md nor the daily notes nor the learned part.
func TestSnapshotReach(t *testing.T) {
	w := New(t.TempDir())
	must(t, w.Write("soul", "SOUL"))
	must(t, w.Write("user", "me\n\n## Learned\n\n- private\n\n## Work\n\nbakery\n"))
	must(t, w.Write("memory", "MEMORY"))
	must(t, w.Note(noon, "today"))
	must(t, w.Note(noon.AddDate(0, 0, -1), "yesterday"))
	all, err := w.Snapshot(View{Now: noon, Names: maya})
	must(t, err)
	text := all.Text()
	last := -1
	for _, part := range []string{"SOUL", "private", "MEMORY", "yesterday", "today"} {
		i := strings.Index(text, part)
		if i <= last {
			t.Errorf("%s is missing or out of order in\n%s", part, text)
		}
		last = i
	}
	shared, err := w.Snapshot(View{Now: noon, Reach: Shared})
	must(t, err)
	if got := shared.Text(); got != "SOUL\n\nme\n\n## Work\n\nbakery" {
		t.Errorf("%q", got)
	}
	only, err := w.Snapshot(View{Now: noon, Reach: PersonaOnly})
	must(t, err)
	if only.Text() != "SOUL" {
		t.Error(only)
	}
	must(t, w.Write("soul", " \n"))
	if s, _ := w.Snapshot(View{Now: noon, Names: maya, Reach: PersonaOnly}); s.Soul != "You are Nova, a personal assistant." {
		t.Error(s.Soul)
	}
}

func TestSnapshotBudget(t *testing.T) {
	f := Files{Soul: strings.Repeat("ä", 700), User: strings.Repeat("u", 500), Today: "old" + strings.Repeat("n", 600) + "new"}
	s := snapshot(f, View{Budget: 500})
	if !strings.HasPrefix(s.Soul, strings.Repeat("ä", 500)+"\n\n[SOUL.md, shortened: 500 of 700 characters are shown.]") {
		t.Error(s.Soul)
	}
	if s.User != f.User {
		t.Error("cut although it fits")
	}
	if !strings.HasSuffix(s.Today, "new") || strings.Contains(s.Today, "old") || !strings.HasPrefix(s.Today, "[Today's notes, shortened: 500 of 606 ") {
		t.Error(s.Today)
	}
}

func FuzzCutLearned(f *testing.F) {
	for _, s := range []string{"", "## Learned", "a\n## Learned\n- x\n# b", "```\n## Learned\n```"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		before, learned, after := cutLearned(s)
		if before+learned+after != s {
			t.Fatalf("%q is not whole", s)
		}
		if utfOK := strings.ToValidUTF8(shorten(s, 10, "x", true), "") == shorten(s, 10, "x", true); !utfOK && strings.ToValidUTF8(s, "") == s {
			t.Fatal("cut within a character")
		}
	})
}
