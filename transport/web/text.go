package web

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"
)

// strip is the plain way to a page's text when the worker is not there: tags out, blocks on lines of their own.
func strip(page []byte) (title, text string) {
	z := html.NewTokenizer(bytes.NewReader(page))
	z.SetMaxBuf(maxBody)
	var b, head strings.Builder
	hidden, inTitle := "", false
	for {
		switch z.Next() {
		case html.ErrorToken:
			return strings.Join(strings.Fields(head.String()), " "), tidy(b.String())
		case html.TextToken:
			if inTitle {
				head.Write(z.Text())
			} else if hidden == "" {
				b.Write(z.Text())
			}
		case html.StartTagToken:
			name := tag(z)
			inTitle = name == "title" && head.Len() == 0
			if hidden == "" && unseen(name) {
				hidden = name
			}
			if block(name) {
				b.WriteByte('\n')
			}
		case html.SelfClosingTagToken:
			if block(tag(z)) {
				b.WriteByte('\n')
			}
		case html.EndTagToken:
			name := tag(z)
			inTitle = false
			if name == hidden {
				hidden = ""
			}
			if block(name) {
				b.WriteByte('\n')
			}
		}
	}
}

func tag(z *html.Tokenizer) string {
	name, _ := z.TagName()
	return string(name)
}

func unseen(name string) bool {
	switch name {
	case "script", "style", "noscript", "template", "svg", "iframe", "select", "title":
		return true
	}
	return false
}

func block(name string) bool {
	switch name {
	case "p", "div", "br", "li", "ul", "ol", "tr", "table", "h1", "h2", "h3", "h4", "h5", "h6", "section", "article", "header", "footer", "nav", "pre", "blockquote", "hr", "dt", "dd", "option":
		return true
	}
	return false
}

// tidy leaves one space between words and at most one empty line between two others.
func tidy(s string) string {
	var out []string
	for line := range strings.Lines(s) {
		line = strings.Join(strings.Fields(line), " ")
		if line != "" || len(out) > 0 && out[len(out)-1] != "" {
			out = append(out, line)
		}
	}
	return strings.TrimSpace(strings.Join(out, "\n"))
}
