package tool

import (
	"fmt"
	"hash/fnv"
	"strings"
	"unicode/utf8"
)

const (
	defaultResultMax   = 16000 // chat.tool_result_max_chars
	defaultResultShare = 0.25  // chat.tool_result_context_share
	minResult          = 1500  // characters, whatever the share
	charsPerToken      = 3
)

// ResultLimit is how many characters of a tool result a model reads whole: maxChars, and at most share of the
// model's context of contextTokens at 3 characters a token, never below 1500. Zero maxChars and share mean their
// defaults; zero contextTokens means that the context is not known and sets no limit.
func ResultLimit(maxChars int, share float64, contextTokens int) int {
	if maxChars <= 0 {
		maxChars = defaultResultMax
	}
	if share <= 0 {
		share = defaultResultShare
	}
	if contextTokens > 0 {
		maxChars = min(maxChars, int(float64(contextTokens)*charsPerToken*share))
	}
	return max(maxChars, minResult)
}

// Fitted is a tool result as the model reads it.
type Fitted struct {
	Body  string // the result, or the part of it that is shown
	Note  string // the engine's word about what is missing; "" when nothing is
	Full  string // the whole text, to be saved under the name given to Fit when Note is not empty
	Cut   bool   // Body is the beginning of something longer
	Shown int    // characters of Full that Body shows from its start: where reading on begins. 0 after a shortening
}

// Content is what the model reads when the result is not outside content. Marking goes around Body only; WithNote adds the
// note after it.
func (f Fitted) Content() string { return f.WithNote(f.Body) }

// WithNote puts the note after the (marked) body.
func (f Fitted) WithNote(body string) string {
	if f.Note == "" {
		return body
	}
	return body + "\n" + f.Note
}

// Fit makes a result as long as the run's limit allows. A longer one is first shortened by the tool's own function,
// if it has one, and cut at limit characters if it still is too long. saveAs is the name the full text gets in the files
// folder (OutputName).
func Fit(result any, limit int, saveAs string, shorten func(any) (any, bool)) Fitted {
	if limit <= 0 {
		limit = defaultResultMax
	}
	f := Fitted{Full: ResultText(result)}
	f.Body = f.Full
	total := utf8.RuneCountInString(f.Full)
	if total <= limit {
		f.Shown = total
		return f
	}
	if short, ok := shorter(result, total, shorten); ok {
		return fitShort(f, short, total, limit, saveAs)
	}
	f.Body, f.Cut, f.Shown = firstRunes(f.Full, limit), true, limit
	f.Note = fmt.Sprintf("[Result cut: this is only the first %d of %d characters. %s]", limit, total, readOn(saveAs, total, limit))
	return f
}

func shorter(result any, total int, shorten func(any) (any, bool)) (string, bool) {
	if shorten == nil {
		return "", false
	}
	var short any
	ok := false
	if guarded(func() error { short, ok = shorten(result); return nil }) != nil || !ok {
		return "", false
	}
	text := ResultText(short)
	return text, utf8.RuneCountInString(text) < total
}

func fitShort(f Fitted, short string, total, limit int, saveAs string) Fitted {
	f.Body = firstRunes(short, limit)
	f.Cut = len(f.Body) < len(short)
	also := ""
	if f.Cut {
		also = fmt.Sprintf(" and cut after the first %d of those", limit)
	}
	f.Note = fmt.Sprintf("[Result shortened from %d characters to its main parts%s. %s]", total, also, readOn(saveAs, total, 0))
	return f
}

func readOn(saveAs string, total, offset int) string {
	return fmt.Sprintf("The full result is saved as files/%s (%d characters). Read on with file_read(name=%q, offset=%d); "+
		"each part gives the next_offset to continue from.", saveAs, total, saveAs, offset)
}

// ResultText is a result as a model reads it and as it is saved: a text as it is, anything else as compact JSON.
func ResultText(result any) string {
	if s, ok := result.(string); ok {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	return CompactJSON(result)
}

// OutputName is the name of a saved long result in the files folder: outputs/tool-<call_id>.txt, for an incognito chat in
// the folder that goes with it. Ids are the providers' words: what a file name cannot have is replaced, and a hash
// keeps two such ids apart.
func OutputName(callID, incognitoSession string) string {
	name := "outputs/"
	if incognitoSession != "" {
		name += "incognito-" + plainID(incognitoSession) + "/"
	}
	return name + "tool-" + plainID(callID) + ".txt"
}

func plainID(id string) string {
	plain := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, id)
	if plain == id && id != "" && len(id) <= 100 {
		return id
	}
	h := fnv.New64a()
	h.Write([]byte(id))
	return fmt.Sprintf("%s-%016x", plain[:min(len(plain), 80)], h.Sum64())
}

func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
