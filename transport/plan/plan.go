package plan

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"sentient/transport/oauth"
)

// Provider ids, which are also the names of their entries in the secret store.
const (
	OpenRouter = "openrouter"
	ChatGPT    = "chatgpt"
)

// Plans connects and disconnects plans. It is safe for concurrent use.
type Plans struct {
	o Options
	// turn lets one caller at a time read, renew or remove the ChatGPT sign-in: its refresh token is good for one use.
	turn  chan struct{}
	known *tokens // as stored; nil: not read yet, or signed out
	read  bool
	is    atomic.Pointer[bool] // whether somebody is signed in, for those who must not wait; nil: not known yet
	keys  keyCache
}

// New makes a Plans.
func New(o Options) (*Plans, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return &Plans{o: o, turn: make(chan struct{}, 1)}, nil
}

// Status says how far a sign-in is; false when no sign-in of that provider has that state.
func (p *Plans) Status(provider, state string) (oauth.Status, bool) {
	return p.o.Receiver.Status(provider, state)
}

// ConnectOpenRouter begins OpenRouter's sign-in.
func (p *Plans) ConnectOpenRouter(context.Context) (oauth.Started, error) {
	verifier := oauth.Random()
	return p.o.Receiver.Begin(oauth.Flow{
		Kind: OpenRouter,
		AuthURL: func(redirect, state string) (string, error) {
			// OpenRouter hands back only the code, so the state travels in the callback's own address.
			return withQuery(p.o.Endpoints.OpenRouterAuth, url.Values{"callback_url": {redirect + "?state=" + state},
				"code_challenge": {oauth.Challenge(verifier)}, "code_challenge_method": {"S256"}})
		},
		Finish: func(ctx context.Context, _ string, q url.Values) error {
			return p.openRouterKey(ctx, q.Get("code"), verifier)
		},
	})
}

func (p *Plans) openRouterKey(ctx context.Context, code, verifier string) error {
	if code == "" {
		return &oauth.Refusal{Text: "OpenRouter sent no code. Start the sign-in again."}
	}
	body, err := json.Marshal(map[string]string{"code": code, "code_verifier": verifier, "code_challenge_method": "S256"})
	if err != nil {
		return err
	}
	var out struct {
		Key string `json:"key"`
	}
	status, err := p.ask(ctx, p.o.Endpoints.OpenRouterKeys, "application/json", body, &out)
	switch {
	case err != nil && status == 0:
		return &oauth.Refusal{Text: "OpenRouter can't be reached. Check the internet connection, then start again."}
	case err != nil || out.Key == "":
		return &oauth.Refusal{Text: "OpenRouter did not accept the sign-in. Start again."}
	}
	if err := p.o.Secrets.Set(ctx, OpenRouter, out.Key); err != nil {
		p.o.Logger.Error("a key could not be stored", "provider", OpenRouter, "reason", err.Error())
		return &oauth.Refusal{Text: "The key could not be saved in the keychain. Unlock it, then start again."}
	}
	p.o.Changed(ctx, OpenRouter)
	return nil
}

func withQuery(base string, q url.Values) (string, error) {
	u, err := url.Parse(base)
	if err != nil {
		return "", err
	}
	u.RawQuery = q.Encode()
	return u.String(), nil
}

const maxAnswer = 1 << 20 // bytes of a provider's answer

// ask posts body and reads a JSON answer. The status is 0 when there was no answer; the error never quotes it.
func (p *Plans) ask(ctx context.Context, address, kind string, body []byte, out any) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", kind)
	return p.do(req, out)
}

func (p *Plans) do(req *http.Request, out any) (int, error) {
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "Sentient")
	res, err := p.o.HTTP.Do(req)
	if err != nil {
		return 0, fmt.Errorf("%s can't be reached", req.URL.Host)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return 0, fmt.Errorf("the answer of %s broke off", req.URL.Host)
	}
	if res.StatusCode != http.StatusOK {
		return res.StatusCode, &answerError{res.StatusCode, errorCode(b)}
	}
	if out == nil {
		return res.StatusCode, nil
	}
	if json.Unmarshal(b, out) != nil {
		return res.StatusCode, fmt.Errorf("the answer of %s makes no sense", req.URL.Host)
	}
	return res.StatusCode, nil
}

// answerError is a refusal of an OAuth server: its code only (RFC 6749, 5.2).
type answerError struct {
	status int
	code   string
}

func (e *answerError) Error() string { return fmt.Sprintf("refused with %d %s", e.status, e.code) }

// errorCode reads {"error": "code"} and {"error": {"code": "code"}}.
func errorCode(b []byte) string {
	var flat struct {
		Error json.RawMessage `json:"error"`
		Code  string          `json:"code"`
	}
	if json.Unmarshal(b, &flat) != nil {
		return ""
	}
	var s string
	if json.Unmarshal(flat.Error, &s) == nil && s != "" {
		return plainCode(s)
	}
	var inner struct {
		Code string `json:"code"`
		Type string `json:"type"`
	}
	_ = json.Unmarshal(flat.Error, &inner) // neither form: no code
	for _, c := range []string{inner.Code, flat.Code, inner.Type} {
		if c != "" {
			return plainCode(c)
		}
	}
	return ""
}

// plainCode keeps what a code is made of, so that nothing else of an answer gets into a log.
func plainCode(s string) string {
	if len(s) > 64 || strings.ContainsFunc(s, func(r rune) bool { return r != '_' && r != '-' && (r < 'a' || r > 'z') && (r < '0' || r > '9') }) {
		return "unreadable_code"
	}
	return s
}
