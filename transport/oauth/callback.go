package oauth

import (
	"context"
	"errors"
	"html/template"
	"net"
	"net/http"
	"net/url"
)

// serve answers the browser. Anything but a callback with a state that waits is refused and changes nothing.
func (r *Receiver) serve(w http.ResponseWriter, q *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	h.Set("Connection", "close")
	if q.URL.Path != CallbackPath || !loopback(q.Host) {
		http.NotFound(w, q)
		return
	}
	if q.Method != http.MethodGet {
		h.Set("Allow", http.MethodGet)
		http.Error(w, "Use GET.", http.StatusMethodNotAllowed)
		return
	}
	text, ok := r.callback(q.URL)
	page(w, ok, text)
}

func loopback(host string) bool {
	name, _, err := net.SplitHostPort(host)
	return err == nil && (name == "127.0.0.1" || name == "localhost" || name == "::1")
}

const unknownState = "This sign-in is not known, or was already used. Start it again in Sentient."

// callback finishes the sign-in that a callback belongs to, and says in a sentence how it went.
func (r *Receiver) callback(address *url.URL) (text string, ok bool) {
	values, err := url.ParseQuery(address.RawQuery)
	if err != nil || len(values["state"]) != 1 {
		return unknownState, false
	}
	f := r.take(values.Get("state"))
	if f == nil {
		return unknownState, false
	}
	defer r.busy.Done()
	err = r.finish(f, values)
	var refused *Refusal
	switch {
	case err == nil:
		text = ""
	case errors.As(err, &refused):
		text = refused.Text
	default:
		text = "The sign-in could not be finished. Start again in a moment."
	}
	if err != nil {
		r.o.Logger.Warn("a sign-in failed", "provider", f.Kind, "reason", err.Error())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	f.phase, f.text = Connected, ""
	if err != nil {
		f.phase, f.text = Failed, text
	}
	f.timer.Reset(r.o.Life)
	r.settle()
	return text, err == nil
}

// take makes the caller the one who finishes a waiting sign-in; nil when there is none. The caller calls busy.Done.
func (r *Receiver) take(state string) *flow {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.flows[state]
	if f == nil || f.phase != Waiting || r.closed {
		return nil
	}
	f.phase = Exchanging
	r.busy.Add(1)
	return f
}

// finish runs the provider's part. A browser that goes away does not end it: the code is spent by now.
func (r *Receiver) finish(f *flow, values url.Values) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("the sign-in failed unexpectedly")
		}
	}()
	if e := values.Get("error"); e != "" {
		if e == "access_denied" {
			return &Refusal{"The sign-in was declined in the browser. Start again when you like."}
		}
		return &Refusal{"The provider did not allow the sign-in. Start again in a moment."}
	}
	ctx, cancel := context.WithTimeout(r.base, r.o.Within)
	defer cancel()
	return f.Finish(ctx, f.redirect, values)
}

var pageForm = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{{.Title}}</title>
<style>body{font:17px/1.5 system-ui,sans-serif;display:grid;place-items:center;min-height:90vh;margin:0;background:#111;color:#eee}main{max-width:30em;padding:2em;text-align:center}</style>
<main><h1>{{.Title}}</h1><p>{{.Text}}</p></main></html>
`))

func page(w http.ResponseWriter, ok bool, text string) {
	title, status := "You're connected", http.StatusOK
	if !ok {
		title, status = "Connection failed", http.StatusBadRequest
	} else {
		text = "You can close this page and go back to Sentient."
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = pageForm.Execute(w, map[string]string{"Title": title, "Text": text}) // the browser may be gone
}
