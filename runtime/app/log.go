package app

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
)

// LogOptions say where the engine's log goes.
type LogOptions struct {
	Path   string     // of engine.log; empty writes no file
	Stderr io.Writer  // gets the same as text; nil writes none
	Level  slog.Level // of both
	Bytes  int64      // size at which the file is rotated; 0 means 5 MiB
	Keep   int        // rotated files kept; 0 means 3
}

// NewLogger makes the engine's logger: one JSON line per entry in the file and text on stderr, both without secrets and without the
// text of chats (see redactor). Close ends the file. An error means that the file cannot be written; the logger still works on stderr.
func NewLogger(o LogOptions) (logger *slog.Logger, closer io.Closer, err error) {
	var handlers []slog.Handler
	opts := &slog.HandlerOptions{Level: o.Level}
	closer = nopCloser{}
	if o.Stderr != nil {
		handlers = append(handlers, slog.NewTextHandler(o.Stderr, opts))
	}
	if o.Path != "" {
		file, fileErr := openRotating(o.Path, o.Bytes, o.Keep)
		if err = fileErr; err == nil {
			handlers = append(handlers, slog.NewJSONHandler(file, opts))
			closer = file
		}
	}
	return slog.New(redactor{slog.NewMultiHandler(handlers...)}), closer, err
}

type nopCloser struct{}

func (nopCloser) Close() error { return nil }

// rotating is a log file that is moved aside when it is full: engine.log, engine.log.1 (newer) to engine.log.<keep> (older). Each write
// is one whole line and stays in one file.
type rotating struct {
	mu   sync.Mutex
	path string
	max  int64
	keep int
	file *os.File
	size int64
}

func openRotating(path string, max int64, keep int) (*rotating, error) {
	if max <= 0 {
		max = 5 << 20
	}
	if keep <= 0 {
		keep = 3
	}
	r := &rotating{path: path, max: max, keep: keep}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	return r, r.open()
}

func (r *rotating) open() error {
	f, err := os.OpenFile(r.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	r.file, r.size = f, info.Size()
	return nil
}

func (r *rotating) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return 0, os.ErrClosed
	}
	if r.size > 0 && r.size+int64(len(p)) > r.max {
		if err := r.rotate(); err != nil {
			return 0, err
		}
	}
	n, err := r.file.Write(p)
	r.size += int64(n)
	return n, err
}

// rotate moves the files up by one. When that fails the log goes on in the file it has.
func (r *rotating) rotate() error {
	old := r.file
	for i := r.keep - 1; i >= 1; i-- {
		_ = os.Rename(numbered(r.path, i), numbered(r.path, i+1)) // there may be none yet
	}
	if err := os.Rename(r.path, numbered(r.path, 1)); err != nil {
		r.size = 0 // try again after another full file
		return nil
	}
	if err := r.open(); err != nil {
		r.file = old
		return nil
	}
	return old.Close()
}

func numbered(path string, i int) string { return path + "." + strconv.Itoa(i) }

// Close ends the file; later writes fail.
func (r *rotating) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return nil
	}
	err := errors.Join(r.file.Sync(), r.file.Close())
	r.file = nil
	return err
}
