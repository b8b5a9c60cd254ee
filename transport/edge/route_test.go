package edge

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestRouterLiteralsWinOverParameters(t *testing.T) {
	routes := []Route{
		{Method: "GET", Path: "/api/tasks/{id}"}, {Method: "GET", Path: "/api/tasks/away"}, {Method: "DELETE", Path: "/api/tasks/{id}"},
		{Method: "GET", Path: "/api/connect/openrouter/{state}"}, {Method: "POST", Path: "/api/connect/{provider}/check"},
		{Method: "GET", Path: "/api/files/content/{name...}"}, {Method: "DELETE", Path: "/api/files/{name...}"}, {Method: "WS", Path: "/ws"},
	}
	r := newRouter(routes)
	for _, c := range []struct{ method, path, want, params, allow string }{
		{"GET", "/api/tasks/7", "/api/tasks/{id}", "7", ""},
		{"GET", "/api/tasks/away", "/api/tasks/away", "", ""},
		{"POST", "/api/tasks/away", "", "", "DELETE GET"},
		{"POST", "/api/connect/openrouter/check", "/api/connect/{provider}/check", "openrouter", ""},
		{"GET", "/api/connect/openrouter/check", "/api/connect/openrouter/{state}", "check", ""},
		{"GET", "/api/connect/nous/check", "", "", "POST"},
		{"GET", "/api/files/content/uploads/a%2Fb.pdf", "/api/files/content/{name...}", "uploads/a/b.pdf", ""},
		{"DELETE", "/api/files/content/x", "/api/files/{name...}", "content/x", ""},
		{"GET", "/ws", "/ws", "", ""},
		{"GET", "/api/tasks", "", "", ""},
		{"GET", "/api/tasks/", "", "", ""},
		{"GET", "/", "", "", ""},
	} {
		segs, err := segments(c.path)
		if err != nil {
			t.Fatalf("%s: %v", c.path, err)
		}
		m := r.find(c.method, segs)
		got := ""
		if m.route != nil {
			got = m.route.Path
		}
		if got != c.want || strings.Join(m.params, ",") != c.params || (got == "" && strings.Join(m.allow, " ") != c.allow) {
			t.Errorf("%s %s: %q %v %v, want %q %q %q", c.method, c.path, got, m.params, m.allow, c.want, c.params, c.allow)
		}
	}
}

func TestSegmentsRefuseWhatLeadsElsewhere(t *testing.T) {
	for _, p := range []string{"", "x", "/a/../b", "/a/%2e%2e/b", "/a/..%2fb", "/a/%zz", "/a/%00", "/a/%ff", "/./a", "/a%0ab", "/" + strings.Repeat("a/", 40)} {
		if segs, err := segments(p); err == nil {
			t.Errorf("%q gave %q", p, segs)
		}
	}
}

func FuzzRouter(f *testing.F) {
	for _, p := range []string{"/", "/api/files/content/a%2fb", "/api/sessions/x/messages", "//", "/api/%2e%2e", "/ws"} {
		f.Add("GET", p)
	}
	routes := table(&Options{Home: &fakeRest{}, Models: &fakeRest{}, Secrets: &fakeRest{}, Tools: &fakeRest{}, Config: fakeConfig{}})
	r := newRouter(routes)
	f.Fuzz(func(t *testing.T, method, path string) {
		segs, err := segments(path)
		if err != nil {
			return
		}
		if slices.Contains(segs, "..") {
			t.Fatalf("%q let .. through", path)
		}
		m := r.find(method, segs)
		if m.route != nil && strings.Count(m.route.Path, "{") != len(m.params) {
			t.Fatalf("%s has %d parameters", m.route.Path, len(m.params))
		}
	})
}

// contractRoutes reads the part of the contract's table that is served here.
func contractRoutes(t *testing.T) map[string][]string {
	b, err := os.ReadFile("testdata/routes.tsv")
	if err != nil {
		t.Fatal(err)
	}
	routes := map[string][]string{}
	for _, line := range strings.Split(strings.TrimSpace(string(b)), "\n")[1:] {
		cols := strings.Split(line, "\t")
		routes[cols[0]+" "+cols[1]] = cols
	}
	return routes
}

func TestTableIsTheContracts(t *testing.T) {
	want := contractRoutes(t)
	rights := map[string]Rights{"none": Open, "gateway": Gateway, "gateway|mcp": Gateway | MCP, "gateway (?token=)": Gateway}
	rest := regexp.MustCompile(`\.\.\.}`)
	srv, err := New(options(t, newFakeChats(t)))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range srv.Routes() {
		key := r.Method + " " + rest.ReplaceAllString(r.Path, "}")
		cols := want[key]
		if cols == nil {
			t.Errorf("%s is not in the contract", key)
			continue
		}
		if rights[cols[3]] != r.Rights || !strings.HasPrefix(cols[2], r.Section) || r.handle == nil {
			t.Errorf("%s: rights %s, section %s; the contract says %s, %s", key, r.Rights, r.Section, cols[3], cols[2])
		}
		delete(want, key)
	}
	for key := range want {
		t.Errorf("%s is not served", key)
	}
}

func TestRoutesWithoutAPortAreNotServed(t *testing.T) {
	f := newFakeChats(t)
	srv, err := New(Options{Token: token, Bus: f.bus, Log: f.j, Chats: f})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range srv.Routes() {
		if strings.HasPrefix(r.Path, "/api/models") || r.Path == "/api/config" {
			t.Errorf("%s is served without its port", r.Path)
		}
	}
	if _, err := New(Options{}); err == nil {
		t.Error("a gateway without a token was made")
	}
}
