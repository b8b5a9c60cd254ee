package app

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Watcher sees a person's own edits of config.yaml. It waits until the file has been quiet for a while, reads it, and hands over what
// it found; writing the same content again is not an edit. What the engine saved itself is handed over too: it changes nothing.
type Watcher struct {
	// File is the file to watch.
	File *ConfigFile
	// Apply gets each new version: either a configuration, or the error that says why the file cannot be used (then cfg is nil and what
	// is in force stays). It verifies and applies, and returns why it refused. It is called from Serve, one call at a time.
	Apply func(cfg *Config, report Report, err error) error
	// Quiet is how long the file must have been left alone; 0 means 300 ms.
	Quiet time.Duration
	// Logger says what was refused; nil is silent.
	Logger *slog.Logger
	// Notify gives the names of the files that change in some folders, until ctx ends, and then closes the
	// channel; nil asks the operating system.
	Notify func(ctx context.Context, dirs []string) (<-chan string, error)
}

// Serve watches until ctx ends and then returns nil.
func (w *Watcher) Serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	notify := w.Notify
	if notify == nil {
		notify = systemNotify
	}
	names, dirs := w.targets()
	changes, err := notify(ctx, dirs)
	if err != nil {
		return fmt.Errorf("changes of config.yaml cannot be seen: %w. Restart after editing it", err)
	}
	quiet := w.Quiet
	if quiet <= 0 {
		quiet = 300 * time.Millisecond
	}
	var due <-chan time.Time
	seen := fingerprint(w.File.good) // what is in force: an edit between the start and now counts too
	if fingerprint(w.File.path) != seen {
		due = time.After(quiet)
	}
	for {
		select {
		case <-ctx.Done():
			for range changes { // its goroutine has ended when the channel is closed
			}
			return nil
		case name, ok := <-changes:
			if !ok {
				if ctx.Err() != nil {
					return nil
				}
				return errors.New("the watch on config.yaml ended. Restart after editing it")
			}
			if names[name] {
				due = time.After(quiet)
			}
		case <-due:
			due = nil
			if now := fingerprint(w.File.path); now != seen {
				seen = now
				w.apply()
			}
		}
	}
}

// targets are the names that matter and the folders to watch; a linked file is watched where it really is, too.
func (w *Watcher) targets() (names map[string]bool, dirs []string) {
	path := w.File.path
	names, dirs = map[string]bool{filepath.Base(path): true}, []string{filepath.Dir(path)}
	if real, err := filepath.EvalSymlinks(path); err == nil && filepath.Dir(real) != dirs[0] {
		names[filepath.Base(real)] = true
		dirs = append(dirs, filepath.Dir(real))
	}
	return names, dirs
}

func fingerprint(path string) [sha256.Size]byte {
	data, _ := readFile(path)
	return sha256.Sum256(data)
}

func (w *Watcher) apply() {
	cfg, report, err := w.File.Load()
	if refused := w.Apply(cfg, report, err); refused != nil {
		if w.Logger != nil {
			w.Logger.Warn("an edit of config.yaml is not in force", "reason", refused.Error())
		}
		return
	}
	if err == nil {
		if err := w.File.Keep(); err != nil && w.Logger != nil {
			w.Logger.Warn("the last good version of config.yaml could not be kept", "reason", err.Error())
		}
	}
}

// systemNotify asks the operating system. Folders are watched rather than files, because editors replace files.
func systemNotify(ctx context.Context, dirs []string) (<-chan string, error) {
	fw, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		if err := fw.Add(dir); err != nil {
			return nil, errors.Join(err, fw.Close())
		}
	}
	out := make(chan string)
	go func() {
		defer close(out)
		defer fw.Close()
		for {
			name := ""
			select {
			case <-ctx.Done():
				return
			case e, ok := <-fw.Events:
				if !ok {
					return
				}
				name = filepath.Base(e.Name)
			case err, ok := <-fw.Errors:
				if !ok {
					return
				}
				if !errors.Is(err, fsnotify.ErrEventOverflow) {
					continue
				}
				name = "config.yaml" // events were lost: look again
			}
			select {
			case out <- name:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out, nil
}
