package main

import (
	"bytes"
	"errors"
	"net/url"
	"strings"
	"unicode/utf8"

	readability "codeberg.org/readeck/go-readability/v2"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"

	"sentient/transport/worker"
)

const (
	maxElements = 100_000 // of a page that is looked through for its main part; a larger one is given whole
	thinArticle = 250     // characters: below it the page is more likely a list than an article
)

// readPage gives a page's title and its main part as Markdown, the whole page when no main part is found.
func readPage(page []byte, address string, limit int) (worker.Response, error) {
	base, err := url.Parse(address)
	if err != nil {
		return worker.Response{}, errors.New("the page's address cannot be read")
	}
	doc, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		return worker.Response{}, errors.New("the page cannot be read")
	}
	title, text := article(doc, base)
	if utf8.RuneCountInString(text) < thinArticle {
		if whole := markdown(doc, base); len(whole) > len(text) {
			text = whole
		}
	}
	if title == "" {
		title = headTitle(doc)
	}
	p := newPart(0, limit)
	p.add(text)
	res := p.response()
	res.Title = strings.Join(strings.Fields(title), " ")
	return res, nil
}

func article(doc *html.Node, base *url.URL) (title, text string) {
	parser := readability.NewParser()
	parser.MaxElemsToParse = maxElements
	a, err := parser.ParseDocument(doc, base)
	if err != nil {
		return "", ""
	}
	if a.Node != nil {
		text = markdown(a.Node, base)
	}
	return a.Title(), text
}

func markdown(n *html.Node, address *url.URL) string {
	conv := converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin()))
	md, err := conv.ConvertNode(n, converter.WithDomain(address.Scheme+"://"+address.Host))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(md), "\uFFFD"))
}

func headTitle(n *html.Node) string {
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && d.Data == "title" && d.FirstChild != nil {
			return d.FirstChild.Data
		}
	}
	return ""
}
