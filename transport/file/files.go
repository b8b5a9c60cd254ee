package file

import (
	"context"
	"errors"
	"os"

	"sentient/actors/msg"
	"sentient/storage/blob"
)

// Documents reads formats whose parsers are kept out of the engine. kind is "pdf" or "docx"; total is -1 when the document
// was only read as far as the part; f stays open. An error is a plain sentence about the document.
type Documents interface {
	Document(ctx context.Context, kind string, f *os.File, offset, limit int) (text string, total int, more bool, err error)
}

const (
	wholeBytes     = 4 << 20  // a larger text file is only read as far as the part
	maxImage       = 10 << 20 // bytes of an attached image
	maxAttached    = 60_000   // characters of an attached text
	maxWrite       = 16 << 20 // bytes of one file_write
	defaultResult  = 16_000   // characters, chat.tool_result_max_chars
	maxListed      = 5_000    // files of one file_list
	snippetChars   = 280
	sampleBytes    = 64 << 10 // by which a large file's encoding is judged
	savedSource    = "a saved tool result"
	downloadSource = "a downloaded file"
)

// Options are what the file tools need. Folder is required.
type Options struct {
	Folder    *blob.Folder
	Documents Documents  // nil: PDF and Word files are refused
	Limit     func() int // characters of a result when a call does not say; nil: 16000
}

// Validate fills the defaults.
func (o *Options) Validate() error {
	if o.Folder == nil {
		return errors.New("the file tools need the files folder")
	}
	if o.Limit == nil {
		o.Limit = func() int { return defaultResult }
	}
	return nil
}

// Files are the file tools over one folder. They hold no state of their own.
type Files struct{ o Options }

// New makes the file tools.
func New(o Options) (*Files, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return &Files{o: o}, nil
}

// open opens a file for a call. An incognito chat's saved results are nobody else's to read.
func (f *Files) open(name, session string) (*blob.File, string, error) {
	real, err := f.o.Folder.Resolve(name)
	if err != nil {
		return nil, "", readable(err, name)
	}
	if owner, ok := blob.IncognitoSession(real); ok && owner != session {
		return nil, "", readable(blob.ErrNotFound, name)
	}
	file, err := f.o.Folder.Open(real)
	if err != nil {
		return nil, "", readable(err, name)
	}
	return file, real, nil
}

func readable(err error, name string) error {
	if errors.Is(err, blob.ErrNotFound) {
		return errors.New("not found: there is no file called " + clip(name, 200) + ". file_list shows the files there are")
	}
	return err
}

func clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}

// Plugin is the plugin "files".
func (f *Files) Plugin() msg.Plugin {
	return msg.Plugin{
		ID: "files", DisplayName: "Files", Category: "core", Icon: "folder", Auth: "none",
		Description:   "List, read and write files in the assistant's files folder, such as attachments and saved results.",
		SelectionHint: "files, documents, attachments, PDF, Word, CSV, notes, save to a file, read a file",
		Tools:         []msg.Tool{f.listTool(), f.readTool(), f.writeTool()},
	}
}
