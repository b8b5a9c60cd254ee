package blob

import (
	"errors"
	"io/fs"
	"strings"
	"time"
)

// unattachedAge is how long a screen picture or selected text may wait for the message it is for.
const unattachedAge = time.Hour

// SweepUnattached removes the screens and selections that no message has and that are over an hour old, and
// gives their names. Files that cannot be removed are named by the error; the others are removed all the same.
func (f *Folder) SweepUnattached(attached func(name string) bool) ([]string, error) {
	var gone []string
	var errs []error
	before := f.now().Add(-unattachedAge)
	for _, folder := range []string{Screens, Selections} {
		list, err := f.List(folder)
		errs = append(errs, err)
		for _, info := range list {
			if !info.ModifiedAt.Before(before) || attached(info.Name) {
				continue
			}
			if err := f.Delete(info.Name); err != nil {
				errs = append(errs, err)
				continue
			}
			gone = append(gone, info.Name)
		}
	}
	return gone, errors.Join(errs...)
}

// DeleteIncognito removes the long tool results of an incognito chat; they go with it.
func (f *Folder) DeleteIncognito(session string) error {
	dir, err := IncognitoDir(session)
	if err != nil {
		return err
	}
	if err := f.root.RemoveAll(dir); err != nil {
		return notFound(dir, err)
	}
	if err := f.syncDirs(Outputs); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// SweepIncognito removes the result folders of incognito chats that are gone, as a crash leaves them, and gives
// the chats' ids.
func (f *Folder) SweepIncognito(alive func(session string) bool) ([]string, error) {
	entries, err := fs.ReadDir(f.root.FS(), Outputs)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var gone []string
	errs := []error{err}
	for _, e := range entries {
		session, ok := strings.CutPrefix(e.Name(), incognitoPrefix)
		if _, err := IncognitoDir(session); !ok || err != nil || alive(session) {
			continue
		}
		if err := f.DeleteIncognito(session); err != nil {
			errs = append(errs, err)
			continue
		}
		gone = append(gone, session)
	}
	return gone, errors.Join(errs...)
}
