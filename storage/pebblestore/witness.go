package pebblestore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// witness is a small file beside the store's own that says how far the store had come: the newest number that was synced, and
// the list of its files (Pebble's manifest) as it was synced. Pebble takes a damaged end of its manifest or log for the end, so
// a store that lost its newest part would come up as an older, consistent one; the witness tells.
//
// Invariant: the file never says more than what is synced. It is written after each sync, in place and without a sync of its
// own, so a crash may leave it older, never newer, than the store.
type witness struct {
	fs    vfs.FS // not wrapped: the witness is no part of the store
	dir   string
	path  string
	found testimony // what the file said when the store was opened

	mu   sync.Mutex
	file vfs.File
	now  testimony
	list *watched // the manifest that the store uses
	last *watched // the manifest that was made last; the store uses it once it says so
}

// testimony is what a witness says. One without a number says nothing: nothing was ever confirmed.
type testimony struct {
	newest   uint64 // Pebble's newest sequence number
	manifest uint64 // the manifest's file number
	size     uint64 // how much of it is synced
	sum      uint32 // CRC-32C of that
}

const (
	witnessName = "witness"
	witnessMark = "sentient witness 1\n"
	witnessSize = len(witnessMark) + 3*8 + 4 + 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (t testimony) encode() []byte {
	b := append(make([]byte, 0, witnessSize), witnessMark...)
	for _, n := range []uint64{t.newest, t.manifest, t.size} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	b = binary.LittleEndian.AppendUint32(b, t.sum)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// decodeTestimony refuses what a crash tore or the disk damaged: such a witness says nothing.
func decodeTestimony(b []byte) (t testimony, ok bool) {
	if len(b) < witnessSize || string(b[:len(witnessMark)]) != witnessMark {
		return t, false
	}
	b = b[:witnessSize]
	if crc32.Checksum(b[:witnessSize-4], castagnoli) != binary.LittleEndian.Uint32(b[witnessSize-4:]) {
		return t, false
	}
	b = b[len(witnessMark):]
	n := func() uint64 { v := binary.LittleEndian.Uint64(b); b = b[8:]; return v }
	t = testimony{newest: n(), manifest: n(), size: n()}
	t.sum = binary.LittleEndian.Uint32(b)
	return t, true
}

// callWitness reads what the last run left. A store without a witness is taken as it is.
func callWitness(o Options) *witness {
	w := &witness{fs: o.FS, dir: o.Dir, path: o.FS.PathJoin(o.Dir, witnessName)}
	f, err := o.FS.Open(w.path)
	if err != nil {
		return w
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, int64(witnessSize)))
	var ok bool
	if w.found, ok = decodeTestimony(b); err != nil || !ok {
		o.Logger.Warn("the store's witness could not be read; whether the store is whole was not checked this time")
	}
	return w
}

var (
	errListShort = errors.New("the list of the store's files has lost its newest part")
	errListOld   = errors.New("the store's newest list of files is not in use")
	errLogShort  = errors.New("the store's log has lost its newest part")
)

// checkList compares the manifest with the testimony, before Pebble reads it. It names the damaged file.
func (w *witness) checkList(current string) (file string, err error) {
	t := w.found
	if t.newest == 0 || t.manifest == 0 {
		return "", nil
	}
	name := fmt.Sprintf("MANIFEST-%06d", t.manifest)
	have, ok := manifestNumber(w.fs.PathBase(current))
	switch {
	case current != "" && ok && have > t.manifest:
		return "", nil // a crash came between the new manifest and the witness; a new one begins with all there is
	case current == "" || !ok || have < t.manifest:
		return name, errListOld
	}
	f, err := w.fs.Open(current)
	if err != nil {
		return name, errListOld
	}
	defer f.Close()
	sum := crc32.New(castagnoli)
	n, err := io.Copy(sum, io.LimitReader(f, int64(t.size)))
	if err != nil || uint64(n) != t.size || sum.Sum32() != t.sum {
		return name, errListShort
	}
	return "", nil
}

// begin makes the file, or goes on with the one that is there. Without one (a full or read-only disk) nothing is written down.
func (w *witness) begin(newest uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now.newest = max(w.now.newest, newest)
	_, err := w.fs.Stat(w.path)
	fresh := err != nil
	f, err := w.fs.OpenReadWrite(w.path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return
	}
	if fresh {
		// Written and synced once, later writes need no new room and change nothing but these bytes.
		if _, err = f.WriteAt(w.now.encode(), 0); err == nil {
			err = errors.Join(f.Sync(), w.syncDir())
		}
		if err != nil {
			_ = f.Close()
			return
		}
	}
	w.file = f
	w.write()
}

func (w *witness) syncDir() error {
	d, err := w.fs.OpenDir(w.dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// write puts down what is known. A write that fails leaves an older witness, which is true as well.
func (w *witness) write() {
	if w.file != nil {
		_, _ = w.file.WriteAt(w.now.encode(), 0)
	}
}

// synced says that the numbers up to newest are safe.
func (w *witness) synced(newest uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if newest > w.now.newest {
		w.now.newest = newest
		w.write()
	}
}

// close writes the last word and syncs it: the store is whole at rest.
func (w *witness) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file != nil {
		w.write()
		_ = errors.Join(w.file.Sync(), w.file.Close())
		w.file = nil
	}
}

// watch follows what is written to a new manifest.
func (w *witness) watch(path string, f vfs.File) vfs.File {
	number, ok := manifestNumber(w.fs.PathBase(path))
	if !ok {
		return f
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = &watched{File: f, w: w, number: number}
	return w.last
}

// inUse says that the store has moved on to the manifest, for good.
func (w *witness) inUse(info pebble.ManifestCreateInfo) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if info.Err == nil && w.last != nil && w.last.number == uint64(info.FileNum) {
		w.list = w.last
		w.list.testify()
	}
}

// watched is a manifest that is being written. Pebble writes it from one goroutine at a time.
type watched struct {
	vfs.File
	w      *witness
	number uint64
	size   uint64 // written
	sum    uint32 // of what is written
	synced testimony
}

// Write implements vfs.File.
func (f *watched) Write(p []byte) (int, error) {
	was := bytes.Clone(p) // a file may change what it is given
	n, err := f.File.Write(p)
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	f.size += uint64(n)
	f.sum = crc32.Update(f.sum, castagnoli, was[:n])
	return n, err
}

// Sync implements vfs.File.
func (f *watched) Sync() error {
	err := f.File.Sync()
	if err == nil {
		f.settled()
	}
	return err
}

// SyncData implements vfs.File.
func (f *watched) SyncData() error {
	err := f.File.SyncData()
	if err == nil {
		f.settled()
	}
	return err
}

func (f *watched) settled() {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	f.synced = testimony{manifest: f.number, size: f.size, sum: f.sum}
	if f.w.list == f {
		f.testify()
	}
}

// testify makes f's synced part the witness's word; w.mu is held.
func (f *watched) testify() {
	f.synced.newest = f.w.now.newest
	f.w.now = f.synced
	f.w.write()
}

func manifestNumber(name string) (uint64, bool) { return fileNumber(name, "MANIFEST-", "") }

// fileNumber reads the number between what a name begins and ends with.
func fileNumber(name, begin, end string) (n uint64, ok bool) {
	digits, ok := strings.CutPrefix(name, begin)
	if !ok {
		return 0, false
	}
	if digits, ok = strings.CutSuffix(digits, end); !ok || digits == "" {
		return 0, false
	}
	for _, c := range []byte(digits) {
		if c < '0' || c > '9' || n > 1<<60 {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	return n, true
}
