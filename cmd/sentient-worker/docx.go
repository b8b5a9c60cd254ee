package main

import (
	"archive/zip"
	"encoding/xml"
	"errors"
	"io"
	"strings"
)

const maxDocXML = 64 << 20 // bytes of the unpacked main text

var (
	errBadDocx  = errors.New("this is not a Word document that can be read: it may be damaged, or an old .doc with a new name")
	errDocxSize = errors.New("this Word document is too large to read")
)

// readDocx reads the main text as far as it is wanted: paragraphs, headings and lists in Markdown's way, a table's cells
// with a bar between them.
func readDocx(r io.ReaderAt, size int64, p *part) error { return readDocxUpTo(r, size, p, maxDocXML) }

func readDocxUpTo(r io.ReaderAt, size int64, p *part, most int64) error {
	archive, err := zip.NewReader(r, size)
	if err != nil {
		return errBadDocx
	}
	for _, f := range archive.File {
		if f.Name != "word/document.xml" {
			continue
		}
		body, err := f.Open()
		if err != nil {
			return errBadDocx
		}
		defer body.Close()
		limited := &io.LimitedReader{R: body, N: most}
		err = docxText(xml.NewDecoder(limited), newLines(p))
		if err != nil && limited.N == 0 {
			return errDocxSize
		}
		return err
	}
	return errBadDocx
}

// docxState is where in the document the reader is.
type docxState struct {
	out    *lines
	text   bool // in w:t
	skip   int  // depth inside what is not text: mc:Fallback repeats what came before it
	prefix string
	row    bool // a cell of this row was written
	cell   int  // depth of table cells
}

func docxText(dec *xml.Decoder, out *lines) error {
	s := docxState{out: out}
	for out.wanted {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return errBadDocx
		}
		switch t := token.(type) {
		case xml.StartElement:
			s.start(t)
		case xml.EndElement:
			s.end(t.Name.Local)
		case xml.CharData:
			if s.text && s.skip == 0 {
				s.write(string(t))
			}
		}
	}
	out.close()
	return nil
}

func (s *docxState) write(text string) {
	s.out.write(s.prefix + text)
	s.prefix = ""
}

func (s *docxState) start(t xml.StartElement) {
	switch t.Name.Local {
	case "Fallback", "tabs": // tabs defines tab stops
		s.skip++
	case "t":
		s.text = true
	case "tab":
		if s.skip == 0 {
			s.write("\t")
		}
	case "br", "cr":
		s.out.write("\n")
	case "pStyle":
		if n, ok := strings.CutPrefix(attr(t, "val"), "Heading"); ok && len(n) == 1 && n >= "1" && n <= "6" {
			s.prefix = strings.Repeat("#", int(n[0]-'0')) + " "
		}
	case "numPr":
		if s.prefix == "" {
			s.prefix = "- "
		}
	case "tc":
		if s.cell++; s.row {
			s.out.write(" | ")
		}
		s.row = true
	case "tr":
		s.row = false
	}
}

func (s *docxState) end(name string) {
	switch name {
	case "Fallback", "tabs":
		s.skip--
	case "t":
		s.text = false
	case "p":
		s.prefix = ""
		if s.cell > 0 {
			s.out.write(" ")
		} else {
			s.out.write("\n\n")
		}
	case "tc":
		s.cell--
	case "tr":
		s.row = false
		s.out.write("\n")
	case "tbl":
		s.out.write("\n")
	}
}

func attr(t xml.StartElement, name string) string {
	for _, a := range t.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}
