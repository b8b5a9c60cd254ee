package web

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sentient/actors/msg"
)

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestDuckDuckGo(t *testing.T) {
	var asked string
	n := serveTLS(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Host + r.URL.String()
		w.Header().Set("Content-Type", "text/html; charset=UTF-8")
		_, _ = w.Write(fixture(t, "results.html"))
	}))
	n.hosts["html.duckduckgo.com"] = [][]netip.Addr{ips(public)}
	w := n.web(t, Options{})
	r, err := w.Search(t.Context(), " tide tables & more ", 0)
	if err != nil {
		t.Fatal(err)
	}
	wire, _ := json.Marshal(r)
	want := `{"query":"tide tables \u0026 more","provider":"duckduckgo","results":[` +
		`{"title":"Tide tables \u0026 currents","url":"https://tides.example/tables?year=2026\u0026port=7","snippet":"High and low water of every port, tide tables for 2026."},` +
		`{"title":"The sea: tides","url":"https://sea.example/tides","snippet":"How the moon moves the water."},` +
		`{"title":"Old tables","url":"http://old.example/","snippet":""}]}`
	if string(wire) != want {
		t.Errorf("%s", wire)
	}
	if asked != "html.duckduckgo.com/html/?q="+url.QueryEscape("tide tables & more") || !slices.Equal(n.dialled, []string{public + ":443"}) {
		t.Error(asked, n.dialled)
	}
	if r, err = w.Search(t.Context(), "x", 1); err != nil || len(r.Results) != 1 {
		t.Error(r, err)
	}
	w.o.Settings = func() Settings { return Settings{SearchProvider: "brave"} }
	if r, err = w.Search(t.Context(), "x", 1); err != nil || r.Note != "brave is not set up, so DuckDuckGo was asked." {
		t.Error(r, err)
	}
	if _, err = w.Search(t.Context(), "  ", 1); err == nil {
		t.Error("nothing was searched for")
	}
}

func TestDuckDuckGoTroubles(t *testing.T) {
	if _, err := parseDuckDuckGo(fixture(t, "asked.html")); err != errAsked {
		t.Error(err)
	}
	if list, err := parseDuckDuckGo(fixture(t, "none.html")); err != nil || len(list) != 0 {
		t.Error(list, err)
	}
	if _, err := parseDuckDuckGo([]byte("<h1>Bad gateway</h1>")); err == nil {
		t.Error("any page is a page of results")
	}
	n := serveTLS(t, page("text/html", string(fixture(t, "none.html"))))
	n.hosts["html.duckduckgo.com"] = [][]netip.Addr{ips(public)}
	r, err := n.web(t, Options{}).Search(t.Context(), "zzqq", 0)
	if wire, _ := json.Marshal(r); err != nil || string(wire) != `{"query":"zzqq","provider":"duckduckgo","results":[],"note":"Nothing was found: try other words."}` {
		t.Errorf("%s %v", wire, err)
	}
}

func TestSearxng(t *testing.T) {
	n := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/elsewhere/search":
			http.Redirect(w, r, "http://example.com/search", http.StatusFound)
		case r.URL.Path != "/sub/search" || r.URL.Query().Get("format") != "json" || r.URL.Query().Get("q") != "tides":
			http.NotFound(w, r)
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"results":[{"title":"A","url":"https://a.example/","content":"about a"},{"title":"","url":"https://b.example"},{"title":"C","url":"file:///c"}]}`))
		}
	}))
	search := func(server string) (Results, error) {
		return n.web(t, Options{Settings: func() Settings { return Settings{SearchProvider: "searxng", SearxngURL: server} }}).Search(t.Context(), "tides", 0)
	}
	r, err := search("http://127.0.0.1:8888/sub/")
	if err != nil || r.Provider != "searxng" || !slices.Equal(r.Results, []Result{{"A", "https://a.example/", "about a"}}) {
		t.Fatalf("%+v %v", r, err)
	}
	if !slices.Equal(n.dialled, []string{"127.0.0.1:8888"}) {
		t.Error(n.dialled)
	}
	for _, server := range []string{"", "not an address", "ftp://x", "http://127.0.0.1:8888/elsewhere", "http://127.0.0.1:8888/gone"} {
		if _, err := search(server); err == nil {
			t.Error(server)
		}
	}
	if slices.Contains(n.dialled, public+":80") || slices.Contains(n.dialled, public+":443") {
		t.Error("the query went somewhere else:", n.dialled)
	}
	if _, err := parseSearxng([]byte("<html>")); err == nil || !strings.Contains(err.Error(), "search.formats") {
		t.Error(err)
	}
}

func TestSearchTool(t *testing.T) {
	n := serveTLS(t, page("text/html", string(fixture(t, "results.html"))))
	n.hosts["html.duckduckgo.com"] = [][]netip.Addr{ips(public)}
	plugin := n.web(t, Options{}).SearchPlugin()
	tool := plugin.Tools[0]
	res, err := tool.Run(t.Context(), &msg.Call{Args: map[string]any{"query": "tides", "limit": 2.0}})
	if err != nil || len(res.(Results).Results) != 2 {
		t.Fatal(res, err)
	}
	many := Results{Results: []Result{{"1", "u1", "s"}, {"2", "u2", ""}, {"3", "u3", ""}, {"4", "u4", ""}}}
	s := tool.SourcesFn(nil, many)
	if len(s) != 3 || s[0].Kind != "web" || s[0].App != "internet_search" || s[0].Tool != "web_search" || s[0].Snippet != "s" || s[2].URL != "u3" {
		t.Errorf("%+v", s)
	}
	if plugin.ID != "internet_search" || tool.Name != "web_search" || !*tool.Untrusted || tool.Risk != msg.RiskRead {
		t.Error("the tool's flags")
	}
}

func FuzzDuckDuckGo(f *testing.F) {
	for _, name := range []string{"results.html", "none.html", "asked.html"} {
		f.Add(fixture(f, name))
	}
	f.Add([]byte(`<div class="result"><a class="result__a" href="//duckduckgo.com/l/?uddg=%zz">x</a></div>`))
	f.Fuzz(func(t *testing.T, page []byte) {
		list, err := parseDuckDuckGo(page)
		if err != nil && len(list) > 0 || len(list) > maxResults {
			t.Fatal(list, err)
		}
		for _, r := range list {
			if u, err := url.Parse(r.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" || r.Title == "" {
				t.Fatalf("%+v", r)
			}
		}
	})
}

func FuzzSearxng(f *testing.F) {
	f.Add([]byte(`{"results":[{"title":"A","url":"https://a.example/","content":"about a"}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if list, err := parseSearxng(body); err == nil && len(list) > maxResults {
			t.Fatal(len(list))
		}
	})
}
