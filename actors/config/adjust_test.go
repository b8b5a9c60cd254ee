package config

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"sentient/runtime/app"
)

// What has to follow from a change is saved in the same step, also when the change came from the file, and told after it.
func TestAdjust(t *testing.T) {
	r := newRig(t, "# mine\nchat:\n  history_window: 20\n")
	told := 0
	r.o.Adjust = func(now, next *app.Config) (*app.Config, func()) {
		if next.Chat.HistoryWindow == now.Chat.HistoryWindow {
			return next, nil
		}
		out := next.Clone()
		out.Assistant.Name = "Adjusted"
		return out, func() {
			if told++; r.Get().Assistant.Name != "Adjusted" || len(r.notes) < told {
				t.Error("told before it was in force")
			}
		}
	}
	if next, err := r.Patch(t.Context(), json.RawMessage(`{"chat":{"history_window":25}}`)); err != nil || next.Assistant.Name != "Adjusted" || told != 1 {
		t.Fatalf("%v, told %d", err, told)
	}
	if _, err := r.Patch(t.Context(), json.RawMessage(`{"assistant":{"name":"Mine"}}`)); err != nil || told != 1 {
		t.Fatal(err, told)
	}
	text, _ := os.ReadFile(r.path)
	if err := os.WriteFile(r.path, []byte(strings.Replace(string(text), "25", "30", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, _, err := app.Load(r.path)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.FromFile(t.Context(), cfg); err != nil || told != 2 {
		t.Fatal(err, told)
	}
	if text, _ = os.ReadFile(r.path); !strings.Contains(string(text), "# mine") || !strings.Contains(string(text), "history_window: 30") || !strings.Contains(string(text), "Adjusted") {
		t.Errorf("the file:\n%s", text)
	}
}
