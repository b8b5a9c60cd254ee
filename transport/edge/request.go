package edge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"sentient/actors/msg"
)

// handler answers a request: with a value that becomes JSON, with written when it answered by itself, or with an error.
type handler func(s *Server, q *request) (any, error)

// request is one request that passed the checks.
type request struct {
	*fasthttp.RequestCtx
	ctx    context.Context // ends at the route's deadline or when a stop is out of time
	route  *Route
	params []string
	rights Rights
}

type writtenAnswer struct{}

// written says that a handler has filled the response itself.
var written = writtenAnswer{}

func (s *Server) handle(ctx *fasthttp.RequestCtx) {
	begun := time.Now()
	q := &request{RequestCtx: ctx}
	defer func() {
		if p := recover(); p != nil {
			s.logPanic("request", q.name(), p)
			ctx.Response.ResetBody()
			fail(ctx, errInternal)
		}
		s.log.Debug("request", "route", q.name(), "status", ctx.Response.StatusCode(), "took", time.Since(begun))
	}()
	securityHeaders(&ctx.Response.Header)
	if err := s.check(q); err != nil {
		s.refused(q, err)
		return
	}
	if q.route == nil { // a preflight or a file of the window, already answered
		return
	}
	if err := s.answer(q); err != nil {
		s.refused(q, err)
	}
}

// refused answers an error. What the client still sends is read for a moment, so that it gets to see the answer.
func (s *Server) refused(q *request, err error) {
	if fail(q.RequestCtx, err) {
		s.log.Error("a request failed", "route", q.name(), "error", err)
	}
	if body := q.RequestBodyStream(); body != nil {
		most := int64(1 << 20)
		if q.rights != 0 {
			most = 64 << 20
		}
		_ = q.SetReadDeadline(time.Now().Add(2 * time.Second))
		if _, err := io.CopyN(io.Discard, body, most); err == nil {
			q.SetConnectionClose()
		}
	}
}

// check is the order of all checks: Host and Origin, the token, the route and its rights, the size.
func (s *Server) check(q *request) error {
	host := string(q.Host())
	if !s.guard.hostOK(host, q.LocalAddr()) {
		return errHost
	}
	origin := string(q.Request.Header.Peek(fasthttp.HeaderOrigin))
	if !originOK(origin, host) {
		return errOrigin
	}
	corsHeaders(q.RequestCtx, origin)
	if s.stopping.Load() {
		q.SetConnectionClose()
		return msg.ErrStopping
	}
	path := string(q.URI().PathOriginal())
	segs, err := segments(path)
	if err != nil {
		return refuse(400, err.Error())
	}
	method := string(q.Method())
	m := s.route.find(method, segs)
	if method == fasthttp.MethodOptions {
		return preflight(q, m)
	}
	if !ours(segs) {
		return s.serveWindow(q, segs)
	}
	if err := s.authorize(q, m); err != nil {
		return err
	}
	if m.route == nil {
		if len(m.allow) == 0 {
			return errNoRoute
		}
		q.Response.Header.Set(fasthttp.HeaderAllow, strings.Join(m.allow, ", "))
		return errMethod
	}
	q.route, q.params = m.route, m.params
	if n := q.Request.Header.ContentLength(); n > q.route.Limit {
		return errBodyBig
	}
	return nil
}

// authorize asks for a token everywhere but on open routes, also where there is no route: a stranger learns nothing.
func (s *Server) authorize(q *request, m match) error {
	if m.route != nil && m.route.Rights&Open != 0 {
		q.rights = Open
		if s.guard.rights(bearer(&q.Request.Header)) == Gateway {
			q.rights = Gateway
		}
		return nil
	}
	if m.route != nil && m.route.Method == "WS" {
		q.rights = s.guard.rights(q.QueryArgs().Peek("token"))
	} else {
		q.rights = s.guard.rights(bearer(&q.Request.Header))
	}
	if q.rights == 0 {
		return errToken
	}
	if m.route != nil && m.route.Rights&q.rights == 0 {
		return errRights
	}
	return nil
}

// ours says whether a path belongs to the gateway's own routes, and not to the window's files.
func ours(segs []string) bool { return segs[0] == "api" || segs[0] == "v1" || segs[0] == "ws" }

func preflight(q *request, m match) error {
	if len(m.allow) == 0 {
		return errNoRoute
	}
	q.Response.Header.Set(fasthttp.HeaderAllow, strings.Join(m.allow, ", "))
	q.SetStatusCode(fasthttp.StatusNoContent)
	return nil
}

func (s *Server) answer(q *request) error {
	timeout := q.route.Timeout
	if timeout == 0 {
		timeout = s.o.Timeout
	}
	var cancel context.CancelFunc
	q.ctx, cancel = context.WithTimeout(s.base, timeout)
	defer cancel()
	flight := &inFlight{q.name()}
	if !s.open.add(flight) {
		return msg.ErrStopping
	}
	defer s.open.remove(flight)
	v, err := q.route.handle(s, q)
	if err != nil {
		return err
	}
	if v != written {
		writeJSON(q.RequestCtx, v)
	}
	return nil
}

// name is the route's template: the log has no ids, file names, query strings or tokens.
func (q *request) name() string {
	if q.route == nil {
		return string(q.Method()) + " (none)"
	}
	return q.route.Method + " " + q.route.Path
}

// bytes reads the whole body, at most the route's limit.
func (q *request) bytes() ([]byte, error) {
	stream := q.RequestBodyStream()
	if stream == nil {
		return nil, nil
	}
	b, err := io.ReadAll(io.LimitReader(stream, int64(q.route.Limit)+1))
	if err != nil {
		return nil, bodyError(err)
	}
	if len(b) > q.route.Limit {
		return nil, errBodyBig
	}
	return b, nil
}

func bodyError(err error) error {
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return refuse(408, "The request's body came too slowly.")
	}
	return refuse(400, "The request's body ended early or cannot be read.")
}

// object reads the body as one JSON object.
func (q *request) object() (*object, error) {
	b, err := q.bytes()
	if err != nil {
		return nil, err
	}
	return decodeObject(b)
}

// optionalObject is object for a body that may be left out.
func (q *request) optionalObject() (*object, error) {
	b, err := q.bytes()
	if err != nil || len(b) == 0 {
		return &object{}, err
	}
	return decodeObject(b)
}

// id is a path parameter that names something.
func (q *request) id(i int) (string, error) {
	if !validID(q.params[i]) {
		return "", errNoRoute
	}
	return q.params[i], nil
}

// query is a query parameter, "" when it is missing.
func (q *request) query(name string) (string, error) {
	v := string(q.QueryArgs().Peek(name))
	if !validText(v) {
		return "", refuse(422, name+" is not valid text.")
	}
	return v, nil
}

func (q *request) number(name string, missing, most int) (int, error) {
	v := string(q.QueryArgs().Peek(name))
	if v == "" {
		return missing, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > most {
		return 0, refuse(422, fmt.Sprintf("%s must be a number from 1 to %d.", name, most))
	}
	return n, nil
}

func (q *request) queryFlag(name string) (bool, error) {
	switch string(q.QueryArgs().Peek(name)) {
	case "", "false", "0":
		return false, nil
	case "true", "1":
		return true, nil
	}
	return false, refuse(422, name+" must be true or false.")
}

// logPanic says what kind of panic it was and where; a panic's own text may quote a person and stays out, unless the
// runtime made it.
func (s *Server) logPanic(what, name string, p any) {
	text := fmt.Sprintf("%T", p)
	if r, ok := p.(runtime.Error); ok {
		text = r.Error()
	}
	s.log.Error("a panic was caught", "in", what, "at", name, "panic", text, "stack", string(debug.Stack()))
}
