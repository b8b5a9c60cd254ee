package bench

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The clients against the scripted model alone: every token arrives with a time that can be true.
func TestDirectTalker(t *testing.T) {
	e := Env{}
	m, err := e.startModel(t.Context(), ModelOptions{Tokens: 4, Every: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	c, err := dial(t.Context(), m.url, "", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	k := direct(c)
	defer k.close()
	for range 3 { // on one connection
		var r reply
		if err := k.turn(&r); err != nil {
			t.Fatal(err)
		}
		if len(r.relay) != 4 || r.first <= 0 || r.whole < r.first {
			t.Fatalf("the reply is %+v", r)
		}
	}
}

func TestBrokenStreams(t *testing.T) {
	e := Env{}
	m, err := e.startModel(t.Context(), ModelOptions{Tokens: 100_000, Every: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	ctx, cancel := context.WithCancel(t.Context())
	c, err := dial(ctx, m.url, "", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	k := direct(c)
	defer k.close()
	cancel()
	if err := k.turn(&reply{}); err == nil {
		t.Error("a turn on a closed connection succeeded")
	}
}

func TestValidate(t *testing.T) {
	engine := filepath.Join(t.TempDir(), "engine")
	if err := os.WriteFile(engine, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	good, none := Env{Engine: engine}, Env{Engine: engine + "-that-is-not-there"}
	for name, c := range map[string]struct {
		s    interface{ Validate() error }
		want string // "" valid
	}{
		"start": {&Start{Env: good}, ""}, "turn": {&Turn{Env: good}, ""}, "crowd": {&Crowd{Env: good}, ""}, "direct": {&Direct{Env: good}, ""},
		"kill": {&Kill{Env: good}, ""}, "churn": {&Churn{Env: good}, ""},
		"no engine": {&Start{}, "Env.Engine is missing"}, "engine is gone": {&Turn{Env: none}, "make build"},
		"no turns": {&Turn{Env: good, N: -1}, "at least 1"}, "no tokens": {&Crowd{Env: good, Tokens: -1}, "at least one token"},
		"too many": {&Crowd{Env: good, Chats: 1 << 40}, "ulimit -n"}, "early kill": {&Kill{Env: good, After: time.Second}, "two seconds"},
		"one step": {&Churn{Env: good, Steps: []int{5}}, "two steps"}, "shrinking": {&Churn{Env: good, Steps: []int{5, 5}}, "must grow"},
	} {
		err := c.s.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// One turn of three tokens through the real engine, in every way, when it is built.
func TestEngineTurn(t *testing.T) {
	engine, err := filepath.Abs("../bin/sentient")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(engine); err != nil {
		t.Skip("there is no bin/sentient: run \"make build\" first")
	}
	r, err := Turn{Env: Env{Engine: engine, Dir: t.TempDir()}, N: 1, Warmup: -1, Tokens: 3, Every: time.Millisecond, FirstGoal: time.Hour, WholeGoal: time.Hour}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Rows) == 0 || len(r.Missed()) > 0 {
		t.Errorf("the report is %+v", r)
	}
}
