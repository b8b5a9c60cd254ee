// Package plantest owns a server that plays the providers of plans for tests: OpenRouter's and OpenAI's sign-in with real PKCE
// checks, signed ID tokens and rotating refresh tokens, the plan's model list, and the Responses endpoint.
package plantest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// Knobs make the server misbehave. The zero value behaves.
type Knobs struct {
	Decline      bool                            // the person says no in the browser
	Issue        string                          // the client id that the callback brings; "" issues app_1, "-" none
	Scope        string                          // granted; "" all that was asked for
	Header       map[string]any                  // laid over the ID token's header
	Claims       map[string]any                  // laid over its claims; nil values are left out
	Forge        bool                            // the ID token is signed with another key
	NoIDToken    bool                            //
	ExpiresIn    int                             // seconds; 0: an hour
	TokenError   string                          // every token request is refused with this code
	TokenStatus  int                             // of that refusal; 0: 400
	Arrived      func()                          // told of each token request
	Hold         chan struct{}                   // token requests wait for it
	Key          string                          // OpenRouter's key; "" is sk-or-test
	Models       string                          // the plan's model list as JSON; "" is DefaultModels
	Respond      func(body []byte) (int, string) // POST /v1/responses; nil says Hello
	RefuseRevoke bool
}

// DefaultModels is a plan's model list.
const DefaultModels = `{"models":[
 {"slug":"gpt-6-sol","display_name":"GPT-6 Sol","visibility":"list","priority":5,"context_window":272000,"supported_reasoning_levels":[{"effort":"low","description":""},{"effort":"medium","description":""},{"effort":"high","description":""}]},
 {"slug":"gpt-6-luna","display_name":"GPT-6 Luna","visibility":"list","priority":1,"context_window":128000,"supported_reasoning_levels":[{"effort":"medium"},{"effort":"minimal"}]},
 {"slug":"gpt-secret","display_name":"Hidden","visibility":"hide","priority":0},
 {"slug":"gpt-plain","display_name":"GPT Plain","visibility":"list"}]}`

// Server is the providers. Close it.
type Server struct {
	*httptest.Server
	key, other *rsa.PrivateKey

	mu      sync.Mutex
	knobs   Knobs
	codes   map[string]grant
	spent   map[string]bool // refresh tokens
	refresh string
	access  string
	n       int
	log     []Call
	bodies  [][]byte
}

type grant struct {
	client, redirect, challenge, nonce string
	used                               bool
}

// Call is one request to the server: a token, revoke, keys, models or responses call.
type Call struct {
	Path string
	Form url.Values
}

// New starts a server.
func New() (*Server, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	s := &Server{key: key, other: other, codes: map[string]grant{}, spent: map[string]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /authorize", s.authorize)
	mux.HandleFunc("GET /auth", s.authOpenRouter)
	mux.HandleFunc("POST /token", s.token)
	mux.HandleFunc("POST /revoke", s.revoke)
	mux.HandleFunc("GET /jwks", s.jwks)
	mux.HandleFunc("POST /keys", s.openRouterKey)
	mux.HandleFunc("GET /v1/models", s.models)
	mux.HandleFunc("POST /v1/responses", s.responses)
	s.Server = httptest.NewServer(mux)
	return s, nil
}

// Set changes how the server behaves.
func (s *Server) Set(k Knobs) { s.mu.Lock(); defer s.mu.Unlock(); s.knobs = k }

// Calls are the requests so far to a path.
func (s *Server) Calls(path string) (list []Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.log {
		if c.Path == path {
			list = append(list, c)
		}
	}
	return list
}

// Bodies are what POST /v1/responses was sent.
func (s *Server) Bodies() [][]byte { s.mu.Lock(); defer s.mu.Unlock(); return slices.Clone(s.bodies) }

// Access is the one access token that is good now; Expire makes it bad.
func (s *Server) Access() string { s.mu.Lock(); defer s.mu.Unlock(); return s.access }

// Expire ends the access token that is in use.
func (s *Server) Expire() { s.mu.Lock(); defer s.mu.Unlock(); s.access = "expired" }

func (s *Server) noted(r *http.Request) Knobs {
	_ = r.ParseForm() // a broken form is an empty one
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, Call{r.URL.Path, r.Form})
	return s.knobs
}

func (s *Server) next(what string) string { s.n++; return fmt.Sprintf("%s_%d", what, s.n) }

// back sends the browser to the callback.
func (s *Server) back(w http.ResponseWriter, r *http.Request, redirect string, add url.Values) {
	u, err := url.Parse(redirect)
	if err != nil || u.Hostname() != "127.0.0.1" {
		http.Error(w, "bad redirect", http.StatusBadRequest)
		return
	}
	q := u.Query()
	for k, v := range add {
		q[k] = v
	}
	u.RawQuery = q.Encode()
	http.Redirect(w, r, u.String(), http.StatusFound)
}

func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	k, q := s.noted(r), r.URL.Query()
	for _, name := range []string{"client_id", "redirect_uri", "state", "nonce", "code_challenge", "ext_agent_host_id"} {
		if q.Get(name) == "" {
			http.Error(w, name+" is missing", http.StatusBadRequest)
			return
		}
	}
	if q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("resource") != "https://api.openai.com/v1" {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	if k.Decline {
		s.back(w, r, q.Get("redirect_uri"), url.Values{"state": q["state"], "error": {"access_denied"}})
		return
	}
	add, client := url.Values{"state": q["state"]}, q.Get("client_id")
	switch {
	case k.Issue == "-":
	case k.Issue != "":
		client = k.Issue
		add.Set("client_id", client)
	case client == "dynamic_agent_client":
		client = "app_1"
		add.Set("client_id", client)
	}
	add.Set("code", s.grant(grant{client, q.Get("redirect_uri"), q.Get("code_challenge"), q.Get("nonce"), false}))
	s.back(w, r, q.Get("redirect_uri"), add)
}

func (s *Server) authOpenRouter(w http.ResponseWriter, r *http.Request) {
	k, q := s.noted(r), r.URL.Query()
	if q.Get("callback_url") == "" || q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "" {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	if k.Decline {
		s.back(w, r, q.Get("callback_url"), url.Values{"error": {"access_denied"}})
		return
	}
	s.back(w, r, q.Get("callback_url"), url.Values{"code": {s.grant(grant{challenge: q.Get("code_challenge")})}})
}

func (s *Server) grant(g grant) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	code := s.next("code")
	s.codes[code] = g
	return code
}

// take spends a code if its verifier fits (RFC 7636, 4.6).
func (s *Server) take(code, verifier string) (grant, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, ok := s.codes[code]
	sum := sha256.Sum256([]byte(verifier))
	ok = ok && !g.used && len(verifier) >= 43 && base64.RawURLEncoding.EncodeToString(sum[:]) == g.challenge
	g.used = true
	s.codes[code] = g
	return g, ok
}

func (s *Server) openRouterKey(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Code     string `json:"code"`
		Verifier string `json:"code_verifier"`
		Method   string `json:"code_challenge_method"`
	}
	k := s.noted(r)
	if k.Hold != nil {
		<-k.Hold
	}
	if json.NewDecoder(r.Body).Decode(&in) != nil || in.Method != "S256" || k.TokenError != "" {
		refuse(w, k, "invalid_request")
		return
	}
	if _, ok := s.take(in.Code, in.Verifier); !ok {
		refuse(w, k, "invalid_grant")
		return
	}
	if k.Key == "" {
		k.Key = "sk-or-test"
	}
	answer(w, http.StatusOK, map[string]any{"key": k.Key, "user_id": "user_1"})
}

func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	k := s.noted(r)
	if k.Arrived != nil {
		k.Arrived()
	}
	if k.Hold != nil {
		<-k.Hold
	}
	if k.TokenError != "" {
		refuse(w, k, k.TokenError)
		return
	}
	f := r.PostForm
	switch f.Get("grant_type") {
	case "authorization_code":
		g, ok := s.take(f.Get("code"), f.Get("code_verifier"))
		if !ok || f.Get("client_id") != g.client || f.Get("redirect_uri") != g.redirect {
			refuse(w, k, "invalid_grant")
			return
		}
		s.issue(w, k, g)
	case "refresh_token":
		s.mu.Lock()
		old := f.Get("refresh_token")
		reused, good := s.spent[old], old != "" && old == s.refresh
		s.mu.Unlock()
		switch {
		case reused:
			refuse(w, k, "refresh_token_reused")
		case !good:
			refuse(w, k, "invalid_grant")
		default:
			s.issue(w, k, grant{client: f.Get("client_id")})
		}
	default:
		refuse(w, k, "unsupported_grant_type")
	}
}

func (s *Server) issue(w http.ResponseWriter, k Knobs, g grant) {
	s.mu.Lock()
	s.spent[s.refresh] = true
	s.access, s.refresh = s.next("access"), s.next("refresh")
	out := map[string]any{"access_token": s.access, "refresh_token": s.refresh, "token_type": "Bearer", "expires_in": 3600,
		"scope": "openid profile email offline_access resource.invoke chatgpt.tokens.use.direct"}
	s.mu.Unlock()
	if k.ExpiresIn != 0 {
		out["expires_in"] = k.ExpiresIn
	}
	if k.Scope != "" {
		out["scope"] = k.Scope
	}
	if g.nonce != "" && !k.NoIDToken {
		out["id_token"] = s.idToken(k, g)
	}
	answer(w, http.StatusOK, out)
}

func (s *Server) idToken(k Knobs, g grant) string {
	head := map[string]any{"alg": "RS256", "kid": "k1", "typ": "JWT"}
	now := time.Now().Unix()
	claims := map[string]any{"iss": s.URL, "sub": "user-1", "aud": g.client, "exp": now + 3600, "iat": now, "nonce": g.nonce, "email": "maya@example.com"}
	lay(head, k.Header)
	lay(claims, k.Claims)
	signed := segment(head) + "." + segment(claims)
	sum := sha256.Sum256([]byte(signed))
	key := s.key
	if k.Forge {
		key = s.other
	}
	sign, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		return ""
	}
	return signed + "." + base64.RawURLEncoding.EncodeToString(sign)
}

func lay(m, over map[string]any) {
	for k, v := range over {
		if m[k] = v; v == nil {
			delete(m, k)
		}
	}
}

func segment(v any) string {
	b, _ := json.Marshal(v) // maps of plain values
	return base64.RawURLEncoding.EncodeToString(b)
}

func (s *Server) jwks(w http.ResponseWriter, r *http.Request) {
	s.noted(r)
	answer(w, http.StatusOK, map[string]any{"keys": []any{
		map[string]any{"kty": "EC", "kid": "e1", "crv": "P-256"},
		map[string]any{"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "k1", "n": base64.RawURLEncoding.EncodeToString(s.key.N.Bytes()),
			"e": base64.RawURLEncoding.EncodeToString(big.NewInt(int64(s.key.E)).Bytes())}}})
}

func (s *Server) revoke(w http.ResponseWriter, r *http.Request) {
	if k := s.noted(r); k.RefuseRevoke {
		http.Error(w, "no", http.StatusInternalServerError)
	}
}

func (s *Server) signedIn(w http.ResponseWriter, r *http.Request) bool {
	s.mu.Lock()
	ok := s.access != "" && r.Header.Get("Authorization") == "Bearer "+s.access
	s.mu.Unlock()
	if !ok {
		answer(w, http.StatusUnauthorized, map[string]any{"error": map[string]any{"message": "Your authentication token has expired.", "code": "token_expired"}})
	}
	return ok
}

func (s *Server) models(w http.ResponseWriter, r *http.Request) {
	k := s.noted(r)
	if !s.signedIn(w, r) {
		return
	}
	if k.Models == "" {
		k.Models = DefaultModels
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, k.Models) // the client may be gone
}

// Hello is a whole reply.
const Hello = `event: response.created
data: {"type":"response.created","response":{"id":"resp_1","status":"in_progress"}}

event: response.output_item.added
data: {"type":"response.output_item.added","output_index":0,"item":{"id":"msg_1","type":"message","role":"assistant","content":[]}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"Hello from your plan."}

event: response.completed
data: {"type":"response.completed","response":{"id":"resp_1","status":"completed","output":[],"usage":{"input_tokens":20,"input_tokens_details":{"cached_tokens":5},"output_tokens":6,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":26}}}

`

func (s *Server) responses(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	if err != nil {
		return
	}
	s.mu.Lock()
	k := s.knobs
	s.log = append(s.log, Call{Path: r.URL.Path})
	s.bodies = append(s.bodies, body)
	s.mu.Unlock()
	if !s.signedIn(w, r) {
		return
	}
	status, text := http.StatusOK, Hello
	if k.Respond != nil {
		status, text = k.Respond(body)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if strings.HasPrefix(text, "{") {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // the client may be gone
}

func refuse(w http.ResponseWriter, k Knobs, code string) {
	if k.TokenStatus == 0 {
		k.TokenStatus = http.StatusBadRequest
	}
	answer(w, k.TokenStatus, map[string]any{"error": code, "error_description": "no"})
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}
