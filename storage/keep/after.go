package keep

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// After says what changed since the set was made. Copies of files that did not change go.
func (k *Keep) After(s *Set) (Result, error) {
	r := Result{Notes: s.Notes}
	for _, e := range s.Entries {
		change, err := s.changed(e)
		if err != nil {
			return r, err
		}
		if change == "" {
			if e.Copy != "" {
				_ = os.Remove(filepath.Join(k.folder(s.ID), e.Copy))
			}
			continue
		}
		e.Change = change
		r.Files = append(r.Files, e)
	}
	for _, path := range s.Absent {
		if st, err := os.Lstat(path); err == nil && st.Mode().IsRegular() {
			r.Created = append(r.Created, path)
		}
	}
	r.Created = append(r.Created, s.created(k.dir)...)
	return r, nil
}

func (s *Set) changed(e Entry) (string, error) {
	st, err := os.Lstat(e.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "deleted", nil
	case err != nil:
		return "", err
	case !st.Mode().IsRegular() || st.Size() != e.Bytes:
		return "changed", nil
	case e.Sum == "":
		if !st.ModTime().Equal(e.At) {
			return "changed", nil
		}
		return "", nil
	}
	sum, err := sumOf(e.Path)
	if err == nil && sum != e.Sum {
		return "changed", nil
	}
	return "", err
}

func (s *Set) created(own string) (list []string) {
	if len(s.Roots) == 0 || slices.Contains(s.Notes, TooMany) {
		return nil
	}
	now := &Set{}
	for _, r := range s.Roots {
		now.walk(r, own)
	}
	before := map[string]bool{}
	for _, e := range s.Entries {
		before[e.Path] = true
	}
	for _, e := range now.Entries {
		if !before[e.Path] {
			list = append(list, e.Path)
		}
	}
	return list
}

func sumOf(path string) (string, error) {
	f, err := openFile(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return fmt.Sprintf("%x", h.Sum(nil)), err
}

// ErrGone: the copies are not there anymore.
var ErrGone = errors.New("The copies are gone.")

// Restore puts the copies of files back where they were, each in one step, and says how many. Files without a copy are left
// alone. It can be done again when it was cut short.
func (k *Keep) Restore(id string, files []Entry) (n int, err error) {
	for _, e := range files {
		if e.Copy == "" {
			continue
		}
		if _, err := os.Stat(filepath.Join(k.folder(id), e.Copy)); err != nil {
			return 0, ErrGone // before anything is written
		}
	}
	for _, e := range files {
		if e.Copy == "" {
			continue
		}
		if err := k.putBack(id, e); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func (k *Keep) putBack(id string, e Entry) error {
	in, err := os.Open(filepath.Join(k.folder(id), e.Copy))
	if err != nil {
		return err
	}
	defer in.Close()
	if st, err := os.Lstat(e.Path); err == nil && !st.Mode().IsRegular() {
		return fmt.Errorf("%s is not a file anymore, so nothing was put in its place", e.Path)
	}
	if err := os.MkdirAll(filepath.Dir(e.Path), 0o755); err != nil {
		return err
	}
	return replace(e.Path, in, e.Mode)
}

// replace writes a file beside its place, syncs it, and moves it there.
func replace(path string, r io.Reader, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".put-back-*")
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	if d, err := os.Open(filepath.Dir(path)); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
	return nil
}
