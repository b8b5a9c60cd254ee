package edge

import (
	"io/fs"
	"mime"
	"path"
	"strings"

	"github.com/valyala/fasthttp"
)

// windowCSP lets the window run its own files only, talk to this gateway only, and show pictures it was given.
const windowCSP = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; " +
	"connect-src 'self' ws://127.0.0.1:* ws://localhost:*; img-src 'self' data: blob:; media-src 'self' blob:; " +
	"manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// serveWindow answers with a file of the window. It is static and the same for everybody, so it needs no token.
func (s *Server) serveWindow(q *request, segs []string) error {
	if s.o.Window == nil {
		return errNoRoute
	}
	name := strings.Join(segs, "/")
	if name == "" {
		name = "index.html"
	}
	if !fs.ValidPath(name) {
		return errNoRoute
	}
	b, err := fs.ReadFile(s.o.Window, name)
	if err != nil {
		return errNoRoute
	}
	if !q.IsGet() && !q.IsHead() {
		q.Response.Header.Set(fasthttp.HeaderAllow, "GET, HEAD")
		return errMethod
	}
	h := &q.Response.Header
	h.Set(fasthttp.HeaderContentSecurityPolicy, windowCSP)
	h.Set(fasthttp.HeaderCacheControl, "no-cache")
	if strings.HasPrefix(name, "assets/") { // names made of their content
		h.Set(fasthttp.HeaderCacheControl, "public, max-age=31536000, immutable")
	}
	typ := mime.TypeByExtension(path.Ext(name))
	switch path.Ext(name) { // the system's table may say otherwise
	case ".js", ".mjs":
		typ = "text/javascript; charset=utf-8"
	case ".css":
		typ = "text/css; charset=utf-8"
	case ".html":
		typ = "text/html; charset=utf-8"
	case ".svg":
		typ = "image/svg+xml"
	case ".webmanifest":
		typ = "application/manifest+json"
	}
	if typ == "" {
		typ = "application/octet-stream"
	}
	q.SetContentType(typ)
	q.SetBody(b)
	return nil
}
