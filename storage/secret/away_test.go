package secret

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// What was written while the keychain was away is newer, and moves when it is back.
func TestTheFileMovesIntoTheKeychain(t *testing.T) {
	home, r := t.TempDir(), newRing()
	first := open(t, home, r)
	must(t, first.Set(t.Context(), "changed", "old"))
	must(t, first.Set(t.Context(), "deleted", "old"))
	r.down = errNoBus
	away := open(t, home, r)
	must(t, away.Set(t.Context(), "changed", "new"))
	must(t, away.Set(t.Context(), "added", "new"))
	must(t, away.Delete(t.Context(), "deleted"))
	r.down = nil
	r.refuse = func(op, name string) error {
		if op == "set" && name == "added" {
			return errors.New("locked")
		}
		return nil
	}
	half := open(t, home, r)
	want(t, half, "changed", "new", sourceOf(t, half, "changed"))
	want(t, half, "added", "new", File)
	want(t, half, "deleted", "", None)
	r.refuse = nil
	back := open(t, home, r)
	want(t, back, "changed", "new", Keychain)
	want(t, back, "added", "new", Keychain)
	want(t, back, "deleted", "", None)
	if len(r.entries) != 2 {
		t.Error(len(r.entries))
	}
}

func sourceOf(t *testing.T, s *Store, name string) Source {
	from, err := s.Source(t.Context(), name)
	must(t, err)
	return from
}

func TestAKeychainThatHangsIsGivenUp(t *testing.T) {
	home := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := newRing()
		r.hang = make(chan struct{})
		begun := time.Now()
		s := open(t, home, r)
		if time.Since(begun) != 0 || r.calls != 0 {
			t.Error("opening waits for the keychain")
		}
		must(t, s.Set(t.Context(), "a", "1"))
		if took := time.Since(begun); took != 2*time.Second {
			t.Error("the first use took", took)
		}
		want(t, s, "a", "1", File)
		if time.Since(begun) != 2*time.Second {
			t.Error("it is asked again and again")
		}
		close(r.hang)
	})
}

func TestAKeychainThatHangsLaterIsAnError(t *testing.T) {
	home := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := newRing()
		s := open(t, home, r)
		must(t, s.Set(t.Context(), "a", "1"))
		r.hang = make(chan struct{})
		for range 3 {
			if _, _, err := s.Get(t.Context(), "a"); !errors.Is(err, errSilent) {
				t.Error(err)
			}
		}
		if err := s.Set(t.Context(), "a", "2"); !errors.Is(err, errSilent) {
			t.Error("a value must not go to the file instead", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		if _, _, err := s.Get(ctx, "a"); err == nil || time.Since(begun) != time.Second {
			t.Error("the caller's own limit", err, time.Since(begun))
		}
		close(r.hang)
		synctest.Wait()
		r.hang = nil
		want(t, s, "a", "1", Keychain)
	})
}
