package plan

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"sentient/actors/msg"
	"sentient/transport/oauth"
)

const (
	dynamicClient = "dynamic_agent_client" // asks OpenAI to issue a client id
	planScope     = "chatgpt.tokens.use.direct"
	scopes        = "openid profile email offline_access resource.invoke " + planScope
	resource      = "https://api.openai.com/v1"
	renewBefore   = 5 * time.Minute
	usualLife     = time.Hour // of an access token whose answer names none

	// ManageURL is where a person sees what is left of their plan.
	ManageURL = "https://chatgpt.com/settings/usage"

	signInText = "Sign in with ChatGPT under Settings > Models > Use a plan you already have, or pick another model in Settings > Models."
	againText  = "The ChatGPT sign-in has run out. Sign in with ChatGPT again under Settings > Models > Use a plan you already have."
	offText    = "The ChatGPT sign-in is turned off: models.chatgpt_client_id is empty in the settings."
)

// tokens is the entry chatgpt of the secret store.
type tokens struct {
	ClientID     string    `json:"client_id"`
	AccessToken  string    `json:"access_token"`
	RefreshToken string    `json:"refresh_token"`
	ExpiresAt    time.Time `json:"expires_at"`
	Scope        string    `json:"scope"`
	Email        string    `json:"email"`
}

// Account is GET /api/models/connect/chatgpt.
type Account struct {
	Available      bool    `json:"available"`
	Reason         *string `json:"reason"`
	SignedIn       bool    `json:"signed_in"`
	Email          *string `json:"email"`
	ManageUsageURL string  `json:"manage_usage_url"`
	Welcome        bool    `json:"welcome"`
}

func (p *Plans) lock(ctx context.Context) error {
	select {
	case p.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (p *Plans) unlock() { <-p.turn }

// stored is the sign-in, nil when there is none. The caller holds the turn.
func (p *Plans) stored(ctx context.Context) (*tokens, error) {
	if p.read {
		return p.known, nil
	}
	value, found, err := p.o.Secrets.Get(ctx, ChatGPT)
	if err != nil {
		return nil, err
	}
	p.known = nil
	if t := new(tokens); found && json.Unmarshal([]byte(value), t) == nil && t.AccessToken != "" {
		p.known = t
	}
	p.now(p.known)
	return p.known, nil
}

// now notes what is known of the sign-in. The caller holds the turn.
func (p *Plans) now(t *tokens) {
	signed := t != nil
	p.known, p.read = t, true
	p.is.Store(&signed)
}

// store keeps a sign-in. The caller holds the turn.
func (p *Plans) store(ctx context.Context, t *tokens) error {
	b, err := json.Marshal(t)
	if err != nil {
		return err
	}
	if err := p.o.Secrets.Set(ctx, ChatGPT, string(b)); err != nil {
		return err
	}
	p.now(t)
	return nil
}

// SignedIn reports whether a ChatGPT plan is connected. It waits for the secret store at most once.
func (p *Plans) SignedIn(ctx context.Context) bool {
	if is := p.is.Load(); is != nil {
		return *is
	}
	if p.lock(ctx) != nil {
		return false
	}
	defer p.unlock()
	t, err := p.stored(ctx)
	return err == nil && t != nil
}

// Account describes the sign-in.
func (p *Plans) Account(ctx context.Context) (Account, error) {
	a := Account{Available: p.o.ClientID() != "", ManageUsageURL: ManageURL}
	if !a.Available {
		reason := offText
		a.Reason = &reason
	}
	if err := p.lock(ctx); err != nil {
		return a, err
	}
	defer p.unlock()
	t, err := p.stored(ctx)
	if err != nil || t == nil {
		return a, err
	}
	a.SignedIn = true
	if t.Email != "" {
		a.Email = &t.Email
	}
	seen, err := p.o.Memory.Recall(ctx, keyWelcome)
	a.Welcome = seen == ""
	return a, err
}

// Welcomed notes that the one-time welcome was shown.
func (p *Plans) Welcomed(ctx context.Context) error {
	return p.o.Memory.Remember(ctx, keyWelcome, "true")
}

// attempt is what a sign-in must match when the browser comes back.
type attempt struct {
	asked, verifier, nonce string
	dynamic                bool
}

// ConnectChatGPT begins the sign-in with ChatGPT; a *msg.Fault (409) when it is turned off.
func (p *Plans) ConnectChatGPT(ctx context.Context) (oauth.Started, error) {
	a := attempt{asked: p.o.ClientID(), verifier: oauth.Random(), nonce: oauth.Random()}
	if a.asked == "" {
		return oauth.Started{}, msg.NewFault(msg.Conflict, offText)
	}
	if a.asked == dynamicClient {
		issued, err := p.o.Memory.Recall(ctx, keyClient)
		if err != nil {
			return oauth.Started{}, err
		}
		if a.dynamic = issued == ""; !a.dynamic {
			a.asked = issued
		}
	}
	host, err := p.hostID(ctx)
	if err != nil {
		return oauth.Started{}, err
	}
	return p.o.Receiver.Begin(oauth.Flow{
		Kind: ChatGPT,
		AuthURL: func(redirect, state string) (string, error) {
			q := url.Values{"client_id": {a.asked}, "response_type": {"code"}, "redirect_uri": {redirect}, "scope": {scopes}, "resource": {resource},
				"state": {state}, "nonce": {a.nonce}, "code_challenge": {oauth.Challenge(a.verifier)}, "code_challenge_method": {"S256"},
				"ext_agent_host_id": {host}}
			if a.dynamic {
				q.Set("agent_name_hint", "Sentient")
			}
			return withQuery(p.o.Endpoints.Authorize, q)
		},
		Finish: func(ctx context.Context, redirect string, q url.Values) error { return p.finish(ctx, a, redirect, q) },
	})
}

// hostID names this computer to OpenAI: random, made once.
func (p *Plans) hostID(ctx context.Context) (string, error) {
	if err := p.lock(ctx); err != nil {
		return "", err
	}
	defer p.unlock()
	id, err := p.o.Memory.Recall(ctx, keyHost)
	if err != nil || id != "" {
		return id, err
	}
	id = "urn:uuid:" + newUUID()
	return id, p.o.Memory.Remember(ctx, keyHost, id)
}

var errMismatch = &oauth.Refusal{Text: "ChatGPT answered a different sign-in than this one, so it was refused. Start again."}

// finish checks everything a callback must have, then keeps the tokens.
func (p *Plans) finish(ctx context.Context, a attempt, redirect string, q url.Values) error {
	client := a.asked
	issued := q["client_id"]
	switch {
	case len(issued) > 1, a.dynamic && (len(issued) != 1 || issued[0] == "" || issued[0] == dynamicClient), !a.dynamic && len(issued) == 1 && issued[0] != a.asked:
		return errMismatch
	case a.dynamic:
		client = issued[0]
	}
	if q.Get("code") == "" {
		return &oauth.Refusal{Text: "ChatGPT sent no code. Start the sign-in again."}
	}
	got, err := p.token(ctx, url.Values{"grant_type": {"authorization_code"}, "client_id": {client}, "code": {q.Get("code")},
		"code_verifier": {a.verifier}, "redirect_uri": {redirect}, "resource": {resource}})
	if got.Scope == "" {
		got.Scope = q.Get("scope")
	}
	var refused *answerError
	switch {
	case errors.As(err, &refused):
		p.o.Logger.Warn("the ChatGPT sign-in was refused", "reason", refused.Error())
		return &oauth.Refusal{Text: "ChatGPT did not accept the sign-in. Start again."}
	case err != nil:
		return &oauth.Refusal{Text: "ChatGPT can't be reached. Check the internet connection, then start again."}
	case !slices.Contains(strings.Fields(got.Scope), planScope):
		return &oauth.Refusal{Text: "ChatGPT did not allow Sentient to use your plan. Start again and allow it, with a Plus or Pro account."}
	case got.AccessToken == "" || got.RefreshToken == "" || got.IDToken == "":
		return errMismatch
	}
	id, err := p.verify(ctx, got.IDToken, client, a.nonce)
	if err != nil {
		p.o.Logger.Warn("ChatGPT's ID token was refused", "reason", err.Error())
		return &oauth.Refusal{Text: "ChatGPT's answer could not be verified, so it was refused. Check this computer's clock, then start again."}
	}
	return p.keep(ctx, a, got.tokens(client, id.Email, p.o.Now()))
}

func (p *Plans) keep(ctx context.Context, a attempt, t *tokens) error {
	if err := p.lock(ctx); err != nil {
		return err
	}
	err := p.store(ctx, t)
	if err == nil && a.dynamic {
		err = p.o.Memory.Remember(ctx, keyClient, t.ClientID)
	}
	p.unlock()
	if err != nil {
		p.o.Logger.Error("the ChatGPT sign-in could not be stored", "reason", err.Error())
		return &oauth.Refusal{Text: "The sign-in could not be saved in the keychain. Unlock it, then start again."}
	}
	p.o.Changed(ctx, ChatGPT)
	return nil
}

// tokenAnswer is RFC 6749, 5.1, with OpenID Connect's id_token.
type tokenAnswer struct {
	AccessToken  string `json:"access_token"`
	RefreshToken string `json:"refresh_token"`
	IDToken      string `json:"id_token"`
	Scope        string `json:"scope"`
	ExpiresIn    int64  `json:"expires_in"` // seconds
}

func (a tokenAnswer) tokens(client, email string, now time.Time) *tokens {
	life := usualLife
	if a.ExpiresIn > 0 && a.ExpiresIn < 365*24*3600 {
		life = time.Duration(a.ExpiresIn) * time.Second
	}
	return &tokens{ClientID: client, AccessToken: a.AccessToken, RefreshToken: a.RefreshToken, ExpiresAt: now.Add(life).UTC(), Scope: a.Scope, Email: email}
}

func (p *Plans) token(ctx context.Context, form url.Values) (tokenAnswer, error) {
	var out tokenAnswer
	_, err := p.ask(ctx, p.o.Endpoints.Token, "application/x-www-form-urlencoded", []byte(form.Encode()), &out)
	return out, err
}

// Token is an access token that is good for at least a while. Stale names a token that was just turned down: if it is still
// the one in use it is renewed whatever its age. The error is a *msg.ModelError.
func (p *Plans) Token(ctx context.Context, stale string) (string, error) {
	if err := p.lock(ctx); err != nil {
		return "", modelError(msg.FaultCancelled, "Stopped.", "")
	}
	defer p.unlock()
	t, err := p.stored(ctx)
	switch {
	case err != nil:
		return "", modelError(msg.FaultKey, "The keychain can't be read, so the ChatGPT sign-in is not available. Unlock it, then try again.", err.Error())
	case t == nil:
		return "", modelError(msg.FaultKey, signInText, "")
	case stale != t.AccessToken && p.o.Now().Add(renewBefore).Before(t.ExpiresAt):
		return t.AccessToken, nil
	}
	return p.renew(ctx, t, stale)
}

// finalCodes say that a refresh token will never work again.
var finalCodes = []string{"invalid_grant", "refresh_token_reused", "refresh_token_expired", "refresh_token_invalidated", "refresh_token_revoked",
	"invalid_refresh_token", "token_revoked", "unauthorized_client", "invalid_client"}

// renew swaps the refresh token for new tokens. The answer holds the only refresh token that still works, so it is stored even
// when the caller has gone. The caller holds the turn.
func (p *Plans) renew(ctx context.Context, t *tokens, stale string) (string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	got, err := p.token(ctx, url.Values{"grant_type": {"refresh_token"}, "client_id": {t.ClientID}, "refresh_token": {t.RefreshToken}})
	var refused *answerError
	switch {
	case errors.As(err, &refused) && slices.Contains(finalCodes, refused.code):
		p.o.Logger.Warn("the ChatGPT sign-in is over", "reason", refused.Error())
		if err := p.remove(ctx); err != nil {
			p.o.Logger.Error("the ChatGPT sign-in could not be removed", "reason", err.Error())
		}
		return "", modelError(msg.FaultKey, againText, refused.Error())
	case err != nil || got.AccessToken == "":
		if stale == "" && p.o.Now().Before(t.ExpiresAt) {
			return t.AccessToken, nil // it still works; the next call tries again
		}
		return "", modelError(msg.FaultUnreachable, "ChatGPT can't be reached to renew the sign-in. Check the internet connection, or pick another model in Settings > Models.", text(err))
	}
	n := got.tokens(t.ClientID, t.Email, p.o.Now())
	if n.RefreshToken == "" {
		n.RefreshToken = t.RefreshToken
	}
	if n.Scope == "" {
		n.Scope = t.Scope
	}
	if err := p.store(ctx, n); err != nil {
		// It works until the engine ends; after that the person must sign in again.
		p.known = n
		p.o.Logger.Error("the renewed ChatGPT sign-in could not be stored", "reason", err.Error())
	}
	return n.AccessToken, nil
}

func text(err error) string {
	if err == nil {
		return "the answer has no token"
	}
	return err.Error()
}

func modelError(f msg.ModelFault, sentence, raw string) *msg.ModelError {
	return &msg.ModelError{Fault: f, Model: ChatGPT, Message: sentence, Raw: raw}
}

// remove forgets the sign-in. The caller holds the turn.
func (p *Plans) remove(ctx context.Context) error {
	if err := p.o.Secrets.Delete(ctx, ChatGPT); err != nil {
		return err
	}
	p.now(nil)
	p.o.Changed(ctx, ChatGPT)
	return nil
}

// revokeWithin bounds the politeness of telling OpenAI about a sign-out.
const revokeWithin = 10 * time.Second

// SignOut removes the sign-in and, best effort, revokes it with OpenAI.
func (p *Plans) SignOut(ctx context.Context) error {
	p.o.Receiver.Cancel(ChatGPT)
	if err := p.lock(ctx); err != nil {
		return err
	}
	defer p.unlock()
	t, err := p.stored(ctx)
	if err != nil {
		return err
	}
	if err := p.remove(ctx); err != nil || t == nil || t.RefreshToken == "" {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, revokeWithin)
	defer cancel()
	form := url.Values{"token": {t.RefreshToken}, "token_type_hint": {"refresh_token"}, "client_id": {t.ClientID}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.o.Endpoints.Revoke, strings.NewReader(form.Encode()))
	if err == nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		_, err = p.do(req, nil)
	}
	if err != nil {
		p.o.Logger.Warn("ChatGPT could not be told of the sign-out", "reason", err.Error())
	}
	return nil
}
