package main

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"sentient/actors/msg"
	"sentient/runtime/app"
	"sentient/storage/secret"
	"sentient/transport/edge"
	"sentient/transport/llm"
	"sentient/transport/plan"
)

// keys are the providers' keys as model calls need them: read from the keychain once, then from memory, because a model call
// must not wait for another program.
type keys struct {
	store *secret.Store
	log   *slog.Logger
	mu    sync.Mutex
	known map[string]string // "" means that there is none
}

func newKeys(s *secret.Store, log *slog.Logger) *keys {
	return &keys{store: s, log: log, known: map[string]string{}}
}

// keyWait bounds the first look at a key.
const keyWait = 5 * time.Second

func (k *keys) get(provider string) (string, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	v, ok := k.known[provider]
	if !ok {
		ctx, cancel := context.WithTimeout(context.Background(), keyWait)
		defer cancel()
		var err error
		if v, _, err = k.store.Get(ctx, provider); err != nil {
			k.log.Warn("a key could not be read", "provider", provider, "reason", err.Error())
			return "", false
		}
		k.known[provider] = v
	}
	return v, v != ""
}

func (k *keys) forget(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.known, name)
}

// openSecrets opens the keychain's namespace of this home; nothing is asked before the first use.
func openSecrets(home app.Home, userHome string, getenv func(string) string, log *slog.Logger) (*secret.Store, error) {
	return secret.Open(secret.Options{Home: home.Dir, DefaultHome: filepath.Join(userHome, ".sentient"), Getenv: getenv, Logger: log})
}

// secretsOf is the keychain as Settings sees it.
type secretsOf struct {
	keys   *keys
	models *llm.Client
	plans  *plan.Plans
}

// List names every secret the engine knows of, and where it comes from.
func (s secretsOf) List(ctx context.Context) ([]edge.SecretInfo, error) {
	var list []edge.SecretInfo
	for _, p := range s.models.Providers() {
		if !p.KeyRequired && !p.SignIn {
			continue
		}
		info := edge.SecretInfo{Name: p.ID, Kind: "provider"}
		from, err := s.keys.store.Source(ctx, p.ID)
		if err != nil {
			return nil, err
		}
		source := string(from)
		if source == "" && p.KeySet {
			source = "env"
		}
		if source != "" {
			info.Set, info.Source = true, &source
		}
		list = append(list, info)
	}
	return list, nil
}

func (s secretsOf) known(name string) error {
	for _, p := range s.models.Providers() {
		if p.ID == name {
			return nil
		}
	}
	return msg.NewFault(msg.NotFound, "There is no secret of that name. GET /api/secrets lists them.")
}

func (s secretsOf) Set(ctx context.Context, name, value string) error {
	if name == "chatgpt" {
		return msg.NewFault(msg.BadRequest, "ChatGPT is connected by signing in, not by a key.")
	}
	if err := s.known(name); err != nil {
		return err
	}
	if err := s.keys.store.Set(ctx, name, value); errors.Is(err, syscall.ENOSPC) {
		return msg.ErrDiskFull
	} else if err != nil {
		return msg.NewFault(msg.Invalid, err.Error())
	}
	s.keys.forget(name)
	s.models.Forget(name)
	return nil
}

// Delete removes a key; for the ChatGPT plan it signs out.
func (s secretsOf) Delete(ctx context.Context, name string) error {
	if err := s.known(name); err != nil {
		return err
	}
	if name == plan.ChatGPT {
		return s.plans.SignOut(ctx)
	}
	err := s.keys.store.Delete(ctx, name)
	s.keys.forget(name)
	s.models.Forget(name)
	return err
}
