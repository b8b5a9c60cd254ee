package edge

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Rights say who may use a route.
type Rights uint8

const (
	Open    Rights = 1 << iota // anybody who passes the Host and Origin checks
	Gateway                    // the person's own clients
	MCP                        // another app, through the MCP server's token
)

func (r Rights) String() string {
	var names []string
	for i, name := range []string{"open", "gateway", "mcp"} {
		if r&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, "|")
}

// Route is one line of the table. Path is a template: {name} is one segment, a last {name...} is the rest of the path.
type Route struct {
	Method  string // WS for a WebSocket
	Path    string
	Rights  Rights
	Section string // of the contract
	Limit   int    // bytes of a body; 0: none is read
	Timeout time.Duration

	handle handler
}

// router finds the route of a request. Literal segments win over parameters (DECISIONS 7), a parameter over the rest of the
// path; a more literal route without the request's method lets a less literal one with it answer.
type router struct{ root node }

type node struct {
	literal map[string]*node
	param   *node
	routes  []*Route // that end here
	rest    []*Route // {name...} after here
}

func newRouter(routes []Route) *router {
	r := &router{}
	for i := range routes {
		r.add(&routes[i])
	}
	return r
}

func (r *router) add(route *Route) {
	n := &r.root
	for seg := range strings.SplitSeq(strings.TrimPrefix(route.Path, "/"), "/") {
		switch {
		case strings.HasSuffix(seg, "...}"):
			n.rest = append(n.rest, route)
			return
		case strings.HasPrefix(seg, "{"):
			if n.param == nil {
				n.param = &node{}
			}
			n = n.param
		default:
			if n.literal == nil {
				n.literal = map[string]*node{}
			}
			if n.literal[seg] == nil {
				n.literal[seg] = &node{}
			}
			n = n.literal[seg]
		}
	}
	n.routes = append(n.routes, route)
}

// match is what the router found: a route with its parameters in order, or the methods that the path has, or nothing.
type match struct {
	route  *Route
	params []string
	allow  []string
}

// find takes the path's decoded segments.
func (r *router) find(method string, segs []string) match {
	var m match
	r.root.find(method, segs, nil, &m)
	slices.Sort(m.allow)
	m.allow = slices.Compact(m.allow)
	return m
}

func (n *node) find(method string, segs, params []string, m *match) bool {
	if len(segs) == 0 {
		return pick(n.routes, method, params, m)
	}
	if next := n.literal[segs[0]]; next != nil && next.find(method, segs[1:], params, m) {
		return true
	}
	if n.param != nil && segs[0] != "" && n.param.find(method, segs[1:], append(params, segs[0]), m) {
		return true
	}
	return len(n.rest) > 0 && pick(n.rest, method, append(params, strings.Join(segs, "/")), m)
}

func pick(routes []*Route, method string, params []string, m *match) bool {
	for _, r := range routes {
		verb := r.Method
		if verb == "WS" {
			verb = "GET"
		}
		if verb == method {
			m.route, m.params = r, slices.Clone(params)
			return true
		}
		m.allow = append(m.allow, verb)
	}
	return false
}

const maxSegments = 32

var errPath = errors.New("This address cannot be read: it has a broken escape or a part that leads elsewhere.")

// segments splits a raw path and decodes each part by itself, so that an escaped slash never makes two parts of one. Parts
// that lead elsewhere (".", ".."), control characters and bad UTF-8 are refused.
func segments(raw string) ([]string, error) {
	if !strings.HasPrefix(raw, "/") {
		return nil, errPath
	}
	segs := strings.Split(raw[1:], "/")
	if len(segs) > maxSegments {
		return nil, errPath
	}
	for i, s := range segs {
		d, err := url.PathUnescape(s)
		if err != nil || !utf8.ValidString(d) || strings.ContainsFunc(d, control) {
			return nil, errPath
		}
		for part := range strings.SplitSeq(d, "/") {
			if part == "." || part == ".." {
				return nil, errPath
			}
		}
		segs[i] = d
	}
	return segs, nil
}

func control(r rune) bool { return r < 0x20 || r == 0x7f }
