// Package keep owns the copies of files that are made before code changes them, so that they can be put back (section 10, "File
// snapshots before code writes"). It knows files and folders only; which calls are guarded, and what a person is told, is the
// business of others.
//
// A set is a folder with the copies and a manifest. The manifest is synced before the call that may change the files begins, so
// a set that a crash left behind says what to compare.
package keep

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Limits bound what is copied.
type Limits struct {
	FileBytes  int64 // a bigger file gets no copy
	TotalBytes int64 // more than this in all: nothing is copied
	Files      int   // more files than this: nothing is copied
}

// walked is how many files are looked at before the folders count as too full to guard.
const walked = 10_000

// Entry is one file of a set.
type Entry struct {
	Path   string `json:"path"`
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
	ID      string   `json:"id"`
	Entries []Entry  `json:"entries"`
	Roots   []string `json:"roots,omitempty"`
	Absent  []string `json:"absent,omitempty"` // guarded files that were not there
	Notes   []string `json:"notes,omitempty"`
	Made    bool     `json:"made"` // it is complete
}

// Result is what a call changed.
type Result struct {
	Files   []Entry
	Created []string
	Notes   []string
}

// Changed says whether anything did.
func (r Result) Changed() bool { return len(r.Files)+len(r.Created) > 0 }

// TooMany is the note of a set that holds no copies because there was too much to copy.
const TooMany = "Too many files to keep a copy"

// Keep is the folder of all sets.
type Keep struct{ dir string }

// Open makes the folder.
func Open(dir string) (*Keep, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return &Keep{dir}, nil
}

const manifest = "manifest.json"

func (k *Keep) folder(id string) string { return filepath.Join(k.dir, id) }

// Before copies what a call may change: single files, and what is in folders. Paths are absolute. Links are never followed.
func (k *Keep) Before(id string, files, roots []string, l Limits) (*Set, error) {
	if id == "" || strings.ContainsAny(id, `/\`) || id[0] == '.' {
		return nil, errors.New("this is no id for a set of copies")
	}
	s := &Set{ID: id, Roots: roots}
	for _, f := range files {
		s.look(f)
	}
	for _, r := range roots {
		s.walk(r, k.dir)
	}
	s.decide(l)
	if err := os.Mkdir(k.folder(id), 0o700); err != nil {
		return nil, err
	}
	if err := s.copyAll(k.folder(id)); err != nil {
		os.RemoveAll(k.folder(id))
		return nil, err
	}
	s.Made = true
	if err := k.save(s); err != nil {
		os.RemoveAll(k.folder(id))
		return nil, err
	}
	return s, nil
}

func (s *Set) look(path string) {
	st, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.Absent = append(s.Absent, path)
	case err == nil && st.Mode().IsRegular():
		s.add(path, st)
	}
}

func (s *Set) add(path string, st fs.FileInfo) {
	if !slices.ContainsFunc(s.Entries, func(e Entry) bool { return e.Path == path }) {
		s.Entries = append(s.Entries, Entry{Path: path, Bytes: st.Size(), Mode: st.Mode().Perm(), At: st.ModTime()})
	}
}

// skipped folders are never looked at.
var skipped = []string{".git", "node_modules", "__pycache__", ".venv", "venv", ".hg", ".svn", ".tox", ".mypy_cache", ".cache"}

func (s *Set) walk(root, own string) {
	seen := map[string]bool{}
	for _, e := range s.Entries {
		seen[e.Path] = true
	}
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil
		case d.IsDir() && path != root && (slices.Contains(skipped, d.Name()) || path == own):
			return fs.SkipDir
		case !d.Type().IsRegular() || seen[path]:
			return nil
		}
		if st, err := d.Info(); err == nil {
			s.Entries = append(s.Entries, Entry{Path: path, Bytes: st.Size(), Mode: st.Mode().Perm(), At: st.ModTime()})
		}
		if len(s.Entries) > walked {
			return fs.SkipAll
		}
		return nil
	})
}

// notText are endings of files that are not text: they get a note and no copy.
var notText = strings.Fields(`.png .jpg .jpeg .gif .webp .bmp .ico .heic .tiff .zip .gz .tgz .bz2 .xz .7z .rar .tar .mp3 .wav .ogg .flac .m4a .mp4 .mov .avi .mkv .webm .pdf .doc .docx .xls .xlsx .ppt .pptx .odt .ods .odp
	.db .sqlite .sqlite3 .mdb .exe .dll .so .dylib .bin .iso .class .jar .pyc .o .a .woff .woff2 .ttf .otf`)

// decide says, from what stat told alone, what gets a copy: all that can, or nothing.
func (s *Set) decide(l Limits) {
	var total int64
	n := 0
	for i := range s.Entries {
		e := &s.Entries[i]
		switch {
		case e.Bytes > l.FileBytes:
			e.Note = "Too big to keep a copy"
		case slices.Contains(notText, strings.ToLower(filepath.Ext(e.Path))):
			e.Note = "Not a text file, so no copy is kept"
		default:
			total += e.Bytes
			n++
		}
	}
	if n > l.Files || total > l.TotalBytes || len(s.Entries) > walked {
		for i := range s.Entries {
			s.Entries[i].Note = TooMany
		}
		s.Notes = append(s.Notes, TooMany)
	}
}

func (s *Set) copyAll(dir string) error {
	for i := range s.Entries {
		e := &s.Entries[i]
		if e.Note != "" {
			continue
		}
		name := fmt.Sprintf("%06d", i)
		text, sum, err := copyText(e.Path, filepath.Join(dir, name), e.Bytes)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			e.Note = "It was gone before a copy could be made"
		case err != nil:
			return err
		case !text:
			e.Note = "Not a text file, so no copy is kept"
		default:
			e.Copy, e.Sum = name, sum
		}
	}
	return nil
}

// copyText copies a file, synced; text is false, and nothing is left, when its first 8 KB have a zero byte.
func copyText(from, to string, atMost int64) (text bool, sum string, err error) {
	in, err := openFile(from)
	if err != nil {
		return false, "", err
	}
	defer in.Close()
	head := make([]byte, 8<<10)
	n, err := io.ReadFull(in, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return false, "", err
	}
	if bytes.IndexByte(head[:n], 0) >= 0 {
		return false, "", nil
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return false, "", err
	}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, h), io.MultiReader(bytes.NewReader(head[:n]), io.LimitReader(in, atMost+1<<20)))
	if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
		return false, "", err
	}
	return true, fmt.Sprintf("%x", h.Sum(nil)), nil
}

func (k *Keep) save(s *Set) error {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return replace(filepath.Join(k.folder(s.ID), manifest), bytes.NewReader(b), 0o600)
}

// Load reads a set that is there; ok is false when it is not complete: its call had not begun.
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
	return s, s.Made, nil
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
func (k *Keep) Remove(id string) error { return os.RemoveAll(k.folder(id)) }

// Bytes is how much a set's copies take.
func (k *Keep) Bytes(id string) (n int64) {
	list, _ := os.ReadDir(k.folder(id))
	for _, d := range list {
		if st, err := d.Info(); err == nil {
			n += st.Size()
		}
	}
	return n
}
