package plan

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"sentient/transport/oauth"
)

// Secrets is the secret store.
type Secrets interface {
	Get(ctx context.Context, name string) (value string, found bool, err error)
	Set(ctx context.Context, name, value string) error
	Delete(ctx context.Context, name string) error
}

// Memory is what is remembered of this computer's plans over sign-outs; none of it is secret.
type Memory interface {
	Recall(ctx context.Context, key string) (string, error) // "" when there is nothing
	Remember(ctx context.Context, key, value string) error
}

// Keys of Memory (store meta).
const (
	keyClient  = "chatgpt.client_id" // the client id that OpenAI issued to this computer
	keyHost    = "chatgpt.host_id"
	keyWelcome = "chatgpt.welcomed"
)

// Endpoints are the providers' addresses; empty ones are the real ones. Tests put their own servers here.
type Endpoints struct {
	OpenRouterAuth string // the page
	OpenRouterKeys string // where a code becomes a key
	Authorize      string // ChatGPT: the page
	Token, Revoke  string
	Keys           string // OpenAI's published signing keys
	Issuer         string
}

func (e Endpoints) withDefaults() Endpoints {
	for p, v := range map[*string]string{
		&e.OpenRouterAuth: "https://openrouter.ai/auth",
		&e.OpenRouterKeys: "https://openrouter.ai/api/v1/auth/keys",
		&e.Authorize:      "https://auth.openai.com/api/accounts/authorize",
		&e.Token:          "https://auth.openai.com/api/accounts/oauth/token",
		&e.Revoke:         "https://auth.openai.com/api/accounts/oauth/revoke",
		&e.Keys:           "https://auth.openai.com/.well-known/jwks.json",
		&e.Issuer:         "https://auth.openai.com",
	} {
		if *p == "" {
			*p = v
		}
	}
	return e
}

// Options of the room.
type Options struct {
	Receiver *oauth.Receiver
	Secrets  Secrets
	Memory   Memory
	ClientID func() string // models.chatgpt_client_id; "" turns the ChatGPT sign-in off
	// Changed is told that a plan was connected or disconnected, after that is stored. It must not ask this room anything.
	Changed   func(ctx context.Context, provider string)
	Endpoints Endpoints
	HTTP      *http.Client // nil: one of its own, which follows no redirects
	Now       func() time.Time
	Logger    *slog.Logger
}

// Validate fills the defaults and says what is missing.
func (o *Options) Validate() error {
	if o.Receiver == nil || o.Secrets == nil || o.Memory == nil || o.ClientID == nil {
		return errors.New("plan: Receiver, Secrets, Memory and ClientID are needed")
	}
	if o.Changed == nil {
		o.Changed = func(context.Context, string) {}
	}
	if o.HTTP == nil {
		o.HTTP = &http.Client{Timeout: 30 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Endpoints = o.Endpoints.withDefaults()
	return nil
}
