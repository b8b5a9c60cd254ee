package app

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
)

// Where the configuration in force came from.
const (
	FromFile     = "file"
	FromLastGood = "last_good"
	FromDefaults = "defaults"
)

// Report is what reading config.yaml came to.
type Report struct {
	Unknown  []string     // keys that no setting has; they stay in the file
	Problems []FieldError // why the file is not in force
	Source   string       // FromFile, FromLastGood or FromDefaults
}

// BrokenError says that config.yaml cannot be used, and where it must be mended.
type BrokenError struct {
	Problems []FieldError
}

func (e *BrokenError) Error() string {
	if len(e.Problems) == 0 {
		return "config.yaml cannot be used. Fix it and save it again."
	}
	more := ""
	if n := len(e.Problems) - 1; n > 0 {
		more = fmt.Sprintf(" (%d more)", n)
	}
	return fmt.Sprintf("config.yaml cannot be used: %s%s Fix it and save it again.", e.Problems[0], more)
}

// ConfigFile is config.yaml and the copy of its last good version beside it. The file lies over the defaults: what it does not name has
// its default, an entry of a map joins the default ones, and null takes a default one away.
//
// The last good version matters at a start: without it a slip in the file would also switch off every rule that says never.
//
// Its owner alone calls Save, one call at a time; reading is safe meanwhile, since the file is only ever replaced whole.
type ConfigFile struct {
	path string
	good string
}

const fileHead = "# Settings of Sentient. Anything that is not named here has its default.\n"

// NewConfigFile is config.yaml at path; nothing is read yet.
func NewConfigFile(path string) *ConfigFile {
	return &ConfigFile{path: path, good: filepath.Join(filepath.Dir(path), "config.last-good.yaml")}
}

// Load reads a configuration file. A file that is missing or empty is the defaults. A file with a fault gives a *BrokenError, whose
// problems are also in the report, and no configuration. Keys that no setting has are only reported.
func Load(path string) (*Config, Report, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, Report{}, err
	}
	cfg, report := decodeYAML(data)
	if len(report.Problems) > 0 {
		return nil, report, &BrokenError{Problems: report.Problems}
	}
	report.Source = FromFile
	if data == nil {
		report.Source = FromDefaults
	}
	return cfg, report, nil
}

// readFile gives nil for a file that is not there.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("config.yaml cannot be read: %w. Check its permissions", plainPathError(err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("config.yaml cannot be read: %w. Check its permissions", plainPathError(err))
	}
	if data == nil {
		data = []byte{}
	}
	return data, nil
}

// plainPathError leaves the path out: it is the person's own folder name and says nothing that the sentence around it does not.
func plainPathError(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// Load reads the file.
func (f *ConfigFile) Load() (*Config, Report, error) { return Load(f.path) }

// Start reads the file and always gives a configuration: when the file cannot be used, its last good version, or else the defaults. The
// error then says why; the file is left as it is.
func (f *ConfigFile) Start() (*Config, Report, error) {
	cfg, report, err := f.Load()
	if err == nil {
		return cfg, report, f.Keep()
	}
	if good, r, goodErr := Load(f.good); goodErr == nil && r.Source == FromFile {
		report.Source = FromLastGood
		return good, report, err
	}
	report.Source = FromDefaults
	return Default(), report, err
}

// Keep remembers the file as its last good version, if it is good. Call it when a person's own edit was applied.
func (f *ConfigFile) Keep() error {
	data, err := readFile(f.path)
	if err != nil || data == nil {
		return err
	}
	if _, report := decodeYAML(data); len(report.Problems) > 0 {
		return nil
	}
	if old, err := readFile(f.good); err == nil && old != nil && string(old) == string(data) {
		return nil
	}
	return writeAtomic(f.good, data, 0o600)
}

// Save changes in the file what differs between now (the configuration in force) and next; everything else, also what a person changed
// meanwhile and what the engine does not know, stays. Only keys that differ from their default or stand there already are written.
// While the file has a fault nothing is written and the error is a *BrokenError. When Save returns nil the change is on disk.
func (f *ConfigFile) Save(now, next *Config) error {
	data, err := readFile(f.path)
	if err != nil {
		return err
	}
	text, err := changed(data, now, next)
	if err != nil || text == nil {
		return err
	}
	if err := writeAtomic(f.path, text, 0o600); err != nil {
		return fmt.Errorf("config.yaml could not be written: %w. Check the disk's space and the folder's permissions", plainPathError(err))
	}
	return f.Keep()
}

// changed is the file's text with what differs between now and next; nil when nothing is to be written.
func changed(data []byte, now, next *Config) ([]byte, error) {
	current, report := decodeYAML(data)
	if len(report.Problems) > 0 {
		return nil, &BrokenError{Problems: report.Problems}
	}
	edits := diff(now, next, Default())
	if len(edits) == 0 {
		return nil, nil
	}
	if len(data) == 0 {
		data = []byte(fileHead)
	}
	text, cfg, after, err := rewrite(data, edits)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the settings could not be written as YAML: %w", err)
	case len(after.Problems) > 0:
		return nil, &BrokenError{Problems: after.Problems}
	case reflect.DeepEqual(cfg, current):
		return nil, nil
	}
	return text, nil
}

// writeAtomic replaces a file as a whole: temporary file, sync, rename, sync of the folder. A link is followed, so that a file kept
// elsewhere stays there, and an existing file keeps its permissions.
func writeAtomic(path string, data []byte, perm fs.FileMode) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if info, err := os.Stat(path); err == nil {
		perm = info.Mode().Perm()
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Chmod(perm), tmp.Sync(), tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrInvalid) {
		return err
	}
	return nil
}
