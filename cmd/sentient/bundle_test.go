package main

import (
	"archive/zip"
	"encoding/json"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sentient/transport/llm/llmtest"
)

// The debug bundle of a home whose chats, files, settings and keys are full of a person's words has none of them, with the engine
// running or not, and still says what happened in which order.
func TestBundleHasNoWordsAndNoSecrets(t *testing.T) {
	const word, key = "aardvark", "sk-quite-a-secret-4711"
	model := scripted(t, llmtest.Options{Script: doing("The "+word+" is fine.", "{}", once("mail_send", `{"to":"`+word+`@example.com","subject":"`+word+`","body":"`+word+`"}`))})
	home := newHome(t, model, "assistant:\n  name: "+word+"\n"+word+": 1\n")
	p := startInAWorld(t, home)
	if status, b := p.try("PUT", "/api/secrets/groq", map[string]any{"value": key}); status != 200 {
		t.Fatalf("%d: %s", status, b)
	}
	w := p.dial("")
	w.send(map[string]any{"type": "chat.send", "text": "Email " + word + "@example.com about the " + word + " " + key})
	w.decide(w.next("approval_request"), "allow")
	w.next("undo_window")

	secrets := []string{word, key, testToken, home}
	running := bundleOf(t, home, secrets)
	if running["engine.json"] == "" || running["logs/engine.log"] == "" {
		t.Fatalf("%v", slices.Collect(maps.Keys(running)))
	}
	p.stop()
	at := bundleOf(t, home, secrets)
	var chats []struct {
		Events  int
		Kinds   map[string]int
		Differs []string
	}
	if err := json.Unmarshal([]byte(at["chats.json"]), &chats); err != nil || len(chats) != 1 {
		t.Fatalf("%v: %s", err, at["chats.json"])
	}
	if c := chats[0]; c.Events < 10 || c.Kinds["answered"] != 1 || c.Kinds["undo window opened"] != 1 || len(c.Differs) > 0 {
		t.Fatalf("%+v", c)
	}
	var settings struct{ Assistant struct{ Name string } }
	if err := json.Unmarshal([]byte(at["settings.json"]), &settings); err != nil || settings.Assistant.Name != "(yours)" {
		t.Fatalf("%v: %s", err, at["settings.json"])
	}
	if d := at["doctor.txt"]; !strings.Contains(d, "config.yaml has a key that no setting has.") || !strings.Contains(d, "All of the store can be read.") {
		t.Fatal(d)
	}
}

// What a log quotes is left out, whatever its attributes are called: a provider's raw answer, a reason, a model's name, lists.
func TestABundlesLogQuotesNobody(t *testing.T) {
	const word = "aardvark"
	log := `{"time":"2026-12-01T00:00:00Z","level":"WARN","msg":"model call failed","model":"` + word + `","fault":"bad_model","status":404,"raw":"` + word + `"}
{"time":"2026-12-01T00:00:01Z","level":"ERROR","msg":"config.yaml is not in force","reason":"` + word + `","list":["` + word + `"],"group":{"kind":"` + word + `"}}
not JSON: ` + word + "\n"
	got := withoutWords([]byte(log))
	if strings.Contains(got, word) || strings.Count(got, "\n") != 3 {
		t.Fatal(got)
	}
	for _, kept := range []string{`"msg":"model call failed"`, `"fault":"bad_model"`, `"status":404`, `"level":"ERROR"`} {
		if !strings.Contains(got, kept) {
			t.Errorf("no %s in %s", kept, got)
		}
	}
}

// bundleOf makes a bundle and gives its parts, none of which has any of the words.
func bundleOf(t *testing.T, home string, words []string) map[string]string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bundle.zip")
	if out, err := command(home, "doctor", "--bundle", "--out", path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := command(home, "doctor", "--bundle", "--out", path).CombinedOutput(); err == nil || !strings.Contains(string(out), "--out") {
		t.Fatalf("an existing file was written over: %s", out)
	}
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	parts := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		parts[f.Name] = string(b)
		for _, word := range words {
			if strings.Contains(string(b), word) {
				t.Errorf("%s has %q:\n%s", f.Name, word, b)
			}
		}
	}
	return parts
}
