package app

import (
	"bufio"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

func merge(t *testing.T, c *Config, patch string) *Config {
	t.Helper()
	next, errs := Merge(c, json.RawMessage(patch))
	if len(errs) > 0 {
		t.Fatalf("Merge(%s): %v", patch, errs)
	}
	return next
}

func refused(t *testing.T, patch string, loc ...string) FieldError {
	t.Helper()
	next, errs := Merge(Default(), json.RawMessage(patch))
	if len(errs) == 0 || next != nil {
		t.Fatalf("Merge(%s) was accepted", patch)
	}
	if !reflect.DeepEqual(errs[0].Loc, loc) {
		t.Fatalf("Merge(%s) blames %v, want %v (%s)", patch, errs[0].Loc, loc, errs[0].Msg)
	}
	return errs[0]
}

// Every key of the contract's table has the default that it states there. The fixture lists them as key, tab, JSON.
func TestDefaultsAreTheContracts(t *testing.T) {
	f, err := os.Open("testdata/defaults.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := Default().JSON()
	if err != nil {
		t.Fatal(err)
	}
	var tree map[string]any
	if err := json.Unmarshal(data, &tree); err != nil {
		t.Fatal(err)
	}
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); n++ {
		key, want, _ := strings.Cut(lines.Text(), "\t")
		var expected any
		if err := json.Unmarshal([]byte(want), &expected); err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		var got any = tree
		for _, part := range strings.Split(key, ".") {
			m, _ := got.(map[string]any)
			var ok bool
			if got, ok = m[part]; !ok {
				t.Errorf("%s is missing", key)
			}
		}
		if !reflect.DeepEqual(got, expected) {
			t.Errorf("%s is %v, want %v", key, got, expected)
		}
	}
	if n < 300 {
		t.Fatalf("the fixture has only %d keys", n)
	}
}

func TestDefaultIsValidAndStable(t *testing.T) {
	c := Default()
	if errs := c.Validate(); len(errs) > 0 {
		t.Fatal(errs)
	}
	again := c.Clone()
	normalise(again)
	if !reflect.DeepEqual(c, again) {
		t.Fatal("tidying the defaults changes them")
	}
	if c.Channels.WhatsApp.EditIntervalS != 2 || c.Channels.Telegram.EditIntervalS != 1 {
		t.Fatal("the gap between edits")
	}
	c.Models.Providers["openai"] = Provider{}
	if Default().Models.Providers["openai"].APIKeyEnv == nil {
		t.Fatal("the defaults are shared")
	}
}

// Every default of a tag is used: one that does not parse would leave the zero value.
func TestTagsAreSound(t *testing.T) {
	var walk func(reflect.Type, string)
	walk = func(typ reflect.Type, path string) {
		for _, f := range fieldsOf(typ) {
			at := path + f.Name
			if f.Name == "" || !strings.HasSuffix(f.Doc, ".") {
				t.Errorf("%s needs a key and a sentence", at)
			}
			if f.Default != "" && f.Type.Kind() != reflect.Struct && f.Type.Kind() != reflect.String {
				if err := setDefaultJSON(reflect.New(f.Type).Elem(), f); err != nil {
					t.Errorf("%s: %v", at, err)
				}
			}
			if elem := f.Type; elem.Kind() == reflect.Struct {
				walk(elem, at+".")
			} else if elem.Kind() == reflect.Map && elem.Elem().Kind() == reflect.Struct {
				walk(elem.Elem(), at+".<>.")
			}
		}
	}
	walk(reflect.TypeFor[Config](), "")
}

// a PATCH is deep-merged.
func TestMergeIsDeep(t *testing.T) {
	base := Default()
	next := merge(t, base, `{"assistant":{"name":"Nova"},"models":{"providers":{"openai":{"api_base":"https://example.org/v1"}}},"voice":{"dictation":{"cleanup":"raw"}}}`)
	if next.Assistant.Name != "Nova" || next.Assistant.Language != "en" {
		t.Error("assistant")
	}
	p := next.Models.Providers["openai"]
	if p.APIBase == nil || *p.APIBase != "https://example.org/v1" || p.APIKeyEnv == nil || *p.APIKeyEnv != "OPENAI_API_KEY" {
		t.Error("an entry of a map is merged, not replaced")
	}
	if len(next.Models.Providers) != len(base.Models.Providers) || next.Voice.Dictation.Cleanup != "raw" || !next.Voice.Dictation.SpeakReplies {
		t.Error("the rest stays")
	}
	if base.Assistant.Name != "Sentient" || base.Models.Providers["openai"].APIBase != nil {
		t.Error("the old configuration was changed")
	}
	if got := Changed(base, next); !reflect.DeepEqual(got, []string{"assistant", "models", "voice"}) {
		t.Errorf("changed %v", got)
	}
}

// null removes an entry of every free-form map.
func TestNullRemovesEntries(t *testing.T) {
	full := merge(t, Default(), `{"models":{"fallbacks":{"primary":["a/b"]},"temperature":{"fast":0.5},"context_length_per_role":{"fast":4096}},
		"integrations":{"mcp_servers":{"notes":{"command":"notes"}}},
		"tools":{"approvals":{"rules":{"gmail":"ask"},"rule_origins":{"gmail":{"rule":"ask"}}}}}`)
	cases := []struct {
		patch string
		left  func(*Config) int
	}{
		{`{"models":{"fallbacks":{"primary":null}}}`, func(c *Config) int { return len(c.Models.Fallbacks) }},
		{`{"models":{"reasoning":{"primary":null,"fast":null,"planner":null,"executor":null,"voice":null}}}`, func(c *Config) int { return len(c.Models.Reasoning) }},
		{`{"models":{"temperature":{"fast":null}}}`, func(c *Config) int { return len(c.Models.Temperature) }},
		{`{"models":{"context_length_per_role":{"fast":null}}}`, func(c *Config) int { return len(c.Models.ContextLengthPerRole) }},
		{`{"models":{"providers":{"xai":null}}}`, func(c *Config) int { return len(c.Models.Providers) - 10 }},
		{`{"integrations":{"mcp_servers":{"notes":null}}}`, func(c *Config) int { return len(c.Integrations.MCPServers) }},
		{`{"tools":{"approvals":{"rules":{" gmail ":null}}}}`, func(c *Config) int { return len(c.Tools.Approvals.Rules) }},
		{`{"tools":{"approvals":{"rule_origins":{"gmail":null}}}}`, func(c *Config) int { return len(c.Tools.Approvals.RuleOrigins) }},
	}
	for _, c := range cases {
		if n := c.left(merge(t, full, c.patch)); n != 0 {
			t.Errorf("%s leaves %d", c.patch, n)
		}
	}
}

func TestNullEmptiesWhatMayBeNull(t *testing.T) {
	c := merge(t, Default(), `{"models":{"roles":{"planner":"openai/gpt-5"},"active_preset":"Mine","presets":{"Mine":{"roles":{"planner":null},"fallbacks":{"fast":["a/b"]}}}}}`)
	if got := c.Models.Presets["Mine"].Roles; len(got) != 1 || got["planner"] != nil {
		t.Error("null means the primary model in a preset and stays")
	}
	c = merge(t, c, `{"models":{"roles":{"planner":null},"active_preset":null,"presets":{"Mine":{"fallbacks":null}},"providers":{"ollama":{"api_base":null}}}}`)
	if c.Models.Roles.Planner != nil || c.Models.ActivePreset != nil || c.Models.Presets["Mine"].Fallbacks != nil {
		t.Error("null did not empty")
	}
	if p, ok := c.Models.Providers["ollama"]; !ok || p.APIBase != nil {
		t.Error("an address that may be null is emptied, its provider stays")
	}
	refused(t, `{"assistant":{"name":null}}`, "assistant", "name")
	refused(t, `{"models":{"roles":{"primary":null}}}`, "models", "roles", "primary")
	refused(t, `{"chat":null}`, "chat")
	refused(t, `{"models":{"fallbacks":null}}`, "models", "fallbacks")
}

// each fault is named with its path, a sentence and a type.
func TestFaultsNameTheirField(t *testing.T) {
	cases := []struct{ patch, loc, kind string }{
		{`{"chat":{"colour":1}}`, "chat.colour", "extra_forbidden"},
		{`{"nonsense":{}}`, "nonsense", "extra_forbidden"},
		{`{"gateway":{"port":"7777"}}`, "gateway.port", "int_type"},
		{`{"gateway":{"port":true}}`, "gateway.port", "int_type"},
		{`{"gateway":{"port":1.5}}`, "gateway.port", "int_type"},
		{`{"gateway":{"port":1e99}}`, "gateway.port", "int_type"},
		{`{"gateway":{"port":65536}}`, "gateway.port", "less_than_equal"},
		{`{"gateway":{"port":-1}}`, "gateway.port", "greater_than_equal"},
		{`{"gateway":{"host":""}}`, "gateway.host", "value_error"},
		{`{"chat":{"auto_title":1}}`, "chat.auto_title", "bool_type"},
		{`{"chat":{"auto_title":"yes"}}`, "chat.auto_title", "bool_type"},
		{`{"chat":[]}`, "chat", "dict_type"},
		{`{"tools":{"disabled":"x"}}`, "tools.disabled", "list_type"},
		{`{"tools":{"disabled":[1]}}`, "tools.disabled.0", "string_type"},
		{`{"voice":{"tts_speed":"1"}}`, "voice.tts_speed", "float_type"},
		{`{"voice":{"tts_speed":0.1}}`, "voice.tts_speed", "greater_than_equal"},
		{`{"ui":{"theme":"Dark"}}`, "ui.theme", "literal_error"},
		{`{"models":{"roles":{"primary":"gpt"}}}`, "models.roles.primary", "value_error"},
		{`{"models":{"roles":{"primary":""}}}`, "models.roles.primary", "value_error"},
		{`{"models":{"reasoning":{"primary":"max"}}}`, "models.reasoning.primary", "literal_error"},
		{`{"models":{"reasoning":{"boss":"low"}}}`, "models.reasoning.boss", "value_error"},
		{`{"models":{"context_length_per_role":{"fast":1}}}`, "models.context_length_per_role.fast", "greater_than_equal"},
		{`{"models":{"presets":{"Cloud":{}}}}`, "models.presets.Cloud", "value_error"},
		{`{"models":{"presets":{"a/b":{}}}}`, "models.presets.a/b", "value_error"},
		{`{"models":{"presets":{"a":{"roles":{"fast":null}}}}}`, "models.presets.a.roles.fast", "value_error"},
		{`{"models":{"presets":{"a":{},"A":{}}}}`, "models.presets.a", "value_error"},
		{`{"models":{"providers":{"openai":{"api_key_env":"sk-live-abc"}}}}`, "models.providers.openai.api_key_env", "value_error"},
		{`{"models":{"providers":{"openai":{"api_base":"ftp://x"}}}}`, "models.providers.openai.api_base", "value_error"},
		{`{"assistant":{"timezone":"Mars/Base"}}`, "assistant.timezone", "value_error"},
		{`{"assistant":{"language":"english please"}}`, "assistant.language", "value_error"},
		{`{"dreaming":{"time":"25:00"}}`, "dreaming.time", "value_error"},
		{`{"proactivity":{"quiet_hours":"late"}}`, "proactivity.quiet_hours", "value_error"},
		{`{"proactivity":{"brief":{"sections":["calendar","gossip"]}}}`, "proactivity.brief.sections.1", "literal_error"},
		{`{"channels":{"telegram":{"memory_scope":"Always"}}}`, "channels.telegram.memory_scope", "value_error"},
		{`{"terminal":{"allowed_commands":["ls; rm x"]}}`, "terminal.allowed_commands.0", "value_error"},
		{`{"browser":{"profiles":{"x":{"kind":"attach","endpoint":"http://example.org:9333"}}}}`, "browser.profiles.x.endpoint", "value_error"},
		{`{"browser":{"profiles":{"x":{"kind":"attach"}}}}`, "browser.profiles.x.endpoint", "value_error"},
		{`{"browser":{"profiles":{"X y":{}}}}`, "browser.profiles.X y", "value_error"},
		{`{"integrations":{"mcp_servers":{"a":{}}}}`, "integrations.mcp_servers.a.command", "value_error"},
		{`{"integrations":{"mcp_servers":{"a":{"transport":"http"}}}}`, "integrations.mcp_servers.a.url", "value_error"},
		{`{"integrations":{"mcp_servers":{"a":{"command":"x","auth":"oauth"}}}}`, "integrations.mcp_servers.a.auth", "value_error"},
		{`{"integrations":{"mcp_servers":{"a":{"command":"x","env":{"K":"v"}}}}}`, "integrations.mcp_servers.a.env.K", "value_error"},
		{`{"backups":{"folder":"relative"}}`, "backups.folder", "value_error"},
		{`{"chat":{"history_window":1}}`, "chat.history_window", "greater_than_equal"},
		{`[]`, "body", "json_invalid"},
		{`{} {}`, "body", "json_invalid"},
		{`null`, "body", "json_invalid"},
		{``, "body", "json_invalid"},
	}
	for _, c := range cases {
		if got := refused(t, c.patch, strings.Split(c.loc, ".")...); got.Type != c.kind || !strings.HasSuffix(got.Msg, ".") {
			t.Errorf("%s: type %s (%s), want %s", c.patch, got.Type, got.Msg, c.kind)
		}
	}
	_, errs := Merge(Default(), json.RawMessage(`{"gateway":{"port":"x","host":""},"chat":{"a":1}}`))
	if len(errs) != 3 {
		t.Errorf("all faults are named at once: %v", errs)
	}
	data, _ := json.Marshal(errs[0])
	if string(data) != `{"loc":["chat","a"],"msg":"There is no setting of this name. Check the spelling or leave it out.","type":"extra_forbidden"}` {
		t.Errorf("shape: %s", data)
	}
}

// A value that was refused may be a key that was pasted into the wrong field.
func TestFaultsNeverRepeatTheValue(t *testing.T) {
	const secret = "sk-live-0123456789abcdef"
	for _, patch := range []string{
		`{"models":{"providers":{"openai":{"api_key_env":"SECRET"}}}}`,
		`{"models":{"roles":{"primary":"SECRET"}}}`, `{"ui":{"theme":"SECRET"}}`, `{"gateway":{"port":"SECRET"}}`,
		`{"integrations":{"mcp_servers":{"a":{"command":"x","env":{"K":"SECRET"}}}}}`, `{"assistant":{"timezone":"SECRET"}}`,
	} {
		_, errs := Merge(Default(), json.RawMessage(strings.ReplaceAll(patch, "SECRET", secret)))
		if data, _ := json.Marshal(errs); len(errs) == 0 || strings.Contains(string(data), secret) {
			t.Errorf("%s: %s", patch, data)
		}
	}
}

// keys of rules are trimmed and values lower-cased; anything else is refused.
func TestRulesAreTidied(t *testing.T) {
	c := merge(t, Default(), `{"tools":{"approvals":{"rules":{" gmail ":" NEVER ","slack":"If_Asked"}}}}`)
	if want := map[string]string{"gmail": "never", "slack": "if_asked"}; !reflect.DeepEqual(c.Tools.Approvals.Rules, want) {
		t.Fatal(c.Tools.Approvals.Rules)
	}
	c = merge(t, c, `{"tools":{"approvals":{"rules":{"gmail  ":"ask"}}}}`)
	if c.Tools.Approvals.Rules["gmail"] != "ask" || len(c.Tools.Approvals.Rules) != 2 {
		t.Fatal("a later rule replaces the one of the same trimmed name", c.Tools.Approvals.Rules)
	}
	refused(t, `{"tools":{"approvals":{"rules":{"gmail":"sometimes"}}}}`, "tools", "approvals", "rules", "gmail")
	refused(t, `{"tools":{"approvals":{"rules":{"  ":"ask"}}}}`, "tools", "approvals", "rules", "")
	refused(t, `{"tools":{"approvals":{"rules":{"gmail":1}}}}`, "tools", "approvals", "rules", "gmail")
	refused(t, `{"tools":{"approvals":{"rules":{"gmail":"ask","gmail ":"never"}}}}`, "tools", "approvals", "rules", "gmail ")
}

// a note on a rule is dropped when its rule changes or goes.
func TestNotesGoWithTheirRules(t *testing.T) {
	with := merge(t, Default(), `{"tools":{"approvals":{"rules":{"gmail":"ask","slack":"never"},"rule_origins":{
		"gmail":{"rule":"ask","said":"ask me","source":"chat","via":"telegram"},"slack":{"rule":"never"}}}}}`)
	if o := with.Tools.Approvals.RuleOrigins["gmail"]; o.Said != "ask me" || o.SessionID != nil || o.Via != "telegram" {
		t.Fatal(o)
	}
	changed := merge(t, with, `{"tools":{"approvals":{"rules":{"gmail":"allow"}}}}`)
	if _, ok := changed.Tools.Approvals.RuleOrigins["gmail"]; ok || len(changed.Tools.Approvals.RuleOrigins) != 1 {
		t.Error("changed rule keeps its note")
	}
	gone := merge(t, with, `{"tools":{"approvals":{"rules":{"slack":null}}}}`)
	if _, ok := gone.Tools.Approvals.RuleOrigins["slack"]; ok || len(gone.Tools.Approvals.RuleOrigins) != 1 {
		t.Error("removed rule keeps its note")
	}
	both := merge(t, with, `{"tools":{"approvals":{"rules":{"gmail":"allow"},"rule_origins":{"gmail":{"rule":"allow","source":"approval"}}}}}`)
	if both.Tools.Approvals.RuleOrigins["gmail"].Source != "approval" {
		t.Error("a new note for a new rule was dropped")
	}
	refused(t, `{"tools":{"approvals":{"rules":{"gmail":"ask"},"rule_origins":{"gmail":{"rule":"maybe"}}}}}`, "tools", "approvals", "rule_origins", "gmail", "rule")
}

func TestTidying(t *testing.T) {
	c := merge(t, Default(), `{"integrations":{"read_only":[" gmail","gmail","slack "]},
		"tasks":{"email":{"allowed_senders":["A@x.org, b@y.org; c@z.org","a@x.org"]}},
		"browser":{"profiles":{"mine":{"kind":"attach","endpoint":"9333"},"default":null}},
		"channels":{"discord":{"memory_scope":" Work "}}}`)
	if !reflect.DeepEqual(c.Integrations.ReadOnly, []string{"gmail", "slack"}) {
		t.Error(c.Integrations.ReadOnly)
	}
	if !reflect.DeepEqual(c.Tasks.Email.AllowedSenders, []string{"a@x.org", "b@y.org", "c@z.org"}) {
		t.Error(c.Tasks.Email.AllowedSenders)
	}
	if c.Browser.Profiles["mine"].Endpoint != "http://127.0.0.1:9333" || c.Browser.Profiles["default"].Kind != "launch" {
		t.Error(c.Browser.Profiles)
	}
	if c.Channels.Discord.MemoryScope != "work" {
		t.Error(c.Channels.Discord.MemoryScope)
	}
}

// PUT takes the full configuration; what a client got it can send back.
func TestReplace(t *testing.T) {
	c := merge(t, Default(), `{"assistant":{"name":"Nova"},"models":{"providers":{"xai":null},"reasoning":{"primary":null}},"tools":{"approvals":{"rules":{"gmail":"never"}}}}`)
	data, err := c.JSON()
	if err != nil {
		t.Fatal(err)
	}
	back, errs := Replace(data)
	if len(errs) > 0 || !reflect.DeepEqual(back, c) {
		t.Fatal("not the same after a round trip", errs)
	}
	if _, errs := Replace(json.RawMessage(`{"gateway":{"port":99999}}`)); len(errs) != 1 {
		t.Fatal(errs)
	}
}

func TestRestartNeeded(t *testing.T) {
	c := merge(t, Default(), `{"gateway":{"port":9000},"chat":{"auto_title":false}}`)
	if got := RestartNeeded(Default(), c); !reflect.DeepEqual(got, []string{"gateway.port"}) {
		t.Fatal(got)
	}
	if got := RestartNeeded(Default(), Default()); len(got) != 0 {
		t.Fatal(got)
	}
}

func TestSpanStopsAtTheLongest(t *testing.T) {
	if Span(2, time.Minute) != 2*time.Minute || Span(0.5, time.Second) != 500*time.Millisecond {
		t.Error("plain spans")
	}
	if d := Span(1<<53-1, time.Hour); d <= 0 {
		t.Error("overflow", d)
	}
}

func BenchmarkDefault(b *testing.B) {
	for b.Loop() {
		Default()
	}
}
