package main

import (
	"errors"
	"io"
	"math"

	"github.com/ledongthuc/pdf"
)

const maxPages = 20_000 // a file may claim any number

var (
	errPassword = errors.New("this PDF is protected with a password: save a copy without one and try again")
	errNoText   = errors.New("this PDF has no text, only pictures of it: it was probably scanned")
	errBadPDF   = errors.New("this is not a PDF that can be read: it may be damaged")
)

// readPDF reads the text page by page, as far as it is wanted.
func readPDF(r io.ReaderAt, size int64, p *part) error {
	doc, pages, err := openPDF(r, size)
	if err != nil {
		return err
	}
	l := newLines(p)
	unreadable := 0
	for n := 1; n <= pages && l.wanted; n++ {
		if err := pdfPage(doc, n, l); err != nil {
			unreadable++
			l.write("[This page could not be read.]")
		}
		l.write("\n\n")
	}
	l.close()
	switch {
	case unreadable == pages:
		return errBadPDF
	case p.seen == 0:
		return errNoText
	}
	return nil
}

func openPDF(r io.ReaderAt, size int64) (doc *pdf.Reader, pages int, err error) {
	err = shielded(func() error {
		doc, err = pdf.NewReader(r, size)
		if err == nil {
			pages = doc.NumPage()
		}
		return err
	})
	switch {
	case errors.Is(err, pdf.ErrInvalidPassword):
		return nil, 0, errPassword
	case err != nil || pages <= 0:
		return nil, 0, errBadPDF
	}
	return doc, min(pages, maxPages), nil
}

// shielded turns the parser's panics, its way to report damage, into an error.
func shielded(f func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = errBadPDF
		}
	}()
	return f()
}

func pdfPage(doc *pdf.Reader, n int, l *lines) error {
	return shielded(func() error {
		page := doc.Page(n)
		contents := page.V.Key("Contents")
		if page.V.IsNull() || contents.Kind() == pdf.Null {
			return nil
		}
		w := &pdfWriter{page: page, fonts: map[string]pdfFont{}, out: l, scale: 1, spread: 1}
		return untilEnough(func() { pdf.Interpret(contents, w.operator) })
	})
}

// enough ends the reading of a page whose rest is not wanted: the parser knows no other way to stop.
type enough struct{}

func untilEnough(read func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil, enough:
		default:
			panic(r)
		}
	}()
	read()
	return nil
}

type pdfFont struct {
	pdf.Font
	enc pdf.TextEncoding
}

// pdfWriter turns text operators into lines. It follows the pen only as far as line and word breaks need it.
type pdfWriter struct {
	page  pdf.Page
	fonts map[string]pdfFont
	font  pdfFont
	size  float64 // of the font, in text units
	scale float64 // of the text matrix, vertical
	out   *lines

	x, y, lead   float64 // start of the line, in page units; leading
	spread       float64 // of the text matrix, horizontal
	pen          float64 // where the last glyph ended, when the font tells widths
	penKnown     bool
	wrote        bool
	lastY, lastX float64
}

func (w *pdfWriter) operator(stack *pdf.Stack, op string) {
	if !w.out.wanted {
		panic(enough{})
	}
	args := make([]pdf.Value, stack.Len())
	for i := len(args) - 1; i >= 0; i-- {
		args[i] = stack.Pop()
	}
	num := func(i int) float64 {
		if i < len(args) {
			return args[i].Float64()
		}
		return 0
	}
	switch op {
	case "BT":
		w.x, w.y, w.scale, w.spread = 0, 0, 1, 1
	case "Tf":
		if len(args) == 2 {
			w.setFont(args[0].Name(), num(1))
		}
	case "TL":
		w.lead = num(0)
	case "TD":
		w.lead = -num(1)
		w.move(num(0), num(1))
	case "Td":
		w.move(num(0), num(1))
	case "Tm":
		w.x, w.y = num(4), num(5)
		w.spread, w.scale = math.Hypot(num(0), num(1)), math.Hypot(num(2), num(3))
	case "T*":
		w.move(0, -w.lead)
	case "'", "\"":
		w.move(0, -w.lead)
		if len(args) > 0 {
			w.show(args[len(args)-1].RawString())
		}
	case "Tj":
		if len(args) > 0 {
			w.show(args[0].RawString())
		}
	case "TJ":
		if len(args) > 0 {
			w.showSpaced(args[0])
		}
	}
}

func (w *pdfWriter) setFont(name string, size float64) {
	f, ok := w.fonts[name]
	if !ok {
		f.Font = w.page.Font(name)
		f.enc = f.Encoder()
		w.fonts[name] = f
	}
	w.font, w.size = f, size
}

func (w *pdfWriter) move(dx, dy float64) { w.x, w.y = w.x+dx*w.spread, w.y+dy*w.scale }

// show writes a string at the pen, with a line break or space before it when the pen was moved.
func (w *pdfWriter) show(raw string) {
	height := math.Max(math.Abs(w.size*w.scale), 1)
	moved := w.x != w.lastX || w.y != w.lastY
	switch {
	case !w.wrote || !moved:
	case math.Abs(w.y-w.lastY) > 1.8*height:
		w.out.write("\n\n")
	case math.Abs(w.y-w.lastY) > 0.3*height:
		w.out.write("\n")
	case !w.penKnown || math.Abs(w.x-w.pen) > 0.15*height:
		w.space()
	}
	if moved || !w.wrote {
		w.pen = w.x
	}
	w.wrote, w.lastX, w.lastY = true, w.x, w.y
	w.out.write(w.decode(raw))
	w.advance(raw)
}

func (w *pdfWriter) showSpaced(array pdf.Value) {
	for i := range array.Len() {
		if v := array.Index(i); v.Kind() == pdf.String {
			w.show(v.RawString())
		} else if gap := v.Float64(); gap < -180 {
			w.space()
			w.pen -= gap / 1000 * w.size * w.spread
		}
	}
}

func (w *pdfWriter) space() {
	if last := w.out.last(); last != ' ' && last != '\n' {
		w.out.write(" ")
	}
}

func (w *pdfWriter) decode(raw string) string {
	if w.font.enc == nil {
		return raw
	}
	return w.font.enc.Decode(raw)
}

// advance moves the pen by the widths of simple fonts; others do not tell them here.
func (w *pdfWriter) advance(raw string) {
	sum := 0.0
	for i := range len(raw) {
		sum += w.font.Width(int(raw[i]))
	}
	w.penKnown = sum > 0
	w.pen += sum / 1000 * w.size * w.spread
}
