package plan

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// claims of an ID token (OpenID Connect Core, 2).
type claims struct {
	Issuer   string   `json:"iss"`
	Subject  string   `json:"sub"`
	Audience audience `json:"aud"`
	Party    string   `json:"azp"`
	Expires  float64  `json:"exp"`
	Issued   float64  `json:"iat"`
	Before   float64  `json:"nbf"`
	Nonce    string   `json:"nonce"`
	Email    string   `json:"email"`
}

// audience is one name or a list of them.
type audience []string

func (a *audience) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*a = audience{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(a))
}

const clockSlack = 2 * time.Minute // how far the two clocks may be apart

// verify checks an ID token's signature (RS256, no other), issuer, audience, times and nonce.
func (p *Plans) verify(ctx context.Context, token, client, nonce string) (claims, error) {
	var c claims
	parts := strings.Split(token, ".")
	if len(parts) != 3 || len(token) > 64<<10 {
		return c, errors.New("it is not a signed token")
	}
	var head struct {
		Alg  string   `json:"alg"`
		Kid  string   `json:"kid"`
		Crit []string `json:"crit"`
	}
	if err := part(parts[0], &head); err != nil {
		return c, err
	}
	if head.Alg != "RS256" || head.Crit != nil {
		return c, errors.New("it is not signed with RS256")
	}
	key, err := p.keys.find(ctx, p, head.Kid)
	if err != nil {
		return c, err
	}
	sign, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		return c, errors.New("its signature is unreadable")
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], sign) != nil {
		return c, errors.New("its signature is wrong")
	}
	if err := part(parts[1], &c); err != nil {
		return c, err
	}
	return c, c.check(p.o.Endpoints.Issuer, client, nonce, p.o.Now())
}

func (c claims) check(issuer, client, nonce string, now time.Time) error {
	at := func(s float64) time.Time { return time.Unix(int64(s), 0) }
	switch {
	case strings.TrimSuffix(c.Issuer, "/") != strings.TrimSuffix(issuer, "/"):
		return errors.New("another issuer")
	case !slices.Contains(c.Audience, client), len(c.Audience) > 1 && c.Party != client, c.Party != "" && c.Party != client:
		return errors.New("it is for another client")
	case c.Subject == "":
		return errors.New("it names nobody")
	case c.Expires <= 0 || !now.Before(at(c.Expires).Add(clockSlack)):
		return errors.New("it has expired")
	case c.Before > 0 && now.Add(clockSlack).Before(at(c.Before)), c.Issued > 0 && now.Add(clockSlack).Before(at(c.Issued)):
		return errors.New("it is not valid yet")
	case nonce == "" || c.Nonce != nonce:
		return errors.New("it is for another sign-in")
	}
	return nil
}

func part(s string, into any) error {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || json.Unmarshal(b, into) != nil {
		return errors.New("a part of it is unreadable")
	}
	return nil
}

// keyCache holds the published signing keys.
type keyCache struct {
	mu   sync.Mutex
	at   time.Time
	keys map[string]*rsa.PublicKey
}

const keysFresh = time.Hour

// find gives the key of that id; an unknown one is looked for anew once, for keys are exchanged now and then.
func (k *keyCache) find(ctx context.Context, p *Plans, kid string) (*rsa.PublicKey, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := k.keys[kid]
	if key == nil || p.o.Now().Sub(k.at) > keysFresh {
		keys, err := p.publishedKeys(ctx)
		if err != nil {
			return nil, err
		}
		k.keys, k.at = keys, p.o.Now()
		key = keys[kid]
	}
	if key == nil {
		return nil, errors.New("its key is not among the published ones")
	}
	return key, nil
}

func (p *Plans) publishedKeys(ctx context.Context) (map[string]*rsa.PublicKey, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.o.Endpoints.Keys, nil)
	if err != nil {
		return nil, err
	}
	var set struct {
		Keys []struct {
			Type string `json:"kty"`
			Use  string `json:"use"`
			Alg  string `json:"alg"`
			Kid  string `json:"kid"`
			N    string `json:"n"`
			E    string `json:"e"`
		} `json:"keys"`
	}
	if _, err := p.do(req, &set); err != nil {
		return nil, err
	}
	out := map[string]*rsa.PublicKey{}
	for _, k := range set.Keys {
		if k.Type != "RSA" || k.Use != "" && k.Use != "sig" || k.Alg != "" && k.Alg != "RS256" {
			continue
		}
		n, err1 := base64.RawURLEncoding.DecodeString(k.N)
		e, err2 := base64.RawURLEncoding.DecodeString(k.E)
		if err1 != nil || err2 != nil || len(n) < 256 || len(n) > 1024 || len(e) == 0 || len(e) > 4 {
			continue // shorter than 2048 bits is no key to trust (RFC 7518, 3.3)
		}
		if exp := new(big.Int).SetBytes(e).Int64(); exp > 1 && exp < 1<<31 {
			out[k.Kid] = &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(exp)}
		}
	}
	return out, nil
}

// newUUID is a random UUID (RFC 9562, version 4).
func newUUID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails since Go 1.24
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
