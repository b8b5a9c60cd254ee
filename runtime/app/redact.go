package app

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// Hidden stands in the log for what is never written.
const Hidden = "(hidden)"

// redactor keeps secrets and chat text out of the log. An attribute whose name ends in a word such as token, key or text is hidden
// whatever it holds, also inside groups, maps and structs, and text that looks like a key is scrubbed wherever it stands. It is the last
// line: code should not pass such things to the log at all.
type redactor struct{ next slog.Handler }

func (r redactor) Enabled(ctx context.Context, level slog.Level) bool {
	return r.next.Enabled(ctx, level)
}

func (r redactor) Handle(ctx context.Context, rec slog.Record) error {
	clean := slog.NewRecord(rec.Time, rec.Level, scrub(rec.Message), rec.PC)
	rec.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(redactAttr(a))
		return true
	})
	return r.next.Handle(ctx, clean)
}

func (r redactor) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = redactAttr(a)
	}
	return redactor{r.next.WithAttrs(clean)}
}

func (r redactor) WithGroup(name string) slog.Handler { return redactor{r.next.WithGroup(name)} }

func redactAttr(a slog.Attr) slog.Attr {
	if hiddenName(a.Key) {
		return slog.String(a.Key, Hidden)
	}
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindGroup:
		group := make([]slog.Attr, len(v.Group()))
		for i, g := range v.Group() {
			group[i] = redactAttr(g)
		}
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(group...)}
	case slog.KindString:
		return slog.String(a.Key, scrub(v.String()))
	case slog.KindAny:
		return slog.Any(a.Key, redactAny(v.Any()))
	}
	return slog.Attr{Key: a.Key, Value: v}
}

// redactAny shows an error or a Stringer as its text, and anything else as its JSON with the same rules.
func redactAny(v any) any {
	switch v := v.(type) {
	case nil:
		return nil
	case error:
		return scrub(v.Error())
	case []byte:
		return fmt.Sprintf("(%d bytes)", len(v))
	case fmt.Stringer:
		return scrub(v.String())
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("(%T)", v)
	}
	var tree any
	if err := json.Unmarshal(data, &tree); err != nil {
		return fmt.Sprintf("(%T)", v)
	}
	return redactTree(tree)
}

func redactTree(v any) any {
	switch v := v.(type) {
	case string:
		return scrub(v)
	case []any:
		for i := range v {
			v[i] = redactTree(v[i])
		}
	case map[string]any:
		for k := range v {
			if hiddenName(k) {
				v[k] = Hidden
			} else {
				v[k] = redactTree(v[k])
			}
		}
	}
	return v
}

// hiddenName looks at the last word of a name: api_key, accessToken and "Set-Cookie" are hidden, key_count and content-type are not.
func hiddenName(name string) bool {
	switch strings.ToLower(lastWord(name)) {
	case "token", "key", "apikey", "secret", "secrets", "authorization", "password", "passwords", "passphrase", "passwd",
		"text", "content", "contents", "cookie", "prompt", "credential", "credentials", "bearer":
		return true
	}
	return false
}

func lastWord(name string) string {
	runes := []rune(strings.TrimRightFunc(name, func(r rune) bool { return !unicode.IsLetter(r) }))
	start := len(runes)
	for start > 0 && unicode.IsLetter(runes[start-1]) {
		start--
		if unicode.IsUpper(runes[start]) && start > 0 && unicode.IsLower(runes[start-1]) {
			break
		}
	}
	return string(runes[start:])
}

var secretShapes = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`(?i)\b(?:bearer|basic)\s+[A-Za-z0-9._~+/=:-]{6,}`),
		regexp.MustCompile(`\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{8,}`),
		regexp.MustCompile(`\b(?:gh[pousr]_|github_pat_|xox[abeprs]-|AIza|ya29\.|glpat-|hf_|gsk_|xai-)[A-Za-z0-9_.-]{10,}`),
		regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}\.?[A-Za-z0-9_-]*`),
		regexp.MustCompile(`\b\d{6,12}:[A-Za-z0-9_-]{30,}`),
		regexp.MustCompile(`\bAGE-SECRET-KEY-[A-Z0-9]+`),
	}
})

var secretPairs = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)((?:^|[^A-Za-z])(?:[a-z0-9]+[_-])*(?:token|key|apikey|secret|password|passwd|authorization|code_verifier)["']?\s*[=:]\s*["']?)([^\s"'&,;})]{4,})`)
})

var secretURLs = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(://)[^/\s:@]*:[^/\s@]+@`) })

// scrub hides what looks like a key in running text.
func scrub(s string) string {
	if len(s) < 8 {
		return s
	}
	for _, re := range secretShapes() {
		s = re.ReplaceAllString(s, Hidden)
	}
	s = secretURLs().ReplaceAllString(s, "${1}"+Hidden+"@")
	return secretPairs().ReplaceAllString(s, "${1}"+Hidden)
}
