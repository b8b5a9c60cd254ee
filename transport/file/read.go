package file

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path"
	"strings"
	"unicode/utf8"

	"sentient/actors/msg"
	"sentient/storage/blob"
)

// ReadResult is one part of a file. Offsets and Total count characters; Total is left out when a document or a large
// file was only read as far as this part.
type ReadResult struct {
	Name       string `json:"name"`
	Offset     int    `json:"offset"`
	Content    string `json:"content"`
	Total      *int   `json:"total,omitempty"`
	More       bool   `json:"more"`
	NextOffset *int   `json:"next_offset,omitempty"`
	Note       string `json:"note,omitempty"`

	outside string // where the text comes from when someone else wrote it
}

func (f *Files) readTool() msg.Tool {
	return msg.Tool{
		Name: "file_read",
		Description: "Read a file of the files folder: text, Markdown, CSV, JSON, PDF or Word. A long file comes in parts: " +
			"when more is true, read on with the next_offset that the part gives.",
		Parameters: json.RawMessage(`{"type":"object","properties":{
			"name":{"type":"string","minLength":1,"description":"The file's name as file_list gives it, e.g. uploads/report.pdf"},
			"offset":{"type":"integer","minimum":0,"default":0,"description":"Character to start at"},
			"limit":{"type":"integer","minimum":0,"default":0,"description":"Characters to read; 0 reads as much as fits"}},
			"required":["name"],"additionalProperties":false}`),
		Risk:      msg.RiskRead,
		Run:       f.read,
		OutsideFn: outside,
		SourcesFn: sources,
	}
}

func (f *Files) read(ctx context.Context, c *msg.Call) (any, error) {
	name := text(c.Args, "name")
	file, real, err := f.open(name, c.Session)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	room := c.ResultLimit
	if room <= 0 {
		room = f.o.Limit()
	}
	offset, limit := whole(c.Args, "offset"), whole(c.Args, "limit")
	if limit == 0 || limit > room {
		limit = room
	}
	s, err := f.text(ctx, file, offset, limit)
	if err != nil {
		return nil, err
	}
	r := makePart(name, offset, s, room)
	if r.Content != "" {
		r.outside = outsideSource(real)
	}
	return r, nil
}

// text reads a piece of any file that has text.
func (f *Files) text(ctx context.Context, file *blob.File, offset, limit int) (slice, error) {
	kind, err := documentKind(file)
	if err != nil {
		return slice{}, err
	}
	if kind == "" {
		return readText(ctx, file, offset, limit)
	}
	if f.o.Documents == nil {
		return slice{}, errors.New("PDF and Word files cannot be read here")
	}
	t, total, more, err := f.o.Documents.Document(ctx, kind, file.File, offset, limit)
	return slice{text: strings.ToValidUTF8(t, "\uFFFD"), total: total, more: more}, err
}

// documentKind is "pdf", "docx", or "" for what may be plain text. Known formats without text have an error of their own.
func documentKind(file *blob.File) (string, error) {
	head := make([]byte, 8)
	n, _ := file.ReadAt(head, 0)
	head = head[:n]
	ext := strings.ToLower(path.Ext(file.Info.Name))
	switch {
	case bytes.HasPrefix(head, []byte("%PDF-")):
		return "pdf", nil
	case bytes.HasPrefix(head, []byte("PK\x03\x04")) && ext == ".docx":
		return "docx", nil
	case bytes.HasPrefix(head, []byte{0xD0, 0xCF, 0x11, 0xE0}):
		return "", errors.New("this is an old Office file: save it as .docx or PDF and try again")
	case strings.HasPrefix(file.Info.MIME, "image/") && ext != ".svg":
		return "", errors.New("this is a picture, not text: it can be attached to a message to be looked at")
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return "", fmt.Errorf("%w: it is a packed file (%s)", errBinary, strings.TrimPrefix(ext, "."))
	}
	return "", nil
}

// makePart fits a piece into room characters of JSON, so that the part is never cut and saved again.
func makePart(name string, offset int, s slice, room int) ReadResult {
	r := ReadResult{Name: name, Offset: offset, More: s.more}
	if s.total >= 0 {
		r.Total = &s.total
	}
	if s.text == "" {
		r.More = false
		r.Note = "There is nothing here: the file is empty."
		if offset > 0 {
			r.Note = fmt.Sprintf("There is nothing here: the file ends at character %d.", max(s.total, 0))
		}
		return r
	}
	largest := math.MaxInt32
	frame := r
	frame.More, frame.NextOffset = false, &largest // the longest that the rest can get
	end := fitting(s.text, room-jsonLength(frame))
	r.Content = s.text[:end]
	if r.More = s.more || end < len(s.text); r.More {
		next := offset + utf8.RuneCountInString(r.Content)
		r.NextOffset = &next
	}
	return r
}

// fitting gives how many bytes of text take at most room characters in JSON; at least one character, so that reading goes on.
func fitting(text string, room int) int {
	for i, c := range text {
		if room -= jsonCost(c); room < 0 {
			if i == 0 {
				return utf8.RuneLen(c)
			}
			return i
		}
	}
	return len(text)
}

// jsonCost is how many characters c takes inside a JSON string as encoding/json writes it.
func jsonCost(c rune) int {
	switch {
	case c == '"' || c == '\\' || c == '\n' || c == '\r' || c == '\t' || c == '\b' || c == '\f':
		return 2
	case c < 0x20 || c == '\u2028' || c == '\u2029':
		return 6
	}
	return 1
}

func jsonLength(v any) int {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return 0
	}
	return utf8.RuneCount(b.Bytes()) - 1 // without the line break
}

// outsideSource says where a file's text comes from when someone else wrote it.
func outsideSource(real string) string {
	switch folder, _, _ := strings.Cut(real, "/"); folder {
	case blob.Outputs:
		return savedSource
	case blob.Downloads:
		return downloadSource
	}
	return ""
}

// outside takes a fresh result, or one that was stored as JSON.
func outside(args map[string]any, result any) string {
	switch r := result.(type) {
	case ReadResult:
		return r.outside
	case map[string]any:
		if content, _ := r["content"].(string); content != "" {
			return outsideSource(path.Clean(text(args, "name")))
		}
	}
	return ""
}

func sources(_ map[string]any, result any) []msg.AnswerSource {
	r, ok := result.(ReadResult)
	if !ok || r.Content == "" {
		return nil
	}
	return []msg.AnswerSource{{Kind: "file", Title: path.Base(r.Name), File: r.Name, Snippet: clip(r.Content, snippetChars), App: "files", Tool: "file_read"}}
}

func text(args map[string]any, name string) string {
	s, _ := args[name].(string)
	return s
}

func whole(args map[string]any, name string) int {
	n, _ := args[name].(float64)
	return int(min(max(n, 0), math.MaxInt32))
}
