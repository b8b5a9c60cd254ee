package edge

import (
	"bytes"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
)

type part struct{ field, file, text string }

func form(parts ...part) (typ, body string) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range parts {
		var dst io.Writer
		if p.file != "" {
			dst, _ = w.CreateFormFile(p.field, p.file)
		} else {
			dst, _ = w.CreateFormField(p.field)
		}
		_, _ = io.WriteString(dst, p.text)
	}
	_ = w.Close()
	return "Content-Type: " + w.FormDataContentType(), b.String()
}

func (g *gateway) upload(parts ...part) (reply, string) {
	typ, b := form(parts...)
	got := g.call("POST", "/api/files", b, typ)
	var v struct{ Name string }
	_ = json.Unmarshal([]byte(got.body), &v)
	return got, v.Name
}

// uploads never share a name, screens always get a random part, HEAD is GET without the bytes.
func TestFiles(t *testing.T) {
	g := serve(t, func(o *Options) {
		o.Attached = func(name string) bool { return strings.HasSuffix(name, "gone.txt") }
	})
	for _, c := range []struct {
		parts []part
		want  string
	}{
		{[]part{{"file", "a.txt", "one"}}, "a.txt"},
		{[]part{{"file", "a.txt", "two"}}, "a (1).txt"},
		{[]part{{"file", "../../evil.txt", "x"}}, "evil.txt"},
		{[]part{{"file", "gone.txt", "x"}}, "gone (1).txt"},
		{[]part{{"source", "", "screen"}, {"file", "W.png", "x"}}, "screens/W "},
		{[]part{{"file", "N.txt", "x"}, {"source", "", "selection"}}, "selections/N "},
	} {
		got, name := g.upload(c.parts...)
		if got.status != 200 || !strings.HasPrefix(name, c.want) || (strings.HasSuffix(c.want, ".txt") && name != c.want) {
			t.Errorf("%v: %d %s", c.parts, got.status, got.body)
		}
	}
	if list := g.call("GET", "/api/files", "").body; strings.Count(list, `"name"`) != 6 || strings.Contains(list, "uploads") {
		t.Errorf("list: %s", list)
	}
	got := g.call("GET", "/api/files/content/uploads%2Fa%20(1).txt", "")
	if got.status != 200 || got.body != "two" || !strings.HasPrefix(got.header.Get("Content-Disposition"), "inline") ||
		!strings.HasPrefix(got.header.Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("content: %d %q %v", got.status, got.body, got.header)
	}
	head := g.call("HEAD", "/api/files/content/a.txt", "")
	if head.status != 200 || head.body != "" || head.header.Get("Content-Length") != "3" {
		t.Errorf("head: %d %v", head.status, head.header)
	}
	if got := g.call("DELETE", "/api/files/a.txt", ""); got.body != `{"ok":true}` {
		t.Errorf("delete: %s", got.body)
	}
	if got := g.call("HEAD", "/api/files/content/a.txt", ""); got.status != 404 {
		t.Errorf("head of a deleted file: %d", got.status)
	}
}

func TestFilesThatCouldRunAreDownloads(t *testing.T) {
	g := serve(t, nil)
	for _, name := range []string{"x.html", "x.svg", "x.xhtml", "x.js", "x.xml"} {
		_, saved := g.upload(part{"file", name, "<script>alert(1)</script>"})
		got := g.call("GET", "/api/files/content/"+saved, "")
		if got.status != 200 || !strings.HasPrefix(got.header.Get("Content-Disposition"), "attachment") || got.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %v", saved, got.status, got.header)
		}
	}
}

func TestBadUploads(t *testing.T) {
	g := serve(t, func(o *Options) { o.UploadLimit = 64 << 10 })
	typ, whole := form(part{"file", "a.txt", strings.Repeat("x", 2000)})
	for name, c := range map[string]struct {
		body string
		head string
		want int
	}{
		"no file":     {mustBody(part{"source", "", "upload"}), "", 422},
		"bad source":  {mustBody(part{"file", "a.txt", "x"}, part{"source", "", "moon"}), "", 422},
		"cut":         {whole[:len(whole)-60], typ, 400},
		"no boundary": {whole, "Content-Type: multipart/form-data", 422},
		"not a form":  {"{}", "Content-Type: application/json", 422},
		"too large":   {mustBody(part{"file", "b.txt", strings.Repeat("x", 70<<10)}), "", 413},
	} {
		head := c.head
		if head == "" {
			line, _, _ := strings.Cut(c.body, "\r\n")
			head = "Content-Type: multipart/form-data; boundary=" + strings.TrimPrefix(line, "--")
		}
		if got := g.call("POST", "/api/files", c.body, head); got.status != c.want || got.detail() == nil {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	// An upload without a length is counted as it comes.
	_, big := form(part{"file", "c.txt", strings.Repeat("x", 300<<10)})
	line, _, _ := strings.Cut(big, "\r\n")
	req, _ := http.NewRequest("POST", "http://"+g.addr+"/api/files", struct{ io.Reader }{strings.NewReader(big)})
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "multipart/form-data; boundary="+strings.TrimPrefix(line, "--"))
	res, err := g.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != 413 {
		t.Errorf("chunked: %d", res.StatusCode)
	}
	if list := g.call("GET", "/api/files", "").body; list != "[]" {
		t.Errorf("something was kept: %s", list)
	}
}

func mustBody(parts ...part) string { _, b := form(parts...); return b }
