package secret

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// maxFile bounds the decrypted file.
const maxFile = 16 << 20

// vault is the encrypted file: a map of names, written whole. A note that an entry is gone stays until the keychain has been told.
//
// Only whoever has the store's turn may use it.
type vault struct {
	path, keyPath, phrase string
	lock                  *lock
	seen                  stamp
	entries               map[string]note
}

type note struct {
	Value string `json:"value,omitempty"`
	Gone  bool   `json:"gone,omitempty"`
}

type content struct {
	Version int             `json:"version"`
	Entries map[string]note `json:"entries"`
}

// stamp tells one version of the file from another.
type stamp struct {
	size int64
	at   time.Time
	node os.FileInfo
}

func (s stamp) same(o stamp) bool {
	return s.node != nil && o.node != nil && s.size == o.size && s.at.Equal(o.at) && os.SameFile(s.node, o.node)
}

func newVault(home, phrase string) *vault {
	return &vault{path: filepath.Join(home, "secrets.enc"), keyPath: filepath.Join(home, "secrets.key"), phrase: phrase}
}

// load reads the file if it is new to us. A file that is not there is empty.
func (v *vault) load() (map[string]note, error) {
	info, err := os.Stat(v.path)
	if errors.Is(err, fs.ErrNotExist) {
		v.entries, v.seen = map[string]note{}, stamp{}
		return v.entries, nil
	}
	if err != nil {
		return nil, fmt.Errorf("secrets.enc cannot be read: %w", plainPathError(err))
	}
	now := stamp{info.Size(), info.ModTime(), info}
	if v.entries != nil && v.seen.same(now) {
		return v.entries, nil
	}
	sealed, err := os.ReadFile(v.path)
	if err != nil {
		return nil, fmt.Errorf("secrets.enc cannot be read: %w", plainPathError(err))
	}
	if v.lock == nil {
		if v.lock, err = readLock(v.phrase, v.keyPath, false); err != nil {
			return nil, err
		}
	}
	plain, err := v.lock.open(sealed)
	if err != nil {
		v.lock = nil // the person may put the right key in place
		return nil, err
	}
	var c content
	if err := json.Unmarshal(plain, &c); err != nil {
		return nil, errDamaged
	}
	if c.Version != 1 {
		return nil, errors.New("secrets.enc was written by a newer version. Update Sentient; the file was kept")
	}
	if c.Entries == nil {
		c.Entries = map[string]note{}
	}
	v.entries, v.seen = c.Entries, now
	return v.entries, nil
}

// change writes the file with one entry changed; nil takes it out.
func (v *vault) change(name string, n *note) error {
	old, err := v.load()
	if err != nil {
		return err
	}
	if _, there := old[name]; !there && n == nil {
		return nil
	}
	next := make(map[string]note, len(old)+1)
	for k, e := range old {
		next[k] = e
	}
	if delete(next, name); n != nil {
		next[name] = *n
	}
	return v.save(next)
}

func (v *vault) save(entries map[string]note) error {
	if v.lock == nil {
		var err error
		if v.lock, err = readLock(v.phrase, v.keyPath, true); err != nil {
			return err
		}
	}
	plain, err := json.Marshal(content{Version: 1, Entries: entries})
	if err != nil {
		return errors.New("the secrets could not be written")
	}
	if len(plain) > maxFile {
		return errors.New("the secrets file is full. Delete keys that are not needed")
	}
	sealed, err := v.lock.seal(plain)
	if err != nil {
		return err
	}
	if err := writeAtomic(v.path, sealed); err != nil {
		return fmt.Errorf("secrets.enc could not be written: %w. Check the disk's space and the permissions", plainPathError(err))
	}
	v.entries, v.seen = entries, stamp{}
	if info, err := os.Stat(v.path); err == nil {
		v.seen = stamp{info.Size(), info.ModTime(), info}
	}
	return nil
}

// writeAtomic replaces a file as a whole, readable by its owner only: temporary file, sync, rename, sync of the folder.
func writeAtomic(path string, data []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, ".tmp-*") // made with mode 600
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrInvalid) {
		return err
	}
	return nil
}

// plainPathError leaves the path out of an error.
func plainPathError(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
