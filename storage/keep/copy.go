package keep

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// walked is how many files are looked at before the folders count as too full to guard.
const walked = 10_000

// skipped folders are never looked at.
var skipped = strings.Fields(".git .hg .svn node_modules __pycache__ .venv venv .tox .nox .mypy_cache .pytest_cache .ruff_cache .cache .gradle")

// notText are endings of files that are not text: they get a note and no copy.
var notText = strings.Fields(`.png .jpg .jpeg .gif .webp .bmp .ico .heic .avif .tif .tiff .psd .zip .gz .tgz .bz2 .xz .zst .7z .rar .tar .mp3 .wav .ogg .opus .flac .m4a .aac .mp4 .mov .avi .mkv .webm
	.pdf .doc .docx .xls .xlsx .ppt .pptx .odt .ods .odp .epub .db .sqlite .sqlite3 .mdb .parquet .exe .dll .so .dylib .bin .iso .dmg .class .jar .pyc .o .a .woff .woff2 .ttf .otf`)

// look finds the files, by stat alone.
func (s *Set) look(files, roots []string, own string) {
	seen := map[string]bool{}
	add := func(path string, st fs.FileInfo) {
		if !seen[path] {
			seen[path] = true
			s.Entries = append(s.Entries, Entry{Path: path, Bytes: st.Size(), Mode: st.Mode().Perm(), At: st.ModTime()})
		}
	}
	for _, path := range files {
		path = place(path)
		st, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			s.Absent = append(s.Absent, path)
		case err == nil && st.Mode().IsRegular():
			add(path, st)
		}
	}
	for _, root := range roots {
		if real, err := filepath.EvalSymlinks(root); err == nil {
			s.Roots = append(s.Roots, real)
			s.Cut = walk(real, own, add) || s.Cut
		}
	}
}

// walk calls add for each file below a folder, but never goes into Sentient's own one; cut says that there are more.
func walk(root, own string, add func(string, fs.FileInfo)) (cut bool) {
	n := 0
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil
		case d.IsDir() && (path == own || path != root && slices.Contains(skipped, d.Name())):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		if n++; n > walked {
			cut = true
			return fs.SkipAll
		}
		if st, err := d.Info(); err == nil {
			add(path, st)
		}
		return nil
	})
	return cut
}

// place is where a path really is: the links of its folder followed, as far as it exists. Its last part stays what it is.
func place(path string) string {
	dir, base := filepath.Split(filepath.Clean(path))
	dir = filepath.Clean(dir)
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return filepath.Join(real, base)
	}
	if dir == filepath.Clean(path) {
		return dir
	}
	return filepath.Join(place(dir), base)
}

// decide says, from what stat told alone, what gets a copy: all that can, or nothing.
func (s *Set) decide(l Limits) {
	if l.All {
		return
	}
	var total int64
	n := 0
	for i := range s.Entries {
		e := &s.Entries[i]
		switch {
		case e.Bytes > l.FileBytes:
			e.Note = tooBig
		case slices.Contains(notText, strings.ToLower(filepath.Ext(e.Path))):
			e.Note = noText
		default:
			total += e.Bytes
			n++
		}
	}
	if n > l.Files || total > l.TotalBytes || len(s.Entries) > walked || s.Cut {
		for i := range s.Entries {
			s.Entries[i].Note = TooMany
		}
		s.Notes = append(s.Notes, TooMany)
	}
}

func (k *Keep) copyAll(s *Set, l Limits) error {
	for i := range s.Entries {
		e := &s.Entries[i]
		if e.Note != "" {
			continue
		}
		name := fmt.Sprintf("%06d", i)
		k.step("copy")
		if err := e.copyTo(filepath.Join(k.folder(s.ID), name), l); err != nil {
			return err
		}
		if e.Note == "" {
			e.Copy = name
		}
	}
	return nil
}

// reading remembers that it was the reading that failed.
type reading struct {
	r   io.Reader
	err error
}

func (r *reading) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

// copyTo makes a file's copy, synced, or notes why there is none. A file that cannot be read costs only its own copy; errors are
// those of writing, and with Limits.All also those of reading.
func (e *Entry) copyTo(to string, l Limits) error {
	in, err := openFile(e.Path)
	if err != nil {
		return e.without(unreadable, err, l)
	}
	defer in.Close()
	from := &reading{r: in}
	head := make([]byte, 8<<10)
	n, err := io.ReadFull(from, head)
	switch {
	case from.err != nil:
		return e.without(unreadable, err, l)
	case !l.All && bytes.IndexByte(head[:n], 0) >= 0:
		return e.without(noText, nil, l)
	}
	var rest io.Reader = from
	if !l.All {
		rest = io.LimitReader(from, l.FileBytes-int64(n)+1)
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	h := sha256.New()
	size, err := io.Copy(io.MultiWriter(out, h), io.MultiReader(bytes.NewReader(head[:n]), rest))
	err = errors.Join(err, out.Sync(), out.Close())
	switch {
	case from.err != nil:
		return errors.Join(os.Remove(to), e.without(unreadable, from.err, l))
	case err != nil:
		return err
	case !l.All && size > l.FileBytes: // it grew
		return errors.Join(os.Remove(to), e.without(tooBig, nil, l))
	}
	e.Bytes, e.Sum = size, fmt.Sprintf("%x", h.Sum(nil))
	return nil
}

func (e *Entry) without(note string, err error, l Limits) error {
	if l.All && err != nil {
		return err
	}
	e.Note = note
	return nil
}
