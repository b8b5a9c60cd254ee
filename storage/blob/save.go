package blob

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
)

// Save writes r to name, replacing a file that has the name. At most limit bytes are taken (0: no limit). The file is
// there whole and synced when Save returns, or not there at all. Errors: ErrName, ErrTooLarge, those of r and of the disk.
func (f *Folder) Save(name string, r io.Reader, limit int64) (Info, error) {
	if err := CheckName(name); err != nil {
		return Info{}, err
	}
	temp, err := f.write(r, limit)
	if err != nil {
		return Info{}, err
	}
	f.naming.Lock()
	defer f.naming.Unlock()
	return f.place(temp, f.at(name))
}

// Source says where an upload comes from, and so how it is named.
type Source string

const (
	SourceUpload    Source = "upload"
	SourceScreen    Source = "screen"
	SourceSelection Source = "selection"
)

// Upload is a file that a client or a messaging app hands over.
type Upload struct {
	Source Source // "" is SourceUpload
	Name   string // as the client calls it; only its last part counts and bad characters are replaced
	Limit  int64  // bytes; 0: no limit
	Taken  func(name string) bool
	// Taken says whether any message ever attached a file of that name, also one that is gone since: a name never points
	// at a different file later. It is asked for SourceUpload only and may be nil.
}

// Upload saves a file under a name of its own: uploads get " (1)", " (2)" when their name is taken, screens and
// selections always a random part.
func (f *Folder) Upload(r io.Reader, u Upload) (Info, error) {
	folder, random, err := u.Source.folder()
	if err != nil {
		return Info{}, err
	}
	temp, err := f.write(r, u.Limit)
	if err != nil {
		return Info{}, err
	}
	f.naming.Lock()
	defer f.naming.Unlock()
	name, err := f.freeName(folder, cleanBase(u.Name), random, u.Taken)
	if err != nil {
		return Info{}, errors.Join(err, f.root.Remove(temp))
	}
	return f.place(temp, name)
}

func (s Source) folder() (name string, random bool, err error) {
	switch s {
	case "", SourceUpload:
		return Uploads, false, nil
	case SourceScreen:
		return Screens, true, nil
	case SourceSelection:
		return Selections, true, nil
	}
	return "", false, errors.New("the source of a file is upload, screen or selection")
}

func (f *Folder) freeName(folder, base string, random bool, taken func(string) bool) (string, error) {
	stem, ext := splitExt(base)
	for i := range 100_000 {
		name := path.Join(folder, base)
		if random {
			part, err := f.randomHex(3)
			if err != nil {
				return "", err
			}
			name = path.Join(folder, stem+" "+part+ext)
		} else if i > 0 {
			name = path.Join(folder, fmt.Sprintf("%s (%d)%s", stem, i, ext))
		}
		_, err := f.root.Lstat(name)
		free := errors.Is(err, fs.ErrNotExist) && (random || !f.exists(shown(name)) && (taken == nil || !taken(shown(name))))
		if free {
			return name, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", notSaved(name, err)
		}
	}
	return "", errors.New("too many files have this name: give the file another one")
}

// write copies r to a synced temporary file and gives its name.
func (f *Folder) write(r io.Reader, limit int64) (temp string, err error) {
	part, err := f.randomHex(12)
	if err != nil {
		return "", err
	}
	temp = tempDir + "/" + part
	file, err := f.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", fmt.Errorf("the file cannot be saved: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.root.Remove(temp))
		}
	}()
	if limit > 0 {
		r = io.LimitReader(r, limit+1)
	}
	n, err := io.Copy(file, r)
	if err == nil && limit > 0 && n > limit {
		err = fmt.Errorf("%w: at most %d bytes are taken", ErrTooLarge, limit)
	}
	if err == nil {
		err = file.Sync()
	}
	return temp, errors.Join(err, file.Close())
}

// place gives a written file its name and makes that durable. The caller holds f.naming.
func (f *Folder) place(temp, name string) (Info, error) {
	now := f.now()
	err := f.root.Chtimes(temp, now, now)
	if err == nil {
		err = f.root.MkdirAll(path.Dir(name), 0o700)
	}
	if err == nil {
		err = f.root.Rename(temp, name)
	}
	if err != nil {
		return Info{}, errors.Join(notSaved(name, err), f.root.Remove(temp))
	}
	if err := f.syncDirs(path.Dir(name)); err != nil {
		return Info{}, err
	}
	return f.Stat(name)
}

func notSaved(name string, err error) error {
	if escapes(err) {
		return fmt.Errorf("%w: it leads out of the files folder", ErrName)
	}
	var p *fs.PathError
	var l *os.LinkError
	if errors.As(err, &p) {
		err = p.Err
	} else if errors.As(err, &l) {
		err = l.Err
	}
	return fmt.Errorf("the file %s cannot be saved: %w", name, err)
}

// syncDirs makes the entries of a folder and of all above it durable.
func (f *Folder) syncDirs(dir string) error {
	for {
		d, err := f.root.Open(dir)
		if err != nil {
			return fmt.Errorf("the folder %s cannot be synced: %w", dir, err)
		}
		if err := errors.Join(d.Sync(), d.Close()); err != nil {
			return fmt.Errorf("the folder %s cannot be synced: %w", dir, err)
		}
		if dir == "." {
			return nil
		}
		dir = path.Dir(dir)
	}
}
