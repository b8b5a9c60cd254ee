package pebblestore

import (
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Trouble says how badly a disk behaves at this moment. Both may be asked from any goroutine.
type Trouble interface {
	SyncTakes() time.Duration // added to every sync
	Writes() error            // what a write or a sync gives instead; nil: it is done
}

// Troubled is the real disk in trouble, for trying what the engine does about it (Options.FS).
func Troubled(t Trouble) vfs.FS { return &troubledFS{vfs.Default, t} }

type troubledFS struct {
	vfs.FS
	trouble Trouble
}

// Unwrap implements vfs.FS.
func (f *troubledFS) Unwrap() vfs.FS { return f.FS }

func (f *troubledFS) file(g vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return &troubledFile{g, f.trouble}, nil
}

// Create implements vfs.FS.
func (f *troubledFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := f.trouble.Writes(); err != nil {
		return nil, err
	}
	return f.file(f.FS.Create(name, c))
}

// OpenReadWrite implements vfs.FS.
func (f *troubledFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	return f.file(f.FS.OpenReadWrite(name, c, o...))
}

// ReuseForWrite implements vfs.FS.
func (f *troubledFS) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return f.file(f.FS.ReuseForWrite(from, to, c))
}

// OpenDir implements vfs.FS.
func (f *troubledFS) OpenDir(name string) (vfs.File, error) { return f.file(f.FS.OpenDir(name)) }

type troubledFile struct {
	vfs.File
	trouble Trouble
}

// Write implements vfs.File.
func (f *troubledFile) Write(p []byte) (int, error) {
	if err := f.trouble.Writes(); err != nil {
		return 0, err
	}
	return f.File.Write(p)
}

// WriteAt implements vfs.File.
func (f *troubledFile) WriteAt(p []byte, at int64) (int, error) {
	if err := f.trouble.Writes(); err != nil {
		return 0, err
	}
	return f.File.WriteAt(p, at)
}

// Sync implements vfs.File.
func (f *troubledFile) Sync() error {
	if err := f.slowly(); err != nil {
		return err
	}
	return f.File.Sync()
}

// SyncData implements vfs.File.
func (f *troubledFile) SyncData() error {
	if err := f.slowly(); err != nil {
		return err
	}
	return f.File.SyncData()
}

// SyncTo implements vfs.File.
func (f *troubledFile) SyncTo(n int64) (bool, error) {
	if err := f.slowly(); err != nil {
		return false, err
	}
	return f.File.SyncTo(n)
}

func (f *troubledFile) slowly() error {
	if d := f.trouble.SyncTakes(); d > 0 {
		time.Sleep(d)
	}
	return f.trouble.Writes()
}
