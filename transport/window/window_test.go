package window

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"os/exec"
	"path"
	"regexp"
	"strings"
	"testing"
)

func read(t *testing.T, name string) string {
	t.Helper()
	sub, err := fs.Sub(files, "static")
	if err != nil {
		t.Fatal(err)
	}
	b, err := fs.ReadFile(sub, name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestThereIsAWindow(t *testing.T) {
	if _, err := fs.Stat(FS(), "index.html"); err != nil {
		t.Fatal(err)
	}
}

// The page must live under its content policy: nothing inline, nothing from elsewhere, and everything it names is there.
func TestThePageIsSelfContained(t *testing.T) {
	html := read(t, "index.html")
	for _, bad := range []string{`<script>`, `style="`, `<style`, `javascript:`, `http://`, `https://`} {
		if strings.Contains(html, bad) {
			t.Errorf("index.html has %s", bad)
		}
	}
	if m := regexp.MustCompile(`\son\w+=`).FindString(html); m != "" {
		t.Errorf("index.html has an inline handler %s", m)
	}
	for _, m := range regexp.MustCompile(`(?:src|href)="([^"#]+)"`).FindAllStringSubmatch(html, -1) {
		read(t, m[1])
	}
	list, err := fs.Glob(files, "static/*.js")
	if err != nil || len(list) == 0 {
		t.Fatal("no modules", err)
	}
	for _, name := range list {
		js := read(t, path.Base(name))
		for _, bad := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", ".style.", "console.", "'style'"} {
			if strings.Contains(js, bad) {
				t.Errorf("%s uses %s", name, bad)
			}
		}
		for _, m := range regexp.MustCompile(`from '\./([^']+)'`).FindAllStringSubmatch(js, -1) {
			read(t, m[1])
		}
		if strings.Contains(js, "localStorage.setItem(KEY") {
			t.Errorf("%s keeps the token longer than the tab", name)
		}
	}
}

// The small Markdown, run by Node where there is one.
func TestMarkdown(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed: the page's Markdown is not tried")
	}
	out, err := exec.Command(node, "--test", "testdata/markdown.test.mjs").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// What was built must live under the same policy, and be small: 150 kB gzipped until the first paint.
func TestTheBuiltWindow(t *testing.T) {
	html, err := files.ReadFile("dist/index.html")
	if err != nil {
		t.Skip("the window is not built")
	}
	for _, bad := range []string{"<script>", " style=", "<style", "javascript:", "http://", "https://"} {
		if strings.Contains(string(html), bad) {
			t.Errorf("index.html has %s", bad)
		}
	}
	size := zipped(t, html)
	for _, m := range regexp.MustCompile(`(?:src|href)="\./([^"]+)"`).FindAllSubmatch(html, -1) {
		b, err := files.ReadFile("dist/" + string(m[1]))
		if err != nil {
			t.Error(err)
		}
		size += zipped(t, b)
	}
	if size >= 150_000 {
		t.Errorf("%d bytes are needed for the first paint", size)
	}
}

func zipped(t *testing.T, b []byte) int {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Len()
}
