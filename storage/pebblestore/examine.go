package pebblestore

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2"

	"sentient/storage/journal"
)

// examine looks at the files before Pebble does. It changes nothing but to set a damaged OPTIONS file aside.
func (s *Store) examine(o Options) error {
	desc, err := pebble.Peek(o.Dir, o.FS)
	if err != nil {
		return openError(o.Dir, err)
	}
	current := ""
	if desc.Exists {
		current = desc.ManifestFilename
	}
	if file, err := s.witness.checkList(current); err != nil {
		return lost(o.Dir, err.Error()+" ("+file+"), so what was confirmed last would be missing", err)
	}
	return s.mendOptions(o, desc.OptionsFilename)
}

// mendOptions sets a damaged OPTIONS file aside. Pebble would refuse the whole store for it and writes a new one at each start;
// what it guards (the order of keys) the manifest guards as well, and the merge rule is never used.
func (s *Store) mendOptions(o Options, path string) error {
	if path == "" {
		return nil
	}
	f, err := o.FS.Open(path)
	if err != nil {
		return nil // Pebble says what is wrong
	}
	text, err := io.ReadAll(io.LimitReader(f, mib))
	if err = errors.Join(err, f.Close()); err == nil {
		ours := s.pebbleOptions(o)
		ours.EnsureDefaults()
		err = ours.CheckCompatibility(o.Dir, string(text))
	}
	if err == nil {
		return nil
	}
	name := o.FS.PathBase(path)
	if err := o.FS.Rename(path, o.FS.PathJoin(o.Dir, "damaged-"+name)); err != nil {
		return &journal.StoreError{Dir: o.Dir, What: "the file " + name + " is damaged", Do: "Or delete that file: it holds no data and is written again", Err: err}
	}
	o.Logger.Warn("a damaged file of the store was set aside and is written again; it holds no data", "file", name, "now", "damaged-"+name)
	return nil
}

// lost is the refusal of a store that came back older than it was.
func lost(dir, what string, err error) error {
	return &journal.StoreError{Dir: dir, What: what, Err: err,
		Do: "Or, to go on without what is missing, delete the file " + filepath.Join(dir, witnessName) + " and start again"}
}

// fileName finds the store's file that Pebble's sentence is about. Nothing else of that sentence is shown: it may hold keys.
var fileName = regexp.MustCompile(`(?:MANIFEST-|OPTIONS-)\d+|\d+\.(?:sst|log|blob)|marker\.[a-z-]+\.\d+\.[A-Za-z0-9-]+`)

// tableOf finds the number of the table in Pebble's list of what does not fit ("L6: 000012: ...").
var tableOf = regexp.MustCompile(`L\d: (\d{6,}): `)

var newerFormat = regexp.MustCompile(`unknown format major version (\d+)`)

func openError(dir string, err error) error {
	text := err.Error()
	if m := newerFormat.FindStringSubmatch(text); m != nil {
		var found uint64
		_, _ = fmt.Sscan(m[1], &found)
		return &journal.NewerError{Found: found, Known: uint64(pebble.FormatNewest)}
	}
	name := fileName.FindString(text)
	if m := tableOf.FindStringSubmatch(text); m != nil {
		name = m[1] + tableSuffix
	}
	var errno syscall.Errno
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return journal.ErrFull
	case errors.As(err, &errno) && errno != syscall.ENOENT:
		if name != "" {
			return fmt.Errorf("the store's file %s could not be used: %w", name, errno)
		}
		return fmt.Errorf("the store in %s could not be opened: %w", dir, errno)
	case name != "":
		return &journal.StoreError{Dir: dir, What: "its file " + name + " is damaged or missing", Err: err}
	}
	return &journal.StoreError{Dir: dir, What: "its files do not fit together", Err: err}
}

// unborn clears away a store whose making was cut off by a crash: Pebble refuses such a folder for ever. Nothing was ever
// acknowledged by a store that has neither a table nor a byte of log. It says whether opening is worth another try.
func unborn(o Options) bool {
	names, err := o.FS.List(o.Dir)
	if err != nil {
		return false
	}
	var left []string
	for _, name := range names {
		path := o.FS.PathJoin(o.Dir, name)
		switch {
		case strings.HasSuffix(name, ".sst"), strings.HasSuffix(name, ".blob"):
			return false
		case strings.HasSuffix(name, ".log"):
			if info, err := o.FS.Stat(path); err != nil || info.Size() > 0 {
				return false
			}
		case !strings.HasPrefix(name, "MANIFEST-") && !strings.HasPrefix(name, "OPTIONS-") && !strings.HasPrefix(name, "marker."):
			continue // the lock, the ballast, somebody's file
		}
		left = append(left, path)
	}
	for _, path := range left {
		if o.FS.Remove(path) != nil {
			return false
		}
	}
	return true
}
