package plan

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sentient/actors/msg"
	"sentient/transport/oauth"
	"sentient/transport/plan/plantest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shelf is a secret store and a memory.
type shelf struct {
	mu     sync.Mutex
	values map[string]string
	broken error
}

func (s *shelf) Get(_ context.Context, name string) (string, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.values[name]
	return v, ok, s.broken
}
func (s *shelf) Set(_ context.Context, name, value string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken == nil {
		s.values[name] = value
	}
	return s.broken
}
func (s *shelf) Delete(_ context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.values, name)
	return s.broken
}
func (s *shelf) Recall(ctx context.Context, key string) (string, error) {
	v, _, err := s.Get(ctx, key)
	return v, err
}
func (s *shelf) Remember(ctx context.Context, key, value string) error { return s.Set(ctx, key, value) }
func (s *shelf) is(name string) string                                 { v, _, _ := s.Get(context.Background(), name); return v }

type rig struct {
	*Plans
	t       *testing.T
	server  *plantest.Server
	secrets *shelf
	memory  *shelf
	client  string
	log     bytes.Buffer
	now     time.Time
	mu      sync.Mutex
	changed []string
	browser *http.Client
}

func newRig(t *testing.T) *rig {
	server, err := plantest.New()
	if err != nil {
		t.Fatal(err)
	}
	x := &rig{t: t, server: server, secrets: &shelf{values: map[string]string{}}, memory: &shelf{values: map[string]string{}}, client: "dynamic_agent_client",
		now: time.Now(), browser: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	receiver := oauth.New(oauth.Options{})
	log := slog.New(slog.NewTextHandler(&x.log, nil))
	u := server.URL
	x.Plans, err = New(Options{Receiver: receiver, Secrets: x.secrets, Memory: x.memory, ClientID: func() string { return x.client },
		Changed: func(_ context.Context, p string) { x.mu.Lock(); x.changed = append(x.changed, p); x.mu.Unlock() },
		Now:     func() time.Time { x.mu.Lock(); defer x.mu.Unlock(); return x.now }, Logger: log, HTTP: server.Client(),
		Endpoints: Endpoints{OpenRouterAuth: u + "/auth", OpenRouterKeys: u + "/keys", Authorize: u + "/authorize", Token: u + "/token", Revoke: u + "/revoke",
			Keys: u + "/jwks", Issuer: u}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := receiver.Close(context.Background()); err != nil {
			t.Error(err)
		}
		server.Close()
		if regexp.MustCompile(`(access|refresh|code)_\d|sk-or-`).MatchString(x.log.String()) {
			t.Errorf("a secret was logged: %s", &x.log)
		}
	})
	return x
}

func (x *rig) later(d time.Duration) { x.mu.Lock(); defer x.mu.Unlock(); x.now = x.now.Add(d) }

// visit is a person who follows a link and says yes.
func (x *rig) visit(address string) (int, string) {
	x.t.Helper()
	res, err := x.browser.Get(address)
	if err != nil {
		x.t.Fatal(err)
	}
	defer res.Body.Close()
	b, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(b)
}

func (x *rig) status(provider, state string) string {
	s, ok := x.Status(provider, state)
	switch {
	case !ok:
		return "unknown"
	case s.Error != nil:
		return "failed: " + *s.Error
	}
	return string(s.Status)
}

func (x *rig) signIn() string {
	x.t.Helper()
	s, err := x.ConnectChatGPT(x.t.Context())
	if err != nil {
		x.t.Fatal(err)
	}
	x.visit(s.AuthURL)
	return x.status(ChatGPT, s.State)
}

// PKCE with S256, the key under the provider's own name, and nothing stored for a forged or replayed callback.
func TestOpenRouter(t *testing.T) {
	x := newRig(t)
	s, err := x.ConnectOpenRouter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	u, _ := url.Parse(s.AuthURL)
	callback := u.Query().Get("callback_url")
	if u.Query().Get("code_challenge_method") != "S256" || !strings.HasSuffix(callback, "/oauth/callback?state="+s.State) {
		t.Fatal(s.AuthURL)
	}
	if code, _ := x.visit(strings.Replace(callback, s.State, "forged", 1) + "&code=x"); code != 400 || len(x.secrets.values) != 0 {
		t.Fatal("a forged state was taken")
	}
	hold, _ := x.ConnectOpenRouter(t.Context()) // the listener stays for the replay
	if code, page := x.visit(s.AuthURL); code != 200 || !strings.Contains(page, "connected") {
		t.Fatal(code, page)
	}
	if x.secrets.is("openrouter") != "sk-or-test" || x.status(OpenRouter, s.State) != "connected" || !slices.Equal(x.changed, []string{"openrouter"}) {
		t.Fatal(x.secrets.values, x.status(OpenRouter, s.State), x.changed)
	}
	delete(x.secrets.values, "openrouter")
	if code, _ := x.visit(callback + "&code=code_1"); code != 400 || len(x.secrets.values) != 0 {
		t.Fatal("a used state was taken")
	}
	// The right state with a code of another sign-in: its verifier does not fit.
	h, _ := url.Parse(hold.AuthURL)
	other, _ := x.ConnectOpenRouter(t.Context())
	if code, page := x.visit(strings.Replace(other.AuthURL, url.QueryEscape("state="+other.State), url.QueryEscape("state="+hold.State), 1)); code != 400 || !strings.Contains(page, "did not accept") {
		t.Fatal(code, page, h)
	}
	if len(x.secrets.values) != 0 {
		t.Fatal("stored")
	}
}

func TestOpenRouterFailures(t *testing.T) {
	x := newRig(t)
	for name, c := range map[string]struct {
		knobs  plantest.Knobs
		broken error
		want   string
	}{
		"declined":   {knobs: plantest.Knobs{Decline: true}, want: "failed: The sign-in was declined in the browser. Start again when you like."},
		"refused":    {knobs: plantest.Knobs{TokenError: "invalid_request"}, want: "failed: OpenRouter did not accept the sign-in. Start again."},
		"no keyring": {broken: errors.New("locked"), want: "failed: The key could not be saved in the keychain. Unlock it, then start again."},
	} {
		x.server.Set(c.knobs)
		x.secrets.broken = c.broken
		s, err := x.ConnectOpenRouter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		x.visit(s.AuthURL)
		if got := x.status(OpenRouter, s.State); got != c.want || len(x.secrets.values) != 0 {
			t.Errorf("%s: %q, stored %v", name, got, x.secrets.values)
		}
	}
	if x.status(ChatGPT, "x") != "unknown" || len(x.changed) != 0 {
		t.Error(x.changed)
	}
}

// registration at the first sign-in, the same ids at the next, the welcome once.
func TestChatGPT(t *testing.T) {
	x := newRig(t)
	if a, _ := x.Account(t.Context()); !a.Available || a.SignedIn || a.Welcome || a.ManageUsageURL != "https://chatgpt.com/settings/usage" {
		t.Fatalf("%+v", a)
	}
	if got := x.signIn(); got != "connected" {
		t.Fatal(got, x.log.String())
	}
	q := x.server.Calls("/authorize")[0].Form
	for name, want := range map[string]string{"client_id": "dynamic_agent_client", "agent_name_hint": "Sentient", "resource": "https://api.openai.com/v1",
		"scope": "openid profile email offline_access resource.invoke chatgpt.tokens.use.direct", "code_challenge_method": "S256"} {
		if q.Get(name) != want {
			t.Errorf("%s is %q", name, q.Get(name))
		}
	}
	host := q.Get("ext_agent_host_id")
	if !strings.HasPrefix(host, "urn:uuid:") || x.memory.is(keyHost) != host || x.memory.is(keyClient) != "app_1" {
		t.Errorf("%s %v", host, x.memory.values)
	}
	var kept map[string]any
	if err := json.Unmarshal([]byte(x.secrets.is("chatgpt")), &kept); err != nil {
		t.Fatal(err)
	}
	if got := slices.Sorted(maps.Keys(kept)); !slices.Equal(got, []string{"access_token", "client_id", "email", "expires_at", "refresh_token", "scope"}) || kept["client_id"] != "app_1" {
		t.Errorf("%v", kept)
	}
	a, _ := x.Account(t.Context())
	if !a.SignedIn || !a.Welcome || a.Email == nil || *a.Email != "maya@example.com" {
		t.Errorf("%+v", a)
	}
	if err := x.Welcomed(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := x.SignOut(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := x.server.Calls("/revoke"); len(r) != 1 || r[0].Form.Get("token") != kept["refresh_token"] || x.secrets.is("chatgpt") != "" {
		t.Errorf("%v", r)
	}
	if got := x.signIn(); got != "connected" {
		t.Fatal(got)
	}
	q = x.server.Calls("/authorize")[1].Form
	if q.Get("client_id") != "app_1" || q.Get("agent_name_hint") != "" || q.Get("ext_agent_host_id") != host {
		t.Errorf("%v", q)
	}
	if a, _ := x.Account(t.Context()); !a.SignedIn || a.Welcome {
		t.Errorf("the welcome came back: %+v", a)
	}
	if !slices.Equal(x.changed, []string{"chatgpt", "chatgpt", "chatgpt"}) {
		t.Error(x.changed)
	}
}

// whatever does not fit is refused, and nothing is stored.
func TestChatGPTRefusesWhatDoesNotFit(t *testing.T) {
	claims := func(k string, v any) plantest.Knobs { return plantest.Knobs{Claims: map[string]any{k: v}} }
	unverified := "failed: ChatGPT's answer could not be verified, so it was refused. Check this computer's clock, then start again."
	mismatch := "failed: " + errMismatch.Text
	for name, c := range map[string]struct {
		knobs plantest.Knobs
		want  string
	}{
		"declined":         {plantest.Knobs{Decline: true}, "failed: The sign-in was declined in the browser. Start again when you like."},
		"no client id":     {plantest.Knobs{Issue: "-"}, mismatch},
		"dynamic again":    {plantest.Knobs{Issue: "dynamic_agent_client"}, mismatch},
		"no plan scope":    {plantest.Knobs{Scope: "openid email"}, "failed: ChatGPT did not allow Sentient to use your plan. Start again and allow it, with a Plus or Pro account."},
		"no id token":      {plantest.Knobs{NoIDToken: true}, mismatch},
		"forged":           {plantest.Knobs{Forge: true}, unverified},
		"no signature":     {plantest.Knobs{Header: map[string]any{"alg": "none"}}, unverified},
		"a shared secret":  {plantest.Knobs{Header: map[string]any{"alg": "HS256"}}, unverified},
		"unknown key":      {plantest.Knobs{Header: map[string]any{"kid": "k9"}}, unverified},
		"critical":         {plantest.Knobs{Header: map[string]any{"crit": []string{"exp"}}}, unverified},
		"issuer":           {claims("iss", "https://evil.example"), unverified},
		"audience":         {claims("aud", "app_2"), unverified},
		"many audiences":   {claims("aud", []string{"app_1", "app_2"}), unverified},
		"another party":    {claims("azp", "app_2"), unverified},
		"expired":          {claims("exp", time.Now().Add(-time.Hour).Unix()), unverified},
		"no expiry":        {claims("exp", nil), unverified},
		"not yet":          {claims("nbf", time.Now().Add(time.Hour).Unix()), unverified},
		"nonce":            {claims("nonce", "x"), unverified},
		"no nonce":         {claims("nonce", nil), unverified},
		"nobody":           {claims("sub", ""), unverified},
		"not text":         {claims("iss", 7), unverified},
		"the code refused": {plantest.Knobs{TokenError: "invalid_grant"}, "failed: ChatGPT did not accept the sign-in. Start again."},
		"server error":     {plantest.Knobs{TokenError: "server_error", TokenStatus: 500}, "failed: ChatGPT did not accept the sign-in. Start again."},
	} {
		t.Run(name, func(t *testing.T) {
			x := newRig(t)
			x.server.Set(c.knobs)
			if got := x.signIn(); got != c.want {
				t.Errorf("%q\n%s", got, &x.log)
			}
			if len(x.secrets.values) != 0 || x.memory.is(keyClient) != "" || len(x.changed) != 0 {
				t.Errorf("stored %v %v", x.secrets.values, x.memory.values)
			}
		})
	}
	t.Run("another client than the saved one", func(t *testing.T) {
		x := newRig(t)
		x.memory.values[keyClient] = "app_7"
		x.server.Set(plantest.Knobs{Issue: "app_8"})
		if got := x.signIn(); got != mismatch {
			t.Error(got)
		}
	})
	t.Run("many audiences and this party", func(t *testing.T) {
		x := newRig(t)
		x.server.Set(plantest.Knobs{Claims: map[string]any{"aud": []string{"app_1", "app_2"}, "azp": "app_1"}})
		if got := x.signIn(); got != "connected" {
			t.Error(got)
		}
	})
}

// an empty client id turns the sign-in off; one of the person's own is used as it is.
func TestClientIDOfTheSettings(t *testing.T) {
	x := newRig(t)
	x.client = ""
	_, err := x.ConnectChatGPT(t.Context())
	if f, ok := msg.AsFault(err); !ok || f.Kind != msg.Conflict {
		t.Fatal(err)
	}
	if a, _ := x.Account(t.Context()); a.Available || a.Reason == nil {
		t.Fatalf("%+v", a)
	}
	x.client = "app_mine"
	if got := x.signIn(); got != "connected" {
		t.Fatal(got)
	}
	if q := x.server.Calls("/authorize")[0].Form; q.Get("client_id") != "app_mine" || q.Get("agent_name_hint") != "" || x.memory.is(keyClient) != "" {
		t.Fatalf("%v", q)
	}
}

func (x *rig) token(stale string) (string, string) {
	tok, err := x.Token(x.t.Context(), stale)
	if err == nil {
		return tok, ""
	}
	e, ok := msg.AsModelError(err)
	if !ok {
		x.t.Fatal(err)
	}
	return tok, string(e.Fault) + ": " + e.Message
}

// renewed five minutes before the end, or once after a refusal, one at a time; a final refusal ends the sign-in and
// nothing else does.
func TestRenewal(t *testing.T) {
	x := newRig(t)
	if _, e := x.token(""); e != "key: "+signInText {
		t.Fatal(e)
	}
	x.signIn()
	first, _ := x.token("")
	x.later(54 * time.Minute)
	if tok, _ := x.token(""); tok != first || len(x.server.Calls("/token")) != 1 {
		t.Fatal("renewed too early")
	}
	x.later(90 * time.Second)
	hold := make(chan struct{})
	x.server.Set(plantest.Knobs{Hold: hold})
	var wg sync.WaitGroup
	got := make([]string, 20)
	for i := range got {
		wg.Go(func() { got[i], _ = x.token("") })
	}
	close(hold)
	wg.Wait()
	second := got[0]
	if slices.ContainsFunc(got, func(s string) bool { return s != second }) || second == first || len(x.server.Calls("/token")) != 2 {
		t.Fatalf("%v, %d requests", got, len(x.server.Calls("/token")))
	}
	third, _ := x.token(second) // many calls were refused with the same token: one renewal
	if again, _ := x.token(second); third == second || again != third || len(x.server.Calls("/token")) != 3 {
		t.Fatal("not renewed once")
	}
	if !strings.Contains(x.secrets.is("chatgpt"), x.server.Access()) || !strings.Contains(x.secrets.is("chatgpt"), "maya@example.com") {
		t.Fatal("the renewed tokens are not stored")
	}

	x.server.Set(plantest.Knobs{TokenError: "server_error", TokenStatus: 503})
	x.later(57 * time.Minute)
	if tok, e := x.token(""); tok == "" || e != "" {
		t.Fatal("a token that still works was not used", e)
	}
	x.later(10 * time.Minute)
	if _, e := x.token(""); !strings.HasPrefix(e, "unreachable: ") || x.secrets.is("chatgpt") == "" {
		t.Fatal(e)
	}
	x.server.Set(plantest.Knobs{})
	if tok, e := x.token(""); tok == "" {
		t.Fatal("the sign-in was not kept for the next try", e)
	}
	x.later(2 * time.Hour)
	x.server.Set(plantest.Knobs{TokenError: "refresh_token_reused"})
	if _, e := x.token(""); e != "key: "+againText || x.secrets.is("chatgpt") != "" {
		t.Fatal(e)
	}
	if x.SignedIn(t.Context()) || x.changed[len(x.changed)-1] != "chatgpt" {
		t.Fatal("still signed in")
	}
}

// A refresh token is spent by the request, so its answer is kept although the caller has gone.
func TestARenewalOutlivesItsCaller(t *testing.T) {
	x := newRig(t)
	x.signIn()
	x.later(2 * time.Hour)
	hold, arrived := make(chan struct{}), make(chan struct{})
	x.server.Set(plantest.Knobs{Hold: hold, Arrived: sync.OnceFunc(func() { close(arrived) })})
	ctx, leave := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _, _ = x.Token(ctx, "") }()
	<-arrived
	leave()
	close(hold)
	<-done
	if !strings.Contains(x.secrets.is("chatgpt"), x.server.Access()) {
		t.Fatal("the new tokens are lost")
	}
	// A restart reads what was stored.
	again, err := New(x.o)
	if err != nil {
		t.Fatal(err)
	}
	if tok, err := again.Token(t.Context(), ""); err != nil || tok != x.server.Access() {
		t.Fatal(tok, err)
	}
}

func TestSignOutIsFinalWhateverOpenAISays(t *testing.T) {
	x := newRig(t)
	x.signIn()
	x.server.Set(plantest.Knobs{RefuseRevoke: true})
	if err := x.SignOut(t.Context()); err != nil || x.secrets.is("chatgpt") != "" {
		t.Fatal(err)
	}
	if err := x.SignOut(t.Context()); err != nil {
		t.Fatal(err)
	}
	waiting, _ := x.ConnectChatGPT(t.Context())
	if err := x.SignOut(t.Context()); err != nil || !strings.HasPrefix(x.status(ChatGPT, waiting.State), "failed") {
		t.Fatal("a sign-in that waits outlives the sign-out")
	}
}

func FuzzIDToken(f *testing.F) {
	f.Add("a.b.c")
	f.Add("eyJhbGciOiJSUzI1NiIsImtpZCI6ImsxIn0.e30.AA")
	f.Add("eyJhbGciOiJub25lIn0..")
	f.Fuzz(func(t *testing.T, token string) {
		p := &Plans{o: Options{Now: time.Now, HTTP: &http.Client{Transport: refuseAll{}}}}
		if _, err := p.verify(t.Context(), token, "app_1", "n"); err == nil {
			t.Fatal("taken")
		}
	})
}

type refuseAll struct{}

func (refuseAll) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("no network")
}
