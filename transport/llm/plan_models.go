package llm

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"sentient/actors/msg"
)

// Plan is the sign-in of the ChatGPT plan.
type Plan interface {
	SignedIn(ctx context.Context) bool
	// Token is an access token. Stale names one that was just turned down. The error is a *msg.ModelError.
	Token(ctx context.Context, stale string) (string, error)
}

const (
	catalogFresh = 10 * time.Minute
	signedInWait = 2 * time.Second // for the keychain's word on the sign-in
)

// planModel is a model of the plan's list.
type planModel struct {
	Slug       string        `json:"slug"`
	Name       string        `json:"display_name"`
	Visibility string        `json:"visibility"`
	Priority   *float64      `json:"priority"`
	Window     int           `json:"context_window"`
	Levels     []effortLevel `json:"supported_reasoning_levels"`
}

// effortLevel is "low", or {"effort": "low"}.
type effortLevel string

func (l *effortLevel) UnmarshalJSON(b []byte) error {
	var o struct {
		Effort string `json:"effort"`
	}
	if json.Unmarshal(b, &o) == nil {
		*l = effortLevel(o.Effort)
		return nil
	}
	return json.Unmarshal(b, (*string)(l))
}

// planList remembers the plan's model list.
type planList struct {
	loading chan struct{} // holds one token while somebody loads

	mu     sync.Mutex
	at     time.Time // of the last load, also of one that failed
	good   bool
	models []planModel // ranked; of the last good load
}

func newPlanList() *planList { return &planList{loading: make(chan struct{}, 1)} }

func (p *planList) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at, p.good, p.models = time.Time{}, false, nil
}

// find is what the list says of a model, as far as it was loaded.
func (p *planList) find(slug string) (planModel, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.models, func(m planModel) bool { return m.Slug == slug })
	if i < 0 {
		return planModel{}, false
	}
	return p.models[i], true
}

func (p *planList) fresh() (models []planModel, tried, good bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.models, !p.at.IsZero() && time.Since(p.at) < catalogFresh, p.good
}

// ranked keeps what is meant to be shown, in OpenAI's order: ranked models first, lower priorities before higher ones.
func ranked(list []planModel) []planModel {
	out := slices.DeleteFunc(slices.Clone(list), func(m planModel) bool { return m.Slug == "" || m.Visibility != "list" })
	slices.SortStableFunc(out, func(a, b planModel) int {
		switch {
		case a.Priority == nil || b.Priority == nil:
			return btoi(a.Priority == nil) - btoi(b.Priority == nil)
		case *a.Priority < *b.Priority:
			return -1
		case *a.Priority > *b.Priority:
			return 1
		}
		return 0
	})
	return out
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// planModels gives the list, loading it at most every ten minutes.
func (c *Client) planModels(ctx context.Context, e endpoint) ([]planModel, *failure) {
	select {
	case c.plan.loading <- struct{}{}:
		defer func() { <-c.plan.loading }()
	case <-ctx.Done():
		return nil, endedBy(ctx)
	}
	if models, tried, good := c.plan.fresh(); tried && good {
		return models, nil
	}
	var out struct {
		Models []planModel `json:"models"`
		Data   []planModel `json:"data"`
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	_, err := c.getJSON(ctx, e, http.MethodGet, e.base+"/models", nil, &out)
	c.plan.mu.Lock()
	defer c.plan.mu.Unlock()
	c.plan.at, c.plan.good = time.Now(), err == nil
	if err != nil {
		return nil, e.fromQuestion(ctx, err)
	}
	c.plan.models = ranked(append(out.Models, out.Data...))
	return c.plan.models, nil
}

// planEffortFor is the effort of a call. A list that has not named the model's levels is loaded once, at most every ten minutes;
// when it can't be, nothing is said and the model uses its own default.
func (c *Client) planEffortFor(ctx context.Context, e endpoint, asked string) string {
	if asked != "none" {
		return asked
	}
	m, _ := c.plan.find(e.name)
	if _, tried, _ := c.plan.fresh(); len(m.Levels) == 0 && !tried {
		_, _ = c.planModels(ctx, e) // the call itself says what is wrong
		m, _ = c.plan.find(e.name)
	}
	levels := make([]string, len(m.Levels))
	for i, l := range m.Levels {
		levels[i] = string(l)
	}
	return planEffort(asked, levels)
}

// authorize gets what a call is signed with: for a plan, an access token.
func (c *Client) authorize(ctx context.Context, e *endpoint, stale string) *failure {
	if !e.provider.signIn {
		return nil
	}
	token, err := c.opts.Plan.Token(ctx, stale)
	if err == nil {
		e.key = token
		return nil
	}
	if ctx.Err() != nil {
		return endedBy(ctx)
	}
	if m, ok := msg.AsModelError(err); ok {
		return &failure{fault: m.Fault, text: m.Message, raw: m.Raw}
	}
	return &failure{fault: msg.FaultUnreachable, raw: err.Error()}
}

func (c *Client) signedIn() bool {
	if c.opts.Plan == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), signedInWait)
	defer cancel()
	return c.opts.Plan.SignedIn(ctx)
}

const (
	saysPlanLimit = "subscription_sharing_usage_limit_exceeded"
	manageURL     = "https://chatgpt.com/settings/usage"
	planLimitText = "Usage limit reached. See what is left of your ChatGPT plan at " + manageURL + " (Manage usage), wait until it resets, or pick another model in Settings > Models."
	planAgainText = "ChatGPT turned this down. Sign in with ChatGPT again under Settings > Models > Use a plan you already have."
	planShareText = "This ChatGPT account can't share its plan. Sign in with a Plus or Pro account under Settings > Models > Use a plan you already have."
)

// planFailure gives a plan's refusals their own words: never a provider key, never another way of paying.
func planFailure(f *failure, a apiError) {
	text := a.all()
	switch {
	case strings.Contains(text, saysPlanLimit):
		f.fault, f.text = msg.FaultRate, planLimitText
	case strings.Contains(text, "subscription_sharing") && a.status < 500, strings.Contains(text, "not eligible"):
		f.fault, f.text = msg.FaultKey, planShareText
	case f.fault == msg.FaultCodingOnly, f.fault == msg.FaultTooLong:
	case a.status == 401 || a.status == 403 || f.fault == msg.FaultKey:
		f.fault, f.text = msg.FaultKey, planAgainText
	}
}
