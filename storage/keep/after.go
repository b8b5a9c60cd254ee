package keep

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// listed bounds how many made files a result names.
const listed = 1000

// After says what changed since the set was made. Copies of files that did not change go. It can be done again after a crash.
func (k *Keep) After(s *Set) Result {
	r := Result{Notes: s.Notes}
	for _, e := range s.Entries {
		change := e.changed()
		copied := filepath.Join(k.folder(s.ID), e.Copy)
		switch {
		case change == "":
			if e.Copy != "" {
				k.step("drop a copy")
				_ = os.Remove(copied)
			}
			continue
		case e.Copy != "" && missing(copied):
			continue // it was found unchanged before a crash; what changed it came later
		}
		e.Change = change
		r.Files = append(r.Files, e)
	}
	for _, path := range s.Absent {
		if st, err := os.Lstat(path); err == nil && st.Mode().IsRegular() {
			r.Created = append(r.Created, path)
		}
	}
	more := s.created(k.own())
	if n := listed - len(r.Created); len(more) > n {
		r.Notes = append(r.Notes[:len(r.Notes):len(r.Notes)], fmt.Sprintf("It made %d more files", len(more)-n))
		more = more[:n]
	}
	r.Created = append(r.Created, more...)
	return r
}

func missing(path string) bool {
	_, err := os.Lstat(path)
	return absent(err)
}

// absent: nothing is there, also because what should be a folder is none.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// changed holds a file against what it was; what cannot be read counts as changed.
func (e *Entry) changed() string {
	st, err := os.Lstat(e.Path)
	switch {
	case absent(err):
		return "deleted"
	case err != nil, !st.Mode().IsRegular(), st.Size() != e.Bytes, place(e.Path) != e.Path:
		return "changed"
	case e.Sum == "":
		if st.ModTime().Equal(e.At) {
			return ""
		}
		return "changed"
	}
	if sum, err := sumOf(e.Path); err != nil || sum != e.Sum {
		return "changed"
	}
	return ""
}

func (s *Set) created(own string) (list []string) {
	if s.Cut {
		return nil // which files are new is not known
	}
	before := map[string]bool{}
	for _, e := range s.Entries {
		before[e.Path] = true
	}
	for _, root := range s.Roots {
		walk(root, own, func(path string, _ fs.FileInfo) {
			if !before[path] {
				before[path] = true
				list = append(list, path)
			}
		})
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

// Restore puts the copies of files back where they were, each in one step, and says how many. Files without a copy are left
// alone. Nothing is written when a copy is gone or a place is not what it was: a link that was put in the way never leads a file
// elsewhere. It can be done again when it was cut short. Errors: ErrGone, those of the disk.
func (k *Keep) Restore(id string, files []Entry) (n int, err error) {
	for _, e := range files {
		if e.Copy == "" {
			continue
		}
		if sum, err := sumOf(filepath.Join(k.folder(id), e.Copy)); err != nil || e.Sum != "" && sum != e.Sum {
			return 0, ErrGone // damaged is as good as gone
		}
		if err := e.free(); err != nil {
			return 0, err
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

// free: the place of a file has a file or nothing.
func (e *Entry) free() error {
	st, err := os.Lstat(e.Path)
	switch {
	case place(e.Path) != e.Path:
		return errors.New("a folder of the file is a link now, so nothing was put in its place")
	case absent(err):
		return nil
	case err != nil:
		return err
	case !st.Mode().IsRegular():
		return errors.New("what is there is not a file anymore, so nothing was put in its place")
	}
	return nil
}

func (k *Keep) temp(id string, e Entry) string {
	return filepath.Join(filepath.Dir(e.Path), ".put-back-"+id+"-"+e.Copy)
}

// putBack writes a file beside its place, synced, and moves it there.
func (k *Keep) putBack(id string, e Entry) (err error) {
	in, err := openFile(filepath.Join(k.folder(id), e.Copy))
	if err != nil {
		return err
	}
	defer in.Close()
	k.step("make its folder")
	if err := os.MkdirAll(filepath.Dir(e.Path), 0o700); err != nil {
		return err
	}
	if err := e.free(); err != nil { // once more, right before the write
		return err
	}
	temp := k.temp(id, e)
	k.step("write beside")
	_ = os.Remove(temp) // of a restore that a crash cut
	out, err := os.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	err = errors.Join(err, out.Chmod(e.Mode), out.Sync(), out.Close())
	if err == nil {
		k.step("move there")
		err = os.Rename(temp, e.Path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return syncDir(filepath.Dir(e.Path))
}

// Sweep removes what a restore that a crash cut left beside the files.
func (k *Keep) Sweep(id string, files []Entry) {
	for _, e := range files {
		if e.Copy != "" && place(e.Path) == e.Path {
			_ = os.Remove(k.temp(id, e))
		}
	}
}
