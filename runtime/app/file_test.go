package app

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

const mine = `# My settings
# second line

assistant:
    name: "Nova"    # my name

    # where I live
    timezone: Europe/Berlin
models:
  roles: {primary: openai/gpt-5, fast: 'openai/gpt-5-mini'}   # both cloud
  providers:
    xai: null
    mine:
      api_base: https://example.org/v1

future_thing:
  level: 3        # the engine does not know this

tools:
  approvals:
    mode: off
    rules:
      # mail is mine
      gmail: never   # really

# the end
`

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	c, report, err := Load(path)
	if err != nil || !reflect.DeepEqual(c, Default()) || report.Source != FromDefaults {
		t.Fatal("a missing file is the defaults", err)
	}
	write(t, path, mine)
	c, report, err = Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if c.Assistant.Name != "Nova" || c.Models.Roles.Fast != "openai/gpt-5-mini" || c.Tools.Approvals.Mode != "off" || c.Tools.Approvals.Rules["gmail"] != "never" {
		t.Error("values")
	}
	if _, ok := c.Models.Providers["xai"]; ok || c.Models.Providers["mine"].APIBase == nil || c.Models.Providers["openai"].APIKeyEnv == nil {
		t.Error("the file lies over the default providers, and null takes one away")
	}
	if !reflect.DeepEqual(report.Unknown, []string{"future_thing"}) {
		t.Error(report.Unknown)
	}
}

func TestLoadReadsWordsAsTheyStand(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	write(t, path, "sandbox:\n  docker_image: 3.12\n  enabled: no\nbackups:\n  schedule: off\ndreaming:\n  time: 03:30\nchat:\nvoice:\n  tts_speed: 2\n  barge_in: off\nassistant:\n  name: 2026-01-01\n")
	c, _, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if c.Sandbox.DockerImage != "3.12" || c.Sandbox.Enabled || c.Backups.Schedule != "off" || c.Dreaming.Time != "03:30" || c.Voice.TTSSpeed != 2 || c.Voice.BargeIn || c.Assistant.Name != "2026-01-01" {
		t.Errorf("%+v", c.Sandbox)
	}
}

func TestBrokenFilesAreRefusedWithTheirLine(t *testing.T) {
	cases := []struct {
		name, text, loc string
		line            int
	}{
		{"not YAML", "assistant:\n  name: [1\nchat:\n", "", 3},
		{"wrong type", "chat:\n  auto_title: true\ngateway:\n  port: many\n", "gateway.port", 4},
		{"out of range", "gateway:\n  port: 70000\n", "gateway.port", 2},
		{"list entry", "tools:\n  disabled:\n    - a\n    - [b]\n", "tools.disabled.1", 4},
		{"twice", "chat:\n  auto_title: true\n  auto_title: false\n", "chat.auto_title", 3},
		{"merge key", "a: &a {}\nchat:\n  <<: *a\n", "chat.<<", 3},
		{"two documents", "chat: {}\n---\nchat: {}\n", "", 2},
		{"a list", "- a\n", "", 1},
		{"a word", "hello\n", "", 1},
		{"odd key", "chat:\n  ? [a]\n  : b\n", "chat", 2},
		{"section is a word", "chat: yes please\n", "chat", 1},
		{"rule", "tools:\n  approvals:\n    rules:\n      gmail: nope\n", "tools.approvals.rules.gmail", 4},
		{"flow", "tools: {approvals: {mode: loud}}\n", "tools.approvals.mode", 1},
	}
	for _, c := range cases {
		path := filepath.Join(t.TempDir(), "config.yaml")
		write(t, path, c.text)
		cfg, report, err := Load(path)
		var broken *BrokenError
		if cfg != nil || !errors.As(err, &broken) || len(report.Problems) == 0 {
			t.Errorf("%s: accepted (%v)", c.name, err)
			continue
		}
		p := report.Problems[0]
		if strings.Join(p.Loc, ".") != c.loc || p.Line != c.line {
			t.Errorf("%s: blames %v in line %d: %s", c.name, p.Loc, p.Line, p.Msg)
		}
		if read(t, path) != c.text {
			t.Errorf("%s: the file was changed", c.name)
		}
		next := merge(t, Default(), `{"assistant":{"name":"x"}}`)
		if err := NewConfigFile(path).Save(Default(), next); !errors.As(err, &broken) || read(t, path) != c.text {
			t.Errorf("%s: a broken file was written over (%v)", c.name, err)
		}
	}
}

func TestAliasesAreBounded(t *testing.T) {
	text := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for i := range 9 {
		prev, name := string(rune('a'+i)), string(rune('b'+i))
		text += name + ": &" + name + " [" + strings.Repeat("*"+prev+",", 9) + "*" + prev + "]\n"
	}
	path := filepath.Join(t.TempDir(), "config.yaml")
	write(t, path, text)
	if _, _, err := Load(path); err == nil {
		t.Fatal("accepted")
	}
}

func TestStartFallsBackToTheLastGoodVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	f := NewConfigFile(path)
	write(t, path, "gateway: [\n")
	c, report, err := f.Start()
	if err == nil || report.Source != FromDefaults || !reflect.DeepEqual(c, Default()) {
		t.Fatal("a first start with a broken file uses the defaults and says so", report, err)
	}
	write(t, path, mine)
	if c, report, err = f.Start(); err != nil || report.Source != FromFile || c.Assistant.Name != "Nova" {
		t.Fatal(report, err)
	}
	write(t, path, mine+"gateway: [\n")
	c, report, err = f.Start()
	if err == nil || report.Source != FromLastGood || c.Tools.Approvals.Rules["gmail"] != "never" {
		t.Fatal("a slip in the file must not lose a rule that says never", report, err)
	}
	if !strings.Contains(err.Error(), "line ") || !strings.Contains(err.Error(), "Fix it") {
		t.Error(err)
	}
}

func TestSaveChangesOnlyItsLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	write(t, path, mine)
	f := NewConfigFile(path)
	now, _, err := f.Load()
	if err != nil {
		t.Fatal(err)
	}
	next := merge(t, now, `{"assistant":{"name":"Luna # 1"},"tools":{"approvals":{"rules":{"slack":"ask"}}},"chat":{"auto_title":false}}`)
	if err := f.Save(now, next); err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(mine, `"Nova"    # my name`, `'Luna # 1'    # my name`, 1)
	want = strings.Replace(want, "      gmail: never   # really\n", "      gmail: never   # really\n      slack: ask\nchat:\n  auto_title: false\n", 1)
	if got := read(t, path); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, _, err := f.Load(); err != nil || !reflect.DeepEqual(got, next) {
		t.Error("what was saved is not what is read", err)
	}
}

func TestSaveInEveryShape(t *testing.T) {
	cases := []struct{ name, before, patch, after string }{
		{"new file", "", `{"gateway":{"port":8000}}`, fileHead + "gateway:\n  port: 8000\n"},
		{"default is not dumped", "gateway:\n  port: 8000\n", `{"chat":{"auto_title":true}}`, "gateway:\n  port: 8000\n"},
		{"standing key goes back to its default", "gateway:\n  port: 8000 # mine\n", `{"gateway":{"port":7777}}`, "gateway:\n  port: 7777 # mine\n"},
		{"flow", "gateway: {port: 8000} # here\n\nchat:\n  auto_title: false\n", `{"gateway":{"port":8001}}`, "gateway: {port: 8001} # here\n\nchat:\n  auto_title: false\n"},
		{"empty section", "gateway:\nchat:\n  auto_title: false\n", `{"gateway":{"port":8001}}`, "gateway:\n  port: 8001\nchat:\n  auto_title: false\n"},
		{"list", "tools:\n  disabled:\n  - a # first\n  - b\n\nchat: {}\n", `{"tools":{"disabled":["c"]}}`, "tools:\n  disabled:\n    - c\n\nchat: {}\n"},
		{"default entry removed", "chat: {}\n", `{"models":{"providers":{"xai":null}}}`, "chat: {}\nmodels:\n  providers:\n    xai: null\n"},
		{"default entry back", "models:\n  providers:\n    xai: null\n    groq: null\n", `{"models":{"providers":{"xai":{"api_key_env":"XAI_API_KEY"}}}}`, "models:\n  providers:\n    groq: null\n"},
		{"own entry removed", "tools:\n  approvals:\n    rules:\n      a: ask\n      b: never\n", `{"tools":{"approvals":{"rules":{"a":null}}}}`, "tools:\n  approvals:\n    rules:\n      b: never\n"},
		{"last entry removed", "tools:\n  approvals:\n    rules:\n      a: ask\n# end\n", `{"tools":{"approvals":{"rules":{"a":null}}}}`, "tools:\n  approvals:\n    rules: {}\n# end\n"},
		{"new entry of a map", "", `{"integrations":{"mcp_servers":{"notes":{"command":"notes","args":["-x"],"env":{"LEVEL":""}}}}}`,
			fileHead + "integrations:\n  mcp_servers:\n    notes:\n      command: notes\n      args:\n        - -x\n      env:\n        LEVEL: \"\"\n"},
		{"null", "models:\n  roles:\n    planner: a/b\n", `{"models":{"roles":{"planner":null}}}`, "models:\n  roles:\n    planner: null\n"},
		{"words that look like switches", "", `{"tools":{"approvals":{"mode":"off"}},"assistant":{"name":"yes"}}`, fileHead + "assistant:\n  name: \"yes\"\ntools:\n  approvals:\n    mode: \"off\"\n"},
		{"windows line ends", "gateway:\r\n  port: 8000\r\n", `{"gateway":{"port":8001}}`, "gateway:\r\n  port: 8001\r\n"},
		{"no line end", "gateway:\n  port: 8000", `{"gateway":{"port":8001}}`, "gateway:\n  port: 8001\n"},
		{"trimmed rule name", "tools:\n  approvals:\n    rules:\n      ' a ': ask\n", `{"tools":{"approvals":{"rules":{"a":"never"}}}}`, "tools:\n  approvals:\n    rules:\n      ' a ': never\n"},
		{"aliases", "x: &p {port: 8000}\ngateway: *p\n", `{"gateway":{"port":8001}}`, "x: &p {port: 8000}\ngateway: {port: 8001}\n"},
	}
	for _, c := range cases {
		path := filepath.Join(t.TempDir(), "config.yaml")
		if c.before != "" {
			write(t, path, c.before)
		}
		f := NewConfigFile(path)
		now, _, err := f.Load()
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		next := merge(t, now, c.patch)
		if err := f.Save(now, next); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got, _, err := f.Load()
		if err != nil || !reflect.DeepEqual(got, next) {
			t.Errorf("%s: not what was saved (%v)", c.name, err)
		}
		if text := read(t, path); text != c.after {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, text, c.after)
		}
	}
}

// A change made in the file a moment ago is not undone by a change made elsewhere.
func TestSaveKeepsWhatAPersonJustChanged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	f := NewConfigFile(path)
	now := Default()
	write(t, path, "ui:\n  theme: light\n")
	if err := f.Save(now, merge(t, now, `{"gateway":{"port":9000}}`)); err != nil {
		t.Fatal(err)
	}
	c, _, err := f.Load()
	if err != nil || c.UI.Theme != "light" || c.Gateway.Port != 9000 {
		t.Fatal(err)
	}
}

func TestSaveFollowsALinkAndKeepsPermissions(t *testing.T) {
	dir, real := t.TempDir(), filepath.Join(t.TempDir(), "elsewhere.yaml")
	write(t, real, "ui:\n  theme: light\n")
	path := filepath.Join(dir, "config.yaml")
	if err := os.Symlink(real, path); err != nil {
		t.Skip("no links here")
	}
	if err := os.Chmod(real, 0o640); err != nil {
		t.Fatal(err)
	}
	f := NewConfigFile(path)
	now, _, _ := f.Load()
	if err := f.Save(now, merge(t, now, `{"ui":{"theme":"dark"}}`)); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link was replaced")
	}
	if info, _ = os.Stat(real); info.Mode().Perm() != 0o640 || !strings.Contains(read(t, real), "theme: dark") {
		t.Error("the real file")
	}
	left, _ := filepath.Glob(filepath.Join(dir, ".tmp-*"))
	if len(left) > 0 {
		t.Error(left)
	}
}

// Whatever changes are saved in whatever order over whatever file: what is read back is what was saved, and the person's comments and
// unknown keys are still there.
func TestSaveProperty(t *testing.T) {
	patches := []string{
		`{"assistant":{"name":"Luna","location":"Pune: India # x"}}`, `{"assistant":{"timezone":"auto","user_name":"\"q\"\n'two'"}}`, `{"models":{"providers":{"xai":null,"mine":null}}}`,
		`{"models":{"providers":{"xai":{"api_base":"https://x.ai"},"new":{"api_key_env":"NEW"}}}}`, `{"models":{"roles":{"planner":"a/b","fast":"c/d"}}}`,
		`{"models":{"roles":{"planner":null}}}`, `{"models":{"reasoning":{"primary":"high","fast":null}}}`, `{"models":{"fallbacks":{"primary":["a/b","c/d"]}}}`,
		`{"models":{"fallbacks":{"primary":null}}}`, `{"models":{"presets":{"Mine":{"roles":{"planner":null,"fast":"x/y"},"context_length":4096}}}}`, `{"models":{"presets":{"Mine":null}}}`,
		`{"tools":{"approvals":{"rules":{"gmail":null}}}}`, `{"tools":{"approvals":{"rules":{"gmail":"ask","slack":"allow"},"rule_origins":{"slack":{"rule":"allow","said":"ok: go"}}}}}`,
		`{"tools":{"approvals":{"mode":"always"},"disabled":["a","b: c"]}}`, `{"tools":{"disabled":[]}}`, `{"browser":{"profiles":{"x":{"kind":"attach","endpoint":"9333"}}}}`,
		`{"browser":{"profiles":{"x":null}}}`, `{"channels":{"telegram":{"api_base":"https://t.me","voice_replies":true}}}`, `{"gateway":{"port":0}}`, `{"voice":{"tts_speed":1.25}}`,
	}
	rapid.Check(t, func(rt *rapid.T) {
		start := rapid.SampledFrom([]string{"", mine, "# only a comment\n", "models: {providers: {xai: null}} # flow\n", "tools:\n    approvals:\n        rules:\n            gmail: never # keep\n        mode: ask\n"}).Draw(rt, "file")
		text := []byte(start)
		now, _ := decodeYAML(text)
		for _, p := range rapid.SliceOfN(rapid.SampledFrom(patches), 1, 8).Draw(rt, "patches") {
			next, errs := Merge(now, json.RawMessage(p))
			if len(errs) > 0 {
				rt.Fatal(errs)
			}
			saved, err := changed(text, now, next)
			if err != nil {
				rt.Fatalf("%s: %v", p, err)
			}
			if saved != nil {
				text = saved
			}
			if got, report := decodeYAML(text); !reflect.DeepEqual(got, next) {
				rt.Fatalf("after %s the file says something else (%v):\n%s", p, report.Problems, text)
			}
			now = next
		}
		if start == mine {
			for _, keep := range []string{"# My settings\n# second line\n\n", "# my name", "\n\n    # where I live", "# both cloud", "level: 3        # the engine does not know this", "# the end"} {
				if !strings.Contains(string(text), keep) {
					rt.Fatalf("%q is gone:\n%s", keep, text)
				}
			}
		}
	})
}

// No file panics or hangs; one that is accepted is a valid configuration, and a change can be saved into it and read back.
func FuzzLoad(f *testing.F) {
	for _, s := range []string{"", mine, "a: &a [*a]", "? x", "gateway: {port: 1}\n", "{", "tools:\n - a\n", "chat: !!str x\n", "gateway:\n  port: 1\n...\n", "\xff", "a: |\n  b\n # c\n", "%YAML 1.2\n---\nui: {theme: light}\n",
		"gateway:\n  port: |-\n    8000\n", "assistant:\n  name: >\n    folded\n    text\n  location: x\n", "\"gateway\": {\"port\": 1,\n  \"host\": \"h\"}\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg, report := decodeYAML(data)
		if (cfg == nil) != (len(report.Problems) > 0) {
			t.Fatal("neither or both")
		}
		if cfg == nil {
			return
		}
		if errs := cfg.Validate(); len(errs) > 0 {
			t.Fatal(errs)
		}
		next := merge(t, cfg, `{"gateway":{"port":4321},"tools":{"approvals":{"rules":{"gmail":"hand_off"}}},"models":{"providers":{"xai":null}}}`)
		text, err := changed(data, cfg, next)
		if err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		if text == nil {
			text = data
		}
		if got, _ := decodeYAML(text); !reflect.DeepEqual(got, next) {
			t.Fatalf("%q became %q", data, text)
		}
	})
}
