package app

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"time"
)

// Config is everything a person can set; its JSON is what GET /api/config answers. A Config that was handed out is never changed:
// make a new one with Clone, Merge or Replace.
type Config struct {
	Assistant    Assistant    `json:"assistant" doc:"Who the assistant is and who it talks to."`
	Models       Models       `json:"models" doc:"Which models are used, and their limits."`
	Gateway      Gateway      `json:"gateway" doc:"Where the engine listens."`
	Chat         Chat         `json:"chat" doc:"How chats work."`
	Tools        Tools        `json:"tools" doc:"What tools may do."`
	Subagents    Subagents    `json:"subagents" doc:"Helper agents."`
	UI           UI           `json:"ui" doc:"How the window looks."`
	Memory       Memory       `json:"memory" doc:"What is remembered and recalled."`
	Tasks        Tasks        `json:"tasks" doc:"Tasks and routines."`
	Integrations Integrations `json:"integrations" doc:"Connected apps."`
	Proactivity  Proactivity  `json:"proactivity" doc:"Suggestions that nobody asked for."`
	Skills       Skills       `json:"skills" doc:"Skills."`
	Evolution    Evolution    `json:"evolution" doc:"How skills and profiles improve over time."`
	Voice        Voice        `json:"voice" doc:"Speech."`
	Sandbox      Sandbox      `json:"sandbox" doc:"Short scripts."`
	Terminal     Terminal     `json:"terminal" doc:"Commands on this computer."`
	Browser      Browser      `json:"browser" doc:"Web browsing."`
	Nodes        Nodes        `json:"nodes" doc:"Paired devices."`
	Channels     Channels     `json:"channels" doc:"Messaging apps."`
	UserModel    UserModel    `json:"user_model" doc:"The picture of the owner."`
	Dreaming     Dreaming     `json:"dreaming" doc:"Nightly memory consolidation."`
	OpenAIAPI    OpenAIAPI    `json:"openai_api" doc:"The OpenAI-compatible endpoint."`
	Backups      Backups      `json:"backups" doc:"Backups and snapshots."`
	Folders      Folders      `json:"folders" doc:"Folders of notes."`
}

// FieldError says what is wrong with one field, in the shape of a 422 detail. It never repeats the value that was refused,
// because people paste keys into the wrong place.
type FieldError struct {
	Loc  []string `json:"loc"`  // the path of the field
	Msg  string   `json:"msg"`  // a plain sentence that says what to do
	Type string   `json:"type"` // what kind of fault it is, such as int_type or extra_forbidden
	Line int      `json:"-"`    // where it stands in config.yaml, 0 when it did not come from there
}

func (e FieldError) String() string {
	if e.Line > 0 {
		return fmt.Sprintf("line %d: %s: %s", e.Line, joinLoc(e.Loc), e.Msg)
	}
	return joinLoc(e.Loc) + ": " + e.Msg
}

func joinLoc(loc []string) string {
	if len(loc) == 0 {
		return "the whole file"
	}
	s := loc[0]
	for _, l := range loc[1:] {
		s += "." + l
	}
	return s
}

// Default is the configuration of a fresh start.
func Default() *Config {
	c := &Config{}
	setDefaults(reflect.ValueOf(c).Elem())
	c.Channels.WhatsApp.EditIntervalS = 2
	c.Models.Providers = defaultProviders()
	normalise(c)
	return c
}

func defaultProviders() map[string]Provider {
	ollama, studio := "http://localhost:11434", "http://localhost:1234/v1"
	providers := map[string]Provider{
		"ollama":      {APIBase: &ollama},
		"ollama_chat": {APIBase: &ollama},
		"lm_studio":   {APIBase: &studio},
	}
	for id, env := range map[string]string{
		"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "gemini": "GEMINI_API_KEY",
		"openrouter": "OPENROUTER_API_KEY", "groq": "GROQ_API_KEY", "mistral": "MISTRAL_API_KEY",
		"deepseek": "DEEPSEEK_API_KEY", "xai": "XAI_API_KEY",
	} {
		providers[id] = Provider{APIKeyEnv: &env}
	}
	return providers
}

// Clone is a deep copy.
func (c *Config) Clone() *Config {
	return cloneValue(reflect.ValueOf(c)).Interface().(*Config)
}

// JSON is what a client gets.
func (c *Config) JSON() (json.RawMessage, error) { return json.Marshal(c) }

// Changed lists the sections (top-level names) that differ, in the order of the configuration.
func Changed(a, b *Config) []string {
	changed := []string{}
	va, vb := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	for _, f := range fieldsOf(va.Type()) {
		if !reflect.DeepEqual(va.FieldByIndex(f.Index).Interface(), vb.FieldByIndex(f.Index).Interface()) {
			changed = append(changed, f.Name)
		}
	}
	return changed
}

// RestartNeeded lists the changed fields, such as gateway.port, that take effect at the next start only.
func RestartNeeded(a, b *Config) []string {
	return restartNeeded(reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem(), "")
}

func restartNeeded(a, b reflect.Value, prefix string) []string {
	need := []string{}
	for _, f := range fieldsOf(a.Type()) {
		fa, fb := a.FieldByIndex(f.Index), b.FieldByIndex(f.Index)
		switch {
		case f.Type.Kind() == reflect.Struct:
			need = append(need, restartNeeded(fa, fb, prefix+f.Name+".")...)
		case f.Restart && !reflect.DeepEqual(fa.Interface(), fb.Interface()):
			need = append(need, prefix+f.Name)
		}
	}
	return need
}

// Span turns a configured number of units into a duration. It stops at the longest duration there is instead of overflowing, since
// several settings have no upper limit.
func Span[N int | float64](n N, unit time.Duration) time.Duration {
	if d := float64(n) * float64(unit); d < float64(math.MaxInt64) {
		return time.Duration(d)
	}
	return math.MaxInt64
}
