package web

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sentient/actors/msg"
)

type reader struct {
	title, text string
	err         error
	got         string
}

func (r *reader) Page(_ context.Context, html []byte, address string) (string, string, error) {
	r.got = address + " " + string(html)
	return r.title, r.text, r.err
}

func TestFetch(t *testing.T) {
	n := serve(t, page("text/html; charset=iso-8859-1", "<title>Caf\xe9</title><p>Th\xe9"))
	r := &reader{title: "T", text: "# Hello"}
	w := n.web(t, Options{Reader: r})
	p, err := w.Fetch(t.Context(), "http://example.com/a#frag")
	if err != nil || p != (Page{URL: "http://example.com/a", Title: "T", Content: "# Hello"}) || r.got != "http://example.com/a <title>Café</title><p>Thé" {
		t.Fatalf("%+v %v %q", p, err, r.got)
	}
	if !slices.Equal(n.dialled, []string{public + ":80"}) || n.lookups["example.com"] != 1 {
		t.Error(n.dialled, n.lookups)
	}
	r.err = errors.New("the worker is missing")
	if p, err = w.Fetch(t.Context(), "http://example.com/"); err != nil || p.Title != "Café" || p.Content != "Thé" {
		t.Fatalf("%+v %v", p, err)
	}
}

func TestKindsOfContent(t *testing.T) {
	for kind, c := range map[string]struct{ body, want string }{
		"application/json":            {`{"a": "<b>"}`, `{"a": "<b>"}`},
		"application/rss+xml":         {"<rss/>", "<rss/>"},
		"text/plain; charset=utf-8":   {"é", "é"},
		"text/plain; charset=unknown": {"plain", "plain"},
		"application/pdf":             {"%PDF-1.4", "[This address is not a page but a file of the type application/pdf (1 KB), which cannot be read here.]"},
		"image/png":                   {"\x89PNG", "[This address is not a page but a file of the type image/png (1 KB), which cannot be read here.]"},
		"application/xhtml+xml":       {"<p>x</p>", "x"},
		"":                            {"<html><p>sniffed", "sniffed"},
	} {
		w := serve(t, page(kind, c.body)).web(t, Options{})
		if kind == "" {
			w = serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Content-Type"] = nil
				fmt.Fprint(w, c.body)
			})).web(t, Options{})
		}
		if p, err := w.Fetch(t.Context(), "http://example.com"); err != nil || p.Content != c.want || p.Truncated {
			t.Errorf("%s: %+v %v", kind, p, err)
		}
	}
}

func TestPageWithoutText(t *testing.T) {
	w := serve(t, page("text/html", "<script>app()</script>")).web(t, Options{})
	if _, err := w.Fetch(t.Context(), "http://example.com"); err == nil || !strings.Contains(err.Error(), "no text") {
		t.Error(err)
	}
}

func TestMaxChars(t *testing.T) {
	n := serve(t, page("text/plain", strings.Repeat("é", 30_000)))
	for limit, want := range map[int]int{0: 20_000, 1000: 1000, 30_000: 30_000} {
		w := n.web(t, Options{Settings: func() Settings { return Settings{FetchMaxChars: limit} }})
		p, err := w.Fetch(t.Context(), "http://example.com")
		if err != nil || p.Content != strings.Repeat("é", want) || p.Truncated != (want < 30_000) {
			t.Errorf("%d: %d %v", limit, len(p.Content), err)
		}
	}
}

// Whatever the name says, an address that is not public is never dialled.
func TestPrivateAnswersAreNeverDialled(t *testing.T) {
	n := serve(t, page("text/plain", "secret"))
	for _, answer := range [][]string{
		{"127.0.0.1"}, {"10.1.2.3"}, {"192.168.0.1"}, {"172.20.0.1"}, {"169.254.169.254"}, {"100.64.0.1"}, {"0.0.0.0"}, {"224.0.0.1"}, {"::1"}, {"fe80::1"}, {"fd00::1"},
		{"::ffff:127.0.0.1"}, {"64:ff9b::7f00:1"}, {"2002:7f00:1::1"}, {public, "127.0.0.1"}, {"::"},
	} {
		n.hosts["evil.example"] = [][]netip.Addr{ips(answer...)}
		if _, err := n.web(t, Options{}).Fetch(t.Context(), "http://evil.example/"); !errors.Is(err, ErrPrivate) {
			t.Errorf("%v: %v", answer, err)
		}
	}
	if len(n.dialled) != 0 {
		t.Error(n.dialled)
	}
}

// A name that changes its answer between check and connection gains nothing: it is asked once, and what was checked is dialled.
func TestRebinding(t *testing.T) {
	n := serve(t, page("text/plain", "x"))
	n.hosts["rebind.example"] = [][]netip.Addr{ips(public), ips("127.0.0.1")}
	if _, err := n.web(t, Options{}).Fetch(t.Context(), "http://rebind.example:8080/"); err != nil {
		t.Fatal(err)
	}
	if n.lookups["rebind.example"] != 1 || !slices.Equal(n.dialled, []string{public + ":8080"}) {
		t.Error(n.lookups, n.dialled)
	}
	// The next fetch is checked anew.
	if _, err := n.web(t, Options{}).Fetch(t.Context(), "http://rebind.example/"); !errors.Is(err, ErrPrivate) {
		t.Error(err)
	}
}

func TestRedirects(t *testing.T) {
	n := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Referer() != "" || len(r.Cookies()) > 0 {
			t.Error("a redirect tells where it came from:", r.Header)
		}
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		var left int
		if _, err := fmt.Sscanf(r.URL.Path, "/hop/%d", &left); err == nil && left > 0 {
			http.Redirect(w, r, fmt.Sprintf("/hop/%d", left-1), http.StatusFound)
			return
		}
		fmt.Fprint(w, "there")
	}))
	n.hosts["inside.example"] = [][]netip.Addr{ips("10.0.0.1")}
	n.hosts["other.example"] = [][]netip.Addr{ips("8.8.8.8")}
	w := n.web(t, Options{})
	if p, err := w.Fetch(t.Context(), "http://example.com/hop/5"); err != nil || p.URL != "http://example.com/hop/0" || p.Content != "there" {
		t.Errorf("%+v %v", p, err)
	}
	if _, err := w.Fetch(t.Context(), "http://example.com/hop/6"); err == nil || !strings.Contains(err.Error(), "without end") {
		t.Error(err)
	}
	if p, err := w.Fetch(t.Context(), "http://example.com/?to=http://other.example/"); err != nil || p.URL != "http://other.example/" {
		t.Errorf("%+v %v", p, err)
	}
	before := len(n.dialled)
	bad := []string{"http://127.0.0.1/", "http://169.254.169.254/latest/", "http://localhost:8080/", "http://inside.example/", "http://[::1]/", "file:///etc/passwd", "http://example.com:6379/", "ftp://example.com/", "http://me:pw@example.com/"}
	for _, to := range bad {
		if p, err := w.Fetch(t.Context(), "http://example.com/?to="+to); err == nil {
			t.Errorf("%s: %+v", to, p)
		}
	}
	if got := len(n.dialled) - before; got != len(bad) {
		t.Errorf("%d connections for %d redirects that must not be followed", got, len(bad))
	}
}

func TestBombsAndEndlessBodies(t *testing.T) {
	bomb := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", "text/plain")
		z := gzip.NewWriter(w)
		block := make([]byte, 1<<16)
		for range 64 << 4 { // 64 MB
			if _, err := z.Write(block); err != nil {
				return
			}
		}
		z.Close()
	}))
	endless := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		for {
			if _, err := w.Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
	}))
	for name, n := range map[string]*internet{"bomb": bomb, "endless": endless} {
		u, _ := CheckURL("http://example.com")
		w := n.web(t, Options{})
		d, err := w.door.get(t.Context(), u, w.door.connect, true)
		if err != nil || len(d.body) != maxBody || !d.cut {
			t.Errorf("%s: %d bytes, %v", name, len(d.body), err)
		}
	}
}

func TestOtherPackings(t *testing.T) {
	w := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "br")
		fmt.Fprint(w, "x")
	})).web(t, Options{})
	if _, err := w.Fetch(t.Context(), "http://example.com"); err == nil || !strings.Contains(err.Error(), "packed") {
		t.Error(err)
	}
}

// A page that never ends to come is given up after 20 seconds, in fake time.
func TestSlowBody(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"no header": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"drops": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				fmt.Fprint(w, "x")
				w.(http.Flusher).Flush()
				time.Sleep(time.Second)
			}
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := serve(t, h)
			start := time.Now()
			_, err := n.web(t, Options{}).Fetch(t.Context(), "http://example.com")
			if err == nil || !strings.Contains(err.Error(), "within 20 seconds") || time.Since(start) != fetchTime {
				t.Errorf("%s: %v after %v", name, err, time.Since(start))
			}
		})
	}
}

func TestStopping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if _, err := n.web(t, Options{}).Fetch(ctx, "http://example.com"); err == nil || time.Since(start) != time.Second {
			t.Error(err, time.Since(start))
		}
	})
}

func TestServersThatAreNone(t *testing.T) {
	n := serve(t, nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := n.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = c.Read(make([]byte, 1))
				_, _ = io.WriteString(c, "220 mail.example ESMTP\r\n")
				c.Close()
			}()
		}
	}()
	if _, err := n.web(t, Options{}).Fetch(t.Context(), "http://example.com/?q=private"); err == nil || !strings.HasPrefix(err.Error(), "the page cannot be loaded: ") || strings.Contains(err.Error(), "private") {
		t.Error(err)
	}
	n.Close()
	<-done
	if _, err := n.web(t, Options{}).Fetch(t.Context(), "http://example.com/"); err == nil || !strings.Contains(err.Error(), "cannot be reached") {
		t.Error(err)
	}
	if _, err := n.web(t, Options{}).Fetch(t.Context(), "http://nowhere.example/"); err == nil || err.Error() != "there is no website called nowhere.example" {
		t.Error(err)
	}
}

func TestStatus(t *testing.T) {
	w := serve(t, http.NotFoundHandler()).web(t, Options{})
	if _, err := w.Fetch(t.Context(), "http://example.com/x"); err == nil || err.Error() != "example.com answered 404 (not found)" {
		t.Error(err)
	}
}

func TestFirstAddressThatAnswersIsUsed(t *testing.T) {
	n := serve(t, page("text/plain", "x"))
	n.hosts["two.example"] = [][]netip.Addr{ips("8.8.4.4", public)}
	w, err := New(Options{Resolver: n, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		if strings.HasPrefix(address, "8.8.4.4") {
			return nil, errors.New("refused")
		}
		return n.dial(ctx, network, address)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if p, err := w.Fetch(t.Context(), "http://two.example/"); err != nil || p.Content != "x" {
		t.Error(p, err)
	}
}

func TestFetchTool(t *testing.T) {
	n := serve(t, page("text/html", "<title>T</title>"+strings.Repeat("word ", 100)))
	plugin := n.web(t, Options{}).Plugin()
	tool := plugin.Tools[0]
	args := map[string]any{"url": "http://example.com/a"}
	res, err := tool.Run(t.Context(), &msg.Call{Args: args})
	if err != nil {
		t.Fatal(err)
	}
	s := tool.SourcesFn(args, res)
	if len(s) != 1 || s[0].Kind != "web" || s[0].Title != "T" || s[0].URL != "http://example.com/a" || s[0].App != "web" || s[0].Tool != "web_fetch" || len([]rune(s[0].Snippet)) != 280 {
		t.Errorf("%+v", s)
	}
	if tool.URLFn(args) != "http://example.com/a" || tool.Untrusted == nil || !*tool.Untrusted || plugin.ID != "web" || tool.SourcesFn(args, map[string]any{"error": "x"}) != nil {
		t.Error("the tool's flags")
	}
}

func TestStrip(t *testing.T) {
	title, text := strip([]byte("<title>A &amp; B</title><style>x</style><h1>Head</h1>\n\n\n<p>one <b>two</b><br>three<script>if (a < b) {}</script></p><svg><title>no</title></svg><ul><li>x<li>y</ul>"))
	if title != "A & B" || text != "Head\n\none two\nthree\n\nx\ny" {
		t.Errorf("%q %q", title, text)
	}
}

func FuzzStrip(f *testing.F) {
	f.Add([]byte("<p>x<script>y"))
	f.Fuzz(func(t *testing.T, page []byte) { strip(page) })
}
