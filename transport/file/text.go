package file

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"sentient/storage/blob"
)

// slice is a piece of a text: what a part is made of.
type slice struct {
	text  string
	total int // characters; -1 when the text was only read as far as this piece
	more  bool
}

// errBinary says that a file has no text.
var errBinary = errors.New("this file is not text, so it cannot be read")

// readText gives up to limit characters of a text file from offset on. A file over 4 MB is not read further than that.
func readText(ctx context.Context, f *blob.File, offset, limit int) (slice, error) {
	decode, err := encodingOf(f)
	if err != nil {
		return slice{}, err
	}
	r := bufio.NewReaderSize(decode(&stoppable{ctx: ctx, r: io.NewSectionReader(f, 0, f.Info.Size)}), 64<<10)
	whole := f.Info.Size <= wholeBytes
	var b strings.Builder
	s := slice{total: -1}
	for n := 0; ; n++ {
		c, _, err := r.ReadRune()
		if errors.Is(err, io.EOF) {
			s.text, s.total = b.String(), n
			return s, nil
		}
		if err != nil {
			return slice{}, fmt.Errorf("the file cannot be read: %w", err)
		}
		switch {
		case n < offset:
		case n-offset < limit:
			b.WriteRune(c)
		default:
			s.more = true
			if !whole {
				s.text = b.String()
				return s, nil
			}
		}
	}
}

// stoppable ends a long read soon after its call was stopped.
type stoppable struct {
	ctx context.Context
	r   io.Reader
}

func (s *stoppable) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.r.Read(p)
}

type decoder func(io.Reader) io.Reader

// encodingOf finds how a text is written: a byte order mark says it, else UTF-8 if it is, else Windows' Latin-1. The answer
// does not depend on the part that is asked for.
func encodingOf(f *blob.File) (decoder, error) {
	sample := make([]byte, min(f.Info.Size, sampleBytes))
	if f.Info.Size <= wholeBytes {
		sample = make([]byte, f.Info.Size)
	}
	n, err := f.ReadAt(sample, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("the file cannot be read: %w", err)
	}
	sample = sample[:n]
	switch {
	case bytes.HasPrefix(sample, []byte{0xEF, 0xBB, 0xBF}):
		return func(r io.Reader) io.Reader { io.CopyN(io.Discard, r, 3); return r }, nil
	case bytes.HasPrefix(sample, []byte{0xFF, 0xFE}), bytes.HasPrefix(sample, []byte{0xFE, 0xFF}):
		utf16 := unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM)
		return func(r io.Reader) io.Reader { return transform.NewReader(r, utf16.NewDecoder()) }, nil
	case binary(sample):
		return nil, errBinary
	case mostlyUTF8(sample):
		return func(r io.Reader) io.Reader { return r }, nil
	}
	return func(r io.Reader) io.Reader { return transform.NewReader(r, charmap.Windows1252.NewDecoder()) }, nil
}

// binary finds what no text has: a zero byte, or many control characters.
func binary(sample []byte) bool {
	head := sample[:min(len(sample), 8<<10)]
	controls := 0
	for _, c := range head {
		if c == 0 {
			return true
		}
		if c < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\f' && c != 0x1b {
			controls++
		}
	}
	return controls*10 > len(head)
}

// mostlyUTF8 says whether the bytes above ASCII are UTF-8, a few broken ones among many good ones allowed.
func mostlyUTF8(sample []byte) bool {
	good, bad := 0, 0
	for len(sample) > 0 {
		r, n := utf8.DecodeRune(sample)
		switch {
		case r == utf8.RuneError && n == 1 && !utf8.FullRune(sample):
			sample = nil // a character cut by the sample's end
			continue
		case r == utf8.RuneError && n == 1:
			bad++
		case n > 1:
			good++
		}
		sample = sample[n:]
	}
	return bad == 0 || good > bad
}
