package web

import (
	"bytes"
	"errors"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

var errAsked = errors.New("DuckDuckGo wants to know whether a person is searching: wait a few minutes, or set up SearXNG in Settings > Integrations")

// parseDuckDuckGo reads the hits of the HTML result page; advertisements are left out.
func parseDuckDuckGo(page []byte) ([]Result, error) {
	doc, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		return nil, errors.New("the search's answer cannot be read")
	}
	var list []Result
	known, asked := false, false
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if len(list) == maxResults {
			break
		}
		switch {
		case hasClass(n, "anomaly-modal") || attr(n, "id") == "challenge-form":
			asked = true
		case hasClass(n, "no-results") || attr(n, "id") == "links":
			known = true
		case hasClass(n, "result") && !hasClass(n, "result--ad"):
			known = true
			list = keep(list, hit(n))
		}
	}
	switch {
	case asked && len(list) == 0:
		return nil, errAsked
	case !known:
		return nil, errors.New("the search's answer is not a page of results: try again later")
	}
	return list, nil
}

// hit reads one result's title, address and excerpt.
func hit(result *html.Node) Result {
	var r Result
	for n := range result.Descendants() {
		switch {
		case n.Type != html.ElementNode:
		case hasClass(n, "result__a") && r.URL == "":
			r.Title, r.URL = content(n), target(attr(n, "href"))
		case hasClass(n, "result__snippet") && r.Snippet == "":
			r.Snippet = content(n)
		}
	}
	return r
}

// target gives the page behind DuckDuckGo's own redirect address. Its addresses that lead to an advertisement give "".
func target(href string) string {
	if strings.HasPrefix(href, "//") {
		href = "https:" + href
	}
	u, err := url.Parse(href)
	if err != nil {
		return ""
	}
	host := strings.TrimPrefix(strings.ToLower(u.Hostname()), "html.")
	if host != "duckduckgo.com" && host != "www.duckduckgo.com" && u.Host != "" {
		return href
	}
	if strings.TrimSuffix(u.Path, "/") == "/l" {
		return u.Query().Get("uddg")
	}
	return ""
}

func hasClass(n *html.Node, class string) bool {
	return slices.Contains(strings.Fields(attr(n, "class")), class)
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func content(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}
