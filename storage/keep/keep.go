// Package keep owns the copies of files that are made before code changes them, so that they can be put back (section 10, "File
// snapshots before code writes"). It knows files and folders only; which calls are guarded, and what a person is told, is the
// business of others.
//
// A set is a folder with the copies and a manifest. The manifest is synced before the call that may change the files begins and
// goes when what the call changed is recorded (Settle). So a set with a manifest is one whose call a crash cut, and one without
// is either recorded or rubbish.
package keep

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Limits bound what is copied.
type Limits struct {
	FileBytes  int64 // a bigger file gets no copy
	TotalBytes int64 // more than this in all: nothing is copied
	Files      int   // more files than this: nothing is copied

	// All copies every file, whatever its size and kind, or fails: what a restore replaces must not be lost.
	All bool
}

// Entry is one file of a set.
type Entry struct {
	Path   string `json:"path"`             // absolute; its folder has no links in it
	Change string `json:"change,omitempty"` // changed, deleted; after the call
	Bytes  int64  `json:"bytes"`
	Copy   string `json:"copy,omitempty"` // its copy's name in the set; "" none
	Note   string `json:"note,omitempty"` // why there is none

	Mode fs.FileMode `json:"mode"`
	At   time.Time   `json:"at"` // modified, before the call
	Sum  string      `json:"sum,omitempty"`
}

// Set is what was there before a call.
type Set struct {
	ID      string          `json:"id"`
	Meta    json.RawMessage `json:"meta,omitempty"` // what the caller wants to know of the call after a crash
	Entries []Entry         `json:"entries"`
	Roots   []string        `json:"roots,omitempty"`
	Absent  []string        `json:"absent,omitempty"` // guarded files that were not there
	Notes   []string        `json:"notes,omitempty"`
	Cut     bool            `json:"cut,omitempty"` // the folders hold more files than were looked at
}

// Result is what a call changed.
type Result struct {
	Files   []Entry
	Created []string
	Notes   []string
}

// Changed says whether anything did.
func (r Result) Changed() bool { return len(r.Files)+len(r.Created) > 0 }

// Why a file has no copy.
const (
	TooMany    = "Too many files to keep a copy"
	tooBig     = "Too big to keep a copy"
	noText     = "Not a text file, so no copy is kept"
	unreadable = "It could not be read, so no copy is kept"
)

// Errors that callers tell apart.
var (
	ErrID   = errors.New("this is no id for a set of copies, or it is taken")
	ErrGone = errors.New("the copies are gone")
)

// Keep is the folder of all sets.
type Keep struct {
	dir string // absolute, links followed

	// Step is told before each change on disk; nil: nobody. Tests end the world there.
	Step func(what string)
}

// Open makes the folder. It lies in Sentient's own one.
func Open(dir string) (*Keep, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the folder for copies of files cannot be made: %w", err)
	}
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("the folder for copies of files cannot be opened: %w", err)
	}
	return &Keep{dir: dir}, nil
}

func (k *Keep) step(what string) {
	if k.Step != nil {
		k.Step(what)
	}
}

const manifest = "manifest.json"

// own is Sentient's own folder, which holds the copies: it is never walked into, only below a given folder that is inside it.
func (k *Keep) own() string { return filepath.Dir(k.dir) }

func (k *Keep) folder(id string) string { return filepath.Join(k.dir, id) }

// goodID: a name for a folder on every system, that is not too long and hides nothing.
func goodID(id string) bool {
	return id != "" && len(id) <= 100 && id[0] != '.' && strings.IndexFunc(id, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	}) < 0
}

// Before copies what a call may change: single files, and what is in folders. Paths are absolute. Links to files and below the
// given folders are never followed. When it returns the set is on disk, whole. Errors: ErrID, those of the disk.
func (k *Keep) Before(id string, meta json.RawMessage, files, roots []string, l Limits) (*Set, error) {
	if !goodID(id) {
		return nil, ErrID
	}
	s := &Set{ID: id, Meta: meta}
	s.look(files, roots, k.own())
	s.decide(l)
	k.step("make the folder")
	if err := os.Mkdir(k.folder(id), 0o700); errors.Is(err, fs.ErrExist) {
		return nil, ErrID
	} else if err != nil {
		return nil, err
	}
	err := k.copyAll(s, l)
	if err == nil {
		err = k.save(s)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(k.folder(id)))
	}
	return s, nil
}

func (k *Keep) save(s *Set) error {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	temp := filepath.Join(k.folder(s.ID), "manifest.new")
	k.step("write the manifest")
	if err := writeNew(temp, b); err != nil {
		return err
	}
	k.step("name the manifest")
	if err := os.Rename(temp, filepath.Join(k.folder(s.ID), manifest)); err != nil {
		return err
	}
	return errors.Join(syncDir(k.folder(s.ID)), syncDir(k.dir))
}

// Load reads a set whose call was never recorded; ok is false when there is none: its call had not begun, or was recorded.
func (k *Keep) Load(id string) (s *Set, ok bool, err error) {
	b, err := os.ReadFile(filepath.Join(k.folder(id), manifest))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	s = &Set{}
	if json.Unmarshal(b, s) != nil || s.ID != id {
		return nil, false, nil
	}
	return s, true, nil
}

// Settle ends a set's call: what it changed is recorded elsewhere from now on.
func (k *Keep) Settle(id string) error {
	k.step("settle")
	if err := os.Remove(filepath.Join(k.folder(id), manifest)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return syncDir(k.folder(id))
}

// IDs lists the sets that are there.
func (k *Keep) IDs() ([]string, error) {
	list, err := os.ReadDir(k.dir)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, d := range list {
		if d.IsDir() {
			ids = append(ids, d.Name())
		}
	}
	return ids, nil
}

// Remove ends a set.
func (k *Keep) Remove(id string) error {
	k.step("remove")
	return os.RemoveAll(k.folder(id))
}

// Bytes is how much a set's copies take.
func (k *Keep) Bytes(id string) (n int64) {
	list, _ := os.ReadDir(k.folder(id))
	for _, d := range list {
		if st, err := d.Info(); err == nil && d.Name() != manifest {
			n += st.Size()
		}
	}
	return n
}

func writeNew(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Sync(), f.Close())
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
