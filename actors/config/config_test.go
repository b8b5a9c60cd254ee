package config

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sentient/actors/msg"
	"sentient/runtime/act"
	"sentient/runtime/app"
	"sentient/storage/journal"
	"sentient/storage/memstore"
)

type rig struct {
	*Service
	path  string
	notes []string
	j     *journal.Committer
	told  []Introduction
}

func newRig(t *testing.T, text string) *rig {
	t.Helper()
	r := &rig{path: filepath.Join(t.TempDir(), "config.yaml")}
	if err := os.WriteFile(r.path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	file := app.NewConfigFile(r.path)
	cfg, _, _ := file.Start()
	var err error
	r.j, err = journal.Open(t.Context(), journal.Options{Disk: memstore.New(), Memory: memstore.New(), Deliver: func(es []journal.Entry) {
		for _, e := range es {
			r.notes = append(r.notes, e.Type+" "+string(e.Data))
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	sys := act.New(act.Options{})
	n := 0
	r.Service, err = New(sys, Options{Live: app.NewLive(cfg), File: file, Journal: r.j, NewID: func() string { n++; return string(rune('a' + n)) },
		Introduce: func(in Introduction) error { r.told = append(r.told, in); return nil }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = sys.Close(context.Background())
		_ = r.j.Close(context.Background())
	})
	return r
}

// a change is in the file, in force, and told by its sections; what changes nothing is not told.
func TestChange(t *testing.T) {
	r := newRig(t, "# hands off\nui:\n  theme: light\n")
	next, err := r.Patch(t.Context(), json.RawMessage(`{"chat":{"history_window":7},"tools":{"approvals":{"rules":{" Gmail ":"NEVER"}}}}`))
	if err != nil || next.Chat.HistoryWindow != 7 || r.Get().Chat.HistoryWindow != 7 || r.Get().Tools.Approvals.Rules["Gmail"] != "never" {
		t.Fatal(next, err)
	}
	if len(r.notes) != 1 || !strings.Contains(r.notes[0], `"sections":["chat","tools"]`) {
		t.Fatal(r.notes)
	}
	text, _ := os.ReadFile(r.path)
	if !strings.HasPrefix(string(text), "# hands off\n") || !strings.Contains(string(text), "history_window: 7") {
		t.Fatal(string(text))
	}
	if _, err = r.Patch(t.Context(), json.RawMessage(`{"tools":{"approvals":{"rules":{"Gmail":null}}}}`)); err != nil || len(r.Get().Tools.Approvals.Rules) != 0 {
		t.Fatal(r.Get().Tools.Approvals.Rules, err)
	}
	if _, err = r.Patch(t.Context(), json.RawMessage(`{"chat":{"history_window":7}}`)); err != nil || len(r.notes) != 2 {
		t.Fatal(err, r.notes)
	}
	full, _ := r.Get().JSON()
	if _, err = r.Put(t.Context(), full); err != nil || len(r.notes) != 2 {
		t.Fatal(err, r.notes)
	}
}

// what cannot be used names its place and changes nothing.
func TestRefusals(t *testing.T) {
	r := newRig(t, "")
	for _, bad := range []string{`{"chat":{"history_window":1}}`, `{"chat":{"no_such_key":1}}`, `{"models":{"roles":{"primary":"qwen"}}}`, `{"chat":[]}`} {
		_, err := r.Patch(t.Context(), json.RawMessage(bad))
		var inv *Invalid
		if !errors.As(err, &inv) || len(inv.Problems) == 0 || len(inv.Problems[0].Loc) == 0 || inv.Problems[0].Msg == "" {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if len(r.notes) != 0 {
		t.Fatal(r.notes)
	}
}

// A file that the person broke is not overwritten: a change is refused with the reason until it is mended.
func TestBrokenFile(t *testing.T) {
	r := newRig(t, "ui:\n  theme: light\n")
	if err := os.WriteFile(r.path, []byte("ui:\n  theme: [light\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := r.Patch(t.Context(), json.RawMessage(`{"ui":{"theme":"dark"}}`))
	if f, ok := msg.AsFault(err); !ok || f.Kind != msg.Conflict || !strings.Contains(f.Text, "config.yaml") {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(r.path); string(text) != "ui:\n  theme: [light\n" || r.Get().UI.Theme != "light" {
		t.Fatal(string(text), r.Get().UI.Theme)
	}
}

// onboarding saves the settings, tells the workspace, and keeps for later rooms what they will take up.
func TestOnboarding(t *testing.T) {
	r := newRig(t, "")
	in := Introduction{UserName: "Maya", AssistantName: "Iris", Location: "Pune", Professional: "I teach.", Persona: "concise", DailyBrief: true}
	if err := r.Onboard(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	a := r.Get().Assistant
	if !a.OnboardingComplete || a.UserName != "Maya" || a.Name != "Iris" || a.Location != "Pune" || a.Timezone != "auto" || len(r.told) != 1 || r.told[0] != in {
		t.Fatalf("%+v %+v", a, r.told)
	}
	v, err := r.j.Read()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	var kept []string
	for row, err := range v.Scan(journal.Scan{Table: tablePending}) {
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, string(row.Key)+" "+string(row.Value))
	}
	if len(kept) != 2 || !strings.HasPrefix(kept[0], "brief.daily/") || !strings.HasPrefix(kept[1], "memory.onboarding/") || !strings.Contains(kept[1], "I teach.") || !strings.Contains(kept[1], `"source":"onboarding"`) {
		t.Fatal(kept)
	}
}
