package workspace

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"
)

// MaxFile bounds one file, in bytes.
const MaxFile = 1 << 20

const (
	soulFile   = "SOUL.md"
	userFile   = "USER.md"
	memoryFile = "MEMORY.md"
	notesDir   = "notes"
)

// ErrUnknownFile is for names other than soul, user and memory.
var ErrUnknownFile = errors.New("there is no such file. Use soul, user or memory")

// Workspace is the folder.
type Workspace struct{ dir string }

// New is the workspace in dir; nothing is read or made yet.
func New(dir string) *Workspace { return &Workspace{dir: dir} }

// Files are the whole files, as an editor shows them.
type Files struct {
	Soul      string `json:"soul"`
	User      string `json:"user"`
	Memory    string `json:"memory"`
	Today     string `json:"today"`
	Yesterday string `json:"yesterday"`
}

// Ensure makes the folder and the files that are missing; files that are there stay as they are.
func (w *Workspace) Ensure(names Names) error {
	return w.within(func(r *os.Root) error {
		if err := r.Mkdir(notesDir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return plain(notesDir, err)
		}
		n := names.tidy()
		fill := strings.NewReplacer("{assistant}", n.Assistant, "{user}", n.User)
		for name, text := range map[string]string{
			soulFile: Personas(names)[0].SoulMD, userFile: fill.Replace(defaultUser), memoryFile: fill.Replace(defaultMemory),
		} {
			if _, err := r.Lstat(name); err == nil {
				continue
			}
			if err := write(r, name, text); err != nil {
				return err
			}
		}
		return nil
	})
}

// Onboard writes USER.md from what the person said, and SOUL.md for the persona; "custom" and an unknown persona leave SOUL.md alone.
func (w *Workspace) Onboard(o Onboarding) error {
	if err := w.Ensure(o.Names); err != nil {
		return err
	}
	return w.within(func(r *os.Root) error {
		before, err := read(r, userFile)
		if err != nil {
			return err
		}
		if err := write(r, userFile, userText(o, before)); err != nil {
			return err
		}
		if p, ok := persona(o.Persona, o.Names); ok {
			return write(r, soulFile, p.SoulMD)
		}
		return nil
	})
}

// Read gives the whole files; one that is missing is empty. now says which day it is where the person lives.
func (w *Workspace) Read(now time.Time) (f Files, err error) {
	err = w.within(func(r *os.Root) error {
		for name, into := range map[string]*string{
			soulFile: &f.Soul, userFile: &f.User, memoryFile: &f.Memory, noteFile(now): &f.Today, noteFile(now.AddDate(0, 0, -1)): &f.Yesterday,
		} {
			text, err := read(r, name)
			if err != nil {
				return err
			}
			*into = text
		}
		return nil
	})
	return f, err
}

// Write replaces one file: "soul", "user" or "memory".
func (w *Workspace) Write(which, text string) error {
	name, ok := map[string]string{"soul": soulFile, "user": userFile, "memory": memoryFile}[which]
	if !ok {
		return ErrUnknownFile
	}
	return w.within(func(r *os.Root) error { return write(r, name, text) })
}

// Learn adds facts to USER.md's "## Learned" and says how many were new.
func (w *Workspace) Learn(facts []string) (added int, err error) {
	err = w.edit(userFile, func(text string) string { text, added = learn(text, facts); return text })
	return added, err
}

// Forget takes facts out of USER.md's "## Learned" and says how many bullets went.
func (w *Workspace) Forget(facts []string) (removed int, err error) {
	err = w.edit(userFile, func(text string) string { text, removed = forget(text, facts); return text })
	return removed, err
}

// Note adds a paragraph to today's notes.
func (w *Workspace) Note(now time.Time, note string) error {
	if strings.TrimSpace(note) == "" {
		return nil
	}
	return w.edit(noteFile(now), func(text string) string { return appendNote(text, now.Format(time.DateOnly), note) })
}

func (w *Workspace) edit(name string, change func(string) string) error {
	return w.within(func(r *os.Root) error {
		before, err := read(r, name)
		if err != nil {
			return err
		}
		after := change(before)
		if after == before {
			return nil
		}
		return write(r, name, after)
	})
}

func noteFile(day time.Time) string { return path.Join(notesDir, day.Format(time.DateOnly)+".md") }

// within opens the folder, making it if need be. Nothing done through the root can leave it, whatever links it holds.
func (w *Workspace) within(do func(*os.Root) error) error {
	if err := os.MkdirAll(w.dir, 0o700); err != nil {
		return plain("the workspace folder", err)
	}
	r, err := os.OpenRoot(w.dir)
	if err != nil {
		return plain("the workspace folder", err)
	}
	return errors.Join(do(r), r.Close())
}

// read gives a file's text, "" when there is none.
func read(r *os.Root, name string) (string, error) {
	info, err := r.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", plain(name, err)
	}
	if !info.Mode().IsRegular() { // opening a pipe would wait for ever
		return "", fmt.Errorf("%s is not a file. Remove it from the workspace folder", name)
	}
	f, err := r.Open(name)
	if err != nil {
		return "", plain(name, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return "", plain(name, err)
	}
	if len(data) > MaxFile {
		return "", fmt.Errorf("%s is larger than 1 MB. Make it smaller", name)
	}
	return strings.ToValidUTF8(string(data), "\uFFFD"), nil
}

// write replaces a file as a whole: temporary file, sync, rename, sync of the folder. A link in its place is replaced, not followed.
func write(r *os.Root, name, text string) error {
	if len(text) > MaxFile {
		return fmt.Errorf("the text for %s is larger than 1 MB. Make it shorter", name)
	}
	dir := path.Dir(name)
	if err := r.MkdirAll(dir, 0o700); err != nil {
		return plain(name, err)
	}
	temporary := path.Join(dir, ".tmp-"+rand.Text())
	f, err := r.OpenFile(temporary, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return plain(name, err)
	}
	_, err = f.WriteString(strings.ToValidUTF8(text, "\uFFFD"))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = r.Rename(temporary, name)
	}
	if err != nil {
		return plain(name, errors.Join(err, r.Remove(temporary)))
	}
	d, err := r.Open(dir)
	if err != nil {
		return plain(name, err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrInvalid) {
		return plain(name, err)
	}
	return nil
}

// plain leaves the path of an error out and says which file it is about.
func plain(name string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Errorf("%s cannot be used: %w", name, err)
}
