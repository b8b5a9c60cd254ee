package secret

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Source says where a secret is kept.
type Source string

const (
	None     Source = ""
	Keychain Source = "keychain"
	File     Source = "file"
)

// MaxValue bounds one secret, in bytes.
const MaxValue = 256 << 10

// Options say where secrets are kept.
type Options struct {
	Home        string                   // the data folder
	DefaultHome string                   // ~/.sentient, whose keychain namespace is the plain one
	Getenv      func(name string) string // nil: the process's own environment
	Keyring     Keyring                  // nil: the operating system's
	Logger      *slog.Logger             // nil: silent
	Probe       time.Duration            // how long the keychain may take to answer at first; 0 means 2 s
	Timeout     time.Duration            // of each later call; 0 means 10 s
}

// Validate says what is missing.
func (o Options) Validate() error {
	if o.Home == "" {
		return errors.New("secrets need a data folder")
	}
	if o.Probe < 0 || o.Timeout < 0 {
		return errors.New("the keychain's time limits must not be negative")
	}
	return nil
}

// Store keeps secrets. It may be used by many goroutines.
//
// Whether the keychain can be reached is found out at the first use and then holds until the process ends, so that a value never
// alternates between two places. Where it cannot, values go to <home>/secrets.enc. When a later start reaches the keychain, what the
// file holds is newer than what the keychain holds, and moves there.
type Store struct {
	opts    Options
	service string
	chain   *chain

	turn    chan struct{} // holds one token: whoever put it there may use what follows
	vault   *vault
	decided bool
	onChain bool
}

// Open prepares the store; it touches neither the keychain nor the disk, and logs the keychain service that will be used.
func Open(o Options) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Keyring == nil {
		o.Keyring = system{}
	}
	if o.Probe == 0 {
		o.Probe = 2 * time.Second
	}
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	service := Service(o.Home, o.DefaultHome, o.Getenv("SENTIENT_KEYCHAIN_NAMESPACE"))
	s := &Store{opts: o, service: service, turn: make(chan struct{}, 1),
		chain: newChain(o.Keyring, service, o.Timeout), vault: newVault(o.Home, o.Getenv("SENTIENT_SECRETS_KEY"))}
	s.log(slog.LevelInfo, "secrets", "service", service)
	return s, nil
}

// Service is the keychain service in use.
func (s *Store) Service() string { return s.service }

// Get gives a secret; found is false when there is none.
func (s *Store) Get(ctx context.Context, name string) (value string, found bool, err error) {
	value, from, err := s.look(ctx, name)
	return value, from != None, err
}

// Source says where a secret is kept, None when there is none.
func (s *Store) Source(ctx context.Context, name string) (Source, error) {
	_, from, err := s.look(ctx, name)
	return from, err
}

func (s *Store) look(ctx context.Context, name string) (string, Source, error) {
	if err := checkName(name); err != nil {
		return "", None, err
	}
	if err := s.begin(ctx); err != nil {
		return "", None, err
	}
	defer s.end()
	entries, err := s.vault.load()
	if err == nil {
		if n, ok := entries[name]; ok {
			if n.Gone {
				return "", None, nil
			}
			return n.Value, File, nil
		}
	}
	if !s.onChain {
		return "", None, err
	}
	// A file that cannot be opened does not hide what the keychain holds.
	value, found, err := s.chain.Get(ctx, name)
	if err != nil || !found {
		return "", None, err
	}
	return value, Keychain, nil
}

// Set keeps a secret and says nothing of it. When it returns nil the value is on disk or in the keychain.
func (s *Store) Set(ctx context.Context, name, value string) error {
	if err := checkName(name); err != nil {
		return err
	}
	switch {
	case value == "":
		return errors.New("the value is empty. Delete the entry instead")
	case len(value) > MaxValue:
		return fmt.Errorf("the value is longer than %d KB", MaxValue>>10)
	case !utf8.ValidString(value) || strings.ContainsRune(value, 0):
		return errors.New("the value is not text")
	}
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.end()
	if !s.onChain {
		return s.vault.change(name, &note{Value: value})
	}
	if err := s.chain.Set(ctx, name, value); err != nil {
		return err
	}
	return s.forget(name)
}

// Delete removes a secret wherever it is; it is fine when there is none.
func (s *Store) Delete(ctx context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.end()
	if !s.onChain {
		return s.vault.change(name, &note{Gone: true})
	}
	if err := s.chain.Delete(ctx, name); err != nil {
		return err
	}
	return s.forget(name)
}

// forget takes an entry out of the file once the keychain holds the truth.
func (s *Store) forget(name string) error {
	if _, err := s.vault.load(); err != nil {
		return nil // it cannot be read, so it cannot be used either
	}
	return s.vault.change(name, nil)
}

// begin waits for the caller's turn, since a keychain that hangs must not hold up someone who has given up waiting.
func (s *Store) begin(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		s.decide(ctx)
		return nil
	case <-ctx.Done():
		return errSilent
	}
}

func (s *Store) end() { <-s.turn }

// decide finds out once whether the keychain can be reached, and moves what the file holds into it.
func (s *Store) decide(ctx context.Context) {
	if s.decided {
		return
	}
	s.decided = true
	ctx = context.WithoutCancel(ctx) // one caller's hurry must not decide for all
	if sys, ok := s.opts.Keyring.(system); !ok || sys.mayExist(s.opts.Getenv) {
		s.onChain = s.chain.reachable(ctx, s.opts.Probe)
	}
	if !s.onChain {
		s.log(slog.LevelWarn, "the keychain cannot be reached; secrets are kept encrypted in secrets.enc", "service", s.service)
		return
	}
	entries, err := s.vault.load()
	if err != nil {
		s.log(slog.LevelWarn, "secrets.enc cannot be moved into the keychain", "reason", err.Error())
		return
	}
	moved := 0
	for name, n := range entries { // load gives a map that is replaced, never changed
		if n.Gone {
			err = s.chain.Delete(ctx, name)
		} else {
			err = s.chain.Set(ctx, name, n.Value)
		}
		if err == nil {
			err = s.vault.change(name, nil)
		}
		if err != nil {
			s.log(slog.LevelWarn, "a secret stays in secrets.enc", "name", name, "reason", err.Error())
			return
		}
		moved++
	}
	if moved > 0 {
		s.log(slog.LevelInfo, "secrets moved into the keychain", "count", moved)
	}
}

func (s *Store) log(level slog.Level, msg string, args ...any) {
	if s.opts.Logger != nil {
		s.opts.Logger.Log(context.Background(), level, msg, args...)
	}
}

// checkName: a name is one line of at most 500 bytes.
func checkName(name string) error {
	if name == "" || len(name) > 500 || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return errors.New("a secret's name is one line of at most 500 characters")
	}
	return nil
}
