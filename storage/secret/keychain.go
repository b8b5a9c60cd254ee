package secret

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/zalando/go-keyring"
)

// Keyring is what a keychain does. Get and Delete of an entry that is not there give an error that is keyring.ErrNotFound.
type Keyring interface {
	Get(service, name string) (string, error)
	Set(service, name, value string) error
	Delete(service, name string) error
}

// system is the operating system's keychain.
type system struct{}

func (system) Get(service, name string) (string, error) { return keyring.Get(service, name) }
func (system) Set(service, name, value string) error    { return keyring.Set(service, name, value) }
func (system) Delete(service, name string) error        { return keyring.Delete(service, name) }

const (
	// partBytes is the size of one entry: Windows keeps at most 2,560 bytes of UTF-16.
	partBytes = 1200
	// partsHead starts an entry whose value is in parts; a value that starts like this is stored in parts whatever its length.
	partsHead = "sentient-parts/1 "
	maxParts  = 1000
)

// chain is a keychain whose every call is bounded. A keychain that hangs, for example on an unanswered prompt, holds at most one
// goroutine: further calls wait for it in vain and give up.
type chain struct {
	ring    Keyring
	service string
	within  time.Duration
	turn    chan struct{} // holds one token: one call at a time
}

func newChain(ring Keyring, service string, within time.Duration) *chain {
	return &chain{ring: ring, service: service, within: within, turn: make(chan struct{}, 1)}
}

var errSilent = errors.New("the keychain did not answer. Unlock it and try again")

// call runs one operation on the keychain; its error never holds a value.
func (c *chain) call(ctx context.Context, within time.Duration, op func() (string, error)) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return "", errSilent
	}
	type answer struct {
		value string
		err   error
	}
	answers := make(chan answer, 1)
	go func() {
		defer func() { <-c.turn }()
		value, err := op()
		answers <- answer{value, err}
	}()
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		return "", errSilent
	}
}

// reachable asks for an entry that does not exist.
func (c *chain) reachable(ctx context.Context, within time.Duration) bool {
	_, err := c.call(ctx, within, func() (string, error) { return c.ring.Get(c.service, "sentient-probe") })
	return err == nil || errors.Is(err, keyring.ErrNotFound)
}

func (c *chain) get(ctx context.Context, name string) (string, error) {
	return c.call(ctx, c.within, func() (string, error) { return c.ring.Get(c.service, name) })
}

func (c *chain) set(ctx context.Context, name, value string) error {
	_, err := c.call(ctx, c.within, func() (string, error) { return "", c.ring.Set(c.service, name, value) })
	return err
}

// remove deletes one entry and says whether there was one.
func (c *chain) remove(ctx context.Context, name string) (bool, error) {
	_, err := c.call(ctx, c.within, func() (string, error) { return "", c.ring.Delete(c.service, name) })
	if errors.Is(err, keyring.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

func part(name string, i int) string { return name + ":" + strconv.Itoa(i) }

// Get puts a value together; found is false when there is none.
func (c *chain) Get(ctx context.Context, name string) (value string, found bool, err error) {
	head, err := c.get(ctx, name)
	switch {
	case errors.Is(err, keyring.ErrNotFound):
		return "", false, nil
	case err != nil:
		return "", false, fault("read", name, err)
	case !strings.HasPrefix(head, partsHead):
		return head, true, nil
	}
	n, sum, ok := parseHead(head)
	if !ok {
		return "", false, damaged(name)
	}
	var b strings.Builder
	for i := 1; i <= n; i++ {
		piece, err := c.get(ctx, part(name, i))
		if errors.Is(err, keyring.ErrNotFound) {
			return "", false, damaged(name)
		}
		if err != nil {
			return "", false, fault("read", name, err)
		}
		b.WriteString(piece)
	}
	if value = b.String(); checksum(value) != sum {
		return "", false, damaged(name)
	}
	return value, true, nil
}

// Set stores a value, in parts when it is long. The head is written last, with a checksum, so a write that was cut is seen.
func (c *chain) Set(ctx context.Context, name, value string) error {
	before := c.parts(ctx, name)
	pieces := split(value)
	if len(pieces) == 1 && !strings.HasPrefix(value, partsHead) {
		if err := c.set(ctx, name, value); err != nil {
			return fault("save", name, err)
		}
		return c.drop(ctx, name, 1, before)
	}
	for i, piece := range pieces {
		if err := c.set(ctx, part(name, i+1), piece); err != nil {
			return fault("save", name, err)
		}
	}
	if err := c.set(ctx, name, partsHead+strconv.Itoa(len(pieces))+" "+checksum(value)); err != nil {
		return fault("save", name, err)
	}
	return c.drop(ctx, name, len(pieces)+1, before)
}

// Delete removes a value with its parts; it is fine when there is none.
func (c *chain) Delete(ctx context.Context, name string) error {
	before := c.parts(ctx, name)
	if _, err := c.remove(ctx, name); err != nil {
		return fault("delete", name, err)
	}
	return c.drop(ctx, name, 1, before)
}

// parts is how many parts an entry has, 0 when it is whole or not there.
func (c *chain) parts(ctx context.Context, name string) int {
	head, err := c.get(ctx, name)
	if err != nil {
		return 0
	}
	n, _, _ := parseHead(head)
	return n
}

// drop removes the parts from first to last.
func (c *chain) drop(ctx context.Context, name string, first, last int) error {
	for i := first; i <= last; i++ {
		if _, err := c.remove(ctx, part(name, i)); err != nil {
			return fault("delete", name, err)
		}
	}
	return nil
}

func parseHead(head string) (n int, sum string, ok bool) {
	rest, ok := strings.CutPrefix(head, partsHead)
	if !ok {
		return 0, "", false
	}
	count, sum, ok := strings.Cut(rest, " ")
	n, err := strconv.Atoi(count)
	if !ok || err != nil || n < 1 || n > maxParts {
		return 0, "", false
	}
	return n, sum, true
}

// split cuts a value into pieces of whole characters.
func split(value string) []string {
	var pieces []string
	for len(value) > partBytes {
		cut := partBytes
		for !utf8.RuneStart(value[cut]) {
			cut--
		}
		pieces = append(pieces, value[:cut])
		value = value[cut:]
	}
	return append(pieces, value)
}

func checksum(value string) string {
	sum := sha256.Sum256([]byte(value))
	return hex.EncodeToString(sum[:16])
}

func damaged(name string) error {
	return fmt.Errorf("the keychain's entry %q is incomplete. Save it again", name)
}

// fault makes an error for people. The keychain's own words are left out but for its known errors, since they may quote what was saved.
func fault(verb, name string, err error) error {
	switch {
	case errors.Is(err, errSilent), errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, keyring.ErrSetDataTooBig):
		return fmt.Errorf("the keychain could not %s %q: the value is too long", verb, name)
	}
	return fmt.Errorf("the keychain could not %s %q. Unlock it and try again", verb, name)
}
