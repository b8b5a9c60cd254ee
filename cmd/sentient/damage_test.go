package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sentient/transport/llm/llmtest"
)

// copyHome copies a home whose engine does not run.
func copyHome(t *testing.T, from string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}

// storeFiles are the store's files that match a pattern.
func storeFiles(t *testing.T, home, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(home, "store", pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("the store has no %s: %v", pattern, err)
	}
	return files
}

// flip changes one bit of a file.
func flip(t *testing.T, path string, at int64) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[at] ^= 4
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// refused starts the engine, which must say no with one sentence and change nothing of the store but its log.
func refused(t *testing.T, home string, words ...string) {
	t.Helper()
	out, err := command(home, "serve").CombinedOutput()
	if err == nil {
		t.Fatalf("it started:\n%s", out)
	}
	plain(t, string(out), words...)
	out, err = command(home, "doctor").CombinedOutput()
	if err == nil {
		t.Errorf("the doctor finds nothing:\n%s", out)
	}
	plain(t, string(out), words...)
}

// plain checks that a text has the words, and nothing of what only a program can read.
func plain(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("it does not say %q:\n%s", w, text)
		}
	}
	for _, raw := range []string{`\x0`, "corruption detail", "pebble"} {
		if strings.Contains(text, raw) {
			t.Errorf("it says %q:\n%s", raw, text)
		}
	}
}

// livedIn makes a home with chats, in tables.
func livedIn(t *testing.T, chats int) (home string, ids []string) {
	t.Helper()
	model := scripted(t, llmtest.Options{Load: &llmtest.Load{Tokens: 3, Token: "word "}})
	home = newHome(t, model, "")
	for round := range 2 { // two tables, so that one of them can be compacted
		p := start(t, home)
		for n := range chats / 2 {
			events := p.chat(map[string]any{"text": fmt.Sprintf("Hello %d of %d: %s", n, round, strings.Repeat("a few words of its own ", 10))})
			ids = append(ids, events[0]["session_id"].(string))
		}
		p.stop()
	}
	return home, ids
}

type chatRow struct{ ID string }

// TestDamagedStoreStarts: with a damaged byte anywhere in a table the engine starts, lists and opens most chats, makes new ones,
// and says what it cannot read, in the health report and by the doctor; nothing is removed.
func TestDamagedStoreStarts(t *testing.T) {
	home, ids := livedIn(t, 60)
	hurt, places := 0, 12
	if testing.Short() {
		places = 3
	}
	for _, table := range storeFiles(t, home, "*.sst") {
		info, err := os.Stat(table)
		if err != nil {
			t.Fatal(err)
		}
		for n := range int64(places) {
			at := (2*n + 1) * info.Size() / int64(2*places)
			t.Run(fmt.Sprint(filepath.Base(table), " at ", at), func(t *testing.T) {
				home := copyHome(t, home)
				flip(t, filepath.Join(home, "store", filepath.Base(table)), at)
				if checkHurt(t, home, ids) {
					hurt++
				}
			})
		}
	}
	if hurt == 0 {
		t.Error("no damage was noticed")
	}
}

func checkHurt(t *testing.T, home string, ids []string) (noticed bool) {
	before := storeFiles(t, home, "*.sst")
	out, err := command(home, "doctor").CombinedOutput()
	if err != nil && strings.Contains(string(out), "The store cannot be opened") {
		refused(t, home, ".sst cannot be read", "backup") // its index
		return true
	}
	bad := err != nil && strings.Contains(string(out), "Some of the store cannot be read")
	plain(t, string(out), "The store can be opened")
	p := start(t, home)
	list := call[[]chatRow](p, "GET", "/api/sessions?limit=200", nil)
	if len(list) < len(ids)/3 {
		t.Errorf("%d of %d chats are listed", len(list), len(ids))
	}
	open := 0
	for _, id := range ids {
		if status, _ := p.try("GET", "/api/sessions/"+id+"/messages", nil); status == 200 {
			open++
		}
	}
	if open < len(ids)/3 {
		t.Errorf("%d of %d chats can be opened", open, len(ids))
	}
	events := p.chat(map[string]any{"text": "A new one"})
	made := events[0]["session_id"].(string)
	if last := events[len(events)-1]; last["type"] != "done" || last["error"] != nil {
		t.Errorf("a new chat ends with %v", last)
	}
	if !slices.ContainsFunc(call[[]chatRow](p, "GET", "/api/sessions?limit=200", nil), func(c chatRow) bool { return c.ID == made }) {
		t.Error("the new chat is not listed")
	}
	status, health := p.try("GET", "/api/health", nil)
	if said := strings.Contains(string(health), "Some of the store cannot be read"); said && !bad || status != 200 {
		t.Errorf("health: %d %s", status, health)
	}
	plain(t, string(health))
	p.stop()
	plain(t, p.out.String())
	for _, f := range before {
		if _, err := os.Stat(f); err != nil && bad {
			t.Error("a damaged table is gone:", err)
		}
	}
	return bad
}

// TestDamagedStoreIsRefusedPlainly: whatever file of the store is damaged or missing, the start and the doctor say which, in
// which folder, and what to do, and a second start says the same.
func TestDamagedStoreIsRefusedPlainly(t *testing.T) {
	stopped, _ := livedIn(t, 4)
	killed := copyHome(t, stopped)
	p := start(t, killed)
	p.chat(map[string]any{"text": "not in a table yet"})
	p.kill()
	truncate := func(path string) error { return os.Truncate(path, 10) }
	harm := func(path string) error { return os.WriteFile(path, []byte(strings.Repeat("?", 1000)), 0o600) }
	for _, test := range []struct {
		name, home, file string
		do               func(string) error
		word             string
	}{
		{"a list that is cut", stopped, "MANIFEST-*", truncate, "MANIFEST-"},
		{"a list that is missing", stopped, "MANIFEST-*", os.Remove, "MANIFEST-"},
		{"a list that is garbage", stopped, "MANIFEST-*", harm, "MANIFEST-"},
		{"a marker that is missing", stopped, "marker.manifest.*", os.Remove, "MANIFEST-"},
		{"a table that is missing", stopped, "*.sst", os.Remove, ".sst"},
		{"a table that is cut", stopped, "*.sst", truncate, ".sst"},
		{"a table that is garbage", stopped, "*.sst", harm, ".sst"},
		{"a log that is missing", killed, "*.log", os.Remove, "log"},
		{"a log that is cut", killed, "*.log", truncate, "log"},
		{"a log that is garbage", killed, "*.log", harm, "log"},
	} {
		t.Run(test.name, func(t *testing.T) {
			home := copyHome(t, test.home)
			for _, f := range storeFiles(t, home, test.file) {
				if err := test.do(f); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				refused(t, home, "is damaged: ", test.word, filepath.Join(home, "store"), "Nothing was removed", "backup")
			}
		})
	}
}

// TestDamagedOptionsAreMended: a damaged OPTIONS file holds no data, so it is set aside and the engine starts.
func TestDamagedOptionsAreMended(t *testing.T) {
	lived, ids := livedIn(t, 2)
	for name, harm := range map[string]func([]byte) []byte{
		"garbage": func([]byte) []byte { return []byte("\x00\x01\x02?") },
		"empty":   func([]byte) []byte { return nil },
		"cut":     func(b []byte) []byte { return b[:len(b)/2] },
		"another order": func(b []byte) []byte {
			return []byte(strings.Replace(string(b), "leveldb.Bytewise", "leveldb.Bitewise", 1))
		},
		"a broken section": func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), "[", "(")) },
	} {
		t.Run(name, func(t *testing.T) {
			home := copyHome(t, lived)
			path := storeFiles(t, home, "OPTIONS-*")[0]
			b, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path, harm(b), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				p := start(t, home)
				for _, id := range ids {
					if got := p.transcript(id); !strings.Contains(got, "Hello") {
						t.Errorf("%q", got)
					}
				}
				plain(t, p.out.String())
				p.stop()
			}
		})
	}
}
