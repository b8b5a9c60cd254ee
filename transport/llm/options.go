package llm

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"sentient/actors/msg"
)

// Settings is a snapshot of the configuration this room needs. It is asked for at every call, so changes apply at once.
type Settings struct {
	Providers            map[string]ProviderSettings
	RequestTimeout       time.Duration // the longest silence of a provider; 0 means 180 seconds
	LocalOnly            bool
	ContextLength        int            // Ollama's num_ctx in tokens; 0 leaves Ollama's own
	ContextLengthPerRole map[string]int // overrides ContextLength
	Reasoning            map[string]string
	Temperature          map[string]float64
	ClaudeCode           bool // models.experimental_claude_code
}

// ProviderSettings are the connection settings of one provider.
type ProviderSettings struct {
	APIBase string // "" leaves the provider's own
	KeyEnv  string // the environment variable that holds the key; "" leaves the provider's usual one
}

// Streamer answers a model request. Client and Guide are Streamers.
type Streamer interface {
	Stream(ctx context.Context, req msg.ModelRequest, emit func(msg.ModelChunk) error) (msg.ModelResult, error)
}

// Options are what a Client needs. The zero value works: no keys, default addresses, the usual network.
type Options struct {
	Settings func() Settings
	Key      func(provider string) (string, bool) // the keychain's entry; nil means it has none
	Env      func(name string) string             // nil means the process's environment
	HTTP     *http.Client                         // replaces the client's own transport; Dial is ignored then
	Dial     func(ctx context.Context, network, address string) (net.Conn, error)
	Guide    Streamer // answers demo/guide; nil means NewGuide(GuideOptions{})
	Plan     Plan     // the ChatGPT plan; nil: nobody can sign in
	Claude   Program  // answers claude-code/ models; nil: not available
	Builtin  Embedder // answers builtin/use-lite; nil: not installed
	Logger   *slog.Logger
	// Allow is asked before anything is sent to a model. A refusal is a *msg.ModelError and becomes the call's error; nil allows
	// everything. Local only is not its business: that is checked before it.
	Allow func(ctx context.Context, model string) error
	// Counted hears of the calls that the client makes by itself (Test, Embed), which nobody else counts; nil ignores them.
	Counted func(msg.CountedCall)
}

// Program is the person's own Claude Code. Both errors are a *msg.ModelError.
type Program interface {
	Streamer
	// Ready says, without calling a model, why it can't answer now; nil when it may.
	Ready(model string) error
}

// Validate says what cannot work.
func (o Options) Validate() error {
	if o.HTTP != nil && o.Dial != nil {
		return errors.New("give the model client either HTTP or Dial, not both")
	}
	return nil
}

// Client calls models. It is safe for concurrent use; Close it when done.
type Client struct {
	opts   Options
	http   *http.Client
	ollama *ollamaCache
	plan   *planList
	offers *offers
	newID  func() string
}

// New makes a Client. The error names an option that cannot work.
func New(o Options) (*Client, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Settings == nil {
		o.Settings = func() Settings { return Settings{} }
	}
	if o.Key == nil {
		o.Key = func(string) (string, bool) { return "", false }
	}
	if o.Env == nil {
		o.Env = os.Getenv
	}
	if o.Guide == nil {
		o.Guide = NewGuide(GuideOptions{})
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Allow == nil {
		o.Allow = func(context.Context, string) error { return nil }
	}
	if o.Counted == nil {
		o.Counted = func(msg.CountedCall) {}
	}
	c := &Client{opts: o, http: o.HTTP, ollama: newOllamaCache(), plan: newPlanList(), offers: newOffers(), newID: inventID}
	if c.http == nil {
		c.http = newHTTP(o.Dial)
	}
	return c, nil
}

// Close drops idle connections. Streams that still run end by their contexts.
func (c *Client) Close() { c.http.CloseIdleConnections() }

const defaultTimeout = 180 * time.Second

func (s Settings) timeout() time.Duration {
	if s.RequestTimeout <= 0 {
		return defaultTimeout
	}
	return s.RequestTimeout
}

func (s Settings) contextLength(role string) int {
	if n := s.ContextLengthPerRole[role]; n > 0 {
		return n
	}
	return s.ContextLength
}

// key finds a provider's key: the keychain first, then the environment.
func (c *Client) key(s Settings, p *provider) string {
	if k, ok := c.opts.Key(p.id); ok && strings.TrimSpace(k) != "" {
		return strings.TrimSpace(k)
	}
	if env := keyEnv(s, p); env != "" {
		return strings.TrimSpace(c.opts.Env(env))
	}
	return ""
}

func keyEnv(s Settings, p *provider) string {
	if env := s.Providers[p.id].KeyEnv; env != "" {
		return env
	}
	return p.keyEnv
}

func inventID() string {
	var b [12]byte
	rand.Read(b[:]) // never fails since Go 1.24
	return "call_" + hex.EncodeToString(b[:])
}

// newHTTP is one transport for all providers: HTTP/1.1 keep-alive, uncompressed streams, no redirects. A redirect could carry a
// key, or a chat that Local only keeps here, to another address.
func newHTTP(dial func(ctx context.Context, network, address string) (net.Conn, error)) *http.Client {
	if dial == nil {
		dial = (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	t := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dial,
		TLSHandshakeTimeout:    10 * time.Second,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    64,
		MaxIdleConns:           256,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 256 << 10,
		Protocols:              new(http.Protocols),
	}
	t.Protocols.SetHTTP1(true)
	return &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
