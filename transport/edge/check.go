package edge

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"github.com/valyala/fasthttp"
)

// guard decides who may speak to the gateway, before anything else is looked at.
type guard struct {
	hosts   map[string]struct{} // lower case, without port
	gateway [sha256.Size]byte
	mcp     [sha256.Size]byte
	hasMCP  bool
}

func newGuard(o *Options) *guard {
	g := &guard{hosts: map[string]struct{}{}, gateway: sha256.Sum256([]byte(o.Token)), hasMCP: o.MCPToken != ""}
	if g.hasMCP {
		g.mcp = sha256.Sum256([]byte(o.MCPToken))
	}
	for _, h := range o.Hosts {
		g.hosts[strings.ToLower(h)] = struct{}{}
	}
	return g
}

// hostOK refuses names that a foreign page could point at this computer (DNS rebinding): only loopback names and
// addresses, the address the connection came in on, and names the person set are served.
func (g *guard) hostOK(host string, local net.Addr) bool {
	name, _ := splitHost(host)
	if isLoopbackName(name) {
		return true
	}
	if _, ok := g.hosts[name]; ok {
		return true
	}
	ip, err := netip.ParseAddr(name)
	if err != nil {
		return false
	}
	tcp, ok := local.(*net.TCPAddr)
	return ok && ip.Unmap() == tcp.AddrPort().Addr().Unmap()
}

// originOK allows no origin, this gateway's own pages, and desktop shells ("file://", "null"). A page of another server on
// this computer is foreign.
func originOK(origin, host string) bool {
	switch origin {
	case "", "null", "file://":
		return true
	}
	u, err := url.Parse(origin)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.User != nil || u.Path != "" || u.RawQuery != "" {
		return false
	}
	if strings.EqualFold(u.Host, host) {
		return true
	}
	// The page may have been opened by another loopback name than the one it calls.
	oName, oPort := splitHost(u.Host)
	hName, hPort := splitHost(host)
	return oPort == hPort && isLoopbackName(oName) && isLoopbackName(hName)
}

// splitHost gives the lower-case name (without brackets) and the port ("" none).
func splitHost(host string) (name, port string) {
	if n, p, err := net.SplitHostPort(host); err == nil {
		return strings.ToLower(n), p
	}
	return strings.ToLower(strings.Trim(host, "[]")), ""
}

func isLoopbackName(name string) bool {
	if name == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.Unmap().IsLoopback()
}

// rights says what a token opens. Comparing digests takes the same time whatever the token.
func (g *guard) rights(token []byte) Rights {
	sum := sha256.Sum256(token)
	gateway := subtle.ConstantTimeCompare(sum[:], g.gateway[:])
	mcp := subtle.ConstantTimeCompare(sum[:], g.mcp[:])
	switch {
	case len(token) > 0 && gateway == 1:
		return Gateway
	case len(token) > 0 && g.hasMCP && mcp == 1:
		return MCP
	}
	return 0
}

// bearer is the token of the Authorization header (RFC 6750).
func bearer(h *fasthttp.RequestHeader) []byte {
	v := h.Peek(fasthttp.HeaderAuthorization)
	const scheme = "bearer "
	if len(v) <= len(scheme) || !strings.EqualFold(string(v[:len(scheme)]), scheme) {
		return nil
	}
	return v[len(scheme):]
}
