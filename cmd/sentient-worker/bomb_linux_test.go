package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"sentient/transport/worker"
)

// bomb is a text that is mostly one piece again and again, about n bytes of it.
type bomb struct {
	before, piece string
	n             int64
	after         string
}

// deflated packs a bomb in no time: the packed form of one megabyte, as often as needed. Its checksum is never reached.
func deflated(t *testing.T, o bomb) []byte {
	t.Helper()
	pack := func(text string, last bool) []byte {
		var b bytes.Buffer
		w, err := flate.NewWriter(&b, flate.BestCompression)
		if err == nil {
			_, err = io.WriteString(w, text)
		}
		if last {
			err = errors.Join(err, w.Close())
		} else {
			err = errors.Join(err, w.Flush()) // ends at a byte's end
		}
		if err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	block := strings.Repeat(o.piece, max(1, 1<<20/max(1, len(o.piece))))
	times := int(o.n / int64(max(1, len(block))))
	return slices.Concat(pack(o.before, false), bytes.Repeat(pack(block, false), times), pack(o.after, true))
}

// zlibbed is the form that PDF has.
func zlibbed(packed []byte) []byte { return slices.Concat([]byte{0x78, 0xDA}, packed, make([]byte, 4)) }

// docxBomb is a Word file with a bomb as its main text.
func docxBomb(t *testing.T, o bomb) []byte {
	t.Helper()
	packed := deflated(t, o)
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.CreateRaw(&zip.FileHeader{Name: "word/document.xml", Method: zip.Deflate, CompressedSize64: uint64(len(packed)), UncompressedSize64: uint64(o.n)})
	if err == nil {
		_, err = w.Write(packed)
	}
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// pdfBomb writes a PDF of one page; more are objects 6 and on, each without its "obj" and "endobj".
func pdfBomb(page, stream string, content []byte, more ...string) []byte {
	var b bytes.Buffer
	var at []int
	object := func(body string) {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", len(at), body)
	}
	b.WriteString("%PDF-1.4\n")
	object("<< /Type /Catalog /Pages 2 0 R >>")
	object("<< /Type /Pages /Kids [4 0 R] /Count 1 >>")
	object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
	if page == "" {
		page = "/Contents 5 0 R"
	}
	object("<< /Type /Page /Parent 2 0 R /Resources << /Font << /F1 3 0 R /F2 6 0 R >> >> " + page + " >>")
	object(fmt.Sprintf("<< /Length %d %s >>\nstream\n%s\nendstream", len(content), stream, content))
	for _, m := range more {
		object(m)
	}
	xref := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, pos := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", pos)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, xref)
	return b.Bytes()
}

const (
	flated      = "/Filter /FlateDecode"
	flatedTwice = "/Filter [/FlateDecode /FlateDecode]"
	gigabyte    = 1 << 30
)

// TestBombs: small files that unpack to gigabytes, nest without end or claim any size are answered in bounded memory and time:
// with text, with a plain sentence, or by the child's end. The bound on memory is the child's, with all that Go holds.
func TestBombs(t *testing.T) {
	binary := filepath.Join(t.TempDir(), worker.Binary)
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const begin = `<w:document xmlns:w="w"><w:body><w:p><w:r><w:t>`
	docx := func(before, piece string) []byte { return docxBomb(t, bomb{before: before, piece: piece, n: gigabyte}) }
	stream := func(before, piece string) []byte {
		return zlibbed(deflated(t, bomb{before: before, piece: piece, n: 4 * gigabyte}))
	}
	page := func(before, piece string) []byte { return pdfBomb("", flated, stream(before, piece)) }
	plain := pdfBomb("", "", []byte("BT /F9 1 Tf ET"))
	claims := func(old, claim string) []byte {
		if !bytes.Contains(plain, []byte(old)) {
			t.Fatal(old)
		}
		return bytes.Replace(plain, []byte(old), []byte(claim), 1)
	}
	for _, bomb := range []struct {
		name, kind string
		doc        []byte
		text       bool // it has an answer: only so much is wanted
	}{
		{"docx, endless text", "docx", docx(begin, "word "), false},
		{"docx, endless paragraphs", "docx", docx(begin, "</w:t></w:r></w:p><w:p><w:r><w:t>word"), true},
		{"docx, an endless comment", "docx", docx(begin+"<!--", "a"), false},
		{"docx, an endless attribute", "docx", docx(begin+`<w:a b="`, "a"), false},
		{"docx, endless attributes", "docx", docx(begin+`<w:a `, `a="" `), false},
		{"docx, nested without end", "docx", docx(begin, "<a>"), false},
		{"docx, endless tables", "docx", docx(begin, "<w:tbl><w:tr><w:tc>"), false},
		{"docx, endless breaks", "docx", docx(begin, "<w:br/>"), false},
		{"docx, entities", "docx", docxBomb(t, bomb{before: `<!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c "&b;&b;&b;&b;">]>` + begin, piece: "&c;", n: 1 << 20}), false},
		{"pdf, endless spaces", "pdf", page("", " "), false},
		{"pdf, packed twice", "pdf", pdfBomb("", flatedTwice, zlibbed(deflated(t, bomb{before: string(stream("", " "))}))), false},
		{"pdf, endless text", "pdf", page("BT /F1 12 Tf ", "(word ) Tj "), true},
		{"pdf, endless lines", "pdf", page("BT /F1 12 Tf ", "0 -14 Td (word) Tj "), true},
		{"pdf, an endless string", "pdf", page("BT /F1 12 Tf (", "a"), false},
		{"pdf, an endless name", "pdf", page("BT /", "a"), false},
		{"pdf, endless operands", "pdf", page("BT /F1 12 Tf ", "1 "), false},
		{"pdf, nested arrays", "pdf", page("BT /F1 12 Tf ", "["), false},
		{"pdf, nested dictionaries", "pdf", page("", "<</A "), false},
		{"pdf, the same stream again and again", "pdf", pdfBomb("/Contents ["+strings.Repeat("5 0 R ", 100_000)+"]", flated, stream("", "q Q ")), false},
		{"pdf, a row of any length", "pdf", pdfBomb("", "/Filter /FlateDecode /DecodeParms << /Predictor 12 /Columns 2000000000 >>", stream("", "BT ")), false},
		{"pdf, endless letters of a font", "pdf", pdfBomb("", "", []byte("BT /F2 12 Tf (ab) Tj ET"),
			"<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /Identity-H /ToUnicode 7 0 R >>",
			letters(stream("/CIDInit /ProcSet findresource begin 1 begincodespacerange <0000> <ffff> endcodespacerange ", "1 beginbfrange <0000> <ffff> <0041> endbfrange "))), false},
		{"pdf, a trailer that claims any size", "pdf", claims("/Size 6", "/Size 2000000000"), false},
		{"pdf, a list of objects that begins anywhere", "pdf", claims("xref\n0 6", "xref\n2000000000 6"), false},
		{"pdf, pages in a circle", "pdf", claims("/Kids [4 0 R]", "/Kids [2 0 R]"), false},
		{"pdf, endless pages", "pdf", claims("/Kids [4 0 R] /Count 1", "/Kids [4 0 R] /Count 2000000000"), false},
		{"pdf, parents in a circle", "pdf", claims("/Parent 2 0 R /Resources", "/Parent 4 0 R /NoResources"), false},
		{"pdf, a length that is itself", "pdf", claims("/Length 14", "/Length 5 0 R"), false},
	} {
		t.Run(bomb.name, func(t *testing.T) {
			if len(bomb.doc) > 32<<20 {
				t.Fatalf("%d bytes are no small bomb", len(bomb.doc))
			}
			t.Parallel()
			res, exit, most := explode(t, binary, bomb.kind, bomb.doc)
			t.Logf("%d KB: %d MB, exit %d, %d characters, error %q", len(bomb.doc)>>10, most>>20, exit, len(res.Text), res.Error)
			if most > mostMemory {
				t.Errorf("it took %d MB", most>>20)
			}
			if bomb.text && (len(res.Text) != bombChars || !res.More) {
				t.Errorf("%d characters, error %q", len(res.Text), res.Error)
			}
			if len(res.Text) > 4*bombChars || strings.Contains(res.Error, "panic") {
				t.Errorf("%d bytes of text, error %q", len(res.Text), res.Error)
			}
		})
	}
}

const (
	bombChars  = 50_000
	bombMillis = 2000
	mostMemory = 512 << 20
)

func letters(packed []byte) string {
	return fmt.Sprintf("<< /Length %d %s >>\nstream\n%s\nendstream", len(packed), flated, packed)
}

// explode gives a document to the child as the engine does and says how much memory it took, in bytes.
func explode(t *testing.T, binary, kind string, doc []byte) (res worker.Response, exit int, most int64) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "doc")
	if err := os.WriteFile(path, doc, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	line, _ := json.Marshal(worker.Request{Kind: kind, Limit: bombChars, Millis: bombMillis})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out, told bytes.Buffer
	cmd := exec.Command(self)
	cmd.Env = []string{weigh + "=" + binary, "GOMEMLIMIT=268435456", "GOTRACEBACK=none"}
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = bytes.NewReader(append(line, '\n')), &out, &told, []*os.File{f}
	_ = cmd.Run()
	if _, err := fmt.Sscanf(told.String(), weighed, &exit, &most); err != nil {
		t.Fatalf("%v: %q", err, told.String())
	}
	_ = json.Unmarshal(out.Bytes(), &res)
	return res, exit, most
}

const (
	weigh   = "SENTIENT_TEST_WEIGH"
	weighed = "exit %d, %d bytes"
)

// TestMain is also the child's scales: Linux counts the memory of the process that starts a child as the child's own (getrusage(2),
// ru_maxrss outlives execve), so a small process, this binary again, starts it.
func TestMain(m *testing.M) {
	binary := os.Getenv(weigh)
	if binary == "" {
		os.Exit(m.Run())
	}
	_ = os.Unsetenv(weigh)
	cmd := exec.Command(binary, worker.Command)
	cmd.Stdin, cmd.Stdout, cmd.ExtraFiles = os.Stdin, os.Stdout, []*os.File{os.NewFile(3, "doc")}
	_ = cmd.Run()
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		fmt.Fprintf(os.Stderr, weighed, cmd.ProcessState.ExitCode(), usage.Maxrss<<10)
	}
}
