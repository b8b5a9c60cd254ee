package web

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"unicode/utf8"

	"sentient/actors/msg"
)

// Reader finds the readable part of a page and gives it as Markdown. Its parsers are kept out of the engine.
type Reader interface {
	Page(ctx context.Context, html []byte, pageURL string) (title, text string, err error)
}

// Settings are the parts of the configuration that the web tools read at every call.
type Settings struct {
	FetchMaxChars  int    // integrations.web_fetch_max_chars; 0: 20000
	SearchProvider string // integrations.search_provider; "": duckduckgo
	SearxngURL     string // integrations.searxng_url
}

// Options are what the web tools need; the zero value looks up and dials for real and reads pages in the plain way.
type Options struct {
	Reader   Reader
	Settings func() Settings
	Resolver Resolver
	Dial     Dial
	TLS      *tls.Config // nil: the system's roots
}

// Validate fills the defaults.
func (o *Options) Validate() error {
	if o.Settings == nil {
		o.Settings = func() Settings { return Settings{} }
	}
	if o.Resolver == nil {
		o.Resolver = net.DefaultResolver
	}
	if o.Dial == nil {
		o.Dial = (&net.Dialer{}).DialContext
	}
	return nil
}

// Web are the web tools. They hold no connection between calls.
type Web struct {
	o    Options
	door door
}

// New makes the web tools.
func New(o Options) (*Web, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return &Web{o: o, door: door{resolver: o.Resolver, dial: o.Dial, tls: o.TLS}}, nil
}

// Page is the result of web_fetch.
type Page struct {
	URL       string `json:"url"` // after redirects
	Title     string `json:"title"`
	Content   string `json:"content"`
	Truncated bool   `json:"truncated"`
}

const defaultFetchChars = 20_000

// Plugin is the plugin "web".
func (w *Web) Plugin() msg.Plugin {
	untrusted := true
	return msg.Plugin{
		ID: "web", DisplayName: "Web", Category: "knowledge", Icon: "globe", Auth: "none",
		Description:   "Read public web pages as text.",
		SelectionHint: "open a link, read a web page, an article or a site the user names, look something up online",
		Tools: []msg.Tool{{
			Name:        "web_fetch",
			Description: "Load a public web page and read its text. Give the whole address.",
			Parameters: json.RawMessage(`{"type":"object","properties":{
				"url":{"type":"string","minLength":1,"description":"The page's address, beginning with https:// or http://"}},"required":["url"],"additionalProperties":false}`),
			Risk:      msg.RiskRead,
			Untrusted: &untrusted,
			Run: func(ctx context.Context, c *msg.Call) (any, error) {
				return w.Fetch(ctx, text(c.Args, "url"))
			},
			URLFn:     func(args map[string]any) string { return text(args, "url") },
			SourcesFn: pageSources,
		}},
	}
}

// Fetch loads a public page and gives its readable text, cut at the configured number of characters. Every error is a plain
// sentence: the address may not be opened, the page did not come, or it has no text.
func (w *Web) Fetch(ctx context.Context, address string) (Page, error) {
	u, err := CheckURL(address)
	if err != nil {
		return Page{}, err
	}
	d, err := w.door.get(ctx, u, w.door.connect, true)
	if err != nil {
		return Page{}, err
	}
	p := Page{URL: d.url.String(), Truncated: d.cut}
	switch {
	case d.kind == "text/html" || d.kind == "application/xhtml+xml":
		p.Title, p.Content, err = w.readable(ctx, d)
		if err != nil {
			return Page{}, err
		}
	case isText(d.kind):
		p.Content = string(d.utf8())
	default:
		p.Content = fmt.Sprintf("[This address is not a page but a file of the type %s (%s), which cannot be read here.]", clip(d.kind, 80), size(d))
	}
	limit := w.o.Settings().FetchMaxChars
	if limit <= 0 {
		limit = defaultFetchChars
	}
	if short := first(p.Content, limit); len(short) < len(p.Content) {
		p.Content, p.Truncated = short, true
	}
	return p, nil
}

func (w *Web) readable(ctx context.Context, d document) (title, text string, err error) {
	page := d.utf8()
	if w.o.Reader != nil {
		title, text, err = w.o.Reader.Page(ctx, page, d.url.String())
		if err == nil && strings.TrimSpace(text) != "" {
			return title, text, nil
		}
		if ctx.Err() != nil {
			return "", "", ctx.Err()
		}
	}
	title, text = strip(page)
	if text == "" && title == "" {
		return "", "", errors.New("the page has no text: it may need a browser to show anything")
	}
	return title, text, nil
}

func isText(kind string) bool {
	return strings.HasPrefix(kind, "text/") || kind == "application/json" || kind == "application/xml" || kind == "application/yaml" ||
		kind == "application/javascript" || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml")
}

func size(d document) string {
	if d.cut {
		return fmt.Sprintf("over %d MB", maxBody>>20)
	}
	return fmt.Sprintf("%d KB", (len(d.body)+1023)>>10)
}

func pageSources(_ map[string]any, result any) []msg.AnswerSource {
	p, ok := result.(Page)
	if !ok {
		return nil
	}
	title := p.Title
	if title == "" {
		title = p.URL
	}
	return []msg.AnswerSource{{Kind: "web", Title: title, URL: p.URL, Snippet: clip(p.Content, snippetChars), App: "web", Tool: "web_fetch"}}
}

const snippetChars = 280

func text(args map[string]any, name string) string {
	s, _ := args[name].(string)
	return s
}

func first(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

func clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return first(s, n-1) + "…"
}
