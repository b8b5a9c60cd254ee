package blob

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Errors that callers tell apart; each is wrapped with what it is about.
var (
	ErrNotFound = errors.New("there is no such file")
	ErrTooLarge = errors.New("the file is too large")
)

// Options say where the files are. Dir is required and made when missing.
type Options struct {
	Dir    string
	Now    func() time.Time // file ages and times; default time.Now
	Random io.Reader        // random parts of names; default crypto/rand
}

// Validate fills the defaults.
func (o *Options) Validate() error {
	if o.Dir == "" {
		return errors.New("the files folder needs a path")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	return nil
}

// Folder is the open files folder. All methods may be used at the same time.
type Folder struct {
	dir    string // absolute, links followed
	root   *os.Root
	now    func() time.Time
	random io.Reader

	naming sync.Mutex // held from choosing a free name until the file has it
}

// Info describes one file. ModifiedAt is UTC.
type Info struct {
	Name       string    `json:"name"` // relative to the folder, forward slashes
	Size       int64     `json:"size"` // bytes
	MIME       string    `json:"mime"`
	ModifiedAt time.Time `json:"modified_at"`
}

// File is a file open for reading.
type File struct {
	*os.File
	Info Info
}

// Open opens the folder and removes what unfinished saves of an earlier life left.
func Open(o Options) (*Folder, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("the files folder cannot be made: %w", err)
	}
	dir, err := filepath.Abs(o.Dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("the files folder cannot be opened: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("the files folder cannot be opened: %w", err)
	}
	f := &Folder{dir: dir, root: root, now: o.Now, random: o.Random}
	if err := errors.Join(root.RemoveAll(tempDir), root.Mkdir(tempDir, 0o700)); err != nil {
		return nil, errors.Join(fmt.Errorf("the files folder cannot be written: %w", err), root.Close())
	}
	return f, nil
}

// Close ends the use of the folder. Files opened from it stay readable.
func (f *Folder) Close() error { return f.root.Close() }

// Dir is the folder's absolute path.
func (f *Folder) Dir() string { return f.dir }

// Open opens a file for reading. Errors: ErrName, ErrNotFound (also for folders and other things that are not files).
func (f *Folder) Open(name string) (*File, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	name = f.at(name)
	// Non-blocking, so that opening a pipe that someone put here cannot wait for ever.
	file, err := f.root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, notFound(name, err)
	}
	st, err := file.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return nil, errors.Join(notFound(name, err), file.Close())
	}
	return &File{File: file, Info: f.info(name, st, file)}, nil
}

// Stat describes a file. Errors as Open.
func (f *Folder) Stat(name string) (Info, error) {
	file, err := f.Open(name)
	if err != nil {
		return Info{}, err
	}
	return file.Info, file.Close()
}

// Delete removes a file. Errors: ErrName, ErrNotFound.
func (f *Folder) Delete(name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	name = f.at(name)
	st, err := f.root.Lstat(name)
	if err != nil || st.IsDir() {
		return notFound(name, err)
	}
	if err := f.root.Remove(name); err != nil {
		return notFound(name, err)
	}
	return f.syncDirs(path.Dir(name))
}

// Resolve follows links and gives the file's own name in the folder, so that a rule about a folder cannot be passed by a
// link into it. Errors as Open.
func (f *Folder) Resolve(name string) (string, error) {
	if err := CheckName(name); err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(filepath.Join(f.dir, filepath.FromSlash(f.at(name))))
	if err != nil {
		return "", notFound(name, err)
	}
	rel, err := filepath.Rel(f.dir, real)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", fmt.Errorf("%w: it leads out of the files folder", ErrName)
	}
	return filepath.ToSlash(rel), nil
}

// List describes every file below sub ("" for all), by name. A missing folder has no files; links to files inside the
// folder count, links out of it do not.
func (f *Folder) List(sub string) ([]Info, error) {
	sub = strings.Trim(sub, "/")
	if sub == "" {
		sub = "."
	} else if err := CheckName(sub); err != nil {
		return nil, err
	}
	list := []Info{}
	err := fs.WalkDir(f.root.FS(), sub, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && d != nil && d.IsDir():
			return fs.SkipDir
		case err != nil:
			return nil // it went away, or is nothing of ours
		case name == tempDir:
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		if info, ok := f.listed(name); ok {
			list = append(list, info)
		}
		return nil
	})
	return list, err
}

func (f *Folder) listed(name string) (Info, bool) {
	if CheckName(name) != nil {
		return Info{}, false
	}
	st, err := f.root.Stat(name)
	if err != nil || !st.Mode().IsRegular() {
		return Info{}, false
	}
	if m := byExtension(name); m != "" {
		return Info{Name: shown(name), Size: st.Size(), MIME: m, ModifiedAt: st.ModTime().UTC()}, true
	}
	info, err := f.Stat(name)
	return info, err == nil
}

func (f *Folder) info(name string, st fs.FileInfo, r io.ReaderAt) Info {
	m := byExtension(name)
	if m == "" {
		head := make([]byte, 512)
		n, _ := r.ReadAt(head, 0)
		m = MIME(name, head[:n])
	}
	return Info{Name: shown(name), Size: st.Size(), MIME: m, ModifiedAt: st.ModTime().UTC()}
}

// Uploads are called by their bare names (section 2): the folder they are in is the engine's business. So a bare name means
// the upload of that name where there is one, for reading and for writing alike, and else a file at the folder's top.

// at is where a name is in the folder.
func (f *Folder) at(name string) string {
	if !strings.Contains(name, "/") {
		if up := path.Join(Uploads, name); f.exists(up) {
			return up
		}
	}
	return name
}

// shown is what a file is called outside.
func shown(name string) string {
	if bare, ok := strings.CutPrefix(name, Uploads+"/"); ok && !strings.Contains(bare, "/") {
		return bare
	}
	return name
}

func (f *Folder) exists(name string) bool {
	_, err := f.root.Lstat(name)
	return err == nil
}

// notFound turns the ways in which a name leads to no file into one error; others keep their cause.
func notFound(name string, err error) error {
	if err == nil || errors.Is(err, fs.ErrNotExist) || isNotDir(err) {
		return fmt.Errorf("%w: %s", ErrNotFound, name)
	}
	if escapes(err) {
		return fmt.Errorf("%w: it leads out of the files folder", ErrName)
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return fmt.Errorf("the file %s cannot be used: %w", name, err)
}

// escapes knows the error of os.Root for a name that leaves it, which has no exported value.
func escapes(err error) bool { return strings.Contains(err.Error(), "path escapes from parent") }

func (f *Folder) randomHex(n int) (string, error) {
	b := make([]byte, n)
	if _, err := io.ReadFull(f.random, b); err != nil {
		return "", fmt.Errorf("no random name can be made: %w", err)
	}
	return hex.EncodeToString(b), nil
}
