package llm

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"sentient/actors/msg"
)

// Offer is one row of GET /api/models/catalog/{provider}.
type Offer struct {
	ID            string `json:"id"` // provider/model
	Label         string `json:"label"`
	Free          bool   `json:"free"`
	Tools         bool   `json:"tools"`
	ContextLength *int   `json:"context_length"` // tokens, null when not known
}

// ErrNoCatalog says that a provider has no list to offer.
var ErrNoCatalog = errors.New("this provider has no list of models")

// offers caches the lists of providers.
type offers struct {
	mu   sync.Mutex
	kept map[string]keptOffers
	turn map[string]chan struct{} // one load of a provider at a time
	made map[string]int           // counts what was forgotten, so that a load that began before is not kept
}

type keptOffers struct {
	at   time.Time
	list []Offer
}

func newOffers() *offers {
	return &offers{kept: map[string]keptOffers{}, turn: map[string]chan struct{}{}, made: map[string]int{}}
}

func (o *offers) begin(provider string) (turn chan struct{}, made int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.turn[provider] == nil {
		o.turn[provider] = make(chan struct{}, 1)
	}
	return o.turn[provider], o.made[provider]
}

func (o *offers) get(provider string) ([]Offer, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	k, ok := o.kept[provider]
	return k.list, ok && time.Since(k.at) < catalogFresh
}

func (o *offers) keep(provider string, made int, list []Offer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.made[provider] == made {
		o.kept[provider] = keptOffers{time.Now(), list}
	}
}

// Forget drops what is remembered of a provider's models, because its key or sign-in changed.
func (c *Client) Forget(provider string) {
	c.offers.mu.Lock()
	delete(c.offers.kept, provider)
	c.offers.made[provider]++
	c.offers.mu.Unlock()
	if provider == "chatgpt" {
		c.plan.forget()
	}
}

var catalogs = []string{"openrouter", "nous", "anthropic", "chatgpt"}

// Catalog lists the models a provider offers, from its own list, asked at most every ten minutes. Errors: ErrNoCatalog, a
// *msg.ModelError.
func (c *Client) Catalog(ctx context.Context, provider string) ([]Offer, error) {
	if !slices.Contains(catalogs, provider) {
		return nil, ErrNoCatalog
	}
	turn, made := c.offers.begin(provider)
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if list, ok := c.offers.get(provider); ok {
		return list, nil
	}
	s := c.opts.Settings()
	e, f := c.resolve(s, provider+"/list")
	if f != nil && f.fault == msg.FaultKey && provider == "openrouter" { // its list is public
		e.base, f = orEmpty(cleanBase(baseOf(s, e.provider), e.provider)), nil
	}
	var list []Offer
	if f == nil {
		list, f = c.askOffers(ctx, e)
	}
	if f != nil {
		return nil, c.report(ctx, e, f, s.timeout(), false)
	}
	c.offers.keep(provider, made, list)
	return list, nil
}

func orEmpty(base string, _ bool) string { return base }

func (c *Client) askOffers(ctx context.Context, e endpoint) ([]Offer, *failure) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if f := c.authorize(ctx, &e, ""); f != nil {
		return nil, f
	}
	if e.provider.signIn {
		return c.planOffers(ctx, e)
	}
	var out struct {
		Data []listedOffer `json:"data"`
	}
	path := "/models"
	if e.provider.speaks == speaksAnthropic {
		path = "/v1/models?limit=1000"
	}
	if _, err := c.getJSON(ctx, e, http.MethodGet, e.base+path, nil, &out); err != nil {
		return nil, e.fromQuestion(ctx, err)
	}
	list := []Offer{}
	for _, m := range out.Data {
		if m.ID != "" {
			list = append(list, m.offer(e.provider))
		}
	}
	return list, nil
}

// listedOffer is a model as OpenRouter, Nous and Anthropic list it.
type listedOffer struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Display string   `json:"display_name"`
	Context int      `json:"context_length"`
	Params  []string `json:"supported_parameters"`
	Pricing *struct {
		Prompt     looseArguments `json:"prompt"`
		Completion looseArguments `json:"completion"`
	} `json:"pricing"`
}

func (m listedOffer) offer(p *provider) Offer {
	o := Offer{ID: p.id + "/" + m.ID, Label: m.Name, Tools: p.speaks == speaksAnthropic || slices.Contains(m.Params, "tools")}
	if o.Label == "" {
		o.Label = m.Display
	}
	if o.Label == "" {
		o.Label = m.ID
	}
	o.Free = strings.HasSuffix(m.ID, ":free") || m.Pricing != nil && zero(string(m.Pricing.Prompt)) && zero(string(m.Pricing.Completion))
	n := m.Context
	if l, ok := findListed(o.ID); n <= 0 && ok {
		n = l.context
	}
	if n > 0 {
		o.ContextLength = &n
	}
	return o
}

// zero reads a price such as "0" or "0.0".
func zero(price string) bool { return price != "" && strings.Trim(price, "0.") == "" }

func (c *Client) planOffers(ctx context.Context, e endpoint) ([]Offer, *failure) {
	models, f := c.planModels(ctx, e)
	if f != nil && f.status == http.StatusUnauthorized {
		if f = c.authorize(ctx, &e, e.key); f == nil {
			models, f = c.planModels(ctx, e)
		}
	}
	if f != nil {
		return nil, f
	}
	list := []Offer{}
	for _, m := range models {
		o := Offer{ID: e.provider.id + "/" + m.Slug, Label: m.Name, Tools: true}
		if o.Label == "" {
			o.Label = m.Slug
		}
		if m.Window > 0 {
			o.ContextLength = &m.Window
		}
		list = append(list, o)
	}
	return list, nil
}
