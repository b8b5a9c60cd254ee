package oauth

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"sentient/transport/llm/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a receiver and a provider that takes the code "good".
type rig struct {
	*Receiver
	t        *testing.T
	client   *http.Client
	log      bytes.Buffer
	finished atomic.Int64
	redirect string
}

func newRig(t *testing.T, o Options) *rig {
	x := &rig{t: t, client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	o.Logger = slog.New(slog.NewTextHandler(&x.log, nil))
	x.Receiver = New(o)
	t.Cleanup(func() {
		if err := x.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return x
}

func (x *rig) begin() Started {
	x.t.Helper()
	s, err := x.Begin(x.flow())
	if err != nil {
		x.t.Fatal(err)
	}
	return s
}

func (x *rig) flow() Flow {
	return Flow{Kind: "acme", AuthURL: func(redirect, state string) (string, error) {
		x.redirect = redirect
		return "https://acme.example/auth?state=" + state, nil
	}, Finish: func(_ context.Context, redirect string, q url.Values) error {
		x.finished.Add(1)
		switch {
		case redirect != x.redirect:
			return errors.New("another redirect")
		case q.Get("code") != "good":
			return &Refusal{"Acme did not take the code."}
		}
		return nil
	}}
}

// visit is the browser.
func (x *rig) visit(query string) (int, string) {
	x.t.Helper()
	res, err := x.client.Get(x.redirect + query)
	if err != nil {
		return 0, ""
	}
	defer res.Body.Close()
	b, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(b)
}

func (x *rig) status(state string) string {
	s, ok := x.Status("acme", state)
	if !ok {
		return "unknown"
	}
	if s.Error != nil {
		return string(s.Status) + ": " + *s.Error
	}
	return string(s.Status)
}

// the page says how it went; a sign-in is finished once, by its own state only.
func TestSignIn(t *testing.T) {
	x := newRig(t, Options{})
	s := x.begin()
	if got := x.status(s.State); got != "waiting" {
		t.Fatal(got)
	}
	if u, _ := url.Parse(x.redirect); u.Hostname() != "127.0.0.1" || u.Path != "/oauth/callback" {
		t.Fatal(x.redirect)
	}
	for _, bad := range []string{"", "?code=good", "?code=good&state=", "?code=good&state=forged", "?code=good&state=" + s.State + "&state=" + s.State, "?state=%zz"} {
		if code, body := x.visit(bad); code != 400 || !strings.Contains(body, "Connection failed") {
			t.Errorf("%q: %d %s", bad, code, body)
		}
	}
	if x.finished.Load() != 0 || x.status(s.State) != "waiting" {
		t.Fatal("a stranger's callback changed the sign-in")
	}
	if _, ok := x.Status("other", s.State); ok {
		t.Error("the state is known under another provider")
	}
	other := x.begin() // keeps the listener open for the replay
	if code, body := x.visit("?code=good&state=" + s.State); code != 200 || !strings.Contains(body, "You&#39;re connected") {
		t.Fatalf("%d %s", code, body)
	}
	if code, _ := x.visit("?code=good&state=" + s.State); code != 400 || x.finished.Load() != 1 || x.status(s.State) != "connected" {
		t.Fatalf("a replayed callback was taken: %d, %s", code, x.status(s.State))
	}
	if code, body := x.visit("?code=bad&state=" + other.State); code != 400 || !strings.Contains(body, "Acme did not take the code.") {
		t.Fatalf("%d %s", code, body)
	}
	if got := x.status(other.State); got != "failed: Acme did not take the code." {
		t.Fatal(got)
	}
	if code, _ := x.visit("?code=good&state=" + other.State); code != 0 {
		t.Error("the listener is open although nothing waits")
	}
	if strings.Contains(x.log.String(), s.State) || strings.Contains(x.log.String(), other.State) {
		t.Errorf("a state was logged: %s", &x.log)
	}
}

func TestDeclinedAndBroken(t *testing.T) {
	x := newRig(t, Options{})
	hold := x.begin()
	for query, want := range map[string]string{
		"?error=access_denied&state=":                    "failed: The sign-in was declined in the browser. Start again when you like.",
		"?error=server_error&error_description=x&state=": "failed: The provider did not allow the sign-in. Start again in a moment.",
	} {
		s := x.begin()
		if code, _ := x.visit(query + s.State); code != 400 || x.status(s.State) != want {
			t.Errorf("%s: %d %s", query, code, x.status(s.State))
		}
	}
	f := x.flow()
	f.Finish = func(context.Context, string, url.Values) error { panic("oops") }
	s, err := x.Begin(f)
	if err != nil {
		t.Fatal(err)
	}
	if code, _ := x.visit("?code=good&state=" + s.State); code != 400 || !strings.HasPrefix(x.status(s.State), "failed: The sign-in could not be finished.") {
		t.Errorf("%d %s", code, x.status(s.State))
	}
	x.Cancel("acme")
	if !strings.HasPrefix(x.status(hold.State), "failed: This sign-in was cancelled") {
		t.Error(x.status(hold.State))
	}
}

// Many browsers with the same callback: one of them finishes it.
func TestOneOfManyFinishes(t *testing.T) {
	x := newRig(t, Options{})
	x.begin()
	s := x.begin()
	var wg sync.WaitGroup
	var won atomic.Int64
	for range 16 {
		wg.Go(func() {
			if code, _ := x.visit("?code=good&state=" + s.State); code == 200 {
				won.Add(1)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 || x.finished.Load() != 1 {
		t.Fatalf("%d pages, %d exchanges", won.Load(), x.finished.Load())
	}
}

func TestAnotherNameOrMethodIsRefused(t *testing.T) {
	x := newRig(t, Options{})
	s := x.begin()
	req, _ := http.NewRequest("GET", x.redirect+"?code=good&state="+s.State, nil)
	req.Host = "evil.example"
	res, err := x.client.Do(req)
	if err != nil || res.StatusCode != 404 {
		t.Fatalf("%v %v", res, err)
	}
	res.Body.Close()
	res, err = x.client.Post(x.redirect+"?code=good&state="+s.State, "text/plain", nil)
	if err != nil || res.StatusCode != 405 || x.status(s.State) != "waiting" {
		t.Fatalf("%v %v", res, err)
	}
	res.Body.Close()
}

func TestAPortInUse(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	x := newRig(t, Options{Port: func() int { return ln.Addr().(*net.TCPAddr).Port }})
	_, err = x.Begin(x.flow())
	var r *Refusal
	if !errors.As(err, &r) || !strings.Contains(r.Text, "oauth_redirect_port") {
		t.Fatal(err)
	}
}

// A fixed port serves one sign-in after the other.
func TestAFixedPortIsFreeAgainAtOnce(t *testing.T) {
	ln, _ := net.Listen("tcp", "127.0.0.1:0")
	port := ln.Addr().(*net.TCPAddr).Port
	ln.Close()
	x := newRig(t, Options{Port: func() int { return port }})
	for range 20 {
		s := x.begin()
		if code, _ := x.visit("?code=good&state=" + s.State); code != 200 {
			t.Fatal(code)
		}
	}
}

// A wait is bounded, its end is remembered for a while, and the listener goes with it (A-332: an expired state is refused).
func TestWaitsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipe := llmtest.NewPipe()
		x := &rig{t: t}
		x.Receiver = New(Options{Listen: func(int) (net.Listener, error) { return pipe, nil }})
		s := x.begin()
		time.Sleep(14 * time.Minute)
		if x.status(s.State) != "waiting" {
			t.Error(x.status(s.State))
		}
		time.Sleep(2 * time.Minute)
		if x.status(s.State) != "failed: The sign-in took too long. Start again." {
			t.Error(x.status(s.State))
		}
		if text, ok := x.callback(&url.URL{RawQuery: "code=good&state=" + s.State}); ok || text != unknownState || x.finished.Load() != 0 {
			t.Error("an expired state was taken")
		}
		time.Sleep(16 * time.Minute)
		if x.status(s.State) != "unknown" {
			t.Error(x.status(s.State))
		}
		if len(x.flows) != 0 || len(x.order) != 0 || x.server != nil {
			t.Error("something of it is kept")
		}
		if err := x.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestWhatWaitsIsBounded(t *testing.T) {
	x := newRig(t, Options{})
	first := x.begin()
	var last Started
	for range 3 * maxKnown {
		last = x.begin()
	}
	if x.status(last.State) != "waiting" || x.status(first.State) != "unknown" || len(x.flows) > maxKnown || len(x.flows) != len(x.order) {
		t.Fatalf("%d kept, %d in order, first %s, last %s", len(x.flows), len(x.order), x.status(first.State), x.status(last.State))
	}
}

// A slow exchange shows as one, survives the browser, and ends with the receiver.
func TestCloseEndsAnExchange(t *testing.T) {
	x := newRig(t, Options{})
	f, inside := x.flow(), make(chan struct{})
	f.Finish = func(ctx context.Context, _ string, _ url.Values) error {
		close(inside)
		<-ctx.Done()
		return ctx.Err()
	}
	s, err := x.Begin(f)
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	req, _ := http.NewRequestWithContext(ctx, "GET", x.redirect+"?code=good&state="+s.State, nil)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if res, err := x.client.Do(req); err == nil {
			res.Body.Close()
		}
	}()
	<-inside
	if x.status(s.State) != "exchanging" {
		t.Error(x.status(s.State))
	}
	leave()
	<-gone
	if x.status(s.State) != "exchanging" {
		t.Error("the browser's end ended the exchange")
	}
	if err := x.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := x.Begin(x.flow()); err == nil {
		t.Error("a closed receiver began a sign-in")
	}
}

// RFC 7636, appendix B.
func TestChallenge(t *testing.T) {
	if got := Challenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"); got != "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM" {
		t.Error(got)
	}
	if a, b := Random(), Random(); a == b || len(a) != 43 {
		t.Error(a, b)
	}
}
