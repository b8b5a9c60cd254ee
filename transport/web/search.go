package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"sentient/actors/msg"
)

// Result is one hit of a search.
type Result struct {
	Title   string `json:"title"`
	URL     string `json:"url"`
	Snippet string `json:"snippet"`
}

// Results is the result of web_search.
type Results struct {
	Query    string   `json:"query"`
	Provider string   `json:"provider"`
	Results  []Result `json:"results"`
	Note     string   `json:"note,omitempty"`
}

const (
	duckduckgo  = "duckduckgo"
	searxng     = "searxng"
	maxResults  = 20
	sourcesKept = 3 // results of a search that count as sources of a reply
	maxSnippet  = 500
)

// SearchPlugin is the plugin "internet_search".
func (w *Web) SearchPlugin() msg.Plugin {
	untrusted := true
	return msg.Plugin{
		ID: "internet_search", DisplayName: "Web search", Category: "knowledge", Icon: "search", Auth: "none",
		Description:   "Search the web for current information.",
		SelectionHint: "search the internet, find, look up, google, current facts, prices, opening hours, latest",
		Tools: []msg.Tool{{
			Name:        "web_search",
			Description: "Search the web. Gives titles, addresses and short excerpts; read a page with web_fetch.",
			Parameters: json.RawMessage(`{"type":"object","properties":{
				"query":{"type":"string","minLength":1,"maxLength":500,"description":"What to search for"},
				"limit":{"type":"integer","minimum":1,"maximum":20,"default":5,"description":"How many results"}},"required":["query"],"additionalProperties":false}`),
			Risk:      msg.RiskRead,
			Untrusted: &untrusted,
			Run: func(ctx context.Context, c *msg.Call) (any, error) {
				limit, _ := c.Args["limit"].(float64)
				return w.Search(ctx, text(c.Args, "query"), int(limit))
			},
			SourcesFn: resultSources,
		}},
	}
}

// Search asks the configured search engine; limit 0 means 5. A person's own search server that does not answer is an error: the
// query does not go to another one behind their back.
func (w *Web) Search(ctx context.Context, query string, limit int) (Results, error) {
	if limit <= 0 {
		limit = 5
	}
	query = strings.TrimSpace(query)
	if query == "" {
		return Results{}, errors.New("there is nothing to search for: give a few words")
	}
	s := w.o.Settings()
	r := Results{Query: query, Provider: duckduckgo}
	var err error
	switch s.SearchProvider {
	case searxng:
		r.Provider = searxng
		r.Results, err = w.searxng(ctx, s.SearxngURL, query)
	case "", duckduckgo:
		r.Results, err = w.duckduckgo(ctx, query)
	default:
		r.Note = fmt.Sprintf("%s is not set up, so DuckDuckGo was asked.", s.SearchProvider)
		r.Results, err = w.duckduckgo(ctx, query)
	}
	if err != nil {
		return Results{}, err
	}
	r.Results = r.Results[:min(len(r.Results), limit, maxResults)]
	if len(r.Results) == 0 {
		r.Results = []Result{}
		r.Note = strings.TrimSpace(r.Note + " Nothing was found: try other words.")
	}
	return r, nil
}

func (w *Web) duckduckgo(ctx context.Context, query string) ([]Result, error) {
	u := &url.URL{Scheme: "https", Host: "html.duckduckgo.com", Path: "/html/", RawQuery: url.Values{"q": {query}}.Encode()}
	d, err := w.door.get(ctx, u, w.door.connect, true)
	if err != nil {
		return nil, fmt.Errorf("the search did not work: %w", err)
	}
	return parseDuckDuckGo(d.utf8())
}

// searxng asks the person's own server. It may be on this computer or the home network: its address is the person's word, so
// it is dialled as it is, but followed nowhere else.
func (w *Web) searxng(ctx context.Context, server, query string) ([]Result, error) {
	u, err := url.Parse(strings.TrimSpace(server))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("the address of the SearXNG server is not set: enter it in Settings > Integrations")
	}
	u = u.JoinPath("search")
	u.RawQuery = url.Values{"q": {query}, "format": {"json"}}.Encode()
	d, err := w.door.get(ctx, u, w.o.Dial, false)
	if err != nil {
		return nil, fmt.Errorf("the SearXNG server did not answer: %w", err)
	}
	return parseSearxng(d.body)
}

func parseSearxng(body []byte) ([]Result, error) {
	var answer struct {
		Results *[]struct {
			Title   string `json:"title"`
			URL     string `json:"url"`
			Content string `json:"content"`
		} `json:"results"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Results == nil {
		return nil, errors.New("the SearXNG server did not answer in JSON: add `json` to search.formats in its settings")
	}
	var list []Result
	for _, r := range *answer.Results {
		list = keep(list, Result{r.Title, r.URL, r.Content})
	}
	return list, nil
}

// keep adds a hit that has a title and the address of a web page and is not there yet.
func keep(list []Result, r Result) []Result {
	u, err := url.Parse(strings.TrimSpace(r.URL))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || len(list) >= maxResults {
		return list
	}
	r = Result{Title: oneLine(r.Title, 300), URL: u.String(), Snippet: oneLine(r.Snippet, maxSnippet)}
	if r.Title == "" {
		return list
	}
	for _, other := range list {
		if other.URL == r.URL {
			return list
		}
	}
	return append(list, r)
}

func oneLine(s string, n int) string {
	return clip(strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " "), n)
}

func resultSources(_ map[string]any, result any) []msg.AnswerSource {
	r, ok := result.(Results)
	if !ok {
		return nil
	}
	var list []msg.AnswerSource
	for _, hit := range r.Results[:min(len(r.Results), sourcesKept)] {
		list = append(list, msg.AnswerSource{Kind: "web", Title: hit.Title, URL: hit.URL, Snippet: clip(hit.Snippet, snippetChars), App: "internet_search", Tool: "web_search"})
	}
	return list
}
