package file

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"sentient/storage/blob"
)

// Attachment is what a chat reads of an attached file: an image's bytes, or text. Note is a sentence in brackets about what
// is missing, "" when nothing is.
type Attachment struct {
	Name    string
	Text    string // at most 60,000 characters
	IsImage bool
	Bytes   []byte // of an image
	MIME    string
	Note    string
}

// Attach reads an attachment for the chat it is attached to. It never fails: a file that is gone or cannot be read leaves a note.
func (f *Files) Attach(ctx context.Context, name, session string) Attachment {
	a := Attachment{Name: name}
	file, _, err := f.open(name, session)
	if err != nil {
		a.Note = fmt.Sprintf("[The attached file %s is no longer available.]", name)
		return a
	}
	defer file.Close()
	a.MIME = file.Info.MIME
	if mime := imageType(file); mime != "" {
		return image(a, file, mime)
	}
	s, err := f.text(ctx, file, 0, maxAttached)
	if err != nil {
		a.Note = fmt.Sprintf("[The attached file %s could not be read: %s.]", name, err)
		return a
	}
	a.Text = s.text
	if s.more {
		a.Note = fmt.Sprintf("[These are the first %d characters of %s. Read on with file_read(name=%q, offset=%d).]", maxAttached, name, name, maxAttached)
	}
	return a
}

func image(a Attachment, file *blob.File, mime string) Attachment {
	a.IsImage, a.MIME = true, mime
	if file.Info.Size > maxImage {
		a.Note = fmt.Sprintf("[The attached picture %s is too large to look at: %d MB of at most %d.]", a.Name, file.Info.Size>>20, maxImage>>20)
		return a
	}
	var err error
	if a.Bytes, err = io.ReadAll(io.LimitReader(file, maxImage)); err != nil {
		a.Bytes, a.Note = nil, fmt.Sprintf("[The attached picture %s could not be read.]", a.Name)
	}
	return a
}

// imageType is the type of a picture that models can look at, by its bytes.
func imageType(file *blob.File) string {
	head := make([]byte, 512)
	n, _ := file.ReadAt(head, 0)
	switch mime := http.DetectContentType(head[:n]); mime {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return mime
	}
	return ""
}
