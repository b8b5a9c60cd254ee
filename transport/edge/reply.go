package edge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"syscall"

	"github.com/valyala/fasthttp"

	"sentient/actors/msg"
	"sentient/runtime/work"
	"sentient/storage/blob"
	"sentient/storage/journal"
)

// refusal is an error with a status of its own.
type refusal struct {
	status int
	text   string
}

func (e *refusal) Error() string { return e.text }

func refuse(status int, text string) error { return &refusal{status, text} }

var (
	errHost     = refuse(403, "This name does not lead to Sentient. Open it as http://127.0.0.1 or localhost.")
	errOrigin   = refuse(403, "Pages of other sites may not use Sentient.")
	errToken    = refuse(401, "The token is missing or wrong. Open Sentient again, or use the token from the gateway.token file.")
	errRights   = refuse(403, "This token does not open this.")
	errNoRoute  = refuse(404, "There is nothing at this address.")
	errMethod   = refuse(405, "This address exists, but not with this method.")
	errBodyBig  = refuse(413, "This is too large: the request was refused unread.")
	errInternal = refuse(500, "Something went wrong inside Sentient. Its log has the details; please try again.")
	errLate     = refuse(504, "Sentient did not answer in time. Please try again.")
	errDamaged  = refuse(500, "A part of what Sentient stored is damaged: this cannot be read, other things can. The disk may be failing; restore a backup.")
	errNoFile   = refuse(404, "This file doesn't exist (anymore).")
)

var faultStatus = map[msg.FaultKind]int{msg.NotFound: 404, msg.Invalid: 422, msg.BadRequest: 400, msg.Conflict: 409, msg.Busy: 503,
	msg.Full: 507, msg.Stopping: 503}

// statusOf turns an error into a status, the detail a client may read, and whether the error is a surprise for the log.
func statusOf(err error) (status int, detail any, surprise bool) {
	var r *refusal
	var inv *Invalid
	if errors.As(err, &r) {
		return r.status, r.text, false
	}
	if errors.As(err, &inv) {
		return 422, inv.Detail, false
	}
	if f, ok := msg.AsFault(err); ok {
		if status = faultStatus[f.Kind]; status != 0 {
			return status, f.Text, false
		}
	}
	if m, ok := msg.AsModelError(err); ok {
		return 502, m.Message, false
	}
	var damage *journal.CorruptError
	switch {
	case errors.As(err, &damage):
		return 500, errDamaged.Error(), true
	case errors.Is(err, journal.ErrFull), errors.Is(err, syscall.ENOSPC):
		return 507, msg.ErrDiskFull.Text, false
	case errors.Is(err, journal.ErrClosed), errors.Is(err, context.Canceled):
		return 503, msg.ErrStopping.Text, false
	case errors.Is(err, work.ErrStopped), errors.Is(err, work.ErrStaleEpoch):
		return 409, "Stopped.", false
	case errors.Is(err, journal.ErrDeleted):
		return 404, msg.ErrNoChat.Text, false
	case errors.Is(err, context.DeadlineExceeded):
		return 504, errLate.Error(), false
	case errors.Is(err, blob.ErrNotFound):
		return 404, errNoFile.Error(), false
	case errors.Is(err, blob.ErrTooLarge):
		return 413, errBodyBig.Error(), false
	case errors.Is(err, blob.ErrName):
		return 422, err.Error(), false
	}
	return 500, errInternal.Error(), true
}

// plain is an error as one sentence, for the places that have no status (a socket's error event).
func plain(err error) (text string, surprise bool) {
	_, detail, surprise := statusOf(err)
	if s, ok := detail.(string); ok {
		return s, surprise
	}
	return err.Error(), surprise
}

// fail answers an error as {"detail": ...}.
func fail(ctx *fasthttp.RequestCtx, err error) (surprise bool) {
	status, detail, surprise := statusOf(err)
	switch status {
	case 401:
		ctx.Response.Header.Set(fasthttp.HeaderWWWAuthenticate, "Bearer")
	case 503:
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, "1")
	}
	ctx.SetStatusCode(status)
	writeJSON(ctx, map[string]any{"detail": detail})
	return surprise
}

func writeJSON(ctx *fasthttp.RequestCtx, v any) {
	b, err := marshal(v)
	if err != nil {
		ctx.SetStatusCode(500)
		b = []byte(`{"detail":` + strconv.Quote(errInternal.Error()) + `}`)
	}
	ctx.SetContentType("application/json")
	ctx.SetBody(b)
}

// marshal is JSON without HTML escapes: clients set text as text.
func marshal(v any) ([]byte, error) {
	if raw, ok := v.(json.RawMessage); ok {
		return raw, nil
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(buf.Bytes(), "\n"), nil
}

// body builds an event without its last brace from names and values, in order. The names are our own.
func body(typ string, kv ...any) []byte {
	b := append([]byte(`{"type":"`), typ...)
	b = append(b, '"')
	for i := 0; i+1 < len(kv); i += 2 {
		v, err := marshal(kv[i+1])
		if err != nil {
			v = []byte("null")
		}
		b = append(append(append(b, `,"`...), kv[i].(string)...), `":`...)
		b = append(b, v...)
	}
	return b
}

const apiCSP = "default-src 'none'; frame-ancestors 'none'"

func securityHeaders(h *fasthttp.ResponseHeader) {
	h.Set(fasthttp.HeaderXContentTypeOptions, "nosniff")
	h.Set(fasthttp.HeaderReferrerPolicy, "no-referrer")
	h.Set(fasthttp.HeaderXFrameOptions, "DENY")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set(fasthttp.HeaderContentSecurityPolicy, apiCSP)
	h.Set(fasthttp.HeaderCacheControl, "no-store")
}

// corsHeaders let an allowed page of another origin (a desktop shell) read the answer.
func corsHeaders(ctx *fasthttp.RequestCtx, origin string) {
	h := &ctx.Response.Header
	h.Set(fasthttp.HeaderVary, "Origin")
	if origin == "" {
		return
	}
	h.Set(fasthttp.HeaderAccessControlAllowOrigin, origin)
	h.Set(fasthttp.HeaderAccessControlExposeHeaders, "Content-Disposition, Retry-After")
	if !ctx.IsOptions() {
		return
	}
	h.Set(fasthttp.HeaderAccessControlAllowMethods, "GET, HEAD, POST, PUT, PATCH, DELETE")
	h.Set(fasthttp.HeaderAccessControlAllowHeaders, "Authorization, Content-Type")
	h.Set(fasthttp.HeaderAccessControlMaxAge, "600")
	if len(ctx.Request.Header.Peek("Access-Control-Request-Private-Network")) > 0 {
		h.Set("Access-Control-Allow-Private-Network", "true")
	}
}
