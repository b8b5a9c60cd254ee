package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sentient/transport/worker"
)

// makePDF writes a PDF whose pages have these content streams.
func makePDF(pages ...string) []byte {
	var b bytes.Buffer
	var at []int
	object := func(format string, args ...any) {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n"+format+"\nendobj\n", append([]any{len(at)}, args...)...)
	}
	b.WriteString("%PDF-1.4\n")
	kids := ""
	for i := range pages {
		kids += fmt.Sprintf("%d 0 R ", 4+2*i)
	}
	object("<< /Type /Catalog /Pages 2 0 R >>")
	object("<< /Type /Pages /Kids [%s] /Count %d >>", kids, len(pages))
	object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
	for i, content := range pages {
		object("<< /Type /Page /Parent 2 0 R /Resources << /Font << /F1 3 0 R >> >> /Contents %d 0 R >>", 5+2*i)
		object("<< /Length %d >>\nstream\n%s\nendstream", len(content), content)
	}
	xref := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, pos := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", pos)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, xref)
	return b.Bytes()
}

// makeDocx writes a Word file with this body.
func makeDocx(t testing.TB, body string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create("word/document.xml")
	if err == nil {
		_, err = w.Write([]byte(`<?xml version="1.0"?><w:document xmlns:w="w" xmlns:mc="mc"><w:body>` + body + `</w:body></w:document>`))
	}
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func ask(t testing.TB, req worker.Request, body []byte) worker.Response {
	t.Helper()
	line, _ := json.Marshal(req)
	doc := filepath.Join(t.TempDir(), "doc")
	if err := os.WriteFile(doc, body, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(doc)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out bytes.Buffer
	in := append(append(line, '\n'), body...)
	if err := serve(bytes.NewReader(in), &out, func() *os.File { return f }); err != nil {
		t.Fatal(err)
	}
	var res worker.Response
	if err := json.Unmarshal(out.Bytes(), &res); err != nil {
		t.Fatal(err)
	}
	return res
}

const page1 = "BT /F1 12 Tf 72 720 Td (Hello W) Tj (orld) Tj 0 -14 Td [(Sec) -20 (ond) -300 (line)] TJ 0 -40 Td (New paragraph) Tj ET"

func TestPDF(t *testing.T) {
	doc := makePDF(page1, "BT /F1 12 Tf 1 0 0 1 72 700 Tm (Page) Tj 1 0 0 1 120 700 Tm (two) Tj ET", "q Q")
	want := "Hello World\nSecond line\n\nNew paragraph\n\nPage two"
	all := ask(t, worker.Request{Kind: "pdf", Limit: 1000}, doc)
	if all.Text != want || all.Total != len(want) || all.More || all.Error != "" {
		t.Fatalf("%+v", all)
	}
	got := ""
	for offset := 0; ; offset = len(got) {
		res := ask(t, worker.Request{Kind: "pdf", Offset: offset, Limit: 7}, doc)
		if got += res.Text; !res.More {
			if res.Total != len(want) {
				t.Errorf("the last part: %+v", res)
			}
			break
		}
		if res.Total != -1 || len(res.Text) != 7 {
			t.Fatalf("%+v", res)
		}
	}
	if got != want {
		t.Errorf("%q", got)
	}
	if res := ask(t, worker.Request{Kind: "pdf", Offset: 5000, Limit: 7}, doc); res.Text != "" || res.More || res.Total != len(want) {
		t.Errorf("%+v", res)
	}
}

func TestPDFTroubles(t *testing.T) {
	good := makePDF(page1)
	locked := bytes.Replace(good, []byte("/Root 1 0 R"), []byte("/Root 1 0 R /ID [(a)(b)] /Encrypt << /Filter /Standard /V 1 /R 2 /P 1 /O (01234567890123456789012345678901) /U (01234567890123456789012345678901) >>"), 1)
	for name, c := range map[string]struct {
		doc  []byte
		want string
	}{
		"empty":    {nil, errBadPDF.Error()},
		"other":    {[]byte("hello"), errBadPDF.Error()},
		"cut":      {good[:len(good)/2], errBadPDF.Error()},
		"pictures": {makePDF("q Q"), errNoText.Error()},
		"password": {locked, errPassword.Error()},
		"broken":   {makePDF("BT /F1 12 Tf (x"), ""},
	} {
		if res := ask(t, worker.Request{Kind: "pdf", Limit: 100}, c.doc); res.Error != c.want && c.want != "" {
			t.Errorf("%s: %+v", name, res)
		}
	}
}

func TestDocx(t *testing.T) {
	doc := makeDocx(t, `<w:p><w:pPr><w:pStyle w:val="Heading2"/><w:tabs><w:tab w:val="left"/></w:tabs></w:pPr><w:r><w:t>Title</w:t></w:r></w:p>`+
		`<w:p><w:r><w:t xml:space="preserve">One </w:t></w:r><w:r><w:t>&lt;two&gt;</w:t><w:tab/><w:t>three</w:t><w:br/><w:t>four</w:t></w:r></w:p>`+
		`<w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>item</w:t></w:r></w:p><w:p/>`+
		`<w:p><mc:AlternateContent><mc:Choice><w:r><w:t>once</w:t></w:r></mc:Choice><mc:Fallback><w:r><w:t>twice</w:t></w:r></mc:Fallback></mc:AlternateContent></w:p>`+
		`<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc></w:tr></w:tbl><w:p><w:r><w:t>end</w:t></w:r></w:p>`)
	want := "## Title\n\nOne <two>\tthree\nfour\n\n- item\n\nonce\n\na  | b\n\nend"
	res := ask(t, worker.Request{Kind: "docx", Limit: 1000}, doc)
	if res.Text != want || res.Total != len(want) {
		t.Fatalf("%q %+v", res.Text, res)
	}
	if res = ask(t, worker.Request{Kind: "docx", Offset: 3, Limit: 5}, doc); res.Text != "Title" || !res.More || res.Total != -1 {
		t.Fatalf("%+v", res)
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	z.Close()
	for _, bad := range [][]byte{nil, []byte("PK\x03\x04"), b.Bytes(), makeDocx(t, "<w:p>")} {
		if res := ask(t, worker.Request{Kind: "docx", Limit: 10}, bad); res.Error != errBadDocx.Error() {
			t.Errorf("%+v", res)
		}
	}
}

func TestDocxBomb(t *testing.T) {
	bomb := makeDocx(t, "<w:p><w:r><w:t>x</w:t></w:r></w:p><!--"+strings.Repeat("a", 1<<20)+"-->")
	if len(bomb) > 1<<13 {
		t.Fatal("not a bomb")
	}
	read := func(limit int, most int64) error {
		return readDocxUpTo(bytes.NewReader(bomb), int64(len(bomb)), newPart(0, limit), most)
	}
	if err := read(1000, 1<<20); !errors.Is(err, errDocxSize) {
		t.Error(err)
	}
	if err := errors.Join(read(1000, 1<<21), read(0, 1<<10)); err != nil {
		t.Error("a document within the bound, or read only as far as the bound:", err)
	}
}

func TestPage(t *testing.T) {
	body := strings.Repeat("This is a sentence of the article that people want to read, with some commas, and more. ", 10)
	html := `<html><head><title>The  Title</title><script>evil()</script></head><body><nav><a href="/x">menu entry</a></nav><article><h1>Big</h1><p>` + body +
		`</p><p>See <a href="/more">more</a>.</p></article><footer>imprint</footer></body></html>`
	res := ask(t, worker.Request{Kind: "page", URL: "https://example.com/a/b", Size: len(html), Limit: 10000}, []byte(html))
	if res.Title != "The Title" || !strings.Contains(res.Text, "This is a sentence") || !strings.Contains(res.Text, "[more](https://example.com/more)") || strings.Contains(res.Text, "evil") || strings.Contains(res.Text, "menu entry") {
		t.Fatalf("%+v", res)
	}
	list := `<title>List</title><ul><li>one</li><li>two</li></ul>`
	if res = ask(t, worker.Request{Kind: "page", URL: "https://example.com", Size: len(list), Limit: 100}, []byte(list)); res.Title != "List" || res.Text != "- one\n- two" {
		t.Fatalf("%+v", res)
	}
	if res = ask(t, worker.Request{Kind: "other"}, nil); res.Error == "" {
		t.Fatalf("%+v", res)
	}
}

func TestBadRequests(t *testing.T) {
	for _, in := range []string{"", "x", "x\n", strings.Repeat("x", 70<<10) + "\n"} {
		if err := serve(strings.NewReader(in), &bytes.Buffer{}, nil); err == nil {
			t.Errorf("%.10q was taken", in)
		}
	}
}

func FuzzPDF(f *testing.F) {
	f.Add(makePDF(page1))
	f.Add(makePDF("BT /F1 1 Tf [(a) 1 (b)] TJ ET", "1 2 3 Td"))
	f.Fuzz(func(t *testing.T, doc []byte) {
		p := newPart(0, 1000)
		_ = readPDF(bytes.NewReader(doc), int64(len(doc)), p)
		if res := p.response(); res.Total > 1000 {
			t.Fatalf("%+v", res)
		}
	})
}

func FuzzDocx(f *testing.F) {
	f.Add(`<w:p><w:pPr><w:pStyle w:val="Heading2"/></w:pPr><w:r><w:t>x</w:t></w:r></w:p>`)
	f.Add(`<w:tbl><w:tr><w:tc><w:p/></w:tc></w:tr></w:tbl>`)
	f.Fuzz(func(t *testing.T, body string) {
		doc := makeDocx(t, body)
		p := newPart(2, 1000)
		_ = readDocx(bytes.NewReader(doc), int64(len(doc)), p)
		p.response()
	})
}

func FuzzPage(f *testing.F) {
	f.Add("<p>x<table><tr><td>y", "https://example.com")
	f.Fuzz(func(t *testing.T, html, address string) { _, _ = readPage([]byte(html), address, 100) })
}
